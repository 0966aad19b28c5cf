// RUN: rapt-opt %s --verify-diagnostics --split-input-file

// The key channels of a thread are in registers.
func.func @f(%q: memref<?x1x257xf32>, %k: memref<?x1x257xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index) {
  // expected-error@+1 {{needs from 1 to 256 key channels and from 1 to 32 outputs, found 'memref<?x1x257xf32>' and 'memref<?x1x257xf32>'}}
  attn_gpu.linear_attention_tile %q, %k, %v outs(%o : memref<?x1x16xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<?x1x257xf32>, memref<?x1x257xf32>, memref<?x1x16xf32>
  return
}

// -----

// Outputs are counted.
func.func @f(%q: memref<?x?x8xf32>, %k: memref<?x1x8xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index) {
  // expected-error@+1 {{needs from 1 to 256 key channels and from 1 to 32 outputs, found 'memref<?x?x8xf32>'}}
  attn_gpu.linear_attention_tile %q, %k, %v outs(%o : memref<?x1x16xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<?x?x8xf32>, memref<?x1x8xf32>, memref<?x1x16xf32>
  return
}

// -----

// Queries have the channels of keys.
func.func @f(%q: memref<?x1x9xf32>, %k: memref<?x1x8xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index) {
  // expected-error@+1 {{has extents of query, key, value, decay, beta and result that do not fit each other}}
  attn_gpu.linear_attention_tile %q, %k, %v outs(%o : memref<?x1x16xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<?x1x9xf32>, memref<?x1x8xf32>, memref<?x1x16xf32>
  return
}

// -----

// A state has one head of keys.
func.func @f(%q: memref<?x1x8xf32>, %k: memref<?x2x8xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index) {
  // expected-error@+1 {{do not fit each other}}
  attn_gpu.linear_attention_tile %q, %k, %v outs(%o : memref<?x1x16xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<?x1x8xf32>, memref<?x2x8xf32>, memref<?x1x16xf32>
  return
}

// -----

// A decay is that of the state.
func.func @f(%q: memref<?x1x8xf32>, %k: memref<?x1x8xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index, %g: memref<?x2xf32>) {
  // expected-error@+1 {{do not fit each other}}
  attn_gpu.linear_attention_tile %q, %k, %v decay(%g : memref<?x2xf32>) outs(%o : memref<?x1x16xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<?x1x8xf32>, memref<?x1x8xf32>, memref<?x1x16xf32>
  return
}

// -----

// Each key channel has a decay, or none has.
func.func @f(%q: memref<?x1x8xf32>, %k: memref<?x1x8xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index, %g: memref<?x1x7xf32>) {
  // expected-error@+1 {{do not fit each other}}
  attn_gpu.linear_attention_tile %q, %k, %v decay(%g : memref<?x1x7xf32>) outs(%o : memref<?x1x16xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<?x1x8xf32>, memref<?x1x8xf32>, memref<?x1x16xf32>
  return
}

// -----

// Every output has its row.
func.func @f(%q: memref<?x1x8xf32>, %k: memref<?x1x8xf32>, %v: memref<?x1x16xf32>, %o: memref<?x2x16xf32>, %i: index) {
  // expected-error@+1 {{do not fit each other}}
  attn_gpu.linear_attention_tile %q, %k, %v outs(%o : memref<?x2x16xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<?x1x8xf32>, memref<?x1x8xf32>, memref<?x1x16xf32>
  return
}

// -----

// Tokens are those of the query.
func.func @f(%q: memref<4x1x8xf32>, %k: memref<5x1x8xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index) {
  // expected-error@+1 {{do not fit each other}}
  attn_gpu.linear_attention_tile %q, %k, %v outs(%o : memref<?x1x16xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<4x1x8xf32>, memref<5x1x8xf32>, memref<?x1x16xf32>
  return
}

// -----

// Threads have no more value channels.
func.func @f(%q: memref<?x1x8xf32>, %k: memref<?x1x8xf32>, %v: memref<4x1x17xf32>, %o: memref<?x1x17xf32>, %i: index) {
  // expected-error@+1 {{has more than the 16 value channels of its tiles, found 'memref<4x1x17xf32>'}}
  attn_gpu.linear_attention_tile %q, %k, %v outs(%o : memref<?x1x17xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<?x1x8xf32>, memref<?x1x8xf32>, memref<4x1x17xf32>
  return
}

// -----

// Each dim of the states has an index.
func.func @f(%q: memref<?x1x8xf32>, %k: memref<?x1x8xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index, %s: memref<2x1x8x16xf32>) {
  // expected-error@+1 {{needs an index for each dim of the states that it reads and writes, found 3 and 0}}
  attn_gpu.linear_attention_tile %q, %k, %v first(%s : memref<2x1x8x16xf32>) from[%i, %i, %i] outs(%o : memref<?x1x16xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<?x1x8xf32>, memref<?x1x8xf32>, memref<?x1x16xf32>
  return
}

// -----

// States that are written have one, too.
func.func @f(%q: memref<?x1x8xf32>, %k: memref<?x1x8xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index, %s: memref<2x1x8x16xf32>) {
  // expected-error@+1 {{needs an index for each dim of the states that it reads and writes, found 4 and 0}}
  attn_gpu.linear_attention_tile %q, %k, %v from[%i, %i, %i, %i] outs(%o : memref<?x1x16xf32>) states(%s : memref<2x1x8x16xf32>) tiles <columns = 16, warps = 2> {scale = 1.0 : f64} : memref<?x1x8xf32>, memref<?x1x8xf32>, memref<?x1x16xf32>
  return
}

// -----

// Chunks have one decay for all channels.
func.func @f(%q: memref<?x1x8xf32>, %k: memref<?x1x8xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index, %g: memref<?x1x8xf32>) {
  // expected-error@+1 {{has decays of channels, which have no chunked form}}
  attn_gpu.linear_attention_tile %q, %k, %v decay(%g : memref<?x1x8xf32>) outs(%o : memref<?x1x16xf32>) tiles <columns = 16, warps = 2, chunk = 32> {scale = 1.0 : f64} : memref<?x1x8xf32>, memref<?x1x8xf32>, memref<?x1x16xf32>
  return
}

// -----

// Tiles are in shared memory.
func.func @f(%q: memref<?x1x256xf32>, %k: memref<?x1x256xf32>, %v: memref<?x1x16xf32>, %o: memref<?x1x16xf32>, %i: index) {
  // expected-error@+1 {{needs 364032 bytes of shared memory, more than 232448}}
  attn_gpu.linear_attention_tile %q, %k, %v outs(%o : memref<?x1x16xf32>) tiles <columns = 16, warps = 8, chunk = 128> {scale = 1.0 : f64} : memref<?x1x256xf32>, memref<?x1x256xf32>, memref<?x1x16xf32>
  return
}
