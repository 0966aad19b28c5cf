//===- ModelModule.cpp - The module of a model under construction -------------===//
#include "lib/Import/Module/ModelModule.h"
#include "dialect/Attn/AttnOps.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

Expected<int64_t> importing::boundPositions(const ImportOptions &options, int64_t positions, const std::string &table) {
  if (options.maxSequenceLength == 0)
    return positions;
  if (options.maxSequenceLength > positions)
    return Error{"sequences of " + std::to_string(options.maxSequenceLength) + " positions were asked for, but " +
                 table + " holds " + std::to_string(positions)};
  return options.maxSequenceLength;
}

static StringRef typeName(artifact::DType dtype) {
  switch (dtype) {
  case artifact::DType::F32:
    return "f32";
  case artifact::DType::BF16:
    return "bf16";
  case artifact::DType::F16:
    return "f16";
  }
  llvm_unreachable("every storage type is handled");
}

static DictionaryAttr modelAttr(Builder &builder, const ModelFacts &facts, int64_t elements, artifact::DType dtype) {
  SmallVector<NamedAttribute> all;
  auto text = [&](StringRef name, StringRef value) {
    all.push_back(builder.getNamedAttr(name, builder.getStringAttr(value)));
  };
  auto number = [&](StringRef name, int64_t value) {
    if (value != 0)
      all.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  };
  text("family", facts.family);
  text("task", facts.task);
  number("layers", facts.layers);
  number("hidden", facts.hidden);
  number("heads", facts.heads);
  number("kv_heads", facts.kvHeads);
  number("head_dim", facts.headDim);
  number("vocab", facts.vocabulary);
  number("source_vocab", facts.sourceVocabulary);
  number("labels", facts.labels);
  number("positions", facts.positions);
  number("feature_channels", facts.featureChannels);
  number("feature_frames", facts.featureFrames);
  number("source_positions", facts.sourcePositions);
  number("keys", facts.keys);
  if (const std::optional<SourceImage> &image = facts.sourceImage) {
    number("image_channels", image->channels);
    number("image_height", image->height);
    number("image_width", image->width);
    number("grid_height", image->gridHeight);
    number("grid_width", image->gridWidth);
  }
  number("parameters", elements);
  text("source_dtype", typeName(dtype));
  all.push_back(builder.getNamedAttr("eos", builder.getI64ArrayAttr(facts.endTokens)));
  if (facts.imageToken)
    all.push_back(builder.getNamedAttr("image_token", builder.getI64IntegerAttr(*facts.imageToken)));
  if (!facts.adapters.empty()) {
    SmallVector<StringRef> names(facts.adapters.begin(), facts.adapters.end());
    all.push_back(builder.getNamedAttr("adapters", builder.getStrArrayAttr(names)));
  }
  if (facts.startToken)
    all.push_back(builder.getNamedAttr("start", builder.getI64IntegerAttr(*facts.startToken)));
  return builder.getDictionaryAttr(all);
}

ModelModule::ModelModule(MLIRContext &context, const ModelFacts &facts, const huggingface::ModelDescription &model,
                         const ParameterSet &parameters)
    : parameters(parameters), body(&context) {
  Location loc = NameLoc::get(body.getStringAttr(facts.family));
  module = ModuleOp::create(loc, facts.family);
  (*module)->setAttr(attn::AttnDialect::stageAttr, body.getStringAttr("imported"));
  (*module)->setAttr(attn::AttnDialect::modelAttr, modelAttr(body, facts, parameters.elements(), model.dtype()));
  body.setInsertionPointToEnd(module->getBody());
}

void ModelModule::dim(StringRef name, int64_t least, int64_t most) {
  attn::DimOp::create(body, NameLoc::get(body.getStringAttr(name)), name, least, most);
}

void ModelModule::declareParameters() { parameters.declare(body); }

func::FuncOp ModelModule::beginEntry(StringRef name, ArrayRef<EntryBuffer> inputs, ArrayRef<EntryBuffer> outputs) {
  using attn::AttnDialect;
  body.setInsertionPointToEnd(module->getBody());
  auto types = [](ArrayRef<EntryBuffer> buffers) {
    return llvm::map_to_vector(buffers, [](const EntryBuffer &buffer) { return buffer.type; });
  };
  current = func::FuncOp::create(body, NameLoc::get(body.getStringAttr(name)), name,
                                 body.getFunctionType(types(inputs), types(outputs)));
  current->setAttr(AttnDialect::entryAttr, body.getUnitAttr());
  auto attributes = [&](const EntryBuffer &buffer) {
    SmallVector<StringRef> dims(buffer.dims.begin(), buffer.dims.end());
    NamedAttrList list;
    list.set(AttnDialect::nameAttr, body.getStringAttr(buffer.name));
    if (!dims.empty())
      list.set(AttnDialect::dimsAttr, body.getStrArrayAttr(dims));
    if (buffer.limit)
      list.set(AttnDialect::limitAttr, body.getI64IntegerAttr(*buffer.limit));
    if (buffer.optional)
      list.set(AttnDialect::optionalAttr, body.getUnitAttr());
    return list.getDictionary(body.getContext());
  };
  for (auto [i, input] : llvm::enumerate(inputs))
    current.setArgAttrs(i, attributes(input));
  for (auto [i, output] : llvm::enumerate(outputs))
    current.setResultAttrs(i, attributes(output));
  body.setInsertionPointToStart(current.addEntryBlock());
  return current;
}

void ModelModule::endEntry(ValueRange results) { func::ReturnOp::create(body, current.getLoc(), results); }

RankedTensorType importing::tensorOf(ArrayRef<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element);
}
