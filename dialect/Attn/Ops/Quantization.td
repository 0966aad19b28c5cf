//===- Quantization.td - Products of integers ------------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_QUANTIZATION_TD
#define RAPT_ATTN_QUANTIZATION_TD

include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnTypes.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_QuantizeRowsOp : Attn_Op<"quantize_rows", [Pure]> {
  let summary = "rounds the rows of an activation to integers with scales";
  let description = [{
    Each group of a row becomes codes -127..127 and a scale, as docs/Semantics.md says. `attn.linear` with a quantized weight
    takes its input so; products that read one input share it.

    ```mlir
    func.func @quantize(%x: tensor<?x768xf32>) -> tensor<?x768x!attn.quantized<s8 group 32 axis 1>> {
      %q = attn.quantize_rows %x : tensor<?x768xf32> -> tensor<?x768x!attn.quantized<s8 group 32 axis 1>>
      return %q : tensor<?x768x!attn.quantized<s8 group 32 axis 1>>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$input);
  let results = (outs RankedTensorOf<[Attn_QuantizedType]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_QuantizedProductOp : Attn_Op<"quantized_product",
    [DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a tile of rows times a panel, both of integers";
  let description = [{
    `dest[m, n] = sum over groups g of scale[g, n] scale[m, g] (sum_k code[k, n] code[m, k] - zero[g, n] sum_k code[m, k])`: what a
    tile of `attn.linear` becomes, on bytes. `rows` are those of `attn.quantize_rows`, `panel` is one panel of a weight of type
    `weight` with `depth` rows, in the layouts that `!attn.quantized` says. Runs on tensors and, bufferized, on memory.

    ```mlir
    func.func @tile(%rows: tensor<4x128xi8>, %panel: tensor<2x1088xi8>, %dest: tensor<4x32xf32>) -> tensor<4x32xf32> {
      %y = attn.quantized_product %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
        : tensor<4x128xi8>, tensor<2x1088xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
      return %y : tensor<4x32xf32>
    }
    ```
  }];
  let arguments = (ins TensorOrMemRef<[I8]>:$rows, TensorOrMemRef<[I8]>:$panel, TensorOrMemRef<[F32]>:$dest,
                       I64Attr:$depth, TypeAttrOf<Attn_QuantizedType>:$weight);
  let results = (outs Variadic<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $rows `,` $panel `,` $dest `depth` $depth `of` $weight attr-dict `:` type($rows) `,` type($panel) `,` type($dest)
    (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getDestMutable(); }";
}

#endif
