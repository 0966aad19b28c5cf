// Attention of bf16 with a causal mask and a window of 1,024 keys, timed by tools/dev/gpu-check. Operands are [batch, tokens, heads, channels].
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dv)>
!x = tensor<?x?x?x128xbf16>
module {
  attn.dim @batch min 1 max 1024
  attn.dim @tokens min 1 max 1048576
  attn.dim @heads min 1 max 1024
  func.func @attention(%q: !x {attn.name = "q", attn.dims = ["batch", "tokens", "heads"]}, %k: !x {attn.name = "k", attn.dims = ["batch", "tokens", "heads"]},
                       %v: !x {attn.name = "v", attn.dims = ["batch", "tokens", "heads"]}) -> (!x {attn.name = "o", attn.dims = ["batch", "tokens", "heads"]}) attributes {attn.entry} {
    %scale = arith.constant 0.0883883461 : f32
    %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : !x, !x, !x -> !x mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %window = arith.constant 1024 : index
      %causal = arith.cmpi sle, %j, %i : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %window : index
      %keep = arith.andi %causal, %near : i1
      attn.yield %keep : i1
    }
    return %o : !x
  }
}
