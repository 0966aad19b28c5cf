//===- Libraries.cpp -------------------------------------------------------===//
#include "lib/Audio/Libraries.h"
#include <dlfcn.h>

namespace rapt::audio {

Status openLibrary(const char *file, const char *package, std::span<const Symbol> symbols) {
  const std::string advice = std::string("; install it (Debian: ") + package + ")";
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{std::string("sound needs ") + file + ", which cannot be opened" + advice};
  for (const Symbol &symbol : symbols) {
    *symbol.address = dlsym(library, symbol.name);
    if (!*symbol.address)
      return Error{std::string(file) + " has no function " + symbol.name + ", so it is too old" + advice};
  }
  return {};
}

namespace {

/// The outcome of opening a library; later calls give the same.
template <typename Table> struct Opened {
  Table table;
  Status status;

  Expected<const Table *> result() const {
    RAPT_RETURN_IF_ERROR(status);
    return &table;
  }
};

template <typename Function> Symbol symbol(const char *name, Function &function) {
  return {name, reinterpret_cast<void **>(&function)};
}

} // namespace

Expected<const SoundFileLibrary *> openSoundFile() {
  static const auto opened = [] {
    Opened<SoundFileLibrary> opened;
    SoundFileLibrary &table = opened.table;
    const Symbol symbols[] = {symbol("sf_open_virtual", table.open), symbol("sf_readf_float", table.read),
                              symbol("sf_error", table.error), symbol("sf_strerror", table.text),
                              symbol("sf_close", table.close)};
    opened.status = openLibrary("libsndfile.so.1", "libsndfile1", symbols);
    return opened;
  }();
  return opened.result();
}

Expected<const SampleRateLibrary *> openSampleRate() {
  static const auto opened = [] {
    Opened<SampleRateLibrary> opened;
    SampleRateLibrary &table = opened.table;
    const Symbol symbols[] = {symbol("src_is_valid_ratio", table.isValidRatio), symbol("src_simple", table.run),
                              symbol("src_strerror", table.text)};
    opened.status = openLibrary("libsamplerate.so.0", "libsamplerate0", symbols);
    return opened;
  }();
  return opened.result();
}

} // namespace rapt::audio
