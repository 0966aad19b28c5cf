//===- Passes.td - The generic target ---------------------------------*- tablegen -*-===//
#ifndef RAPT_TARGET_GENERIC_PASSES_TD
#define RAPT_TARGET_GENERIC_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnGenericLayout : Pass<"attn-generic-layout", "::mlir::ModuleOp"> {
  let summary = "parameters and the cache by rows";
  let description = [{
    Each `attn.parameter` gets a row-major layout, an offset and a stride; rows are padded as the weight file has them, and readers take a slice.
    A quantized parameter lies in panels, as the weight file stores codes, and is dequantized before it is multiplied; quantized rows become
    the numbers that their codes stand for. `!attn.kv_cache` becomes a tensor [blocks, layers, heads, 2, positions, channels], in i8 with the scale of
    each position behind its codes.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    Here `@w` becomes `tensor<64x96xf32>`, of which the matmul reads a slice of 80 columns.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AttnGenericSchedule : Pass<"attn-generic-schedule", "::mlir::ModuleOp"> {
  let summary = "sizes of tiles for the neutral decompositions";
  let description = [{
    Sets `attn.schedule`: of each attention op the queries of a tile and the keys of a KV block, of the module the tiles of its linalg ops.

    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
    module {
      func.func @f(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %scale: f32) -> tensor<?x12x64xf32> {
        %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o]
          : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
        return %o : tensor<?x12x64xf32>
      }
    }
    ```
    becomes
    ```
    module attributes {attn.schedule = #attn.schedule<linalg = <columns = 256, rows = 16>>} {
        %o = attn.attention ... {attn.schedule = #attn.schedule<keys = 64, queries = 16>} ...
    ```
  }];
}

def AttnVerifyGeneric : Pass<"attn-verify-generic", "::mlir::ModuleOp"> {
  let summary = "checks the contracts of the generic target's stages `laid-out` and `tiled`";
  let description = [{
    The module has its target (`attn.target`) and the schedule of linalg ops, every parameter its layout, offset and stride, the cache its layout, and an
    attention op its schedule. With `tiled`, no attn op is left but
    declarations and parameter slices.
  }];
  let options = [Option<"tiled", "tiled", "bool", "false", "The stage is tiled, else laid-out">];
}

#endif
