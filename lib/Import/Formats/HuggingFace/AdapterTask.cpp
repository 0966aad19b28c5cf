//===- AdapterTask.cpp - The head that an adapter was trained with ----------===//
#include "lib/Import/Formats/HuggingFace/AdapterTask.h"
#include "lib/Import/Formats/HuggingFace/Download.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <array>

using namespace rapt;
using namespace rapt::huggingface;

static constexpr uint64_t mostConfigBytes = uint64_t(4) << 20;

/// Suffixes of the classes with a head, by peft's task_type. Images have no task_type.
static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> heads{
    {{"SEQ_CLS", "ForSequenceClassification"},
     {"TOKEN_CLS", "ForTokenClassification"},
     {"QUESTION_ANS", "ForQuestionAnswering"},
     {"", "ForImageClassification"}}};

/// "Bert" of BertModel and BertForMaskedLM, "GPT2" of GPT2LMHeadModel.
static std::string familyOf(const std::string &architecture) {
  size_t end = architecture.size();
  for (std::string_view part : {"For", "LMHead", "Model"})
    end = std::min(end, architecture.find(part));
  return architecture.substr(0, end);
}

/// The class that the configuration of an adapter names; empty without a head.
static std::string architectureOf(const json::Value &config, const std::vector<std::string> &base) {
  const json::Value *task = config.find("task_type"), *mapping = config.find("auto_mapping");
  const json::Value *whole = mapping ? mapping->find("base_model_class") : nullptr;
  const std::string *type = task ? task->asString() : nullptr, *named = whole ? whole->asString() : nullptr;
  for (const auto &[known, suffix] : heads) {
    if (type && *type == known && !base.empty())
      return familyOf(base.front()).append(suffix);
    if (!type && named && named->ends_with(suffix))
      return *named;
  }
  return {};
}

/// The rows of the classifier that the file has whole; 0 without one.
static int64_t labelsOf(const std::string &file) {
  Expected<TensorTable> table = TensorTable::loadFile(file);
  if (table)
    for (const auto &[name, tensor] : table->tensors())
      for (std::string_view classifier : {".score.weight", ".classifier.weight", ".classifier.out_proj.weight"})
        if (name.ends_with(classifier) && tensor.shape.size() == 2)
          return tensor.shape[0];
  return 0;
}

Expected<std::optional<AdapterTask>> huggingface::readAdapterTask(const std::vector<AdapterSource> &adapters,
                                                                  const std::vector<std::string> &architectures) {
  std::optional<AdapterTask> task;
  for (const AdapterSource &adapter : adapters) {
    const std::string file = adapter.directory + "/adapter_config.json";
    if (!entryExists(file))
      continue;
    Expected<json::Value> config = readDownloadedJson(file, mostConfigBytes);
    const std::string own = config ? architectureOf(*config, architectures) : std::string();
    if (own.empty() || std::find(architectures.begin(), architectures.end(), own) != architectures.end())
      continue;
    const int64_t labels = labelsOf(adapter.directory + "/adapter_model.safetensors");
    if (task && (task->architecture != own || (labels && task->labels && task->labels != labels)))
      return Error{shownPath(adapter.directory) + ": is of a " + json::printable(own) + " with " +
                   std::to_string(labels) + " labels, another adapter of a " + json::printable(task->architecture) +
                   " with " + std::to_string(task->labels)};
    task = AdapterTask{own, std::max(labels, task ? task->labels : 0)};
  }
  return task;
}
