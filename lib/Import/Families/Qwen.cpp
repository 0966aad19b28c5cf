//===- Qwen.cpp - The qwen2, qwen2_moe, qwen3 and qwen3_moe families, and text parts of qwen3_vl ----===//
//
// Yang et al. 2024, "Qwen2 Technical Report": the llama family's layers with biases of
// queries, keys and values, and windows of the later layers.
//
// Yang et al. 2024, "Qwen2 Technical Report": the qwen2 family's layers with experts in place
// of the feed-forward, and one expert of all tokens.
//
// Yang et al. 2025, "Qwen3 Technical Report": the llama family's layers, where each head's
// query and key has an RMS norm before its rotation.
//
// Yang et al. 2025, "Qwen3 Technical Report": the qwen3 family's layers with experts in
// place of the feed-forward.
//
// Qwen Team 2025, "Qwen3-VL": decoders of both, without windows, whose texts may have images: positions of time, row
// and column are interleaved in the rotation, and those of a text are equal, so that the decoder alone has one.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/QwenVision.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readQwen2(const DecoderSource &source) {
  DecoderSpec spec =
      readDecoder(source, {.architecture = "Qwen2", .positions = 32768, .vocabulary = 151936, .inner = 22016});
  spec.attention.hasBias = true;
  readRotary(source, spec);
  readWindowByLayer(source, spec);
  return spec;
}

const DecoderFamily importing::qwen2 = {
    .read = readQwen2,
    .harmlessKeys = harmless::keys({harmless::decoder}, {
                                                            "dual_chunk_attention_config", // of another engine
                                                            "max_sequence_length",
                                                            "pretraining_tp",
                                                        })};

static DecoderSpec readQwen2Moe(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen2Moe",
                                          .width = 2048,
                                          .layers = 24,
                                          .heads = 16,
                                          .positions = 32768,
                                          .vocabulary = 151936,
                                          .inner = 5632,
                                          .kvHeads = 16});
  spec.attention.hasBias = config.getBool("qkv_bias", true);
  readRotary(source, spec);
  readWindowByLayer(source, spec);
  ExpertsSpec experts = readExperts(source, spec, {.ofAll = 60, .ofToken = 4, .width = 1408});
  experts.isNormalized = config.getBool("norm_topk_prob", false);
  FeedForwardSpec shared = spec.feedForward;
  shared.inner = config.getSize("shared_expert_intermediate_size", 1, 1 << 20, 5632);
  shared.gate = "mlp.shared_expert.gate_proj";
  shared.up = "mlp.shared_expert.up_proj";
  shared.down = "mlp.shared_expert.down_proj";
  experts.shared = shared;
  experts.sharedGate = "mlp.shared_expert_gate";
  spec.experts = experts;
  readSparseLayers(source, spec);
  return spec;
}

const DecoderFamily importing::qwen2Moe = {.read = readQwen2Moe,
                                           .harmlessKeys = harmless::keys({harmless::decoder, harmless::router})};

/// Attention of qwen3, whose queries and keys have norms.
static void readQwen3Attention(const DecoderSource &source, DecoderSpec &spec, const RotaryKeys &rotary = {}) {
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm};
  readRotary(source, spec, rotary);
}

static DecoderSpec readQwen3(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen3",
                                          .positions = 32768,
                                          .vocabulary = 151936,
                                          .inner = 22016,
                                          .kvHeads = 32,
                                          .headDim = 128});
  readQwen3Attention(source, spec);
  readWindowByLayer(source, spec);
  return spec;
}

const DecoderFamily importing::qwen3 = {.read = readQwen3};

static DecoderSpec readQwen3Moe(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen3Moe",
                                          .width = 2048,
                                          .layers = 24,
                                          .positions = 32768,
                                          .vocabulary = 151936,
                                          .inner = 6144,
                                          .kvHeads = 4});
  readQwen3Attention(source, spec);
  readWindowByLayer(source, spec);
  spec.experts = readExperts(
      source, spec, {.number = {"num_experts", "num_local_experts"}, .ofAll = 128, .ofToken = 8, .width = 768});
  spec.experts->isNormalized = source.config.getBool("norm_topk_prob", false);
  readSparseLayers(source, spec);
  return spec;
}

const DecoderFamily importing::qwen3Moe = {.read = readQwen3Moe,
                                           .harmlessKeys = harmless::keys({harmless::decoder, harmless::router})};

RotaryKeys importing::imageRotary(const DecoderSource &source, const std::array<int64_t, 3> &sections) {
  return {.harmless = {"mrope_interleaved", "mrope_section"},
          .sections = source.readsImages ? std::optional(sections) : std::nullopt};
}

static void readQwen3VLAttention(const DecoderSource &source, DecoderSpec &spec) {
  RotaryKeys rotary = imageRotary(source, {24, 20, 20});
  rotary.defaultTheta = 500000;
  readQwen3Attention(source, spec, rotary);
  refuseWindows(source, spec);
}

static DecoderSpec readQwen3VL(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen3VL",
                                          .positions = 128000,
                                          .vocabulary = 151936,
                                          .inner = 22016,
                                          .kvHeads = 32,
                                          .headDim = 128});
  readQwen3VLAttention(source, spec);
  return spec;
}

const DecoderFamily importing::qwen3VL = {.read = readQwen3VL};

/// Whether stacked experts are [in, out], as in published files, and not [out, in], as classes of version 5 have them
/// in memory. Where one tensor could be of both shapes, the other one tells.
static bool areTransposed(const huggingface::ModelDescription &model, const ExpertsSpec &experts, int64_t width) {
  auto isOf = [](const std::vector<int64_t> &shape, int64_t rows, int64_t columns) {
    return shape.size() == 3 && rows != columns && shape[1] == rows && shape[2] == columns;
  };
  const int64_t inner = experts.each.inner;
  return llvm::none_of(model.tensors().tensors(), [&](const auto &tensor) {
    const llvm::StringRef name = tensor.first;
    return (name.ends_with(".mlp.experts.gate_up_proj") && isOf(tensor.second.shape, 2 * inner, width)) ||
           (name.ends_with(".mlp.experts.down_proj") && isOf(tensor.second.shape, width, inner));
  });
}

static DecoderSpec readQwen3VLMoe(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen3VLMoe",
                                          .width = 2048,
                                          .layers = 24,
                                          .heads = 16,
                                          .positions = 128000,
                                          .vocabulary = 151936,
                                          .inner = 5632,
                                          .kvHeads = 16});
  readQwen3VLAttention(source, spec);
  ExpertsSpec experts = readExperts(
      source, spec, {.number = {"num_experts", "num_local_experts"}, .ofAll = 60, .ofToken = 4, .width = 1408});
  if (experts.stacking == Stacking::Rows && areTransposed(source.model, experts, spec.width))
    experts.stacking = Stacking::Columns;
  // Newer classes do not have the key, and make the weights of a token add up to 1.
  experts.isNormalized = true;
  if (!config.getBool("norm_topk_prob", true))
    config.fail(config.nameOf("norm_topk_prob") + " is false, which versions of transformers read differently");
  spec.experts = experts;
  readSparseLayers(source, spec);
  return spec;
}

const DecoderFamily importing::qwen3VLMoe = {.read = readQwen3VLMoe,
                                             .harmlessKeys = harmless::keys({harmless::decoder, harmless::router})};
