//===- Quantization.td - Quantization of rows -----------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_QUANTIZATION_TD
#define RAPT_ATTN_QUANTIZATION_TD

include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "dialect/Attn/AttnTypes.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_QuantizeRowsOp : Attn_TensorOp<"quantize_rows", [Attn_HasChannels<["getRowAccess"]>, Pure, Attn_MovesAll]> {
  let summary = "rounds the rows of an activation to integers with scales";
  let description = [{
    Each group of a row becomes quantized values -127..127 and a scale, as docs/Semantics.md says. `attn.linear` with a quantized weight
    takes its input so; matmuls that read one input share it.

    ```mlir
    func.func @quantize(%x: tensor<?x768xf32>) -> tensor<?x768x!attn.quantized<s8 group 32 axis 1>> {
      %q = attn.quantize_rows %x : tensor<?x768xf32> -> tensor<?x768x!attn.quantized<s8 group 32 axis 1>>
      return %q : tensor<?x768x!attn.quantized<s8 group 32 axis 1>>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input);
  let results = (outs RankedTensorOf<[Attn_QuantizedType]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif
