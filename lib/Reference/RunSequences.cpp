//===- RunSequences.cpp - Whole sequences by a model's step ---------------------===//
//
// Row r has the blocks of its own tokens, then those of its source, in one pool. Slot 0 of
// the states stays zero; row r keeps its state in slot 1 + r.
//
//===----------------------------------------------------------------------===//
#include "lib/Reference/RunSequences.h"
#include "dialect/Attn/Entries.h"
#include "dialect/Attn/Facts.h"
#include "lib/Reference/Arguments.h"
#include "lib/Reference/SourceBatch.h"
#include "lib/Support/Spelling.h"
#include <array>
#include <numeric>

using namespace mlir;
namespace rapt::reference {

namespace {

using Numbers = std::vector<int64_t>;

Numbers countTo(int64_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Tokens of a block of the entry's cache; 0 without one.
int64_t blockOf(func::FuncOp entry) {
  for (Type type : entry.getArgumentTypes())
    if (auto cache = dyn_cast<attn::KVCacheType>(type))
      return cache.getBlock();
  return 0;
}

/// The results of an entry besides what it keeps: logits at the output positions, the encoder's output, attention
/// probabilities.
SmallVector<std::string> tokenResultsOf(func::FuncOp entry) {
  SmallVector<std::string> names = resultNamesOf(entry);
  llvm::erase_if(names, [](StringRef name) { return findKept(name) != nullptr; });
  return names;
}

/// Adds what image tokens stand for: rows of image_embeddings, in the order of the tokens.
LogicalResult addImages(func::FuncOp step, const NamedTensors &inputs, NamedTensors &arguments) {
  const ModelFacts facts = attn::factsOf(step);
  if (!facts.readsImages())
    return success();
  Numbers indices;
  int64_t next = 0;
  for (int64_t token : integersOf(arguments[nameOf(Role::Tokens)]))
    indices.push_back(token == facts.imageId() ? next++ : -1);
  auto given = inputs.find(caller::imageEmbeddings);
  if (given != inputs.end() && given->second.shape.size() != 3)
    return fail(step) << "image_embeddings is " << shapeText(given->second.shape)
                      << ", but [images, vectors, hidden] is needed";
  const int64_t rows = given == inputs.end() ? 0 : given->second.shape[0] * given->second.shape[1];
  if (rows < next)
    return fail(step) << "the texts have " << next << " image tokens, image_embeddings [images, vectors, hidden] "
                      << rows << " vectors";
  arguments[nameOf(Role::EmbeddingOf)] = integerTensor({int64_t(indices.size())}, indices);
  NpyTensor &vectors = arguments[nameOf(Role::Embeddings)];
  if (rows != 0) {
    vectors = given->second;
    vectors.shape = {rows, given->second.shape[2]};
  } else { // one row is read in any case
    const std::optional<unsigned> number = attn::findArgument(step, Role::Embeddings);
    const int64_t columns = number ? cast<RankedTensorType>(step.getArgumentTypes()[*number]).getDimSize(1) : 0;
    vectors = {NpyType::F32, {1, columns}, std::vector<std::byte>(size_t(columns) * sizeof(float))};
  }
  return success();
}

/// The inputs that a decoder without an encoder and without states has.
LogicalResult checkDecoderInputs(func::FuncOp step, const NamedTensors &inputs) {
  const bool readsImages = attn::factsOf(step).readsImages();
  for (auto &[name, tensor] : inputs)
    if (name != caller::inputIds && name != caller::attentionMask &&
        !(name == caller::imageEmbeddings && readsImages) && !(name == caller::adapter && adaptersOf(step)))
      return fail(step) << "a decoder has no input '" << name << "'; it has input_ids and attention_mask"
                        << (readsImages ? ", and image_embeddings" : "") << (adaptersOf(step) ? ", and adapter" : "")
                        << didYouMean(findNearest(
                               name, std::array<std::string_view, 2>{caller::inputIds, caller::attentionMask}));
  if (!inputs.count(caller::inputIds))
    return fail(step) << "a decoder needs input_ids";
  return success();
}

/// The rows that have a token in column `at`, and its index among the packed ones.
void columnOf(const Batch &batch, int64_t at, Numbers &rows, Numbers &indices) {
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

template <typename S> class SequenceRun {
public:
  SequenceRun(ModuleOp module, func::FuncOp encode, func::FuncOp step, ParameterReader &parameters,
              const NamedTensors &inputs)
      : module(module), encode(encode), step(step), parameters(parameters), inputs(inputs),
        isRecurrent(attn::findArgument(step, Role::State).has_value()) {}

  FailureOr<NamedTensors> run(ArrayRef<std::string> wanted);

private:
  LogicalResult checkAllNames(ArrayRef<std::string> wanted);
  LogicalResult placeRows(const Batch &target, const std::optional<SourceBatch> &source);
  NamedTensors argumentsOf(func::FuncOp entry, ArrayRef<int64_t> rows, ArrayRef<int64_t> rowBegin);
  FailureOr<NamedTensors> call(func::FuncOp entry, const NamedTensors &arguments, ArrayRef<std::string> wanted);
  FailureOr<NamedTensors> runEncode(const SourceBatch &source, ArrayRef<std::string> wanted);
  FailureOr<NamedTensors> runStep(ArrayRef<int64_t> rows, ArrayRef<int64_t> rowBegin, const NpyTensor &tokens,
                                  ArrayRef<std::string> wanted);
  FailureOr<NamedTensors> runSerial(const Batch &target, const NpyTensor &tokens, ArrayRef<std::string> wanted);

  ModuleOp module;
  func::FuncOp encode, step;
  ParameterReader &parameters;
  const NamedTensors &inputs;
  const bool isRecurrent;
  Kept<S> kept;
  Numbers lengths;                         ///< of the sources
  int64_t rows = 0;                        ///< of the batch
  int64_t ownBlocks = 0, sourceBlocks = 0; ///< of a row
  bool hasStates = false;                  ///< rows have some before a step
};

template <typename S> LogicalResult SequenceRun<S>::checkAllNames(ArrayRef<std::string> wanted) {
  SmallVector<std::string> given, known = tokenResultsOf(step), names{caller::inputIds, caller::attentionMask};
  for (auto &[name, tensor] : inputs)
    given.push_back(name);
  if (encode) {
    llvm::append_range(known, tokenResultsOf(encode));
    names = sourceNamesOf(encode);
    names.append({caller::decoderInputIds, caller::decoderAttentionMask});
  }
  if (adaptersOf(step))
    names.push_back(caller::adapter);
  func::FuncOp named = encode && !isRecurrent ? encode : step;
  if (failed(encode || isRecurrent ? checkNames(named, given, names, "input") : checkDecoderInputs(step, inputs)))
    return failure();
  if (!isRecurrent && !blockOf(step))
    return fail(step) << "'" << step.getSymName() << "' takes no cache"
                      << (encode ? "" : ": it is not the step of a decoder");
  return checkNames(named, wanted, known, "output");
}

/// Decides how many blocks a row has, and makes the states.
template <typename S>
LogicalResult SequenceRun<S>::placeRows(const Batch &target, const std::optional<SourceBatch> &source) {
  rows = target.rows;
  auto blocksOf = [](int64_t block, int64_t length) {
    return block ? std::max<int64_t>((length + block - 1) / block, 1) : 0;
  };
  if (source) {
    lengths = source->lengths;
    sourceBlocks = blocksOf(blockOf(encode), source->length);
  }
  if (!isRecurrent) {
    ownBlocks = blocksOf(blockOf(step), target.length);
    return success();
  }
  auto type = dyn_cast<RankedTensorType>(step.getArgumentTypes()[*attn::findArgument(step, Role::State)]);
  if (!type || type.getRank() != 3 || type.isDynamicDim(1) || type.isDynamicDim(2))
    return fail(step) << "the state of '" << step.getSymName() << "' is not [slots, parts, columns]";
  FailureOr<Tensor<S>> zeros = makeTensor<S>(step, {1 + rows, type.getDimSize(1), type.getDimSize(2)});
  if (failed(zeros))
    return failure();
  kept[nameOf(Role::State)] = std::make_shared<const Tensor<S>>(std::move(*zeros));
  return success();
}

/// The arguments that say where rows are, those of them that the entry has.
template <typename S>
NamedTensors SequenceRun<S>::argumentsOf(func::FuncOp entry, ArrayRef<int64_t> rows, ArrayRef<int64_t> rowBegin) {
  NamedTensors arguments;
  auto put = [&](Role role, const Numbers &values) {
    if (attn::findArgument(entry, role))
      arguments[nameOf(role)] = integerTensor({int64_t(values.size())}, values);
  };
  auto putRows = [&](Role role, auto valueOf) {
    Numbers values;
    for (int64_t row : rows)
      values.push_back(valueOf(row));
    put(role, values);
  };
  auto putTable = [&](Role role, int64_t count, int64_t first) {
    Numbers table;
    for (int64_t row : rows)
      for (int64_t i = 0; i < count; ++i)
        table.push_back(row * (ownBlocks + sourceBlocks) + first + i);
    if (attn::findArgument(entry, role))
      arguments[nameOf(role)] = integerTensor({int64_t(rows.size()), count}, table);
  };
  put(Role::RowBegin, rowBegin.vec());
  putRows(Role::Past, [](int64_t) { return 0; });
  putTable(Role::BlockTable, ownBlocks, 0);
  putTable(Role::WindowTable, ownBlocks, 0); // of layers with a window, which keep all positions here
  putTable(Role::SourceTable, sourceBlocks, ownBlocks);
  if (!lengths.empty())
    putRows(Role::SourceLength, [&](int64_t row) { return lengths[row]; });
  putRows(Role::StateSlot, [&](int64_t row) { return hasStates ? 1 + row : 0; });
  putRows(Role::StateTarget, [](int64_t row) { return 1 + row; });
  put(Role::Want, countTo(rowBegin.back()));
  const std::optional<unsigned> textLength = attn::findArgument(entry, Role::TextLength);
  if (auto limit =
          textLength ? entry.getArgAttrOfType<IntegerAttr>(*textLength, attn::AttnDialect::limitAttr) : IntegerAttr()) {
    Numbers lengthsOfTexts; // up to the limit they tell those that are longer from one another no more
    for (auto [begin, end] : llvm::zip(rowBegin.drop_back(), rowBegin.drop_front()))
      lengthsOfTexts.push_back(std::min(end - begin, limit.getInt() - 1));
    put(Role::TextLength, lengthsOfTexts);
  }
  return arguments;
}

template <typename S>
FailureOr<NamedTensors> SequenceRun<S>::call(func::FuncOp entry, const NamedTensors &arguments,
                                             ArrayRef<std::string> wanted) {
  const int64_t blocks = std::max<int64_t>(rows * (ownBlocks + sourceBlocks), 1);
  FailureOr<SmallVector<Value<S>>> results = callEntry<S>(module, entry, parameters, arguments, kept, blocks);
  if (failed(results))
    return failure();
  for (auto [name, value] : llvm::zip(resultNamesOf(entry), *results))
    if (findKept(name))
      kept[name] = value;
  hasStates = true;
  return outputsOf<S>(entry, *results, wanted);
}

template <typename S>
FailureOr<NamedTensors> SequenceRun<S>::runEncode(const SourceBatch &source, ArrayRef<std::string> wanted) {
  Numbers rowBegin{0};
  for (int64_t length : lengths)
    rowBegin.push_back(rowBegin.back() + length);
  NamedTensors arguments = argumentsOf(encode, countTo(rows), rowBegin);
  for (auto &[name, tensor] : source.arguments)
    arguments[name] = tensor;
  if (failed(addAdapters(encode, inputs, rowBegin, arguments)))
    return failure();
  FailureOr<NamedTensors> outputs = call(encode, arguments, wanted);
  if (succeeded(outputs))
    for (auto &[name, tensor] : *outputs)
      tensor = source.shown(tensor);
  return outputs;
}

template <typename S>
FailureOr<NamedTensors> SequenceRun<S>::runStep(ArrayRef<int64_t> rows, ArrayRef<int64_t> rowBegin,
                                                const NpyTensor &tokens, ArrayRef<std::string> wanted) {
  NamedTensors arguments = argumentsOf(step, rows, rowBegin);
  arguments[nameOf(Role::Tokens)] = tokens;
  if (failed(addImages(step, inputs, arguments)) || failed(addAdapters(step, inputs, rowBegin, arguments)))
    return failure();
  return call(step, arguments, wanted);
}

/// Runs a step that takes one token of each row, column by column.
template <typename S>
FailureOr<NamedTensors> SequenceRun<S>::runSerial(const Batch &target, const NpyTensor &tokens,
                                                  ArrayRef<std::string> wanted) {
  NamedTensors whole;
  for (int64_t at = 0; at < target.length; ++at) {
    Numbers some, indices;
    columnOf(target, at, some, indices);
    if (some.empty())
      break;
    FailureOr<NamedTensors> outputs = runStep(some, countTo(some.size() + 1), gather(tokens, indices), wanted);
    if (failed(outputs))
      return failure();
    for (auto &[name, tensor] : *outputs) {
      if (at == 0) {
        NpyTensor &all = whole[name] = {tensor.type, tensor.shape, {}};
        all.shape[0] = target.tokens();
        all.data.resize(tensor.data.size() / some.size() * target.tokens());
      }
      scatter(tensor, indices, whole[name]);
    }
  }
  if (whole.empty())
    return FailureOr<NamedTensors>(fail(step) << "there is no token");
  return whole;
}

template <typename S> FailureOr<NamedTensors> SequenceRun<S>::run(ArrayRef<std::string> wanted) {
  if (failed(checkAllNames(wanted)))
    return failure();
  std::optional<SourceBatch> source;
  if (encode) {
    FailureOr<SourceBatch> read = readSource(encode, inputs);
    if (failed(read))
      return failure();
    source = std::move(*read);
  }
  const char *ids = encode ? caller::decoderInputIds : caller::inputIds;
  FailureOr<Batch> target = readIds(step, inputs, ids, encode ? caller::decoderAttentionMask : caller::attentionMask);
  if (failed(target))
    return failure();
  if (source && target->rows != source->rows)
    return FailureOr<NamedTensors>(fail(step) << "decoder_input_ids has " << target->rows << " rows, "
                                              << sourceNamesOf(encode)[0] << " " << source->rows);
  if (failed(placeRows(*target, source)))
    return failure();
  NamedTensors outputs;
  if (source) {
    FailureOr<NamedTensors> encoded = runEncode(*source, wanted);
    if (failed(encoded))
      return failure();
    outputs = std::move(*encoded);
  }
  const std::optional<unsigned> argument = attn::findArgument(step, Role::Tokens);
  auto dims = argument ? step.getArgAttrOfType<ArrayAttr>(*argument, attn::AttnDialect::dimsAttr) : ArrayAttr();
  const NpyTensor tokens = packRows(*target, inputs.find(ids)->second);
  FailureOr<NamedTensors> stepped = dims && !dims.empty() && cast<StringAttr>(dims[0]) == nameOf(EntryDim::Rows)
                                        ? runSerial(*target, tokens, wanted)
                                        : runStep(countTo(rows), target->rowBegin, tokens, wanted);
  if (failed(stepped))
    return failure();
  for (auto &[name, tensor] : *stepped) {
    if (name == nameOf(Role::Logits) && tensor.shape.size() != 2)
      return FailureOr<NamedTensors>(fail(step) << "its logits are " << shapeText(tensor.shape)
                                                << ", but must be [wanted, vocabulary]");
    outputs[name] = padRows(*target, tensor);
  }
  return outputs;
}

} // namespace

template <typename S>
FailureOr<NamedTensors> runSequences(ModuleOp module, func::FuncOp encode, func::FuncOp step,
                                     ParameterReader &parameters, const NamedTensors &inputs,
                                     ArrayRef<std::string> wanted) {
  return SequenceRun<S>(module, encode, step, parameters, inputs).run(wanted);
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<NamedTensors> runSequences<S>(ModuleOp, func::FuncOp, func::FuncOp, ParameterReader &,            \
                                                   const NamedTensors &, ArrayRef<std::string>);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
