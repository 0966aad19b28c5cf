//===- Qwen3Moe.cpp - The qwen3_moe family ----------------------------------===//
//
// Yang et al. 2025, "Qwen3 Technical Report": the qwen3 family's layers with experts in
// place of the feed-forward.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/ExpertsConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen3Moe",
                                          .width = 2048,
                                          .layers = 24,
                                          .positions = 32768,
                                          .vocabulary = 151936,
                                          .inner = 6144,
                                          .kvHeads = 4});
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm};
  readRotary(source, spec);
  readWindowByLayer(source, spec);
  spec.experts = readExperts(
      source, spec, {.number = {"num_experts", "num_local_experts"}, .ofAll = 128, .ofToken = 8, .width = 768});
  spec.experts->isNormalized = source.config.getBool("norm_topk_prob", false);
  readSparseLayers(source, spec);
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importQwen3Moe(mlir::MLIRContext &context,
                                                                      huggingface::ModelDescription &model,
                                                                      const ImportOptions &options) {
  return importDecoder(context, model, options, expertsFamily(), readSpec);
}
