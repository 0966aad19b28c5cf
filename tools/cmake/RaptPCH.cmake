# Precompiled headers. A translation unit of a pass takes 1.2 s with the one for MLIR, 11 s without.
#
#   rapt_add_pch(NAME MAIN header FOLDERS folder... HEADERS header...)
#   rapt_use_pch(TARGET NAME)
#
# A precompiled header is compiled as an ordinary source, so that it gets exactly the flags of its users. Its inputs are
# headers of the system alone (one of them as the main file, the others by -include), and every path in a command line is
# relative to the build directory: its bytes do not depend on where the checkout lies, and the compiler cache hits from
# any other one. A header has no definitions of its own: the cache does not tell apart two that differ in -D alone.

function(rapt_add_pch name)
  cmake_parse_arguments(A "" "MAIN" "FOLDERS;HEADERS" ${ARGN})
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    return()
  endif()
  find_file(${name}_MAIN ${A_MAIN} PATHS ${A_FOLDERS} REQUIRED)
  get_filename_component(main ${${name}_MAIN} REALPATH)
  add_library(${name} OBJECT ${main})
  set_source_files_properties(${main} PROPERTIES LANGUAGE CXX HEADER_FILE_ONLY OFF)
  target_include_directories(${name} SYSTEM PRIVATE ${A_FOLDERS})
  set(options)
  foreach(header ${A_HEADERS})
    list(APPEND options "SHELL:-include ${header}")
  endforeach()
  target_compile_options(${name} PRIVATE ${options} -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp"
    "SHELL:-x c++-header")
  set_target_properties(${name} PROPERTIES RAPT_PCH CMakeFiles/${name}.dir${main}.o)
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
  get_target_property(pch ${name} RAPT_PCH)
  get_target_property(sources ${target} SOURCES)
  get_property(done GLOBAL PROPERTY RAPT_PCH_SOURCES)
  foreach(source ${sources})
    get_filename_component(path ${source} ABSOLUTE)
    get_source_file_property(skip ${source} SKIP_PRECOMPILE_HEADERS)
    if(path MATCHES "[.](cpp|cc)$" AND NOT skip AND NOT path IN_LIST done)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -include-pch ${pch})
      set_property(SOURCE ${source} APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/${pch})
      set_property(GLOBAL APPEND PROPERTY RAPT_PCH_SOURCES ${path})
    endif()
  endforeach()
  add_dependencies(${target} ${name})
endfunction()

if(RAPT_BUILD_COMPILER)
  rapt_add_pch(RaptPCH MAIN mlir/Pass/Pass.h FOLDERS ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS} HEADERS
    mlir/IR/Builders.h
    mlir/IR/BuiltinOps.h
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
  rapt_add_pch(RaptTestPCH MAIN gtest/gtest.h HEADERS algorithm array atomic cmath cstdint cstring filesystem fstream
    functional map memory optional random set sstream string string_view thread unordered_map vector)
  set_target_properties(GTest::gtest PROPERTIES INTERFACE_COMPILE_OPTIONS "") # GTEST_HAS_PTHREAD=1: it finds that itself
endif()
