//===- Passes.td - Passes on the attn dialect and the stages below -----*- tablegen -*-===//
#ifndef RAPT_TRANSFORMS_PASSES_TD
#define RAPT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnVerifyImported : Pass<"attn-verify-imported", "::mlir::ModuleOp"> {
  let summary = "checks the contract of the stage `imported`";
  let description = [{
    The imported stage is what importers produce and what the reference evaluator runs: a closed list of dialects (attn,
    func, scf.for, tensor.dim and tensor.empty, scalar arith and math), weights only as `attn.parameter`, entries whose arguments and results
    carry `attn.name`. Anything else is an error that names the op.
  }];
}

#endif
