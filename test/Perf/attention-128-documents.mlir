// Attention of bf16 over packed documents: a token sees the earlier ones of its document, timed by tools/dev/gpu-check. Operands are [batch, tokens, heads, channels].
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dv)>
#ofq = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q)>
#ofk = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv)>
!x = tensor<?x?x?x128xbf16>
module {
  attn.dim @batch min 1 max 1024
  attn.dim @tokens min 1 max 1048576
  attn.dim @heads min 1 max 1024
  func.func @attention(%q: !x {attn.name = "q", attn.dims = ["batch", "tokens", "heads"]}, %k: !x {attn.name = "k", attn.dims = ["batch", "tokens", "heads"]},
                       %v: !x {attn.name = "v", attn.dims = ["batch", "tokens", "heads"]}, %document: tensor<?x?xi32> {attn.name = "document", attn.dims = ["batch", "tokens"]}) -> (!x {attn.name = "o", attn.dims = ["batch", "tokens", "heads"]}) attributes {attn.entry} {
    %scale = arith.constant 0.0883883461 : f32
    %o = attn.attention %q, %k, %v, %scale
      extras(%document, %document : tensor<?x?xi32>, tensor<?x?xi32>) maps [#q, #k, #v, #o, #ofq, #ofk] : !x, !x, !x -> !x mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %of_query: i32, %of_key: i32):
      %causal = arith.cmpi sle, %j, %i : index
      %same = arith.cmpi eq, %of_query, %of_key : i32
      %keep = arith.andi %causal, %same : i1
      attn.yield %keep : i1
    }
    return %o : !x
  }
}
