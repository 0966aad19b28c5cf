//===- Mistral.cpp - The mistral, ministral, ministral3, mistral3 and mixtral families -===//
//
// Jiang et al. 2023, "Mistral 7B": the llama family's layers, where each token sees the
// last `sliding_window` ones.
//
// Mistral AI 2024, "Un Ministral, des Ministraux": mistral where layer_types says which
// layers have the window.
//
// Mistral AI 2025, "Ministral 3": the llama family's layers, where scores of queries behind
// the original context grow with the position.
//
// Mistral AI 2025, "Mistral Small 3.1": a decoder of the mistral or the ministral3 family
// behind a pixtral for images, which is not compiled.
//
// Jiang et al. 2024, "Mixtral of Experts": the mistral family's layers with experts in place
// of the feed-forward.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "lib/Import/Specs/TextPart.h"
#include "lib/Import/Specs/VisionLanguage.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readMistral(const DecoderSource &source) {
  DecoderSpec spec =
      readDecoder(source, {.architecture = "Mistral", .positions = 131072, .inner = 14336, .kvHeads = 8});
  readRotary(source, spec);
  readWindowOfAll(source, spec, 4096);
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::mistral = {
    .read = readMistral,
    .harmlessKeys = harmless::keys({harmless::decoder}, {"max_sequence_length", "pretraining_tp"})};

static DecoderSpec readMinistral(const DecoderSource &source) {
  DecoderSpec spec =
      readDecoder(source, {.architecture = "Ministral", .positions = 131072, .inner = 14336, .kvHeads = 8});
  readRotary(source, spec);
  const std::optional<int64_t> window = readWindow(source.config, 4096);
  std::optional<std::vector<bool>> types = readLayerTypes(source.config, spec.layers);
  setWindows(spec, spec.positions, types.value_or(std::vector<bool>(spec.layers, true)), window);
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::ministral = {.read = readMinistral};

static DecoderSpec readMinistral3(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Ministral3",
                                          .layers = 34,
                                          .positions = 262144,
                                          .vocabulary = 131072,
                                          .inner = 14336,
                                          .kvHeads = 8,
                                          .headDim = 128,
                                          .epsilon = 1e-5,
                                          .padding = 11});
  readRotary(source, spec, {.defaultTheta = 1e6});
  readWindowOfAll(source, spec, std::nullopt);
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::ministral3 = {.read = readMinistral3};

static DecoderSpec readWhole(const DecoderSource &source) {
  const TextFamily families[] = {{"mistral", mistral}, {"ministral3", ministral3}};
  return readTextPart(source, families);
}

static const DecoderFamily whole = {
    .read = readWhole,
    // Keys of the whole that only images obey.
    .harmlessKeys = {"ignore_index", "image_seq_length", imageIdKeys[0], imageIdKeys[1], "multimodal_projector_bias",
                     "pad_token_id", "projector_hidden_act", "spatial_merge_size", "vision_config",
                     "vision_feature_layer", "vision_feature_select_strategy", "vocab_size"},
    .ignoredTensors = {"*vision_tower.*", "*multi_modal_projector.*", "*rotary_emb.inv_freq"},
};

ImportedModule importing::importMistralWhole(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                             const ImportOptions &options, std::string_view architecture) {
  const HeadName<bool> heads[] = {{architecture, true}};
  readHead<bool>(model, heads, true);
  return importDecoder(context, model, options, whole);
}

ImportedModule importing::importMistral3(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                         const ImportOptions &options) {
  return importMistralWhole(context, model, options, "Mistral3ForConditionalGeneration");
}

static DecoderSpec readMixtral(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(
      source, {.architecture = "Mixtral", .positions = 131072, .inner = 14336, .kvHeads = 8, .epsilon = 1e-5});
  readRotary(source, spec, {.defaultTheta = 1e6});
  readWindowOfAll(source, spec, std::nullopt);
  ExpertsSpec experts = readExperts(
      source, spec,
      {.number = "num_local_experts", .inner = "intermediate_size", .ofAll = 8, .ofToken = 2, .width = 14336});
  experts.isNormalized = true;
  if (experts.stacking == Stacking::None) {
    experts.router = "block_sparse_moe.gate";
    experts.each.gate = "block_sparse_moe.experts.{expert}.w1";
    experts.each.up = "block_sparse_moe.experts.{expert}.w3";
    experts.each.down = "block_sparse_moe.experts.{expert}.w2";
  }
  spec.experts = experts;
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::mixtral = {
    .read = readMixtral,
    .harmlessKeys = harmless::keys({harmless::decoder, harmless::router}, {
                                                                              "router_jitter_noise", // of training
                                                                          })};
