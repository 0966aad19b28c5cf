# Oniguruma, linked statically so that librapt_text needs nothing but libc and libm.
#
# Debian's libonig-dev has no static library, but librust-onig-sys-dev of the same release carries the same source
# (6.9.8). Its package is unpacked, by tools/dev/prerequisites into /var/cache/rapt or else here into
# the user's cache, and never installed: its dependencies are 177 Rust packages.
# Without network libonig's shared library serves, and librapt_text then needs libonig.so.5 where it runs.
#
#   RAPT_ONIGURUMA_SOURCE   a folder with oniguruma.h and the sources; found or fetched when empty
set(RAPT_ONIGURUMA_SOURCE "" CACHE PATH "Oniguruma's src folder")

set(oniguruma_cache ${CMAKE_BINARY_DIR})
foreach(folder $ENV{XDG_CACHE_HOME} $ENV{HOME}/.cache)
  execute_process(COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}/rapt RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(oniguruma_cache ${folder}/rapt)
    break()
  endif()
endforeach()
set(oniguruma_cache ${oniguruma_cache}/oniguruma-6.9.8)

function(rapt_find_oniguruma_source result)
  set(crate usr/share/cargo/registry/onig_sys-69.8*/oniguruma/src)
  file(GLOB found /${crate} /var/cache/rapt/${crate} ${oniguruma_cache}/${crate})
  foreach(folder ${RAPT_ONIGURUMA_SOURCE} ${found})
    if(EXISTS ${folder}/regexec.c)
      set(${result} ${folder} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} "" PARENT_SCOPE)
endfunction()

rapt_find_oniguruma_source(oniguruma_source)
find_program(RAPT_APT_GET apt-get)
find_program(RAPT_DPKG_DEB dpkg-deb)
if(NOT oniguruma_source AND RAPT_APT_GET AND RAPT_DPKG_DEB)
  string(RANDOM LENGTH 8 random)
  set(folder ${oniguruma_cache}-${random})
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${RAPT_APT_GET} -qq download librust-onig-sys-dev WORKING_DIRECTORY ${folder}
                  OUTPUT_QUIET ERROR_QUIET TIMEOUT 120)
  file(GLOB package ${folder}/librust-onig-sys-dev_*.deb)
  if(package)
    list(GET package 0 package)
    execute_process(COMMAND ${RAPT_DPKG_DEB} -x ${package} ${folder}/unpacked)
    # Renamed into place, so that another configuration at the same time sees all of it or nothing.
    file(RENAME ${folder}/unpacked ${oniguruma_cache} RESULT ignored)
  endif()
  file(REMOVE_RECURSE ${folder})
  rapt_find_oniguruma_source(oniguruma_source)
endif()

if(oniguruma_source)
  set(config ${CMAKE_CURRENT_BINARY_DIR}/oniguruma)
  file(CONFIGURE OUTPUT ${config}/config.h CONTENT
"#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_ALLOCA_H 1
#define HAVE_ALLOCA 1
#define SIZEOF_INT 4
#define SIZEOF_LONG 8
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOIDP 8
#define SIZEOF_SIZE_T 8
")
  set(sources)
  foreach(name regparse regcomp regexec regenc regerror regext regsyntax regtrav regversion st onig_init unicode
          unicode_unfold_key unicode_fold1_key unicode_fold2_key unicode_fold3_key ascii utf8)
    list(APPEND sources ${oniguruma_source}/${name}.c)
  endforeach()
  add_library(RaptOniguruma STATIC ${sources})
  target_include_directories(RaptOniguruma PRIVATE ${config})
  target_include_directories(RaptOniguruma SYSTEM PUBLIC ${oniguruma_source})
  target_compile_definitions(RaptOniguruma PRIVATE HAVE_CONFIG_H PUBLIC ONIG_STATIC)
  target_compile_options(RaptOniguruma PRIVATE -w)
  set_target_properties(RaptOniguruma PROPERTIES C_STANDARD 99 C_EXTENSIONS ON C_VISIBILITY_PRESET hidden)
else()
  message(WARNING "Oniguruma's source was not found: librapt_text will need libonig.so where it runs")
  find_path(RAPT_ONIGURUMA_INCLUDE oniguruma.h REQUIRED)
  find_library(RAPT_ONIGURUMA_LIBRARY onig REQUIRED)
  add_library(RaptOniguruma INTERFACE)
  target_include_directories(RaptOniguruma SYSTEM INTERFACE ${RAPT_ONIGURUMA_INCLUDE})
  target_link_libraries(RaptOniguruma INTERFACE ${RAPT_ONIGURUMA_LIBRARY})
endif()
