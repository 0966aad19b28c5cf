# Compiler cache and linker: what makes the second build fast, from this checkout or from another.

# The cache sees the checkout as relative paths; clang writes no time into a precompiled header (RaptPCH), so ccache need
# not look for one. The compiler tells what a file depends on (CCACHE_DEPEND): preprocessing it first took a tenth of the
# time of a build. Hashes of headers are remembered by inode and time (CCACHE_INODECACHE): hashing the thousands of MLIR's
# made a hit take a second instead of a twentieth of one. A launcher given by the user stays as it is.
option(RAPT_CCACHE "Compile through ccache where it is installed" ON)
find_program(RAPT_CCACHE_PROGRAM ccache)
if(RAPT_CCACHE AND RAPT_CCACHE_PROGRAM AND (NOT CMAKE_CXX_COMPILER_LAUNCHER OR CMAKE_CXX_COMPILER_LAUNCHER MATCHES "(^|/)ccache$"))
  set(CMAKE_CXX_COMPILER_LAUNCHER /usr/bin/env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_INODECACHE=1 CCACHE_PCH_EXTSUM=1 CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${RAPT_CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# Debug information and assertions name files relative to the checkout.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options($<$<CONFIG:Debug,RelWithDebInfo>:-fdebug-compilation-dir=.>)
endif()

find_program(RAPT_LLD NAMES ld.lld-${RAPT_LLVM_VERSION} ld.lld)
if(RAPT_LLD AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_link_options(--ld-path=${RAPT_LLD})
  # The programs with LLVM inside have 120,000 addresses to relocate at each start: packed, that takes a third less time.
  # Needs glibc 2.36.
  if(NOT CMAKE_CROSSCOMPILING)
    include(CheckCXXSourceRuns)
    set(CMAKE_REQUIRED_LINK_OPTIONS --ld-path=${RAPT_LLD} -Wl,-z,pack-relative-relocs)
    check_cxx_source_runs("int main() { return 0; }" RAPT_HAS_PACKED_RELOCATIONS)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(RAPT_HAS_PACKED_RELOCATIONS)
      add_link_options(-Wl,-z,pack-relative-relocs)
    endif()
  endif()
endif()

# -O3 costs compile time and wins nothing measurable here: the speed of a model is in the code that raptc emits.
# LLVM's headers keep their layout without NDEBUG (LLVM_ENABLE_ABI_BREAKING_CHECKS decides it), so own assertions can be
# on beside a distribution's LLVM, which has none.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}")
# raptc spends its time in LLVM's archives: its own code runs as fast at -O1, which takes a quarter less time to compile
# (docs/Experiments/compiler.md).
set(RAPT_COMPILER_LEVEL "" CACHE STRING "Option of clang for code that includes MLIR and for unit tests, such as -O1; empty: as all other code")
if(RAPT_ASSERTIONS)
  add_compile_options(-UNDEBUG)
endif()
if(RAPT_SANITIZE)
  add_compile_options(-fsanitize=${RAPT_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer -O1)
  add_link_options(-fsanitize=${RAPT_SANITIZE})
endif()
if(RAPT_BUILD_FUZZERS) # every library is instrumented; the link option comes with each fuzz target
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-recover=all -gline-tables-only)
endif()
