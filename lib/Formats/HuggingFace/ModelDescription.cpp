//===- ModelDescription.cpp - Opening a Hugging Face directory --------------===//
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include "lib/Formats/HuggingFace/ChatTemplates.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/EightBitFloats.h"
#include "lib/Formats/HuggingFace/MatmulTensors.h"
#include "lib/Formats/HuggingFace/ModelFiles.h"
#include "lib/Formats/HuggingFace/RandomTensors.h"
#include "lib/Formats/HuggingFace/TokenizerFiles.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Example.h"
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <set>
#include <sys/stat.h>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

static constexpr uint64_t mostConfigBytes = uint64_t(16) << 20;
static constexpr uint64_t mostSideFileBytes = uint64_t(64) << 20;
static constexpr size_t mostNamed = 20;
static constexpr const char *generationFile = "generation_config.json";

static bool isDirectory(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// The last component of `path`; what comes before it, without the slash, goes to `rest`.
static std::string splitLast(const std::string &path, std::string &rest) {
  size_t slash = path.rfind('/');
  rest = slash == path.npos ? "" : path.substr(0, slash);
  return slash == path.npos ? path : path.substr(slash + 1);
}

/// See ModelDescription::name.
static std::string makeName(const std::string &directory) {
  std::string real = directory;
  if (char *resolved = realpath(directory.c_str(), nullptr)) {
    real = resolved;
    free(resolved);
  }
  std::string parent, grandparent, rest;
  std::string name = splitLast(real, parent);
  if (splitLast(parent, grandparent) == "snapshots") {
    std::string repository = splitLast(grandparent, rest);
    if (repository.starts_with("models--"))
      name = repository.substr(repository.rfind("--") + 2);
  }
  return name.empty() ? "model" : name;
}

ModelDescription::ModelDescription(std::string path, LoadOptions given)
    : root(std::move(path)), options(std::move(given)), unknown(std::make_shared<UnknownKeys>(options.ignoreKeys)) {
  for (AdapterSource &adapter : options.adapters)
    adapter.unknown = unknown;
  for (NamedAdapter &adapter : options.namedAdapters)
    adapter.source.unknown = unknown;
}

Expected<ModelDescription> ModelDescription::make(ModelParts parts, LoadOptions options) {
  ModelDescription model(parts.path, std::move(options));
  if (!model.options.adapters.empty() || !model.options.namedAdapters.empty())
    return Error{shownPath(parts.path) + ": adapters change the weights of a Hugging Face directory, not of this file: "
                                         "give the directory that the file was made from"};
  model.shortName = std::move(parts.name);
  model.notes = std::move(parts.warnings);
  model.isOfConv1D = parts.hasConv1D;
  model.modules = std::move(parts.modules);
  RAPT_RETURN_IF_ERROR(model.takeConfig(parts.path, json::Value(std::move(parts.config))));
  const std::string &tokenizer = model.options.tokenizer;
  if (tokenizer.empty()) {
    model.sideFiles = std::move(parts.files);
  } else {
    RAPT_RETURN_IF_ERROR(model.readSideFiles("", tokenizer));
    for (const char *name : {generationFile, "preprocessor_config.json"})
      if (auto file = parts.files.find(name); file != parts.files.end())
        model.sideFiles.insert(*file);
  }
  RAPT_RETURN_IF_ERROR(model.settleSideFiles(parts.path, tokenizer.empty() ? parts.path : tokenizer));
  model.table = std::move(parts.tensors);
  model.chooseStorage();
  return model;
}

Expected<ModelDescription> ModelDescription::load(const std::string &path, LoadOptions given) {
  ModelDescription model(path, std::move(given));
  bool directory = isDirectory(path);
  bool needsWeights = !model.options.randomSeed && !model.options.noWeights;
  const bool hasAdapters = !model.options.adapters.empty() || !model.options.namedAdapters.empty();
  if (hasAdapters && (!directory || !needsWeights))
    return Error{shownPath(path) + ": adapters change the weights of a model's directory, which are not read here"};
  std::string folder = directory ? path : path.find('/') == path.npos ? "." : path.substr(0, path.rfind('/') + 1);
  model.shortName = makeName(folder);
  std::string config = directory ? path + "/config.json" : path;
  if (directory && !entryExists(config))
    return Error{shownPath(path) + ": no config.json in this directory"};
  RAPT_RETURN_IF_ERROR(model.readConfig(config));
  if (directory) {
    // An adapter changes the weights; compiling the base model alone would be silently wrong.
    if (entryExists(path + "/adapter_config.json"))
      return Error{shownPath(path + "/adapter_config.json") +
                   ": the directory of an adapter: give the base model's, and this one as --adapter"};
    const std::string tokenizer =
        model.options.tokenizer.empty() ? tokenizerDirectory(model.options.adapters, path) : model.options.tokenizer;
    RAPT_RETURN_IF_ERROR(model.readSideFiles(path, tokenizer));
    RAPT_RETURN_IF_ERROR(model.settleSideFiles(path, tokenizer));
    if (needsWeights)
      RAPT_RETURN_IF_ERROR(model.readWeights(path));
  } else if (needsWeights) {
    return Error{shownPath(path) + ": a configuration without weights: give the model's directory, or "
                                   "--random-weights=SEED"};
  }
  return model;
}

Status ModelDescription::readConfig(const std::string &file) {
  RAPT_ASSIGN_OR_RETURN(json::Value value, readDownloadedJson(file, mostConfigBytes));
  if (!value.isObject())
    return Error{shownPath(file) + ": not a JSON object"};
  return takeConfig(file, withDecoderStart(file.substr(0, file.rfind('/')), value, notes));
}

Status ModelDescription::takeConfig(const std::string &file, json::Value value) {
  if (!options.configKeys.empty()) {
    json::Object members = *value.asObject();
    for (const auto &[key, own] : options.configKeys)
      json::setMember(members, key, own);
    value = json::Value(std::move(members));
  }
  const json::Value *declared = value.find("architectures");
  if (const json::Array *list = declared ? declared->asArray() : nullptr)
    for (const json::Value &entry : *list)
      if (const std::string *architecture = entry.asString())
        classes.push_back(*architecture);
  RAPT_ASSIGN_OR_RETURN(adapterFacts, readAdapterFacts(options.adapters, value, classes));
  if (adapterFacts.any())
    value = withFacts(value, adapterFacts);
  if (!adapterFacts.head.empty())
    classes.clear();
  for (const NamedAdapter &adapter : options.namedAdapters) {
    RAPT_ASSIGN_OR_RETURN(AdapterFacts own, readAdapterFacts({adapter.source}, value, classes));
    if (own.any())
      return Error{shownPath(adapter.source.directory) +
                   ": the adapter has a head, labels or tokens that the base model does not have; merge the adapter "
                   "instead: --adapter"};
  }
  const json::Value *map = value.find("auto_map");
  customCode = map && !map->isNull();
  if (customCode)
    notes.push_back(shownPath(file) + ": auto_map names Python code of the model's own, which is never executed");
  reader = ConfigReader(std::move(value), file, unknown);
  type = reader.getString("model_type", "");
  if (options.accept)
    RAPT_RETURN_IF_ERROR(options.accept(*this));
  return refuseUnsupported();
}

Status ModelDescription::refuseUnsupported() {
  // The second key is MLX's.
  for (const char *key : {"quantization_config", "quantization"})
    if (const json::Value *quantization = reader.getRaw(key)) {
      const json::Value *method = quantization->find("quant_method");
      const std::string *name = method ? method->asString() : nullptr;
      if (name && *name == "mxfp4") // tensors that TensorTable joins, whatever the key says besides
        continue;
      if (std::string_view(key) == "quantization_config" && readBlockScaling(reader))
        continue;
      reader.fail(key + (name ? " (" + json::printable(*name, 60) + ")" : "") +
                  " is not supported: use the original weights");
    }
  const json::Value *pruned = reader.getRaw("pruned_heads");
  bool hasPruned = pruned && !(pruned->isObject() && pruned->asObject()->empty()) &&
                   !(pruned->isArray() && pruned->asArray()->empty());
  if (hasPruned)
    reader.fail("pruned_heads is " + json::printable(json::write(*pruned), 60) + ": pruned models are not supported");
  storage = readDeclaredType(reader);
  return reader.errors();
}

/// The name of the class of torch that a CrossEncoder of sentence-transformers applies to its logits; empty: not said.
static std::string rerankerActivation(ConfigReader &config) {
  const json::Value *own = config.getRaw("sentence_transformers"),
                    *old = config.getRaw("sbert_ce_default_activation_function");
  const json::Value *named = own ? own->find("activation_fn") : old;
  const std::string *path = named ? named->asString() : nullptr;
  return path ? path->substr(path->rfind('.') + 1) : std::string();
}

/// Reads the tokenizer's files of one directory, and the others of another; an empty path is none.
Status ModelDescription::readSideFiles(const std::string &directory, const std::string &tokenizer) {
  for (const std::string name : sideFileNames()) {
    const bool isOfTokenizer = name != generationFile && name != "preprocessor_config.json";
    const std::string &folder = isOfTokenizer ? tokenizer : directory, path = folder + "/" + name;
    if (folder.empty() || !entryExists(path))
      continue;
    RAPT_ASSIGN_OR_RETURN(std::string text, readDownloaded(path, mostSideFileBytes));
    sideFiles.emplace(name, std::move(text));
  }
  return {};
}

Status ModelDescription::settleSideFiles(const std::string &directory, const std::string &tokenizer) {
  reportTokenizerKeys(sideFiles, tokenizer, notes);
  RAPT_RETURN_IF_ERROR(settleTemplates(tokenizer, sideFiles, notes));
  const DefaultClasses classes = options.defaultClasses ? options.defaultClasses(type) : DefaultClasses();
  settleTokenizer(classes, reader, sideFiles);
  RAPT_RETURN_IF_ERROR(completeTokenizer(tokenizer, type, sideFiles, notes));
  auto has = [&](const char *name) { return sideFiles.contains(name); };
  if (!options.tokenizer.empty() && !hasTokenizer(has, /*writesOther=*/false))
    return Error{shownPath(options.tokenizer) + ": --tokenizer: this directory has no tokenizer.json"};
  settleGeneration(reader, sideFiles);
  RAPT_RETURN_IF_ERROR(settleProcessor(directory, classes, sideFiles, notes));
  json::Object labels;
  for (const char *key : {"id2label", "problem_type"})
    if (const json::Value *value = reader.getRaw(key); value && !value->isNull())
      labels.emplace_back(key, *value);
  if (std::string activation = rerankerActivation(reader); !activation.empty())
    labels.emplace_back("activation", json::Value(std::move(activation)));
  if (!labels.empty())
    sideFiles.emplace("labels.json", json::write(json::Value(std::move(labels))));
  return {};
}

Status ModelDescription::readWeights(const std::string &directory) {
  RAPT_ASSIGN_OR_RETURN(table, TensorTable::load(directory, notes));
  if (!options.adapters.empty())
    merged = std::make_shared<MergedAdapters>();
  for (const AdapterSource &adapter : options.adapters)
    RAPT_RETURN_IF_ERROR(addAdapter(adapter, table, *merged, adapterFacts));
  if (merged)
    notes.insert(notes.end(), merged->notes.begin(), merged->notes.end());
  for (NamedAdapter &adapter : options.namedAdapters) {
    RAPT_ASSIGN_OR_RETURN(adapter.changes, readChanges(adapter.source, table, notes));
  }
  chooseStorage();
  return {};
}

void ModelDescription::chooseStorage() {
  uint64_t bytes[3] = {};
  for (const auto &[name, tensor] : table.tensors())
    if (std::optional<DType> dtype = tensor.type())
      bytes[size_t(*dtype)] += tensor.bytes;
  for (DType dtype : {DType::F32, DType::BF16, DType::F16})
    if (bytes[size_t(dtype)] > bytes[size_t(storage)])
      storage = dtype;
}

std::string ModelDescription::choosePrefix(std::initializer_list<std::string_view> prefixes,
                                           std::string_view tensor) const {
  for (std::string_view prefix : prefixes)
    if (table.find(std::string(prefix).append(tensor)))
      return std::string(prefix);
  return std::string(*prefixes.begin());
}

/// Without a checkpoint every request is met; only its size can be wrong.
static Expected<std::vector<ResolvedTensor>> takeAsRequested(const std::string &file, DType dtype,
                                                             std::span<const TensorRequest> requests) {
  std::vector<ResolvedTensor> resolved;
  uint64_t total = 0;
  for (const TensorRequest &request : requests) {
    std::optional<int64_t> elements = checkedProduct<int64_t>(request.shape);
    std::optional<uint64_t> sum = elements ? checkedAdd(total, uint64_t(*elements)) : std::nullopt;
    if (!sum || *sum > uint64_t(1) << 60)
      return Error{shownPath(file) + ": tensor \"" + json::printable(request.name) + "\" " + shownShape(request.shape) +
                   ": the model has more than 2^60 parameters"};
    total = *sum;
    resolved.push_back({request.name, dtype, request.shape});
  }
  return resolved;
}

Expected<std::vector<ResolvedTensor>> ModelDescription::resolve(std::vector<TensorRequest> requests,
                                                                const std::vector<std::string_view> &ignored) {
  const std::string assumed = reader.assumedSizes();
  if (!assumed.empty())
    notes.push_back(shownPath(reader.file()) + ": " + assumed);
  bool fromCheckpoint = !options.randomSeed && !options.noWeights;
  RAPT_ASSIGN_OR_RETURN(auto resolved, fromCheckpoint ? resolveTensors(table, requests)
                                                      : takeAsRequested(reader.file(), storage, requests));
  requested = std::move(requests);
  std::set<std::string_view> seen;
  for (ResolvedTensor &tensor : resolved) {
    // A file whose weights are left out says their types nevertheless.
    if (const StoredTensor *stored = options.noWeights ? table.find(tensor.name) : nullptr; stored && stored->type()) {
      tensor.dtype = *stored->type();
      tensor.blocks = stored->blocks ? stored->blocks->format : nullptr;
    }
    if (seen.insert(tensor.name).second)
      names.push_back(tensor.name);
  }
  if (!fromCheckpoint)
    return resolved;
  RAPT_RETURN_IF_ERROR(orientAdapters(requested, resolved));
  RAPT_RETURN_IF_ERROR(checkAdapters());
  std::vector<std::string> extra = findExtraTensors(table, resolved, std::span(ignored.begin(), ignored.size()));
  for (const std::string &name : extra)
    for (const AdapterSource &adapter : options.adapters)
      if (table.find(name)->file->path().starts_with(adapter.directory + "/adapter_model."))
        return Error{shownPath(adapter.directory) + ": tensor \"" + json::printable(name) +
                     "\" of the adapter is none that the model has"};
  if (extra.empty())
    return resolved;
  std::string note = shownPath(table.path()) + ": " + std::to_string(extra.size()) +
                     (extra.size() == 1 ? " tensor" : " tensors") + " of the checkpoint not used by the model: ";
  for (size_t i = 0; i < extra.size() && (i < mostNamed || options.strict); ++i)
    note += (i ? ", " : "") + table.shown(extra[i]);
  // A tensor of one more layer, where the number of layers is a guess, says that the guess is wrong.
  const bool isOfLayer = std::any_of(extra.begin(), extra.end(), [](const std::string &name) {
    const size_t digit = name.find_first_of("0123456789");
    return digit != name.npos && digit > 0 && name[digit - 1] == '.';
  });
  if (!assumed.empty() && isOfLayer)
    return Error{note + "; " + shownPath(reader.file()) + " " + assumed + ", which the checkpoint contradicts"};
  if (options.strict)
    return Error{note};
  notes.push_back(note + (extra.size() > mostNamed ? ", ..." : ""));
  return resolved;
}

void ModelDescription::addTensor(const std::string &name, AdapterTensor tensor) {
  if (!adapterTensors)
    adapterTensors = std::make_shared<AdapterTensors>();
  if (adapterTensors->try_emplace(name, std::move(tensor)).second)
    names.push_back(name);
}

std::unique_ptr<artifact::TensorReader> ModelDescription::openTensors() const {
  if (options.randomSeed)
    return withMatmuls(makeRandomTensors(*options.randomSeed, storage, requested));
  if (options.noWeights)
    return nullptr;
  std::unique_ptr<artifact::TensorReader> reader = openSafeTensors(table);
  if (merged)
    reader = withChanges(std::move(reader), {merged, &merged->changes});
  if (adapterTensors)
    reader = withAdapters(std::move(reader), adapterTensors);
  return withMatmuls(std::move(reader));
}
