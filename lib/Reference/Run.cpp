//===- Run.cpp - Entries on named .npy tensors ----------------------------------===//
#include "lib/Reference/Run.h"
#include "dialect/Attn/Entries.h"
#include "dialect/Attn/Facts.h"
#include "lib/Reference/Arguments.h"
#include "lib/Reference/RunSequences.h"
#include "lib/Support/Spelling.h"

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
  bool isPacked() const { return arguments.count(nameOf(Role::RowBegin)); }
  bool packsArgument(unsigned i) {
    return firstDim(entry.getArgAttrOfType<ArrayAttr>(i, attn::AttnDialect::dimsAttr), entry.getArgumentTypes()[i]) ==
           nameOf(EntryDim::Tokens);
  }
  /// "input_ids=FILE.npy": the arguments that pack tokens, by the names that the user gives them.
  std::string inputNames() {
    std::string text;
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (auto name = entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr); name && packsArgument(i))
        text +=
            (text.empty() ? "" : " or ") + (name == nameOf(Role::Tokens) ? caller::inputIds : name.str()) + "=FILE.npy";
    return text;
  }
  bool packsResult(unsigned i) {
    return firstDim(entry.getResultAttrOfType<ArrayAttr>(i, attn::AttnDialect::dimsAttr), entry.getResultTypes()[i]) ==
           nameOf(EntryDim::Tokens);
  }
};

/// The entry's own arguments, from padded tensors [batch, length, ...] and attention_mask.
FailureOr<NamedTensors> packInputs(PackedEntry &packed, const NamedTensors &inputs, Batch &batch) {
  auto mask = inputs.find(caller::attentionMask);
  const NpyTensor *first = nullptr;
  NamedTensors arguments;
  for (auto &[name, tensor] : inputs) {
    auto place = packed.arguments.find(name);
    if (name == caller::attentionMask || place == packed.arguments.end() || !packed.packsArgument(place->second))
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
    if (name != caller::attentionMask && !(name == caller::adapter && adaptersOf(packed.entry)))
      arguments[name] = packs ? packRows(batch, tensor) : tensor;
  }
  if (failed(addAdapters(packed.entry, inputs, batch.rowBegin, arguments)))
    return failure();
  arguments[nameOf(Role::RowBegin)] = integerTensor({batch.rows + 1}, batch.rowBegin);
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

/// The step of an encoder-decoder whose `encode` this is, or null.
static func::FuncOp stepAfter(func::FuncOp entry) {
  if (entry.getSymName() != encodeEntry)
    return nullptr;
  auto step = entry->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(stepEntry);
  return step && step->hasAttr(attn::AttnDialect::entryAttr) ? step : nullptr;
}

namespace {

template <typename S>
FailureOr<NamedTensors> runRequest(ModuleOp module, func::FuncOp entry, ParameterReader &parameters,
                                   const Request &request, const NamedTensors &inputs) {
  SmallVector<std::string> wanted;
  for (auto &[name, file] : request.outputs)
    wanted.push_back(name);
  func::FuncOp step = stepAfter(entry);
  func::FuncOp last = step ? step : entry;
  if (inputs.count(step ? caller::decoderInputIds : caller::inputIds) &&
      (step || attn::findArgument(last, Role::State)))
    return runSequences<S>(module, step ? entry : nullptr, last, parameters, inputs, wanted);
  PackedEntry packed(entry);
  bool isDecoder = inputs.count(caller::inputIds) && !packed.arguments.count(caller::inputIds);
  if (!isDecoder && packed.isPacked() && !inputs.count(nameOf(Role::RowBegin))) {
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
  return runSequences<S>(module, nullptr, entry, parameters, inputs, wanted);
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
  template FailureOr<SmallVector<Value<S>>> callEntry<S>(ModuleOp, func::FuncOp, ParameterReader &,                    \
                                                         const NamedTensors &, const Kept<S> &, int64_t);              \
  template FailureOr<NamedTensors> outputsOf<S>(func::FuncOp, ArrayRef<Value<S>>, ArrayRef<std::string>);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
