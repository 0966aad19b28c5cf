//===- VisionBuilder.cpp - The module of an encoder of images -------------------===//
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Specs/VisionTokens.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <algorithm>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

/// The names of vit's parts: pre-norm layers whose matmuls have biases.
static void setVitParts(VisionSpec &spec) {
  spec.prefix = "vit.";
  spec.kernel = "embeddings.patch_embeddings.projection";
  spec.layer = "encoder.layer.{layer}.";
  spec.attention.parts = {"attention.attention.query", "attention.attention.key", "attention.attention.value"};
  spec.attention.out = "attention.output.dense";
  spec.attention.location = "attention.attention";
  spec.attention.hasOutBias = true;
  spec.feedForward = {
      .isGated = false, .up = "intermediate.dense", .down = "output.dense", .hasBias = true, .hasDownBias = true};
  spec.residual = {.beforeAttention = "layernorm_before", .beforeFeedForward = "layernorm_after"};
}

void importing::readPatches(huggingface::ConfigReader &config, int64_t defaultImage, int64_t defaultPatch,
                            ImageSpec &spec) {
  spec.image = config.getHeightWidth("image_size", 1, 1 << 15, defaultImage);
  const huggingface::HeightWidth patch = config.getHeightWidth("patch_size", 1, 1 << 10, defaultPatch);
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
  if (spec.channels * spec.patch * spec.patch > 1 << 20)
    config.fail("patches of " + std::to_string(spec.channels) + " x " + std::to_string(spec.patch) + " x " +
                std::to_string(spec.patch) + " pixels (num_channels, patch_size) are larger than " +
                std::to_string(1 << 20));
}

void importing::readImageHead(huggingface::ModelDescription &model, const std::string &architecture, ImageSpec &spec,
                              const std::vector<std::string> &classifiers) {
  std::vector<std::string> names = {architecture + "Model"};
  for (const std::string &name : classifiers)
    names.push_back(architecture + name);
  std::vector<HeadName<VisionHead>> heads;
  for (const std::string &name : names)
    heads.push_back({name, heads.empty() ? VisionHead::None : VisionHead::Classification});
  spec.head = readHead<VisionHead>(model, heads, VisionHead::None);
  spec.labels = spec.head == VisionHead::Classification ? readLabelCount(model.config()) : 0;
}

VisionSpec importing::readVision(huggingface::ModelDescription &model, const VisionDefaults &defaults) {
  huggingface::ConfigReader &config = model.config();
  VisionSpec spec;
  setVitParts(spec);
  spec.width = config.getSize("hidden_size", 1, 1 << 16, defaults.width);
  spec.layers = config.getSize("num_hidden_layers", 1, 1 << 17, 12);
  readHeads(config, "hidden_size", "num_attention_heads", defaults.heads, spec);
  spec.attention.hasBias = config.getBool("qkv_bias", true);
  if (defaults.inner)
    spec.feedForward.inner = config.getSize("intermediate_size", 1, 1 << 20, defaults.inner);
  readPatches(config, defaults.image, defaults.patch, spec);
  spec.norm = {
      .kind = NormSpec::Layer, .epsilon = config.getPositive("layer_norm_eps", 1, defaults.epsilon), .hasBias = true};
  spec.feedForward.activation = activationNamed(config.getEnum("hidden_act", activationNames(), "gelu"));
  readImageHead(model, defaults.architecture, spec, defaults.classifiers);
  return spec;
}

namespace {

/// Walks what is behind the layers.
class HeadWalk {
public:
  HeadWalk(const Walk &walk, const VisionSpec &spec, const Images &images) : walk(walk), spec(spec), images(images) {}

  /// The outputs, from the last layer's tokens.
  SmallVector<Value> outputs(Value x) {
    if (spec.head == VisionHead::Classification)
      return {logits(x)};
    x = norm(x);
    SmallVector<Value> outputs{walk.emit([&](const Scope &top) {
      auto rows = tensorOf({ShapedType::kDynamic, ShapedType::kDynamic, spec.width}, top.builder.getF32Type());
      return attn::UnpackRowsOp::create(top.builder, top.at("last_hidden_state"), rows, x, images.length);
    })};
    if (spec.pooler != VisionPooler::None)
      outputs.push_back(pooled(x));
    return outputs;
  }

private:
  Value norm(Value x) { return walk.norm(x, spec.finalNorm, spec.norm, spec.width); }

  /// Pools the tokens of each image: [images, width].
  Value pool(Value x, attn::PoolingKind kind, int64_t skip) {
    return walk.emit([&](const Scope &top) { return poolRows(top, top.at("pooler"), kind, x, images.rowBegin, skip); });
  }
  Value first(Value x, int64_t token) { return pool(x, attn::PoolingKind::first, token); }
  Value mean(Value x) { return pool(x, attn::PoolingKind::mean, spec.learnedTokens()); }
  Value meanNorm(Value x) { return walk.norm(mean(x), spec.pooledNorm, spec.norm, spec.width); }

  Value pooled(Value x) {
    if (spec.pooler == VisionPooler::MeanNorm)
      return meanNorm(x);
    Value token = first(x, 0);
    if (spec.pooler == VisionPooler::ClassToken)
      return token;
    token = walk.matmul(token, {.part = "pooler.dense", .out = spec.poolerWidth, .in = spec.width, .hasBias = true});
    return walk.activate(token, "pooler", spec.poolerActivation);
  }

  /// Half of the logits of a token.
  Value halfOf(Value x, int64_t token, const std::string &part) {
    Value logits = walkClassifier(walk, spec, norm(first(x, token)), spec.width, part);
    walk.emit([&](const Scope &top) {
      mapResult(top, logits, [&](const Scope &inner, Location loc, Value logit) -> Value {
        return arith::MulFOp::create(inner.builder, loc, logit, constant(inner, loc, 0.5));
      });
    });
    return logits;
  }

  /// Logits of each image. The norm is that of a token alone; of the patches, the mean is that of their norms.
  Value logits(Value x) {
    switch (spec.pooling) {
    case VisionPooling::ClassToken:
      return walkClassifier(walk, spec, norm(first(x, 0)), spec.width, spec.classifier);
    case VisionPooling::PatchMean:
      return walkClassifier(walk, spec, mean(norm(x)), spec.width, spec.classifier);
    case VisionPooling::ClassAndMean: {
      Value token = norm(first(x, 0)), patches = mean(norm(x));
      Value both = walk.emit([&](const Scope &top) {
        return attn::ConcatOp::create(top.builder, top.at(spec.classifier), ValueRange{token, patches});
      });
      return walkClassifier(walk, spec, both, 2 * spec.width, spec.classifier);
    }
    case VisionPooling::MeanNorm:
      return walkClassifier(walk, spec, meanNorm(x), spec.width, spec.classifier);
    case VisionPooling::Distilled: {
      Value ofClass = halfOf(x, 0, spec.classifier), distilled = halfOf(x, 1, spec.distilled);
      return walk.add(ofClass, distilled, spec.classifier);
    }
    }
    llvm_unreachable("every pooling is handled");
  }

  const Walk &walk;
  const VisionSpec &spec;
  const Images &images;
};

Expected<SmallVector<Value>> walkModel(const Walk &walk, const VisionSpec &spec, Images &images) {
  RAPT_ASSIGN_OR_RETURN(Value tokens, walkVisionTokens(walk, spec, images));
  return HeadWalk(walk, spec, images).outputs(tokens);
}

/// The outputs of a model without head.
SmallVector<EntryBuffer> listOutputs(Builder builder, const VisionSpec &spec) {
  int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
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

} // namespace

ImportedModule importing::importVision(MLIRContext &context, huggingface::ModelDescription &model,
                                       const ImportOptions &options, VisionSpec spec) {
  RAPT_RETURN_IF_ERROR(finishConfig(model, options, spec));
  RAPT_ASSIGN_OR_RETURN(huggingface::HeightWidth most, largestImage(context, model, spec, options));
  const std::string kernel = spec.kernel + ".weight", prefix = model.choosePrefix({spec.prefix, ""}, kernel);
  // A model without head may have been saved without its pooler; one without weights has it.
  if (spec.pooler == VisionPooler::Dense && model.tensors().find(prefix + kernel) &&
      !model.tensors().find(prefix + "pooler.dense.weight"))
    spec.pooler = VisionPooler::None;
  return importImages(context, model, options, spec,
                      {.facts = factsOf(model, spec),
                       .least = spec.gridBias ? most : huggingface::HeightWidth{spec.patch, spec.patch},
                       .most = most,
                       .outputs = listOutputs(Builder(&context), spec),
                       .walk = [&](const Walk &walk, Images &images) { return walkModel(walk, spec, images); }});
}
