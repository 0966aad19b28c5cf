//===- SentenceModules.h - How sentence-transformers pools a text -----*- C++ -*-===//
#pragma once
#include "lib/Support/Expected.h"
#include <string>

namespace rapt::huggingface {

/// The pooling of a transformer's last states into one vector for each text.
struct SentenceModules {
  enum class Pooling { Mean, First, Last, Max };
  Pooling pooling = Pooling::Mean;
  bool normalizes = false; ///< to length 1
};

/// Reads modules.json of a model's directory, and the configuration of the pooling that it names; the mean where there
/// is no such file. Errors: a module or a pooling that is not supported, with what is.
Expected<SentenceModules> readSentenceModules(const std::string &directory);

} // namespace rapt::huggingface
