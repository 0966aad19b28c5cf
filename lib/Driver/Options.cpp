//===- Options.cpp - What -o and --emit say together --------------------------------------===//
#include "lib/Driver/Options.h"
#include "llvm/ADT/STLExtras.h"

using namespace rapt;
using namespace rapt::driver;

namespace {
constexpr const char *names[] = {"imported", "canonical", "tiled", "backend", "llvm-dialect", "llvm-ir", "asm", "obj", "so", "a"};

/// The last component of `path`.
llvm::StringRef fileName(llvm::StringRef path) { return path.substr(path.rfind('/') + 1); }

std::optional<Emit> emitOfSuffix(llvm::StringRef path) {
  llvm::StringRef name = fileName(path);
  if (name.ends_with(".so"))
    return Emit::Library;
  if (name.ends_with(".a"))
    return Emit::Archive;
  if (name.ends_with(".o"))
    return Emit::Object;
  return std::nullopt;
}
} // namespace

const char *driver::nameOf(Emit emit) { return names[static_cast<int>(emit)]; }

std::optional<Emit> driver::emitNamed(const std::string &name) {
  for (int i = 0; i <= static_cast<int>(Emit::Library); ++i)
    if (name == names[i])
      return static_cast<Emit>(i);
  return std::nullopt;
}

Expected<Emit> driver::chooseEmit(const Options &options) {
  std::optional<Emit> suffix = options.output.empty() ? std::nullopt : emitOfSuffix(options.output);
  if (!options.emit) {
    if (!options.output.empty() && !suffix)
      return Error{"-o " + options.output + ": the suffix must be .so, .a or .o, or --emit must say what to write"};
    return suffix.value_or(Emit::Library);
  }
  if (suffix && *suffix != *options.emit)
    return Error{"-o " + options.output + " asks for " + nameOf(*suffix) + ", --emit for " + nameOf(*options.emit)};
  return *options.emit;
}

std::string driver::stemOf(const std::string &path) {
  llvm::StringRef name = fileName(llvm::StringRef(path).rtrim('/'));
  size_t dot = name.rfind('.');
  return (dot == llvm::StringRef::npos || dot == 0 ? name : name.take_front(dot)).str();
}
