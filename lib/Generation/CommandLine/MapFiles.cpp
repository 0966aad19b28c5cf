//===- MapFiles.cpp - The names of a run's attention maps -------------------------===//
#include "lib/Generation/CommandLine/MapFiles.h"
#include "lib/Support/File.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>

namespace rapt::run {

static constexpr std::string_view kLayer = "-layer", kHead = "-head";

std::string mapPrefix(std::string_view kind, size_t number) { return std::string(kind) + std::to_string(number) + "-"; }

std::string mapOfLayer(std::string_view name, int64_t layer) {
  return std::string(name).append(kLayer) + std::to_string(layer);
}

std::string mapOfHead(std::string_view name, int64_t layer, int64_t head) {
  return mapOfLayer(name, layer).append(kHead) + std::to_string(head);
}

static bool take(std::string_view &text, std::string_view front) {
  const bool isThere = text.starts_with(front);
  text.remove_prefix(isThere ? front.size() : 0);
  return isThere;
}

/// `front` and a number behind it.
static bool takeNumbered(std::string_view &text, std::string_view front) {
  std::string_view rest = text;
  if (!take(rest, front))
    return false;
  const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  rest.remove_prefix(digits);
  if (digits > 0)
    text = rest;
  return digits > 0;
}

bool isMapFile(std::string_view whole) {
  std::string_view name = whole;
  for (std::string_view kind : {mapOfRow, mapOfImage})
    if (std::string_view rest = name; takeNumbered(rest, kind) && take(rest, "-"))
      name = rest;
  name.remove_prefix(std::min(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), name.size()));
  const std::string_view output = whole.substr(0, whole.size() - name.size());
  if (!output.ends_with(mapOutput) || !takeNumbered(name, kLayer))
    return false;
  return name == mapSheet || name == mapOverlay ||
         (takeNumbered(name, kHead) && (name == ".npy" || name == ".svg" || name == ".png"));
}

Status prepareMapFolder(const std::string &folder) {
  if (mkdir(folder.c_str(), 0777) == 0)
    return {};
  if (errno != EEXIST)
    return Error{shownPath(folder) + ": cannot be made: " + strerror(errno)};
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (isMapFile(entry->path().filename().string()) && entry->is_regular_file(error) && !entry->is_symlink(error))
      std::filesystem::remove(entry->path(), error);
  return error ? Status(Error{shownPath(folder) + ": the maps of an older run cannot be removed: " + error.message()})
               : Status();
}

} // namespace rapt::run
