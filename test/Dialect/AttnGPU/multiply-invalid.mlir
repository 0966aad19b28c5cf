// RUN: rapt-opt %s --verify-diagnostics --split-input-file

!tile = !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
func.func @layout(%x: !tile, %s: !attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>, %i: index) {
  // expected-error@+1 {{needs accumulators of mma of the same rows, found '!attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>'}}
  %0 = attn_gpu.multiply fma %x[%i], %x[%i] k %i depth 8 (%s : !attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>) : !tile, !tile
  return
}

// -----

!tile = !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
func.func @operands(%x: !tile, %s: !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>, %i: index) {
  // expected-error@+1 {{needs accumulators of mma of the same rows, found '!attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>'}}
  %0 = attn_gpu.multiply fma %x[%i], %x[%i] k %i depth 8 (%s : !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>) : !tile, !tile
  return
}

// -----

!tile = !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
func.func @rows(%x: !tile, %s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %t: !attn_gpu.fragment<32x16xf32, #attn_gpu.mma<acc>>, %i: index) {
  // expected-error@+1 {{needs accumulators of mma of the same rows, found '!attn_gpu.fragment<32x16xf32, #attn_gpu.mma<acc>>'}}
  %0:2 = attn_gpu.multiply fma %x[%i], %x[%i] k %i depth 8 (%s, %t : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, !attn_gpu.fragment<32x16xf32, #attn_gpu.mma<acc>>) : !tile, !tile
  return
}

// -----

!tile = !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
func.func @depth(%x: !tile, %s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %i: index) {
  // expected-error@+1 {{needs accumulators, and a depth that is a multiple of 8, found 12}}
  %0 = attn_gpu.multiply fma %x[%i], %x[%i] k %i depth 12 (%s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) : !tile, !tile
  return
}

// -----

// The last columns of a weight [k, n] are not there.
!tile = !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
func.func @columns(%x: !tile, %s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %i: index) {
  %c24 = arith.constant 24 : index
  // expected-error@+1 {{reads 16x8 of '!attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>' and 8x16 of '!attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>', which need to be within them, from multiples of 8 on}}
  %0 = attn_gpu.multiply fma %x[%i], %x[%c24] k %i depth 8 (%s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) : !tile, !tile
  return
}

// -----

!tile = !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>
func.func @row(%x: !tile, %s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %i: index) {
  %c4 = arith.constant 4 : index
  // expected-error@+1 {{reads 16x8 of}}
  %0 = attn_gpu.multiply fma %x[%c4], %x[%i] transposed k %i depth 8 (%s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) : !tile, !tile
  return
}

// -----

// k is along the rows of a weight [k, n]: there are 16 of it.
func.func @k(%x: !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>, %w: !attn_gpu.tile<16x32xf32, #attn_gpu.swizzle<128>>, %s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %i: index) {
  %c16 = arith.constant 16 : index
  // expected-error@+1 {{reads 16x8 of}}
  %0 = attn_gpu.multiply fma %x[%i], %w[%i] k %c16 depth 8 (%s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) : !attn_gpu.tile<32x32xf32, #attn_gpu.swizzle<128>>, !attn_gpu.tile<16x32xf32, #attn_gpu.swizzle<128>>
  return
}

// -----

// bf16 are multiplied as they are.
func.func @halves(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{multiplies 'bf16' by 'bf16', which tf32 does not}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3, matmul = tf32> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// Elements of 4 bytes take twice the shared memory.
func.func @shared(%x: memref<?x96xf32>, %w: memref<96x64xf32>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{its 8 stages need more than 232448 bytes of shared memory}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 8, matmul = fma> : memref<?x96xf32>, memref<96x64xf32>
  return
}

// -----

func.func @matrix(%x: !attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>>, %t: !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>, %i: index) {
  // expected-error@+1 {{'attn_gpu.store_matrix' op stores f32 of the layout mma<acc>, found '!attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>>'}}
  attn_gpu.store_matrix %x, %t[%i, %i] : !attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>>, !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>
  return
}

// -----

func.func @wgmma(%t: !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>) {
  attn_gpu.wgmma_fence
  // expected-error@+1 {{multiplies bf16 and f16, found '!attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>'}}
  %0 = attn_gpu.wgmma %t, %t transpose : !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>, !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>> -> !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>
  return
}
