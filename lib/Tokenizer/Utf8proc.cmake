# utf8proc, linked statically so that librapt_text needs nothing but libc and libm.
find_path(RAPT_UTF8PROC_INCLUDE utf8proc.h REQUIRED)
find_library(RAPT_UTF8PROC_LIBRARY NAMES libutf8proc.a utf8proc REQUIRED)
add_library(RaptUtf8proc INTERFACE)
target_include_directories(RaptUtf8proc SYSTEM INTERFACE ${RAPT_UTF8PROC_INCLUDE})
target_link_libraries(RaptUtf8proc INTERFACE ${RAPT_UTF8PROC_LIBRARY})
