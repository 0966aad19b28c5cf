//===- Run.cpp - Entries on named .npy tensors ----------------------------------===//
#include "lib/Reference/Run.h"
#include "lib/Reference/Arguments.h"

using namespace mlir;
namespace rapt::reference {

namespace {

InFlightDiagnostic fail(Operation *op) { return emitError(UnknownLoc::get(op->getContext())); }

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
  if (given == inputs.end())
    return fail(entry) << "'" << entry.getSymName() << "' needs an input '" << name << "' of type " << type;
  Expected<Value<S>> value = fromNpy<S>(name, given->second, type);
  if (!value)
    return fail(entry) << value.error().message;
  return *value;
}

std::string nameOf(StringAttr given, const char *otherwise, unsigned i) {
  return given ? given.str() : otherwise + std::to_string(i);
}

LogicalResult checkNames(func::FuncOp entry, ArrayRef<std::string> given, ArrayRef<std::string> known, StringRef what) {
  for (const std::string &name : given)
    if (!llvm::is_contained(known, name))
      return fail(entry) << "'" << entry.getSymName() << "' has no " << what << " '" << name << "'; it has "
                         << llvm::join(known, ", ");
  return success();
}

/// The rows of a batch packed one after another, and what the step needs besides the tokens.
struct Packed {
  std::vector<int64_t> tokens, rowBegin{0}, past, want;
  std::vector<int64_t> places; ///< of each token: row * length + column
  int64_t rows = 0, length = 0;
};

/// How many leading elements of the mask's row are 1; the others must be 0.
FailureOr<int64_t> lengthOf(Operation *op, ArrayRef<int64_t> mask, int64_t row) {
  auto used = std::find(mask.begin(), mask.end(), 0) - mask.begin();
  for (auto [i, value] : llvm::enumerate(mask))
    if ((std::abs(value) == 1) != (int64_t(i) < used) || std::abs(value) > 1)
      return fail(op) << "attention_mask[" << row << ", " << i << "] is " << value
                      << ", but a row must be ones and then zeros";
  return used;
}

FailureOr<Packed> pack(func::FuncOp step, const NamedTensors &inputs) {
  for (auto &[name, tensor] : inputs)
    if (name != "input_ids" && name != "attention_mask")
      return fail(step) << "a decoder has no input '" << name << "'; it has input_ids and attention_mask";
  auto ids = inputs.find("input_ids"), mask = inputs.find("attention_mask");
  if (ids == inputs.end())
    return fail(step) << "a decoder needs input_ids";
  for (auto given : {ids, mask})
    if (given != inputs.end() && (given->second.shape.size() != 2 || given->second.shape != ids->second.shape ||
                                  given->second.type == NpyType::F32 || given->second.type == NpyType::F64))
      return fail(step) << given->first << " is " << nameOf(given->second.type) << " " << shapeText(given->second.shape)
                        << ", but integers [batch, length] of one shape are needed";
  Packed packed;
  packed.rows = ids->second.shape[0], packed.length = ids->second.shape[1];
  std::vector<int64_t> all = integersOf(ids->second), bits(all.size(), 1);
  if (mask != inputs.end())
    bits = integersOf(mask->second);
  for (int64_t r = 0; r < packed.rows; ++r) {
    FailureOr<int64_t> used = lengthOf(step, ArrayRef(bits).slice(r * packed.length, packed.length), r);
    if (failed(used))
      return failure();
    for (int64_t i = 0; i < *used; ++i) {
      packed.places.push_back(r * packed.length + i);
      packed.want.push_back(packed.tokens.size());
      packed.tokens.push_back(all[packed.places.back()]);
    }
    packed.rowBegin.push_back(packed.tokens.size());
  }
  packed.past.assign(packed.rows, 0);
  return packed;
}

NpyTensor integers(std::vector<int64_t> shape, const std::vector<int64_t> &values) {
  auto bytes = std::as_bytes(std::span(values));
  return {NpyType::I64, std::move(shape), {bytes.begin(), bytes.end()}};
}

} // namespace

template <typename S>
FailureOr<NamedTensors> runEntry(ModuleOp module, func::FuncOp entry, ParameterReader &parameters,
                                 const NamedTensors &inputs, ArrayRef<std::string> wanted, int64_t cacheBlocks) {
  StringRef attribute = attn::AttnDialect::nameAttr;
  SmallVector<std::string> argumentNames, resultNames, given;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    argumentNames.push_back(nameOf(entry.getArgAttrOfType<StringAttr>(i, attribute), "arg", i));
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    resultNames.push_back(nameOf(entry.getResultAttrOfType<StringAttr>(i, attribute), "result", i));
  for (auto &[name, tensor] : inputs)
    given.push_back(name);
  if (failed(checkNames(entry, given, argumentNames, "input")) ||
      failed(checkNames(entry, wanted, resultNames, "output")))
    return failure();
  SmallVector<Value<S>> arguments;
  for (auto [i, name] : llvm::enumerate(argumentNames)) {
    FailureOr<Value<S>> argument = argumentOf<S>(entry, i, name, inputs, cacheBlocks);
    if (failed(argument))
      return failure();
    arguments.push_back(std::move(*argument));
  }
  Evaluator<S> evaluator(module, parameters);
  FailureOr<SmallVector<Value<S>>> results = evaluator.runEntry(entry, arguments);
  if (failed(results))
    return failure();
  NamedTensors outputs;
  for (auto [i, name] : llvm::enumerate(resultNames)) {
    if (!llvm::is_contained(wanted, name))
      continue;
    Expected<NpyTensor> tensor = toNpy<S>(name, (*results)[i], entry.getResultTypes()[i]);
    if (!tensor)
      return fail(entry) << tensor.error().message;
    outputs[name] = std::move(*tensor);
  }
  return outputs;
}

template <typename S>
FailureOr<NpyTensor> runDecoder(ModuleOp module, func::FuncOp step, ParameterReader &parameters,
                                const NamedTensors &inputs) {
  FailureOr<Packed> packed = pack(step, inputs);
  if (failed(packed))
    return failure();
  int64_t block = 0, tokens = packed->tokens.size();
  for (Type type : step.getArgumentTypes())
    if (auto cache = dyn_cast<attn::KVCacheType>(type))
      block = cache.getBlock();
  if (block == 0)
    return fail(step) << "'" << step.getSymName() << "' takes no cache: it is not the step of a decoder";
  int64_t blocks = std::max<int64_t>((packed->length + block - 1) / block, 1);
  std::vector<int64_t> table(packed->rows * blocks);
  for (auto [i, number] : llvm::enumerate(table))
    number = i;
  NamedTensors arguments;
  arguments["tokens"] = integers({tokens}, packed->tokens);
  arguments["row_begin"] = integers({packed->rows + 1}, packed->rowBegin);
  arguments["past"] = integers({packed->rows}, packed->past);
  arguments["block_table"] = integers({packed->rows, blocks}, table);
  arguments["want"] = integers({tokens}, packed->want);
  FailureOr<NamedTensors> outputs = runEntry<S>(module, step, parameters, arguments, {"logits"}, packed->rows * blocks);
  if (failed(outputs))
    return failure();
  const NpyTensor &logits = outputs->find("logits")->second;
  if (logits.shape.size() != 2)
    return fail(step) << "its logits are " << shapeText(logits.shape) << ", but must be [wanted, vocabulary]";
  size_t bytes = logits.shape[1] * sizeOf(logits.type);
  NpyTensor result{logits.type, {packed->rows, packed->length, logits.shape[1]}, {}};
  result.data.resize(packed->rows * packed->length * bytes);
  for (auto [i, place] : llvm::enumerate(packed->places))
    std::copy_n(logits.data.begin() + i * bytes, bytes, result.data.begin() + place * bytes);
  return result;
}

namespace {

template <typename S>
FailureOr<NamedTensors> runRequest(ModuleOp module, func::FuncOp entry, ParameterReader &parameters,
                                   const Request &request, const NamedTensors &inputs) {
  SmallVector<std::string> wanted;
  for (auto &[name, file] : request.outputs)
    wanted.push_back(name);
  if (!inputs.count("input_ids"))
    return runEntry<S>(module, entry, parameters, inputs, wanted, request.cacheBlocks);
  if (failed(checkNames(entry, wanted, {"logits"}, "output")))
    return failure();
  FailureOr<NpyTensor> logits = runDecoder<S>(module, entry, parameters, inputs);
  if (failed(logits))
    return failure();
  return NamedTensors{{"logits", std::move(*logits)}};
}

} // namespace

LogicalResult runFiles(ModuleOp module, ParameterReader &parameters, const Request &request) {
  auto entry = module.lookupSymbol<func::FuncOp>(request.entry);
  if (!entry)
    return fail(module) << "there is no function '" << request.entry << "'";
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
  template FailureOr<NpyTensor> runDecoder<S>(ModuleOp, func::FuncOp, ParameterReader &, const NamedTensors &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
