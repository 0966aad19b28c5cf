// Attention of head sizes as models have them, of which one kernel is made each.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
attn.dim @queries min 1 max 65536
attn.dim @keys min 1 max 65536
func.func @dense_64_64_1_bf16(%q: tensor<?x8x1x64xbf16> {attn.name = "q", attn.dims = ["queries"]}, %k: tensor<?x8x64xbf16> {attn.name = "k", attn.dims = ["keys"]},
    %v: tensor<?x8x64xbf16> {attn.name = "v", attn.dims = ["keys"]}) -> (tensor<?x8x1x64xbf16> {attn.name = "o", attn.dims = ["queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x8x1x64xbf16>, tensor<?x8x64xbf16>, tensor<?x8x64xbf16> -> tensor<?x8x1x64xbf16>
  return %o : tensor<?x8x1x64xbf16>
}
func.func @causal_64_64_1_f16(%q: tensor<?x8x1x64xf16> {attn.name = "q", attn.dims = ["queries"]}, %k: tensor<?x8x64xf16> {attn.name = "k", attn.dims = ["keys"]},
    %v: tensor<?x8x64xf16> {attn.name = "v", attn.dims = ["keys"]}) -> (tensor<?x8x1x64xf16> {attn.name = "o", attn.dims = ["queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x8x1x64xf16>, tensor<?x8x64xf16>, tensor<?x8x64xf16> -> tensor<?x8x1x64xf16> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x8x1x64xf16>
}
func.func @dense_128_128_1_bf16(%q: tensor<?x8x1x128xbf16> {attn.name = "q", attn.dims = ["queries"]}, %k: tensor<?x8x128xbf16> {attn.name = "k", attn.dims = ["keys"]},
    %v: tensor<?x8x128xbf16> {attn.name = "v", attn.dims = ["keys"]}) -> (tensor<?x8x1x128xbf16> {attn.name = "o", attn.dims = ["queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x8x1x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16> -> tensor<?x8x1x128xbf16>
  return %o : tensor<?x8x1x128xbf16>
}
func.func @causal_128_128_1_bf16(%q: tensor<?x8x1x128xbf16> {attn.name = "q", attn.dims = ["queries"]}, %k: tensor<?x8x128xbf16> {attn.name = "k", attn.dims = ["keys"]},
    %v: tensor<?x8x128xbf16> {attn.name = "v", attn.dims = ["keys"]}) -> (tensor<?x8x1x128xbf16> {attn.name = "o", attn.dims = ["queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x8x1x128xbf16>, tensor<?x8x128xbf16>, tensor<?x8x128xbf16> -> tensor<?x8x1x128xbf16> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x8x1x128xbf16>
}
