# cmake -DSOURCE=file -DHEADER=file -DNAME=name [-DMORE=text] -P HashSource.cmake: HEADER defines NAME, a hash of the file SOURCE and of MORE.
file(SHA256 ${SOURCE} hash)
string(SHA256 hash "${hash} ${MORE}")
file(WRITE ${HEADER} "inline constexpr const char ${NAME}[] = \"${hash}\";\n")
