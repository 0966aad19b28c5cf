//===- Norm.td - Normalization over the last dim ---------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_NORM_TD
#define RAPT_ATTN_NORM_TD

include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_LayerNormOp : Attn_TensorOp<"layer_norm", [Attn_HasElementTypes<["getElementUse"]>, Attn_KeepsElementType, Attn_HasChannels<["getWeightUse", "getRowAccess", "keepChannels", "takesLeadingChannels"]>, Pure, Attn_MovesAll, AllTypesMatch<["input", "result"]>]> {
  let summary = "layer normalization";
  let description = [{
    `(x - mean) / sqrt(variance + epsilon) * weight + bias` over the last dim of a tensor of any rank from 2 on
    (Ba et al. 2016). The variance is the mean of squared deviations. `columns`, when present, says how many leading columns count: the rest are zero padding and stay
    zero because weight and bias are zero there. Weight and bias have the input's last dim, or the last two: then each head has its own.

    ```mlir
    func.func @norm(%x: tensor<?x768xf32>, %w: tensor<768xf32>, %b: tensor<768xf32>) -> tensor<?x768xf32> {
      %y = attn.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<?x768xf32>, tensor<768xf32>
      return %y : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input, Attn_RankedTensor:$weight, Attn_RankedTensor:$bias,
                       F64Attr:$epsilon, OptionalAttr<I64Attr>:$columns);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = [{
    $input `,` $weight `,` $bias `epsilon` $epsilon (`columns` $columns^)? attr-dict `:` type($input) `,` type($weight) custom<SameType>(type($bias), ref(type($weight)))
  }];
  let hasVerifier = 1;
}

def Attn_RMSNormOp : Attn_TensorOp<"rms_norm", [Attn_HasElementTypes<["getElementUse"]>, Attn_KeepsElementType, Attn_HasChannels<["getWeightUse", "getRowAccess", "keepChannels", "takesLeadingChannels"]>, Pure, Attn_MovesAll, AllTypesMatch<["input", "result"]>]> {
  let summary = "root mean square normalization";
  let description = [{
    `x / sqrt(mean(x^2) + epsilon) * weight` over the last dim of a tensor of any rank from 2 on (Zhang and Sennrich 2019).
    Heads [tokens, heads, channels] are normalized one by one. `columns` and the weight's dims as in `attn.layer_norm`.

    ```mlir
    func.func @norm(%x: tensor<?x2048xf32>, %w: tensor<2048xf32>) -> tensor<?x2048xf32> {
      %y = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x2048xf32>, tensor<2048xf32>
      return %y : tensor<?x2048xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input, Attn_RankedTensor:$weight, F64Attr:$epsilon,
                       OptionalAttr<I64Attr>:$columns);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$input `,` $weight `epsilon` $epsilon (`columns` $columns^)? attr-dict `:` type($input) `,` type($weight)";
  let hasVerifier = 1;
}

#endif
