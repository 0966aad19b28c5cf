//===- Qwen2Moe.cpp - The qwen2_moe family ----------------------------------===//
//
// Yang et al. 2024, "Qwen2 Technical Report": the qwen2 family's layers with experts in place
// of the feed-forward, and one expert of all tokens.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/ExpertsConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Qwen2Moe",
                                          .width = 2048,
                                          .layers = 24,
                                          .heads = 16,
                                          .positions = 32768,
                                          .vocabulary = 151936,
                                          .inner = 5632,
                                          .kvHeads = 16});
  spec.attention.hasBias = config.getBool("qkv_bias", true);
  readRotary(source, spec);
  readWindowByLayer(source, spec);
  ExpertsSpec experts = readExperts(source, spec, {.ofAll = 60, .ofToken = 4, .width = 1408});
  experts.isNormalized = config.getBool("norm_topk_prob", false);
  FeedForwardSpec shared = spec.feedForward;
  shared.inner = config.getSize("shared_expert_intermediate_size", 1, 1 << 20, 5632);
  shared.gate = "mlp.shared_expert.gate_proj";
  shared.up = "mlp.shared_expert.up_proj";
  shared.down = "mlp.shared_expert.down_proj";
  experts.shared = shared;
  experts.sharedGate = "mlp.shared_expert_gate";
  spec.experts = experts;
  readSparseLayers(source, spec);
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importQwen2Moe(mlir::MLIRContext &context,
                                                                      huggingface::ModelDescription &model,
                                                                      const ImportOptions &options) {
  return importDecoder(context, model, options, expertsFamily(), readSpec);
}
