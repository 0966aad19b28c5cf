// RUN: rapt-opt %s --verify-diagnostics --split-input-file

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f() {
  %c = arith.constant 512 : index
  // expected-error@+1 {{needs an offset that is a multiple of 1024 for '!attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>'}}
  %0 = attn_gpu.shared %c : !tile
  return
}

// -----

func.func @f() {
  %c = arith.constant -8 : index
  // expected-error@+1 {{needs an offset that is a multiple of 8 for '!attn_gpu.mbarrier'}}
  %0 = attn_gpu.shared %c : !attn_gpu.mbarrier
  return
}

// -----

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %i: index) {
  // expected-error@+1 {{gives a tile with the element type, swizzle and pitch of '!attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>'}}
  %0 = attn_gpu.subtile %t[%i, %i] : !tile -> !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
  return
}

// -----

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %i: index) {
  %c = arith.constant 4 : index
  // expected-error@+1 {{needs a row that is a multiple of 8 and a column that is one of 64}}
  %0 = attn_gpu.subtile %t[%c, %i] : !tile -> !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>, pitch = 64>
  return
}

// -----

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %i: index) {
  %c = arith.constant 40 : index
  // expected-error@+1 {{reaches beyond '!attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>'}}
  %0 = attn_gpu.subtile %t[%c, %i] : !tile -> !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>, pitch = 64>
  return
}

// -----

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %i: index) {
  // expected-error@+1 {{loads operands of the tile's element type, found '!attn_gpu.fragment<16x16xf16, #attn_gpu.mma<a>>'}}
  %0 = attn_gpu.load_matrix %t[%i, %i] : !tile -> !attn_gpu.fragment<16x16xf16, #attn_gpu.mma<a>>
  return
}

// -----

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %i: index) {
  %c = arith.constant 8 : index
  // expected-error@+1 {{needs a row that is a multiple of 8 and a column that is one of 16}}
  %0 = attn_gpu.load_matrix %t[%i, %c] : !tile -> !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>
  return
}

// -----

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %i: index) {
  // expected-error@+1 {{reaches beyond '!attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>'}}
  %0 = attn_gpu.load_matrix %t[%i, %i] : !tile -> !attn_gpu.fragment<16x128xbf16, #attn_gpu.mma<b>>
  return
}

// -----

!a = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %a: !a, %i: index) {
  // expected-error@+1 {{'attn_gpu.store_matrix' op stores accumulators as floats, found '!attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>' to '!attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>'}}
  attn_gpu.store_matrix %a, %t[%i, %i] : !a, !tile
  return
}

// -----

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %p: !llvm.ptr<1>, %i: index) {
  // expected-error@+1 {{'attn_gpu.copy_rows' op has a region of a row that yields an offset}}
  attn_gpu.copy_rows %p bounds(%i, %i) to %t thread %i of 128 : !tile {
  ^bb0(%row: index, %column: index):
    attn_gpu.yield %row : index
  }
  return
}

// -----

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %p: !llvm.ptr<1>, %i: index) {
  // expected-error@+1 {{needs threads that copy whole rows of boxes, 8 chunks of 16 bytes, the same number each, found 100 threads for '!attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>'}}
  attn_gpu.copy_rows %p bounds(%i, %i) to %t thread %i of 100 : !tile {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  return
}

// -----

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %p: !llvm.ptr<1>, %i: index) {
  // expected-error@+1 {{the same number each, found 1024 threads for '!attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>'}}
  attn_gpu.copy_rows %p bounds(%i, %i) to %t thread %i of 1024 : !tile {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  return
}

// -----

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %m: !llvm.ptr, %b: !attn_gpu.mbarrier, %x: i32) {
  // expected-error@+1 {{needs 2 to 5 coordinates and at most 256 rows, found 1 coordinates}}
  attn_gpu.load_tile %m[%x] to %t arrive %b : !tile
  return
}

// -----

func.func @f(%t: !attn_gpu.tile<320x64xbf16, #attn_gpu.swizzle<128>>, %m: !llvm.ptr, %x: i32) {
  // expected-error@+1 {{needs 2 to 5 coordinates and at most 256 rows, found 2 coordinates}}
  attn_gpu.store_tile %t to %m[%x, %x] : !attn_gpu.tile<320x64xbf16, #attn_gpu.swizzle<128>>
  return
}

// -----

func.func @f(%x: i32) {
  // expected-error@+1 {{'attn_gpu.barrier_sync' op needs whole warps, found 100 threads}}
  attn_gpu.barrier_sync %x threads 100
  return
}

// -----

func.func @f(%x: i32) {
  // expected-error@+1 {{'attn_gpu.barrier_arrive' op needs whole warps, found 33 threads}}
  attn_gpu.barrier_arrive %x threads 33
  return
}

// -----

// Quantized values are bytes of panels, which begin at multiples of 16.
!pairs = !attn_gpu.tile<64x64xi16, #attn_gpu.swizzle<128>>
func.func @f(%p: !llvm.ptr<1>, %t: !pairs, %i: index) {
  // expected-error@+1 {{copies quantized values 16 bytes at a time, found}}
  attn_gpu.copy_rows %p bounds(%i, %i) to %t thread %i of 128 elements : !pairs {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  return
}
