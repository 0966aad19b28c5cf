//===- Olmo.cpp - The olmo family ------------------------------------------===//
//
// Groeneveld et al. 2024, "OLMo: Accelerating the Science of Language Models": the llama
// family's layers with layer norms that have no weights, and bounds of queries, keys and
// values.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static const DecoderFamily family = {
    .harmlessKeys =
        {
            "attention_dropout",
            "is_decoder", // as every model of the family is
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Olmo",
                                          .keys = {.epsilon = ""},
                                          .vocabulary = 50304,
                                          .inner = 11008,
                                          .epsilon = 1e-5,
                                          .padding = 1});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasWeight = false;
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.clip = readClip(config, "clip_qkv");
  readRotary(source, spec);
  spec.endToken = 50279;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importOlmo(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
