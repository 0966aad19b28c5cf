// Attention of bf16 with scores capped at 30 and a causal mask, as Gemma 2 has it, timed by tools/dev/gpu-check. Operands are [batch, tokens, heads, channels].
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
    %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o] : !x, !x, !x -> !x score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %cap = arith.constant 30.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x : f32
      %y = arith.mulf %t, %cap : f32
      attn.yield %y : f32
    } mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %keep = arith.cmpi sle, %j, %i : index
      attn.yield %keep : i1
    }
    return %o : !x
  }
}
