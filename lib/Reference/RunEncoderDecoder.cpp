//===- RunEncoderDecoder.cpp - Whole sources and targets ------------------------===//
//
// Row r has the blocks of its target, then those of its source, in one pool.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/Arguments.h"
#include "lib/Reference/RunSequences.h"
#include <numeric>

using namespace mlir;
namespace rapt::reference {

namespace {

/// The sources of a batch: words that are packed, or features, whose outputs are [rows, positions, ...] already.
struct SourceBatch {
  int64_t rows = 0, length = 0;
  std::vector<int64_t> lengths; ///< positions of each row
  std::optional<Batch> words;
  NamedTensors arguments; ///< of `encode`, without the table

  NpyTensor shown(const NpyTensor &output) const { return words ? padRows(*words, output) : output; }
};

constexpr StringRef featuresName = "input_features";

/// The type of an entry's features; null where it reads words.
RankedTensorType featuresOf(func::FuncOp encode) {
  for (unsigned i = 0; i < encode.getNumArguments(); ++i)
    if (encode.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr) == featuresName)
      return dyn_cast<RankedTensorType>(encode.getArgumentTypes()[i]);
  return {};
}

/// Positions of an encoder's output for features; 0 where its type does not tell.
int64_t positionsOf(func::FuncOp encode) {
  for (unsigned i = 0; i < encode.getNumResults(); ++i)
    if (encode.getResultAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr) == "encoder_last_hidden_state")
      if (auto type = dyn_cast<RankedTensorType>(encode.getResultTypes()[i]); type && type.getRank() == 3)
        return type.isDynamicDim(1) ? 0 : type.getDimSize(1);
  return 0;
}

FailureOr<SourceBatch> readWords(func::FuncOp encode, const NamedTensors &inputs) {
  FailureOr<Batch> words = readIds(encode, inputs, "input_ids", "attention_mask");
  if (failed(words))
    return failure();
  SourceBatch source{words->rows, words->length};
  for (int64_t r = 0; r < source.rows; ++r)
    source.lengths.push_back(words->rowBegin[r + 1] - words->rowBegin[r]);
  source.arguments["input_ids"] = packRows(*words, inputs.find("input_ids")->second);
  source.arguments["row_begin"] = integerTensor({source.rows + 1}, words->rowBegin);
  source.words = std::move(*words);
  return source;
}

FailureOr<SourceBatch> readFeatures(func::FuncOp encode, const NamedTensors &inputs) {
  auto given = inputs.find(featuresName);
  if (given == inputs.end())
    return fail(encode) << "the model needs " << featuresName;
  const int64_t positions = positionsOf(encode);
  if (given->second.shape.size() != 3 || positions == 0)
    return fail(encode) << featuresName << " is " << shapeText(given->second.shape)
                        << ", but [batch, channels, frames] is needed, and an encoder of as many positions for each";
  SourceBatch source{given->second.shape[0], positions};
  source.lengths.assign(size_t(source.rows), positions);
  source.arguments[std::string(featuresName)] = given->second;
  return source;
}

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
  SmallVector<std::string> names{"input_ids", "attention_mask"};
  if (featuresOf(encode))
    names = {std::string(featuresName)};
  names.append({"decoder_input_ids", "decoder_attention_mask"});
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
  const bool readsFeatures = bool(featuresOf(encode));
  FailureOr<SourceBatch> source = readsFeatures ? readFeatures(encode, inputs) : readWords(encode, inputs);
  if (failed(source))
    return failure();
  FailureOr<Batch> target = readIds(step, inputs, "decoder_input_ids", "decoder_attention_mask");
  if (failed(target))
    return failure();
  int64_t rows = source->rows;
  if (target->rows != rows)
    return fail(step) << "decoder_input_ids has " << target->rows << " rows, "
                      << (readsFeatures ? featuresName : "input_ids") << " " << rows;
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
