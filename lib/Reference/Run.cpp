//===- Run.cpp - Entries on named .npy tensors ----------------------------------===//
#include "lib/Reference/Run.h"
#include "dialect/Attn/Entries.h"
#include "dialect/Attn/Facts.h"
#include "lib/Reference/Arguments.h"
#include "lib/Reference/Batch.h"
#include "lib/Reference/RunSequences.h"
#include "lib/Support/Spelling.h"
#include <array>
#include <numeric>

using namespace mlir;
namespace rapt::reference {

InFlightDiagnostic fail(Operation *op) { return emitError(UnknownLoc::get(op->getContext())); }

namespace {

/// Zeros for an optional argument of integers that is not given, whose extents other inputs tell; none otherwise.
std::optional<NpyTensor> zerosFor(func::FuncOp entry, unsigned i, const NamedTensors &inputs) {
  auto type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[i]);
  auto dimsOf = [&](unsigned argument) {
    return entry.getArgAttrOfType<ArrayAttr>(argument, attn::AttnDialect::dimsAttr);
  };
  if (!entry.getArgAttr(i, attn::AttnDialect::optionalAttr) || !type || type.getRank() != 1 || !dimsOf(i) ||
      !type.getElementType().isInteger())
    return std::nullopt;
  for (unsigned other = 0; other < entry.getNumArguments(); ++other) {
    auto name = entry.getArgAttrOfType<StringAttr>(other, attn::AttnDialect::nameAttr);
    auto ranked = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[other]);
    auto given = name ? inputs.find(name.str()) : inputs.end();
    if (given != inputs.end() && ranked && ranked.getRank() > 0 && ranked.isDynamicDim(0) && dimsOf(other) &&
        dimsOf(other)[0] == dimsOf(i)[0] && !given->second.shape.empty())
      return integerTensor({given->second.shape[0]}, std::vector<int64_t>(given->second.shape[0]));
  }
  return std::nullopt;
}

template <typename S>
FailureOr<Value<S>> argumentOf(func::FuncOp entry, unsigned i, StringRef name, const NamedTensors &inputs,
                               int64_t cacheBlocks) {
  Type type = entry.getArgumentTypes()[i];
  if (auto cache = dyn_cast<attn::KVCacheType>(type)) {
    Expected<Value<S>> made = makeCache<S>(cache, cacheBlocks);
    if (!made)
      return fail(entry) << made.error().message;
    return *made;
  }
  auto given = inputs.find(name);
  const std::optional<NpyTensor> zeros = given == inputs.end() ? zerosFor(entry, i, inputs) : std::nullopt;
  if (given == inputs.end() && !zeros)
    return fail(entry) << "'" << entry.getSymName() << "' needs an input '" << name << "' of type " << type;
  Expected<Value<S>> value = fromNpy<S>(name, zeros ? *zeros : given->second, type);
  if (!value)
    return fail(entry) << value.error().message;
  return *value;
}

std::string nameOf(StringAttr given, const char *otherwise, unsigned i) {
  return given ? given.str() : otherwise + std::to_string(i);
}

} // namespace

LogicalResult checkNames(func::FuncOp entry, ArrayRef<std::string> given, ArrayRef<std::string> known, StringRef what) {
  for (const std::string &name : given)
    if (!llvm::is_contained(known, name))
      return fail(entry) << "'" << entry.getSymName() << "' has no " << what << " '" << name << "'; it has "
                         << llvm::join(known, ", ")
                         << didYouMean(findNearest(name, std::vector<std::string_view>(known.begin(), known.end())));
  return success();
}

FailureOr<Batch> readIds(func::FuncOp entry, const NamedTensors &inputs, StringRef idsName, StringRef maskName) {
  auto ids = inputs.find(idsName), mask = inputs.find(maskName);
  if (ids == inputs.end())
    return fail(entry) << "the model needs " << idsName;
  const NpyTensor &tensor = ids->second;
  if (tensor.shape.size() != 2 || !isInteger(tensor.type))
    return fail(entry) << idsName << " is " << nameOf(tensor.type) << " " << shapeText(tensor.shape)
                       << ", but integers [batch, length] are needed";
  return readBatch(entry, tensor.shape[0], tensor.shape[1], mask == inputs.end() ? nullptr : &mask->second);
}

namespace {

/// One row of zeros for the argument `name`, [rows, columns] of floats.
NpyTensor rowOfZeros(func::FuncOp entry, StringRef name) {
  int64_t columns = 0;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr) == name)
      columns = cast<RankedTensorType>(entry.getArgumentTypes()[i]).getDimSize(1);
  return {NpyType::F32, {1, columns}, std::vector<std::byte>(size_t(columns) * sizeof(float))};
}

/// Adds what image tokens stand for: rows of image_embeddings, in the order of the tokens.
LogicalResult addImages(func::FuncOp step, const NamedTensors &inputs, NamedTensors &arguments) {
  const ModelFacts facts = attn::factsOf(step);
  if (!facts.readsImages())
    return success();
  std::vector<int64_t> indices;
  int64_t next = 0;
  for (int64_t token : integersOf(arguments["tokens"]))
    indices.push_back(token == facts.imageId() ? next++ : -1);
  auto given = inputs.find("image_embeddings");
  if (given != inputs.end() && given->second.shape.size() != 3)
    return fail(step) << "image_embeddings is " << shapeText(given->second.shape)
                      << ", but [images, vectors, hidden] is needed";
  const int64_t rows = given == inputs.end() ? 0 : given->second.shape[0] * given->second.shape[1];
  if (rows < next)
    return fail(step) << "the texts have " << next << " image tokens, image_embeddings [images, vectors, hidden] "
                      << rows << " vectors";
  arguments["embedding_of"] = integerTensor({int64_t(indices.size())}, indices);
  NpyTensor vectors = rows == 0 ? rowOfZeros(step, "embeddings") : given->second;
  if (rows != 0)
    vectors.shape = {rows, given->second.shape[2]};
  arguments["embeddings"] = std::move(vectors);
  return success();
}

/// The batch of a decoder's input_ids, checked.
FailureOr<Batch> batchOf(func::FuncOp step, const NamedTensors &inputs) {
  const bool readsImages = attn::factsOf(step).readsImages();
  for (auto &[name, tensor] : inputs)
    if (name != "input_ids" && name != "attention_mask" && !(name == "image_embeddings" && readsImages) &&
        !(name == "adapter" && adaptersOf(step)))
      return fail(step) << "a decoder has no input '" << name << "'; it has input_ids and attention_mask"
                        << (readsImages ? ", and image_embeddings" : "") << (adaptersOf(step) ? ", and adapter" : "")
                        << didYouMean(
                               findNearest(name, std::array<std::string_view, 2>{"input_ids", "attention_mask"}));
  if (!inputs.count("input_ids"))
    return fail(step) << "a decoder needs input_ids";
  return readIds(step, inputs, "input_ids", "attention_mask");
}

/// The name of an entry's first dim of an argument or result, empty without one.
StringRef firstDim(ArrayAttr dims, Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!dims || dims.empty() || !ranked || ranked.getRank() == 0 || !ranked.isDynamicDim(0))
    return {};
  return cast<StringAttr>(dims[0]).getValue();
}

/// An entry whose argument row_begin tells how the rows of its dim `tokens` are packed.
struct PackedEntry {
  func::FuncOp entry;
  llvm::StringMap<unsigned> arguments, results; ///< indices by name
  explicit PackedEntry(func::FuncOp entry) : entry(entry) {
    auto put = [](llvm::StringMap<unsigned> &indices, StringAttr name, unsigned i) {
      if (name)
        indices[name.getValue()] = i;
    };
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      put(arguments, entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr), i);
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      put(results, entry.getResultAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr), i);
  }
  bool isPacked() const { return arguments.count("row_begin"); }
  bool packsArgument(unsigned i) {
    return firstDim(entry.getArgAttrOfType<ArrayAttr>(i, attn::AttnDialect::dimsAttr), entry.getArgumentTypes()[i]) ==
           "tokens";
  }
  /// "input_ids=FILE.npy": the arguments that pack tokens, by the names that the user gives them.
  std::string inputNames() {
    std::string text;
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (auto name = entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr); name && packsArgument(i))
        text += (text.empty() ? "" : " or ") + (name == "tokens" ? "input_ids" : name.str()) + "=FILE.npy";
    return text;
  }
  bool packsResult(unsigned i) {
    return firstDim(entry.getResultAttrOfType<ArrayAttr>(i, attn::AttnDialect::dimsAttr), entry.getResultTypes()[i]) ==
           "tokens";
  }
};

/// The entry's own arguments, from padded tensors [batch, length, ...] and attention_mask.
FailureOr<NamedTensors> packInputs(PackedEntry &packed, const NamedTensors &inputs, Batch &batch) {
  auto mask = inputs.find("attention_mask");
  const NpyTensor *first = nullptr;
  NamedTensors arguments;
  for (auto &[name, tensor] : inputs) {
    auto place = packed.arguments.find(name);
    if (name == "attention_mask" || place == packed.arguments.end() || !packed.packsArgument(place->second))
      continue;
    if (tensor.shape.size() < 2 || (first && !std::equal(tensor.shape.begin(), tensor.shape.begin() + 2,
                                                         first->shape.begin(), first->shape.begin() + 2)))
      return fail(packed.entry) << name << " is " << shapeText(tensor.shape)
                                << ", but [batch, length, ...] as of the other inputs is needed";
    first = first ? first : &tensor;
  }
  if (!first)
    return fail(packed.entry) << "'" << packed.entry.getSymName() << "' needs --input " << packed.inputNames()
                              << ", padded [batch, length, ...]";
  FailureOr<Batch> read =
      readBatch(packed.entry, first->shape[0], first->shape[1], mask == inputs.end() ? nullptr : &mask->second);
  if (failed(read))
    return failure();
  batch = std::move(*read);
  for (auto &[name, tensor] : inputs) {
    auto place = packed.arguments.find(name);
    bool packs = place != packed.arguments.end() && packed.packsArgument(place->second);
    if (name != "attention_mask" && !(name == "adapter" && adaptersOf(packed.entry)))
      arguments[name] = packs ? packRows(batch, tensor) : tensor;
  }
  if (failed(addAdapters(packed.entry, inputs, batch.rowBegin, arguments)))
    return failure();
  arguments["row_begin"] = integerTensor({batch.rows + 1}, batch.rowBegin);
  return arguments;
}

} // namespace

template <typename S>
FailureOr<SmallVector<Value<S>>> callEntry(ModuleOp module, func::FuncOp entry, ParameterReader &parameters,
                                           const NamedTensors &inputs, const Kept<S> &kept, int64_t cacheBlocks) {
  SmallVector<Value<S>> arguments;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    std::string name = nameOf(entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr), "arg", i);
    if (auto known = kept.find(name); known != kept.end()) {
      arguments.push_back(known->second);
      continue;
    }
    FailureOr<Value<S>> argument = argumentOf<S>(entry, i, name, inputs, cacheBlocks);
    if (failed(argument))
      return failure();
    arguments.push_back(std::move(*argument));
  }
  return Evaluator<S>(module, parameters).runEntry(entry, arguments);
}

SmallVector<std::string> resultNamesOf(func::FuncOp entry) {
  SmallVector<std::string> names;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    names.push_back(nameOf(entry.getResultAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr), "result", i));
  return names;
}

template <typename S>
FailureOr<NamedTensors> outputsOf(func::FuncOp entry, ArrayRef<Value<S>> results, ArrayRef<std::string> wanted) {
  NamedTensors outputs;
  for (auto [i, name] : llvm::enumerate(resultNamesOf(entry))) {
    if (!llvm::is_contained(wanted, name))
      continue;
    Expected<NpyTensor> tensor = toNpy<S>(name, results[i], entry.getResultTypes()[i]);
    if (!tensor)
      return fail(entry) << tensor.error().message;
    outputs[name] = std::move(*tensor);
  }
  return outputs;
}

template <typename S>
FailureOr<NamedTensors> runEntry(ModuleOp module, func::FuncOp entry, ParameterReader &parameters,
                                 const NamedTensors &inputs, ArrayRef<std::string> wanted, int64_t cacheBlocks) {
  SmallVector<std::string> argumentNames, given;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    argumentNames.push_back(nameOf(entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr), "arg", i));
  for (auto &[name, tensor] : inputs)
    given.push_back(name);
  if (failed(checkNames(entry, given, argumentNames, "input")) ||
      failed(checkNames(entry, wanted, resultNamesOf(entry), "output")))
    return failure();
  FailureOr<SmallVector<Value<S>>> results = callEntry<S>(module, entry, parameters, inputs, {}, cacheBlocks);
  if (failed(results))
    return failure();
  return outputsOf<S>(entry, *results, wanted);
}

SmallVector<std::string> tokenResultsOf(func::FuncOp entry) {
  SmallVector<std::string> names = resultNamesOf(entry);
  llvm::erase_if(names, [](StringRef name) { return name == "cache" || name == "window_cache" || name == "state"; });
  return names;
}

/// Each row is a whole text; lengths up to the argument's limit tell those that are longer from one another no more.
static void addTextLengths(func::FuncOp step, ArrayRef<int64_t> rowBegin, NamedTensors &arguments) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto name = step.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr);
    auto limit = step.getArgAttrOfType<IntegerAttr>(i, attn::AttnDialect::limitAttr);
    if (!name || name.getValue() != "text_length" || !limit)
      continue;
    std::vector<int64_t> lengths;
    for (size_t row = 1; row < rowBegin.size(); ++row)
      lengths.push_back(std::min(rowBegin[row] - rowBegin[row - 1], limit.getInt() - 1));
    arguments["text_length"] = integerTensor({int64_t(lengths.size())}, lengths);
  }
}

template <typename S>
FailureOr<NamedTensors> runDecoder(ModuleOp module, func::FuncOp step, ParameterReader &parameters,
                                   const NamedTensors &inputs, ArrayRef<std::string> wanted) {
  FailureOr<Batch> batch = batchOf(step, inputs);
  if (failed(batch))
    return failure();
  int64_t block = 0;
  for (Type type : step.getArgumentTypes())
    if (auto cache = dyn_cast<attn::KVCacheType>(type))
      block = cache.getBlock();
  if (block == 0)
    return fail(step) << "'" << step.getSymName() << "' takes no cache: it is not the step of a decoder";
  if (failed(checkNames(step, wanted, tokenResultsOf(step), "output")))
    return failure();
  int64_t blocks = std::max<int64_t>((batch->length + block - 1) / block, 1);
  std::vector<int64_t> table(batch->rows * blocks), want(batch->tokens());
  std::iota(table.begin(), table.end(), 0);
  std::iota(want.begin(), want.end(), 0);
  NamedTensors arguments;
  arguments["tokens"] = packRows(*batch, inputs.find("input_ids")->second);
  arguments["row_begin"] = integerTensor({batch->rows + 1}, batch->rowBegin);
  arguments["past"] = integerTensor({batch->rows}, std::vector<int64_t>(batch->rows));
  arguments["block_table"] = integerTensor({batch->rows, blocks}, table);
  for (unsigned i = 0; i < step.getNumArguments(); ++i) // of layers with a window, which keep all positions here
    if (auto name = step.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr);
        name && name.getValue() == "window_table")
      arguments["window_table"] = arguments["block_table"];
  arguments["want"] = integerTensor({batch->tokens()}, want);
  addTextLengths(step, batch->rowBegin, arguments);
  if (failed(addImages(step, inputs, arguments)) || failed(addAdapters(step, inputs, batch->rowBegin, arguments)))
    return failure();
  FailureOr<NamedTensors> outputs = runEntry<S>(module, step, parameters, arguments, wanted, batch->rows * blocks);
  if (failed(outputs))
    return failure();
  for (auto &[name, tensor] : *outputs) {
    if (name == "logits" && tensor.shape.size() != 2)
      return fail(step) << "its logits are " << shapeText(tensor.shape) << ", but must be [wanted, vocabulary]";
    tensor = padRows(*batch, tensor);
  }
  return outputs;
}

/// The step of an encoder-decoder whose `encode` this is, or null.
static func::FuncOp stepAfter(func::FuncOp entry) {
  if (entry.getSymName() != "encode")
    return nullptr;
  auto step = entry->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>("step");
  return step && step->hasAttr(attn::AttnDialect::entryAttr) ? step : nullptr;
}

NpyTensor tableOf(int64_t rows, int64_t count, int64_t stride, int64_t first) {
  std::vector<int64_t> table;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < count; ++i)
      table.push_back(r * stride + first + i);
  return integerTensor({rows, count}, table);
}

namespace {

template <typename S>
FailureOr<NamedTensors> runRequest(ModuleOp module, func::FuncOp entry, ParameterReader &parameters,
                                   const Request &request, const NamedTensors &inputs) {
  SmallVector<std::string> wanted;
  for (auto &[name, file] : request.outputs)
    wanted.push_back(name);
  func::FuncOp step = stepAfter(entry);
  bool isWhole = inputs.count(step ? "decoder_input_ids" : "input_ids");
  if (func::FuncOp last = step ? step : entry; isWhole && keepsState(last))
    return runRecurrent<S>(module, step ? entry : nullptr, last, parameters, inputs, wanted);
  if (step && isWhole)
    return runEncoderDecoder<S>(module, entry, step, parameters, inputs, wanted);
  PackedEntry packed(entry);
  bool isDecoder = inputs.count("input_ids") && !packed.arguments.count("input_ids");
  if (!isDecoder && packed.isPacked() && !inputs.count("row_begin")) {
    Batch batch;
    FailureOr<NamedTensors> arguments = packInputs(packed, inputs, batch);
    if (failed(arguments))
      return failure();
    FailureOr<NamedTensors> outputs = runEntry<S>(module, entry, parameters, *arguments, wanted, request.cacheBlocks);
    if (failed(outputs))
      return failure();
    for (auto &[name, tensor] : *outputs)
      if (auto place = packed.results.find(name); place != packed.results.end() && packed.packsResult(place->second))
        tensor = padRows(batch, tensor);
    return outputs;
  }
  if (!isDecoder)
    return runEntry<S>(module, entry, parameters, inputs, wanted, request.cacheBlocks);
  return runDecoder<S>(module, entry, parameters, inputs, wanted);
}

} // namespace

/// The function of that name, or the module's first entry; tells when there is none.
static func::FuncOp findEntry(ModuleOp module, StringRef name) {
  if (!name.empty()) {
    auto named = module.lookupSymbol<func::FuncOp>(name);
    if (named)
      return named;
    std::vector<std::string_view> known;
    for (auto function : module.getOps<func::FuncOp>())
      known.emplace_back(function.getSymName());
    fail(module) << "there is no function '" << name << "'" << didYouMean(findNearest(std::string_view(name), known));
    return nullptr;
  }
  const SmallVector<FunctionOpInterface> entries = attn::entriesOf(module);
  if (entries.size() == 1 || (!entries.empty() && entries.front()->hasAttr(attn::AttnDialect::entryAttr)))
    return cast<func::FuncOp>(entries.front());
  std::string names;
  for (FunctionOpInterface entry : entries)
    names += (names.empty() ? "" : ", ") + entry.getName().str();
  fail(module) << (names.empty() ? "there is no entry: name a function with --entry"
                                 : "there are several kernels: name one with --entry: " + names);
  return nullptr;
}

/// The name of a result as --output gives it: that of a kernel's result without a name is told by its header.
static std::string resultNamed(ModuleOp module, func::FuncOp entry, const std::string &name) {
  for (unsigned i = 0, count = entry.getNumResults(); i < count && attn::isKernelModule(module); ++i)
    if (!entry.getResultAttr(i, attn::AttnDialect::nameAttr) && name == (count > 1 ? "out" + std::to_string(i) : "out"))
      return "result" + std::to_string(i);
  return name;
}

LogicalResult runFiles(ModuleOp module, ParameterReader &parameters, const Request &given) {
  func::FuncOp entry = findEntry(module, given.entry);
  if (!entry)
    return failure();
  Request request = given;
  for (auto &[name, file] : request.outputs)
    name = resultNamed(module, entry, name);
  NamedTensors inputs;
  for (auto &[name, file] : request.inputs) {
    Expected<NpyTensor> tensor = readNpy(file);
    if (!tensor)
      return fail(module) << tensor.error().message;
    inputs[name] = std::move(*tensor);
  }
  auto run = request.inF64 ? runRequest<double> : runRequest<float>;
  FailureOr<NamedTensors> results = run(module, entry, parameters, request, inputs);
  if (failed(results))
    return failure();
  for (auto &[name, file] : request.outputs) {
    const NpyTensor &result = (*results)[name];
    if (Status status = writeNpy(file, result.type, result.shape, result.data); !status)
      return fail(module) << status.error().message;
  }
  return success();
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<NamedTensors> runEntry<S>(ModuleOp, func::FuncOp, ParameterReader &, const NamedTensors &,        \
                                               ArrayRef<std::string>, int64_t);                                        \
  template FailureOr<NamedTensors> runDecoder<S>(ModuleOp, func::FuncOp, ParameterReader &, const NamedTensors &,      \
                                                 ArrayRef<std::string>);                                               \
  template FailureOr<SmallVector<Value<S>>> callEntry<S>(ModuleOp, func::FuncOp, ParameterReader &,                    \
                                                         const NamedTensors &, const Kept<S> &, int64_t);              \
  template FailureOr<NamedTensors> outputsOf<S>(func::FuncOp, ArrayRef<Value<S>>, ArrayRef<std::string>);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
