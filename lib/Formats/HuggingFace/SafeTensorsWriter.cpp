//===- SafeTensorsWriter.cpp - Header, then the data in windows -------------===//
#include "lib/Formats/HuggingFace/SafeTensorsWriter.h"
#include "lib/Formats/HuggingFace/SafeTensors.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"

using namespace rapt;
using namespace rapt::huggingface;

static constexpr uint64_t windowBytes = uint64_t(8) << 20;

static Error missing(const std::string &name) {
  return Error{"tensor \"" + json::printable(name) + "\" is not there to be written"};
}

static std::optional<uint64_t> bytesOf(const artifact::TensorInfo &info) {
  std::optional<int64_t> elements = checkedProduct<int64_t>(info.shape);
  return elements ? checkedMul<uint64_t>(uint64_t(*elements), artifact::sizeOf(info.dtype)) : std::nullopt;
}

/// The JSON header, padded with spaces so that the data begins at a multiple of 8.
static Expected<std::string> makeHeader(const artifact::TensorReader &reader, std::span<const std::string> names) {
  json::Object root{{"__metadata__", json::Value(json::Object{{"format", json::Value("pt")}})}};
  uint64_t offset = 0;
  for (const std::string &name : names) {
    const artifact::TensorInfo *info = reader.find(name);
    if (!info)
      return missing(name);
    std::optional<uint64_t> bytes = bytesOf(*info);
    std::optional<uint64_t> end = bytes ? checkedAdd(offset, *bytes) : std::nullopt;
    if (!end)
      return Error{"tensor \"" + json::printable(name) + "\": the size of shape " + shownShape(info->shape) +
                   " overflows 64 bits"};
    json::Array shape;
    for (int64_t extent : info->shape)
      shape.push_back(json::Value(extent));
    root.emplace_back(name, json::Value(json::Object{
                                {"dtype", json::Value(safeTensorsName(info->dtype))},
                                {"shape", json::Value(std::move(shape))},
                                {"data_offsets", json::Value(json::Array{json::Value(offset), json::Value(*end)})}}));
    offset = *end;
  }
  std::string header = json::write(json::Value(std::move(root)));
  header.append(7 - (header.size() + 7) % 8, ' ');
  return header;
}

static Status copyTensor(const artifact::TensorReader &reader, const std::string &name, OutputFile &file,
                         std::span<std::byte> window, const ProgressCallback &onBytes) {
  uint64_t bytes = *bytesOf(*reader.find(name));
  for (uint64_t done = 0; done < bytes; done += window.size()) {
    std::span<std::byte> part = window.first(std::min<uint64_t>(window.size(), bytes - done));
    RAPT_RETURN_IF_ERROR(reader.read(name, done, part));
    RAPT_RETURN_IF_ERROR(file.write(part));
    if (onBytes)
      onBytes(part.size());
  }
  return {};
}

Status huggingface::writeSafeTensors(const std::string &path, const artifact::TensorReader &reader,
                                     std::span<const std::string> names, const ProgressCallback &onBytes) {
  RAPT_ASSIGN_OR_RETURN(std::string header, makeHeader(reader, names));
  RAPT_ASSIGN_OR_RETURN(auto file, OutputFile::create(path));
  uint64_t length = header.size();
  RAPT_RETURN_IF_ERROR(file->write(std::as_bytes(std::span(&length, 1))));
  RAPT_RETURN_IF_ERROR(file->write(std::as_bytes(std::span(header))));
  std::vector<std::byte> window(windowBytes);
  for (const std::string &name : names)
    RAPT_RETURN_IF_ERROR(copyTensor(reader, name, *file, window, onBytes));
  return file->commit();
}
