#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
attn.dim @tokens min 0 max 4096
attn.dim @rows min 1 max 64
func.func @attend(%q: tensor<?x4x32xf32> {attn.name = "q", attn.dims = ["tokens"]}, %k: tensor<?x4x32xf32> {attn.name = "k", attn.dims = ["tokens"]},
                  %v: tensor<?x4x32xf32> {attn.name = "v", attn.dims = ["tokens"]}, %rows: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]})
    -> (tensor<?x4x32xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %y = attn.attention %q, %k, %v, %scale q_begin(%rows : tensor<?xi32>) kv_begin(%rows : tensor<?xi32>) maps [#q, #k, #v, #o]
    : tensor<?x4x32xf32>, tensor<?x4x32xf32>, tensor<?x4x32xf32> -> tensor<?x4x32xf32>
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
  return %y : tensor<?x4x32xf32>
}
