//===- Adapter.cpp - Low-rank changes of a checkpoint's tensors -------------===//
#include "lib/Formats/HuggingFace/Adapter.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Artifact/Threads.h"
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/PrincipalPart.h"
#include "lib/Formats/HuggingFace/TensorRequest.h"
#include "lib/Support/DirectoryKeys.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>

using namespace rapt;
using namespace rapt::huggingface;
using artifact::DType;

static constexpr uint64_t mostConfigBytes = uint64_t(4) << 20;
static constexpr std::string_view fileName = "/adapter_model.safetensors";
/// More than any adapter has; bounds what a file of zeros makes a reader allocate.
static constexpr int64_t mostRank = 1 << 14;

static std::string quoted(std::string_view name) { return "\"" + json::printable(name) + "\""; }

namespace {

/// The part of a weight that an adapter starts from, which the base model lacks.
enum class InitialPart { None, Principal, LeadingColumns };

/// A number of all modules, and those of modules whose names end so.
struct NumberByModule {
  double ofAll = 8;
  std::vector<std::pair<std::string, double>> own = {};

  double of(std::string_view module) const {
    for (const auto &[name, number] : own)
      if (module == name || module.ends_with("." + name))
        return number;
    return ofAll;
  }
};

/// The keys of adapter_config.json that change numbers.
struct AdapterConfig {
  NumberByModule alpha;
  std::optional<NumberByModule> rank; ///< where the file has one
  bool isByRoot = false;
  InitialPart initial = InitialPart::None;
  std::vector<std::string> copied; ///< modules whose whole tensors are a copy beside the base model's
};

/// The numbers of single modules, key alpha_pattern or rank_pattern.
void readPattern(ConfigReader &reader, const char *key, NumberByModule &numbers) {
  const json::Value *value = reader.getRaw(key);
  const json::Object *patterns = value ? value->asObject() : nullptr;
  if (value && !patterns)
    reader.fail(std::string(key) + " must be an object: module -> number");
  for (size_t i = 0; patterns && i < patterns->size(); ++i) {
    const auto &[name, own] = (*patterns)[i];
    const std::optional<double> number = own.asNumber();
    const bool isPlain =
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
    if (!isPlain || !number || !std::isfinite(*number))
      reader.fail(std::string(key) + " of " + quoted(name) +
                  " must be a number for a module's name; patterns are not supported");
    else
      numbers.own.emplace_back(name, *number);
  }
}

/// init_lora_weights, as LoraLayer.update_layer of peft 0.20 reads it when an adapter is loaded.
InitialPart readInitialPart(ConfigReader &reader, std::vector<std::string> &notes) {
  const json::Value *value = reader.getRaw("init_lora_weights");
  if (!value || value->isNull() || value->asBool())
    return InitialPart::None;
  const std::string *text = value->asString();
  std::string name = text ? *text : std::string();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  const std::string shown = shownPath(reader.file()) + ": init_lora_weights is \"" + json::printable(name, 60) + "\"";
  const bool isEstimate = name.starts_with("pissa_niter_") && name.find_first_not_of("0123456789", 12) == name.npos;
  if (isEstimate)
    notes.push_back(shown + ": peft estimates the singular vectors from random numbers whenever it loads the adapter; "
                            "the exact ones are used");
  if (name == "pissa" || isEstimate)
    return InitialPart::Principal;
  if (name == "olora")
    return InitialPart::LeadingColumns;
  if (name == "lora_ga")
    notes.push_back(shown + ": the adapter was trained on a base model without a part that only its training knew, and "
                            "the whole base model is used, as peft does; "
                            "save the adapter with path_initial_model_for_weight_conversion");
  else if (name == "loftq" || name.starts_with("corda"))
    reader.fail("init_lora_weights is \"" + json::printable(name, 60) +
                "\": the adapter was trained on other weights than the base model's, which cannot be computed from it; "
                "merge the adapter with peft, and compile that model");
  else if (name != "gaussian" && name != "eva" && name != "orthogonal" && name != "mica")
    reader.fail(
        "init_lora_weights is " + json::printable(json::write(*value), 60) +
        ", must be true, false, gaussian, eva, orthogonal, mica, olora, pissa, pissa_niter_[number] or lora_ga");
  return InitialPart::None;
}

Expected<AdapterConfig> readAdapterConfig(const std::string &file, std::shared_ptr<UnknownKeys> unknown,
                                          std::vector<std::string> &notes) {
  RAPT_ASSIGN_OR_RETURN(json::Value value, readDownloadedJson(file, mostConfigBytes));
  if (!value.isObject())
    return Error{shownPath(file) + ": not a JSON object"};
  ConfigReader reader(std::move(value), file, std::move(unknown));
  constexpr double mostAlpha = 1e6;
  AdapterConfig config;
  reader.getEnum("peft_type", {"LORA"});
  for (const char *key : {"auto_mapping", "task_type"}) // see AdapterFacts.h
    reader.getRaw(key);
  config.alpha.ofAll = reader.getFloat("lora_alpha", -mostAlpha, mostAlpha, 8);
  readPattern(reader, "alpha_pattern", config.alpha);
  NumberByModule rank;
  readPattern(reader, "rank_pattern", rank);
  if (std::optional<int64_t> ofAll = reader.getOptionalInt("r", 1, INT32_MAX)) {
    rank.ofAll = double(*ofAll);
    config.rank = std::move(rank);
  }
  config.isByRoot = reader.getBool("use_rslora", false);
  config.initial = readInitialPart(reader, notes);
  const json::Value *modules = reader.getRaw("modules_to_save");
  if (modules && !modules->isArray() && !modules->isNull())
    reader.fail("modules_to_save must be a list of names");
  if (const json::Array *names = modules ? modules->asArray() : nullptr)
    for (const json::Value &name : *names)
      if (const std::string *text = name.asString())
        config.copied.push_back(*text);
  if (reader.getBool("use_dora", false))
    reader.fail("use_dora is true: magnitudes of weights are not supported");
  // Modules follow from the names of tensors; the others say how the adapter was trained.
  RAPT_RETURN_IF_ERROR(reader.finish(harmlessKeys("adapter_config.json")));
  return config;
}

/// The tensors of an adapter, and the pairs that are a change each.
class AdapterReader {
public:
  /// Whole tensors go to `replaced`; null: they are refused, as are changes of embeddings.
  AdapterReader(const AdapterSource &source, const TensorTable &base, TensorTable *replaced, MergedAdapters &merged,
                const AdapterFacts &facts)
      : source(source), base(base), replaced(replaced), merged(merged), facts(facts),
        file(source.directory + std::string(fileName)) {}

  Status run() {
    if (!entryExists(source.directory + "/adapter_config.json"))
      return Error{shownPath(source.directory) + ": no adapter_config.json: not an adapter's directory"};
    RAPT_ASSIGN_OR_RETURN(config,
                          readAdapterConfig(source.directory + "/adapter_config.json", source.unknown, merged.notes));
    if (!entryExists(file))
      return Error{shownPath(source.directory) + ": no adapter_model.safetensors" +
                   (entryExists(source.directory + "/adapter_model.bin")
                        ? "; adapter_model.bin is a PyTorch pickle, which can run code when it is read and is refused: "
                          "save the adapter with safetensors"
                        : "")};
    RAPT_ASSIGN_OR_RETURN(adapter, TensorTable::loadFile(file));
    reader = openSafeTensors(adapter);
    for (const auto &[name, tensor] : adapter.tensors())
      RAPT_RETURN_IF_ERROR(take(name, tensor));
    return removeInitialParts();
  }

private:
  Error fail(std::string_view tensor, const std::string &what) const {
    return Error{shownPath(file) + ": tensor " + quoted(tensor) + " " + what};
  }

  Status take(const std::string &name, const StoredTensor &tensor) {
    for (auto [first, second, isEmbedding] : {std::tuple(".lora_A.weight", ".lora_B.weight", false),
                                              std::tuple(".lora_embedding_A", ".lora_embedding_B", true)}) {
      const std::string_view ofA = first, ofB = second;
      if (isEmbedding && !replaced && (name.ends_with(ofA) || name.ends_with(ofB)))
        return fail(name, "changes a table of embeddings; merge the adapter instead: --adapter");
      if (name.ends_with(ofA)) {
        const std::string module = name.substr(0, name.size() - ofA.size());
        const StoredTensor *other = adapter.find(module + std::string(ofB));
        return other ? addChange(module, tensor, *other, isEmbedding)
                     : Status(fail(name, "has no " + quoted(module + std::string(ofB))));
      }
      if (name.ends_with(ofB)) {
        const std::string a = name.substr(0, name.size() - ofB.size()) + std::string(ofA);
        return adapter.find(a) ? Status() : Status(fail(name, "has no " + quoted(a)));
      }
    }
    if (name.find(".lora_") != name.npos)
      return fail(name, "is of a method that is not supported; supported are lora_A, lora_B and those of embeddings");
    return replace(name, tensor);
  }

  /// A tensor that the adapter has whole.
  Status replace(const std::string &name, const StoredTensor &tensor) {
    RAPT_ASSIGN_OR_RETURN(std::string of, nameInBase(name));
    const StoredTensor *old = base.find(of);
    if (old && old->file && old->file->path().ends_with(fileName))
      return fail(name, "is whole in another adapter, too");
    if (!replaced)
      return fail(name, "is no change, but a whole tensor; merge the adapter instead: --adapter");
    if (source.weight != 1)
      return fail(name, "is no change, but a whole tensor, of which there is no part: give the adapter the weight 1");
    if (old && !fits(tensor.shape, old->shape))
      return fail(name, shownShape(tensor.shape) + " does not fit " + quoted(of) + " " + shownShape(old->shape) +
                            ": the adapter is of another base model");
    if (!old)
      merged.added.insert(of);
    else if (isCopy(name))
      merged.originals.try_emplace(of, *old);
    StoredTensor own = tensor;
    own.name = of;
    replaced->replace(std::move(own));
    return {};
  }

  /// Whether modules_to_save names the module of the tensor, by itself or by the end of its path.
  bool isCopy(const std::string &tensor) const {
    const std::string module = tensor.substr(0, tensor.rfind('.'));
    return std::any_of(config.copied.begin(), config.copied.end(),
                       [&](const std::string &copied) { return module.ends_with("." + copied); });
  }

  /// Whether a whole tensor can take the place of one of the checkpoint: tables of another vocabulary, and classifiers
  /// of other labels, differ in their rows alone.
  bool fits(std::vector<int64_t> shape, const std::vector<int64_t> &replaced) const {
    for (int64_t rows : {facts.vocabulary, facts.labels})
      if (rows && !shape.empty() && shape.size() == replaced.size() && shape[0] == rows)
        shape[0] = replaced[0];
    return shape == replaced;
  }

  /// The checkpoint's name of `tensor`, which peft writes behind that of its wrapper; a checkpoint may have it without
  /// the name of the transformer. Where the checkpoint has none, the name without that of the wrapper.
  Expected<std::string> nameInBase(const std::string &tensor) const {
    std::string_view name = tensor;
    if (!name.starts_with(wrapper))
      return fail(tensor, "does not begin with base_model.model., as those of peft do");
    name.remove_prefix(wrapper.size());
    // The weight below an adapter's layer, which peft saves of tables that it changes.
    std::string plain(name);
    constexpr std::string_view below = ".base_layer.";
    if (const size_t at = plain.find(below); at != plain.npos)
      plain.replace(at, below.size(), ".");
    name = plain;
    // A base model that was saved without its head has its names without that of the part.
    const size_t part = name.find('.');
    if (part != name.npos && !base.find(name) && base.find(name.substr(part + 1)))
      return std::string(name.substr(part + 1));
    for (std::string_view prefix : {"", "model.", "transformer."}) {
      if (name.starts_with(prefix) && base.find(name.substr(prefix.size())))
        return std::string(name.substr(prefix.size()));
      if (const std::string longer = std::string(prefix).append(name); base.find(longer))
        return longer;
    }
    return std::string(name);
  }

  Expected<std::vector<float>> numbersOf(const artifact::TensorReader &reader, const StoredTensor &tensor) const {
    if (!tensor.type())
      return fail(tensor.name, "is " + json::printable(tensor.dtype, 40) + ", supported are F32, F16 and BF16");
    int64_t count = 1;
    for (int64_t extent : tensor.shape)
      count *= extent; // checked with the header
    std::vector<std::byte> bytes(size_t(count) * artifact::sizeOf(*tensor.type()));
    RAPT_RETURN_IF_ERROR(reader.read(tensor.name, 0, bytes));
    std::vector<float> numbers(count);
    artifact::convert(bytes.data(), *tensor.type(), reinterpret_cast<std::byte *>(numbers.data()), DType::F32, count);
    return numbers;
  }

  /// Adds B [out, rank] times A [rank, in], or for a table of embeddings [in, out] the transpose of it.
  Status addChange(const std::string &module, const StoredTensor &a, const StoredTensor &b, bool isEmbedding) {
    RAPT_ASSIGN_OR_RETURN(std::string of, nameInBase(module + ".weight"));
    const bool areMatrices = a.shape.size() == 2 && b.shape.size() == 2 && a.shape[0] == b.shape[1] && a.shape[0] > 0;
    const std::string both =
        quoted(a.name) + " " + shownShape(a.shape) + " and " + quoted(b.name) + " " + shownShape(b.shape);
    if (const StoredTensor *old = base.find(of)) {
      const std::vector<int64_t> &shape = old->shape;
      const bool fit = areMatrices && shape.size() == 2 &&
                       ((shape[0] == b.shape[0] && shape[1] == a.shape[1] && !isEmbedding) ||
                        (shape[0] == a.shape[1] && shape[1] == b.shape[0]));
      if (!fit)
        return Error{shownPath(file) + ": tensors " + both + " do not fit " + quoted(of) + " " + shownShape(shape) +
                     ": the adapter is of another base model"};
    } else if (!areMatrices) {
      return Error{shownPath(file) + ": tensors " + both + " are no matrices of one rank"};
    }
    const int64_t rank = a.shape[0];
    if (rank > mostRank)
      return fail(a.name,
                  "has the rank " + std::to_string(rank) + ", at most " + std::to_string(mostRank) + " are supported");
    if (config.rank && config.rank->of(module) != double(rank))
      return fail(a.name, shownShape(a.shape) + " has the rank " + std::to_string(rank) +
                              ", but r and rank_pattern of " + "adapter_config.json say " +
                              json::shownNumber(config.rank->of(module)) + "; peft refuses such an adapter");
    RAPT_ASSIGN_OR_RETURN(std::vector<float> right, numbersOf(*reader, a));
    RAPT_ASSIGN_OR_RETURN(std::vector<float> left, numbersOf(*reader, b));
    const double alpha = config.alpha.of(module),
                 scale = source.weight * alpha / (config.isByRoot ? std::sqrt(double(rank)) : double(rank));
    for (float &number : left)
      number = float(scale * number);
    LowRankChange change{b.shape[0],
                         a.shape[1],
                         rank,
                         std::move(left),
                         std::move(right),
                         /*isAsStored=*/false,
                         shownPath(file) + ": tensors " + both};
    if (isEmbedding) {
      transpose(change);
      change.isAsStored = true;
    } else if (config.initial != InitialPart::None) {
      // PiSSA divides its part by the scale, which the layer multiplies again; OLoRA does not.
      initialParts.push_back({of, rank, config.initial == InitialPart::Principal ? source.weight : scale});
    }
    merged.changes[of].push_back(std::move(change));
    return {};
  }

  /// The weight that peft's layer has before its adapter is added is the base model's without the initial part; the
  /// weight of an adapter is that of both changes.
  Status removeInitialParts() {
    const std::unique_ptr<artifact::TensorReader> weights = openSafeTensors(base);
    std::atomic<size_t> next = 0;
    artifact::runOnThreads(artifact::threadCount(0), [&](unsigned) {
      for (size_t i = next++; i < initialParts.size(); i = next++)
        initialParts[i].status = removeInitialPart(*weights, initialParts[i]);
    });
    for (InitialPartOf &part : initialParts) {
      if (!part.status)
        return part.status;
      merged.changes[part.tensor].push_back(std::move(part.change));
    }
    return {};
  }

  struct InitialPartOf {
    std::string tensor;
    int64_t rank;
    double factor;
    LowRankChange change = {};
    Status status = {};
  };

  Status removeInitialPart(const artifact::TensorReader &weights, InitialPartOf &part) const {
    const StoredTensor *tensor = base.find(part.tensor);
    if (!tensor)
      return Error{shownPath(source.directory) + ": init_lora_weights takes a part of " + quoted(part.tensor) +
                   ", which the checkpoint does not have: it may be tied to the table of embeddings"};
    RAPT_ASSIGN_OR_RETURN(std::vector<float> matrix, numbersOf(weights, *tensor));
    if (!std::all_of(matrix.begin(), matrix.end(), [](float element) { return std::isfinite(element); }))
      return fail(part.tensor,
                  "of the checkpoint has numbers that are not finite, of which there are no singular values");
    const int64_t rows = tensor->shape[0], columns = tensor->shape[1];
    const bool isPrincipal = config.initial == InitialPart::Principal;
    LowRankPart own = isPrincipal ? principalPart(matrix, rows, columns, part.rank)
                                  : leadingColumnsPart(matrix, rows, columns, part.rank);
    for (float &element : own.left)
      element *= float(-part.factor);
    part.change = {rows, columns, own.rank, std::move(own.left), std::move(own.right), /*isAsStored=*/true};
    return {};
  }

  static constexpr std::string_view wrapper = "base_model.model.";

  const AdapterSource &source;
  const TensorTable &base;
  TensorTable *replaced;
  MergedAdapters &merged;
  const AdapterFacts &facts;
  std::string file;
  AdapterConfig config;
  std::vector<InitialPartOf> initialParts;
  TensorTable adapter;
  std::unique_ptr<artifact::TensorReader> reader;
};

} // namespace

Status huggingface::addAdapter(const AdapterSource &source, TensorTable &table, MergedAdapters &merged,
                               const AdapterFacts &facts) {
  return AdapterReader(source, table, &table, merged, facts).run();
}

Expected<LowRankChanges> huggingface::readChanges(const AdapterSource &source, const TensorTable &table,
                                                  std::vector<std::string> &notes) {
  MergedAdapters merged;
  const AdapterFacts facts;
  RAPT_RETURN_IF_ERROR(AdapterReader(source, table, nullptr, merged, facts).run());
  notes.insert(notes.end(), merged.notes.begin(), merged.notes.end());
  return std::move(merged.changes);
}
