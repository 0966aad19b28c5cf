//===- QwenVision.cpp - The qwen3_vl and qwen3_5 families, whose texts may have images ---------===//
//
// Qwen Team 2025, "Qwen3-VL": images of any size, whose sides are whole numbers of squares of patches. Layers are those
// of vit, rotated by row and column, behind learned positions that are resized; each square becomes one vector.
// Rules that were read in modular_qwen3_vl.py (at 0117d5f7), modular_qwen3_5.py and vision_utils.py of transformers:
//
// - A patch spans two frames of a video; an image is both.
// - Learned positions are resized so that the corners coincide, bilinearly.
// - Frequencies of rotation are those of a half of a head, in patches, of rows and then of columns.
// - The norm ahead of the projector is of patches, before they are merged, and its epsilon is fixed. Projectors of
//   earlier layers (DeepStack, Meng et al. 2024) have it behind the merge, of a whole square. What they give is added
//   behind the decoder's first layers, in the order of the encoder's layers.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/QwenVision.h"
#include "lib/Formats/HuggingFace/SentenceModules.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/PatchGrid.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "lib/Import/Specs/TextPart.h"
#include "lib/Import/Specs/VisionLanguage.h"
#include "lib/Support/Json.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

namespace {

const TextFamily textsOfVL[] = {{"qwen3_vl_text", qwen3VL}}, textsOfVLMoe[] = {{"qwen3_vl_moe_text", qwen3VLMoe}},
                 textsOf35[] = {{"qwen3_5_text", qwen35}, {"qwen3_5_moe_text", qwen35Moe}};

/// A model of the encoder and a decoder, and what its classes take where the file has no key.
struct QwenWhole {
  std::string_view modelType, architecture;
  std::span<const TextFamily> texts;
  int64_t imageId, vectorWidth;
  std::span<const int64_t> deepLayers;
};
constexpr int64_t deepLayersOfVL[] = {8, 16, 24};
const QwenWhole wholes[] = {
    {"qwen3_vl", "Qwen3VLForConditionalGeneration", textsOfVL, 151655, 3584, deepLayersOfVL},
    {"qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration", textsOfVLMoe, 151655, 3584, deepLayersOfVL},
    {"qwen3_5", "Qwen3_5ForConditionalGeneration", textsOf35, 248056, 3584, {}},
    {"qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", textsOf35, 248056, 3584, {}}};

const QwenWhole &wholeOf(const huggingface::ModelDescription &model) {
  return *llvm::find_if(wholes, [&](const QwenWhole &whole) { return whole.modelType == model.modelType(); });
}

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
  double theta = 10000;
  if (std::optional<ConfigReader> rotary = config.open("rope_parameters")) {
    rotary->getEnum("rope_type", {"default", "axial"}, "axial");
    theta = rotary->getPositive("rope_theta", 1e12, theta);
    config.close(std::move(*rotary));
  }
  attention.rotary.push_back(patchRotary(theta, attention.headDim / 4 * 4));
  requireFinite(config, attention.rotary[0].values, config.nameOf("rope_theta"));
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

/// The layers of deepstack_visual_indexes, ascending; those of the class without the key.
std::vector<int64_t> readDeepLayers(ConfigReader &config, int64_t layers, std::span<const int64_t> fallback) {
  constexpr const char *key = "deepstack_visual_indexes";
  const json::Value *value = config.getRaw(key);
  if (!value)
    return {fallback.begin(), fallback.end()};
  std::vector<int64_t> numbers;
  for (const json::Value &each : value->asArray() ? *value->asArray() : json::Array{json::Value()}) {
    const int64_t number = each.asInteger().value_or(-1), least = numbers.empty() ? 0 : numbers.back() + 1;
    if (number < least || number >= layers) {
      config.fail(config.nameOf(key) + " is " + json::printable(json::write(*value), 60) +
                  ", must be numbers of layers from 0 to " + std::to_string(layers - 1) + ", ascending");
      return {};
    }
    numbers.push_back(number);
  }
  return numbers;
}

/// The projectors of earlier layers, whose vectors the decoder's first layers read.
void readDeepStack(ConfigReader &config, const QwenWhole &whole, VisionLanguageSpec &spec) {
  spec.image.readLayers = readDeepLayers(config, spec.image.layers, whole.deepLayers);
  spec.text.imageLayers = int64_t(spec.image.readLayers.size());
  if (spec.text.layers && spec.text.imageLayers > spec.text.layers)
    config.fail(config.nameOf("deepstack_visual_indexes") + " has " + std::to_string(spec.text.imageLayers) +
                " layers, but text_config has " + std::to_string(spec.text.layers) + " to read them");
  for (int64_t nth = 0; nth < spec.text.imageLayers; ++nth) {
    ProjectorSpec &p = spec.deep.emplace_back(spec.projector);
    p.prefix = spec.image.prefix + "deepstack_merger_list." + std::to_string(nth) + ".";
    p.isNormOfSquares = true;
  }
}

void readImages(huggingface::ModelDescription &model, const QwenWhole &whole, VisionLanguageSpec &spec) {
  std::optional<ConfigReader> config = model.config().open("vision_config");
  if (!config)
    return;
  // Of a published file, and as the classes name themselves.
  config->getEnum("model_type",
                  {"qwen3_vl", "qwen3_vl_vision", "qwen3_vl_moe", "qwen3_vl_moe_vision", "qwen3_5", "qwen3_5_vision",
                   "qwen3_5_moe", "qwen3_5_moe_vision"},
                  "qwen3_vl");
  VisionSpec &image = spec.image;
  readLayers(*config, image);
  readTokens(*config, image);
  image.prefix = model.choosePrefix({"model.visual.", "visual."}, image.kernel + ".weight");
  ProjectorSpec &p = spec.projector;
  p = {.prefix = image.prefix + "merger.",
       .first = "linear_fc1",
       .second = "linear_fc2",
       .before = "norm",
       .norm = image.norm};
  p.side = config->getSize("spatial_merge_size", 1, 16, 2);
  p.inner = p.side * p.side * image.width;
  const int64_t width = config->getSize("out_hidden_size", 1, 1 << 16, whole.vectorWidth);
  if (model.config().errors() && width != spec.text.width)
    config->fail(config->nameOf("out_hidden_size") + " " + std::to_string(width) + " differs from hidden_size " +
                 std::to_string(spec.text.width) + " of text_config");
  readDeepStack(*config, whole, spec);
  spec.squares = {.sideKey = "merge_size", .side = 2, .patch = 14, .frames = 2};
  model.config().close(std::move(*config), {"architectures", "dtype", "initializer_range", "torch_dtype"});
}

/// Whether the class gives no words but classes of texts, or of their tokens.
bool classifies(const huggingface::ModelDescription &model) {
  return llvm::any_of(model.architectures(), [](llvm::StringRef name) {
    return name.ends_with("ForSequenceClassification") || name.ends_with("ForTokenClassification");
  });
}

/// The text part of a directory whose images were left out, or of a model that takes texts alone.
DecoderSpec readTextAlone(const DecoderSource &source) {
  constexpr std::string_view headClass = "ForConditionalGeneration";
  const QwenWhole &whole = wholeOf(source.model);
  DecoderSpec spec = readTextPart(source, whole.texts, /*isAlone=*/true);
  if (classifies(source.model)) {
    const std::string_view own = whole.architecture.substr(0, whole.architecture.size() - headClass.size());
    readWholeHead(source, {.architecture = std::string(own), .headClass = std::string(headClass)}, spec);
  }
  return spec;
}

} // namespace

ImportedModule importing::importQwenWhole(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                          const ImportOptions &options) {
  ConfigReader &config = model.config();
  // Marks around images, which a prompt has, and those of videos, which the model reads and this program does not.
  const std::vector<std::string_view> marks = {"video_token_id", "vision_end_token_id", "vision_start_token_id"};
  const json::Value *images = config.peek("vision_config");
  RAPT_ASSIGN_OR_RETURN(bool pools, huggingface::poolsTexts(model.moduleFiles()));
  if (!images || images->isNull() || pools || classifies(model)) {
    DecoderFamily alone{.read = readTextAlone, .harmlessKeys = marks, .ignoredTensors = {"*visual.*", "*mtp.*"}};
    alone.harmlessKeys.insert(alone.harmlessKeys.end(), {imageIdKeys[1], "vision_config"});
    return importDecoder(context, model, options, alone);
  }
  const QwenWhole &whole = wholeOf(model);
  const HeadName<bool> heads[] = {{whole.architecture, true}};
  readHead<bool>(model, heads, true);
  VisionLanguageSpec spec;
  spec.text = readTextPart({model, config, options}, whole.texts, /*isAlone=*/false);
  readImages(model, whole, spec);
  spec.imageId = readMediaId(config, imageIdKeys[1], whole.imageId, spec.text);
  spec.videoId = readVideoId(model, whole.imageId + 1, spec.text.vocabulary);
  spec.skipped = 0;
  spec.harmlessKeys = marks;
  spec.ignoredTensors = {"*mtp.*"};
  return importVisionLanguage(context, model, options, spec);
}
