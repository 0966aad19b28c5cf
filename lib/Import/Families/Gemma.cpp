//===- Gemma.cpp - The gemma family ----------------------------------------===//
//
// Gemma Team 2024, "Gemma: Open Models Based on Gemini Research and Technology": the
// llama family's layers with wide heads, norms stored by their distance from 1, and an
// embedding that is scaled by the root of its width.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Gemma.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "lib/Support/Float16.h"
#include <cmath>

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

void importing::setGemmaParts(const DecoderSource &source, DecoderSpec &spec) {
  spec.norm.isAroundOne = true;
  const float scale = std::sqrt(float(spec.width));
  switch (source.options.storage.value_or(source.model.dtype())) {
  case artifact::DType::F32:
    spec.embedding.scale = scale;
    break;
  case artifact::DType::BF16:
    spec.embedding.scale = bf16ToF32(f32ToBf16(scale));
    break;
  case artifact::DType::F16:
    spec.embedding.scale = f16ToF32(f32ToF16(scale));
    break;
  }
}

DecoderSpec importing::readGemma2(const DecoderSource &source, DecoderDefaults defaults) {
  huggingface::ConfigReader &config = source.config;
  defaults.keys.activation = "hidden_activation";
  defaults.width = 2304;
  defaults.layers = 26;
  defaults.heads = 8;
  defaults.inner = 9216;
  defaults.kvHeads = 4;
  defaults.headDim = 256;
  defaults.activation = "gelu_pytorch_tanh";
  defaults.isTied = true;
  defaults.padding = 0;
  DecoderSpec spec = readDecoder(source, defaults);
  config.getRaw("hidden_act"); // of some files, never read
  spec.attention.scale = 1 / std::sqrt(config.getPositive("query_pre_attn_scalar", 1e6, 256));
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  if (config.getBool("use_bidirectional_attention", false) && defaults.wholeClass.empty())
    config.fail("use_bidirectional_attention is true, which is not supported by the " + source.model.modelType() +
                " family");
  setGemmaParts(source, spec);
  spec.residual = {.beforeFeedForward = "pre_feedforward_layernorm",
                   .afterAttention = "post_attention_layernorm",
                   .afterFeedForward = "post_feedforward_layernorm"};
  spec.endToken = 1;
  return spec;
}

double importing::readSoftCap(huggingface::ConfigReader &config, const char *key, double usual) {
  return config.names(key) ? config.getFloat(key, 0, 1e6, 0) : usual;
}

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Gemma",
                                          .keys = {.activation = "hidden_activation"},
                                          .width = 3072,
                                          .layers = 28,
                                          .heads = 16,
                                          .positions = 8192,
                                          .vocabulary = 256000,
                                          .inner = 24576,
                                          .kvHeads = 16,
                                          .headDim = 256,
                                          .activation = "gelu_pytorch_tanh",
                                          .isTied = true,
                                          .padding = 0});
  source.config.getRaw("hidden_act"); // "gelu" of the first files, which meant its approximation
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  setGemmaParts(source, spec);
  readRotary(source, spec);
  spec.endToken = 1;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importGemma(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
