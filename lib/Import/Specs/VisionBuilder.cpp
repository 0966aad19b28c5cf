//===- VisionBuilder.cpp - The module of an encoder of images -------------------===//
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Module/ModelModule.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/VisionSpec.h"
#include "lib/Import/Specs/VisionTokens.h"
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

/// The names of vit's parts: pre-norm layers whose matmuls have biases.
static void setVitParts(VisionSpec &spec) {
  spec.layer = "encoder.layer.{layer}.";
  spec.attention.parts = {"attention.attention.query", "attention.attention.key", "attention.attention.value"};
  spec.attention.out = "attention.output.dense";
  spec.attention.location = "attention.attention";
  spec.attention.hasOutBias = true;
  spec.feedForward = {
      .isGated = false, .up = "intermediate.dense", .down = "output.dense", .hasBias = true, .hasDownBias = true};
  spec.residual = {.beforeAttention = "layernorm_before", .beforeFeedForward = "layernorm_after"};
}

void importing::readPatches(huggingface::ConfigReader &config, int64_t usualImage, int64_t usualPatch,
                            VisionSpec &spec) {
  spec.image = config.getHeightWidth("image_size", 1, 1 << 15, usualImage);
  const huggingface::HeightWidth patch = config.getHeightWidth("patch_size", 1, 1 << 10, usualPatch);
  spec.patch = patch.height;
  spec.channels = config.getInt("num_channels", 1, 1 << 10, 3);
  if (!config.errors())
    return;
  const int64_t side = std::min(spec.image.height, spec.image.width);
  if (patch.height != patch.width)
    config.fail("patch_size is " + std::to_string(patch.height) + " x " + std::to_string(patch.width) +
                ": only squares are supported");
  else if (spec.patch > side)
    config.fail("patch_size " + std::to_string(spec.patch) + " is larger than image_size " + std::to_string(side));
  if (spec.patchColumns() > 1 << 20)
    config.fail("patches of " + std::to_string(spec.channels) + " x " + std::to_string(spec.patch) + " x " +
                std::to_string(spec.patch) + " pixels (num_channels, patch_size) are larger than " +
                std::to_string(1 << 20));
}

VisionSpec importing::readVision(huggingface::ModelDescription &model, const VisionDefaults &defaults) {
  huggingface::ConfigReader &config = model.config();
  VisionSpec spec;
  setVitParts(spec);
  spec.width = config.getSize("hidden_size", 1, 1 << 16, defaults.width);
  spec.layers = config.getSize("num_hidden_layers", 1, 1 << 17, 12);
  AttentionSpec &attention = spec.attention;
  attention.heads = attention.kvHeads = config.getSize("num_attention_heads", 1, 1 << 12, defaults.heads);
  attention.headDim = std::max<int64_t>(1, spec.width / attention.heads);
  attention.scale = 1 / std::sqrt(double(attention.headDim));
  attention.hasBias = config.getBool("qkv_bias", true);
  if (defaults.inner)
    spec.feedForward.inner = config.getSize("intermediate_size", 1, 1 << 20, defaults.inner);
  readPatches(config, defaults.image, defaults.patch, spec);
  spec.norm = {
      .kind = NormSpec::Layer, .epsilon = config.getPositive("layer_norm_eps", 1, defaults.epsilon), .hasBias = true};
  spec.feedForward.activation = activationNamed(config.getEnum("hidden_act", activationNames(), "gelu"));
  config.requireMultiple("hidden_size", spec.width, "num_attention_heads", attention.heads);

  std::vector<std::string> names = {defaults.architecture + "Model"};
  for (const std::string &name : defaults.classifiers)
    names.push_back(defaults.architecture + name);
  std::vector<HeadName<VisionHead>> heads;
  for (const std::string &name : names)
    heads.push_back({name, heads.empty() ? VisionHead::None : VisionHead::Classification});
  spec.head = readHead<VisionHead>(model, heads, VisionHead::None);
  spec.labels = spec.head == VisionHead::Classification ? readLabelCount(config) : 0;
  return spec;
}

namespace {

void addHead(ParameterSet &parameters, const VisionSpec &spec) {
  if (spec.head != VisionHead::Classification)
    return;
  ParameterScope top{parameters, ""};
  const int64_t columns = spec.pooling == VisionPooling::ClassAndMean ? 2 * spec.width : spec.width;
  top.dense(spec.classifier, spec.labels, columns);
  if (spec.pooling == VisionPooling::Distilled)
    top.dense(spec.distilled, spec.labels, spec.width);
}

ParameterSet listParameters(const VisionSpec &spec, const std::string &prefix) {
  ParameterSet parameters;
  addVisionTokens({parameters, prefix}, spec);
  ParameterScope top{parameters, prefix};
  addNorm(top, spec.finalNorm, spec.norm, spec.width);
  addNorm(top, spec.pooledNorm, spec.norm, spec.width);
  if (spec.head == VisionHead::None && spec.pooler == VisionPooler::Dense)
    top.dense("pooler.dense", spec.poolerWidth, spec.width);
  addHead(parameters, spec);
  return parameters;
}

/// Pools the tokens of each image: [images, width].
Value pool(const Scope &top, const VisionSpec &spec, const Images &images, Value x, attn::PoolingKind kind,
           int64_t skip) {
  return poolRows(top, top.at("pooler"), kind, x, images.rowBegin, skip);
}

/// The norm of the patches' mean, [images, width].
Value meanNorm(const Scope &top, const VisionSpec &spec, Value x, const Images &images) {
  Value mean = pool(top, spec, images, x, attn::PoolingKind::mean, spec.learnedTokens());
  return normalize(top, mean, spec.pooledNorm, spec.norm);
}

/// Logits of each image, from the last layer's tokens.
Value classify(const Scope &top, const VisionSpec &spec, Value x, const Images &images) {
  OpBuilder &builder = top.builder;
  auto norm = [&](Value value) { return normalize(top, value, spec.finalNorm, spec.norm); };
  // The norm of a token alone; of the patches, the mean is that of their norms.
  auto token = [&](int64_t number) { return norm(pool(top, spec, images, x, attn::PoolingKind::first, number)); };
  auto mean = [&] { return pool(top, spec, images, norm(x), attn::PoolingKind::mean, spec.learnedTokens()); };
  switch (spec.pooling) {
  case VisionPooling::ClassToken:
    return dense(top, token(0), spec.classifier);
  case VisionPooling::PatchMean:
    return dense(top, mean(), spec.classifier);
  case VisionPooling::ClassAndMean: {
    Value first = token(0);
    return dense(top, attn::ConcatOp::create(builder, top.at(spec.classifier), ValueRange{first, mean()}),
                 spec.classifier);
  }
  case VisionPooling::MeanNorm:
    return dense(top, meanNorm(top, spec, x, images), spec.classifier);
  case VisionPooling::Distilled: {
    auto half = [&](Value of, const std::string &classifier) {
      Value logits = dense(top, of, classifier);
      mapResult(top, logits, [&](const Scope &inner, Location loc, Value logit) -> Value {
        return arith::MulFOp::create(inner.builder, loc, logit, constant(inner, loc, 0.5));
      });
      return logits;
    };
    Value first = half(token(0), spec.classifier), second = half(token(1), spec.distilled);
    return arith::AddFOp::create(builder, top.at(spec.classifier), first, second);
  }
  }
  llvm_unreachable("every pooling is handled");
}

/// The outputs of the head, from the last layer's tokens.
SmallVector<Value> buildHead(const Scope &top, const VisionSpec &spec, Value x, const Images &images) {
  OpBuilder &builder = top.builder;
  int64_t any = ShapedType::kDynamic;
  if (spec.head == VisionHead::Classification)
    return {classify(top, spec, x, images)};
  if (!spec.finalNorm.empty())
    x = normalize(top, x, spec.finalNorm, spec.norm);
  auto rows = tensorOf({any, any, spec.width}, builder.getF32Type());
  SmallVector<Value> outputs{attn::UnpackRowsOp::create(builder, top.at("last_hidden_state"), rows, x, images.length)};
  if (spec.pooler == VisionPooler::None)
    return outputs;
  if (spec.pooler == VisionPooler::MeanNorm) {
    outputs.push_back(meanNorm(top, spec, x, images));
    return outputs;
  }
  Value first = pool(top, spec, images, x, attn::PoolingKind::first, 0);
  if (spec.pooler == VisionPooler::Dense)
    first =
        attn::ActivationOp::create(builder, top.at("pooler"), spec.poolerActivation, dense(top, first, "pooler.dense"));
  outputs.push_back(first);
  return outputs;
}

SmallVector<EntryBuffer> listOutputs(Builder builder, const VisionSpec &spec) {
  int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  if (spec.head == VisionHead::Classification)
    return {{"logits", tensorOf({any, spec.labels}, f32), {"rows"}}};
  const std::string side = "/" + std::to_string(spec.patch);
  SmallVector<EntryBuffer> outputs{
      {"last_hidden_state",
       tensorOf({any, any, spec.width}, f32),
       {"rows", "height" + side + "*width" + side + "+" + std::to_string(spec.learnedTokens())}}};
  if (spec.pooler != VisionPooler::None) {
    const int64_t width = spec.pooler == VisionPooler::Dense ? spec.poolerWidth : spec.width;
    outputs.push_back({"pooler_output", tensorOf({any, width}, f32), {"rows"}});
  }
  return outputs;
}

/// The body of the entry.
Status buildModel(ModelModule &module, func::FuncOp entry, Images images, const VisionSpec &spec,
                  const ParameterSet &parameters) {
  Scope top{module.builder(), parameters};
  RAPT_ASSIGN_OR_RETURN(Value tokens, buildVisionTokens(top, entry, spec, images));
  module.endEntry(buildHead(top, spec, tokens, images));
  return {};
}

} // namespace

ImportedModule importing::importVision(MLIRContext &context, huggingface::ModelDescription &model,
                                       const ImportOptions &options, VisionSpec spec) {
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  if (options.maxSequenceLength)
    return sequenceBoundError(model);
  RAPT_ASSIGN_OR_RETURN(huggingface::HeightWidth most, largestImage(context, model, spec, options));

  const std::string prefix = model.choosePrefix({spec.prefix, ""}, spec.kernel + ".weight");
  // A model without head may have been saved without its pooler; one without weights has it.
  const bool hasTable = model.tensors().find(prefix + spec.kernel + ".weight");
  if (spec.pooler == VisionPooler::Dense && hasTable && !model.tensors().find(prefix + "pooler.dense.weight"))
    spec.pooler = VisionPooler::None;
  ParameterSet parameters = listParameters(spec, prefix);
  RAPT_RETURN_IF_ERROR(parameters.resolve(model, spec.ignoredTensors));
  RAPT_RETURN_IF_ERROR(parameters.addAdapters(model));

  ModelFacts facts{.family = model.modelType(),
                   .task = imageTask(spec.head),
                   .layers = spec.layers,
                   .hidden = spec.width,
                   .heads = spec.attention.heads,
                   .kvHeads = spec.attention.heads,
                   .headDim = spec.attention.headDim,
                   .labels = spec.labels,
                   .adapters = adapterNames(model)};
  return makeImageModule(context, facts, model, parameters, options,
                         {.channels = spec.channels,
                          .least = spec.gridBias ? most : huggingface::HeightWidth{spec.patch, spec.patch},
                          .most = most,
                          .outputs = listOutputs(Builder(&context), spec),
                          .build = [&](ModelModule &module, func::FuncOp entry, const Images &images) {
                            return buildModel(module, entry, images, spec, parameters);
                          }});
}
