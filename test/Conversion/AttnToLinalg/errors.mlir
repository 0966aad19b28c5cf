// RUN: rapt-opt %s --attn-to-linalg --verify-diagnostics --split-input-file

func.func @not_packed(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{has no tiled form: the weight is not in panels}}
  %y = attn.linear %x, %w transposed : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @not_padded(%x: tensor<?x50xf32>, %w: tensor<50xf32>) -> tensor<?x50xf32> {
  // expected-error@+1 {{has no tiled form: the CPU's code needs two dims, the last one a static multiple of 32, not 'tensor<?x50xf32>'}}
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x50xf32>, tensor<50xf32>
  return %y : tensor<?x50xf32>
}

// -----

func.func @recurrence(%x: tensor<?x50xf32>, %w: tensor<50x50xf32>, %begin: tensor<?xi32>, %h: tensor<?x50xf32>) -> tensor<?x50xf32> {
  // expected-error@+1 {{has no tiled form: its hidden size 50 is no multiple of 32}}
  %y, %last = attn.recurrence rnn_tanh %x, %w rows(%begin) init(%h) : tensor<?x50xf32>, tensor<50x50xf32>, tensor<?xi32>, tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}

// -----

func.func @concat(%x: tensor<?x50xf32>) -> tensor<?x100xf32> {
  // expected-error@+1 {{has no tiled form: the CPU's code needs two dims, the last one a static multiple of 32, not 'tensor<?x50xf32>'}}
  %y = attn.concat %x, %x : tensor<?x50xf32>, tensor<?x50xf32>
  return %y : tensor<?x100xf32>
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
func.func @not_pairs(%cache: tensor<?x2x4x2x128x32xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x64xf32>, %begin: tensor<?xi32>, %scale: f32) -> tensor<?x4x64xf32> {
  %keys, %values = attn.kv_view %cache[%layer], %table : tensor<?x2x4x2x128x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  // expected-error@+1 {{has no tiled form: it is paired, and the cache is not}}
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {paired}
    : tensor<?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x64xf32>
  return %o : tensor<?x4x64xf32>
}
