//===- Libraries.h - libsndfile and libsamplerate, opened at run time ------===//
//
// Debian has them as shared libraries alone, and what contains this library needs
// nothing but libc. Their headers give the types of the functions.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <samplerate.h>
#include <sndfile.h>
#include <span>

namespace rapt::audio {

struct SoundFileLibrary {
  decltype(&sf_open_virtual) open = nullptr;
  decltype(&sf_readf_float) read = nullptr;
  decltype(&sf_error) error = nullptr;
  decltype(&sf_strerror) text = nullptr;
  decltype(&sf_close) close = nullptr;
};

struct SampleRateLibrary {
  decltype(&src_is_valid_ratio) isValidRatio = nullptr;
  decltype(&src_simple) run = nullptr;
  decltype(&src_strerror) text = nullptr;
};

/// Opens libsndfile.so.1 once for the process. The table lives as long as the process.
Expected<const SoundFileLibrary *> openSoundFile();
/// Opens libsamplerate.so.0 once for the process.
Expected<const SampleRateLibrary *> openSampleRate();

/// A function of a shared library and where its address goes.
struct Symbol {
  const char *name;
  void **address;
};

/// Opens the shared library `file` and finds `symbols`. Errors name Debian's `package`.
Status openLibrary(const char *file, const char *package, std::span<const Symbol> symbols);

} // namespace rapt::audio
