//===- Options.h - rapt-bench's command line ------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rapt::bench {

enum class Format { Markdown, CSV, JSON };

/// The size of each dim of a kernel, by name.
using KernelShape = std::vector<std::pair<std::string, int64_t>>;

struct Options {
  std::string library, weights, adapter;
  bool help = false, version = false, forkJoin = false, acceptDisturbed = false;
  std::vector<int64_t> prefill, decode, tokens, imageSizes, threads;
  std::vector<KernelShape> shapes;
  int64_t batch = 1, past = -1, repetitions = 15;
  Format format = Format::Markdown;
};

/// The error is one line for the standard error, exit 2.
Expected<Options> parseOptions(int argc, const char *const *argv);
std::string helpText();

} // namespace rapt::bench
