// RUN: rapt-opt %s --attn-gpu-tile --verify-diagnostics --split-input-file

#tiles = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4>
func.func @wide(%q: tensor<?x1x257xf32>, %v: tensor<?x1x8xf32>, %begin: tensor<?xi32>) -> tensor<?x1x8xf32> {
  // expected-error@+1 {{has a schedule, but it has more than 256 key channels}}
  %y = attn.linear_attention linear %q, %q, %v rows(%begin) {attn_gpu.schedule = #tiles} : tensor<?x1x257xf32>, tensor<?x1x257xf32>, tensor<?x1x8xf32>, tensor<?xi32>
  return %y : tensor<?x1x8xf32>
}

// -----

#tiles = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4>
func.func @outputs(%q: tensor<?x33x8xf32>, %k: tensor<?x1x8xf32>, %begin: tensor<?xi32>) -> tensor<?x33x8xf32> {
  // expected-error@+1 {{has a schedule, but more than 32 outputs read a state}}
  %y = attn.linear_attention linear %q, %k, %k rows(%begin) {attn_gpu.schedule = #tiles} : tensor<?x33x8xf32>, tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?xi32>
  return %y : tensor<?x33x8xf32>
}

// -----

#tiles = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4>
func.func @unread(%q: tensor<?x1x8xf32>, %begin: tensor<?xi32>, %s: tensor<?x1x8x8xf32>) -> tensor<?x1x8x8xf32> {
  // expected-error@+1 {{has a schedule, but nothing reads its output}}
  %y, %new = attn.linear_attention linear %q, %q, %q rows(%begin) state(%s : tensor<?x1x8x8xf32>) {attn_gpu.schedule = #tiles} : tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?xi32>
  return %new : tensor<?x1x8x8xf32>
}

// -----

#tiles = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4, chunk = 64>
func.func @channels(%q: tensor<?x1x8xf32>, %begin: tensor<?xi32>) -> tensor<?x1x8xf32> {
  // expected-error@+1 {{has a schedule with a chunk, but decays of channels have no chunked form}}
  %y = attn.linear_attention gated %q, %q, %q decay(%q : tensor<?x1x8xf32>) rows(%begin) {attn_gpu.schedule = #tiles} : tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?xi32>
  return %y : tensor<?x1x8xf32>
}
