//===- Whisper.cpp - The whisper family ------------------------------------------===//
//
// Radford et al. 2022, "Robust Speech Recognition via Large-Scale Weak Supervision":
// norms first, learned positions, and sources that are log-mel features of sound.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Specs/EncoderDecoderConfig.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

/// One of the two stacks of whisper.
static SideSpec readWhisperSide(huggingface::ConfigReader &config, const std::string &prefix, const std::string &name,
                                int64_t width) {
  SideSpec side = readSide(config, prefix, name, width, {.layers = 4, .heads = 6, .inner = 1536});
  side.attention.hasKeyBias = false;
  side.embedding = {.words = name + ".embed_tokens",
                    .tensor = side.prefix + "embed_tokens.weight",
                    .positions = {.table = positionTable}};
  side.finalNorm = "layer_norm";
  return side;
}

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
  spec.decoder.cross = plainCrossAttention();
  spec.decoder.cross->hasKeyBias = false;
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
