//===- GraniteMoe.cpp - The granitemoe family -------------------------------===//
//
// Granite Team, IBM 2024, "Granite 3.0 Language Models": the granite family's layers with
// experts in place of the feed-forward. The softmax is of the chosen experts' logits.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/Granite.h"
#include "lib/Import/Specs/ExpertsConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "GraniteMoe", .inner = 11008});
  setGraniteParts(source, spec);
  readRotary(source, spec);
  ExpertsSpec experts = readExperts(
      source, spec,
      {.number = "num_local_experts", .inner = "intermediate_size", .ofAll = 8, .ofToken = 2, .width = 11008});
  experts.isNormalized = true; // the same as the softmax of the chosen
  experts.stacking = Stacking::Rows;
  experts.router = "block_sparse_moe.router.layer";
  experts.each.gate = "block_sparse_moe.experts.gate";
  experts.each.up = "block_sparse_moe.experts.up";
  experts.each.packed = "block_sparse_moe.input_linear.weight";
  experts.each.down = "block_sparse_moe.output_linear.weight";
  spec.experts = experts;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importGraniteMoe(mlir::MLIRContext &context,
                                                                        huggingface::ModelDescription &model,
                                                                        const ImportOptions &options) {
  return importDecoder(context, model, options, expertsFamily(), readSpec);
}
