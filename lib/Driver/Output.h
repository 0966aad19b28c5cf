//===- Output.h - Where results go ------------------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Artifact/StagedFile.h"
#include "lib/Driver/Options.h"
#include "lib/Support/CommandFiles.h"
#include <string_view>

namespace rapt::driver {

/// The form of a compilation's output: text up to PTX.
enum class Emit {
  Imported,
  Canonical,
  LaidOut,
  Tiled,
  Backend,
  LLVMDialect,
  LLVMIR,
  Assembly,
  PTX, ///< of a GPU
  Object,
  Archive,
  Library
};

/// Names of --emit.
const char *nameOf(Emit emit);
std::optional<Emit> emitNamed(std::string_view name);

/// The last component of `path` without its last suffix.
std::string stemOf(const std::string &path);

/// The paths of one compilation's results.
struct OutputPaths {
  std::string main;         ///< X.so, X.o, X.a, or of text; empty: stdout
  std::string directory;    ///< of `main`
  std::string base;         ///< X
  bool isDiscarded = false; ///< `main` is /dev/null: no file is written
  std::string header() const { return directory + "/" + base + ".h"; }

  static OutputPaths choose(const Options &options, Emit emit, const std::string &name);
  /// Fails where `main` cannot be written, before any work is done.
  Status check() const;
  /// The files that a compilation reads and writes, but for the weight file, whose name depends on its content.
  /// `labels` are those of writeIntermediate.
  CommandFiles list(const Options &options, Emit emit, const std::vector<std::string> &labels) const;
};

/// The code's file under a temporary name until commit: programs can run a library.
Expected<std::unique_ptr<artifact::StagedFile>> stageCode(const OutputPaths &paths, Emit emit, std::string_view code);

/// Writes text to `path`, to stdout when it is empty, or nowhere for /dev/null.
Status writeText(const std::string &path, std::string_view text);

/// Writes an intermediate result, BASE.SUFFIX, where --dump-dir and -save-temps ask for it.
Status writeIntermediate(const Options &options, const OutputPaths &paths, const std::string &suffix,
                         std::string_view text);

/// Temporary files go when the user interrupts.
void discardOnInterrupt();

} // namespace rapt::driver
