//===- ModelConfig.cpp - Classes, labels and stages of a config -----------===//
#include "lib/Import/Module/ModelConfig.h"
#include <algorithm>
#include <cstring>

using namespace rapt;
using namespace rapt::importing;

int64_t importing::readLabelCount(huggingface::ConfigReader &config) {
  constexpr int64_t most = 1 << 20;
  const json::Value *labels = config.getRaw("id2label");
  std::optional<int64_t> count = config.getOptionalInt({"num_labels", "_num_labels"}, 1, most);
  if (!labels)
    return count.value_or(2);
  const json::Object *names = labels->asObject();
  if (!names || names->empty() || int64_t(names->size()) > most) {
    config.fail("id2label must be an object with a name for each class, at most " + std::to_string(most));
    return 2;
  }
  if (count && *count != int64_t(names->size()))
    config.fail("num_labels is " + std::to_string(*count) + ", but id2label names " + std::to_string(names->size()) +
                " classes");
  return int64_t(names->size());
}

/// Whether two tensors of one checkpoint have the same type, shape and bytes.
static Expected<bool> haveSameValues(const huggingface::ModelDescription &model, const huggingface::StoredTensor &a,
                                     const huggingface::StoredTensor &b) {
  if (a.dtype != b.dtype || a.shape != b.shape)
    return false;
  std::unique_ptr<artifact::TensorReader> reader = model.openTensors();
  if (!reader || !reader->find(a.name) || !reader->find(b.name))
    return true; // a type that the families refuse
  constexpr uint64_t mostBytes = uint64_t(1) << 20;
  uint64_t allBytes = artifact::sizeOf(reader->find(a.name)->dtype);
  for (int64_t extent : a.shape)
    allBytes *= uint64_t(extent);
  std::vector<std::byte> first(mostBytes), second(mostBytes);
  for (uint64_t begin = 0; begin < allBytes; begin += mostBytes) {
    size_t size = std::min(mostBytes, allBytes - begin);
    for (auto [tensor, bytes] : {std::pair(&a, &first), std::pair(&b, &second)})
      RAPT_RETURN_IF_ERROR(reader->read(tensor->name, begin, std::span(*bytes).first(size)));
    if (std::memcmp(first.data(), second.data(), size) != 0)
      return false;
  }
  return true;
}

Expected<bool> importing::isHeadTied(huggingface::ModelDescription &model, const std::string &head,
                                     const std::string &table) {
  RAPT_ASSIGN_OR_RETURN(bool isSeparate, model.separateHead(head, table));
  if (isSeparate)
    return false;
  const huggingface::StoredTensor *own = model.tensors().find(head), *shared = model.tensors().find(table);
  if (!own || !shared)
    return true;
  Expected<bool> same = haveSameValues(model, *own, *shared);
  if (same && *same)
    model.ignoreAdded(head);
  else if (same && !model.isAdded(head))
    model.warn(shownPath(model.tensors().path()) + ": \"" + head + "\" is used as the output head: it differs from \"" +
               table + "\", although tie_word_embeddings is true");
  return same;
}

std::vector<int64_t> importing::readStages(huggingface::ConfigReader &config, const char *key, size_t stages,
                                           int64_t least, int64_t most, const std::vector<int64_t> &fallback) {
  const json::Value *value = config.getRaw(key);
  std::vector<int64_t> numbers;
  if (const json::Array *list = value ? value->asArray() : nullptr)
    for (const json::Value &entry : *list)
      numbers.push_back(entry.asInteger().value_or(least - 1));
  else if (!value)
    numbers = fallback;
  auto isFine = [&](int64_t number) { return number >= least && number <= most; };
  if (numbers.size() == stages && std::ranges::all_of(numbers, isFine))
    return numbers;
  config.fail(config.nameOf(key) + (value ? " is " + json::printable(json::write(*value), 80) : " is not there") +
              ", must be a list of " + std::to_string(stages) + " integers from " + std::to_string(least) + " to " +
              std::to_string(most));
  return std::vector<int64_t>(stages, least);
}

size_t importing::countStages(huggingface::ConfigReader &config, const char *key, size_t fallback) {
  const json::Value *value = config.getRaw(key);
  const json::Array *list = value ? value->asArray() : nullptr;
  const size_t count = list ? list->size() : fallback;
  if (count >= 1 && count <= size_t(mostStages))
    return count;
  config.fail(config.nameOf(key) + " has " + std::to_string(count) + " stages, must have 1 to " +
              std::to_string(mostStages));
  return 1;
}
