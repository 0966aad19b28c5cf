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

def AttnFuseEpilogues : Pass<"attn-fuse-epilogues"> {
  let summary = "takes activations, gates and residual sums into the product that feeds them";
  let description = [{
    `attn.activation`, `attn.glu` and `attn.add` whose operand is an `attn.linear` used only there become part of its epilogue
    region, so that a product's result is touched once, while it is in registers. See lib/Transforms/Fusion/README.md.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
      %z = attn.add %x, %y : tensor<?x64xf32>
      return %z : tensor<?x64xf32>
    }
    ```
    becomes one `attn.linear %x, %w, (%x)` whose epilogue adds.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AttnMaterializeLayouts : Pass<"attn-materialize-layouts", "::mlir::ModuleOp"> {
  let summary = "decides where parameters lie in the weight file and pads shapes to panels of 32";
  let description = [{
    Each `attn.parameter` gets a layout that fits its uses (panels for products, rows for tables and vectors), an offset and a
    stride; its type becomes the physical one. Activations are padded to multiples of 32 columns, heads to multiples of
    32 channels; normalisations learn how many columns count; `!attn.kv_cache` becomes the tensor of its blocks. The
    padding is zero throughout. Runs after the blocks are inlined.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    Here `@w` becomes `tensor<3x64x32xf32>` with `layout = #attn.layout<panels, shape = [64, 80]>` at offset 0.
  }];
}

#endif
