//===- TensorCheck.cpp - Looking for NaN and infinity in a model's tensors ------===//
#include "lib/Artifact/TensorCheck.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Artifact/ParameterWriter.h"
#include "lib/Artifact/Threads.h"
#include <algorithm>
#include <atomic>
#include <optional>

namespace rapt::artifact {

namespace {

/// The line for one tensor, nothing when all its values are finite.
Expected<std::optional<std::string>> checkTensor(const std::string &name, const TensorReader &reader,
                                                 Scratch &scratch) {
  constexpr uint64_t window = uint64_t(4) << 20;
  const TensorInfo *info = reader.find(name);
  if (!info)
    return Error{"tensor '" + name + "' is missing"};
  uint64_t values = 1, found = 0;
  for (int64_t extent : info->shape)
    values *= uint64_t(extent);
  const uint64_t element = sizeOf(info->dtype);
  for (uint64_t at = 0; at < values; at += window / element) {
    const uint64_t count = std::min(values - at, window / element);
    std::byte *memory = scratch.reserve(0, window);
    if (Status status = reader.read(name, at * element, {memory, size_t(count * element)}); !status)
      return status.error();
    found += countNonFinite(memory, info->dtype, count);
  }
  if (found == 0)
    return std::optional<std::string>();
  return std::optional("tensor '" + name + "': " + std::to_string(found) + " of " + std::to_string(values) +
                       " values are NaN or infinite");
}

} // namespace

std::vector<std::string> sourceTensors(const std::vector<Parameter> &parameters) {
  std::vector<std::string> names;
  for (const Parameter &parameter : parameters)
    for (const Source &source : parameter.sources)
      for (int64_t layer = 0; layer < parameter.layers; ++layer)
        names.push_back(sourceName(source, parameter.firstLayer + layer));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Expected<std::vector<std::string>> checkTensors(const std::vector<Parameter> &parameters, const TensorReader &reader,
                                                unsigned threads) {
  const std::vector<std::string> names = sourceTensors(parameters);
  std::vector<std::optional<std::string>> lines(names.size());
  std::vector<std::optional<Error>> errors(names.size());
  std::atomic<size_t> next = 0;
  runOnThreads(threadCount(threads), [&](unsigned) {
    Scratch scratch;
    for (size_t i; (i = next++) < names.size();) {
      auto line = checkTensor(names[i], reader, scratch);
      if (line)
        lines[i] = std::move(*line);
      else
        errors[i] = line.error();
    }
  });
  std::vector<std::string> found;
  for (size_t i = 0; i < names.size(); ++i) {
    if (errors[i])
      return *errors[i];
    if (lines[i])
      found.push_back(*lines[i]);
  }
  return found;
}

} // namespace rapt::artifact
