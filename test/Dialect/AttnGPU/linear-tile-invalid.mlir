// RUN: rapt-opt %s --verify-diagnostics --split-input-file

// The weight has k of the input.
func.func @f(%x: memref<?x96xbf16>, %w: memref<80x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has extents of input, weight and result that do not fit each other}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> : memref<?x96xbf16>, memref<80x64xbf16>
  return
}

// -----

// A result has the rows of its input.
func.func @f(%x: memref<8x96xbf16>, %w: memref<96x64xbf16>, %y: memref<9x64xf32>) {
  // expected-error@+1 {{has extents of input, weight and result that do not fit each other}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<9x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> : memref<8x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// A result has the columns of the weight.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x63xf32>) {
  // expected-error@+1 {{has extents of input, weight and result that do not fit each other}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x63xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// Rows are those of instructions.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has a schedule of 24x64 in steps of 64 by 4 warps; it needs rows, a multiple of 16, and columns and depth, 16, 32 or multiples of 64}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 24, columns = 64, depth = 64, warps = 4, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// Columns of a tile [k, n] are whole boxes of shared memory.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x48xbf16>, %y: memref<?x48xf32>) {
  // expected-error@+1 {{has a schedule of 64x48 in steps of 64 by 4 warps; it needs rows, a multiple of 16, and columns and depth, 16, 32 or multiples of 64}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x48xf32>) tiles <rows = 64, columns = 48, depth = 64, warps = 4, stages = 3> : memref<?x96xbf16>, memref<96x48xbf16>
  return
}

// -----

// So is the depth.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has a schedule of 64x64 in steps of 80 by 4 warps; it needs rows, a multiple of 16, and columns and depth, 16, 32 or multiples of 64}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 80, warps = 4, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// Each warp has a part.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has a schedule of 64x64 in steps of 64 by 32 warps; it needs warps that have 16x16 or multiples each}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 32, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// Sums are in registers.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has a schedule of 128x256 in steps of 64 by 4 warps; a thread would have 256 sums, more than 128}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 128, columns = 256, depth = 64, warps = 4, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// Stages are in shared memory.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has a schedule of 128x128 in steps of 128 by 8 warps; its 4 stages need more than 232448 bytes of shared memory}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 128, columns = 128, depth = 128, warps = 8, stages = 4> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// Three warps divide no tile of 64 columns.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has a schedule of 16x64 in steps of 16 by 3 warps; it needs warps that have}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 16, columns = 64, depth = 16, warps = 3, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// A step's rows are too few for its threads.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has a schedule of 16x256 in steps of 64 by 8 warps; its threads cannot copy '!attn_gpu.tile<16x64xbf16, #attn_gpu.swizzle<128>>'}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 16, columns = 256, depth = 64, warps = 8, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// A result is at most as large as the tile.
func.func @f(%x: memref<65x96xbf16>, %w: memref<96x64xbf16>, %y: memref<65x64xf32>) {
  // expected-error@+1 {{has a result of more than 64x64, found 'memref<65x64xf32>'}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<65x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> : memref<65x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// The epilogue is told the element's row and column.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has an epilogue that takes (f32, index, index) and yields f32}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16> epilogue {
  ^bb0(%sum: f32):
    attn_gpu.yield %sum : f32
  }
  return
}

// -----

// It yields a number.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has an epilogue that takes (f32, index, index) and yields f32}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16> epilogue {
  ^bb0(%sum: f32, %row: index, %column: index):
    attn_gpu.yield %row : index
  }
  return
}

// -----

// wgmma multiplies two operands of one type of 16 bits.
func.func @f(%x: memref<?x96xf32>, %w: memref<96x128xbf16>, %y: memref<?x128xf32>) {
  // expected-error@+1 {{multiplies 'f32' by 'bf16', which wgmma does not}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 4, matmul = wgmma> : memref<?x96xf32>, memref<96x128xbf16>
  return
}

// -----

// A warpgroup has 64 rows.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x128xbf16>, %y: memref<?x128xf32>) {
  // expected-error@+1 {{has a schedule of 64x128 in steps of 64 by 8 warps and 4 stages; wgmma needs 64 rows for every 4 warps, of which there are at most 12, columns and depth, multiples of 64 up to 256, and at most 232448 bytes of shared memory}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x128xf32>) tiles <rows = 64, columns = 128, depth = 64, warps = 8, stages = 4, matmul = wgmma> : memref<?x96xbf16>, memref<96x128xbf16>
  return
}

// -----

// It has four warps.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x128xbf16>, %y: memref<?x128xf32>) {
  // expected-error@+1 {{has a schedule of 96x128 in steps of 64 by 6 warps and 4 stages; wgmma needs 64 rows for every 4 warps, of which there are at most 12, columns and depth, multiples of 64 up to 256, and at most 232448 bytes of shared memory}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x128xf32>) tiles <rows = 96, columns = 128, depth = 64, warps = 6, stages = 4, matmul = wgmma> : memref<?x96xbf16>, memref<96x128xbf16>
  return
}

// -----

// A thread block has three of them, and one that copies.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x128xbf16>, %y: memref<?x128xf32>) {
  // expected-error@+1 {{has a schedule of 256x128 in steps of 64 by 16 warps and 2 stages; wgmma needs 64 rows for every 4 warps, of which there are at most 12, columns and depth, multiples of 64 up to 256, and at most 232448 bytes of shared memory}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x128xf32>) tiles <rows = 256, columns = 128, depth = 64, warps = 16, stages = 2, matmul = wgmma> : memref<?x96xbf16>, memref<96x128xbf16>
  return
}

// -----

// An instruction has at most 256 columns.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x128xbf16>, %y: memref<?x128xf32>) {
  // expected-error@+1 {{has a schedule of 128x320 in steps of 64 by 8 warps and 2 stages; wgmma needs 64 rows for every 4 warps, of which there are at most 12, columns and depth, multiples of 64 up to 256, and at most 232448 bytes of shared memory}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x128xf32>) tiles <rows = 128, columns = 320, depth = 64, warps = 8, stages = 2, matmul = wgmma> : memref<?x96xbf16>, memref<96x128xbf16>
  return
}

// -----

// Boxes of the weight have 64.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x32xbf16>, %y: memref<?x32xf32>) {
  // expected-error@+1 {{has a schedule of 128x32 in steps of 64 by 8 warps and 4 stages; wgmma needs 64 rows for every 4 warps, of which there are at most 12, columns and depth, multiples of 64 up to 256, and at most 232448 bytes of shared memory}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x32xf32>) tiles <rows = 128, columns = 32, depth = 64, warps = 8, stages = 4, matmul = wgmma> : memref<?x96xbf16>, memref<96x32xbf16>
  return
}

// -----

// A step of k is whole boxes.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x128xbf16>, %y: memref<?x128xf32>) {
  // expected-error@+1 {{has a schedule of 128x128 in steps of 32 by 8 warps and 4 stages; wgmma needs 64 rows for every 4 warps, of which there are at most 12, columns and depth, multiples of 64 up to 256, and at most 232448 bytes of shared memory}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x128xf32>) tiles <rows = 128, columns = 128, depth = 32, warps = 8, stages = 4, matmul = wgmma> : memref<?x96xbf16>, memref<96x128xbf16>
  return
}

// -----

// Stages are in shared memory, with their mbarriers.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x128xbf16>, %y: memref<?x128xf32>) {
  // expected-error@+1 {{has a schedule of 128x256 in steps of 64 by 8 warps and 5 stages; wgmma needs 64 rows for every 4 warps, of which there are at most 12, columns and depth, multiples of 64 up to 256, and at most 232448 bytes of shared memory}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x128xf32>) tiles <rows = 128, columns = 256, depth = 64, warps = 8, stages = 5, matmul = wgmma> : memref<?x96xbf16>, memref<96x128xbf16>
  return
}

// -----

// Other tiles have a thread block each.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has 'blocks', which is of the matmul 'wgmma'}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3, blocks = 132> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// Maps are for wgmma.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>, %a: !llvm.ptr, %i: index, %made: i1) {
  // expected-error@+1 {{has tensor maps; these are of input and weight, with 2 to 5 coordinates each, for the matmul 'wgmma'}}
  attn_gpu.linear_tile %x, %w maps(%a at [%i, %i], %a at [%i, %i] if %made : !llvm.ptr, !llvm.ptr) outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// A row has two coordinates.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x128xbf16>, %y: memref<?x128xf32>, %a: !llvm.ptr, %i: index, %made: i1) {
  // expected-error@+1 {{has tensor maps; these are of input and weight, with 2 to 5 coordinates each, for the matmul 'wgmma'}}
  attn_gpu.linear_tile %x, %w maps(%a at [%i, %i], %a at [%i] if %made : !llvm.ptr, !llvm.ptr) outs(%y : memref<?x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 4, matmul = wgmma> : memref<?x96xbf16>, memref<96x128xbf16>
  return
}

// -----

// A fragment has whole columns of atoms.
func.func @f(%s: !attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>>) {
  // expected-error@+1 {{takes columns of accumulators from a multiple of 8 on, found '!attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>' from 4 of '!attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>>'}}
  %0 = attn_gpu.columns %s from 4 : !attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>> -> !attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>
  return
}

// -----

// None are behind the last.
func.func @f(%s: !attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>>) {
  // expected-error@+1 {{takes columns of accumulators from a multiple of 8 on, found '!attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>' from 24 of}}
  %0 = attn_gpu.columns %s from 24 : !attn_gpu.fragment<64x32xf32, #attn_gpu.wgmma<acc>> -> !attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>
  return
}

// -----

// Rows stay what they are.
func.func @f(%s: !attn_gpu.fragment<128x32xf32, #attn_gpu.wgmma<acc>>) {
  // expected-error@+1 {{takes columns of accumulators from a multiple of 8 on, found '!attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>' from 0 of}}
  %0 = attn_gpu.columns %s from 0 : !attn_gpu.fragment<128x32xf32, #attn_gpu.wgmma<acc>> -> !attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>
  return
}

// -----

// A part of a step has whole groups of k.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x16xbf16>, %y: memref<?x16xf32>) {
  // expected-error@+1 {{has a schedule of 16x16 in steps of 32 by 4 warps; its 4 parts need multiples of 16 of a step each, and powers of two of parts, columns and warps}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x16xf32>) tiles <rows = 16, columns = 16, depth = 32, warps = 4, stages = 5, parts = 4> : memref<?x96xbf16>, memref<96x16xbf16>
  return
}

// -----

// Each part has as many warps.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x16xbf16>, %y: memref<?x16xf32>) {
  // expected-error@+1 {{has a schedule of 16x16 in steps of 64 by 4 warps; it needs warps that have 16x16 or multiples each}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x16xf32>) tiles <rows = 16, columns = 16, depth = 64, warps = 4, stages = 5, parts = 3> : memref<?x96xbf16>, memref<96x16xbf16>
  return
}

// -----

func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has 'parts', which is not of the matmul 'wgmma'}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 128, columns = 64, depth = 64, warps = 8, stages = 4, matmul = wgmma, parts = 2> : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// Only sums are added, not operands of matmuls.
func.func @f(%s: !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>, %scratch: index) {
  // expected-error@+1 {{adds accumulators of the result's rows and layout, found '!attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>'}}
  %0 = attn_gpu.sum_warps(%s : !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>) parts 2 threads 64 scratch %scratch -> !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
  return
}

// -----

func.func @f(%s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %scratch: index) {
  // expected-error@+1 {{needs parts of a power of two of warps each, found 3 of 128 threads}}
  %0 = attn_gpu.sum_warps(%s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) parts 3 threads 128 scratch %scratch -> !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
  return
}

// -----

func.func @f(%s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) {
  %scratch = arith.constant 2 : index
  // expected-error@+1 {{'attn_gpu.sum_warps' op needs scratch at a multiple of 4 bytes, found 2}}
  %0 = attn_gpu.sum_warps(%s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) parts 2 threads 64 scratch %scratch -> !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
  return
}

// -----

// Only a weight that no kernel writes can be copied early.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has 'waits', which is of a 'constant_weight' and not of the matmul 'wgmma'}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> {waits} : memref<?x96xbf16>, memref<96x64xbf16>
  return
}

// -----

// No column is lost.
func.func @f(%s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %scratch: index) {
  // expected-error@+1 {{gives all columns to its 2 parts, and has a power of two of them, found 32 of which a part has 8}}
  %0 = attn_gpu.sum_warps(%s, %s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) parts 2 threads 64 scratch %scratch -> !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
  return
}

// -----

// Pairs are two sums, and give two.
func.func @f(%x: memref<?x96xbf16>, %w: memref<96x64xbf16>, %y: memref<?x64xf32>) {
  // expected-error@+1 {{has a region of pairs that takes (f32, f32, index, index) and yields f32 and f32}}
  attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xf32>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> : memref<?x96xbf16>, memref<96x64xbf16> pairs {
  ^bb0(%first: f32, %second: f32, %row: index, %column: index):
    attn_gpu.yield %first : f32
  }
  return
}
