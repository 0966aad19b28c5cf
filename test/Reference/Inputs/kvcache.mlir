// Appends to both layers of a cache in two steps, and looks at each.
!cache = !attn.kv_cache<2 x 3 x 5, block = 32, f32>
!low = !attn.kv_cache<2 x 3 x 5, block = 32, bf16>
func.func @append(%cache: !cache {attn.name = "cache"}, %k0: tensor<?x3x5xf32> {attn.name = "k0"}, %v0: tensor<?x3x5xf32> {attn.name = "v0"},
                  %k1: tensor<?x3x5xf32> {attn.name = "k1"}, %v1: tensor<?x3x5xf32> {attn.name = "v1"}, %begin: tensor<?xi32> {attn.name = "begin"},
                  %past: tensor<?xi32> {attn.name = "past"}, %table: tensor<?x?xi32> {attn.name = "table"}, %again: tensor<?x3x5xf32> {attn.name = "again"},
                  %begin2: tensor<?xi32> {attn.name = "begin2"}, %past2: tensor<?xi32> {attn.name = "past2"})
    -> (tensor<?x?x3x5xf32> {attn.name = "keys0"}, tensor<?x?x3x5xf32> {attn.name = "values0"}, tensor<?x?x3x5xf32> {attn.name = "keys1"},
        tensor<?x?x3x5xf32> {attn.name = "values1"}, tensor<?x?x3x5xf32> {attn.name = "before"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = attn.kv_append %cache[%c0], %k0, %v0 rows(%begin, %past, %table)
    : !cache, tensor<?x3x5xf32>, tensor<?x3x5xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %1 = attn.kv_append %0[%c1], %k1, %v1 rows(%begin, %past, %table)
    : !cache, tensor<?x3x5xf32>, tensor<?x3x5xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %2 = attn.kv_append %1[%c1], %again, %again rows(%begin2, %past2, %table)
    : !cache, tensor<?x3x5xf32>, tensor<?x3x5xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %keys0, %values0 = attn.kv_view %2[%c0], %table : !cache, tensor<?x?xi32> -> tensor<?x?x3x5xf32>
  %keys1, %values1 = attn.kv_view %2[%c1], %table : !cache, tensor<?x?xi32> -> tensor<?x?x3x5xf32>
  %before, %unused = attn.kv_view %1[%c1], %table : !cache, tensor<?x?xi32> -> tensor<?x?x3x5xf32>
  return %keys0, %values0, %keys1, %values1, %before : tensor<?x?x3x5xf32>, tensor<?x?x3x5xf32>, tensor<?x?x3x5xf32>, tensor<?x?x3x5xf32>, tensor<?x?x3x5xf32>
}
func.func @low(%cache: !low, %k: tensor<?x3x5xf32> {attn.name = "k"}, %begin: tensor<?xi32> {attn.name = "begin"}, %past: tensor<?xi32> {attn.name = "past"},
               %table: tensor<?x?xi32> {attn.name = "table"}) -> tensor<?x?x3x5xbf16> {
  %c0 = arith.constant 0 : index
  %0 = attn.kv_append %cache[%c0], %k, %k rows(%begin, %past, %table)
    : !low, tensor<?x3x5xf32>, tensor<?x3x5xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  %keys, %values = attn.kv_view %0[%c0], %table : !low, tensor<?x?xi32> -> tensor<?x?x3x5xbf16>
  return %keys : tensor<?x?x3x5xbf16>
}
