//===- AttentionState.td - Attention by tiles and by parts --------------*- tablegen -*-===//
#ifndef RAPT_ATTN_ATTENTIONSTATE_TD
#define RAPT_ATTN_ATTENTIONSTATE_TD

include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"

/// The results are the state of the operands acc, max and sum, the last three, and have their types.
class Attn_StateOp<string mnemonic, list<Trait> traits> : Attn_TensorOp<mnemonic, !listconcat([
    Pure, DestinationStyleOpInterface, InferTypeOpAdaptor], traits)> {
  let results = (outs RankedTensorOf<[F32]>:$newAcc, 1DTensorOf<[F32]>:$newMax, 1DTensorOf<[F32]>:$newSum);
  let hasVerifier = 1;
  code stateDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(*this, getNumOperands() - 3, 3);
    }
  }];
}

def Attn_AttentionStateOp : Attn_StateOp<"attention_state", [
    Attn_StaysInTiles, RecursiveMemoryEffects, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<TilingInterface, ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
        "getResultTilePosition", "getIterationDomainTileFromResultTile", "generateResultTileValue"]>,
    DeclareOpInterfaceMethods<PartialReductionOpInterface, ["generateInitialTensorForPartialReduction",
        "tileToPartialReduction", "mergeReductions", "getPartialResultTilePosition"]>]> {
  let summary = "one step of online softmax over a block of keys";
  let description = [{
    The state of online softmax (Milakov and Gimelshein 2018) for M queries of one head, taken over a block of B keys:
    with scores s (score and mask regions applied), `m' = max(m, max s)`, `sum' = sum * exp(m - m') + sum exp(s - m')`,
    `acc' = acc * exp(m - m') + exp(s - m') . value`. The attention of all keys seen is `acc / sum`, and 0 where sum is 0.
    `max` starts from the lowest finite number. Without a score region it is kept in units of base-2 logarithms once the op is
    decomposed: only the op itself and `attn.attention_merge` read it.

    query is [M, D]; key is in panels [B/32, D, 32]; value is in panels [DV/32, B, 32]; acc is [M, DV]; max and sum are [M].
    Keys and values in bf16 may lie in pairs, [B/32, D/2, 64] and [DV/32, B/2, 64]. With `one_position` all queries, those of a
    group of heads, are at `q`, and there are no extra operands. With `paired`, keys and values are in pairs, and the scaled query and the
    probabilities are rounded to bf16, as in `attn.attention`.
    M and B may be dynamic. `at(b, h, q, kv)` are the row, the head, and the absolute positions of the first query and key.
    Keys at or beyond `limit` are masked. The maps of extra operands are projected permutations of (q, kv), q counted from the
    tile's first query and kv from the row's first key, with 0 for other dims, whose extent is 1; beyond the extent of kv an element
    is 0. An empty map of a tensor that has dims is a table's. With `additive`, a vector of D elements, or of fewer where D is their number rounded up to a multiple of 32,
    similarity is that of `attn.attention`; the channels beyond the vector's end are padding.

    `ahead` are matrices that the caller reads (those at even places) or writes (or reads, at odd ones) next: the part of their
    rows from `from` to `to`, in 65536ths, is prefetched meanwhile, during the first and the second product.

    The op is tiled over (queries, panels of 32 keys). Queries are parallel; panels are a reduction, which goes one tile
    after another through the state, or by parts at the same time, each from the empty state (0, the lowest finite number, 0),
    merged by `attn.attention_merge`.

    ```mlir
    func.func @step(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index,
                    %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>)
        -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
      %0:3 = attn.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l)
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
  let hasRegionVerifier = 1;
}

def Attn_AttentionMergeOp : Attn_StateOp<"attention_merge", [Attn_StaysInTiles]> {
  let summary = "merges states of online softmax over disjoint keys";
  let description = [{
    Takes the states of P parts, `partial_acc` [P, M, DV], `partial_max` [P, M] and `partial_sum` [P, M], into the state (acc, max, sum):
    with `M' = max(max, max_p partial_max)`, `sum' = sum * exp(max - M') + sum_p partial_sum * exp(partial_max - M')`, and acc' alike. That
    is the state after the keys of all parts and those of the initial state. A part without keys, (0, the lowest finite number, 0),
    changes nothing; neither does P = 0. The parts are taken in order. `scored`: the states are of steps with a score region; what
    the steps' maxima are kept in once they are decomposed follows from that.

    ```mlir
    func.func @merge(%accs: tensor<4x8x64xf32>, %ms: tensor<4x8xf32>, %ls: tensor<4x8xf32>, %acc: tensor<8x64xf32>,
                     %m: tensor<8xf32>, %l: tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
      %0:3 = attn.attention_merge %accs, %ms, %ls init(%acc, %m, %l)
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
