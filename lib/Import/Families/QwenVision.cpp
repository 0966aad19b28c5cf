//===- QwenVision.cpp - The encoder of images of qwen3_vl and qwen3_5 ---------===//
//
// Qwen Team 2025, "Qwen3-VL": images of any size, whose sides are whole numbers of squares of patches. Layers are those
// of vit, rotated by row and column, behind learned positions that are resized; each square becomes one vector.
// Rules that were read in modeling_qwen3_vl.py, modular_qwen3_5.py and vision_utils.py of transformers (2026):
//
// - A patch spans two frames of a video; an image is both.
// - Learned positions are resized so that the corners coincide, bilinearly.
// - Frequencies of rotation are those of a half of a head, in patches, of rows and then of columns.
// - The norm ahead of the projector is of patches, before they are merged, and its epsilon is fixed.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/QwenVision.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/PatchGrid.h"
#include "lib/Support/Json.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

namespace {

void readLayers(ConfigReader &config, VisionSpec &spec) {
  spec.width = config.getSize("hidden_size", 1, 1 << 16, 1152);
  spec.layers = config.getSize("depth", 1, 1 << 17, 27);
  spec.layer = "blocks.{layer}.";
  spec.stack = "visual";
  spec.norm = {.kind = NormSpec::Layer, .epsilon = 1e-6, .hasBias = true};
  readHeads(config, "hidden_size", "num_heads", 16, spec);
  AttentionSpec &attention = spec.attention;
  attention.packing = Packing::Rows;
  attention.packed = "attn.qkv";
  attention.out = "attn.proj";
  attention.location = "attn";
  attention.hasBias = attention.hasOutBias = true;
  if (attention.headDim % 4 != 0)
    config.fail(config.nameOf("num_heads") + " " + std::to_string(attention.heads) + " gives heads of " +
                std::to_string(attention.headDim) +
                " channels, must be a multiple of 4: rows rotate as many pairs as columns");
  attention.rotary.push_back(patchRotary(10000, attention.headDim / 4 * 4));
  spec.feedForward = {.inner = config.getSize("intermediate_size", 1, 1 << 20, 4304),
                      .activation =
                          activationNamed(config.getEnum("hidden_act", activationNames(), "gelu_pytorch_tanh")),
                      .isGated = false,
                      .up = "mlp.linear_fc1",
                      .down = "mlp.linear_fc2",
                      .hasBias = true,
                      .hasDownBias = true};
  spec.residual = {.beforeAttention = "norm1", .beforeFeedForward = "norm2"};
}

void readTokens(ConfigReader &config, VisionSpec &spec) {
  spec.kernel = "patch_embed.proj";
  spec.patch = config.getSize("patch_size", 1, 256, 16);
  spec.channels = config.getSize("in_channels", 1, 16, 3);
  spec.frames = config.getSize("temporal_patch_size", 1, 16, 2);
  spec.learned.clear();
  spec.finalNorm.clear();
  spec.positions = "pos_embed";
  spec.arePlain = spec.arePositionsBilinear = true;
  const int64_t positions = config.getSize("num_position_embeddings", 1, 1 << 20, 2304);
  const auto side = int64_t(std::lround(std::sqrt(double(positions))));
  if (side * side != positions)
    config.fail(config.nameOf("num_position_embeddings") + " " + std::to_string(positions) +
                " is no square of a whole number");
  spec.image = {side * spec.patch, side * spec.patch};
}

void readImages(huggingface::ModelDescription &model, const QwenVisionFamily &family, VisionLanguageSpec &spec) {
  std::optional<ConfigReader> config = model.config().open("vision_config");
  if (!config)
    return;
  // Of a published file, and as the classes name themselves.
  config->getEnum("model_type",
                  {"qwen3_vl", "qwen3_vl_vision", "qwen3_5", "qwen3_5_vision", "qwen3_5_moe", "qwen3_5_moe_vision"},
                  "qwen3_vl");
  VisionSpec &image = spec.image;
  readLayers(*config, image);
  readTokens(*config, image);
  ProjectorSpec &p = spec.projector;
  p = {.first = "linear_fc1", .second = "linear_fc2", .before = "norm", .norm = image.norm};
  p.side = config->getSize("spatial_merge_size", 1, 16, 2);
  p.inner = p.side * p.side * image.width;
  const int64_t width = config->getSize("out_hidden_size", 1, 1 << 16, family.width);
  if (model.config().errors() && width != spec.text.width)
    config->fail(config->nameOf("out_hidden_size") + " " + std::to_string(width) + " differs from hidden_size " +
                 std::to_string(spec.text.width) + " of text_config");
  if (const json::Value *deep = config->getRaw("deepstack_visual_indexes");
      deep && !(deep->asArray() && deep->asArray()->empty()))
    config->fail(config->nameOf("deepstack_visual_indexes") + " is " + json::printable(json::write(*deep), 60) +
                 ": vectors for several layers of the decoder are not supported");
  model.config().close(std::move(*config), {"architectures", "dtype", "initializer_range", "torch_dtype"});
  image.prefix = model.choosePrefix({"model.visual.", "visual."}, image.kernel + ".weight");
  p.prefix = image.prefix + "merger.";
}

/// Fails where the checkpoint's processor cuts images into other squares. Faults of the file are reported where it is
/// used.
Status checkProcessor(const huggingface::ModelDescription &model, const VisionLanguageSpec &spec) {
  const auto file = model.files().find("preprocessor_config.json");
  if (file == model.files().end())
    return {};
  Expected<json::Value> processor = json::parse(file->second);
  if (!processor || !processor->isObject())
    return {};
  auto number = [&](const char *key, int64_t own) {
    const json::Value *value = processor->find(key);
    return value ? value->asInteger().value_or(own) : own;
  };
  const int64_t patch = number("patch_size", 14), side = number("merge_size", 2);
  if (patch == spec.image.patch && side == spec.projector.side)
    return {};
  return Error{shownPath(model.path() + "/preprocessor_config.json") + ": squares are " + std::to_string(side) +
               " patches of " + std::to_string(patch) +
               " pixels wide (merge_size, patch_size), but those of the model " + std::to_string(spec.projector.side) +
               " of " + std::to_string(spec.image.patch)};
}

} // namespace

ImportedModule importing::importQwenVision(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                           const ImportOptions &options, const QwenVisionFamily &family) {
  const HeadName<bool> heads[] = {{family.architecture, true}};
  readHead<bool>(model, heads, true);
  ConfigReader &config = model.config();
  VisionLanguageSpec spec;
  spec.text = readTextPart({model, config, options}, family.texts, /*isAlone=*/false);
  readImages(model, family, spec);
  spec.imageId = config.getInt(imageIdKeys[1], 0, INT32_MAX, family.imageId);
  if (config.errors() && spec.imageId >= spec.text.vocabulary)
    config.fail(std::string(imageIdKeys[1]) + " " + std::to_string(spec.imageId) + " is not below vocab_size " +
                std::to_string(spec.text.vocabulary));
  if (config.errors())
    RAPT_RETURN_IF_ERROR(checkProcessor(model, spec));
  spec.skipped = 0;
  // Marks around images, which a prompt has, and those of videos, which the model reads and this program does not.
  spec.harmlessKeys = {"video_token_id", "vision_end_token_id", "vision_start_token_id"};
  spec.ignoredTensors = {"*mtp.*"};
  return importVisionLanguage(context, model, options, spec);
}
