//===- EncoderDecoderConfig.cpp - Keys that many encoder-decoders' configs have ---===//
#include "lib/Import/Specs/EncoderDecoderConfig.h"
#include "lib/Import/Module/HarmlessKeys.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;

SideSpec importing::readSide(huggingface::ConfigReader &config, const std::string &prefix, const std::string &name,
                             int64_t width, const SideSizes &defaults) {
  SideSpec side;
  side.stack = name;
  side.prefix = prefix + name + ".";
  side.width = width;
  const std::string layers = name + "_layers", heads = name + "_attention_heads", inner = name + "_ffn_dim";
  side.layers = config.getSize(layers.c_str(), 1, 1 << 17, defaults.layers);
  readHeads(config, "d_model", heads.c_str(), defaults.heads, side);
  side.attention.out = "self_attn.out_proj";
  side.attention.hasBias = side.attention.hasOutBias = true;
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

CrossAttentionSpec importing::plainCrossAttention() {
  const std::string part = "encoder_attn";
  return {.parts = {part + ".q_proj", part + ".k_proj", part + ".v_proj"},
          .out = part + ".out_proj",
          .location = part,
          .hasBias = true,
          .before = "encoder_attn_layer_norm"};
}

/// Where the family has norms. Those that readSide names are ahead of parts, or of the sums behind them.
static void setNorms(const EncoderDecoderDefaults &defaults, EncoderDecoderSpec &spec) {
  for (SideSpec *side : {&spec.encoder, &spec.decoder}) {
    side->embedding = {.words = "shared", .norm = defaults.hasEmbeddingNorm ? "layernorm_embedding" : ""};
    side->finalNorm = defaults.isNormFirst ? "layer_norm" : "";
    if (defaults.isNormFirst)
      continue;
    ResidualSpec &residual = side->residual;
    std::swap(residual.beforeAttention, residual.ofAttentionSum);
    std::swap(residual.beforeFeedForward, residual.ofFeedForwardSum);
    if (side->cross)
      std::swap(side->cross->before, side->cross->ofSum);
  }
}

/// Frequencies of both halves: marian's as Vaswani et al. have them, m2m_100's such that the last one is 1 / 10000.
static std::vector<float> frequenciesOf(const EncoderDecoderDefaults &defaults, int64_t width) {
  const int64_t half = width / 2, last = defaults.firstPosition == 0 ? half : half - 1;
  std::vector<float> frequencies;
  for (int64_t column = 0; column < width; ++column)
    frequencies.push_back(float(std::pow(10000.0, -double(column % half) / double(std::max<int64_t>(last, 1)))));
  return frequencies;
}

/// The words' tables: one, or one of each side.
static void readTables(huggingface::ModelDescription &model, const EncoderDecoderDefaults &defaults,
                       const std::string &prefix, EncoderDecoderSpec &spec) {
  huggingface::ConfigReader &config = model.config();
  const int64_t source = config.getSize("vocab_size", 1, 1 << 24, defaults.vocabulary);
  spec.vocabularies.target =
      defaults.mayHaveTwoTables ? config.getInt("decoder_vocab_size", 1, 1 << 24, source) : source;
  if (spec.vocabularies.target != source)
    spec.vocabularies.source = source;
  const bool isShared = !defaults.mayHaveTwoTables || config.getBool("share_encoder_decoder_embeddings", true);
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
static void setPositions(const huggingface::ModelDescription &model, const EncoderDecoderDefaults &defaults,
                         EncoderDecoderSpec &spec, int64_t pad) {
  const bool hasTables = defaults.firstPosition == 0 && !model.tensors().tensors().empty();
  spec.isBounded = false;
  for (SideSpec *side : {&spec.encoder, &spec.decoder}) {
    PositionSpec &positions = side->embedding.positions;
    positions.first = defaults.firstPosition;
    if (defaults.firstPosition < 0) {
      positions.first = pad + 1;
      positions.padding = pad;
    }
    if (hasTables ? model.tensors().find(side->prefix + positionTable + ".weight") != nullptr : defaults.isLearned) {
      positions.table = positionTable;
      spec.isBounded = true;
    } else {
      positions.frequencies = frequenciesOf(defaults, side->width);
      positions.areHalves = true;
    }
  }
}

EncoderDecoderSpec importing::readEncoderDecoder(huggingface::ModelDescription &model,
                                                 const EncoderDecoderDefaults &defaults) {
  huggingface::ConfigReader &config = model.config();
  // A checkpoint of the transformer alone is the model with its head tied.
  const std::string whole = defaults.architecture + defaults.headClass, base = defaults.architecture + "Model";
  const HeadName<bool> heads[] = {{whole, true}, {base, false}};
  readHead<bool>(model, heads, true);
  EncoderDecoderSpec spec;
  const int64_t width = config.getSize("d_model", 2, 1 << 16, defaults.width);
  const std::string prefix = model.choosePrefix({"model.", ""}, "encoder.layers.0.fc1.weight");
  spec.encoder = readSide(config, prefix, "encoder", width, defaults.sizes);
  spec.decoder = readSide(config, prefix, "decoder", width, defaults.sizes);
  spec.decoder.cross = plainCrossAttention();
  setNorms(defaults, spec);
  spec.encoder.feedForward.activation = spec.decoder.feedForward.activation =
      activationNamed(config.getEnum("activation_function", activationNames(), defaults.activation));
  readTables(model, defaults, prefix, spec);
  spec.encoder.positions = spec.decoder.positions = config.getSize("max_position_embeddings", 1, 1 << 24, 1024);
  const int64_t pad = config.getInt("pad_token_id", 0, INT32_MAX, defaults.padToken);
  setPositions(model, defaults, spec, pad);
  if (spec.encoder.embedding.positions.areHalves && width % 2 != 0)
    config.fail("d_model " + std::to_string(width) + " is odd: half of the columns are sines, half cosines");
  spec.startToken = config.getInt("decoder_start_token_id", 0, INT32_MAX, defaults.startToken);
  spec.endToken = defaults.endToken;
  if (config.getBool("scale_embedding", defaults.isScaled))
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
  if (defaults.firstPosition < 0) // computed instead
    spec.ignoredTensors.push_back("*.embed_positions.weight*");
  return spec;
}
