//===- ModelFiles.h - The files that a model directory is made of -----------===//
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::huggingface {

/// Whether a name inside a file is a single path component: it stays in the directory, whatever system wrote it.
bool isSafeName(std::string_view name);

/// Files beside config.json that the weight file takes as they are.
std::span<const char *const> sideFileNames();

/// Names in `directory` that end as files of weights do, in whatever format, sorted; of unfinished downloads too.
std::vector<std::string> listWeightFiles(const std::string &directory);

/// Paths of everything in `directory` that belongs to the model, whether this program reads it or not: no output may
/// replace it.
std::vector<std::string> listModelFiles(const std::string &directory);

} // namespace rapt::huggingface
