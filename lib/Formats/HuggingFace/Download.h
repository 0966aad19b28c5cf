//===- Download.h - Recognizing unfinished or mistaken downloads ------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include <string>
#include <string_view>

namespace rapt::huggingface {

/// Recognizes from a file's first bytes what often lies where weights or JSON should: a Git LFS pointer, an HTML page,
/// a PyTorch pickle. Returns what it is and what to do, or an empty string.
std::string describeForeignContent(std::string_view head);

/// Reads a file of at most `most` bytes and refuses foreign content.
Expected<std::string> readDownloaded(const std::string &path, uint64_t most);

/// Reads a JSON file so; of any kind of value.
Expected<json::Value> readDownloadedJson(const std::string &path, uint64_t most);

/// True when a directory entry of that name exists, a dangling link included.
bool entryExists(const std::string &path);

} // namespace rapt::huggingface
