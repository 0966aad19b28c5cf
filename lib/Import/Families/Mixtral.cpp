//===- Mixtral.cpp - The mixtral family -------------------------------------===//
//
// Jiang et al. 2024, "Mixtral of Experts": the mistral family's layers with experts in place
// of the feed-forward.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/ExpertsConfig.h"

using namespace rapt;
using namespace rapt::importing;

static const DecoderFamily family = {
    .harmlessKeys =
        {
            "attention_dropout",
            "is_decoder", // as every model of the family is
            "output_router_logits",
            "router_aux_loss_coef",
            "router_jitter_noise", // of training
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(
      source, {.architecture = "Mixtral", .positions = 131072, .inner = 14336, .kvHeads = 8, .epsilon = 1e-5});
  readRotary(source, spec, {.usualTheta = 1e6});
  readWindowOfAll(source, spec, std::nullopt);
  ExpertsSpec experts = readExperts(
      source, spec,
      {.number = "num_local_experts", .inner = "intermediate_size", .ofAll = 8, .ofToken = 2, .width = 14336});
  experts.isNormalized = true;
  if (experts.stacking == Stacking::None) {
    experts.router = "block_sparse_moe.gate";
    experts.each.gate = "block_sparse_moe.experts.{expert}.w1";
    experts.each.up = "block_sparse_moe.experts.{expert}.w3";
    experts.each.down = "block_sparse_moe.experts.{expert}.w2";
  }
  spec.experts = experts;
  spec.endToken = 2;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importMixtral(mlir::MLIRContext &context,
                                                                     huggingface::ModelDescription &model,
                                                                     const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
