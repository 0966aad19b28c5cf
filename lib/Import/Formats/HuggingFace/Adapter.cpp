//===- Adapter.cpp - Low-rank changes of a checkpoint's tensors -------------===//
#include "lib/Import/Formats/HuggingFace/Adapter.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Import/Formats/HuggingFace/ConfigReader.h"
#include "lib/Import/Formats/HuggingFace/Download.h"
#include "lib/Import/Formats/HuggingFace/TensorRequest.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <array>
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

/// The keys of adapter_config.json that change numbers.
struct AdapterConfig {
  double alpha = 8;
  bool isByRoot = false, isTransposed = false;
  std::vector<std::pair<std::string, double>> alphaOf; ///< of modules whose names end so

  double alphaFor(std::string_view module) const {
    for (const auto &[name, own] : alphaOf)
      if (module == name || module.ends_with("." + name))
        return own;
    return alpha;
  }
};

Expected<AdapterConfig> readAdapterConfig(const std::string &file) {
  Expected<json::Value> value = readDownloadedJson(file, mostConfigBytes);
  if (!value)
    return value.error();
  if (!value->isObject())
    return Error{shownPath(file) + ": not a JSON object"};
  ConfigReader reader(std::move(*value), file, {});
  constexpr double mostAlpha = 1e6;
  AdapterConfig config;
  reader.getEnum("peft_type", {"LORA"});
  reader.getRaw("auto_mapping"); // see AdapterFacts.h
  config.alpha = reader.getFloat("lora_alpha", -mostAlpha, mostAlpha, 8);
  config.isByRoot = reader.getBool("use_rslora", false);
  config.isTransposed = reader.getBool("fan_in_fan_out", false);
  if (reader.getBool("use_dora", false))
    reader.fail("use_dora is true: magnitudes of weights are not supported");
  const json::Value *own = reader.getRaw("alpha_pattern");
  const json::Object *patterns = own ? own->asObject() : nullptr;
  if (own && !patterns)
    reader.fail("alpha_pattern must be an object: module -> alpha");
  for (size_t i = 0; patterns && i < patterns->size(); ++i) {
    const auto &[name, alpha] = (*patterns)[i];
    const std::optional<double> number = alpha.asNumber();
    const bool isPlain =
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
    if (!isPlain || !number || !std::isfinite(*number))
      reader.fail("alpha_pattern of " + quoted(name) +
                  " must be a number for a module's name; patterns are not supported");
    else
      config.alphaOf.emplace_back(name, *number);
  }
  // The shapes of tensors tell ranks and modules; the others say how the adapter was trained.
  if (Status status = reader.finish({"base_model_name_or_path",
                                     "bias",
                                     "corda_config",
                                     "eva_config",
                                     "exclude_modules",
                                     "inference_mode",
                                     "init_lora_weights",
                                     "layers_pattern",
                                     "layers_to_transform",
                                     "loftq_config",
                                     "lora_dropout",
                                     "megatron_core",
                                     "modules_to_save",
                                     "peft_version",
                                     "qalora_group_size",
                                     "r",
                                     "rank_pattern",
                                     "revision",
                                     "target_modules",
                                     "task_type"});
      !status)
    return status.error();
  return config;
}

/// The tensors of an adapter, and the pairs that are a change each.
class AdapterReader {
public:
  /// Whole tensors go to `replaced`; null: they are refused, as are changes of embeddings.
  AdapterReader(const AdapterSource &source, const TensorTable &base, TensorTable *replaced, LowRankChanges &changes,
                const AdapterFacts &facts)
      : source(source), base(base), replaced(replaced), changes(changes), facts(facts),
        file(source.directory + std::string(fileName)) {}

  Status run() {
    if (!entryExists(source.directory + "/adapter_config.json"))
      return Error{shownPath(source.directory) + ": no adapter_config.json: not an adapter's directory"};
    Expected<AdapterConfig> read = readAdapterConfig(source.directory + "/adapter_config.json");
    if (!read)
      return read.error();
    config = *read;
    if (!entryExists(file))
      return Error{shownPath(source.directory) + ": no adapter_model.safetensors" +
                   (entryExists(source.directory + "/adapter_model.bin")
                        ? "; adapter_model.bin is a PyTorch pickle, which can run code when it is read and is refused: "
                          "save the adapter with safetensors"
                        : "")};
    Expected<TensorTable> table = TensorTable::loadFile(file);
    if (!table)
      return table.error();
    adapter = std::move(*table);
    reader = openSafeTensors(adapter);
    for (const auto &[name, tensor] : adapter.tensors())
      if (Status status = take(name, tensor); !status)
        return status;
    return {};
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
    Expected<std::string> of = nameInBase(name, name);
    const bool isAdded = !of && !facts.head.empty() && name.starts_with(wrapper);
    if (!of && !isAdded)
      return of.error();
    if (const StoredTensor *old = isAdded ? nullptr : base.find(*of);
        old && old->file && old->file->path().ends_with(fileName))
      return fail(name, "is whole in another adapter, too");
    if (!replaced)
      return fail(name, "is no change, but a whole tensor; merge the adapter instead: --adapter");
    if (source.weight != 1)
      return fail(name, "is no change, but a whole tensor, of which there is no part: give the adapter the weight 1");
    StoredTensor own = tensor;
    own.name = isAdded ? name.substr(wrapper.size()) : *of;
    if (!isAdded && !fits(tensor.shape, base.find(*of)->shape))
      return fail(name, shownShape(tensor.shape) + " does not fit " + quoted(*of) + " " +
                            shownShape(base.find(*of)->shape) + ": the adapter is of another base model");
    replaced->replace(std::move(own));
    return {};
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
  /// the name of the transformer.
  Expected<std::string> nameInBase(const std::string &tensor, const std::string &shown) const {
    std::string_view name = tensor;
    if (!name.starts_with(wrapper))
      return fail(shown, "does not begin with base_model.model., as those of peft do");
    name.remove_prefix(wrapper.size());
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
    return fail(shown, "is for " + quoted(name) +
                           ", which the checkpoint does not have: the adapter is of another base "
                           "model");
  }

  Expected<std::vector<float>> numbersOf(const StoredTensor &tensor) const {
    if (!tensor.type())
      return fail(tensor.name, "is " + json::printable(tensor.dtype, 40) + ", supported are F32, F16 and BF16");
    int64_t count = 1;
    for (int64_t extent : tensor.shape)
      count *= extent; // checked with the header
    std::vector<std::byte> bytes(size_t(count) * artifact::sizeOf(*tensor.type()));
    if (Status status = reader->read(tensor.name, 0, bytes); !status)
      return status.error();
    std::vector<float> numbers(count);
    artifact::convert(bytes.data(), *tensor.type(), reinterpret_cast<std::byte *>(numbers.data()), DType::F32, count);
    return numbers;
  }

  static std::vector<float> transposed(const std::vector<float> &matrix, int64_t rows, int64_t columns) {
    std::vector<float> result(matrix.size());
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result[j * rows + i] = matrix[i * columns + j];
    return result;
  }

  /// Adds B [out, rank] times A [rank, in] to a weight [out, in], or to one [in, out] that is transposed.
  Status addChange(const std::string &module, const StoredTensor &a, const StoredTensor &b, bool isEmbedding) {
    Expected<std::string> of = nameInBase(module + ".weight", a.name);
    if (!of)
      return of.error();
    const std::vector<int64_t> &shape = base.find(*of)->shape;
    const bool isTransposed = isEmbedding || config.isTransposed;
    const bool areMatrices = a.shape.size() == 2 && b.shape.size() == 2 && a.shape[0] == b.shape[1] && a.shape[0] > 0;
    const std::vector<int64_t> changed = !areMatrices   ? std::vector<int64_t>{}
                                         : isTransposed ? std::vector{a.shape[1], b.shape[0]}
                                                        : std::vector{b.shape[0], a.shape[1]};
    if (!areMatrices || changed != shape)
      return fail(a.name, shownShape(a.shape) + " and " + quoted(b.name) + " " + shownShape(b.shape) + " do not fit " +
                              quoted(*of) + " " + shownShape(shape) + ": the adapter is of another base model");
    const int64_t rank = a.shape[0];
    if (rank > mostRank)
      return fail(a.name,
                  "has the rank " + std::to_string(rank) + ", at most " + std::to_string(mostRank) + " are supported");
    Expected<std::vector<float>> right = numbersOf(a), left = numbersOf(b);
    if (!right || !left)
      return right ? left.error() : right.error();
    const double alpha = config.alphaFor(module),
                 scale = source.weight * alpha / (config.isByRoot ? std::sqrt(double(rank)) : double(rank));
    for (float &number : *left)
      number = float(scale * number);
    LowRankChange change{shape[0], shape[1], rank, std::move(*left), std::move(*right)};
    if (isTransposed) {
      std::vector<float> transposedRight = transposed(change.left, b.shape[0], rank);
      change.left = transposed(change.right, rank, a.shape[1]);
      change.right = std::move(transposedRight);
    }
    changes[*of].push_back(std::move(change));
    return {};
  }

  static constexpr std::string_view wrapper = "base_model.model.";

  const AdapterSource &source;
  const TensorTable &base;
  TensorTable *replaced;
  LowRankChanges &changes;
  const AdapterFacts &facts;
  std::string file;
  AdapterConfig config;
  TensorTable adapter;
  std::unique_ptr<artifact::TensorReader> reader;
};

class ChangedReader : public artifact::TensorReader {
public:
  ChangedReader(std::unique_ptr<TensorReader> base, std::shared_ptr<const LowRankChanges> changes)
      : base(std::move(base)), changes(std::move(changes)) {}

  const artifact::TensorInfo *find(std::string_view name) const override { return base->find(name); }

  Status read(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const override {
    if (Status status = base->read(name, byteOffset, out); !status)
      return status;
    auto changed = changes->find(name);
    if (changed == changes->end())
      return {};
    const DType type = base->find(name)->dtype;
    const uint64_t size = artifact::sizeOf(type);
    int64_t element = int64_t(byteOffset / size);
    const int64_t columns = changed->second.front().columns;
    // A piece of a row at a time, in buffers that stay in L1.
    std::array<float, 1024> numbers;
    while (!out.empty()) {
      const int64_t row = element / columns, column = element % columns,
                    count = std::min({int64_t(out.size() / size), columns - column, int64_t(numbers.size())});
      std::byte *wide = reinterpret_cast<std::byte *>(numbers.data());
      artifact::convert(out.data(), type, wide, DType::F32, count);
      for (const LowRankChange &change : changed->second)
        add(change, row, column, std::span(numbers).first(count));
      if (!artifact::convert(wide, DType::F32, out.data(), type, count))
        return Error{"tensor " + quoted(name) + ": the adapters' changes make numbers that " + artifact::nameOf(type) +
                     " cannot hold"};
      out = out.subspan(size_t(count) * size);
      element += count;
    }
    return {};
  }

private:
  static void add(const LowRankChange &change, int64_t row, int64_t column, std::span<float> numbers) {
    std::array<float, 1024> sums{};
    for (int64_t k = 0; k < change.rank; ++k) {
      const float factor = change.left[row * change.rank + k];
      const float *right = change.right.data() + k * change.columns + column;
      for (size_t i = 0; i < numbers.size(); ++i)
        sums[i] += factor * right[i];
    }
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] += sums[i];
  }

  std::unique_ptr<TensorReader> base;
  std::shared_ptr<const LowRankChanges> changes;
};

} // namespace

Status huggingface::addAdapter(const AdapterSource &source, TensorTable &table, LowRankChanges &changes,
                               const AdapterFacts &facts) {
  return AdapterReader(source, table, &table, changes, facts).run();
}

Expected<LowRankChanges> huggingface::readChanges(const AdapterSource &source, const TensorTable &table) {
  LowRankChanges changes;
  const AdapterFacts facts;
  if (Status status = AdapterReader(source, table, nullptr, changes, facts).run(); !status)
    return status.error();
  return changes;
}

std::unique_ptr<artifact::TensorReader> huggingface::withChanges(std::unique_ptr<artifact::TensorReader> base,
                                                                 std::shared_ptr<const LowRankChanges> changes) {
  return std::make_unique<ChangedReader>(std::move(base), std::move(changes));
}
