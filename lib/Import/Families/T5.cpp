//===- T5.cpp - The t5, mt5 and umt5 families ----------------------------------===//
//
// Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified
// Text-to-Text Transformer", as Hugging Face's T5ForConditionalGeneration computes
// it, v1.0, v1.1 (flan), mt5 and umt5: pre-norm blocks with RMS norms, no biases, no
// scaling of scores, and a relative bias that the first block owns and all use; in umt5
// every block has its own.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Specs/EncoderDecoderSpec.h"
#include <charconv>
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

namespace {

/// Keys that training or Hugging Face's own code read; no output depends on them.
const std::vector<std::string_view> harmlessKeys = {
    "classifier_dropout", "dropout_rate", "gradient_checkpointing", "initializer_factor",
    "is_encoder_decoder", "output_past",  "scalable_attention",     "use_cache",
};

enum class Head { ConditionalGeneration };
constexpr HeadName<Head> heads[] = {{"T5ForConditionalGeneration", Head::ConditionalGeneration},
                                    {"MT5ForConditionalGeneration", Head::ConditionalGeneration},
                                    {"UMT5ForConditionalGeneration", Head::ConditionalGeneration},
                                    {"T5WithLMHeadModel", Head::ConditionalGeneration}};

/// Values of keys that a config.json leaves out: the defaults of T5Config, MT5Config and UMT5Config.
struct Defaults {
  int64_t inner, layers, heads, vocabulary;
  const char *feedForward;
  bool tied;
};
constexpr Defaults t5Defaults{2048, 6, 8, 32128, "relu", true}, mt5Defaults{1024, 8, 6, 250112, "gated-gelu", false},
    umt5Defaults{1024, 8, 6, 250112, "gated-gelu", true};

/// feed_forward_proj is an activation, or "gated-" and one; "gated-gelu" means the tanh approximation.
void readFeedForward(huggingface::ConfigReader &reader, FeedForwardSpec &feedForward, const char *otherwise) {
  std::vector<std::string> names;
  for (std::string_view name : activationNames())
    for (const char *gate : {"", "gated-"})
      names.push_back(gate + std::string(name));
  std::vector<std::string_view> allowed(names.begin(), names.end());
  std::string name = reader.getEnum("feed_forward_proj", allowed, otherwise);
  feedForward.isGated = StringRef(name).starts_with("gated-");
  std::string activation = feedForward.isGated ? name.substr(6) : name;
  feedForward.activation = activationNamed(name == "gated-gelu" ? "gelu_new" : activation);
  if (activationNamed(reader.getEnum("dense_act_fn", activationNames(),
                                     name == "gated-gelu" ? "gelu_new" : activation)) != feedForward.activation ||
      reader.getBool("is_gated_act", feedForward.isGated) != feedForward.isGated)
    reader.fail("feed_forward_proj \"" + name + "\" and dense_act_fn or is_gated_act disagree");
}

/// Whether the version of transformers that wrote the configuration is `major` or a later one.
bool writtenSince(huggingface::ConfigReader &reader, int major) {
  int version = 0;
  std::string text = reader.getString("transformers_version", "");
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version >= major;
}

/// Parts of one of the two stacks.
void setSide(SideSpec &side, const std::string &name) {
  side.stack = name;
  side.prefix = name + ".";
  side.embedding.words = "shared";
  side.layer = "block.{layer}.";
  AttentionSpec &attention = side.attention;
  attention.parts = {"layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v"};
  attention.out = "layer.0.SelfAttention.o";
  attention.location = "layer.0.SelfAttention";
  const std::string last = name == "decoder" ? "layer.2." : "layer.1.";
  side.feedForward.gate = last + "DenseReluDense.wi_0";
  side.feedForward.up = last + (side.feedForward.isGated ? "DenseReluDense.wi_1" : "DenseReluDense.wi");
  side.feedForward.down = last + "DenseReluDense.wo";
  side.residual = {.beforeAttention = "layer.0.layer_norm", .beforeFeedForward = last + "layer_norm"};
  side.finalNorm = "final_layer_norm";
}

/// The buckets of relative biases, and whose they are.
RelativeBiasSpec readBias(huggingface::ConfigReader &reader, bool isOfLayer) {
  RelativeBiasSpec bias{.table = "block.0.layer.0.SelfAttention.relative_attention_bias", .isOfLayer = isOfLayer};
  if (isOfLayer)
    bias.table = "layer.0.SelfAttention.relative_attention_bias";
  // Each side of the encoder's diagonal has half of the buckets, and half of these are exact.
  bias.buckets = reader.getInt("relative_attention_num_buckets", 4, 256, 32);
  bias.maxDistance = reader.getInt("relative_attention_max_distance", 1, 1 << 20, 128);
  if (reader.errors() && bias.maxDistance <= bias.buckets / 2)
    reader.fail("relative_attention_max_distance " + std::to_string(bias.maxDistance) +
                " must be more than half of relative_attention_num_buckets " + std::to_string(bias.buckets));
  return bias;
}

/// Sizes that encoder and decoder share.
SideSpec readSides(huggingface::ConfigReader &reader, const Defaults &defaults) {
  SideSpec side;
  side.width = reader.getSize({"d_model", "hidden_size"}, 1, 1 << 16, 512);
  AttentionSpec &attention = side.attention;
  attention.headDim = reader.getSize({"d_kv", "head_dim"}, 1, 1 << 12, 64);
  side.feedForward.inner = reader.getSize("d_ff", 1, 1 << 20, defaults.inner);
  side.layers = reader.getSize({"num_layers", "num_hidden_layers"}, 1, 1 << 17, defaults.layers);
  attention.heads = attention.kvHeads =
      reader.getSize({"num_heads", "num_attention_heads"}, 1, 1 << 12, defaults.heads);
  side.norm.epsilon = reader.getPositive("layer_norm_epsilon", 1, 1e-6);
  readFeedForward(reader, side.feedForward, defaults.feedForward);
  if (reader.errors() && side.width * attention.queryColumns() > (int64_t(1) << 40))
    reader.fail("num_heads " + std::to_string(attention.heads) + " of d_kv " + std::to_string(attention.headDim) +
                " are too many for d_model " + std::to_string(side.width));
  return side;
}

/// The head, and its scale.
void readHead(huggingface::ModelDescription &model, EncoderDecoderSpec &spec, bool isTied) {
  huggingface::ConfigReader &reader = model.config();
  spec.head.isTied = reader.getBool("tie_word_embeddings", isTied);
  // transformers scales the outputs of tied models of mt5 up to version 4, and writes `scale_decoder_outputs` for t5
  // from version 5 on.
  bool isScaled = spec.head.isTied && !(model.modelType() == "mt5" && writtenSince(reader, 5));
  if (reader.getBool("scale_decoder_outputs", isScaled))
    spec.head.scale = 1 / std::sqrt(double(spec.decoder.width));
  readHead<Head>(model, heads, Head::ConditionalGeneration);
}

EncoderDecoderSpec readSpec(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  const std::string type = model.modelType();
  const Defaults &defaults = type == "mt5" ? mt5Defaults : type == "umt5" ? umt5Defaults : t5Defaults;
  EncoderDecoderSpec spec;
  spec.encoder = spec.decoder = readSides(reader, defaults);
  spec.decoder.layers = reader.getInt("num_decoder_layers", 1, 1 << 17, spec.encoder.layers);
  setSide(spec.encoder, "encoder");
  setSide(spec.decoder, "decoder");
  spec.encoder.bias = spec.decoder.bias = readBias(reader, type == "umt5");
  const std::string cross = "layer.1.EncDecAttention";
  spec.decoder.cross = CrossAttentionSpec{.parts = {cross + ".q", cross + ".k", cross + ".v"},
                                          .out = cross + ".o",
                                          .location = cross,
                                          .before = "layer.1.layer_norm"};
  spec.vocabularies.target = reader.getSize("vocab_size", 1, 1 << 24, defaults.vocabulary);
  // Relative positions end nowhere; n_positions is the length that the model was trained with.
  spec.decoder.positions = reader.getInt("n_positions", 1, 1 << 24, 512);
  spec.isBounded = false;
  const int64_t pad = reader.getInt("pad_token_id", 0, INT32_MAX, 0);
  spec.startToken = reader.getInt("decoder_start_token_id", 0, INT32_MAX, pad);
  spec.endToken = 1;
  readHead(model, spec, defaults.tied);
  if (reader.errors())
    spec.vocabularies.check(reader, spec.startToken, /*sharesTable=*/true);
  return spec;
}

} // namespace

ImportedModule importing::importT5(MLIRContext &context, huggingface::ModelDescription &model,
                                   const ImportOptions &options) {
  EncoderDecoderSpec spec = readSpec(model);
  const bool hasShared = model.tensors().find("shared.weight") || !model.tensors().find("encoder.embed_tokens.weight");
  for (SideSpec *side : {&spec.encoder, &spec.decoder})
    side->embedding.tensor = hasShared ? "shared.weight" : "encoder.embed_tokens.weight";
  spec.harmlessKeys = harmlessKeys;
  // Copies of the embedding, and a table that the cross attention of old checkpoints has and does not use.
  spec.ignoredTensors = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight",
                         "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"};
  return importEncoderDecoder(context, model, options, spec);
}
