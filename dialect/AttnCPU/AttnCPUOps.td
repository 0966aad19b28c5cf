//===- AttnCPUOps.td - Ops and attributes of the CPU target -----------*- tablegen -*-===//
#ifndef RAPT_ATTNCPU_OPS_TD
#define RAPT_ATTNCPU_OPS_TD

include "dialect/Attn/AttnAttrInterfaces.td"
include "dialect/Attn/AttnInterfaces.td"
include "dialect/Attn/AttnTypes.td"
include "dialect/AttnCPU/AttnCPUEnums.td"
include "dialect/AttnCPU/AttnCPUSchedules.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def AttnCPU_PanelsAttr : AttrDef<AttnCPU_Dialect, "Panels", [DeclareAttrInterfaceMethods<Attn_WeightLayoutInterface>]> {
  let mnemonic = "panels";
  let summary = "a weight in packed panels";
  let description = [{
    A matrix of k rows and n columns is a tensor [n/columns, k, columns]. With the interleave factor 2 (VNNI-packed) two consecutive elements of a column are adjacent,
    [n/columns, k/2, 2 columns]. Panels have 32 columns, as in the weight file.

    Example: `#attn_cpu.panels<columns = 32, interleave = 2>`
  }];
  let parameters = (ins "int64_t":$width, "int64_t":$interleave);
  let assemblyFormat = "`<` `columns` `=` $width `,` `interleave` `=` $interleave `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The layout of panels of an element type: bf16 is interleaved by 2.
    static PanelsAttr of(::mlir::Type element);
    static PanelsAttr of(::mlir::MLIRContext *context, int64_t interleave);
  }];
}

def AttnCPU_PackedAttr : AttrDef<AttnCPU_Dialect, "Packed", [DeclareAttrInterfaceMethods<Attn_ParameterLayoutInterface>]> {
  let mnemonic = "packed";
  let summary = "a parameter in packed panels";
  let description = [{
    A matrix [rows, columns] in panels of 32 columns, [columns/32][rows/k][32][k] with the interleave factor k: 1, or 2 for bf16 (VNNI-packed). A quantized matrix is [columns/32][groups] of
    quantized values [group/k][32][k], scales and zero points, where k is 4 for 8 bits and 8 for 4 bits. Columns come in groups of `column_group`, each padded with zeros to a multiple
    of 32, and rows in groups of `row_group`, padded alike. Without groups, the columns are padded behind all of them, and the rows are not.

    Examples: `#attn_cpu.packed<shape = [768, 2304], interleave = 2>`, `#attn_cpu.packed<shape = [160, 64] row_group = 80, interleave = 1>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, DefaultValuedParameter<"int64_t", "0">:$columnGroup,
                        DefaultValuedParameter<"int64_t", "0">:$rowGroup, "int64_t":$interleave);
  let assemblyFormat = [{
    `<` `shape` `=` `[` $shape `]` (`column_group` `=` $columnGroup^)? (`row_group` `=` $rowGroup^)? `,` `interleave` `=` $interleave `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The layout of a matrix with an element type.
    static PackedAttr of(::mlir::Type element, ::llvm::ArrayRef<int64_t> shape, int64_t columnGroup, int64_t rowGroup);
    /// The type of one layer with padding.
    ::mlir::RankedTensorType getStored(::mlir::Type element) const;
  }];
}

def AttnCPU_CachePanelsAttr : AttrDef<AttnCPU_Dialect, "CachePanels", [
    DeclareAttrInterfaceMethods<Attn_CacheLayoutInterface, ["getPadded", "getHeadShape", "getElementAt", "getScaleAt"]>]> {
  let mnemonic = "cache_panels";
  let summary = "a cache in packed panels";
  let description = [{
    Keys and values of a head in a block are packed as the second operand of a matmul: keys [positions/32][channels][32], values [channels/32][positions][32]. Positions
    and channels are padded to multiples of 32. A pool is [blocks, layers, heads, parts, lines, columns].
    - f32, f16: a line is 32 elements.
    - bf16: VNNI-packed, [positions/32][channels/2][32][2] and [channels/32][positions/2][32][2]. A 32-bit word is one lane's operand of a bf16 dot product, and widening it
      takes one instruction per element.
    - i8: lines of 32 quantized values; behind all of them the f32 scale of each position of the block, 8 per line.

    Example: `#attn_cpu.cache_panels<positions = 64, keys = 80, values = 80>`
  }];
  let parameters = (ins "int64_t":$positions, "int64_t":$keys, "int64_t":$values);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def AttnCPU_RootAttr : EnumAttr<AttnCPU_Dialect, AttnCPU_Root, "root"> {
  let assemblyFormat = "`<` $value `>`";
}

class AttnCPU_Op<string mnemonic, list<Trait> traits = []> : Op<AttnCPU_Dialect, mnemonic, traits>;

def AttnCPU_PanelMatmulOp : AttnCPU_Op<"panel_matmul",
    [DestinationStyleOpInterface, AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a matmul on packed panels of a tile of attention, which prefetches, or of a single row";
  let description = [{
    `dest[m, n] += sum_k rows[m, k] * panel[k, n]`. A VNNI-packed panel is [k/2, 64], as for `attn_cpu.vnni_matmul`. m may be dynamic, and a dynamic k is a multiple of 4.
    Several panels, [n/32, k, 32], give 32 columns each; a single row reads them side by side. Works on tensors and, bufferized, on memory.

    Steps over k prefetch rows [from, to) of each matrix of `prefetch`, whose `rows` are the two bounds of each matrix. With `write` the lines are prefetched for writing.

    ```mlir
    func.func @tile(%rows: tensor<14x64xf32>, %panel: tensor<64x32xf32>, %next: tensor<14x64xf32>, %from: index, %to: index,
                    %dest: tensor<14x32xf32>) -> tensor<14x32xf32> {
      %y = attn_cpu.panel_matmul %rows, %panel, %dest prefetch(%next : tensor<14x64xf32>) rows(%from, %to)
        : tensor<14x64xf32>, tensor<64x32xf32>, tensor<14x32xf32> -> tensor<14x32xf32>
      return %y : tensor<14x32xf32>
    }
    ```
  }];
  let arguments = (ins TensorOrMemRef<[F32, BF16]>:$rows, TensorOrMemRef<[F32, BF16, F16]>:$panel, Variadic<TensorOrMemRef<[AnyType]>>:$prefetched,
                       Variadic<Index>:$bounds, TensorOrMemRef<[F32]>:$dest, UnitAttr:$write);
  let results = (outs Variadic<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $rows `,` $panel `,` $dest (`prefetch` `(` $prefetched^ `:` type($prefetched) `)` `rows` `(` $bounds `)`)? (`write` $write^)?
    attr-dict `:` type($rows) `,` type($panel) `,` type($dest) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getDestMutable(); }";
}

def AttnCPU_VnniMatmulOp : AttnCPU_Op<"vnni_matmul",
    [DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a matmul on VNNI-packed panels of bf16";
  let description = [{
    `dest[m, n] += sum_k rows[m, k] * panel[k/2, 2n + k mod 2]`: a tile of an `attn.linear` whose weight is VNNI-packed, or a matmul of attention by AMX.
    Rows are f32, or bf16 for bf16 dot products. With an odd k the second half of the panel's last line is ignored. Several panels, [n/32, k/2, 64], give 32 columns
    each; their number may be dynamic. Works on tensors and, bufferized, on memory.

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
  let summary = "an int8 matmul on one quantized packed panel";
  let description = [{
    `dest[m, n] = sum over groups g of scale[g, n] scale[m, g] (sum_k value[k, n] value[m, k] - zero[g, n] sum_k value[m, k])`: a tile of a quantized `attn.linear`.
    `rows` is the result of `attn.quantize_rows`; `panel` is a panel of a weight of the type `weight` with `depth` rows, as QuantizedLayout.h lays it out.
    With `words` the rows' quantized values have 16 bits each; with `unpacked` the panel's codes of 4 bits have a byte each, [2 groups, bytes].
    A single row may be multiplied by several packed panels side by side, [panels, groups, bytes], into [1, 32 panels]. Works on tensors and, bufferized, on memory.

    ```mlir
    func.func @tile(%rows: tensor<4x128xi8>, %panel: tensor<2x1088xi8>, %dest: tensor<4x32xf32>) -> tensor<4x32xf32> {
      %y = attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0>
        : tensor<4x128xi8>, tensor<2x1088xi8>, tensor<4x32xf32> -> tensor<4x32xf32>
      return %y : tensor<4x32xf32>
    }
    ```
  }];
  let arguments = (ins TensorOrMemRef<[I8]>:$rows, TensorOrMemRef<[I8]>:$panel, TensorOrMemRef<[F32]>:$dest,
                       I64Attr:$depth, TypeAttrOf<Attn_QuantizedType>:$weight, UnitAttr:$words, UnitAttr:$unpacked);
  let results = (outs Variadic<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    $rows `,` $panel `,` $dest `depth` $depth `of` $weight (`words` $words^)? (`unpacked` $unpacked^)? attr-dict `:` type($rows) `,` type($panel) `,` type($dest)
    (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = "::mlir::MutableOperandRange getDpsInitsMutable() { return getDestMutable(); }";
}

def AttnCPU_CastRowsOp : AttnCPU_Op<"cast_rows", [Pure]> {
  let summary = "casts an activation to bf16";
  let description = [{
    Rounds each element to the nearest bf16, ties to even. Columns beyond those of the input, [m, k] or heads [m, h, k], are zero. The result is the first
    operand of bf16 dot-product matmuls; one cast serves all matmuls that read the input.

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

def AttnCPU_WriteLinesOp : AttnCPU_Op<"write_lines", [
    Pure, DestinationStyleOpInterface, InferTypeOpAdaptor, AttrSizedOperandSegments]> {
  let summary = "writes several vectors into a tensor";
  let description = [{
    Writes each vector along the last dim of `dest`, from its own indices in `at` on, in order; each lies within `dest`. It replaces a chain of as many
    `vector.transfer_write` ops: bufferization would compare each of those with every other, and follow the chain between them each time.

    ```mlir
    func.func @pack(%a: vector<8xf32>, %b: vector<8xf32>, %panel: tensor<64x32xf32>, %i: index, %j: index, %k: index) -> tensor<64x32xf32> {
      %y = attn_cpu.write_lines %a, %b into %panel at(%i, %k, %j, %k) : vector<8xf32> into tensor<64x32xf32>
      return %y : tensor<64x32xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<VectorOfRankAndType<[1], [AnyType]>>:$lines, RankedTensorOf<[AnyType]>:$dest, Variadic<Index>:$at);
  let results = (outs RankedTensorOf<[AnyType]>:$result);
  let assemblyFormat = "$lines `into` $dest `at` `(` $at `)` attr-dict `:` custom<TypeOfAll>(ref($lines), type($lines)) `into` type($dest)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The indices of line `i`, one for each dim of the destination.
    ::mlir::ValueRange getPlace(unsigned i);
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getDestMutable(); }
  }];
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
    One iteration of a tile of `attn.attention`: `attn.attention_state` of M queries and a KV block of B keys in packed panels.
    - query is [M, D]; key is [B/32, D, 32]; value is [DV/32, B, 32]; acc is [M, DV]; max (running max) and sum (running sum) are [M]. M and B may be dynamic.
    - Keys and values in bf16 are VNNI-packed, [B/32, D/2, 64] and [DV/32, B/2, 64].
    - `at(b, h, q, kv)` are the sequence, the head, and the absolute positions of the first query and the first key.
    - Keys at or beyond `limit` are masked: the last panel may have more keys than the sequence.
    - With `heads` above 1 the query has rows of several query heads of a group: M / `heads` queries, each of which has `heads` consecutive rows.
    - With `bf16_matmul` keys and values are bf16, and the scaled query and the probabilities are cast to bf16.
    - Without a score region max is in base-2 units. Only this op and `attn_cpu.attention_merge` read it.

    The map of an extra operand is a projected permutation of (q, kv), with 0 for other dims, whose extent is 1. q counts from the tile's first query, kv from the
    sequence's first key. An element beyond the extent of kv is 0. An extra operand that has dims and an empty map is a table of `attn.lookup`.

    `additive` is the vector of an additive similarity. It has D elements, or fewer where D is that number rounded up to a multiple of 32: the other channels are padding.

    The matmuls prefetch matrices that the caller reads or writes next: the first matmul those at even positions of `prefetch`, the second matmul those at odd positions, for writing.
    They prefetch the rows from `from` to `to`, in 65536ths of the number of rows.

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
                       Variadic<RankedTensorOf<[AnyFloat]>>:$prefetched, Optional<Index>:$from, Optional<Index>:$to,
                       RankedTensorOf<[F32]>:$acc, 1DTensorOf<[F32]>:$max, 1DTensorOf<[F32]>:$sum, OptionalAttr<AffineMapArrayAttr>:$extra_maps,
                       DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$heads, UnitAttr:$bf16_matmul);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $scale `at` `(` $b `,` $h `,` $q `,` $kv `)` (`limit` `(` $limit^ `)`)?
    (`extras` `(` $extras^ `:` type($extras) `)` `maps` $extra_maps)?
    (`additive` `(` $additive^ `:` type($additive) `)`)?
    (`prefetch` `(` $prefetched^ `:` type($prefetched) `)` `rows` `(` $from `,` $to `)`)? `init` `(` $acc `,` $max `,` $sum `)` attr-dict
    `:` type($query) `,` type($key) `,` type($value) `,` type($acc) `,` type($max) `,` type($sum)
    custom<NamedRegions>($score, $mask)
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = stateDeclaration # [{
    ::mlir::AffineMap getExtraMap(unsigned i) {
      return ::llvm::cast<::mlir::AffineMapAttr>((*getExtraMaps())[i]).getValue();
    }
    bool isTable(unsigned i);
    /// The number of queries, or kDynamic.
    int64_t getQueries();
  }];
}

def AttnCPU_AttentionMergeOp : AttnCPU_StateOp<"attention_merge"> {
  let summary = "combines the states of split-KV attention";
  let description = [{
    `attn.attention_merge` of states that `attn_cpu.attention_state` computed: combines those of P splits, in order, with (acc, max, sum). With `scored` the states
    have a score region, so that max is in natural units; else it is in base-2 units.

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
