// One query of bf16 for each sequence, 8 query heads to a head of keys, timed by tools/dev/gpu-check: the bytes of keys and values bound it.
// Queries are [batch, heads of keys, 8, channels], keys and values [batch, tokens, heads of keys, channels].
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, g, dv)>
!q = tensor<?x1x?x8x128xbf16>
!k = tensor<?x?x?x128xbf16>
module {
  attn.dim @batch min 1 max 1024
  attn.dim @tokens min 1 max 1048576
  attn.dim @heads min 1 max 1024
  func.func @attention(%q: !q {attn.name = "q", attn.dims = ["batch", "heads"]}, %k: !k {attn.name = "k", attn.dims = ["batch", "tokens", "heads"]},
                       %v: !k {attn.name = "v", attn.dims = ["batch", "tokens", "heads"]}) -> (!q {attn.name = "o", attn.dims = ["batch", "heads"]}) attributes {attn.entry} {
    %scale = arith.constant 0.0883883461 : f32
    %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : !q, !k, !k -> !q
    return %o : !q
  }
}
