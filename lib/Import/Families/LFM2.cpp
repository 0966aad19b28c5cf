//===- LFM2.cpp - The lfm2 and lfm2_moe families --------------------------===//
//
// Liquid AI 2025, "LFM2 Technical Report": layers of short convolutions between two gates, and a
// few of attention.
//
// The same with experts in place of the feed-forward but in the first layers.
//
// Models of vectors and of masked words (LFM2.5-Embedding, LFM2.5-Encoder) whose tokens see both sides, and whose
// convolutions have as many zeros ahead of a text as behind it: classes of Liquid AI's own code beside such files, and
// those of lfm2_bidirectional in transformers (modular_lfm2_bidirectional.py at d25b7800). A text has the same result
// alone as in a batch, as with its conv_zero_padding.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "llvm/Support/MathExtras.h"

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

/// The older name of a key where the file has it: the configuration class prefers it to the newer one, which is then
/// read by nothing.
static const char *olderOf(ConfigReader &config, const char *older, const char *newer) {
  if (!config.names(older))
    return newer;
  config.getRaw(newer);
  return older;
}

/// What both families have.
static DecoderSpec readLayers(const DecoderSource &source, const DecoderDefaults &defaults) {
  ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, defaults);
  spec.attention.out = "self_attn.out_proj";
  spec.attention.norm =
      QueryKeyNormSpec{.norm = spec.norm, .query = "self_attn.q_layernorm", .key = "self_attn.k_layernorm"};
  const bool hasBias = config.getBool("conv_bias", false);
  spec.convolution = {.in = "conv.in_proj", .out = "conv.out_proj", .hasBias = hasBias};
  spec.convolution->convolution.part = "conv.conv";
  spec.convolution->convolution.taps = config.getSize("conv_L_cache", 2, 64, 3);
  spec.convolution->convolution.hasBias = hasBias;
  std::vector<bool> attends = readKinds(config, "layer_types", spec.layers, {{{"conv"}, {"full_attention"}}});
  const bool isListed = config.getRaw("full_attn_idxs");
  if (const std::vector<bool> listed = readLayerNumbers(config, "full_attn_idxs", spec.layers); attends.empty())
    attends = isListed ? listed : std::vector<bool>(size_t(spec.layers), true);
  setMixers(spec, Mixer::GatedConvolution, attends);
  spec.feedForward.gate = "feed_forward.w1";
  spec.feedForward.up = "feed_forward.w3";
  spec.feedForward.down = "feed_forward.w2";
  spec.residual.beforeAttention = "operator_norm";
  spec.residual.beforeFeedForward = "ffn_norm";
  spec.finalNorm = "embedding_norm"; // behind the last layer, whatever its name says
  readRotary(source, spec, {.theta = olderOf(config, "theta", "rope_theta"), .defaultTheta = 1e6});
  return spec;
}

static DecoderKeys keysOf(huggingface::Keys inner) {
  return {.inner = std::move(inner), .activation = "", .epsilon = "norm_eps", .headDim = ""};
}

static constexpr llvm::StringLiteral bothSides = "Lfm2Bidirectional", ofMasked = "ForMaskedLM";

static bool isBidirectional(const huggingface::ModelDescription &model) {
  return model.modelType() == "lfm2_bidirectional" || llvm::any_of(model.architectures(), [](llvm::StringRef name) {
           return name.starts_with_insensitive(bothSides);
         });
}

/// What such classes have, none of which is a language model.
static void setBidirectional(const huggingface::ModelDescription &model, DecoderSpec &spec) {
  const bool isMasked = llvm::any_of(
      model.architectures(), [](const std::string &name) { return isClass(name, (bothSides + ofMasked).str()); });
  if (!spec.wholeHead)
    spec.wholeHead = isMasked ? EncoderHead::MaskedLM : EncoderHead::None;
  spec.isBidirectional = true;
  spec.convolution->convolution.isCentered = true;
  spec.prefixOfTexts = "lfm2.";
}

static DecoderSpec readLFM2(const DecoderSource &source) {
  ConfigReader &config = source.config;
  const bool isAround = isBidirectional(source.model);
  DecoderSpec spec = readLayers(source, {.architecture = isAround ? bothSides.str() : "Lfm2",
                                         .headClass = isAround ? ofMasked.str() : "ForCausalLM",
                                         .keys = keysOf(olderOf(config, "block_ff_dim", "intermediate_size")),
                                         .width = 2560,
                                         .positions = 128000,
                                         .vocabulary = 65536,
                                         .inner = 12288,
                                         .kvHeads = 8,
                                         .epsilon = 1e-5,
                                         .isTied = true,
                                         .padding = isAround ? std::optional<int64_t>(0) : std::nullopt});
  if (isAround)
    setBidirectional(source.model, spec);
  spec.head.isTied = config.getBool(olderOf(config, "tie_embedding", "tie_word_embeddings"), spec.head.isTied);
  // The tensors are not as wide as the config says.
  const int64_t unit = config.getInt("block_multiple_of", 1, 1 << 16, 256);
  const bool isScaled = config.getRaw("block_ffn_dim_multiplier") || !config.names("block_ffn_dim_multiplier");
  const double factor = config.getPositive("block_ffn_dim_multiplier", 64, 1);
  if (config.getBool("block_auto_adjust_ff_dim", true)) {
    int64_t inner = int64_t(2 * double(spec.feedForward.inner) / 3);
    inner = isScaled ? int64_t(factor * double(inner)) : inner;
    spec.feedForward.inner = int64_t(llvm::alignTo(uint64_t(std::max<int64_t>(inner, 1)), uint64_t(unit)));
  }
  return spec;
}

const DecoderFamily importing::lfm2 = {
    .read = readLFM2,
    .harmlessKeys =
        harmless::keys({harmless::decoder},
                       {"block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale",
                        "block_use_swiglu", "block_use_xavier_init", "conv_dim", "conv_dim_out", "conv_use_xavier_init",
                        "conv_zero_padding", "eos_token_id", "num_heads", "use_pos_enc"})};

static DecoderSpec readLFM2Moe(const DecoderSource &source) {
  ConfigReader &config = source.config;
  DecoderSpec spec = readLayers(source, {.architecture = "Lfm2Moe",
                                         .keys = keysOf("intermediate_size"),
                                         .width = 2048,
                                         .positions = 128000,
                                         .vocabulary = 65536,
                                         .inner = 7168,
                                         .kvHeads = 8,
                                         .epsilon = 1e-5,
                                         .isTied = true});
  ExpertsSpec experts = readExperts(source, spec, {.ofAll = 32, .ofToken = 4, .width = 1792});
  experts.scores = attn::RoutingKind::sigmoid;
  experts.isNormalized = config.getBool("norm_topk_prob", true);
  experts.floor = 1e-6;
  experts.scale = config.getPositive("routed_scaling_factor", 1e6, 1);
  experts.router = "feed_forward.gate";
  if (config.getBool("use_expert_bias", true))
    experts.choiceBias = "feed_forward.expert_bias";
  experts.each.gate = "feed_forward.experts.{expert}.w1";
  experts.each.up = "feed_forward.experts.{expert}.w3";
  experts.each.down = "feed_forward.experts.{expert}.w2";
  const int64_t dense = config.getInt("num_dense_layers", 0, 1 << 17, 2);
  for (int64_t layer = 0; dense > 0 && layer < spec.layers; ++layer)
    experts.ofLayer.push_back(layer >= dense);
  spec.experts = experts;
  return spec;
}

const DecoderFamily importing::lfm2Moe = {
    .read = readLFM2Moe, .harmlessKeys = harmless::keys({harmless::decoder, harmless::router}, {"use_pos_enc"})};
