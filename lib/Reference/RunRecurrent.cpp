//===- RunRecurrent.cpp - Whole sequences through states ------------------------===//
//
// Slot 0 of the state stays zero; row r keeps its state in slot 1 + r.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/SourceBatch.h"

using namespace mlir;
namespace rapt::reference {

static std::optional<unsigned> argumentNamed(func::FuncOp entry, StringRef name) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (auto found = entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr); found && found == name)
      return i;
  return std::nullopt;
}

bool keepsState(func::FuncOp step) { return argumentNamed(step, "state").has_value(); }

namespace {

template <typename S> class RecurrentRun {
public:
  RecurrentRun(ModuleOp module, ParameterReader &parameters) : module(module), parameters(parameters) {}

  LogicalResult start(func::FuncOp step, int64_t rows);
  /// Runs `encode` on the sources; the output of it where `output` is wanted.
  FailureOr<NamedTensors> encode(func::FuncOp entry, const SourceBatch &source, ArrayRef<std::string> output);
  /// Runs `step` for tokens of some rows, in their order, and gives the logits of all of them.
  FailureOr<NamedTensors> step(func::FuncOp entry, ArrayRef<int64_t> rows, ArrayRef<int64_t> rowBegin,
                               const NpyTensor &tokens, ArrayRef<std::string> output);

private:
  FailureOr<SmallVector<Value<S>>> call(func::FuncOp entry, const NamedTensors &arguments);

  ModuleOp module;
  ParameterReader &parameters;
  Kept<S> kept;
  std::vector<int64_t> lengths; ///< of the sources
  int64_t sourceBlocks = 0;
  bool isFirst = true;
};

template <typename S> LogicalResult RecurrentRun<S>::start(func::FuncOp step, int64_t rows) {
  unsigned index = *argumentNamed(step, "state");
  auto type = dyn_cast<RankedTensorType>(step.getArgumentTypes()[index]);
  if (!type || type.getRank() != 3 || type.isDynamicDim(1) || type.isDynamicDim(2))
    return fail(step) << "the state of '" << step.getSymName() << "' is not [slots, parts, columns]";
  FailureOr<Tensor<S>> zeros = makeTensor<S>(step, {1 + rows, type.getDimSize(1), type.getDimSize(2)});
  if (failed(zeros))
    return failure();
  kept["state"] = std::make_shared<const Tensor<S>>(std::move(*zeros));
  return success();
}

template <typename S>
FailureOr<SmallVector<Value<S>>> RecurrentRun<S>::call(func::FuncOp entry, const NamedTensors &arguments) {
  int64_t blocks = std::max<int64_t>(sourceBlocks * int64_t(lengths.size()), 1);
  FailureOr<SmallVector<Value<S>>> results = callEntry<S>(module, entry, parameters, arguments, kept, blocks);
  if (succeeded(results))
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      if (auto name = entry.getResultAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr);
          name && (name == "state" || name == "cache"))
        kept[name.str()] = (*results)[i];
  return results;
}

template <typename S>
FailureOr<NamedTensors> RecurrentRun<S>::encode(func::FuncOp entry, const SourceBatch &source,
                                                ArrayRef<std::string> output) {
  int64_t rows = source.rows, block = 0;
  for (Type type : entry.getArgumentTypes())
    if (auto cache = dyn_cast<attn::KVCacheType>(type))
      block = cache.getBlock();
  sourceBlocks = block ? std::max<int64_t>((source.length + block - 1) / block, 1) : 0;
  std::vector<int64_t> slots(rows);
  std::iota(slots.begin(), slots.end(), 1);
  lengths = source.lengths;
  NamedTensors arguments = source.arguments;
  arguments["state_target"] = integerTensor({rows}, slots);
  arguments["past"] = integerTensor({rows}, std::vector<int64_t>(rows));
  arguments["source_table"] = tableOf(rows, sourceBlocks, sourceBlocks, 0);
  FailureOr<SmallVector<Value<S>>> results = call(entry, arguments);
  if (failed(results))
    return failure();
  isFirst = false;
  FailureOr<NamedTensors> outputs = outputsOf<S>(entry, *results, output);
  if (succeeded(outputs))
    for (auto &[name, tensor] : *outputs)
      tensor = source.shown(tensor);
  return outputs;
}

template <typename S>
FailureOr<NamedTensors> RecurrentRun<S>::step(func::FuncOp entry, ArrayRef<int64_t> rows, ArrayRef<int64_t> rowBegin,
                                              const NpyTensor &tokens, ArrayRef<std::string> output) {
  int64_t count = rows.size();
  std::vector<int64_t> slots, sources, table, want(tokens.shape[0]);
  std::iota(want.begin(), want.end(), 0);
  for (int64_t row : rows) {
    slots.push_back(1 + row);
    if (lengths.empty())
      continue;
    sources.push_back(lengths[row]);
    for (int64_t i = 0; i < sourceBlocks; ++i)
      table.push_back(row * sourceBlocks + i);
  }
  NamedTensors arguments{{"tokens", tokens},
                         {"row_begin", integerTensor({count + 1}, rowBegin.vec())},
                         {"state_slot", integerTensor({count}, isFirst ? std::vector<int64_t>(count) : slots)},
                         {"state_target", integerTensor({count}, slots)},
                         {"want", integerTensor({tokens.shape[0]}, want)}};
  if (!lengths.empty()) {
    arguments["source_length"] = integerTensor({count}, sources);
    arguments["source_table"] = integerTensor({count, sourceBlocks}, table);
  }
  FailureOr<SmallVector<Value<S>>> results = call(entry, arguments);
  if (failed(results))
    return failure();
  return outputsOf<S>(entry, *results, output);
}

/// The rows that have a token in column `at`, and its index among the packed ones.
void columnOf(const Batch &batch, int64_t at, std::vector<int64_t> &rows, std::vector<int64_t> &indices) {
  for (int64_t r = 0; r < batch.rows; ++r)
    if (batch.rowBegin[r] + at < batch.rowBegin[r + 1]) {
      rows.push_back(r);
      indices.push_back(batch.rowBegin[r] + at);
    }
}

/// Rows `indices` of a tensor of 4- or 8-byte elements, and the inverse into `all`.
NpyTensor gather(const NpyTensor &all, ArrayRef<int64_t> indices) {
  size_t bytes = all.data.size() / std::max<int64_t>(all.shape[0], 1);
  NpyTensor some{all.type, all.shape, {}};
  some.shape[0] = indices.size();
  for (int64_t index : indices)
    some.data.insert(some.data.end(), all.data.begin() + index * bytes, all.data.begin() + (index + 1) * bytes);
  return some;
}
void scatter(const NpyTensor &some, ArrayRef<int64_t> indices, NpyTensor &all) {
  size_t bytes = some.data.size() / indices.size();
  for (auto [i, index] : llvm::enumerate(indices))
    std::copy_n(some.data.begin() + i * bytes, bytes, all.data.begin() + index * bytes);
}

template <typename S>
FailureOr<NamedTensors> runTarget(RecurrentRun<S> &run, func::FuncOp step, const Batch &target, const NpyTensor &ids,
                                  ArrayRef<std::string> output) {
  NpyTensor tokens = packRows(target, ids);
  auto dims = step.getArgAttrOfType<ArrayAttr>(*argumentNamed(step, "tokens"), attn::AttnDialect::dimsAttr);
  bool isSerial = dims && cast<StringAttr>(dims[0]) == "rows";
  std::vector<int64_t> all(target.rows);
  std::iota(all.begin(), all.end(), 0);
  if (!isSerial)
    return run.step(step, all, target.rowBegin, tokens, output);
  NamedTensors whole;
  for (int64_t at = 0; at < target.length; ++at) {
    std::vector<int64_t> rows, indices;
    columnOf(target, at, rows, indices);
    if (rows.empty())
      break;
    std::vector<int64_t> begin(rows.size() + 1);
    std::iota(begin.begin(), begin.end(), 0);
    FailureOr<NamedTensors> some = run.step(step, rows, begin, gather(tokens, indices), output);
    if (failed(some))
      return failure();
    for (auto &[name, tensor] : *some) {
      if (at == 0) {
        NpyTensor &all = whole[name] = {tensor.type, tensor.shape, {}};
        all.shape[0] = target.tokens();
        all.data.resize(tensor.data.size() / rows.size() * target.tokens());
      }
      scatter(tensor, indices, whole[name]);
    }
  }
  if (whole.empty())
    return FailureOr<NamedTensors>(fail(step) << "there is no token");
  return whole;
}

} // namespace

/// The names of `wanted` that `known` has.
static SmallVector<std::string> among(ArrayRef<std::string> wanted, ArrayRef<std::string> known) {
  return llvm::filter_to_vector(wanted, [&](const std::string &name) { return llvm::is_contained(known, name); });
}

template <typename S>
FailureOr<NamedTensors> runRecurrent(ModuleOp module, func::FuncOp encode, func::FuncOp step,
                                     ParameterReader &parameters, const NamedTensors &inputs,
                                     ArrayRef<std::string> wanted) {
  SmallVector<std::string> given, inputNames{"input_ids", "attention_mask"}, ofStep = tokenResultsOf(step),
                                                                             outputNames = ofStep, ofEncode;
  if (encode) {
    inputNames = sourceNamesOf(encode);
    inputNames.append({"decoder_input_ids", "decoder_attention_mask"});
    ofEncode = tokenResultsOf(encode);
    llvm::append_range(outputNames, ofEncode);
  }
  for (auto &[name, tensor] : inputs)
    given.push_back(name);
  if (failed(checkNames(step, given, inputNames, "input")) || failed(checkNames(step, wanted, outputNames, "output")))
    return failure();
  const char *ids = encode ? "decoder_input_ids" : "input_ids";
  FailureOr<Batch> target = readIds(step, inputs, ids, encode ? "decoder_attention_mask" : "attention_mask");
  RecurrentRun<S> run(module, parameters);
  if (failed(target) || failed(run.start(step, target->rows)))
    return failure();
  NamedTensors outputs;
  if (encode) {
    FailureOr<SourceBatch> source = readSource(encode, inputs);
    if (failed(source))
      return failure();
    if (target->rows != source->rows)
      return FailureOr<NamedTensors>(fail(step) << "decoder_input_ids has " << target->rows << " rows, "
                                                << sourceNamesOf(encode)[0] << " " << source->rows);
    FailureOr<NamedTensors> encoded = run.encode(encode, *source, among(wanted, ofEncode));
    if (failed(encoded))
      return failure();
    outputs = std::move(*encoded);
  }
  FailureOr<NamedTensors> stepped = runTarget<S>(run, step, *target, inputs.find(ids)->second, among(wanted, ofStep));
  if (failed(stepped))
    return failure();
  for (auto &[name, tensor] : *stepped)
    outputs[name] = padRows(*target, tensor);
  return outputs;
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<NamedTensors> runRecurrent<S>(ModuleOp, func::FuncOp, func::FuncOp, ParameterReader &,            \
                                                   const NamedTensors &, ArrayRef<std::string>);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
