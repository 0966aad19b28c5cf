//===- AttnCPUOps.td - Machine ops of the CPU target ------------------*- tablegen -*-===//
#ifndef RAPT_ATTNCPU_OPS_TD
#define RAPT_ATTNCPU_OPS_TD

include "dialect/Attn/AttnAttrInterfaces.td"
include "dialect/Attn/AttnInterfaces.td"
include "dialect/Attn/AttnTypes.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def AttnCPU_Dialect : Dialect {
  let name = "attn_cpu";
  let cppNamespace = "::rapt::attn_cpu";
  let summary = "Tiles of matmuls on packed panels, for the CPU target alone.";
  let description = [{
    A packed panel is 32 columns of the second operand of a matmul, [k, 32], or of bf16 with two rows interleaved, [k/2, 64] (VNNI). The ops are
    made below the stage `laid-out`, but for `attn_cpu.cast_rows`, which is made there.

    `attn_cpu.paired` on `attn.attention` says that both matmuls take bf16: the scaled query, keys, values, and the probabilities before they are normalized,
    whose sum is that of the rounded ones. `attn-pair-attention` sets it.
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    /// Attribute of `attn.attention`: its matmuls are bf16 dot products.
    static constexpr ::llvm::StringLiteral pairedAttr = "attn_cpu.paired";
  }];
}

def AttnCPU_PanelsAttr : AttrDef<AttnCPU_Dialect, "Panels", [DeclareAttrInterfaceMethods<Attn_WeightLayoutInterface>]> {
  let mnemonic = "panels";
  let summary = "a weight in packed panels";
  let description = [{
    A matrix of k rows and n columns is a tensor [n/columns, k, columns]. With `interleave` 2 (VNNI) two rows of a column lie side by side, [n/columns, k/2, 2 columns].
    The panels are those of the weight file, of 32 columns.

    Example: `#attn_cpu.panels<columns = 32, interleave = 2>`
  }];
  let parameters = (ins "int64_t":$width, "int64_t":$interleave);
  let assemblyFormat = "`<` `columns` `=` $width `,` `interleave` `=` $interleave `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The layout of panels of an element type: of bf16 they are interleaved.
    static PanelsAttr of(::mlir::Type element);
    static PanelsAttr of(::mlir::MLIRContext *context, int64_t interleave);
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

/// The results are the state of the operands acc, max and sum, the last three, and have their types.
class AttnCPU_StateOp<string mnemonic, list<Trait> traits = []> : AttnCPU_Op<mnemonic, !listconcat([
    Pure, DestinationStyleOpInterface, InferTypeOpAdaptor], traits)> {
  let results = (outs RankedTensorOf<[F32]>:$newAcc, 1DTensorOf<[F32]>:$newMax, 1DTensorOf<[F32]>:$newSum);
  let hasVerifier = 1;
  code stateDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(*this, getNumOperands() - 3, 3);
    }
  }];
}

def AttnCPU_AttentionStateOp : AttnCPU_StateOp<"attention_state", [
    Attn_ComputesElements, Attn_ScoreAndMaskOpInterface, RecursiveMemoryEffects, AttrSizedOperandSegments]> {
  let summary = "one KV block of online softmax, on packed panels";
  let description = [{
    A tile of `attn.attention` becomes this: `attn.attention_state` of M queries and a KV block of B keys in packed panels. query is [M, D]; key is
    [B/32, D, 32]; value is [DV/32, B, 32]; acc is [M, DV]; max and sum are [M]. M and B may be dynamic. Keys and values in bf16 may be VNNI-interleaved,
    [B/32, D/2, 64] and [DV/32, B/2, 64]. Without a score region max is in units of base-2 logarithms: only the op itself and
    `attn_cpu.attention_merge` read it.

    With `one_position` all queries, those of a group of heads, are at `q`, and there are no extra operands. With `paired`, keys and values are
    interleaved, and the scaled query and the probabilities are rounded to bf16, as in `attn.attention`.

    `at(b, h, q, kv)` are the row, the head, and the absolute positions of the first query and key. Keys at or beyond `limit` are masked: the last panel
    may have keys that the sequence has not. The maps of extra operands are projected permutations of (q, kv), q counted from the tile's first query and kv from
    the row's first key, with 0 for other dims, whose extent is 1; beyond the extent of kv an element is 0. An empty map of a tensor that has dims is a table's.
    With `additive`, a vector of D elements, or of fewer where D is their number rounded up to a multiple of 32, similarity is that of `attn.attention`; the
    channels beyond the vector's end are padding.

    `ahead` are matrices that the caller reads (those at even places) or writes (or reads, at odd ones) next: the part of their rows from `from` to `to`, in
    65536ths, is prefetched during the first and the second matmul.

    ```mlir
    func.func @step(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index,
                    %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>)
        -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
      %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l)
        : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
      return %0#0, %0#1, %0#2 : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$query, RankedTensorOf<[AnyFloat]>:$key, RankedTensorOf<[AnyFloat]>:$value, F32:$scale,
                       Index:$b, Index:$h, Index:$q, Index:$kv, Optional<Index>:$limit,
                       Variadic<RankedTensorOf<[AnyType]>>:$extras, Optional<1DTensorOf<[F32]>>:$additive,
                       Variadic<RankedTensorOf<[AnyFloat]>>:$ahead, Optional<Index>:$from, Optional<Index>:$to,
                       RankedTensorOf<[F32]>:$acc, 1DTensorOf<[F32]>:$max, 1DTensorOf<[F32]>:$sum, OptionalAttr<AffineMapArrayAttr>:$extra_maps,
                       UnitAttr:$one_position, UnitAttr:$paired);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $scale `at` `(` $b `,` $h `,` $q `,` $kv `)` (`limit` `(` $limit^ `)`)?
    (`extras` `(` $extras^ `:` type($extras) `)` `maps` $extra_maps)?
    (`additive` `(` $additive^ `:` type($additive) `)`)?
    (`ahead` `(` $ahead^ `:` type($ahead) `)` `rows` `(` $from `,` $to `)`)? `init` `(` $acc `,` $max `,` $sum `)` attr-dict
    `:` type($query) `,` type($key) `,` type($value) `,` type($acc) `,` type($max) `,` type($sum)
    custom<NamedRegions>($score, $mask)
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = stateDeclaration # [{
    ::mlir::AffineMap getExtraMap(unsigned i) {
      return ::llvm::cast<::mlir::AffineMapAttr>((*getExtraMaps())[i]).getValue();
    }
    bool isTable(unsigned i);
  }];
}

def AttnCPU_AttentionMergeOp : AttnCPU_StateOp<"attention_merge"> {
  let summary = "combines the states of splits of the keys";
  let description = [{
    `attn.attention_merge` of states that steps on packed panels made: those of P splits, in order, into (acc, max, sum). `scored` says that the steps have a
    score region, so that their maxima are natural; else they are in units of base-2 logarithms.

    ```mlir
    func.func @merge(%accs: tensor<4x8x64xf32>, %ms: tensor<4x8xf32>, %ls: tensor<4x8xf32>, %acc: tensor<8x64xf32>,
                     %m: tensor<8xf32>, %l: tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
      %0:3 = attn_cpu.attention_merge %accs, %ms, %ls init(%acc, %m, %l)
        : tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
      return %0#0, %0#1, %0#2 : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$partial_acc, 2DTensorOf<[F32]>:$partial_max, 2DTensorOf<[F32]>:$partial_sum,
                       RankedTensorOf<[F32]>:$acc, 1DTensorOf<[F32]>:$max, 1DTensorOf<[F32]>:$sum, UnitAttr:$scored);
  let assemblyFormat = [{
    $partial_acc `,` $partial_max `,` $partial_sum `init` `(` $acc `,` $max `,` $sum `)` attr-dict
    `:` type($partial_acc) `,` type($partial_max) `,` type($partial_sum) `,` type($acc) `,` type($max) `,` type($sum)
  }];
  let extraClassDeclaration = stateDeclaration;
}

#endif
