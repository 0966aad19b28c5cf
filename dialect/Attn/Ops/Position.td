//===- Position.td - Positions and rotary embedding -------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_POSITION_TD
#define RAPT_ATTN_POSITION_TD

include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_PositionsOp : Attn_TensorOp<"positions", [Pure, Attn_MovesAll, AllTypesMatch<["tokens", "result"]>]> {
  let summary = "absolute position of each packed token";
  let description = [{
    For row r and `row_begin[r] <= t < row_begin[r + 1]`: `result[t] = past[r] + t - row_begin[r]`; without `past` rows begin at 0.
    Tokens of no row have the position 0.

    With `padding` tokens of that id are not counted: they have the position 0, and another token has the number of those that are no padding from its
    row's begin to itself, 1, 2, .. (as roberta of Hugging Face counts). There is no `past` then.

    ```mlir
    func.func @where(%tokens: tensor<?xi32>, %row_begin: tensor<?xi32>, %past: tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>) {
      %p = attn.positions %tokens, %row_begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
      %counted = attn.positions %tokens, %row_begin padding 1 : tensor<?xi32>, tensor<?xi32>
      return %p, %counted : tensor<?xi32>, tensor<?xi32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$tokens, RankedTensorOf<[I32]>:$row_begin, Optional<RankedTensorOf<[I32]>>:$past,
                       OptionalAttr<I32Attr>:$padding);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$tokens, "::mlir::Value":$rowBegin, "::mlir::Value":$past), [{
    build($_builder, $_state, tokens.getType(), tokens, rowBegin, past, ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = "$tokens `,` $row_begin (`,` $past^)? (`padding` $padding^)? attr-dict `:` type($tokens) `,` type($row_begin) (`,` type($past)^)?";
  let hasVerifier = 1;
}

def Attn_SinusoidsOp : Attn_TensorOp<"sinusoids", [Attn_HasChannels<["isPadded"]>, Pure, Attn_MovesAll]> {
  let summary = "sines and cosines of positions, to be added to embeddings";
  let description = [{
    `result[t, c] = sin((positions[t] + first) * frequencies[c])` in even columns, the cosine in odd ones (Vaswani et al. 2017, section 3.5,
    where frequency c is 10000^(-2 floor(c / 2) / columns)). With `halves` the first half of the columns has the sines, the second one the
    cosines. `first` is 0 where there is none. Frequencies are radians a position. Columns beyond them, which `attn-materialize-layouts` adds, are 0.

    ```mlir
    func.func @positions(%p: tensor<?xi32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
      %y = attn.sinusoids %p frequencies [1.0, 1.0, 0.01, 0.01] : tensor<?xi32> -> tensor<?x4xf32>
      %z = attn.sinusoids %p frequencies [1.0, 0.01, 1.0, 0.01] halves first 2 : tensor<?xi32> -> tensor<?x4xf32>
      return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$positions, DenseF32ArrayAttr:$frequencies, UnitAttr:$halves,
                       OptionalAttr<I64Attr>:$first);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = [{
    $positions `frequencies` custom<Frequencies>($frequencies) (`halves` $halves^)? (`first` $first^)? attr-dict `:` type($positions) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// Whether a column has cosines.
    bool isCosine(int64_t column) {
      return getHalves() ? column >= int64_t(getFrequencies().size()) / 2 : column % 2 != 0;
    }
  }];
  let hasVerifier = 1;
}

def Attn_RotaryTableOp : Attn_TensorOp<"rotary_table", [Attn_HasElementTypes<["getElementSource"]>, Pure, Attn_MovesAll, AllTypesMatch<["cosines", "sines"]>]> {
  let summary = "cosines and sines of rotary position embedding";
  let description = [{
    `cosines[t, i] = magnitude * cos(positions[t] * frequencies[i])`, sines alike: made once a step, for all layers that share
    frequencies. The stretching of a model's context (linear, llama3, yarn, longrope) is in the frequencies (radians per position) and the magnitude.

    Where `lengths[t]`, the length of the token's text, is more than `bound`, the second frequencies count instead: longrope has others for short texts
    than for long ones.

    ```mlir
    func.func @table(%p: tensor<?xi32>, %lengths: tensor<?xi32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
      %cos, %sin = attn.rotary_table %p frequencies [1.0, 0.01] : tensor<?xi32> -> tensor<?x2xf32>
      %c, %s = attn.rotary_table %p frequencies [1.0, 0.01] beyond 4096 of %lengths frequencies [0.5, 0.001] : tensor<?xi32>, tensor<?xi32> -> tensor<?x2xf32>
      return %cos, %s : tensor<?x2xf32>, tensor<?x2xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$positions, Optional<RankedTensorOf<[I32]>>:$lengths, DenseF32ArrayAttr:$frequencies,
                       OptionalAttr<DenseF32ArrayAttr>:$long_frequencies, OptionalAttr<I32Attr>:$bound,
                       DefaultValuedAttr<F32Attr, "1.0f">:$magnitude);
  let results = (outs Attn_RankedTensor:$cosines, Attn_RankedTensor:$sines);
  let assemblyFormat = [{
    $positions `frequencies` custom<Frequencies>($frequencies) (`beyond` $bound^ `of` $lengths `frequencies` custom<Frequencies>($long_frequencies))?
    attr-dict `:` type($positions) (`,` type($lengths)^)? `->` type($cosines)
  }];
  let hasVerifier = 1;
}

def Attn_RopeOp : Attn_TensorOp<"rope", [Attn_HasElementTypes<["getElementUse"]>, Attn_KeepsElementType, Attn_HasChannels<>, Pure, Attn_MovesAll, AllTypesMatch<["input", "result"]>, AllTypesMatch<["cosines", "sines"]>]> {
  let summary = "rotary position embedding";
  let description = [{
    Rotates pairs of the first r channels of every head (Su et al. 2021), r twice the columns of the `attn.rotary_table`; the other channels
    pass. Pair i is (i, i + r/2), the halves of a head, or (2i, 2i + 1) where `interleaved`. With `heads` only the first so many heads
    are rotated and the others pass, as values beside queries and keys do.

    ```mlir
    func.func @rotate(%q: tensor<?x8x4xf32>, %cos: tensor<?x2xf32>, %sin: tensor<?x2xf32>) -> tensor<?x8x4xf32> {
      %r = attn.rope %q, %cos, %sin : tensor<?x8x4xf32>, tensor<?x2xf32>
      %s = attn.rope %r, %cos, %sin interleaved heads 6 : tensor<?x8x4xf32>, tensor<?x2xf32>
      return %s : tensor<?x8x4xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input, Attn_RankedTensor:$cosines, Attn_RankedTensor:$sines,
                       UnitAttr:$interleaved, OptionalAttr<I64Attr>:$heads);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = [{
    $input `,` $cosines `,` $sines (`interleaved` $interleaved^)? (`heads` $heads^)? attr-dict `:` type($input) `,` type($cosines)
  }];
  let hasVerifier = 1;
}

#endif
