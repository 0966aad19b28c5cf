//===- ShortConv.td - Causal convolution over a sequence's tokens --------*- tablegen -*-===//
#ifndef RAPT_ATTN_SHORT_CONV_TD
#define RAPT_ATTN_SHORT_CONV_TD

include "dialect/Attn/AttnAttrs.td"
include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_ShortConvOp : Attn_TensorOp<"short_conv", [
    Attn_HasElementTypes<["getElementUse", "getElementSource", "getEqualTypes"]>, Attn_KeepsElementType, Pure, Attn_HasCosts, AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "a causal convolution along the tokens, for each channel alone";
  let description = [{
    `output[t, c] = activation(bias[c] + sum over j of weight[j, c] * input[t - (taps - 1 - j) * dilation, c])`, where tokens ahead of a sequence's first one are the rows
    of its state: the last `(taps - 1) * dilation` inputs before, oldest first, zeros where there were fewer. So a text in pieces gives what it gives whole.

    Rows of tokens are those between the offsets `rows`; outputs of tokens of no row are 0. `state` is [slots, (taps - 1) * dilation, channels] in f32, or with
    `layer` [slots, layers, ...]; its slots are as in `attn.linear_attention`. Without a state, sequences begin with zeros and leave none.

    ```mlir
    func.func @mix(%x: tensor<?x2048xf32>, %w: tensor<4x2048xf32>, %row_begin: tensor<?xi32>, %state: tensor<?x3x2048xf32>)
        -> (tensor<?x2048xf32>, tensor<?x3x2048xf32>) {
      %y, %new = attn.short_conv %x, %w activation silu rows(%row_begin) state(%state : tensor<?x3x2048xf32>)
        : tensor<?x2048xf32>, tensor<4x2048xf32>, tensor<?xi32>
      return %y, %new : tensor<?x2048xf32>, tensor<?x3x2048xf32>
    }
    ```
  }];
  let arguments = (ins Attn_Matrix:$input, Attn_Matrix:$weight, Optional<Attn_Vector>:$bias,
                       OptionalAttr<Attn_ActivationAttr>:$activation, DefaultValuedAttr<I64Attr, "1">:$dilation, 1DTensorOf<[I32]>:$row_begin,
                       Optional<RankedTensorOf<[F32]>>:$state, Optional<Index>:$layer,
                       Optional<1DTensorOf<[I32]>>:$from, Optional<1DTensorOf<[I32]>>:$to);
  let results = (outs Attn_Matrix:$output, Optional<RankedTensorOf<[F32]>>:$new_state);
  let assemblyFormat = [{
    $input `,` $weight (`bias` `(` $bias^ `:` type($bias) `)`)? (`activation` `` $activation^)? (`dilation` $dilation^)?
    `rows` `(` $row_begin `)` (`state` `(` $state^ `:` type($state) `)`)? (`layer` `(` $layer^ `)`)?
    (`slots` `(` $from^ `:` type($from) `,` $to `:` type($to) `)`)? attr-dict `:` type($input) `,` type($weight) `,` type($row_begin)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getTaps() { return getWeight().getType().getDimSize(0); }
    int64_t getChannels() { return getWeight().getType().getDimSize(1); }
    /// Tokens of a state.
    int64_t getReach() { return (getTaps() - 1) * int64_t(getDilation()); }
  }];
}

#endif
