//===- Heads.cpp - What is computed after a model's last layer ----------------===//
#include "lib/Import/Heads.h"

using namespace rapt;

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
