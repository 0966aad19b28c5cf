//===- Transformer.cpp - The transformer family --------------------------------===//
//
// Vaswani et al. 2017, "Attention is all you need": encoder and decoder of post-norm
// blocks, sinusoidal positions. torch.nn.Transformer's parameter names and options,
// by a config.json of our own: docs/Transformer.md.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/EncoderDecoderSpec.h"
#include "lib/Import/Families/Family.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

namespace {

/// Sizes and parts that encoder and decoder share.
SideSpec readSides(huggingface::ConfigReader &reader) {
  SideSpec side;
  side.width = reader.getSize("d_model", 1, 1 << 16, 512);
  AttentionSpec &attention = side.attention;
  attention.heads = attention.kvHeads = reader.getSize("nhead", 1, 1 << 12, 8);
  attention.headDim = std::max<int64_t>(1, side.width / attention.heads);
  attention.scale = 1 / std::sqrt(double(attention.headDim));
  attention.packing = Packing::Rows;
  attention.packed = "self_attn.in_proj";
  attention.packedStem = "self_attn.in_proj_";
  attention.out = "self_attn.out_proj";
  attention.hasBias = attention.hasOutBias = true;
  side.feedForward = {.inner = reader.getSize("dim_feedforward", 1, 1 << 20, 2048),
                      .activation = activationNamed(reader.getEnum("activation", {"relu", "gelu"}, "relu")),
                      .isGated = false,
                      .up = "linear1",
                      .down = "linear2",
                      .hasBias = true,
                      .hasDownBias = true};
  side.norm = {.kind = NormSpec::Layer, .epsilon = reader.getPositive("layer_norm_eps", 1, 1e-5), .hasBias = true};
  side.positions = {.kind = PositionSpec::Sinusoids, .frequencies = pairedFrequencies(side.width)};
  reader.requireMultiple("d_model", side.width, "nhead", attention.heads);
  return side;
}

/// Names of parts, and where the norms are: of x, or of the sum.
void setSide(SideSpec &side, const std::string &name, bool isNormFirst, bool hasFinalNorm) {
  side.name = name;
  side.prefix = name + ".";
  side.finalNorm = hasFinalNorm ? "norm" : "";
  const std::string last = name == "decoder" ? "norm3" : "norm2";
  side.residual = {.beforeAttention = isNormFirst ? "norm1" : "",
                   .beforeFeedForward = isNormFirst ? last : "",
                   .ofAttentionSum = isNormFirst ? "" : "norm1",
                   .ofFeedForwardSum = isNormFirst ? "" : last};
}

EncoderDecoderSpec readSpec(huggingface::ConfigReader &reader) {
  EncoderDecoderSpec spec;
  spec.encoder = spec.decoder = readSides(reader);
  SideSpec &encoder = spec.encoder, &decoder = spec.decoder;
  encoder.layers = reader.getSize("num_encoder_layers", 1, 1 << 17, 6);
  decoder.layers = reader.getSize("num_decoder_layers", 1, 1 << 17, 6);
  const bool isNormFirst = reader.getBool("norm_first", false), hasFinalNorm = reader.getBool("final_norm", true);
  setSide(encoder, "encoder", isNormFirst, hasFinalNorm);
  setSide(decoder, "decoder", isNormFirst, hasFinalNorm);
  const std::string cross = "multihead_attn";
  decoder.cross = CrossAttentionSpec{.parts = {cross + ".query", cross + ".key", cross + ".value"},
                                     .packedStem = cross + ".in_proj_",
                                     .out = cross + ".out_proj",
                                     .location = cross,
                                     .hasBias = true,
                                     .before = isNormFirst ? "norm2" : "",
                                     .ofSum = isNormFirst ? "" : "norm2"};
  spec.vocabularies = readVocabularies(reader);
  // Sinusoids end nowhere; this is the length that the model was trained with.
  spec.positions = reader.getInt("n_positions", 1, 1 << 24, 512);
  spec.isBounded = false;
  if (reader.getBool("scale_embedding", true))
    spec.embeddingScale = std::sqrt(double(decoder.width));
  const bool isShared = reader.getBool("share_embeddings", !spec.vocabularies.areSeparate());
  encoder.table = isShared ? "embedding" : "src_embedding";
  decoder.table = isShared ? "embedding" : "tgt_embedding";
  spec.tables = {{encoder.table, encoder.table + ".weight", spec.vocabularies.read()}};
  if (!isShared)
    spec.tables.push_back({decoder.table, decoder.table + ".weight", spec.vocabularies.target});
  spec.head = "generator";
  spec.headTensor = "generator.weight";
  spec.isTied = reader.getBool("tie_word_embeddings", true);
  if (reader.getBool("generator_bias", !spec.isTied))
    spec.headBias = "generator.bias";
  const int64_t pad = reader.getInt("pad_token_id", 0, INT32_MAX, 0);
  spec.startToken = reader.getInt("decoder_start_token_id", 0, INT32_MAX, pad);
  if (reader.errors())
    spec.vocabularies.check(reader, spec.startToken, isShared);
  // Training or torch's own code reads them.
  spec.harmlessKeys = {"batch_first", "dropout", "is_encoder_decoder"};
  return spec;
}

} // namespace

Expected<OwningOpRef<ModuleOp>> importing::importTransformer(MLIRContext &context, huggingface::ModelDescription &model,
                                                             const ImportOptions &options) {
  return importEncoderDecoder(context, model, options, readSpec(model.config()));
}
