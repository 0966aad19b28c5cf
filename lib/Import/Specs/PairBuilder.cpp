//===- PairBuilder.cpp - The module of two towers -------------------------------===//
#include "lib/Artifact/Conversion.h"
#include "lib/Import/Parts/AttentionPool.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Specs/PairSpec.h"
#include "lib/Import/Specs/VisionTokens.h"
#include "lib/Support/Json.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

/// Vectors that one call may compare.
static constexpr int64_t mostVectors = 1 << 20;

namespace {

/// Vectors of texts, [rows, width].
Expected<Value> walkTexts(const Walk &walk, const PairSpec &spec, const TextTokens &texts) {
  const TextTowerSpec &text = spec.text;
  const Walk tower = walk.inside(text.prefix, text.stack + ".");
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, walkEncoderLayers(tower, text, texts, text.positions));
  Value pooled = tower.emit([&](const Scope &scope) -> Value {
    Location loc = scope.at("pooled");
    if (!text.vector)
      return poolRows(scope, loc, attn::PoolingKind::last, last[0], texts.rowBegin);
    return attn::SelectRowsOp::create(scope.builder, loc, last[0].getType(), last[0],
                                      findTokens(scope, loc, texts.ids, texts.rowBegin, *text.vector));
  });
  pooled = tower.norm(pooled, text.finalNorm, text.norm, text.width);
  pooled = walk.matmul(
      pooled, {.part = text.projection, .out = spec.width, .in = text.width, .hasBias = text.hasProjectionBias});
  return walk.emit([&](const Scope &top) { return unitLength(top, top.at(text.projection), pooled); });
}

/// Vectors of images, [rows, width].
Expected<Value> walkImages(const Walk &walk, const PairSpec &spec, Images &images) {
  const VisionSpec &image = spec.image;
  const Walk tower = walk.inside(image.prefix, image.stack + ".");
  RAPT_ASSIGN_OR_RETURN(Value x, walkVisionTokens(tower, image, images));
  if (!spec.pool)
    x = tower.emit([&](const Scope &scope) {
      return poolRows(scope, scope.at("pooled"), attn::PoolingKind::first, x, images.rowBegin);
    });
  x = tower.norm(x, image.finalNorm, image.norm, image.width);
  if (spec.pool) {
    Value rows = tower.emit([&](const Scope &scope) {
      return tensor::DimOp::create(scope.builder, scope.at(spec.pool->part), images.pixels, 0);
    });
    x = walkAttentionPool(tower, *spec.pool, image, x, images.rowBegin, rows);
  }
  if (!spec.imageProjection.empty())
    x = walk.matmul(x, {.part = spec.imageProjection, .out = spec.width, .in = image.width, .hasBias = false});
  return walk.emit([&](const Scope &top) { return unitLength(top, top.at("image_embeds"), x); });
}

/// The value of a tensor of one element; `fallback` without a checkpoint.
Expected<double> readNumber(const huggingface::ModelDescription &model, const std::string &tensor, double fallback) {
  std::unique_ptr<artifact::TensorReader> reader = model.tensors().find(tensor) ? model.openTensors() : nullptr;
  const artifact::TensorInfo *info = reader ? reader->find(tensor) : nullptr;
  if (!info)
    return fallback;
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
Value compareVectors(const Scope &top, func::FuncOp entry, double scale, double bias) {
  OpBuilder &builder = top.builder;
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

/// Whether the tokenizer's configuration wants texts filled up in front.
static bool fillsAhead(const huggingface::ModelDescription &model) {
  auto file = model.files().find("tokenizer_config.json");
  Expected<json::Value> config = file == model.files().end() ? json::Value() : json::parse(file->second);
  const json::Value *side = config ? config->find("padding_side") : nullptr;
  return side && side->isString() && *side->asString() == "left";
}

ImportedModule importing::importPair(MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options, PairSpec spec) {
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  RAPT_ASSIGN_OR_RETURN(int64_t positions,
                        boundPositions(options, spec.text.positions, "max_position_embeddings of the texts"));
  RAPT_ASSIGN_OR_RETURN(huggingface::HeightWidth most, largestImage(context, model, spec.image, options));
  std::vector<std::string_view> ignored = spec.ignoredTensors;
  ignored.push_back(spec.scale);
  if (!spec.bias.empty())
    ignored.push_back(spec.bias);
  auto walkTowers = [&](const Walk &walk) {
    (void)walkTexts(walk, spec, {});
    Images images;
    (void)walkImages(walk, spec, images);
  };
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, /*prefix=*/"", ignored, walkTowers));
  RAPT_ASSIGN_OR_RETURN(double scale, readNumber(model, spec.scale, spec.defaultScale));
  RAPT_ASSIGN_OR_RETURN(double bias, readNumber(model, spec.bias, spec.defaultBias));

  json::Object how{{"scores", json::Value(spec.areIndependent ? "sigmoid" : "softmax")}};
  if (spec.text.padding) {
    how.emplace_back("length", json::Value(positions));
    how.emplace_back("padding", json::Value(*spec.text.padding));
    if (fillsAhead(model))
      how.emplace_back("padding_side", json::Value("left"));
  }
  model.addFile("texts.json", json::write(json::Value(std::move(how))));
  ModelFacts facts = factsOf(model, spec.image);
  facts.task = "zero-shot-image-classification";
  facts.hidden = spec.width;
  facts.vocabulary = spec.text.vocabulary;
  facts.positions = positions;
  ModelModule module(context, facts, model, parameters);
  module.dim(nameOf(EntryDim::Tokens), 1, options.maxTokens);
  module.dim(nameOf(EntryDim::Rows), 1, options.maxBatch);
  module.dim("height", spec.image.patch, most.height);
  module.dim("width", spec.image.patch, most.width);
  module.dim("images", 1, mostVectors);
  module.dim("texts", 1, mostVectors);
  const ExtraInputs extra = adapterInputs(context, facts, options);
  for (const DimBounds &dim : extra.dims)
    module.dim(dim.name, dim.least, dim.most);
  module.declareParameters();
  OpBuilder &builder = module.builder();
  const int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  auto vectors = [&](const char *name, const char *dim) {
    return EntryBuffer{name, tensorOf({any, spec.width}, f32), {dim}};
  };
  SmallVector<EntryBuffer> texts{bufferOf(context, EntryRole::InputIds, {.limit = facts.vocabulary}),
                                 bufferOf(context, EntryRole::RowBegin)};
  llvm::append_range(texts, extra.inputs);
  func::FuncOp text = module.beginEntry("encode_text", texts, {vectors("text_embeds", "rows")});
  const Walk walk(module.scope());
  ValueRange behind = text.getArguments().drop_front(2);
  const TextTokens given{.ids = text.getArgument(0),
                         .rowBegin = text.getArgument(1),
                         .adapters = takeAdapters(!facts.adapters.empty(), behind)};
  RAPT_ASSIGN_OR_RETURN(Value ofText, walkTexts(walk, spec, given));
  module.endEntry(ofText);
  func::FuncOp image = module.beginEntry("encode_image", imageInputs(builder, facts, spec.image.channels),
                                         {vectors("image_embeds", "rows")});
  Images images = imagesOf(image, facts);
  RAPT_ASSIGN_OR_RETURN(Value ofImage, walkImages(walk, spec, images));
  module.endEntry(ofImage);
  func::FuncOp compare =
      module.beginEntry("compare", {vectors("image_embeds", "images"), vectors("text_embeds", "texts")},
                        {{"logits_per_image", tensorOf({any, any}, f32), {"images", "texts"}}});
  module.endEntry(compareVectors(module.scope(), compare, scale, bias));
  return module.take();
}
