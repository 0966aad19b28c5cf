//===- DecoderTexts.cpp - Decoders that read whole texts -----------------------===//
//
// A decoder's layers without a cache, behind which are vectors of texts or classes: models
// of sentence-transformers, rewards, rerankers. The module is that of an encoder whose
// tokens see none behind them.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Specs/DecoderBuilder.h"

using namespace rapt;
using namespace rapt::importing;

/// A part of the specification that no encoder has; empty: none.
static std::string unsupportedPart(const DecoderSpec &spec) {
  if (spec.attention.latent)
    return "latent attention";
  if (!spec.embedding.projection.empty())
    return "an embedding that is narrower than its layers";
  if (spec.isBidirectional && !spec.attention.slopes.empty())
    return "biases by distance between tokens that see those behind them";
  if (spec.isBidirectional && !spec.isWindowAround && !spec.attention.windows.empty())
    return "windows of tokens that see those behind them";
  return {};
}

Expected<EncoderSpec> importing::asEncoder(const DecoderSpec &spec, const DecoderFamily &family,
                                           const huggingface::ModelDescription &model) {
  if (const std::string part = unsupportedPart(spec); !part.empty())
    return Error{shownPath(model.path()) + ": programs of family \"" + model.modelType() +
                 "\" that read whole texts cannot have " + part + "; supported is its language model"};
  EncoderSpec encoder;
  static_cast<TextSpec &>(encoder) = spec;
  encoder.embedding.location = encoder.embedding.positions.location = embeddingsLocation;
  encoder.labels = spec.labels;
  encoder.prefix = spec.prefixes[0];
  encoder.furtherPrefixes = {spec.prefixes[1], "transformer."}; // the second one of LlamaForQuestionAnswering
  encoder.isCausal = !spec.isBidirectional;
  encoder.head = *spec.wholeHead;
  encoder.classifier = {.transform = {},
                        .projection = "score",
                        .isPooler = false,
                        .pooling = attn::PoolingKind::last,
                        .hasBias = false,
                        .padding = spec.padding};
  encoder.tokens.projection = model.tensors().find("classifier.weight") ? "classifier" : "score";
  encoder.harmlessKeys = family.harmlessKeys;
  encoder.ignoredTensors = family.ignoredTensors;
  encoder.ignoredTensors.insert(encoder.ignoredTensors.end(), spec.ignoredTensors.begin(), spec.ignoredTensors.end());
  return encoder;
}
