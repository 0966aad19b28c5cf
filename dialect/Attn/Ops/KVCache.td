//===- KVCache.td - Keys and values of past positions -----------------*- tablegen -*-===//
#ifndef RAPT_ATTN_KVCACHE_TD
#define RAPT_ATTN_KVCACHE_TD

include "dialect/Attn/AttnAttrInterfaces.td"
include "dialect/Attn/AttnInterfaces.td"
include "dialect/Attn/AttnTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_KVAppendOp : Attn_TensorOp<"kv_append", [Attn_HasElementTypes<["getElementUse", "getElementSource", "getEqualTypes"]>, Attn_HasChannels<["getResultChannelsDim"]>, Pure, Attn_HasCosts, InferTypeOpAdaptor]> {
  let summary = "writes keys and values of new tokens into the cache";
  let description = [{
    Token t of row r (`row_begin[r] <= t < row_begin[r + 1]`) is at position `p = past[r] + t - row_begin[r]`; its key and
    value go into block `table[r, p floordiv block]` at place `p mod block`, for every head, rounded to what the cache
    stores. Blocks written by a row belong to that row alone.

    `layer` counts within the segment of the cache that `segment` names, the first one without it. The number is in the op, as types of
    keys and values depend on it: a loop over layers runs over those of one segment.

    From the stage laid-out on the cache is memory of equal layers, which lies as `layout` says. Where a target keeps keys and values
    apart, the values' memory is an operand of its own, `values`.

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
                       2DTensorOf<[I32]>:$table, Optional<AnyRankedTensor>:$value_cache,
                       OptionalAttr<Attn_CacheLayoutInterface>:$layout, DefaultValuedAttr<I64Attr, "0">:$segment);
  let results = (outs AnyTypeOf<[Attn_KVCacheType, AnyRankedTensor]>:$result, Optional<AnyRankedTensor>:$value_result);
  let builders = [OpBuilder<(ins "::mlir::Value":$cache, "::mlir::Value":$layer, "::mlir::Value":$key, "::mlir::Value":$value, "::mlir::Value":$row_begin,
                                 "::mlir::Value":$past, "::mlir::Value":$table), [{
    build($_builder, $_state, cache, layer, key, value, row_begin, past, table, /*value_cache=*/::mlir::Value(), /*layout=*/nullptr, /*segment=*/0);
  }]>];
  let assemblyFormat = [{
    $cache (`values` $value_cache^)? `[` $layer `]` (`segment` $segment^)? `,` $key `,` $value `rows` `(` $row_begin `,` $past `,` $table `)`
    attr-dict `:` type($cache) (`values` type($value_cache)^)? `,` type($key) `,` type($value) `,` type($row_begin) `,` type($past) `,` type($table)
  }];
  let extraClassDeclaration = [{
    /// The memory of values, in a target's layout that of keys, too, or their own.
    ::mlir::Value getValuePool() { return getValueCache() ? getValueCache() : getCache(); }
  }];
  let hasVerifier = 1;
}

def Attn_KVViewOp : Attn_TensorOp<"kv_view", [Attn_HasElementTypes<["getElementUse", "getElementSource"]>, Attn_HasChannels<>, Pure]> {
  let summary = "keys and values of one layer, by row and position";
  let description = [{
    `keys[r, p, h, :]` is the key of position p of row r. Positions at or beyond the row's length are unspecified and
    must be masked. It is a view: `attn.attention` reads the blocks through the table, no copy is made. Its elements are
    the cache's, and f32 where that stores i8. A target may pad the channels, so the results' types are not inferred. `layer`, `segment`, `layout` and
    `values` are as in `attn.kv_append`.

    ```mlir
    func.func @view(%cache: !attn.kv_cache<12 x 12 x 64, block = 64, f32>, %layer: index, %table: tensor<?x?xi32>)
        -> (tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32>) {
      %k, %v = attn.kv_view %cache[%layer], %table
        : !attn.kv_cache<12 x 12 x 64, block = 64, f32>, tensor<?x?xi32> -> tensor<?x?x12x64xf32>
      return %k, %v : tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32>
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[Attn_KVCacheType, AnyRankedTensor]>:$cache, Index:$layer, 2DTensorOf<[I32]>:$table,
                       Optional<AnyRankedTensor>:$value_cache, OptionalAttr<Attn_CacheLayoutInterface>:$layout,
                       DefaultValuedAttr<I64Attr, "0">:$segment);
  let results = (outs Attn_RankedTensor:$keys, Attn_RankedTensor:$values);
  let builders = [OpBuilder<(ins "::mlir::Type":$keys, "::mlir::Type":$values, "::mlir::Value":$cache, "::mlir::Value":$layer, "::mlir::Value":$table), [{
    build($_builder, $_state, keys, values, cache, layer, table, /*value_cache=*/::mlir::Value(), /*layout=*/nullptr, /*segment=*/0);
  }]>];
  let assemblyFormat = [{
    $cache (`values` $value_cache^)? `[` $layer `]` (`segment` $segment^)? `,` $table attr-dict
    `:` type($cache) (`values` type($value_cache)^)? `,` type($table) `->` custom<KeysAndValues>(type($keys), type($values))
  }];
  let extraClassDeclaration = [{
    ::mlir::Value getValuePool() { return getValueCache() ? getValueCache() : getCache(); }
  }];
  let hasVerifier = 1;
}

def Attn_CachePartsOp : Attn_TensorOp<"cache_parts", [Attn_StaysInTiles, Pure]> {
  let summary = "the memory of a cache whose layers, or keys and values, differ, as tensors of its parts";
  let description = [{
    From the stage laid-out on, such a cache is a tensor of bytes, [blocks, bytes of a block]. Part i has in each block its bytes from `at[i]` on, a
    multiple of 64; parts do not overlap. They are views of the cache: an entry gets them at its begin and gives them
    back by `attn.cache_join`, and all ops between work on tensors of their own type.

    ```mlir
    func.func @parts(%cache: tensor<?x4096xi8> {attn.name = "cache"}) -> tensor<?x4096xi8> {
      %keys, %values = attn.cache_parts %cache at [0, 2048]
        : tensor<?x4096xi8> -> tensor<?x1x1x1x32x32xbf16>, tensor<?x1x1x1x16x32xf32>
      %joined = attn.cache_join %keys, %values into %cache at [0, 2048]
        : tensor<?x1x1x1x32x32xbf16>, tensor<?x1x1x1x16x32xf32> into tensor<?x4096xi8>
      return %joined : tensor<?x4096xi8>
    }
    ```
  }];
  let arguments = (ins 2DTensorOf<[I8]>:$cache, DenseI64ArrayAttr:$at);
  let results = (outs Variadic<AnyRankedTensor>:$parts);
  let assemblyFormat = "$cache `at` $at attr-dict `:` type($cache) `->` type($parts)";
  let hasVerifier = 1;
}

def Attn_CacheJoinOp : Attn_TensorOp<"cache_join", [Attn_StaysInTiles, Pure, AllTypesMatch<["cache", "result"]>]> {
  let summary = "a cache from its parts, updated in place";
  let description = [{
    The cache whose parts, as `attn.cache_parts` gave them, have become `parts`.

    ```mlir
    func.func @join(%cache: tensor<?x4096xi8>, %keys: tensor<?x1x1x1x32x32xbf16>, %values: tensor<?x1x1x1x16x32xf32>) -> tensor<?x4096xi8> {
      %joined = attn.cache_join %keys, %values into %cache at [0, 2048]
        : tensor<?x1x1x1x32x32xbf16>, tensor<?x1x1x1x16x32xf32> into tensor<?x4096xi8>
      return %joined : tensor<?x4096xi8>
    }
    ```
  }];
  let arguments = (ins 2DTensorOf<[I8]>:$cache, Variadic<AnyRankedTensor>:$parts, DenseI64ArrayAttr:$at);
  let results = (outs 2DTensorOf<[I8]>:$result);
  let assemblyFormat = "$parts `into` $cache `at` $at attr-dict `:` type($parts) `into` type($cache)";
  let hasVerifier = 1;
}

#endif
