//===- OldWeights.cpp - The weight file of a library that was replaced --------------------------===//
#include "lib/Driver/OldWeights.h"
#include "lib/Artifact/Elf.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include <filesystem>

using namespace rapt;
using namespace rapt::driver;

std::string driver::weightsNamedBy(const std::string &path, const std::string &base) {
  Expected<std::string> bytes = readFile(path, uint64_t(1) << 30);
  if (!bytes)
    return {};
  Expected<std::string_view> section = artifact::readElfSection(*bytes, ".rapt.manifest");
  if (!section)
    return {};
  Expected<json::Value> manifest = json::parse(*section);
  const json::Value *weights = manifest ? manifest->find("weights") : nullptr;
  const json::Value *file = weights ? weights->find("file") : nullptr;
  const std::string *name = file ? file->asString() : nullptr;
  // Only what a compilation to this base writes: never a path, never another model's file.
  bool ours = name && name->size() == base.size() + 9 + 8 && name->starts_with(base + "-") &&
              name->ends_with(".weights") &&
              name->substr(base.size() + 1, 8).find_first_not_of("0123456789abcdef") == std::string::npos;
  return ours ? *name : std::string();
}

/// Whether `text` lies somewhere in the file; also where that cannot be known.
static bool mayHold(const InputFile &file, std::string_view text) {
  constexpr size_t pieceBytes = size_t(1) << 20;
  std::string piece;
  for (uint64_t at = 0; at < file.size(); at += pieceBytes) {
    piece.resize(std::min<uint64_t>(pieceBytes + text.size(), file.size() - at)); // pieces overlap by the text
    if (!file.read(at, std::as_writable_bytes(std::span(piece))) || piece.find(text) != std::string::npos)
      return true;
  }
  return false;
}

std::string driver::findUserOf(const std::string &folder, const std::string &name) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) // also a link to one
      continue;
    Expected<std::shared_ptr<const InputFile>> file = InputFile::open(path);
    if (!file)
      return path;
    std::string start(8, '\0');
    Expected<size_t> got = (*file)->readSome(0, std::as_writable_bytes(std::span(start)));
    const bool isCode = !got ||
                        start.starts_with("\x7f"
                                          "ELF") ||
                        start == "!<arch>\n" || start == "!<thin>\n";
    if (isCode && mayHold(**file, name))
      return path;
  }
  return error ? folder : "";
}
