//===- Position.td - Positions and rotary embedding -------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_POSITION_TD
#define RAPT_ATTN_POSITION_TD

include "dialect/Attn/AttnDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_PositionsOp : Attn_Op<"positions", [Pure, AllTypesMatch<["tokens", "result"]>]> {
  let summary = "absolute position of each packed token";
  let description = [{
    For row r and `row_begin[r] <= t < row_begin[r + 1]`: `result[t] = past[r] + t - row_begin[r]`; without `past` rows begin at 0.

    ```mlir
    func.func @where(%tokens: tensor<?xi32>, %row_begin: tensor<?xi32>, %past: tensor<?xi32>) -> tensor<?xi32> {
      %p = attn.positions %tokens, %row_begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
      return %p : tensor<?xi32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$tokens, RankedTensorOf<[I32]>:$row_begin, Optional<RankedTensorOf<[I32]>>:$past);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "$tokens `,` $row_begin (`,` $past^)? attr-dict `:` type($tokens) `,` type($row_begin) (`,` type($past)^)?";
  let hasVerifier = 1;
}

def Attn_RopeOp : Attn_Op<"rope", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "rotary position embedding";
  let description = [{
    Rotates the pairs (i, i + r/2) of the first r = 2 * size(frequencies) channels of every head by
    `position * frequencies[i]` radians and scales them by `magnitude` (Su et al. 2021, in the half-split form); the
    other channels pass. Angles are computed in f32.

    ```mlir
    func.func @rotate(%q: tensor<?x8x4xf32>, %p: tensor<?xi32>) -> tensor<?x8x4xf32> {
      %r = attn.rope %q, %p frequencies [1.0, 0.01] : tensor<?x8x4xf32>, tensor<?xi32>
      return %r : tensor<?x8x4xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$input, RankedTensorOf<[I32]>:$positions, DenseF32ArrayAttr:$frequencies,
                       DefaultValuedAttr<F32Attr, "1.0f">:$magnitude);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$input `,` $positions `frequencies` $frequencies attr-dict `:` type($input) `,` type($positions)";
  let hasVerifier = 1;
}

#endif
