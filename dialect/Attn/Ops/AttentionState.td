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
class Attn_StateOp<string mnemonic, list<Trait> traits = []> : Attn_TensorOp<mnemonic, !listconcat([
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
    Attn_ComputesElements, Attn_ScoreAndMaskOpInterface, RecursiveMemoryEffects, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<TilingInterface, ["getLoopIteratorTypes", "getIterationDomain", "getTiledImplementation",
        "getResultTilePosition", "getIterationDomainTileFromResultTile", "generateResultTileValue"]>,
    DeclareOpInterfaceMethods<PartialReductionOpInterface, ["generateInitialTensorForPartialReduction",
        "tileToPartialReduction", "mergeReductions", "getPartialResultTilePosition"]>]> {
  let summary = "attention of some queries and keys, as a state of online softmax";
  let description = [{
    The state of online softmax (Milakov and Gimelshein 2018) for m queries of one head, taken over n keys: with scores s (score and
    mask regions applied), `max' = max(max, max s)`, `sum' = sum * exp(max - max') + sum exp(s - max')`,
    `acc' = acc * exp(max - max') + exp(s - max') . value` (A35). The attention of all keys seen is `acc / sum`, and 0 where sum is 0 (A36).
    Any state may come before (A37); that of no keys is (0, the lowest finite number, 0), so that no difference is that of infinities (A13).

    query is [m, d], key [n, d], value [n, dv], acc [m, dv]; max and sum are [m]. `at(b, h, q, kv)` are the row, the head, and the absolute positions of the
    first query and key. The maps of extra operands are projected permutations of (q, kv), both counted from the first query and key, with 0
    for other dims, whose extent is 1; an empty map of a tensor that has dims is a table's. With `additive`, a vector of d elements, similarity is that of
    `attn.attention`.

    The op is tiled over (q, kv) (A39). Queries are parallel; keys are a reduction, which goes one tile after another through the state, or by parts at the same
    time, each from the empty state, merged by `attn.attention_merge` into the state before.

    ```mlir
    func.func @step(%q: tensor<?x64xf32>, %k: tensor<?x64xf32>, %v: tensor<?x80xf32>, %scale: f32, %i: index,
                    %acc: tensor<?x80xf32>, %m: tensor<?xf32>, %l: tensor<?xf32>)
        -> (tensor<?x80xf32>, tensor<?xf32>, tensor<?xf32>) {
      %0:3 = attn.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l)
        : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x80xf32>, tensor<?x80xf32>, tensor<?xf32>, tensor<?xf32>
      return %0#0, %0#1, %0#2 : tensor<?x80xf32>, tensor<?xf32>, tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32, BF16, F16]>:$query, RankedTensorOf<[F32, BF16, F16]>:$key, RankedTensorOf<[F32, BF16, F16]>:$value, F32:$scale,
                       Index:$b, Index:$h, Index:$q, Index:$kv, Variadic<RankedTensorOf<[AnyType]>>:$extras, Optional<1DTensorOf<[F32, BF16, F16]>>:$additive,
                       RankedTensorOf<[F32]>:$acc, 1DTensorOf<[F32]>:$max, 1DTensorOf<[F32]>:$sum, OptionalAttr<AffineMapArrayAttr>:$extra_maps);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $scale `at` `(` $b `,` $h `,` $q `,` $kv `)`
    (`extras` `(` $extras^ `:` type($extras) `)` `maps` $extra_maps)?
    (`additive` `(` $additive^ `:` type($additive) `)`)? `init` `(` $acc `,` $max `,` $sum `)` attr-dict
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

def Attn_AttentionMergeOp : Attn_StateOp<"attention_merge"> {
  let summary = "merges states of online softmax over disjoint keys";
  let description = [{
    Takes the states of P parts, `partial_acc` [P, M, DV], `partial_max` [P, M] and `partial_sum` [P, M], into the state (acc, max, sum):
    with `M' = max(max, max_p partial_max)`, `sum' = sum * exp(max - M') + sum_p partial_sum * exp(partial_max - M')`, and acc' alike (A37). That
    is the state after the keys of all parts and those of the initial state. A part without keys, (0, the lowest finite number, 0),
    changes nothing; neither does P = 0 (A38). The parts are taken in order.

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
                       RankedTensorOf<[F32]>:$acc, 1DTensorOf<[F32]>:$max, 1DTensorOf<[F32]>:$sum);
  let assemblyFormat = [{
    $partial_acc `,` $partial_max `,` $partial_sum `init` `(` $acc `,` $max `,` $sum `)` attr-dict
    `:` type($partial_acc) `,` type($partial_max) `,` type($partial_sum) `,` type($acc) `,` type($max) `,` type($sum)
  }];
  let extraClassDeclaration = stateDeclaration;
}

#endif
