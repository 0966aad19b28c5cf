//===- Transformer.cpp - The transformer family --------------------------------===//
//
// Vaswani et al. 2017, "Attention is all you need": encoder and decoder of post-norm
// blocks, sinusoidal positions. torch.nn.Transformer's parameter names and options,
// by a config.json of our own: docs/Transformer.md. Without layers on one side it is the decoder,
// or the encoder, alone.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "lib/Import/Specs/EncoderDecoderSpec.h"
#include "lib/Import/Specs/EncoderSpec.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

namespace {

constexpr const char *encoderLayers = "num_encoder_layers", *decoderLayers = "num_decoder_layers";
constexpr int64_t defaultWidth = 512, defaultHeads = 8, defaultInner = 2048, defaultLayers = 6, defaultPositions = 512;
constexpr double defaultEpsilon = 1e-5;

/// Keys of training, or of torch's own code.
constexpr std::string_view harmlessKeys[] = {"batch_first", "dropout", "is_encoder_decoder"};

/// The parts of a layer's attention, and of its feed-forward with `inner` columns.
void setParts(StackSpec &spec, huggingface::ConfigReader &reader, int64_t inner) {
  AttentionSpec &attention = spec.attention;
  attention.packing = Packing::Rows;
  attention.packed = "self_attn.in_proj";
  attention.packedStem = "self_attn.in_proj_";
  attention.out = "self_attn.out_proj";
  attention.hasBias = attention.hasOutBias = true;
  spec.feedForward = {.inner = inner,
                      .activation = activationNamed(reader.getEnum("activation", {"relu", "gelu"}, "relu")),
                      .isGated = false,
                      .up = "linear1",
                      .down = "linear2",
                      .hasBias = true,
                      .hasDownBias = true};
  spec.norm = {
      .kind = NormSpec::Layer, .epsilon = reader.getPositive("layer_norm_eps", 1, defaultEpsilon), .hasBias = true};
}

/// Words and sinusoids.
void setEmbedding(TextSpec &spec, huggingface::ConfigReader &reader) {
  spec.embedding = {.words = "embedding", .positions = {.frequencies = pairedFrequencies(spec.width)}};
  if (reader.getBool("scale_embedding", true))
    spec.embedding.scale = std::sqrt(double(spec.width));
}

HeadSpec readHead(huggingface::ConfigReader &reader, bool isTied) {
  return {.weight = "generator", .isTied = isTied, .hasBias = reader.getBool("generator_bias", !isTied)};
}

/// Norms of a layer with own attention and feed-forward alone: of x, or of the sum.
ResidualSpec residualOf(bool isNormFirst, const std::string &first, const std::string &last) {
  return {.beforeAttention = isNormFirst ? first : "",
          .beforeFeedForward = isNormFirst ? last : "",
          .ofAttentionSum = isNormFirst ? "" : first,
          .ofFeedForwardSum = isNormFirst ? "" : last};
}

/// Sizes and parts that encoder and decoder share.
SideSpec readSides(huggingface::ConfigReader &reader) {
  SideSpec side;
  side.width = reader.getSize("d_model", 1, 1 << 16, defaultWidth);
  readHeads(reader, "d_model", "nhead", defaultHeads, side);
  setParts(side, reader, reader.getSize("dim_feedforward", 1, 1 << 20, defaultInner));
  setEmbedding(side, reader);
  return side;
}

/// Names of parts, and where the norms are: of x, or of the sum.
void setSide(SideSpec &side, const std::string &name, bool isNormFirst, bool hasFinalNorm) {
  side.stack = name;
  side.prefix = name + ".";
  side.finalNorm = hasFinalNorm ? "norm" : "";
  side.residual = residualOf(isNormFirst, "norm1", name == "decoder" ? "norm3" : "norm2");
}

EncoderDecoderSpec readSpec(huggingface::ConfigReader &reader) {
  EncoderDecoderSpec spec;
  spec.encoder = spec.decoder = readSides(reader);
  SideSpec &encoder = spec.encoder, &decoder = spec.decoder;
  encoder.layers = reader.getSize(encoderLayers, 1, 1 << 17, defaultLayers);
  decoder.layers = reader.getSize(decoderLayers, 1, 1 << 17, defaultLayers);
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
  encoder.positions = decoder.positions = reader.getInt("n_positions", 1, 1 << 24, defaultPositions);
  spec.isBounded = false;
  const bool isShared = reader.getBool("share_embeddings", !spec.vocabularies.areSeparate());
  encoder.embedding.words = isShared ? "embedding" : "src_embedding";
  decoder.embedding.words = isShared ? "embedding" : "tgt_embedding";
  spec.head = readHead(reader, reader.getBool("tie_word_embeddings", true));
  const int64_t pad = reader.getInt("pad_token_id", 0, INT32_MAX, 0);
  spec.startToken = reader.getInt("decoder_start_token_id", 0, INT32_MAX, pad);
  if (reader.errors())
    spec.vocabularies.check(reader, spec.startToken, isShared);
  spec.harmlessKeys.assign(std::begin(harmlessKeys), std::end(harmlessKeys));
  return spec;
}

/// A decoder without an encoder: a language model.
DecoderSpec readDecoderAlone(const DecoderSource &source) {
  huggingface::ConfigReader &reader = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Transformer",
                                          .keys = {.width = "d_model",
                                                   .layers = decoderLayers,
                                                   .inner = "dim_feedforward",
                                                   .heads = "nhead",
                                                   .positions = "n_positions",
                                                   .activation = "",
                                                   .epsilon = "",
                                                   .kvHeads = "",
                                                   .headDim = ""},
                                          .width = defaultWidth,
                                          .layers = defaultLayers,
                                          .heads = defaultHeads,
                                          .positions = defaultPositions,
                                          .inner = defaultInner,
                                          .isTied = true});
  setParts(spec, reader, spec.feedForward.inner);
  spec.residual = residualOf(reader.getBool("norm_first", false), "norm1", "norm2");
  spec.prefixes = {"", ""};
  spec.layer = "decoder.layers.{layer}.";
  setEmbedding(spec, reader);
  spec.finalNorm = reader.getBool("final_norm", true) ? "decoder.norm" : "";
  spec.head = readHead(reader, spec.head.isTied);
  return spec;
}

/// An encoder without a decoder: states of tokens, or classes of texts or tokens.
EncoderSpec readEncoderAlone(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "Transformer",
                                         .width = "d_model",
                                         .layers = encoderLayers,
                                         .heads = "nhead",
                                         .inner = "dim_feedforward",
                                         .activation = "",
                                         .positionsKey = "n_positions",
                                         .defaultWidth = defaultWidth,
                                         .defaultLayers = defaultLayers,
                                         .defaultHeads = defaultHeads,
                                         .defaultInner = defaultInner,
                                         .positions = defaultPositions});
  if (spec.head == EncoderHead::MaskedLM || spec.head == EncoderHead::QuestionAnswering)
    reader.fail("architectures: an encoder alone is TransformerModel, TransformerForSequenceClassification or "
                "TransformerForTokenClassification");
  setParts(spec, reader, spec.feedForward.inner);
  spec.residual = residualOf(reader.getBool("norm_first", false), "norm1", "norm2");
  spec.prefix = "";
  spec.layer = "encoder.layers.{layer}.";
  spec.finalNorm = reader.getBool("final_norm", true) ? "encoder.norm" : "";
  setEmbedding(spec, reader);
  spec.embedding.location = spec.embedding.positions.location = embeddingsLocation;
  spec.classifier.transform = {};
  spec.classifier.isPooler = false;
  spec.classifier.pooling = attn::PoolingKind::mean;
  spec.harmlessKeys.assign(std::begin(harmlessKeys), std::end(harmlessKeys));
  return spec;
}

/// Whether the config says that a side has no layers.
bool isWithout(huggingface::ConfigReader &reader, const char *key) {
  const json::Value *layers = reader.getRaw(key);
  return layers && layers->asInteger() == 0;
}

} // namespace

ImportedModule importing::importTransformer(MLIRContext &context, huggingface::ModelDescription &model,
                                            const ImportOptions &options) {
  static const DecoderFamily family = {.read = readDecoderAlone,
                                       .harmlessKeys = {std::begin(harmlessKeys), std::end(harmlessKeys)},
                                       .ignoredTensors = {}};
  huggingface::ConfigReader &reader = model.config();
  const bool isDecoder = isWithout(reader, encoderLayers), isEncoder = isWithout(reader, decoderLayers);
  if (isDecoder && isEncoder)
    return Error{reader.file() + ": num_encoder_layers and num_decoder_layers are 0: one of them must have layers"};
  if (isDecoder)
    return importDecoder(context, model, options, family);
  if (isEncoder)
    return importEncoder(context, model, options, readEncoderAlone(model));
  return importEncoderDecoder(context, model, options, readSpec(reader));
}
