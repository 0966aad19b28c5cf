//===- AdapterFacts.cpp - Facts that adapters change besides weights --------===//
#include "lib/Formats/HuggingFace/AdapterFacts.h"
#include "lib/Formats/HuggingFace/Adapter.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/TokenizerFiles.h"
#include <algorithm>
#include <array>
#include <optional>
#include <span>

using namespace rapt;
using namespace rapt::huggingface;

static constexpr uint64_t mostConfigBytes = uint64_t(4) << 20;

/// Ends of names of classes with a head, by peft's task_type; images have no task_type.
static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> heads{
    {{"SEQ_CLS", "ForSequenceClassification"},
     {"TOKEN_CLS", "ForTokenClassification"},
     {"QUESTION_ANS", "ForQuestionAnswering"},
     {"", "ForImageClassification"}}};
/// Those of classes that have the base model's layers, and no head that an adapter brings.
static constexpr std::string_view plain[] = {
    "LMHeadModel", "Model", "ForCausalLM", "ForMaskedLM", "ForConditionalGeneration", "ForPreTraining"};

/// Ends of names of classifiers, and of tables of embeddings.
static constexpr std::string_view classifiers[] = {".score.weight", ".classifier.weight",
                                                   ".classifier.out_proj.weight"};
static constexpr std::string_view tables[] = {".embed_tokens.weight", ".wte.weight", ".word_embeddings.weight",
                                              ".embed_in.weight", ".shared.weight"};

/// Whether the class is `end` behind the name of the family of the base model's classes.
static bool isOfFamily(std::string_view named, std::string_view end, const std::vector<std::string> &base) {
  return named.ends_with(end) && (base.empty() || base.front().starts_with(named.substr(0, named.size() - end.size())));
}

/// The head that the configuration of an adapter names; empty without one. No value for a class of something else.
static std::optional<std::string> headOf(const json::Value *task, const std::string *named,
                                         const std::vector<std::string> &base) {
  const std::string *type = task ? task->asString() : nullptr;
  for (const auto &[known, end] : heads)
    if (type ? !known.empty() && *type == known : named && isOfFamily(*named, end, base))
      return std::string(end);
  const bool isPlain = !named || std::find(base.begin(), base.end(), *named) != base.end() ||
                       std::any_of(std::begin(plain), std::end(plain),
                                   [&](std::string_view end) { return isOfFamily(*named, end, base); });
  return isPlain ? std::optional(std::string()) : std::nullopt;
}

/// The rows of the matrix that the file has whole under a name with one of these ends; 0 without one.
static int64_t rowsOf(const TensorTable &table, std::span<const std::string_view> ends) {
  for (const auto &[name, tensor] : table.tensors())
    if (tensor.shape.size() == 2 &&
        std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return name.ends_with(end); }))
      return tensor.shape[0];
  return 0;
}

/// Classes of a classification head, as readLabelCount counts them.
static int64_t labelsOf(const json::Value &config) {
  const json::Value *names = config.find("id2label"), *count = config.find("num_labels");
  count = count ? count : config.find("_num_labels");
  if (names && names->isObject())
    return int64_t(names->asObject()->size());
  return count ? count->asInteger().value_or(0) : 2;
}

/// Whether `own` is as the fact is known, or the first that is.
template <typename Fact> static bool agrees(Fact &known, const Fact &own) {
  if (known == Fact())
    known = own;
  return own == Fact() || known == own;
}

Expected<AdapterFacts> huggingface::readAdapterFacts(const std::vector<AdapterSource> &adapters,
                                                     const json::Value &config,
                                                     const std::vector<std::string> &architectures) {
  AdapterFacts facts;
  auto isOfBase = [&](std::string_view end) {
    return std::any_of(architectures.begin(), architectures.end(),
                       [&](const std::string &own) { return own.ends_with(end); });
  };
  const bool classifies = isOfBase("Classification");
  const json::Value *size = config.find("vocab_size");
  const std::optional<int64_t> vocabulary = size ? size->asInteger() : std::nullopt;
  for (const AdapterSource &adapter : adapters) {
    const std::string file = adapter.directory + "/adapter_config.json",
                      weights = adapter.directory + "/adapter_model.safetensors";
    if (!entryExists(file) || !entryExists(weights))
      continue;
    Expected<TensorTable> table = TensorTable::loadFile(weights);
    Expected<json::Value> own = readDownloadedJson(file, mostConfigBytes);
    if (!table || !own)
      continue;
    const json::Value *mapping = own->find("auto_mapping");
    const json::Value *whole = mapping ? mapping->find("base_model_class") : nullptr;
    const std::string *named = whole ? whole->asString() : nullptr;
    const std::optional<std::string> head = headOf(own->find("task_type"), named, architectures);
    if (!head)
      return Error{shownPath(file) + ": auto_mapping has the class " + json::printable(*named, 100) +
                   ", which is none that is known for " +
                   (architectures.empty() ? "the base model" : json::printable(architectures.front(), 100))};
    auto differ = [&](const char *what) {
      return Error{shownPath(adapter.directory) + ": the adapter is of a model with other " + what +
                   " than that of another adapter"};
    };
    if (!head->empty() && !isOfBase(*head) && !agrees(facts.head, *head))
      return differ("heads");
    if (!agrees(facts.labels, classifies || !head->empty() ? rowsOf(*table, classifiers) : 0))
      return differ("labels");
    if (!agrees(facts.vocabulary, vocabulary ? rowsOf(*table, tables) : 0))
      return differ("tokens");
  }
  if (facts.labels == labelsOf(config))
    facts.labels = 0;
  if (facts.vocabulary == vocabulary)
    facts.vocabulary = 0;
  return facts;
}

json::Value huggingface::withFacts(const json::Value &config, const AdapterFacts &facts) {
  json::Object members;
  auto is = [](const std::string &key, std::initializer_list<std::string_view> keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (const auto &[key, member] : *config.asObject()) {
    const bool isOfLabels = facts.labels && is(key, {"num_labels", "_num_labels", "id2label", "label2id"}),
               isOfHead = !facts.head.empty() &&
                          is(key, {"problem_type", "sbert_ce_default_activation_function", "sentence_transformers"});
    if (!isOfLabels && !isOfHead && !(facts.vocabulary && key == "vocab_size"))
      members.emplace_back(key, member);
  }
  if (facts.labels)
    members.emplace_back("num_labels", json::Value(facts.labels));
  if (facts.vocabulary)
    members.emplace_back("vocab_size", json::Value(facts.vocabulary));
  return json::Value(std::move(members));
}

std::string huggingface::tokenizerDirectory(const std::vector<AdapterSource> &adapters, const std::string &base) {
  for (auto adapter = adapters.rbegin(); adapter != adapters.rend(); ++adapter) {
    auto has = [&](const char *name) { return entryExists(adapter->directory + "/" + name); };
    if (has("tokenizer.json") || has("vocab.json") || has("vocab.txt") ||
        std::any_of(sentencePieceNames().begin(), sentencePieceNames().end(), has))
      return adapter->directory;
  }
  return base;
}
