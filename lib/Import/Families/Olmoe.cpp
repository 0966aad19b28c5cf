//===- Olmoe.cpp - The olmoe family -----------------------------------------===//
//
// Muennighoff et al. 2024, "OLMoE: Open Mixture-of-Experts Language Models": the llama
// family's layers with one norm of all queries, and of all keys, and experts in place of the
// feed-forward.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/ExpertsConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Olmoe",
                                          .width = 2048,
                                          .layers = 16,
                                          .heads = 16,
                                          .positions = 4096,
                                          .vocabulary = 50304,
                                          .inner = 2048,
                                          .epsilon = 1e-5,
                                          .padding = 1});
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.clip = readClip(config, "clip_qkv");
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm, .extent = QueryKeyNormSpec::All};
  readRotary(source, spec);
  spec.experts = readExperts(source, spec, {.inner = "intermediate_size", .ofAll = 64, .ofToken = 8, .width = 2048});
  spec.experts->isNormalized = config.getBool("norm_topk_prob", false);
  spec.endToken = 50279;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importOlmoe(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  return importDecoder(context, model, options, expertsFamily(), readSpec);
}
