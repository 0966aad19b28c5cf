#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
!cache = !attn.kv_cache<1 x 4 x 64, block = 48, f32>
func.func @read(%cache: !cache, %table: tensor<?x?xi32>, %q: tensor<?x4x64xf32>, %begin: tensor<?xi32>, %past: tensor<?xi32>) -> tensor<?x4x64xf32> {
  %l = arith.constant 0 : index
  %s = arith.constant 1.0 : f32
  %keys, %values = attn.kv_view %cache[%l], %table : !cache, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  %o = attn.attention %q, %keys, %values, %s q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#q, #k, #v, #o]
    : tensor<?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x64xf32>
  return %o : tensor<?x4x64xf32>
}
