//===- File.cpp - A model in a GGUF file, or in its parts ------------------------===//
#include "lib/Formats/GGUF/File.h"
#include "lib/Formats/GGUF/Header.h"
#include "lib/Formats/GGUF/Limits.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Support/Json.h"
#include <cstdio>

using namespace rapt;
using namespace rapt::gguf;

static constexpr const char *keyOfPart = "split.no", *keyOfParts = "split.count", *keyOfTensors = "split.tensors.count";

/// "NAME-00003-of-00005.gguf": the name without part and count; empty where it does not end so.
static std::string stemOfPart(const std::string &path, int64_t part, int64_t parts) {
  char end[64];
  std::snprintf(end, sizeof end, "-%05lld-of-%05lld.gguf", (long long)part, (long long)parts);
  return path.ends_with(end) ? path.substr(0, path.size() - std::string_view(end).size()) : "";
}

static std::string nameOfPart(const std::string &stem, int64_t part, int64_t parts) {
  char end[64];
  std::snprintf(end, sizeof end, "-%05lld-of-%05lld.gguf", (long long)part, (long long)parts);
  return stem + end;
}

const Tensor *File::find(std::string_view name) const {
  auto at = table.find(name);
  return at == table.end() ? nullptr : &at->second;
}

Status File::addTensors(std::vector<Tensor> tensors) {
  if (table.size() + tensors.size() > mostTensors)
    return Error{shownPath(path()) + ": more than the " + std::to_string(mostTensors) + " tensors allowed"};
  for (Tensor &tensor : tensors) {
    const std::string other = tensor.file->path(), name = tensor.name;
    auto [at, isNew] = table.try_emplace(name, std::move(tensor));
    if (isNew)
      continue;
    const std::string &first = at->second.file->path();
    return Error{shownPath(other) + ": tensor \"" + json::printable(name) +
                 "\": " + (first == other ? "the file has it twice" : shownPath(first) + " has it, too")};
  }
  return {};
}

Expected<File> File::open(const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(auto input, InputFile::open(path));
  RAPT_ASSIGN_OR_RETURN(Header header, readHeader(std::move(input)));
  File file;
  file.paths.push_back(path);
  file.metadataOfAll = std::move(header.metadata);
  RAPT_RETURN_IF_ERROR(file.addTensors(std::move(header.tensors)));
  RAPT_RETURN_IF_ERROR(file.addParts());
  return file;
}

/// The number of parts, 1 of a whole file, and this one's.
static Expected<std::pair<int64_t, int64_t>> readPart(const Metadata &metadata) {
  RAPT_ASSIGN_OR_RETURN(std::optional<int64_t> count, metadata.integer(keyOfParts));
  RAPT_ASSIGN_OR_RETURN(std::optional<int64_t> number, metadata.integer(keyOfPart));
  const int64_t parts = count.value_or(0), part = number.value_or(0);
  if (parts == 0 && part == 0)
    return std::pair<int64_t, int64_t>(1, 0);
  if (parts < 1 || uint64_t(parts) > mostParts)
    return metadata.fail(keyOfParts, std::to_string(parts) + " is not between 1 and " + std::to_string(mostParts));
  if (part < 0 || part >= parts)
    return metadata.fail(keyOfPart, std::to_string(part) + " is not between 0 and " + std::to_string(parts - 1));
  return std::pair(parts, part);
}

Status File::addParts() {
  const Metadata &metadata = metadataOfAll;
  RAPT_ASSIGN_OR_RETURN(auto counts, readPart(metadata));
  const auto [parts, part] = counts;
  if (parts == 1)
    return {};
  const std::string which = shownPath(path()) + ": part " + std::to_string(part + 1) + " of " + std::to_string(parts);
  const std::string stem = stemOfPart(path(), part + 1, parts);
  if (stem.empty())
    return Error{which + ", whose name must end in " + nameOfPart("", part + 1, parts) +
                 ": give the file its own name back, by which the other parts are found"};
  if (part != 0)
    return Error{which + ": give the first, " + shownPath(nameOfPart(stem, 1, parts))};
  RAPT_ASSIGN_OR_RETURN(std::optional<int64_t> expected, metadata.integer(keyOfTensors));
  for (int64_t other = 1; other < parts; ++other) {
    const std::string name = nameOfPart(stem, other + 1, parts);
    if (!huggingface::entryExists(name))
      return Error{which + ": " + shownPath(name) + " is missing"};
    RAPT_ASSIGN_OR_RETURN(auto input, InputFile::open(name));
    RAPT_ASSIGN_OR_RETURN(Header header, readHeader(std::move(input)));
    RAPT_ASSIGN_OR_RETURN(auto place, readPart(header.metadata));
    if (place != std::pair(parts, other))
      return Error{shownPath(name) + ": its metadata say that it is part " + std::to_string(place.second + 1) + " of " +
                   std::to_string(place.first) + ": download it again"};
    RAPT_ASSIGN_OR_RETURN(std::optional<int64_t> own, header.metadata.integer(keyOfTensors));
    if (own && own != expected)
      return Error{shownPath(name) + ": " + keyOfTensors + " is " + std::to_string(*own) + ", of the first part " +
                   (expected ? std::to_string(*expected) : "absent") + ": the parts are of several models"};
    paths.push_back(name);
    RAPT_RETURN_IF_ERROR(addTensors(std::move(header.tensors)));
  }
  if (expected && *expected != int64_t(table.size()))
    return Error{which + ": the parts have " + std::to_string(table.size()) + " tensors, " + keyOfTensors + " is " +
                 std::to_string(*expected) + ": the file is not whole"};
  return {};
}
