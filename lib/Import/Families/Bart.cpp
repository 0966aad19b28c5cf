//===- Bart.cpp - The bart, mbart, pegasus, marian and m2m_100 and whisper families ---------===//
//
// Lewis et al. 2020, "BART: Denoising Sequence-to-Sequence Pre-training", and relatives
// of the same parts: mbart (Liu et al. 2020) and pegasus (Zhang et al. 2020) with norms
// first, marian (Junczys-Dowmunt et al. 2018) and m2m_100 (Fan et al. 2020; nllb) with
// sinusoids instead of learned positions.
//
// Radford et al. 2022, "Robust Speech Recognition via Large-Scale Weak Supervision":
// norms first, learned positions, and sources that are log-mel features of sound.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Specs/EncoderDecoderSpec.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

namespace {

constexpr const char *positionTable = "embed_positions";

/// Sizes that a configuration class takes where the file has no key.
struct BartSizes {
  int64_t layers, heads, inner;
};

/// One of the two stacks, norms first; keys begin with its name.
SideSpec readBartSide(huggingface::ConfigReader &config, const std::string &prefix, const std::string &name,
                      int64_t width, const BartSizes &defaults) {
  SideSpec side;
  side.stack = name;
  side.prefix = prefix + name + ".";
  side.width = width;
  const std::string layers = name + "_layers", heads = name + "_attention_heads", inner = name + "_ffn_dim";
  side.layers = config.getSize(layers.c_str(), 1, 1 << 17, defaults.layers);
  AttentionSpec &attention = side.attention;
  attention.heads = attention.kvHeads = config.getSize(heads.c_str(), 1, 1 << 12, defaults.heads);
  config.requireMultiple("d_model", width, heads.c_str(), attention.heads);
  attention.headDim = std::max<int64_t>(1, width / attention.heads);
  attention.scale = 1 / std::sqrt(double(attention.headDim));
  attention.out = "self_attn.out_proj";
  attention.hasBias = attention.hasOutBias = true;
  side.feedForward = {.inner = config.getSize(inner.c_str(), 1, 1 << 20, defaults.inner),
                      .isGated = false,
                      .up = "fc1",
                      .down = "fc2",
                      .hasBias = true,
                      .hasDownBias = true};
  side.norm = {.kind = NormSpec::Layer, .epsilon = 1e-5, .hasBias = true};
  side.residual = {.beforeAttention = "self_attn_layer_norm", .beforeFeedForward = "final_layer_norm"};
  return side;
}

/// Differences of the families, and the values that their configuration classes take where the file has no key.
struct Relative {
  const char *type, *base, *headClass; ///< base: "Bart" of BartModel
  bool isNormFirst, hasEmbeddingNorm, isLearned; ///< isLearned: of positions, else halves of sinusoids
  int64_t firstPosition;                         ///< rows of a table ahead of position 0; -1: those up to pad_token_id
  int64_t vocabulary, width, layers, heads, inner, padToken, startToken, endToken;
  const char *activation;
  bool isScaled;
};

constexpr Relative relatives[] = {
    {"bart", "Bart", "BartForConditionalGeneration", false, true, true, 2, 50265, 1024, 12, 16, 4096,
     1, 2, 2, "gelu", false},
    {"mbart", "MBart", "MBartForConditionalGeneration", true, true, true, 2, 50265, 1024, 12, 16, 4096,
     1, 2, 2, "gelu", false},
    {"pegasus", "Pegasus", "PegasusForConditionalGeneration", true, false, true, 0, 50265, 1024, 12,
     16, 4096, 0, 0, 1, "gelu", false},
    {"marian", "Marian", "MarianMTModel", false, false, false, 0, 58101, 1024, 12, 16, 4096,
     58100, 58100, 0, "gelu", false},
    {"m2m_100", "M2M100", "M2M100ForConditionalGeneration", true, false, false, -1, 128112,
     1024, 12, 16, 4096, 1, 2, 2, "relu", true},
};

const Relative &relativeOf(const std::string &type) {
  return *llvm::find_if(relatives, [&](const Relative &relative) { return type == relative.type; });
}

/// Frequencies of both halves: marian's as Vaswani et al. have them, m2m_100's such that the last one is 1 / 10000.
std::vector<float> frequenciesOf(const Relative &relative, int64_t width) {
  const int64_t half = width / 2, last = relative.firstPosition == 0 ? half : half - 1;
  std::vector<float> frequencies;
  for (int64_t column = 0; column < width; ++column)
    frequencies.push_back(float(std::pow(10000.0, -double(column % half) / double(std::max<int64_t>(last, 1)))));
  return frequencies;
}

/// One of the two stacks, with the norms of the family.
SideSpec readSide(huggingface::ConfigReader &config, const Relative &relative, const std::string &prefix,
                  const std::string &name, int64_t width) {
  SideSpec side = readBartSide(config, prefix, name, width, {relative.layers, relative.heads, relative.inner});
  side.embedding = {.words = "shared", .norm = relative.hasEmbeddingNorm ? "layernorm_embedding" : ""};
  if (!relative.isNormFirst)
    side.residual = {.beforeAttention = "",
                     .beforeFeedForward = "",
                     .ofAttentionSum = side.residual.beforeAttention,
                     .ofFeedForwardSum = side.residual.beforeFeedForward};
  side.finalNorm = relative.isNormFirst ? "layer_norm" : "";
  return side;
}

CrossAttentionSpec crossOf(const Relative &relative) {
  CrossAttentionSpec cross{.parts = {"encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.v_proj"},
                           .out = "encoder_attn.out_proj",
                           .location = "encoder_attn",
                           .hasBias = true};
  (relative.isNormFirst ? cross.before : cross.ofSum) = "encoder_attn_layer_norm";
  return cross;
}

/// The words' tables: one, or one of each side.
void readTables(huggingface::ModelDescription &model, const Relative &relative, const std::string &prefix,
                EncoderDecoderSpec &spec) {
  huggingface::ConfigReader &config = model.config();
  const bool isMarian = relative.type == std::string("marian");
  const int64_t source = config.getSize("vocab_size", 1, 1 << 24, relative.vocabulary);
  spec.vocabularies.target = isMarian ? config.getInt("decoder_vocab_size", 1, 1 << 24, source) : source;
  if (spec.vocabularies.target != source)
    spec.vocabularies.source = source;
  const bool isShared = !isMarian || config.getBool("share_encoder_decoder_embeddings", true);
  if (spec.vocabularies.areSeparate() && isShared)
    config.fail("share_encoder_decoder_embeddings is true, but decoder_vocab_size " +
                std::to_string(spec.vocabularies.target) + " differs from vocab_size " + std::to_string(source));
  auto tensor = [&](const SideSpec &side) { return side.prefix + "embed_tokens.weight"; };
  if (isShared) {
    const std::string shared = prefix + "shared.weight";
    const bool hasShared = model.tensors().find(shared) || !model.tensors().find(tensor(spec.encoder));
    spec.encoder.embedding.tensor = spec.decoder.embedding.tensor = hasShared ? shared : tensor(spec.encoder);
    return;
  }
  for (SideSpec *side : {&spec.encoder, &spec.decoder}) {
    side->embedding.words = side->stack + ".embed_tokens";
    side->embedding.tensor = tensor(*side);
  }
}

/// The sinusoids of marian and pegasus are a table, which checkpoints of before transformers 4.3 have and newer ones
/// leave out: one that is there counts, whatever its values. m2m_100 never stores them.
void setPositions(const huggingface::ModelDescription &model, const Relative &relative, EncoderDecoderSpec &spec,
                  int64_t pad) {
  const bool hasTables = relative.firstPosition == 0 && !model.tensors().tensors().empty();
  spec.isBounded = false;
  for (SideSpec *side : {&spec.encoder, &spec.decoder}) {
    PositionSpec &positions = side->embedding.positions;
    positions.first = relative.firstPosition;
    if (relative.firstPosition < 0) {
      positions.first = pad + 1;
      positions.padding = pad;
    }
    if (hasTables ? model.tensors().find(side->prefix + positionTable + ".weight") != nullptr : relative.isLearned) {
      positions.table = positionTable;
      spec.isBounded = true;
    } else {
      positions.frequencies = frequenciesOf(relative, side->width);
      positions.areHalves = true;
    }
  }
}

} // namespace

ImportedModule importing::importBart(MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  const Relative &relative = relativeOf(model.modelType());
  // A checkpoint of the transformer alone is the model with its head tied.
  const std::string base = relative.base + std::string("Model");
  const HeadName<bool> heads[] = {{relative.headClass, true}, {base, false}};
  readHead<bool>(model, heads, true);
  EncoderDecoderSpec spec;
  const int64_t width = config.getSize("d_model", 2, 1 << 16, relative.width);
  const std::string prefix = model.choosePrefix({"model.", ""}, "encoder.layers.0.fc1.weight");
  spec.encoder = readSide(config, relative, prefix, "encoder", width);
  spec.decoder = readSide(config, relative, prefix, "decoder", width);
  spec.encoder.feedForward.activation = spec.decoder.feedForward.activation =
      activationNamed(config.getEnum("activation_function", activationNames(), relative.activation));
  spec.decoder.cross = crossOf(relative);
  readTables(model, relative, prefix, spec);
  spec.encoder.positions = spec.decoder.positions = config.getSize("max_position_embeddings", 1, 1 << 24, 1024);
  const int64_t pad = config.getInt("pad_token_id", 0, INT32_MAX, relative.padToken);
  setPositions(model, relative, spec, pad);
  if (spec.encoder.embedding.positions.areHalves && width % 2 != 0)
    config.fail("d_model " + std::to_string(width) + " is odd: half of the columns are sines, half cosines");
  spec.startToken = config.getInt("decoder_start_token_id", 0, INT32_MAX, relative.startToken);
  spec.endToken = relative.endToken;
  if (config.getBool("scale_embedding", relative.isScaled))
    spec.encoder.embedding.scale = spec.decoder.embedding.scale = std::sqrt(double(width));
  const bool hasBias = model.tensors().find("final_logits_bias");
  spec.head = {.bias = "final_logits_bias",
               .isTied = config.getBool("tie_word_embeddings", true),
               .hasBias = hasBias,
               .isBiasMatrix = true};
  if (config.errors())
    spec.vocabularies.check(config, spec.startToken, /*sharesTable=*/false);
  spec.harmlessKeys =
      harmless::keys({harmless::sides}, {
                                            "classifier_dropout",
                                            "classif_dropout",
                                            "is_decoder",
                                            // of the first conversions, never read: they say what the family is
                                            "add_bias_logits",
                                            "add_final_layer_norm",
                                            "normalize_before",
                                            "normalize_embedding",
                                            "static_position_embeddings",
                                            "extra_pos_embeddings",
                                            "gradient_checkpointing",
                                            "force_bos_token_to_be_generated",
                                            "output_past",
                                            "tokenizer_class",
                                        });
  spec.ignoredTensors = {"*encoder.embed_tokens.weight", "*decoder.embed_tokens.weight", "lm_head.weight"};
  if (relative.firstPosition < 0) // computed instead
    spec.ignoredTensors.push_back("*.embed_positions.weight*");
  return importEncoderDecoder(context, model, options, spec);
}

namespace {

/// One of the two stacks of whisper.
SideSpec readWhisperSide(huggingface::ConfigReader &config, const std::string &prefix, const std::string &name,
                         int64_t width) {
  SideSpec side = readBartSide(config, prefix, name, width, {.layers = 4, .heads = 6, .inner = 1536});
  side.attention.hasKeyBias = false;
  side.embedding = {.words = name + ".embed_tokens",
                    .tensor = side.prefix + "embed_tokens.weight",
                    .positions = {.table = positionTable}};
  side.finalNorm = "layer_norm";
  return side;
}

} // namespace

ImportedModule importing::importWhisper(MLIRContext &context, huggingface::ModelDescription &model,
                                        const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  const HeadName<bool> heads[] = {{"WhisperForConditionalGeneration", true}, {"WhisperModel", false}};
  readHead<bool>(model, heads, true);
  EncoderDecoderSpec spec;
  const int64_t width = config.getSize("d_model", 1, 1 << 16, 384);
  const std::string prefix = model.choosePrefix({"model.", ""}, "encoder.conv1.weight");
  spec.encoder = readWhisperSide(config, prefix, "encoder", width);
  spec.decoder = readWhisperSide(config, prefix, "decoder", width);
  spec.decoder.cross = {.parts = {"encoder_attn.q_proj", "encoder_attn.k_proj", "encoder_attn.v_proj"},
                        .out = "encoder_attn.out_proj",
                        .location = "encoder_attn",
                        .hasBias = true,
                        .hasKeyBias = false,
                        .before = "encoder_attn_layer_norm"};
  // The convolutions' activation is no choice of the configuration.
  spec.features = {.channels = config.getSize("num_mel_bins", 1, 1 << 12, 80),
                   .positions = config.getSize("max_source_positions", 1, 1 << 20, 1500)};
  spec.encoder.feedForward.activation = spec.decoder.feedForward.activation =
      activationNamed(config.getEnum("activation_function", activationNames(), "gelu"));
  spec.vocabularies.target = config.getSize("vocab_size", 1, 1 << 24, 51865);
  spec.decoder.positions = config.getSize("max_target_positions", 1, 1 << 24, 448);
  spec.decoder.positionsKey = "max_target_positions";
  spec.startToken = config.getInt("decoder_start_token_id", 0, INT32_MAX, 50257);
  spec.endToken = 50256;
  spec.head = {.weight = "proj_out", .isTied = config.getBool("tie_word_embeddings", true)};
  if (config.errors())
    spec.vocabularies.check(config, spec.startToken, /*sharesTable=*/false);
  spec.harmlessKeys = harmless::keys({harmless::sides}, {
                                                            "scale_embedding", // stored, and used by no formula
                                                            // of training and of other heads
                                                            "apply_spec_augment",
                                                            "mask_time_prob",
                                                            "mask_time_length",
                                                            "mask_time_min_masks",
                                                            "mask_feature_prob",
                                                            "mask_feature_length",
                                                            "mask_feature_min_masks",
                                                            "classifier_proj_size",
                                                            "use_weighted_layer_sum",
                                                            "median_filter_width",
                                                            // rules about tokens, which generation_config.json has
                                                            "suppress_tokens",
                                                            "begin_suppress_tokens",
                                                            "forced_decoder_ids",
                                                        });
  spec.ignoredTensors = {"proj_out.weight"};
  return importEncoderDecoder(context, model, options, spec);
}
