//===- Stages.cpp - Sizes of a model's stages ------------------------------------===//
#include "lib/Import/Module/Stages.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::importing;

std::vector<int64_t> importing::readStages(huggingface::ConfigReader &config, const char *key, size_t stages,
                                           int64_t least, int64_t most, const std::vector<int64_t> &usual) {
  const json::Value *value = config.getRaw(key);
  std::vector<int64_t> numbers;
  if (const json::Array *list = value ? value->asArray() : nullptr)
    for (const json::Value &entry : *list)
      numbers.push_back(entry.asInteger().value_or(least - 1));
  else if (!value)
    numbers = usual;
  auto isFine = [&](int64_t number) { return number >= least && number <= most; };
  if (numbers.size() == stages && std::ranges::all_of(numbers, isFine))
    return numbers;
  config.fail(config.nameOf(key) + (value ? " is " + json::printable(json::write(*value), 80) : " is not there") +
              ", must be a list of " + std::to_string(stages) + " integers from " + std::to_string(least) + " to " +
              std::to_string(most));
  return std::vector<int64_t>(stages, least);
}

size_t importing::countStages(huggingface::ConfigReader &config, const char *key, size_t usual) {
  const json::Value *value = config.getRaw(key);
  const json::Array *list = value ? value->asArray() : nullptr;
  const size_t count = list ? list->size() : usual;
  if (count >= 1 && count <= size_t(mostStages))
    return count;
  config.fail(config.nameOf(key) + " has " + std::to_string(count) + " stages, must have 1 to " +
              std::to_string(mostStages));
  return 1;
}
