//===- Phi.cpp - The phi and phi3 families -------------------------------===//
//
// Li et al. 2023, "Textbooks Are All You Need II: phi-1.5 technical report": attention
// and feed-forward of one layer norm side by side, and rotation of a part of each head.
// Its first files have the type mixformer-sequential: the embedding, the layers and the
// head are one sequence of modules, and a tensor's name has its module's place there.
//
// Abdin et al. 2024, "Phi-3 Technical Report": the llama family's layers, with queries,
// keys and values in one tensor, and gate and up in one.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

/// Checks the kinds of modules: models of the type may have others.
static void checkArchitecture(huggingface::ConfigReader &config) {
  config.getEnum("embd_layer", {"default"}, "default");
  std::optional<huggingface::ConfigReader> layer = config.open("architecture");
  if (!layer)
    return;
  layer->getEnum({"block_cls", "path"}, {"parallel"}, "parallel");
  if (std::optional<huggingface::ConfigReader> mixer = layer->open("mixer"))
    layer->close(std::move(*mixer));
  if (std::optional<huggingface::ConfigReader> mlp = layer->open("mlp")) {
    mlp->getEnum("mlp_cls", {"mlp", "fused_mlp"}, "mlp");
    layer->close(std::move(*mlp));
  }
  config.close(std::move(*layer));
}

static DecoderSpec readMixFormer(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "MixFormerSequential",
                                          .keys = gpt2Keys(),
                                          .width = 1024,
                                          .layers = 20,
                                          .heads = 16,
                                          .vocabulary = 50304,
                                          .activation = "gelu_new",
                                          .epsilon = 1e-5});
  checkArchitecture(config);
  const int64_t multiple = config.getInt("pad_vocab_size_multiple", 1, 1 << 16, 64);
  spec.vocabulary = (spec.vocabulary + multiple - 1) / multiple * multiple;
  AttentionSpec &attention = spec.attention;
  const int64_t rotated = std::min(config.getInt("rotary_dim", 1, 1 << 12, 32), attention.headDim);
  if (rotated % 2 != 0)
    config.fail("rotary_dim " + std::to_string(rotated) + " must be even");
  attention.rotary.push_back(plainRotary(10000, rotated / 2 * 2));
  attention.packing = Packing::Rows;
  attention.parts = {"mixer.query", "mixer.key", "mixer.value"};
  attention.packed = "mixer.Wqkv";
  attention.out = "mixer.out_proj";
  attention.location = "mixer";
  attention.hasBias = attention.hasOutBias = true;
  setPlainFeedForward(spec, "mlp.fc1", "mlp.fc2");
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  spec.residual = {.scheme = ResidualSpec::Parallel, .beforeAttention = "ln", .beforeFeedForward = ""};
  spec.prefixes = {"layers."};
  spec.layer = "{layer}.";
  spec.firstLayer = 1;
  spec.embedding.words = "0.wte";
  const std::string last = std::to_string(spec.layers + 1) + ".";
  spec.finalNorm = last + "ln";
  spec.head.prefix = "layers." + last;
  spec.head.weight = "linear";
  spec.head.hasBias = true;
  return spec;
}

static DecoderSpec readPhi(const DecoderSource &source) {
  if (source.model.modelType() == "mixformer-sequential")
    return readMixFormer(source);
  DecoderSpec spec = readDecoder(source, {.architecture = "Phi",
                                          .keys = {.epsilon = "layer_norm_eps", .headDim = ""},
                                          .width = 2048,
                                          .layers = 24,
                                          .vocabulary = 51200,
                                          .inner = 8192,
                                          .activation = "gelu_new",
                                          .epsilon = 1e-5});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  spec.attention.hasBias = spec.attention.hasOutBias = true;
  spec.attention.out = "self_attn.dense";
  if (source.config.getBool("qk_layernorm", false))
    spec.attention.norm =
        QueryKeyNormSpec{.norm = spec.norm, .query = "self_attn.q_layernorm", .key = "self_attn.k_layernorm"};
  setPlainFeedForward(spec, "mlp.fc1", "mlp.fc2");
  spec.residual = {.scheme = ResidualSpec::Parallel, .beforeFeedForward = ""};
  spec.finalNorm = "final_layernorm";
  spec.head.hasBias = true;
  readRotary(source, spec, {.defaultShare = 0.5, .isPartial = true});
  return spec;
}

const DecoderFamily importing::phi = {.read = readPhi,
                                      .harmlessKeys =
                                          harmless::keys({harmless::decoder, harmless::dropout}, {"phyagi_version"}),
                                      .ignoredTensors = {"*rotary_emb.inv_freq"}};

static DecoderSpec readPhi3(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Phi3",
                                          .width = 3072,
                                          .positions = 4096,
                                          .vocabulary = 32064,
                                          .inner = 8192,
                                          .epsilon = 1e-5,
                                          .padding = 32000});
  spec.attention.packing = Packing::Rows;
  spec.attention.packed = "self_attn.qkv_proj";
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.feedForward.packed = "mlp.gate_up_proj";
  source.config.getRaw("original_max_position_embeddings"); // is read where the context is stretched
  readRotary(source, spec, {.isPartial = true});
  readWindowOfAll(source, spec, std::nullopt);
  spec.endToken = 32000;
  return spec;
}

const DecoderFamily importing::phi3 = {.read = readPhi3,
                                       .harmlessKeys = harmless::keys({harmless::decoder, harmless::dropout})};
