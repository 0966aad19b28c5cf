# Precompiled headers. A file of the importer takes 0.6 s of processor time with those of MLIR, the dialect and the importer,
# 1.7 s with that of MLIR alone.
#
#   rapt_add_pch(NAME MAIN header HEADERS header... [FOLDERS folder...] [OPTIONS option...])    headers of the system alone
#   rapt_add_project_pch(NAME BASE pch HEADERS header... [DEPENDS target...])    headers of ours, on top of another one
#   rapt_use_pch(TARGET NAME)
#
# A precompiled header is compiled as an ordinary source, so that it gets the flags of its users. OPTIONS are passed on to
# the headers on top of it and to all users, since clang refuses a header that was compiled with others. It has no
# definitions of its own: the compiler cache does not tell apart two that differ in -D alone.
#
# One of the system's headers alone (one of them as the main file, the others by -include) has the same bytes in every
# checkout, since every path in its command line is relative to the build directory: the cache keeps it, and hits with it
# from any other checkout. One of ours has the checkout's absolute paths inside. The cache never keeps it, and takes for
# its content what tools/cmake/precompile writes beside it, which depends on what the headers say, not on where they lie;
# ccache looks for that beside files of the suffix .pch alone.

function(rapt_compile_pch name main)
  add_library(${name} OBJECT ${main})
  set_source_files_properties(${main} PROPERTIES LANGUAGE CXX HEADER_FILE_ONLY OFF)
  target_compile_options(${name} PRIVATE -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp" "SHELL:-x c++-header" ${ARGN})
  set_target_properties(${name} PROPERTIES RAPT_PCH_OPTIONS "${ARGN}")
endfunction()

function(rapt_add_pch name)
  cmake_parse_arguments(A "" "MAIN" "FOLDERS;HEADERS;OPTIONS" ${ARGN})
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    return()
  endif()
  find_file(${name}_MAIN ${A_MAIN} PATHS ${A_FOLDERS} REQUIRED)
  get_filename_component(main ${${name}_MAIN} REALPATH)
  rapt_compile_pch(${name} ${main} ${A_OPTIONS})
  target_include_directories(${name} SYSTEM PRIVATE ${A_FOLDERS})
  foreach(header ${A_HEADERS})
    target_compile_options(${name} PRIVATE "SHELL:-include ${header}")
  endforeach()
  set_target_properties(${name} PROPERTIES RAPT_PCH CMakeFiles/${name}.dir${main}.o RAPT_PCH_OBJECT CMakeFiles/${name}.dir${main}.o)
endfunction()

function(rapt_add_project_pch name)
  cmake_parse_arguments(A "" "BASE" "HEADERS;DEPENDS" ${ARGN})
  if(NOT TARGET ${A_BASE})
    return()
  endif()
  set(text "// Written by tools/cmake/RaptPCH.cmake.\n")
  foreach(header ${A_HEADERS})
    string(APPEND text "#include \"${header}\"\n")
  endforeach()
  set(main ${CMAKE_CURRENT_BINARY_DIR}/${name}.h)
  file(CONFIGURE OUTPUT ${main} CONTENT "${text}")
  get_target_property(options ${A_BASE} RAPT_PCH_OPTIONS)
  rapt_compile_pch(${name} ${main} ${options})
  get_target_property(base ${A_BASE} RAPT_PCH)
  get_target_property(base_object ${A_BASE} RAPT_PCH_OBJECT)
  target_compile_options(${name} PRIVATE "SHELL:-include-pch ${base}" -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  set_property(SOURCE ${main} APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/${base_object} ${PROJECT_SOURCE_DIR}/tools/cmake/precompile)
  file(RELATIVE_PATH pch ${CMAKE_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/${name}.h.o)
  set_target_properties(${name} PROPERTIES RAPT_PCH ${pch}.pch RAPT_PCH_OBJECT ${pch}
    CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/tools/cmake/precompile;${base}")
  add_dependencies(${name} ${A_BASE} ${A_DEPENDS})
endfunction()

# Sources with SKIP_PRECOMPILE_HEADERS do without.
function(rapt_use_pch target name)
  if(NOT TARGET ${name})
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE) # -fPIE would not fit a header compiled with -fPIC
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  get_target_property(options ${name} RAPT_PCH_OPTIONS)
  target_compile_options(${target} PRIVATE ${options})
  get_target_property(pch ${name} RAPT_PCH)
  get_target_property(object ${name} RAPT_PCH_OBJECT)
  get_target_property(sources ${target} SOURCES)
  get_property(done GLOBAL PROPERTY RAPT_PCH_SOURCES)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    get_source_file_property(skip ${source} SKIP_PRECOMPILE_HEADERS)
    if(path MATCHES "[.](cpp|cc)$" AND NOT skip AND NOT path IN_LIST done)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -include-pch ${pch})
      set_property(SOURCE ${source} APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/${object})
      set_property(GLOBAL APPEND PROPERTY RAPT_PCH_SOURCES ${path})
    endif()
  endforeach()
  add_dependencies(${target} ${name})
endfunction()

set(standard algorithm array atomic bit charconv chrono climits cmath condition_variable cstddef cstdint cstdio cstdlib cstring
  fstream functional limits map memory mutex numeric optional random set span sstream string string_view
  thread tuple unordered_map utility variant vector)
# Libraries of plain C++ end up in one that an application may unload: they leave nothing behind that would run at exit.
rapt_add_pch(RaptStandardPCH MAIN unistd.h HEADERS ${standard} OPTIONS -fno-c++-static-destructors)
rapt_add_project_pch(RaptSupportPCH BASE RaptStandardPCH HEADERS lib/Support/Expected.h lib/Support/File.h lib/Support/Json.h)
set(level ${RAPT_COMPILER_LEVEL})
if(RAPT_SANITIZE) # has a level of its own
  set(level)
endif()
if(RAPT_BUILD_COMPILER)
  rapt_add_pch(RaptPCH MAIN mlir/Pass/Pass.h OPTIONS ${level} FOLDERS ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS} HEADERS
    mlir/IR/Builders.h
    mlir/IR/BuiltinOps.h
    mlir/IR/ImplicitLocOpBuilder.h
    mlir/IR/OpImplementation.h
    mlir/IR/PatternMatch.h
    mlir/Dialect/Affine/IR/AffineOps.h
    mlir/Dialect/Arith/IR/Arith.h
    mlir/Dialect/Bufferization/IR/Bufferization.h
    mlir/Dialect/Func/IR/FuncOps.h
    mlir/Dialect/LLVMIR/LLVMDialect.h
    mlir/Dialect/Linalg/IR/Linalg.h
    mlir/Dialect/Math/IR/Math.h
    mlir/Dialect/MemRef/IR/MemRef.h
    mlir/Dialect/SCF/IR/SCF.h
    mlir/Dialect/Tensor/IR/Tensor.h
    mlir/Dialect/Vector/IR/VectorOps.h
    mlir/Transforms/GreedyPatternRewriteDriver.h)
endif()
if(RAPT_BUILD_TESTS)
  find_package(GTest REQUIRED)
  rapt_add_pch(RaptTestPCH MAIN gtest/gtest.h HEADERS ${standard} filesystem OPTIONS ${level})
  set_target_properties(GTest::gtest PROPERTIES INTERFACE_COMPILE_OPTIONS "") # GTEST_HAS_PTHREAD=1: it finds that itself
endif()
