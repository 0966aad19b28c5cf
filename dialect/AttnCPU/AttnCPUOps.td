//===- AttnCPUOps.td - Machine ops of the CPU target ------------------*- tablegen -*-===//
#ifndef RAPT_ATTNCPU_OPS_TD
#define RAPT_ATTNCPU_OPS_TD

include "dialect/Attn/AttnTypes.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def AttnCPU_Dialect : Dialect {
  let name = "attn_cpu";
  let cppNamespace = "::rapt::attn_cpu";
  let summary = "Tiles of matmuls on packed panels, for the CPU target alone.";
  let description = [{
    A packed panel is 32 columns of the second operand of a matmul, [k, 32], or of bf16 with two rows interleaved, [k/2, 64] (VNNI). The ops are
    made below the stage `laid-out`, but for `attn_cpu.cast_rows`, which is made there.
  }];
}

class AttnCPU_Op<string mnemonic, list<Trait> traits = []> : Op<AttnCPU_Dialect, mnemonic, traits>;

def AttnCPU_PanelMatmulOp : AttnCPU_Op<"panel_matmul",
    [DestinationStyleOpInterface, AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a tile of rows times a panel, during which something else is brought near";
  let description = [{
    `dest[m, n] += sum_k rows[m, k] * panel[k, n]`, a product of attention; of a panel of pairs, [k/2, 64], that of
    `attn_cpu.vnni_matmul`. Meanwhile lines of the matrices `ahead` are prefetched, spread over the steps of the product: rows
    [from, to) of each, two bounds a matrix, to be read, or with `write` to be written. An extent of k that is not known is a
    multiple of 4. Runs on tensors and, bufferized, on memory.

    ```mlir
    func.func @tile(%rows: tensor<14x64xf32>, %panel: tensor<64x32xf32>, %next: tensor<14x64xf32>, %from: index, %to: index,
                    %dest: tensor<14x32xf32>) -> tensor<14x32xf32> {
      %y = attn_cpu.panel_matmul %rows, %panel, %dest ahead(%next : tensor<14x64xf32>) rows(%from, %to)
        : tensor<14x64xf32>, tensor<64x32xf32>, tensor<14x32xf32> -> tensor<14x32xf32>
      return %y : tensor<14x32xf32>
    }
    ```
  }];
  let arguments = (ins TensorOrMemRef<[F32, BF16]>:$rows, TensorOrMemRef<[F32, BF16, F16]>:$panel, Variadic<TensorOrMemRef<[AnyType]>>:$ahead,
                       Variadic<Index>:$bounds, TensorOrMemRef<[F32]>:$dest, UnitAttr:$write);
  let results = (outs Variadic<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $rows `,` $panel `,` $dest (`ahead` `(` $ahead^ `:` type($ahead) `)` `rows` `(` $bounds `)`)? (`write` $write^)?
    attr-dict `:` type($rows) `,` type($panel) `,` type($dest) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getDestMutable(); }";
}

def AttnCPU_VnniMatmulOp : AttnCPU_Op<"vnni_matmul",
    [DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a tile of rows times panels of pairs of bf16";
  let description = [{
    `dest[m, n] += sum_k rows[m, k] * panel[k/2, 2n + k mod 2]`: what a tile of `attn.linear` becomes whose weight is in panels of
    pairs. Rows are f32, or bf16 for instructions that multiply pairs. Where k is odd the last pair's second half does not
    count. Several panels, [n/32, k/2, 64], give as many times 32 columns: keys and values of attention, whose number may be dynamic.
    Runs on tensors and, bufferized, on memory.

    ```mlir
    func.func @tile(%rows: tensor<4x64xf32>, %panel: tensor<32x64xbf16>, %dest: tensor<4x32xf32>) -> tensor<4x32xf32> {
      %y = attn_cpu.vnni_matmul %rows, %panel, %dest : tensor<4x64xf32>, tensor<32x64xbf16>, tensor<4x32xf32> -> tensor<4x32xf32>
      return %y : tensor<4x32xf32>
    }
    ```
  }];
  let arguments = (ins TensorOrMemRef<[F32, BF16]>:$rows, TensorOrMemRef<[BF16]>:$panel, TensorOrMemRef<[F32]>:$dest);
  let results = (outs Variadic<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $rows `,` $panel `,` $dest attr-dict `:` type($rows) `,` type($panel) `,` type($dest) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getDestMutable(); }";
}

def AttnCPU_QuantizedMatmulOp : AttnCPU_Op<"quantized_matmul",
    [DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a tile of rows times a panel, both of integers";
  let description = [{
    `dest[m, n] = sum over groups g of scale[g, n] scale[m, g] (sum_k code[k, n] code[m, k] - zero[g, n] sum_k code[m, k])`: what a
    tile of `attn.linear` becomes, on bytes. `rows` are those of `attn.quantize_rows`, `panel` is one panel of a weight of type
    `weight` with `depth` rows, in the layouts that `!attn.quantized` says. Runs on tensors and, bufferized, on memory.

    ```mlir
    func.func @tile(%rows: tensor<4x128xi8>, %panel: tensor<2x1088xi8>, %dest: tensor<4x32xf32>) -> tensor<4x32xf32> {
      %y = attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
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

def AttnCPU_CastRowsOp : AttnCPU_Op<"cast_rows", [Pure]> {
  let summary = "rounds the rows of an activation to bf16";
  let description = [{
    Each element to the nearest bf16, ties to even; columns that the result has beyond the input's are zero. The
    result is the first operand of bf16 dot-product matmuls, cast once for all matmuls that read the input.

    ```mlir
    func.func @round(%x: tensor<?x768xf32>) -> tensor<?x768xbf16> {
      %r = attn_cpu.cast_rows %x : tensor<?x768xf32> -> tensor<?x768xbf16>
      return %r : tensor<?x768xbf16>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$input);
  let results = (outs RankedTensorOf<[BF16]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif
