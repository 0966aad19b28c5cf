//===- Options.h - What a compilation is asked for ------------------------------*- C++ -*-===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rapt::driver {

/// Exit statuses of raptc.
enum ExitStatus { Success = 0, WrongInput = 1, WrongUsage = 2, Bug = 3 };

/// Where a compilation stops. Up to Assembly the output is text.
enum class Emit { Imported, Canonical, Tiled, Backend, LLVMDialect, LLVMIR, Assembly, Object, Library, Archive };

/// The value of --emit that names it.
const char *nameOf(Emit emit);
std::optional<Emit> emitNamed(const std::string &name);

struct Options {
  std::string model;  ///< a directory, a config.json, or .mlir text; the content decides
  std::string output; ///< empty: NAME.so here, or stdout for text
  std::optional<Emit> emit;
  std::string cpu = "native", attributes, dtype = "auto";
  int64_t maxSequenceLength = 0, maxBatch = 64;
  std::optional<uint64_t> randomSeed;
  std::string weights;     ///< of .mlir input: a model directory, or a packed file
  std::string saveWeights; ///< a safetensors file for the values that were compiled
  bool noWeights = false, dryRun = false, checkTensors = false, strict = false;
  std::vector<std::string> ignoreKeys;
  std::string prefix; ///< empty: from the output's name
  unsigned threads = 0;
  bool verbose = false, showSteps = false, saveTemporaries = false;
  std::string dumpDirectory; ///< the module at every stage goes here; empty: nowhere
};

/// What -o and --emit say together: the stage to stop at, with errors about usage.
Expected<Emit> chooseEmit(const Options &options);

/// The last component of `path` without its last suffix.
std::string stemOf(const std::string &path);

} // namespace rapt::driver
