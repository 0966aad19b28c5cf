// RUN: rapt-opt %s --verify-diagnostics --split-input-file

// The elements of a thread are counted when it is compiled.
func.func @f(%x: memref<4x?xf32>, %w: memref<?xf32>, %y: memref<4x?xf32>) {
  // expected-error@+1 {{needs rows of a static number of elements, at least 'columns'; found 'memref<4x?xf32>' and 64}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<4x?xf32>) tiles <lanes = 32, threads = 128> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : memref<4x?xf32>, memref<?xf32>
  return
}

// -----

// No more elements count than there are.
func.func @f(%x: memref<4x63xf32>, %w: memref<63xf32>, %y: memref<4x63xf32>) {
  // expected-error@+1 {{needs rows of a static number of elements, at least 'columns'; found 'memref<4x63xf32>' and 64}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<4x63xf32>) tiles <lanes = 32, threads = 128> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : memref<4x63xf32>, memref<63xf32>
  return
}

// -----

// Every element has its weight.
func.func @f(%x: memref<4x64xf32>, %w: memref<63xf32>, %y: memref<4x64xf32>) {
  // expected-error@+1 {{has extents of input, weight, bias and result that do not fit each other}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<4x64xf32>) tiles <lanes = 32, threads = 128> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : memref<4x64xf32>, memref<63xf32>
  return
}

// -----

// And its bias.
func.func @f(%x: memref<4x64xf32>, %w: memref<64xf32>, %b: memref<65xf32>, %y: memref<4x64xf32>) {
  // expected-error@+1 {{has extents of input, weight, bias and result that do not fit each other}}
  attn_gpu.norm_tile %x, %w, %b outs(%y : memref<4x64xf32>) tiles <lanes = 32, threads = 128> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : memref<4x64xf32>, memref<64xf32>, memref<65xf32>
  return
}

// -----

// A result has the rows of its input.
func.func @f(%x: memref<4x64xf32>, %w: memref<64xf32>, %y: memref<3x64xf32>) {
  // expected-error@+1 {{has extents of input, weight, bias and result that do not fit each other}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<3x64xf32>) tiles <lanes = 32, threads = 128> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : memref<4x64xf32>, memref<64xf32>
  return
}

// -----

// Lanes are combined by butterflies.
func.func @f(%x: memref<4x64xf32>, %w: memref<64xf32>, %y: memref<4x64xf32>) {
  // expected-error@+1 {{expected a power of two of lanes from 4 to 512, and whole warps, up to 1024 threads, that are a multiple, found 24 and 96}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<4x64xf32>) tiles <lanes = 24, threads = 96> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : memref<4x64xf32>, memref<64xf32>
  return
}

// -----

// A butterfly has whole warps.
func.func @f(%x: memref<4x64xf32>, %w: memref<64xf32>, %y: memref<4x64xf32>) {
  // expected-error@+1 {{found 16 and 48}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<4x64xf32>) tiles <lanes = 16, threads = 48> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : memref<4x64xf32>, memref<64xf32>
  return
}

// -----

// Threads divide into those of rows.
func.func @f(%x: memref<4x64xf32>, %w: memref<64xf32>, %y: memref<4x64xf32>) {
  // expected-error@+1 {{found 64 and 96}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<4x64xf32>) tiles <lanes = 64, threads = 96> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : memref<4x64xf32>, memref<64xf32>
  return
}

// -----

// Elements are in registers.
func.func @f(%x: memref<4x1028xf32>, %w: memref<1028xf32>, %y: memref<4x1028xf32>) {
  // expected-error@+1 {{has threads of 36 elements, more than 32}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<4x1028xf32>) tiles <lanes = 32, threads = 128> {columns = 1028 : i64, epsilon = 1.0e-6 : f64} : memref<4x1028xf32>, memref<1028xf32>
  return
}

// -----

// Rows are those that threads have.
func.func @f(%x: memref<5x64xf32>, %w: memref<64xf32>, %y: memref<5x64xf32>) {
  // expected-error@+1 {{has a result of more than 4 rows, found 'memref<5x64xf32>'}}
  attn_gpu.norm_tile %x, %w outs(%y : memref<5x64xf32>) tiles <lanes = 32, threads = 128> {columns = 64 : i64, epsilon = 1.0e-6 : f64} : memref<5x64xf32>, memref<64xf32>
  return
}

// -----

func.func @f(%x: f32, %scratch: index) {
  // expected-error@+1 {{needs a power of two of threads, found 48}}
  %0 = attn_gpu.reduce_threads add %x threads 48 scratch %scratch : f32
  return
}

// -----

func.func @f(%x: f32) {
  %scratch = arith.constant 6 : index
  // expected-error@+1 {{needs scratch at a multiple of 4 bytes, found 6}}
  %0 = attn_gpu.reduce_threads add %x threads 64 scratch %scratch : f32
  return
}
