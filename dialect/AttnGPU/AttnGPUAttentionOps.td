//===- AttnGPUAttentionOps.td - Attention of a thread block ------------*- tablegen -*-===//
#ifndef RAPT_ATTNGPU_ATTENTIONOPS_TD
#define RAPT_ATTNGPU_ATTENTIONOPS_TD

include "dialect/AttnGPU/AttnGPUInterfaces.td"
include "dialect/AttnGPU/AttnGPUMemoryOps.td"
include "dialect/AttnGPU/AttnGPUSchedules.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

defvar AttnGPU_Floats = [F32, BF16, F16];
class AttnGPU_Array<list<Type> elements, list<int> ranks> : AnyTypeOf<[TensorRankOf<elements, ranks>, MemRefRankOf<elements, ranks>]>;

def AttnGPU_RangeOp : AttnGPU_Op<"range", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "bounds of integers that a warp reads";
  let description = [{
    `low` is at most, and `high` at least, each of the numbers that the region gives for 0 to `count` - 1. They are the least and the largest of them where these are within 32 bits. The threads of a warp execute it together: each evaluates the
    region for every 32nd number.

    ```mlir
    func.func @documents(%ids: memref<?xi32>, %first: index, %count: index) -> (index, index) {
      %low, %high = attn_gpu.range %count {
      ^bb0(%i: index):
        %at = arith.addi %first, %i : index
        %id = memref.load %ids[%at] : memref<?xi32>
        %number = arith.index_cast %id : i32 to index
        attn_gpu.yield %number : index
      }
      return %low, %high : index, index
    }
    ```
  }];
  let arguments = (ins Index:$count);
  let results = (outs Index:$low, Index:$high);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count $body attr-dict";
  let hasVerifier = 1;
}

def AttnGPU_AttentionTileOp : AttnGPU_Op<"attention_tile", [
    AttnGPU_BlockTask, AttrSizedOperandSegments, DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, RecursiveMemoryEffects]> {
  let summary = "attention of a tile of queries, by a thread block";
  let description = [{
    `result = softmax(scale * query . key) . value` of one key/value head: query [queries, d] and result [queries, dv], or [queries, heads, d] and [queries, heads, dv] of the query heads of a group; the rows of the
    matmuls are the heads of the first query, then of the next, at most `rows`. `lse` gets the natural logarithm of the sums of exponentials; with `sum`, `lse` gets the largest score of each row and `sum` the
    sum of the exponentials of the distances to it, so that large scores swallow no sum. `sink`, [heads] or one number, has a logit without a value for each head.

    Key is [n, d] and value [n, dv]. With `table(%table, %first, %count)` they are in blocks of a cache, [blocks, positions, d] and [blocks, positions, dv]: key j is the one at position `first + j` of a sequence whose
    block i is block `table[i]` of the cache, and there are `count` of them.

    All threads of the block execute the op, as its `tiles` say. With the matmul `wgmma` four warps more copy keys and values.

    Queries, keys and values that are not all bf16, or all f16, are multiplied as f32 (`attn_gpu.multiply`). Their probabilities stay f32.

    With `wgmma`, `maps(%key_map at [...], %value_map at [...] if %made)` names tensor maps of the arrays that keys and values are in, if `made` says that they have some: TMA copies them then. The coordinates are those of the first key or value: channel, row
    and what other dims the array has.

    - `score(s, row, column)` maps a scaled score. Rows and columns count from the first query and key.
    - `mask(row, column)` tells whether a key counts for a query. The value of another one is not used, be it NaN.
    - `blocks(first, count)` tells of the keys from `first` on whether the mask keeps any of them for any query, and whether it keeps all of them for all: else the block is skipped, or its mask is not evaluated.

    Regions may read arrays from outside.

    ```mlir
    func.func @causal(%q: tensor<64x128xbf16>, %k: tensor<?x128xbf16>, %v: tensor<?x128xbf16>, %scale: f32, %o: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
      %0 = attn_gpu.attention_tile %q, %k, %v scale %scale outs(%o : tensor<64x128xbf16>) tiles <rows = 64, keys = 64, warps = 4>
          : tensor<64x128xbf16>, tensor<?x128xbf16>, tensor<?x128xbf16> -> tensor<64x128xbf16> mask {
      ^bb0(%row: index, %column: index):
        %keep = arith.cmpi sle, %column, %row : index
        attn_gpu.yield %keep : i1
      }
      return %0 : tensor<64x128xbf16>
    }
    ```
  }];
  let arguments = (ins AttnGPU_Array<AttnGPU_Floats, [2, 3]>:$query, AttnGPU_Array<AttnGPU_Floats, [2, 3]>:$key, AttnGPU_Array<AttnGPU_Floats, [2, 3]>:$value, F32:$scale,
                       Optional<AttnGPU_Array<[I32], [1]>>:$table, Optional<Index>:$first, Optional<Index>:$count,
                       Optional<AttnGPU_MapPointer>:$keyMap, Variadic<Index>:$keyAt, Optional<AttnGPU_MapPointer>:$valueMap, Variadic<Index>:$valueAt, Optional<I1>:$made,
                       Optional<AttnGPU_Array<AttnGPU_Floats, [1]>>:$sink,
                       AttnGPU_Array<AttnGPU_Floats, [2, 3]>:$result, Optional<AttnGPU_Array<[F32], [1, 2]>>:$lse, Optional<AttnGPU_Array<[F32], [1, 2]>>:$sum,
                       AttnGPU_AttentionTilesAttr:$tiles);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$score, AnyRegion:$mask, AnyRegion:$blocks);
  let assemblyFormat = [{
    $query `,` $key `,` $value `scale` $scale (`table` `(` $table^ `,` $first `,` $count `:` type($table) `)`)?
    (`maps` `(` $keyMap^ `at` `[` $keyAt `]` `,` $valueMap `at` `[` $valueAt `]` `if` $made `:` type($keyMap) `,` type($valueMap) `)`)? (`sink` `(` $sink^ `:` type($sink) `)`)?
    `outs` `(` $result (`,` $lse^)? `:` type($result) (`,` type($lse)^)? `)` (`sum` `(` $sum^ `:` type($sum) `)`)? `tiles` $tiles attr-dict
    `:` type($query) `,` type($key) `,` type($value) (`->` type($results)^)? custom<TileRegions>($score, $mask, $blocks)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      const unsigned count = 1 + (getLse() ? 1 : 0) + (getSum() ? 1 : 0);
      return ::mlir::MutableOperandRange(*this, getNumOperands() - count, count);
    }
    /// Query heads of a group.
    int64_t getHeads();
    /// Channels of queries and keys, and of values.
    int64_t getChannels();
    int64_t getValueChannels();
    /// The threads that execute it, and the shared memory that they need.
    int64_t getThreads();
    int64_t getSharedBytes();
    /// Whether four warps more copy keys and values, and TMA does where it can.
    bool isOfWarpgroups() { return getTiles().getMatmul() == MatmulKind::wgmma; }
    /// Those that copy keys and values: all, or the first ones.
    int64_t getCopyingThreads();
    /// Whether its numbers are multiplied as f32.
    bool multipliesFloats();
    /// Blocks of keys, and of values, in shared memory at a time.
    int64_t getStages();
    /// The tiles in shared memory.
    TileType getQueryTile();
    TileType getKeyTile();
    TileType getValueTile();
    /// The probabilities of a block of keys, in f32: of a tile that multiplies f32 alone.
    TileType getProbabilityTile();
  }];
}

#endif
