//===- SourceBatch.cpp - The sources of an encoder's batch ----------------------===//
#include "lib/Reference/SourceBatch.h"
#include "lib/Reference/Arguments.h"

using namespace mlir;
namespace rapt::reference {

namespace {

/// A source that is no text: the name of its argument, and its dims as messages show them.
struct FeaturesName {
  StringRef name, dims;
  size_t rank;
};
constexpr FeaturesName featuresNames[] = {{"input_features", "[batch, channels, frames]", 3},
                                          {"pixel_values", "[batch, channels, height, width]", 4}};

/// The features that an encoder reads; null where it reads words.
const FeaturesName *featuresOf(func::FuncOp encode) {
  for (unsigned i = 0; i < encode.getNumArguments(); ++i)
    for (const FeaturesName &features : featuresNames)
      if (encode.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr) == features.name)
        return &features;
  return nullptr;
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

FailureOr<SourceBatch> readFeatures(func::FuncOp encode, const FeaturesName &features, const NamedTensors &inputs) {
  auto given = inputs.find(features.name);
  if (given == inputs.end())
    return fail(encode) << "the model needs " << features.name;
  const int64_t positions = positionsOf(encode);
  if (given->second.shape.size() != features.rank || positions == 0)
    return fail(encode) << features.name << " is " << shapeText(given->second.shape) << ", but " << features.dims
                        << " is needed, and an encoder of as many positions for each";
  SourceBatch source{given->second.shape[0], positions};
  source.lengths.assign(size_t(source.rows), positions);
  source.arguments[features.name.str()] = given->second;
  return source;
}

} // namespace

SmallVector<std::string> sourceNamesOf(func::FuncOp encode) {
  if (const FeaturesName *features = featuresOf(encode))
    return {features->name.str()};
  return {"input_ids", "attention_mask"};
}

FailureOr<SourceBatch> readSource(func::FuncOp encode, const NamedTensors &inputs) {
  const FeaturesName *features = featuresOf(encode);
  return features ? readFeatures(encode, *features, inputs) : readWords(encode, inputs);
}

} // namespace rapt::reference
