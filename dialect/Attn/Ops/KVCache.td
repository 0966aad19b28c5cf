//===- KVCache.td - Keys and values of past positions -----------------*- tablegen -*-===//
#ifndef RAPT_ATTN_KVCACHE_TD
#define RAPT_ATTN_KVCACHE_TD

include "dialect/Attn/AttnInterfaces.td"
include "dialect/Attn/AttnTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_KVAppendOp : Attn_TensorOp<"kv_append", [Attn_HasChannels<>, Pure, Attn_HasCosts, AllTypesMatch<["cache", "result"]>]> {
  let summary = "writes keys and values of new tokens into the cache";
  let description = [{
    Token t of row r (`row_begin[r] <= t < row_begin[r + 1]`) is at position `p = past[r] + t - row_begin[r]`; its key and
    value go into block `table[r, p floordiv block]` at place `p mod block`, for every head, rounded to what the cache
    stores. Blocks written by a row belong to that row alone.

    ```mlir
    func.func @append(%cache: !attn.kv_cache<12 x 12 x 64, block = 64, f32>, %layer: index, %k: tensor<?x12x64xf32>,
                      %v: tensor<?x12x64xf32>, %row_begin: tensor<?xi32>, %past: tensor<?xi32>, %table: tensor<?x?xi32>)
        -> !attn.kv_cache<12 x 12 x 64, block = 64, f32> {
      %new = attn.kv_append %cache[%layer], %k, %v rows(%row_begin, %past, %table)
        : !attn.kv_cache<12 x 12 x 64, block = 64, f32>, tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
      return %new : !attn.kv_cache<12 x 12 x 64, block = 64, f32>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[Attn_KVCacheType, AnyRankedTensor]>:$cache, Index:$layer, Attn_RankedTensor:$key,
                       Attn_RankedTensor:$value, 1DTensorOf<[I32]>:$row_begin, 1DTensorOf<[I32]>:$past,
                       2DTensorOf<[I32]>:$table);
  let results = (outs AnyTypeOf<[Attn_KVCacheType, AnyRankedTensor]>:$result);
  let assemblyFormat = [{
    $cache `[` $layer `]` `,` $key `,` $value `rows` `(` $row_begin `,` $past `,` $table `)` attr-dict
    `:` type($cache) `,` type($key) `,` type($value) `,` type($row_begin) `,` type($past) `,` type($table)
  }];
  let hasVerifier = 1;
}

def Attn_KVViewOp : Attn_TensorOp<"kv_view", [Attn_HasChannels<>, Pure]> {
  let summary = "keys and values of one layer, by row and position";
  let description = [{
    `keys[r, p, h, :]` is the key of position p of row r. Positions at or beyond the row's length are unspecified and
    must be masked. It is a view: `attn.attention` reads the blocks through the table, no copy is made. Its elements are
    the cache's, and f32 where that stores i8. A cache in a target's layout does not tell block and channels apart, so the
    results' type is not inferred.

    ```mlir
    func.func @view(%cache: !attn.kv_cache<12 x 12 x 64, block = 64, f32>, %layer: index, %table: tensor<?x?xi32>)
        -> (tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32>) {
      %k, %v = attn.kv_view %cache[%layer], %table
        : !attn.kv_cache<12 x 12 x 64, block = 64, f32>, tensor<?x?xi32> -> tensor<?x?x12x64xf32>
      return %k, %v : tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[Attn_KVCacheType, AnyRankedTensor]>:$cache, Index:$layer, 2DTensorOf<[I32]>:$table);
  let results = (outs Attn_RankedTensor:$keys, Attn_RankedTensor:$values);
  let assemblyFormat = [{
    $cache `[` $layer `]` `,` $table attr-dict `:` type($cache) `,` type($table) `->` type($keys) custom<SameType>(type($values), ref(type($keys)))
  }];
  let hasVerifier = 1;
}

#endif
