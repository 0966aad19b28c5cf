# The few wrappers every CMakeLists.txt of the project uses.
#
#   rapt_add_library(NAME [SHARED] [EXCEPTIONS] SOURCES a.cpp ... [LINK lib ...] [DEPENDS target ...])
#     plain C++ (no LLVM): Support, Tokenizer, Generation, Runtime, Formats, Artifact's packer.
#     EXCEPTIONS switches exceptions and RTTI on: only for files that wrap a library that throws.
#   rapt_add_mlir_library(NAME [PCH name] SOURCES ... [LINK ...] [DEPENDS ...])
#     the same for code that includes LLVM or MLIR headers: system headers, a precompiled header (by default that of the
#     attn dialect), MLIR and LLVM.
#   rapt_add_tool(NAME [MLIR] SOURCES ... LINK ...)     an executable in build/bin
#   rapt_use_jemalloc(NAME)                            an executable takes its memory from jemalloc, which is inside
#   rapt_set_exports(NAME FILE)
#   rapt_add_merged_archive(NAME FILE PARTS target ... [INSIDE archive ...])
#     libFILE.a: one object of the parts and the C++ library, in which only rapt_... is global
#   rapt_add_unittest(NAME [MLIR] SOURCES ... LINK ...) a gtest executable in build/test, registered for the test command

include(RaptCompiler)

add_compile_options(-Wall -Wextra -Werror=return-type -Wno-unused-parameter -Wno-missing-field-initializers
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions> $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)

function(rapt_apply_exceptions)
  foreach(file ${ARGN})
    set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "-fexceptions;-frtti" SKIP_PRECOMPILE_HEADERS ON)
  endforeach()
endfunction()

function(rapt_add_library name)
  cmake_parse_arguments(A "SHARED;EXCEPTIONS" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  set(kind STATIC)
  if(A_SHARED)
    set(kind SHARED)
  endif()
  add_library(${name} ${kind} ${A_SOURCES})
  if(A_EXCEPTIONS)
    rapt_apply_exceptions(${A_SOURCES})
  endif()
  rapt_use_pch(${name} RaptSupportPCH)
  target_link_libraries(${name} PUBLIC ${A_LINK})
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
endfunction()

# Gives every C++ source of a target a precompiled header, links MLIR and LLVM.
function(rapt_use_mlir name)
  set(pch RaptPCH)
  if(ARGN)
    set(pch ${ARGN})
  elseif(TARGET RaptAttnPCH)
    set(pch RaptAttnPCH)
  endif()
  target_include_directories(${name} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC RaptMLIR)
  rapt_use_pch(${name} ${pch})
endfunction()

function(rapt_add_mlir_library name)
  cmake_parse_arguments(A "" "PCH" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_link_libraries(${name} PUBLIC ${A_LINK})
  rapt_use_mlir(${name} ${A_PCH})
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
endfunction()

function(rapt_add_tool name)
  cmake_parse_arguments(A "MLIR" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_LINK})
  if(A_MLIR)
    rapt_use_mlir(${name})
  endif()
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
endfunction()

# jemalloc takes 8 % off the time of a compilation: MLIR and LLVM allocate many small objects. Sanitizers have an allocator of their own.
function(rapt_use_jemalloc name)
  if(NOT RAPT_SANITIZE)
    find_library(RAPT_JEMALLOC_LIBRARY libjemalloc.a REQUIRED)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tools/MallocOptions.cpp)
    target_link_libraries(${name} PRIVATE ${RAPT_JEMALLOC_LIBRARY})
  endif()
endfunction()

# libstdc++ is inside of what is installed, except with ThreadSanitizer: it only sees the guards of local statics in a shared libstdc++, and
# reports their initialization as a race otherwise.
set(RAPT_STATIC_LIBSTDCXX -static-libstdc++ -static-libgcc)
set(RAPT_ARCHIVED_LIBSTDCXX libstdc++.a libgcc_eh.a)
set(RAPT_SHARED_LIBSTDCXX)
if(RAPT_SANITIZE STREQUAL "thread")
  set(RAPT_STATIC_LIBSTDCXX)
  set(RAPT_ARCHIVED_LIBSTDCXX)
  set(RAPT_SHARED_LIBSTDCXX stdc++)
endif()

# The shared library has the C functions of its version script, and libstdc++ inside.
function(rapt_set_exports name exports)
  set_target_properties(${name} PROPERTIES SOVERSION 1 VERSION ${PROJECT_VERSION} LINKER_LANGUAGE CXX LINK_DEPENDS ${exports})
  target_link_options(${name} PRIVATE ${RAPT_STATIC_LIBSTDCXX} -Wl,--gc-sections -Wl,--version-script=${exports}
                      -Wl,--exclude-libs,ALL)
  if(NOT RAPT_SANITIZE) # their functions are the program's
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

# A C program needs no C++ library to link the archive, and a C++ program's own never meets the one inside, whose groups
# are dissolved for that.
function(rapt_add_merged_archive name file)
  cmake_parse_arguments(A "" "" "PARTS;INSIDE" ${ARGN})
  foreach(library ${RAPT_ARCHIVED_LIBSTDCXX})
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library} OUTPUT_VARIABLE path
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND A_INSIDE ${path})
  endforeach()
  set(linker ${RAPT_LLD})
  if(NOT linker)
    set(linker ${CMAKE_LINKER})
  endif()
  set(objects)
  foreach(part ${A_PARTS})
    list(APPEND objects $<TARGET_OBJECTS:${part}>)
  endforeach()
  set(global --keep-global-symbol=rapt_*)
  if(RAPT_SANITIZE) # a common symbol of AddressSanitizer that only stays addressable as a global one
    list(APPEND global --keep-global-symbol=*asan*)
  endif()
  set(whole ${CMAKE_CURRENT_BINARY_DIR}/${file}.o)
  add_custom_command(OUTPUT ${whole}
    COMMAND ${linker} -r --force-group-allocation -o ${whole} ${objects} ${A_INSIDE}
    COMMAND ${CMAKE_OBJCOPY} --wildcard ${global} ${whole}
    DEPENDS ${A_PARTS} COMMAND_EXPAND_LISTS VERBATIM)
  add_library(${name} STATIC ${whole})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${file} LINKER_LANGUAGE C)
  target_link_libraries(${name} INTERFACE ${RAPT_SHARED_LIBSTDCXX})
endfunction()

function(rapt_add_unittest name)
  cmake_parse_arguments(A "MLIR" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  rapt_add_tool(${name} SOURCES ${A_SOURCES} LINK ${A_LINK} GTest::gtest GTest::gtest_main DEPENDS ${A_DEPENDS})
  if(A_MLIR)
    rapt_use_mlir(${name})
  else()
    rapt_use_pch(${name} RaptTestPCH)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

include(RaptPCH)
