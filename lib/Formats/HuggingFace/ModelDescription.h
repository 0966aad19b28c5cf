//===- ModelDescription.h - Contents of a Hugging Face directory ------------===//
//
// The bytes of a directory, checked but not interpreted: a config whose getters
// record what was read, a tensor table, and the tokenizer and generation files.
// It knows no layers; a family turns it into IR. A family does this:
//
//   ConfigReader &config = model.config();
//   int64_t width = config.getInt({"n_embd", "hidden_size"}, 1, 1 << 16);
//   int64_t heads = config.getInt({"n_head", "num_attention_heads"}, 1, 1 << 12);
//   double epsilon = config.getPositive("layer_norm_epsilon", 1, 1e-5);
//   bool tied = config.getBool("tie_word_embeddings", true);
//   config.requireMultiple("n_embd", width, "n_head", heads);
//   RAPT_RETURN_IF_ERROR(config.finish({"resid_pdrop", "summary_type"}));
//
//   std::string prefix = model.choosePrefix({"", "transformer."}, "wte.weight");
//   std::vector<TensorRequest> requests;
//   requests.push_back({prefix + "wte.weight", {vocab, width}, Init::embedding()});
//   requests.push_back({prefix + "h.0.attn.c_attn.weight", {width, 3 * width}, Init::weight(width)});
//   if (!tied)
//     requests.push_back({"lm_head.weight", {vocab, width}, Init::weight(width)});
//   RAPT_ASSIGN_OR_RETURN(std::vector<ResolvedTensor> tensors,
//                         model.resolve(requests, {"*.attn.bias", "lm_head.weight"}));
//
// The IR carries the resolved names; model.openTensors() reads the values.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/HuggingFace/AdapterTensors.h"
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include "lib/Formats/HuggingFace/Precedence.h"
#include "lib/Formats/HuggingFace/SentenceModules.h"
#include "lib/Formats/HuggingFace/TensorRequest.h"
#include "lib/Formats/HuggingFace/TensorTable.h"
#include <functional>

namespace rapt::huggingface {

class ModelDescription;

struct LoadOptions {
  std::optional<uint64_t>
      randomSeed;         ///< weights come from docs/RandomWeights.md, those of the directory are not opened
  bool noWeights = false; ///< tensors are taken to be as the family asks; openTensors() gives null
  bool strict = false;    ///< tensors that nobody asked for are an error, not a warning
  std::vector<std::string> ignoreKeys;                              ///< config keys to ignore
  std::vector<std::pair<std::string, json::Value>> configKeys = {}; ///< over those of the model
  std::string tokenizer = {};          ///< the directory of the tokenizer's files, in place of the model's; empty: none
  std::vector<AdapterSource> adapters; ///< whose changes openTensors() adds; they need the directory's weights
  std::vector<NamedAdapter> namedAdapters; ///< among which the program chooses; they need the weights, too
  /// Asked once the configuration is read, before anything else can be wrong with the directory.
  std::function<Status(ModelDescription &)> accept = {};
  /// The classes that a model type has where no file names one; none without it.
  std::function<DefaultClasses(std::string_view modelType)> defaultClasses = {};
};

/// What a directory has, of a model that a file of another format holds.
struct ModelParts {
  std::string path;         ///< the file's, for messages
  std::string name;         ///< of the model
  json::Object config = {}; ///< the members of config.json
  TensorTable tensors = {}; ///< by the names that they have in a directory
  SideFiles files = {};     ///< those beside config.json that the file has
  SideFiles modules = {};   ///< those of sentence-transformers that it stands for
  std::vector<std::string> warnings = {};
  bool hasConv1D = true; ///< see ModelDescription::hasConv1D
};

class ModelDescription {
public:
  /// `path` is a directory with config.json or a lone configuration file (then a seed or noWeights is needed). Refuses
  /// by name quantized, pruned and adapter models, pickles, and unfinished downloads. Nothing of the model is executed.
  static Expected<ModelDescription> load(const std::string &path, LoadOptions options = {});

  /// The same of a file's parts. With LoadOptions::tokenizer the tokenizer's files among them do not count.
  static Expected<ModelDescription> make(ModelParts parts, LoadOptions options = {});

  /// `path` as given, for messages.
  const std::string &path() const { return root; }
  /// The name a model made of this gets by default: the directory's real name, or NAME of a hub snapshot
  /// (models--ORG--NAME/snapshots/HASH).
  const std::string &name() const { return shortName; }
  /// config.json's model_type; empty when absent.
  const std::string &modelType() const { return type; }
  /// Empty where adapterHead() says the class.
  const std::vector<std::string> &architectures() const { return classes; }
  /// The end of the name of the class with the adapters' head, such as "ForSequenceClassification"; empty: the base
  /// model's head.
  const std::string &adapterHead() const { return adapterFacts.head; }
  /// The config asks for Python code of its own, which is never executed. Worth saying when the model type is unknown.
  bool hasCustomCode() const { return customCode; }

  /// The weights of Conv1D, a layer of transformers, are [in, out], as in directories; else [out, in].
  bool hasConv1D() const { return isOfConv1D; }

  ConfigReader &config() { return reader; }

  /// The first of `prefixes` with which the checkpoint has `tensor`; the first of all when none has, or without
  /// weights.
  std::string choosePrefix(std::initializer_list<std::string_view> prefixes, std::string_view tensor) const;

  /// Finds every tensor a family needs; see resolveTensors. Tensors of the checkpoint that are neither requested nor
  /// match a pattern of `ignored` give one warning, an error when strict. Call it once.
  Expected<std::vector<ResolvedTensor>> resolve(std::vector<TensorRequest> requests,
                                                const std::vector<std::string_view> &ignored = {});

  /// The type most weights are stored in; of random weights the config's torch_dtype (dtype), f32 when absent.
  artifact::DType dtype() const { return storage; }

  /// Values: of the checkpoint's floating-point tensors, or random ones for the resolved requests. Null with noWeights.
  std::unique_ptr<artifact::TensorReader> openTensors() const;
  /// The resolved tensors' names, in the order of the requests, each once.
  const std::vector<std::string> &tensorNames() const { return names; }
  const TensorTable &tensors() const { return table; }

  /// Whether the output head `head` has a matrix of its own although it is tied to `table`, as adapters change one of
  /// both alone: peft's layers do not share what an adapter adds. Adds that matrix to tensors(). An error where an
  /// adapter that is chosen when the program runs does so.
  Expected<bool> separateHead(const std::string &head, const std::string &table);
  /// Whether an adapter has the tensor, which the base model has not.
  bool isAdded(const std::string &name) const { return merged && merged->added.contains(name); }
  /// The tensor that an adapter has is one that the model has under another name.
  void ignoreAdded(const std::string &name) {
    if (merged)
      merged->added.erase(name);
  }

  /// Adapters among which the program chooses, with their changes.
  const std::vector<NamedAdapter> &namedAdapters() const { return options.namedAdapters; }
  /// Adds a tensor of theirs, which openTensors() has then.
  void addTensor(const std::string &name, AdapterTensor tensor);

  /// Side files as they are: tokenizer.json, tokenizer_config.json, special_tokens_map.json, added_tokens.json,
  /// vocab.json, merges.txt, vocab.txt, generation_config.json, chat_template.jinja, preprocessor_config.json. Absent
  /// ones are missing. labels.json holds the config's id2label and problem_type, where it has them.
  const SideFiles &files() const { return sideFiles; }
  /// Those of sentence-transformers.
  ModuleFiles moduleFiles() const { return {root, modules ? &*modules : nullptr}; }
  /// Adds a file that the family makes of the model's facts.
  void addFile(const std::string &name, std::string content) { sideFiles.insert_or_assign(name, std::move(content)); }

  /// One line each, for the user; no prefix.
  const std::vector<std::string> &warnings() const { return notes; }
  void warn(std::string line) { notes.push_back(std::move(line)); }

private:
  ModelDescription(std::string path, LoadOptions options);
  Status readConfig(const std::string &file);
  Status takeConfig(const std::string &file, json::Value value);
  Status refuseUnsupported();
  Status readSideFiles(const std::string &directory, const std::string &tokenizer);
  Status settleSideFiles(const std::string &directory, const std::string &tokenizer);
  Status readWeights(const std::string &directory);
  void chooseStorage();
  Status orientAdapters(std::span<const TensorRequest> requests, std::span<const ResolvedTensor> resolved);
  Status checkAdapters() const;

  std::string root, shortName, type;
  LoadOptions options;
  std::vector<std::string> classes;
  bool customCode = false, isOfConv1D = true;
  AdapterFacts adapterFacts;            ///< where they differ from the directory's
  std::shared_ptr<UnknownKeys> unknown; ///< of all files
  ConfigReader reader;
  TensorTable table;
  std::shared_ptr<MergedAdapters> merged;         ///< null without adapters
  std::shared_ptr<AdapterTensors> adapterTensors; ///< null without adapters among which the program chooses
  artifact::DType storage = artifact::DType::F32;
  std::vector<TensorRequest> requested;
  std::vector<std::string> names;
  SideFiles sideFiles;
  std::optional<SideFiles> modules; ///< none: those of the directory
  std::vector<std::string> notes;
};

} // namespace rapt::huggingface
