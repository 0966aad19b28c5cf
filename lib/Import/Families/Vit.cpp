//===- Vit.cpp - The vit family -----------------------------------------------===//
//
// Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", as Hugging Face's
// ViTModel and ViTForImageClassification compute it: patches as tokens behind a
// class token, learned positions, pre-norm blocks, nn.Linear weights [out, in].
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Blocks.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Heads.h"
#include "lib/Import/LayerStack.h"
#include "lib/Import/ModelModule.h"
#include "lib/Import/ParameterScope.h"
#include "lib/Support/Json.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

enum class Head { None, Classification };

constexpr HeadName<Head> heads[] = {{"ViTModel", Head::None}, {"ViTForImageClassification", Head::Classification}};

struct Config {
  int64_t width, layers, heads, inner, patch, channels, labels, poolerWidth;
  huggingface::HeightWidth image;
  double epsilon;
  attn::ActivationKind activation, poolerActivation;
  bool hasQueryBias, takesMean, hasPooler;
  Head head;

  int64_t headDim() const { return width / heads; }
  /// Rows and columns of patches of the images that the positions were learned for.
  int64_t rows() const { return image.height / patch; }
  int64_t columns() const { return image.width / patch; }
  int64_t patchColumns() const { return channels * patch * patch; }
};

/// Keys that training or Hugging Face's own code read; no output depends on them.
constexpr std::initializer_list<std::string_view> harmlessKeys = {
    "attention_probs_dropout_prob",
    "hidden_dropout_prob",
    "encoder_stride", // of masked image modeling, as is the next
    "use_mask_token",
};

Config readConfig(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  Config config;
  config.width = reader.getSize("hidden_size", 1, 1 << 16, 768);
  config.layers = reader.getSize("num_hidden_layers", 1, 1 << 17, 12);
  config.heads = reader.getSize("num_attention_heads", 1, 1 << 12, 12);
  config.inner = reader.getSize("intermediate_size", 1, 1 << 20, 3072);
  config.image = reader.getHeightWidth("image_size", 1, 1 << 15, 224);
  huggingface::HeightWidth patch = reader.getHeightWidth("patch_size", 1, 1 << 10, 16);
  config.patch = patch.height;
  config.channels = reader.getInt("num_channels", 1, 1 << 10, 3);
  config.epsilon = reader.getPositive("layer_norm_eps", 1, 1e-12);
  config.activation = activationNamed(reader.getEnum("hidden_act", activationNames(), "gelu"));
  config.hasQueryBias = reader.getBool("qkv_bias", true);
  config.takesMean = reader.getBool("use_mean_pooling", false);
  config.poolerWidth = reader.getInt("pooler_output_size", 1, 1 << 16, config.width);
  config.poolerActivation = activationNamed(reader.getEnum("pooler_act", activationNames(), "tanh"));
  config.head = readHead<Head>(model, heads, Head::None);
  config.labels = config.head == Head::Classification ? readLabelCount(reader) : 0;
  if (!reader.errors())
    return config;
  reader.requireMultiple("hidden_size", config.width, "num_attention_heads", config.heads);
  int64_t side = std::min(config.image.height, config.image.width);
  if (patch.height != patch.width)
    reader.fail("patch_size is " + std::to_string(patch.height) + " x " + std::to_string(patch.width) +
                ": only squares are supported");
  else if (config.patch > side)
    reader.fail("patch_size " + std::to_string(config.patch) + " is larger than image_size " + std::to_string(side));
  if (config.patchColumns() > 1 << 20)
    reader.fail("patches of " + std::to_string(config.channels) + " x " + std::to_string(config.patch) + " x " +
                std::to_string(config.patch) + " pixels (num_channels, patch_size) are larger than " +
                std::to_string(1 << 20));
  return config;
}

ParameterSet listParameters(const Config &config, const std::string &prefix) {
  ParameterSet parameters;
  int64_t width = config.width, positions = config.rows() * config.columns() + 1;
  auto embedding = [&](const std::string &part, int64_t rows) {
    parameters.addTransformed("embeddings." + part,
                              {prefix + "embeddings." + part, {1, rows, width}, {artifact::Reshape{{rows, width}}}},
                              Init::embedding());
  };
  embedding("cls_token", 1);
  embedding("position_embeddings", positions);
  std::string kernel = "embeddings.patch_embeddings.projection";
  const std::vector<int64_t> matrix = {width, config.patchColumns()};
  parameters.addTransformed(
      kernel + ".weight",
      {prefix + kernel + ".weight", {width, config.channels, config.patch, config.patch}, {artifact::Reshape{matrix}}},
      Init::weight(config.patchColumns()));
  parameters.add(kernel + ".bias", prefix + kernel + ".bias", {width}, Init::bias());

  ParameterScope layer{parameters, prefix + "encoder.layer.{layer}.", {}, Stack{config.layers}},
      top{parameters, prefix};
  layer.layerNorm("layernorm_before", width);
  for (const char *part : {"query", "key", "value"})
    layer.dense(std::string("attention.attention.") + part, width, width, config.hasQueryBias);
  layer.dense("attention.output.dense", width, width);
  layer.layerNorm("layernorm_after", width);
  layer.dense("intermediate.dense", config.inner, width);
  layer.dense("output.dense", width, config.inner);
  top.layerNorm("layernorm", width);
  if (config.hasPooler)
    top.dense("pooler.dense", config.poolerWidth, width);
  if (config.head == Head::Classification)
    ParameterScope{parameters, ""}.dense("classifier", config.labels, width);
  return parameters;
}

/// The images' values while the entry is built.
struct Images {
  Value pixels;   ///< [images, channels, height, width]
  Value rowBegin; ///< of the packed tokens of all images
  Value length;   ///< tokens of one image
};

/// The tokens of all images: class token and patches, with their positions.
Value buildEmbeddings(const Scope &top, const Config &config, Images &images) {
  OpBuilder &builder = top.builder;
  const char *part = "embeddings.patch_embeddings.projection";
  Location loc = top.at("embeddings");
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  auto extent = [&](int64_t i) -> Value { return tensor::DimOp::create(builder, loc, images.pixels, i); };
  Value size = number(config.patch);
  Value height = arith::DivUIOp::create(builder, loc, extent(2), size);
  Value width = arith::DivUIOp::create(builder, loc, extent(3), size);
  images.length = arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, height, width), number(1));
  images.rowBegin = attn::EqualRowsOp::create(builder, loc, tensorOf({ShapedType::kDynamic}, builder.getI32Type()),
                                              extent(0), images.length);

  Type f32 = builder.getF32Type();
  auto cut = tensorOf({ShapedType::kDynamic, config.patchColumns()}, f32);
  auto stream = tensorOf({ShapedType::kDynamic, config.width}, f32);
  Value patches = attn::PatchesOp::create(builder, top.at(part), cut, images.pixels, config.patch);
  patches = dense(top, patches, part);
  Value positions = attn::ResizePositionsOp::create(builder, top.at("embeddings.position_embeddings"), stream,
                                                    top.weight("embeddings.position_embeddings"), height, width,
                                                    ArrayRef<int64_t>{config.rows(), config.columns()});
  return attn::ImageTokensOp::create(builder, loc, stream, patches, top.weight("embeddings.cls_token"), positions);
}

/// One block: x [tokens, width] to that after it.
Value buildBlock(const Scope &scope, const Config &config, Value x, Value rowBegin) {
  OpBuilder &builder = scope.builder;
  Value normed = layerNorm(scope, x, "layernorm_before", config.epsilon);
  const std::string at = "attention.attention";
  Value attended = selfAttention(scope, normed, {at + ".query", at + ".key", at + ".value"}, at, config.heads,
                                 "attention.output.dense", rowBegin);
  x = arith::AddFOp::create(builder, scope.at("attention.output.dense"), x, attended);
  normed = layerNorm(scope, x, "layernorm_after", config.epsilon);
  Value narrow = feedForward(scope, normed, "intermediate.dense", config.activation, "output.dense");
  return arith::AddFOp::create(builder, scope.at("output.dense"), x, narrow);
}

/// The outputs of the head, from the last layer's.
SmallVector<Value> buildHead(const Scope &top, const Config &config, Value x, const Images &images) {
  OpBuilder &builder = top.builder;
  int64_t any = ShapedType::kDynamic;
  auto type = tensorOf({any, config.width}, builder.getF32Type());
  auto norm = [&](Value value) { return layerNorm(top, value, "layernorm", config.epsilon); };
  auto pool = [&](Value value, attn::PoolingKind kind, int64_t skip) -> Value {
    return attn::PoolRowsOp::create(builder, top.at("pooler"), type, kind, value, images.rowBegin, skip);
  };
  if (config.head == Head::Classification) {
    // The norm of the class token alone; of the patches, the mean is that of their norms.
    Value pooled =
        config.takesMean ? pool(norm(x), attn::PoolingKind::mean, 1) : norm(pool(x, attn::PoolingKind::first, 0));
    return {dense(top, pooled, "classifier")};
  }
  x = norm(x);
  auto rows = tensorOf({any, any, config.width}, builder.getF32Type());
  SmallVector<Value> outputs{attn::UnpackRowsOp::create(builder, top.at("layernorm"), rows, x, images.length)};
  if (config.hasPooler) {
    Value first = dense(top, pool(x, attn::PoolingKind::first, 0), "pooler.dense");
    outputs.push_back(attn::ActivationOp::create(builder, top.at("pooler"), config.poolerActivation, first));
  }
  return outputs;
}

SmallVector<EntryBuffer> listOutputs(Builder builder, const Config &config) {
  int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  if (config.head == Head::Classification)
    return {{"logits", tensorOf({any, config.labels}, f32), {"rows"}}};
  std::string side = "/" + std::to_string(config.patch);
  SmallVector<EntryBuffer> outputs{{"last_hidden_state",
                                    tensorOf({any, any, config.width}, f32),
                                    {"rows", "height" + side + "*width" + side + "+1"}}};
  if (config.hasPooler)
    outputs.push_back({"pooler_output", tensorOf({any, config.poolerWidth}, f32), {"rows"}});
  return outputs;
}

/// The longest side of an image in pixels: 512 patches, or the model's own size, as far as the offsets of the largest
/// batch's tokens are i32.
Expected<int64_t> mostPixels(const Config &config, const ImportOptions &options) {
  auto fits = [&](int64_t side) { return (side * side + 1) * options.maxBatch <= INT32_MAX; };
  int64_t side = 512;
  while (side > 1 && !fits(side))
    --side;
  side = std::max({side, config.rows(), config.columns()});
  if (!fits(side))
    return Error{"a batch of " + std::to_string(options.maxBatch) + " images of " + std::to_string(side) + " x " +
                 std::to_string(side) + " patches has more tokens than 32 bits can count"};
  return std::max({side * config.patch, config.image.height, config.image.width});
}

/// The size of the images that the checkpoint's processor makes; the model's own where it does not say. Faults of
/// the file are reported where it is used.
huggingface::HeightWidth processedSize(const huggingface::ModelDescription &model, const Config &config) {
  auto file = model.files().find("preprocessor_config.json");
  if (file == model.files().end())
    return config.image;
  Expected<json::Value> processor = json::parse(file->second);
  if (!processor)
    return config.image;
  const json::Value *crops = processor->find("do_center_crop");
  const json::Value *size = processor->find(crops && crops->asBool() == true ? "crop_size" : "size");
  auto side = [&](const char *name, int64_t own) {
    const json::Value *number = size && size->isObject() ? size->find(name) : size;
    return number ? number->asInteger().value_or(own) : own;
  };
  return {side("height", config.image.height), side("width", config.image.width)};
}

/// Tells where the processor makes images of another size than the positions are for: Hugging Face's model refuses them
/// unless it is told to interpolate, which this one always does.
void noteImageSize(MLIRContext &context, const std::string &path, const Config &config,
                   huggingface::HeightWidth images) {
  if (images.height != config.image.height || images.width != config.image.width)
    emitWarning(UnknownLoc::get(&context))
        << path << "/preprocessor_config.json: images become " << images.width << " x " << images.height
        << " pixels, but image_size is " << config.image.width << " x " << config.image.height
        << ": the positions are interpolated";
}

} // namespace

Expected<OwningOpRef<ModuleOp>> importing::importVit(MLIRContext &context, huggingface::ModelDescription &model,
                                                     const ImportOptions &options) {
  Config config = readConfig(model);
  if (Status status = model.config().finish(harmlessKeys); !status)
    return status.error();
  if (options.maxSequenceLength)
    return Error{model.config().file() + ": a vit takes images of any size, and has no longest sequence to bound"};
  Expected<int64_t> most = mostPixels(config, options);
  if (!most)
    return Error{model.config().file() + ": " + most.error().message};

  std::string prefix = model.choosePrefix({"vit.", ""}, "embeddings.position_embeddings");
  // A model without head may have been saved without its pooler; one without weights has it.
  bool hasTable = model.tensors().find(prefix + "embeddings.position_embeddings");
  config.hasPooler = config.head == Head::None && (!hasTable || model.tensors().find(prefix + "pooler.dense.weight"));
  ParameterSet parameters = listParameters(config, prefix);
  if (Status status = parameters.resolve(model, {"*embeddings.mask_token"}); !status)
    return status.error();

  const huggingface::HeightWidth processed = processedSize(model, config);
  noteImageSize(context, model.path(), config, processed);
  // Attention probabilities are dense: the output holds all pairs of tokens of the images that there will be, and no
  // more.
  auto longest = [&](int64_t own, int64_t usual) {
    return options.attentionWeights ? std::clamp(usual, own, *most) : *most;
  };

  ModelFacts facts{.family = "vit",
                   .task = config.head == Head::Classification ? "image-classification" : "image-feature-extraction",
                   .layers = config.layers,
                   .hidden = config.width,
                   .heads = config.heads,
                   .kvHeads = config.heads,
                   .headDim = config.headDim(),
                   .labels = config.labels};
  ModelModule module(context, facts, model, parameters);
  module.dim("rows", 1, options.maxBatch);
  module.dim("height", config.patch, longest(config.image.height, processed.height));
  module.dim("width", config.patch, longest(config.image.width, processed.width));
  module.declareParameters();
  OpBuilder &builder = module.builder();
  int64_t any = ShapedType::kDynamic;
  EntryBuffer pixels{.name = "pixel_values",
                     .type = tensorOf({any, config.channels, any, any}, builder.getF32Type()),
                     .dims = {"rows", "height", "width"}};
  func::FuncOp entry = module.beginEntry("forward", {pixels}, listOutputs(builder, config));

  Scope top{builder, parameters};
  Images images{.pixels = entry.getArgument(0), .rowBegin = {}, .length = {}};
  Value state[] = {buildEmbeddings(top, config, images)};
  Value shared[] = {images.rowBegin};
  LayerStack stack{.stack = {config.layers}, .state = state, .shared = shared};
  Expected<SmallVector<Value>> last = buildLayerStack(
      builder, entry, parameters, stack,
      [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) -> SmallVector<Value> {
        return {buildBlock(Scope{inner, parameters, "encoder.layer.{layer}.", &layer}, config, carried[0], others[0])};
      });
  if (!last)
    return last.error();
  module.endEntry(buildHead(top, config, (*last)[0], images));
  return module.take();
}
