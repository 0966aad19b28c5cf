// Attention of head sizes as models have them, of which one kernel is made each.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dv)>
attn.dim @rows min 1 max 64
attn.dim @queries min 1 max 65536
attn.dim @keys min 1 max 65536
func.func @dense_64_64_1_f32(%q: tensor<?x?x8x1x64xf32> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x64xf32> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x64xf32> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x64xf32> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32> -> tensor<?x?x8x1x64xf32>
  return %o : tensor<?x?x8x1x64xf32>
}
func.func @causal_64_64_4_f32(%q: tensor<?x?x8x4x64xf32> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x64xf32> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x64xf32> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x4x64xf32> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x4x64xf32>, tensor<?x?x8x64xf32>, tensor<?x?x8x64xf32> -> tensor<?x?x8x4x64xf32> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x?x8x4x64xf32>
}
func.func @causal_80_80_1_f32(%q: tensor<?x?x8x1x80xf32> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x80xf32> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x80xf32> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x80xf32> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x80xf32>, tensor<?x?x8x80xf32>, tensor<?x?x8x80xf32> -> tensor<?x?x8x1x80xf32> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x?x8x1x80xf32>
}
func.func @dense_96_96_1_f32(%q: tensor<?x?x8x1x96xf32> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x96xf32> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x96xf32> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x96xf32> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x96xf32>, tensor<?x?x8x96xf32>, tensor<?x?x8x96xf32> -> tensor<?x?x8x1x96xf32>
  return %o : tensor<?x?x8x1x96xf32>
}
func.func @dense_128_128_1_f32(%q: tensor<?x?x8x1x128xf32> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x128xf32> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x128xf32> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x128xf32> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x128xf32>, tensor<?x?x8x128xf32>, tensor<?x?x8x128xf32> -> tensor<?x?x8x1x128xf32>
  return %o : tensor<?x?x8x1x128xf32>
}
func.func @causal_128_128_8_f32(%q: tensor<?x?x8x8x128xf32> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x128xf32> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x128xf32> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x8x128xf32> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x8x128xf32>, tensor<?x?x8x128xf32>, tensor<?x?x8x128xf32> -> tensor<?x?x8x8x128xf32> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x?x8x8x128xf32>
}
func.func @causal_192_128_1_f32(%q: tensor<?x?x8x1x192xf32> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x192xf32> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x128xf32> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x128xf32> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x192xf32>, tensor<?x?x8x192xf32>, tensor<?x?x8x128xf32> -> tensor<?x?x8x1x128xf32> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x?x8x1x128xf32>
}
