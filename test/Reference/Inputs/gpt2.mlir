// A 2-layer gpt2 (hidden 64, 4 heads of 16, vocabulary 97, tied head) at the stage imported.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
!cache = !attn.kv_cache<2 x 4 x 16, block = 64, f32>
module @gpt2 attributes {attn.stage = "imported", attn.model = {family = "gpt2", task = "decoder", layers = 2 : i64, hidden = 64 : i64, heads = 4 : i64, kv_heads = 4 : i64, head_dim = 16 : i64, vocab = 97 : i64, positions = 128 : i64, parameters = 114560 : i64, source_dtype = "f32", eos = [96]}} {
  attn.dim @tokens min 0 max 65536
  attn.dim @rows min 1 max 64
  attn.dim @wanted min 0 max 65536
  attn.dim @table min 1 max 2
  attn.dim @blocks min 1 max 1048576
  attn.parameter @wte : tensor<97x64xf32> from [#attn.source<"wte.weight">]
  attn.parameter @wpe : tensor<128x64xf32> from [#attn.source<"wpe.weight">]
  attn.parameter @ln_1.weight layers 2 : tensor<2x64xf32> from [#attn.source<"h.{layer}.ln_1.weight">]
  attn.parameter @ln_1.bias layers 2 : tensor<2x64xf32> from [#attn.source<"h.{layer}.ln_1.bias">]
  attn.parameter @attn.c_attn.weight layers 2 : tensor<2x64x192xf32> from [#attn.source<"h.{layer}.attn.c_attn.weight">]
  attn.parameter @attn.c_attn.bias layers 2 : tensor<2x192xf32> from [#attn.source<"h.{layer}.attn.c_attn.bias">]
  attn.parameter @attn.c_proj.weight layers 2 : tensor<2x64x64xf32> from [#attn.source<"h.{layer}.attn.c_proj.weight">]
  attn.parameter @attn.c_proj.bias layers 2 : tensor<2x64xf32> from [#attn.source<"h.{layer}.attn.c_proj.bias">]
  attn.parameter @ln_2.weight layers 2 : tensor<2x64xf32> from [#attn.source<"h.{layer}.ln_2.weight">]
  attn.parameter @ln_2.bias layers 2 : tensor<2x64xf32> from [#attn.source<"h.{layer}.ln_2.bias">]
  attn.parameter @mlp.c_fc.weight layers 2 : tensor<2x64x256xf32> from [#attn.source<"h.{layer}.mlp.c_fc.weight">]
  attn.parameter @mlp.c_fc.bias layers 2 : tensor<2x256xf32> from [#attn.source<"h.{layer}.mlp.c_fc.bias">]
  attn.parameter @mlp.c_proj.weight layers 2 : tensor<2x256x64xf32> from [#attn.source<"h.{layer}.mlp.c_proj.weight">]
  attn.parameter @mlp.c_proj.bias layers 2 : tensor<2x64xf32> from [#attn.source<"h.{layer}.mlp.c_proj.bias">]
  attn.parameter @ln_f.weight : tensor<64xf32> from [#attn.source<"ln_f.weight">]
  attn.parameter @ln_f.bias : tensor<64xf32> from [#attn.source<"ln_f.bias">]

  func.func private @block(%x: tensor<?x64xf32>, %cache: !cache, %layer: index, %row_begin: tensor<?xi32>, %past: tensor<?xi32>, %table: tensor<?x?xi32>) -> (tensor<?x64xf32>, !cache) {
    %ln1w = attn.parameter_slice @ln_1.weight[%layer] : tensor<64xf32>
    %ln1b = attn.parameter_slice @ln_1.bias[%layer] : tensor<64xf32>
    %h = attn.layer_norm %x, %ln1w, %ln1b epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
    %wa = attn.parameter_slice @attn.c_attn.weight[%layer] : tensor<64x192xf32>
    %ba = attn.parameter_slice @attn.c_attn.bias[%layer] : tensor<192xf32>
    %qkv = attn.linear %h, %wa, (%ba) : tensor<?x64xf32>, tensor<64x192xf32>, (tensor<192xf32>) -> tensor<?x192xf32> {
    ^bb0(%sum: f32, %bias: f32):
      %0 = arith.addf %sum, %bias : f32
      attn.yield %0 : f32
    }
    %q, %k, %v = attn.split_heads %qkv : tensor<?x192xf32> -> tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?x4x16xf32>
    %new = attn.kv_append %cache[%layer], %k, %v rows(%row_begin, %past, %table) : !cache, tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
    %keys, %values = attn.kv_view %new[%layer], %table : !cache, tensor<?x?xi32> -> tensor<?x?x4x16xf32>
    %scale = arith.constant 0.25 : f32
    %a = attn.attention %q, %keys, %values, %scale q_begin(%row_begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#q, #k, #v, #o]
      : tensor<?x4x16xf32>, tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32> -> tensor<?x4x16xf32>
      mask {
      ^bb0(%b: index, %hd: index, %i: index, %j: index):
        %keep = arith.cmpi sle, %j, %i : index
        attn.yield %keep : i1
      }
    %am = attn.merge_heads %a : tensor<?x4x16xf32> -> tensor<?x64xf32>
    %wp = attn.parameter_slice @attn.c_proj.weight[%layer] : tensor<64x64xf32>
    %bp = attn.parameter_slice @attn.c_proj.bias[%layer] : tensor<64xf32>
    %p = attn.linear %am, %wp, (%bp) : tensor<?x64xf32>, tensor<64x64xf32>, (tensor<64xf32>) -> tensor<?x64xf32> {
    ^bb0(%sum: f32, %bias: f32):
      %0 = arith.addf %sum, %bias : f32
      attn.yield %0 : f32
    }
    %x1 = arith.addf %x, %p : tensor<?x64xf32>
    %ln2w = attn.parameter_slice @ln_2.weight[%layer] : tensor<64xf32>
    %ln2b = attn.parameter_slice @ln_2.bias[%layer] : tensor<64xf32>
    %h2 = attn.layer_norm %x1, %ln2w, %ln2b epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
    %wf = attn.parameter_slice @mlp.c_fc.weight[%layer] : tensor<64x256xf32>
    %bf = attn.parameter_slice @mlp.c_fc.bias[%layer] : tensor<256xf32>
    %f = attn.linear %h2, %wf, (%bf) : tensor<?x64xf32>, tensor<64x256xf32>, (tensor<256xf32>) -> tensor<?x256xf32> {
    ^bb0(%sum: f32, %bias: f32):
      %0 = arith.addf %sum, %bias : f32
      attn.yield %0 : f32
    }
    %g = attn.activation gelu_tanh %f : tensor<?x256xf32>
    %wm = attn.parameter_slice @mlp.c_proj.weight[%layer] : tensor<256x64xf32>
    %bm = attn.parameter_slice @mlp.c_proj.bias[%layer] : tensor<64xf32>
    %m = attn.linear %g, %wm, (%bm) : tensor<?x256xf32>, tensor<256x64xf32>, (tensor<64xf32>) -> tensor<?x64xf32> {
    ^bb0(%sum: f32, %bias: f32):
      %0 = arith.addf %sum, %bias : f32
      attn.yield %0 : f32
    }
    %x2 = arith.addf %x1, %m : tensor<?x64xf32>
    return %x2, %new : tensor<?x64xf32>, !cache
  }

  func.func @step(%cache: !cache {attn.name = "cache", attn.dims = ["blocks"]},
                  %tokens: tensor<?xi32> {attn.name = "tokens", attn.dims = ["tokens"]},
                  %row_begin: tensor<?xi32> {attn.name = "row_begin", attn.dims = ["rows+1"]},
                  %past: tensor<?xi32> {attn.name = "past", attn.dims = ["rows"]},
                  %table: tensor<?x?xi32> {attn.name = "block_table", attn.dims = ["rows", "table"]},
                  %want: tensor<?xi32> {attn.name = "want", attn.dims = ["wanted"]})
      -> (!cache {attn.name = "cache"}, tensor<?x97xf32> {attn.name = "logits", attn.dims = ["wanted"]}) attributes {attn.entry} {
    %wte = attn.parameter_slice @wte : tensor<97x64xf32>
    %wpe = attn.parameter_slice @wpe : tensor<128x64xf32>
    %pos = attn.positions %tokens, %row_begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
    %te = attn.embedding %tokens, %wte : tensor<?xi32>, tensor<97x64xf32> -> tensor<?x64xf32>
    %pe = attn.embedding %pos, %wpe : tensor<?xi32>, tensor<128x64xf32> -> tensor<?x64xf32>
    %x0 = arith.addf %te, %pe : tensor<?x64xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %s:2 = scf.for %layer = %c0 to %c2 step %c1 iter_args(%x = %x0, %c = %cache) -> (tensor<?x64xf32>, !cache) {
      %n:2 = func.call @block(%x, %c, %layer, %row_begin, %past, %table) : (tensor<?x64xf32>, !cache, index, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>) -> (tensor<?x64xf32>, !cache)
      scf.yield %n#0, %n#1 : tensor<?x64xf32>, !cache
    }
    %lw = attn.parameter_slice @ln_f.weight : tensor<64xf32>
    %lb = attn.parameter_slice @ln_f.bias : tensor<64xf32>
    %sel = attn.select_rows %s#0, %want : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf32>
    %y = attn.layer_norm %sel, %lw, %lb epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
    %logits = attn.linear %y, %wte transposed : tensor<?x64xf32>, tensor<97x64xf32> -> tensor<?x97xf32>
    return %s#1, %logits : !cache, tensor<?x97xf32>
  }
}
