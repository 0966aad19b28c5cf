//===- RunEncoderDecoder.cpp - Whole sources and targets ------------------------===//
//
// Row r has the blocks of its target, then those of its source, in one pool.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/SourceBatch.h"
#include <numeric>

using namespace mlir;
namespace rapt::reference {

namespace {

/// Tokens of a block of the step's cache; 0 without one.
int64_t blockOf(func::FuncOp step) {
  for (Type type : step.getArgumentTypes())
    if (auto cache = dyn_cast<attn::KVCacheType>(type))
      return cache.getBlock();
  return 0;
}

LogicalResult checkAllNames(func::FuncOp encode, func::FuncOp step, const NamedTensors &inputs,
                            ArrayRef<std::string> wanted) {
  SmallVector<std::string> given, known = tokenResultsOf(step);
  for (auto &[name, tensor] : inputs)
    given.push_back(name);
  llvm::append_range(known, tokenResultsOf(encode));
  SmallVector<std::string> names = sourceNamesOf(encode);
  names.append({"decoder_input_ids", "decoder_attention_mask"});
  if (adaptersOf(step))
    names.push_back("adapter");
  return success(succeeded(checkNames(encode, given, names, "input")) &&
                 succeeded(checkNames(encode, wanted, known, "output")));
}

} // namespace

template <typename S>
FailureOr<NamedTensors> runEncoderDecoder(ModuleOp module, func::FuncOp encode, func::FuncOp step,
                                          ParameterReader &parameters, const NamedTensors &inputs,
                                          ArrayRef<std::string> wanted) {
  if (failed(checkAllNames(encode, step, inputs, wanted)))
    return failure();
  FailureOr<SourceBatch> source = readSource(encode, inputs);
  if (failed(source))
    return failure();
  FailureOr<Batch> target = readIds(step, inputs, "decoder_input_ids", "decoder_attention_mask");
  if (failed(target))
    return failure();
  int64_t rows = source->rows;
  if (target->rows != rows)
    return fail(step) << "decoder_input_ids has " << target->rows << " rows, " << sourceNamesOf(encode)[0] << " "
                      << rows;
  const int64_t block = blockOf(step);
  if (block == 0)
    return fail(step) << "'step' takes no cache";
  auto blocksOf = [&](int64_t length) { return std::max<int64_t>((length + block - 1) / block, 1); };
  int64_t sourceBlocks = blocksOf(source->length), targetBlocks = blocksOf(target->length),
          each = sourceBlocks + targetBlocks;
  NpyTensor zeros = integerTensor({rows}, std::vector<int64_t>(rows));
  NpyTensor sourceTable = tableOf(rows, sourceBlocks, each, targetBlocks);

  source->arguments["past"] = zeros;
  source->arguments["source_table"] = sourceTable;
  std::vector<int64_t> sourceBegin{0};
  for (int64_t length : source->lengths)
    sourceBegin.push_back(sourceBegin.back() + length);
  if (failed(addAdapters(encode, inputs, sourceBegin, source->arguments)))
    return failure();
  FailureOr<SmallVector<Value<S>>> encoded =
      callEntry<S>(module, encode, parameters, source->arguments, {}, rows * each);
  if (failed(encoded))
    return failure();
  FailureOr<NamedTensors> outputs = outputsOf<S>(encode, *encoded, wanted);
  if (failed(outputs))
    return failure();
  for (auto &[name, tensor] : *outputs)
    tensor = source->shown(tensor);

  std::vector<int64_t> want(target->tokens());
  std::iota(want.begin(), want.end(), 0);
  NamedTensors next;
  next["tokens"] = packRows(*target, inputs.find("decoder_input_ids")->second);
  next["row_begin"] = integerTensor({rows + 1}, target->rowBegin);
  next["past"] = zeros;
  next["block_table"] = tableOf(rows, targetBlocks, each, 0);
  next["want"] = integerTensor({target->tokens()}, want);
  next["source_length"] = integerTensor({rows}, source->lengths);
  next["source_table"] = sourceTable;
  if (failed(addAdapters(step, inputs, target->rowBegin, next)))
    return failure();
  FailureOr<SmallVector<Value<S>>> stepped =
      callEntry<S>(module, step, parameters, next, {{"cache", (*encoded)[0]}}, rows * each);
  if (failed(stepped))
    return failure();
  FailureOr<NamedTensors> logits = outputsOf<S>(step, *stepped, wanted);
  if (failed(logits))
    return failure();
  for (auto &[name, tensor] : *logits)
    (*outputs)[name] = padRows(*target, tensor);
  return outputs;
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<NamedTensors> runEncoderDecoder<S>(ModuleOp, func::FuncOp, func::FuncOp, ParameterReader &,       \
                                                        const NamedTensors &, ArrayRef<std::string>);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
