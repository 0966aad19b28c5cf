//===- GPTNeo.cpp - The gpt_neo, gptj and gpt_neox families --------------===//
//
// Black et al. 2021, "GPT-Neo": gpt2 with weights as torch.nn.Linear has them, scores
// that are not scaled, and a window of every second layer.
//
// Wang and Komatsuzaki 2021, "GPT-J-6B": attention and feed-forward of one layer norm
// side by side, and rotation of neighboring channels of a part of each head.
//
// Black et al. 2022, "GPT-NeoX-20B", and Pythia: attention and feed-forward of two layer
// norms side by side, rotation of a part of each head, and queries, keys and values of
// a head in neighboring rows.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

/// The layers that attention_types gives a window: [[["global", "local"], 12]] are 24 in turn.
static std::vector<bool> readLocalLayers(huggingface::ConfigReader &config, int64_t layers) {
  std::vector<bool> local;
  auto take = [&](const json::Value &type) {
    const std::string *name = type.asString();
    if (!name || (*name != "global" && *name != "local"))
      config.fail("attention_types names " + json::printable(json::write(type), 60) + ", must be global or local");
    local.push_back(name && *name == "local");
  };
  config.getRaw("attention_layers"); // the same, written out
  const json::Value *types = config.getRaw("attention_types");
  if (!types) {
    for (int64_t layer = 0; layer < layers; ++layer)
      local.push_back(layer % 2 == 1);
    return local;
  }
  for (const json::Value &group : types->asArray() ? *types->asArray() : json::Array{}) {
    const json::Array *pair = group.asArray(), *names = pair && pair->size() == 2 ? (*pair)[0].asArray() : nullptr;
    const std::optional<int64_t> times = names ? (*pair)[1].asInteger() : std::nullopt;
    for (int64_t i = 0; times && i < std::min(*times, layers); ++i)
      for (size_t j = 0; j < names->size() && int64_t(local.size()) <= layers; ++j)
        take((*names)[j]);
  }
  if (int64_t(local.size()) != layers)
    config.fail("attention_types must be a list of [names, times] for " + std::to_string(layers) + " layers");
  local.resize(layers);
  return local;
}

static DecoderSpec readGPTNeo(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GPTNeo",
                                          .keys = {.layers = {"num_layers", "num_hidden_layers"},
                                                   .heads = {"num_heads", "num_attention_heads"},
                                                   .activation = "activation_function",
                                                   .epsilon = "layer_norm_epsilon",
                                                   .kvHeads = "",
                                                   .headDim = ""},
                                          .width = 2048,
                                          .layers = 24,
                                          .heads = 16,
                                          .vocabulary = 50257,
                                          .activation = "gelu_new",
                                          .epsilon = 1e-5,
                                          .isTied = true});
  setGPT2Parts(spec);
  spec.prefixes = {"transformer.", ""};
  AttentionSpec &attention = spec.attention;
  attention.packing = Packing::None;
  attention.parts = {"attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj"};
  attention.out = "attn.attention.out_proj";
  attention.hasBias = false;
  attention.scale = 1;
  const int64_t window = config.getInt("window_size", 1, 1 << 30, 256);
  setWindows(spec, spec.positions, readLocalLayers(config, spec.layers), window);
  spec.endToken = 50256;
  return spec;
}

const DecoderFamily importing::gptNeo = {.read = readGPTNeo,
                                         .harmlessKeys =
                                             harmless::keys({harmless::decoder, harmless::dropout, harmless::summary},
                                                            {"embed_dropout", "resid_dropout", "classifier_dropout",
                                                             "gradient_checkpointing", "tokenizer_class"}),
                                         .ignoredTensors = {"*.attn.attention.bias", "*.attn.attention.masked_bias"}};

static DecoderSpec readGPTJ(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GPTJ",
                                          .keys = gpt2Keys(),
                                          .width = 4096,
                                          .layers = 28,
                                          .heads = 16,
                                          .vocabulary = 50400,
                                          .activation = "gelu_new",
                                          .epsilon = 1e-5});
  setGPT2Parts(spec);
  spec.prefixes = {"transformer.", ""};
  spec.embedding.positions.table = "";
  AttentionSpec &attention = spec.attention;
  attention.packing = Packing::None;
  attention.parts = {"attn.q_proj", "attn.k_proj", "attn.v_proj"};
  attention.out = "attn.out_proj";
  attention.hasBias = attention.hasOutBias = false;
  attention.isInterleaved = true;
  const int64_t most = std::max<int64_t>(2, attention.headDim);
  const int64_t rotated = config.getInt("rotary_dim", 2, most, std::min<int64_t>(64, most));
  if (rotated > attention.headDim || rotated % 2 != 0)
    config.fail("rotary_dim " + std::to_string(rotated) + " must be even, and at most the " +
                std::to_string(attention.headDim) + " channels of a head");
  attention.rotary.push_back(plainRotary(10000, rotated / 2 * 2));
  setPlainFeedForward(spec, "mlp.fc_in", "mlp.fc_out");
  spec.residual = {.scheme = ResidualSpec::Parallel, .beforeAttention = "ln_1", .beforeFeedForward = ""};
  spec.head.hasBias = true;
  spec.endToken = 50256;
  return spec;
}

const DecoderFamily importing::gptj = {.read = readGPTJ,
                                       .harmlessKeys =
                                           harmless::keys({harmless::decoder, harmless::dropout, harmless::summary},
                                                          {
                                                              "n_ctx",  // an old name of n_positions, never read
                                                              "rotary", // as every gptj is
                                                              "scale_attn_weights", // never read
                                                              "tokenizer_class",
                                                              "gradient_checkpointing",
                                                          }),
                                       .ignoredTensors = {"*.attn.bias", "*.attn.masked_bias"}};

static DecoderSpec readGPTNeoX(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GPTNeoX",
                                          .keys = {.epsilon = "layer_norm_eps", .kvHeads = "", .headDim = ""},
                                          .width = 6144,
                                          .layers = 44,
                                          .heads = 64,
                                          .vocabulary = 50432,
                                          .inner = 24576,
                                          .activation = "gelu",
                                          .epsilon = 1e-5});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  AttentionSpec &attention = spec.attention;
  attention.packing = Packing::Groups;
  attention.parts = {"attention.query", "attention.key", "attention.value"};
  attention.packed = "attention.query_key_value";
  attention.out = "attention.dense";
  attention.location = "attention";
  attention.hasBias = attention.hasOutBias = config.getBool("attention_bias", true);
  setPlainFeedForward(spec, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
  if (config.getBool("use_parallel_residual", true))
    spec.residual.scheme = ResidualSpec::Parallel;
  spec.prefixes = {"gpt_neox.", ""};
  spec.embedding.words = "embed_in";
  spec.finalNorm = "final_layer_norm";
  spec.head.weight = "embed_out";
  readRotary(source, spec,
             {.theta = {"rotary_emb_base", "rope_theta"},
              .share = {"rotary_pct", "partial_rotary_factor"},
              .defaultShare = 0.25,
              .isPartial = true});
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::gptNeoX = {
    .read = readGPTNeoX,
    .harmlessKeys = harmless::keys({harmless::decoder, harmless::dropout},
                                   {
                                       "num_key_value_heads", // never read
                                       "classifier_dropout",
                                   }),
    .ignoredTensors = {"*.attention.bias", "*.attention.masked_bias", "*rotary_emb.inv_freq"}};
