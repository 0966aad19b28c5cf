# cmake -DSOURCE=file -DHEADER=file -DNAME=name -P HashSource.cmake: HEADER defines NAME, the hash of the file SOURCE.
file(SHA256 ${SOURCE} hash)
file(WRITE ${HEADER} "inline constexpr const char ${NAME}[] = \"${hash}\";\n")
