//===- Streams.cpp - The stderr of the image libraries ---------------------===//
//
// Their archives are compiled for programs, where stderr may be reached at a fixed
// distance; in a shared library it may not, but a variable of its own may.
//
//===----------------------------------------------------------------------===//
#include <cstdio>

extern "C" {
extern FILE *image_library_stderr;
FILE *image_library_stderr = stderr;
}
