//===- SourceBatch.cpp - The sources of an encoder's batch ----------------------===//
#include "lib/Reference/SourceBatch.h"
#include "dialect/Attn/Entries.h"
#include "lib/Reference/Arguments.h"

using namespace mlir;
namespace rapt::reference {

namespace {

/// A source that is no text, and its dims as messages show them.
struct FeaturesShape {
  Role role;
  StringRef dims;
  size_t rank;
};
constexpr FeaturesShape featuresShapes[] = {{Role::InputFeatures, "[batch, channels, frames]", 3},
                                            {Role::PixelValues, "[batch, channels, height, width]", 4}};

/// The features that an encoder reads; null where it reads words.
const FeaturesShape *featuresOf(func::FuncOp encode) {
  for (const FeaturesShape &features : featuresShapes)
    if (attn::findArgument(encode, features.role))
      return &features;
  return nullptr;
}

/// Positions of an encoder's output for features; 0 where its type does not tell.
int64_t positionsOf(func::FuncOp encode) {
  const std::optional<unsigned> hidden = attn::findResult(encode, Role::Hidden);
  auto type = hidden ? dyn_cast<RankedTensorType>(encode.getResultTypes()[*hidden]) : RankedTensorType();
  return !type || type.getRank() != 3 || type.isDynamicDim(1) ? 0 : type.getDimSize(1);
}

FailureOr<SourceBatch> readWords(func::FuncOp encode, const NamedTensors &inputs) {
  FailureOr<Batch> words = readIds(encode, inputs, caller::inputIds, caller::attentionMask);
  if (failed(words))
    return failure();
  SourceBatch source{words->rows, words->length};
  for (int64_t r = 0; r < source.rows; ++r)
    source.lengths.push_back(words->rowBegin[r + 1] - words->rowBegin[r]);
  source.arguments[nameOf(Role::InputIds)] = packRows(*words, inputs.find(caller::inputIds)->second);
  source.words = std::move(*words);
  return source;
}

FailureOr<SourceBatch> readFeatures(func::FuncOp encode, const FeaturesShape &features, const NamedTensors &inputs) {
  const char *name = nameOf(features.role);
  auto given = inputs.find(name);
  if (given == inputs.end())
    return fail(encode) << "the model needs " << name;
  const int64_t positions = positionsOf(encode);
  if (given->second.shape.size() != features.rank || positions == 0)
    return fail(encode) << name << " is " << shapeText(given->second.shape) << ", but " << features.dims
                        << " is needed, and an encoder of as many positions for each";
  SourceBatch source{given->second.shape[0], positions};
  source.lengths.assign(size_t(source.rows), positions);
  source.arguments[name] = given->second;
  return source;
}

} // namespace

SmallVector<std::string> sourceNamesOf(func::FuncOp encode) {
  if (const FeaturesShape *features = featuresOf(encode))
    return {nameOf(features->role)};
  return {caller::inputIds, caller::attentionMask};
}

FailureOr<SourceBatch> readSource(func::FuncOp encode, const NamedTensors &inputs) {
  const FeaturesShape *features = featuresOf(encode);
  return features ? readFeatures(encode, *features, inputs) : readWords(encode, inputs);
}

} // namespace rapt::reference
