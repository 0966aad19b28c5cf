// Attention of head sizes as models have them, of which one kernel is made each.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dv)>
attn.dim @rows min 1 max 64
attn.dim @queries min 1 max 65536
attn.dim @keys min 1 max 65536
func.func @dense_64_64_1_bf16(%q: tensor<?x?x8x1x64xbf16> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x64xbf16> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x64xbf16> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x64xbf16> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x64xbf16>, tensor<?x?x8x64xbf16>, tensor<?x?x8x64xbf16> -> tensor<?x?x8x1x64xbf16>
  return %o : tensor<?x?x8x1x64xbf16>
}
func.func @causal_64_64_4_bf16(%q: tensor<?x?x8x4x64xbf16> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x64xbf16> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x64xbf16> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x4x64xbf16> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x4x64xbf16>, tensor<?x?x8x64xbf16>, tensor<?x?x8x64xbf16> -> tensor<?x?x8x4x64xbf16> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x?x8x4x64xbf16>
}
func.func @causal_80_80_1_f16(%q: tensor<?x?x8x1x80xf16> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x80xf16> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x80xf16> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x80xf16> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x80xf16>, tensor<?x?x8x80xf16>, tensor<?x?x8x80xf16> -> tensor<?x?x8x1x80xf16> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x?x8x1x80xf16>
}
func.func @dense_96_96_1_bf16(%q: tensor<?x?x8x1x96xbf16> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x96xbf16> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x96xbf16> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x96xbf16> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x96xbf16>, tensor<?x?x8x96xbf16>, tensor<?x?x8x96xbf16> -> tensor<?x?x8x1x96xbf16>
  return %o : tensor<?x?x8x1x96xbf16>
}
func.func @dense_128_128_1_bf16(%q: tensor<?x?x8x1x128xbf16> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x128xbf16> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x128xbf16> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x128xbf16> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16> -> tensor<?x?x8x1x128xbf16>
  return %o : tensor<?x?x8x1x128xbf16>
}
func.func @causal_128_128_8_bf16(%q: tensor<?x?x8x8x128xbf16> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x128xbf16> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x128xbf16> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x8x128xbf16> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x8x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8x128xbf16> -> tensor<?x?x8x8x128xbf16> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x?x8x8x128xbf16>
}
func.func @causal_192_128_1_bf16(%q: tensor<?x?x8x1x192xbf16> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x192xbf16> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x128xbf16> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x128xbf16> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x192xbf16>, tensor<?x?x8x192xbf16>, tensor<?x?x8x128xbf16> -> tensor<?x?x8x1x128xbf16> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x?x8x1x128xbf16>
}
func.func @dense_256_256_1_bf16(%q: tensor<?x?x8x1x256xbf16> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x256xbf16> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x256xbf16> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x256xbf16> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x256xbf16>, tensor<?x?x8x256xbf16>, tensor<?x?x8x256xbf16> -> tensor<?x?x8x1x256xbf16>
  return %o : tensor<?x?x8x1x256xbf16>
}
func.func @causal_256_256_1_bf16(%q: tensor<?x?x8x1x256xbf16> {attn.name = "q", attn.dims = ["rows", "queries"]}, %k: tensor<?x?x8x256xbf16> {attn.name = "k", attn.dims = ["rows", "keys"]},
    %v: tensor<?x?x8x256xbf16> {attn.name = "v", attn.dims = ["rows", "keys"]}) -> (tensor<?x?x8x1x256xbf16> {attn.name = "o", attn.dims = ["rows", "queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.125 : f32
  %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : tensor<?x?x8x1x256xbf16>, tensor<?x?x8x256xbf16>, tensor<?x?x8x256xbf16> -> tensor<?x?x8x1x256xbf16> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : tensor<?x?x8x1x256xbf16>
}
