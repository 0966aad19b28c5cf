//===- PairBuilder.cpp - The module of two towers -------------------------------===//
#include "lib/Artifact/Conversion.h"
#include "lib/Import/Module/LayerStack.h"
#include "lib/Import/Parts/AttentionPool.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/PairSpec.h"
#include "lib/Import/Specs/VisionTokens.h"
#include "lib/Support/Json.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

/// Vectors that one call may compare.
static constexpr int64_t mostVectors = 1 << 20;

namespace {

ParameterSet listParameters(const PairSpec &spec) {
  ParameterSet parameters;
  const TextTowerSpec &text = spec.text;
  ParameterScope ofText{parameters, text.prefix, text.stack + "."};
  auto table = [&](const std::string &part, int64_t rows) {
    ofText.add(part, part + ".weight", {rows, text.width}, Init::embedding());
  };
  table(text.words, text.vocabulary);
  table(text.positionTable, text.positions);
  addLayers(text, {parameters, text.prefix + text.layer, ofText.symbols, Stack{text.layers, text.stack}});
  addNorm(ofText, text.finalNorm, text.norm, text.width);
  ParameterScope top{parameters, ""};
  top.dense(text.projection, spec.width, text.width, text.hasProjectionBias);

  const VisionSpec &image = spec.image;
  ParameterScope ofImage{parameters, image.prefix, image.stack + "."};
  addVisionTokens(ofImage, image);
  addNorm(ofImage, image.finalNorm, image.norm, image.width);
  if (spec.pool)
    walkAttentionPool(Walk(ofImage), *spec.pool, image);
  if (!spec.imageProjection.empty())
    top.dense(spec.imageProjection, spec.width, image.width, /*hasBias=*/false);
  return parameters;
}

/// Vectors of texts, [rows, width].
Expected<Value> buildTextVectors(OpBuilder &builder, func::FuncOp entry, const PairSpec &spec,
                                 const ParameterSet &parameters, bool hasAdapters) {
  const TextTowerSpec &text = spec.text;
  const std::string symbols = text.stack + ".";
  Scope scope{builder, parameters, text.prefix, /*layer=*/nullptr, symbols}, top{builder, parameters};
  Value ids = entry.getArgument(0), rowBegin = entry.getArgument(1);
  Value positions = attn::PositionsOp::create(builder, scope.at(text.positionTable), ids, rowBegin, /*past=*/Value());
  Value x = embed(scope, ids, text.words);
  x = arith::AddFOp::create(builder, scope.at("embeddings"), x, embed(scope, positions, text.positionTable));
  Value state[] = {x};
  SmallVector<Value> shared{rowBegin};
  for (unsigned i = 0; hasAdapters && i < adapterValues; ++i)
    shared.push_back(entry.getArgument(2 + i));
  LayerStack stack{.stack = {text.layers, text.stack}, .state = state, .shared = shared};
  auto body = [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried,
                  ValueRange others) -> SmallVector<Value> {
    ValueRange behind = others.drop_front();
    const std::optional<AdapterRows> adapters = takeAdapters(hasAdapters, behind);
    Scope own{inner, parameters, text.prefix + text.layer, &layer, symbols, adapters ? &*adapters : nullptr};
    auto mix = [&](Location loc, std::array<Value, 3> queryKeyValue, Value scale, std::optional<int64_t>) -> Mixed {
      attn::AttentionOp op = rowAttention(own, loc, queryKeyValue, scale, others[0]);
      if (text.isCausal)
        keepCausal(op);
      return {op.getResult(), op};
    };
    return {buildLayer(own, text, carried[0], /*rotation=*/{}, mix)};
  };
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, buildLayerStack(builder, entry, parameters, stack, body));
  Location loc = scope.at("pooled");
  Value pooled;
  if (text.vector)
    pooled = attn::SelectRowsOp::create(builder, loc, last[0].getType(), last[0],
                                        findTokens(scope, loc, ids, rowBegin, *text.vector));
  else
    pooled = poolRows(scope, loc, attn::PoolingKind::last, last[0], rowBegin);
  pooled = normalize(scope, pooled, text.finalNorm, text.norm);
  return unitLength(top, top.at(text.projection), dense(top, pooled, text.projection));
}

/// Vectors of images, [rows, width].
Expected<Value> buildImageVectors(OpBuilder &builder, func::FuncOp entry, Images images, const PairSpec &spec,
                                  const ParameterSet &parameters) {
  const VisionSpec &image = spec.image;
  Scope scope{builder, parameters, image.prefix, /*layer=*/nullptr, image.stack + "."}, top{builder, parameters};
  RAPT_ASSIGN_OR_RETURN(Value tokens, buildVisionTokens(scope, entry, image, images));
  Value vectors;
  if (spec.pool) {
    Value x = normalize(scope, tokens, image.finalNorm, image.norm);
    Value rows = tensor::DimOp::create(builder, scope.at(spec.pool->part), images.pixels, 0);
    vectors = walkAttentionPool(Walk(scope), *spec.pool, image, x, images.rowBegin, rows);
  } else {
    Value first = poolRows(scope, scope.at("pooled"), attn::PoolingKind::first, tokens, images.rowBegin);
    vectors = normalize(scope, first, image.finalNorm, image.norm);
  }
  if (!spec.imageProjection.empty())
    vectors = dense(top, vectors, spec.imageProjection);
  return unitLength(top, top.at("image_embeds"), vectors);
}

/// The value of a tensor of one element; the usual one without a checkpoint.
Expected<double> readNumber(const huggingface::ModelDescription &model, const std::string &tensor, double usual) {
  std::unique_ptr<artifact::TensorReader> reader = model.tensors().find(tensor) ? model.openTensors() : nullptr;
  const artifact::TensorInfo *info = reader ? reader->find(tensor) : nullptr;
  if (!info)
    return usual;
  if (ShapedType::getNumElements(info->shape) != 1)
    return Error{model.tensors().path() + ": tensor " + tensor + " has not one element"};
  std::array<std::byte, 8> bytes;
  RAPT_RETURN_IF_ERROR(reader->read(tensor, 0, std::span(bytes).first(artifact::sizeOf(info->dtype))));
  float value = 0;
  artifact::convert(bytes.data(), info->dtype, reinterpret_cast<std::byte *>(&value), artifact::DType::F32, 1);
  constexpr float most = 80; // whose exponential is a number of f32
  if (!(std::abs(value) <= most))
    return Error{model.tensors().path() + ": tensor " + tensor + " is " + std::to_string(value) +
                 ", must be from -80 to 80"};
  return double(value);
}

/// exp(scale) times the cosines of images and texts, plus the bias, [images, texts].
Value compareVectors(OpBuilder &builder, func::FuncOp entry, const ParameterSet &parameters, double scale,
                     double bias) {
  Scope top{builder, parameters};
  auto type = tensorOf({ShapedType::kDynamic, ShapedType::kDynamic}, builder.getF32Type());
  Value logits = attn::LinearOp::create(builder, top.at("logits"), type, entry.getArgument(0), entry.getArgument(1),
                                        /*extras=*/ValueRange(), /*groups=*/Value(), /*transposed=*/true,
                                        /*layout=*/attn::WeightLayoutInterface());
  mapResult(top, logits, [&](const Scope &inner, Location loc, Value cosine) -> Value {
    Value logit = arith::MulFOp::create(inner.builder, loc, cosine, constant(inner, loc, std::exp(scale)));
    return bias == 0 ? logit : arith::AddFOp::create(inner.builder, loc, logit, constant(inner, loc, bias)).getResult();
  });
  return logits;
}

} // namespace

ImportedModule importing::importPair(MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options, PairSpec spec) {
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  RAPT_ASSIGN_OR_RETURN(int64_t positions,
                        boundPositions(options, spec.text.positions, "max_position_embeddings of the texts"));
  RAPT_ASSIGN_OR_RETURN(huggingface::HeightWidth most, largestImage(context, model, spec.image, options));
  ParameterSet parameters = listParameters(spec);
  std::vector<std::string_view> ignored = spec.ignoredTensors;
  ignored.push_back(spec.scale);
  if (!spec.bias.empty())
    ignored.push_back(spec.bias);
  RAPT_RETURN_IF_ERROR(parameters.resolve(model, ignored));
  RAPT_RETURN_IF_ERROR(parameters.addAdapters(model));
  RAPT_ASSIGN_OR_RETURN(double scale, readNumber(model, spec.scale, spec.usualScale));
  RAPT_ASSIGN_OR_RETURN(double bias, readNumber(model, spec.bias, spec.usualBias));

  json::Object how{{"scores", json::Value(spec.areIndependent ? "sigmoid" : "softmax")}};
  if (spec.text.padding) {
    how.emplace_back("length", json::Value(positions));
    how.emplace_back("padding", json::Value(*spec.text.padding));
  }
  model.addFile("texts.json", json::write(json::Value(std::move(how))));
  ModelFacts facts{.family = model.modelType(),
                   .task = "zero-shot-image-classification",
                   .layers = spec.image.layers,
                   .hidden = spec.width,
                   .heads = spec.image.attention.heads,
                   .kvHeads = spec.image.attention.heads,
                   .headDim = spec.image.attention.headDim,
                   .vocabulary = spec.text.vocabulary,
                   .positions = positions,
                   .adapters = adapterNames(model)};
  ModelModule module(context, facts, model, parameters);
  module.dim("tokens", 1, options.maxTokens);
  module.dim("rows", 1, options.maxBatch);
  module.dim("height", spec.image.patch, most.height);
  module.dim("width", spec.image.patch, most.width);
  module.dim("images", 1, mostVectors);
  module.dim("texts", 1, mostVectors);
  const MoreOfEntry more = adapterInputs(context, facts, options);
  for (const DimBounds &dim : more.dims)
    module.dim(dim.name, dim.least, dim.most);
  module.declareParameters();
  OpBuilder &builder = module.builder();
  const int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  auto vectors = [&](const char *name, const char *dim) {
    return EntryBuffer{name, tensorOf({any, spec.width}, f32), {dim}};
  };
  Type list = tensorOf({any}, builder.getI32Type());
  SmallVector<EntryBuffer> texts{{"input_ids", list, {"tokens"}, facts.vocabulary}, {"row_begin", list, {"rows+1"}}};
  llvm::append_range(texts, more.inputs);
  func::FuncOp text = module.beginEntry("encode_text", texts, {vectors("text_embeds", "rows")});
  RAPT_ASSIGN_OR_RETURN(Value ofText, buildTextVectors(builder, text, spec, parameters, !facts.adapters.empty()));
  module.endEntry(ofText);
  func::FuncOp image = module.beginEntry("encode_image", imageInputs(builder, facts, spec.image.channels),
                                         {vectors("image_embeds", "rows")});
  RAPT_ASSIGN_OR_RETURN(Value ofImage, buildImageVectors(builder, image, imagesOf(image, facts), spec, parameters));
  module.endEntry(ofImage);
  func::FuncOp compare =
      module.beginEntry("compare", {vectors("image_embeds", "images"), vectors("text_embeds", "texts")},
                        {{"logits_per_image", tensorOf({any, any}, f32), {"images", "texts"}}});
  module.endEntry(compareVectors(builder, compare, parameters, scale, bias));
  return module.take();
}
