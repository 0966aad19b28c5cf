// RUN: rapt-opt %s --attn-generic-layout --verify-diagnostics --split-input-file
// A cache with attn.window keeps no keys behind it, so every reader must leave them out.

!cache = !attn.kv_cache<2 x 1 x 32, block = 64, f32>
!keys = tensor<?x?x1x32xf32>
#query = affine_map<(b, h, g, q, kv, k, v) -> (q, h, k)>
#key = affine_map<(b, h, g, q, kv, k, v) -> (b, kv, h, k)>
#value = affine_map<(b, h, g, q, kv, k, v) -> (b, kv, h, v)>
#result = affine_map<(b, h, g, q, kv, k, v) -> (q, h, v)>

// A window of 9 is one key too wide.
func.func @wide(%cache: !cache {attn.name = "cache", attn.window = 8 : i64}, %q: tensor<?x1x32xf32>, %begin: tensor<?xi32>,
                %past: tensor<?xi32>, %table: tensor<?x?xi32>, %scale: f32) -> tensor<?x1x32xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %last, %x = scf.for %layer = %zero to %two step %one iter_args(%c = %cache, %h = %q) -> (!cache, tensor<?x1x32xf32>) {
    %new = attn.kv_append %c[%layer], %h, %h rows(%begin, %past, %table) : !cache, tensor<?x1x32xf32>, tensor<?x1x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
    %k, %v = attn.kv_view %new[%layer], %table : !cache, tensor<?x?xi32> -> !keys
    // expected-error@+1 {{'attn.attention' op reads a cache whose 'attn.window' is 8, but has no mask q - kv < 8 of positions (q_offset): the cache keeps no other keys}}
    %y = attn.attention %h, %k, %v, %scale q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#query, #key, #value, #result]
      : tensor<?x1x32xf32>, !keys, !keys -> tensor<?x1x32xf32> mask {
    ^bb0(%b: index, %hd: index, %qi: index, %kv: index):
      %w = arith.constant 9 : index
      %d = arith.subi %qi, %kv : index
      %near = arith.cmpi slt, %d, %w : index
      attn.yield %near : i1
    }
    scf.yield %new, %y : !cache, tensor<?x1x32xf32>
  }
  return %x : tensor<?x1x32xf32>
}

// -----

!cache = !attn.kv_cache<2 x 1 x 32, block = 64, f32>
!keys = tensor<?x?x1x32xf32>
#query = affine_map<(b, h, g, q, kv, k, v) -> (q, h, k)>
#key = affine_map<(b, h, g, q, kv, k, v) -> (b, kv, h, k)>
#value = affine_map<(b, h, g, q, kv, k, v) -> (b, kv, h, v)>
#result = affine_map<(b, h, g, q, kv, k, v) -> (q, h, v)>

// Queries that are not counted from the sequence's first token.
func.func @of_other_positions(%cache: !cache {attn.name = "cache", attn.window = 8 : i64}, %layer: index, %q: tensor<?x1x32xf32>, %begin: tensor<?xi32>,
                              %lengths: tensor<?xi32>, %table: tensor<?x?xi32>, %scale: f32) -> tensor<?x1x32xf32> {
  %k, %v = attn.kv_view %cache[%layer], %table : !cache, tensor<?x?xi32> -> !keys
  // expected-error@+1 {{'attn.attention' op reads a cache whose 'attn.window' is 8}}
  %y = attn.attention %q, %k, %v, %scale q_begin(%begin : tensor<?xi32>) kv_length(%lengths : tensor<?xi32>) maps [#query, #key, #value, #result]
    : tensor<?x1x32xf32>, !keys, !keys -> tensor<?x1x32xf32> mask {
  ^bb0(%b: index, %hd: index, %qi: index, %kv: index):
    %w = arith.constant 8 : index
    %d = arith.subi %qi, %kv : index
    %near = arith.cmpi slt, %d, %w : index
    attn.yield %near : i1
  }
  return %y : tensor<?x1x32xf32>
}

// -----

!cache = !attn.kv_cache<2 x 1 x 32, block = 64, f32>
!keys = tensor<?x?x1x32xf32>
#query = affine_map<(b, h, g, q, kv, k, v) -> (q, h, k)>
#key = affine_map<(b, h, g, q, kv, k, v) -> (b, kv, h, k)>
#value = affine_map<(b, h, g, q, kv, k, v) -> (b, kv, h, v)>
#result = affine_map<(b, h, g, q, kv, k, v) -> (q, h, v)>

// The window itself, and a shorter one, are fine.
func.func @right(%cache: !cache {attn.name = "cache", attn.window = 8 : i64}, %layer: index, %q: tensor<?x1x32xf32>, %begin: tensor<?xi32>,
                 %past: tensor<?xi32>, %table: tensor<?x?xi32>, %scale: f32) -> tensor<?x1x32xf32> {
  %k, %v = attn.kv_view %cache[%layer], %table : !cache, tensor<?x?xi32> -> !keys
  %y = attn.attention %q, %k, %v, %scale q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) maps [#query, #key, #value, #result]
    : tensor<?x1x32xf32>, !keys, !keys -> tensor<?x1x32xf32> mask {
  ^bb0(%b: index, %hd: index, %qi: index, %kv: index):
    %w = arith.constant 8 : index
    %d = arith.subi %qi, %kv : index
    %near = arith.cmpi slt, %d, %w : index
    attn.yield %near : i1
  }
  return %y : tensor<?x1x32xf32>
}
