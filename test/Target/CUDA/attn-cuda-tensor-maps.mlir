// RUN: rapt-opt %s --attn-cuda-tensor-maps --split-input-file | FileCheck %s

// The host program describes the arrays of keys and of values, channels first, then rows, then the other dims. The tile gets the coordinates of its first row.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[ENV:.*]]: !llvm.ptr, %[[Q:.*]]: memref<64x64xbf16>, %[[K:.*]]: memref<?x?x8x64xbf16>, %[[V:.*]]: memref<?x64xbf16>
// CHECK: %[[KMAP:.*]], %[[KMADE:.*]] = attn_host.tensor_map %[[K]] dims [3, 1, 2, 0] box [64, 32, 1, 1] swizzle 128 env %[[ENV]]
// CHECK: %[[VMAP:.*]], %[[VMADE:.*]] = attn_host.tensor_map %[[V]] dims [1, 0] box [64, 32] swizzle 128 env %[[ENV]]
// CHECK: %[[MADE:.*]] = arith.andi %[[KMADE]], %[[VMADE]]
// CHECK: attn_host.parallel_for @f.task0(%[[KMAP]], %[[VMAP]], %[[MADE]], %[[Q]], %[[K]], %[[V]])
// CHECK: func.func private @f.task0(%[[KEYS:.*]]: !llvm.ptr, %[[VALUES:.*]]: !llvm.ptr, %[[IF:.*]]: i1, %{{.*}}: memref<64x64xbf16>, {{.*}}, %[[BEGIN:.*]]: index, %[[END:.*]]: index, %{{.*}}: index)
// CHECK: attn_gpu.attention_tile {{.*}} maps(%[[KEYS]] at[%c0{{[_0-9]*}}, %[[END]], %[[BEGIN]], %c1{{[_0-9]*}}], %[[VALUES]] at[%c0{{.*}}, %c0{{.*}}] if %[[IF]] : !llvm.ptr, !llvm.ptr)
func.func @f(%env: !llvm.ptr, %q: memref<64x64xbf16>, %k: memref<?x?x8x64xbf16>, %v: memref<?x64xbf16>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @f.task0(%q, %k, %v) count %n env %env : (memref<64x64xbf16>, memref<?x?x8x64xbf16>, memref<?x64xbf16>), !llvm.ptr
  return
}
func.func private @f.task0(%q: memref<64x64xbf16>, %k: memref<?x?x8x64xbf16>, %v: memref<?x64xbf16>, %begin: index, %end: index, %worker: index) {
  %scale = arith.constant 0.125 : f32
  %keys = memref.subview %k[1, %end, %begin, 0] [1, %worker, 1, 64] [1, 1, 1, 1] : memref<?x?x8x64xbf16> to memref<?x64xbf16, strided<[512, 1], offset: ?>>
  attn_gpu.attention_tile %q, %keys, %v scale %scale outs(%q : memref<64x64xbf16>) tiles <rows = 64, keys = 32, warps = 4, matmul = wgmma> : memref<64x64xbf16>, memref<?x64xbf16, strided<[512, 1], offset: ?>>, memref<?x64xbf16>
  return
}

// -----

// mma.sync reads tiles that are copied in another way.
// CHECK-LABEL: func.func @mma(
// CHECK-NOT: tensor_map
func.func @mma(%env: !llvm.ptr, %q: memref<64x64xbf16>, %k: memref<?x64xbf16>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @mma.task0(%q, %k) count %n env %env : (memref<64x64xbf16>, memref<?x64xbf16>), !llvm.ptr
  return
}
func.func private @mma.task0(%q: memref<64x64xbf16>, %k: memref<?x64xbf16>, %begin: index, %end: index, %worker: index) {
  %scale = arith.constant 0.125 : f32
  attn_gpu.attention_tile %q, %k, %k scale %scale outs(%q : memref<64x64xbf16>) tiles <rows = 64, keys = 32, warps = 4> : memref<64x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

// A box of 64 channels would have those of the next head behind 40 channels.
// CHECK-LABEL: func.func @columns(
// CHECK-NOT: tensor_map
func.func @columns(%env: !llvm.ptr, %q: memref<64x40xbf16>, %k: memref<?x320xbf16>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @columns.task0(%q, %k) count %n env %env : (memref<64x40xbf16>, memref<?x320xbf16>), !llvm.ptr
  return
}
func.func private @columns.task0(%q: memref<64x40xbf16>, %k: memref<?x320xbf16>, %begin: index, %end: index, %worker: index) {
  %scale = arith.constant 0.125 : f32
  %keys = memref.subview %k[0, %begin] [%worker, 40] [1, 1] : memref<?x320xbf16> to memref<?x40xbf16, strided<[320, 1], offset: ?>>
  attn_gpu.attention_tile %q, %keys, %keys scale %scale outs(%q : memref<64x40xbf16>) tiles <rows = 64, keys = 32, warps = 4, matmul = wgmma> : memref<64x40xbf16>, memref<?x40xbf16, strided<[320, 1], offset: ?>>, memref<?x40xbf16, strided<[320, 1], offset: ?>>
  return
}

// -----

// Hardware gives zeros behind an array's channels.
// CHECK-LABEL: func.func @padded(
// CHECK: attn_host.tensor_map %{{.*}} dims [2, 0, 1] box [64, 32, 1]
func.func @padded(%env: !llvm.ptr, %q: memref<64x40xbf16>, %k: memref<?x8x40xbf16>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @padded.task0(%q, %k) count %n env %env : (memref<64x40xbf16>, memref<?x8x40xbf16>), !llvm.ptr
  return
}
func.func private @padded.task0(%q: memref<64x40xbf16>, %k: memref<?x8x40xbf16>, %begin: index, %end: index, %worker: index) {
  %scale = arith.constant 0.125 : f32
  %keys = memref.subview %k[0, %begin, 0] [%worker, 1, 40] [1, 1, 1] : memref<?x8x40xbf16> to memref<?x40xbf16, strided<[320, 1], offset: ?>>
  attn_gpu.attention_tile %q, %keys, %keys scale %scale outs(%q : memref<64x40xbf16>) tiles <rows = 64, keys = 32, warps = 4, matmul = wgmma> : memref<64x40xbf16>, memref<?x40xbf16, strided<[320, 1], offset: ?>>, memref<?x40xbf16, strided<[320, 1], offset: ?>>
  return
}

// -----

// A tensor map has at most five dims, and steps of one row.
// CHECK-LABEL: func.func @six(
// CHECK-NOT: tensor_map
func.func @six(%env: !llvm.ptr, %q: memref<64x64xbf16>, %k: memref<?x2x2x2x2x64xbf16>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @six.task0(%q, %k) count %n env %env : (memref<64x64xbf16>, memref<?x2x2x2x2x64xbf16>), !llvm.ptr
  attn_host.parallel_for @six.task1(%q, %k) count %n env %env : (memref<64x64xbf16>, memref<?x2x2x2x2x64xbf16>), !llvm.ptr
  return
}
func.func private @six.task0(%q: memref<64x64xbf16>, %k: memref<?x2x2x2x2x64xbf16>, %begin: index, %end: index, %worker: index) {
  %scale = arith.constant 0.125 : f32
  %keys = memref.subview %k[0, 0, 0, 0, 0, 0] [%worker, 1, 1, 1, 1, 64] [1, 1, 1, 1, 1, 1] : memref<?x2x2x2x2x64xbf16> to memref<?x64xbf16, strided<[1024, 1]>>
  attn_gpu.attention_tile %q, %keys, %keys scale %scale outs(%q : memref<64x64xbf16>) tiles <rows = 64, keys = 32, warps = 4, matmul = wgmma> : memref<64x64xbf16>, memref<?x64xbf16, strided<[1024, 1]>>, memref<?x64xbf16, strided<[1024, 1]>>
  return
}
func.func private @six.task1(%q: memref<64x64xbf16>, %k: memref<?x2x2x2x2x64xbf16>, %begin: index, %end: index, %worker: index) {
  %scale = arith.constant 0.125 : f32
  %keys = memref.subview %q[0, 0] [32, 64] [2, 1] : memref<64x64xbf16> to memref<32x64xbf16, strided<[128, 1]>>
  attn_gpu.attention_tile %q, %keys, %keys scale %scale outs(%q : memref<64x64xbf16>) tiles <rows = 64, keys = 32, warps = 4, matmul = wgmma> : memref<64x64xbf16>, memref<32x64xbf16, strided<[128, 1]>>, memref<32x64xbf16, strided<[128, 1]>>
  return
}

// -----

// Matmuls by wgmma have maps of the input and of the weight, here [k, n]. A box of either is its part of a step; what is behind the input's rows or the weight's columns is in rows and columns that nobody stores.
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME: %[[ENV:.*]]: !llvm.ptr, %[[X:.*]]: memref<?x96xbf16>, %[[W:.*]]: memref<96x300xbf16>
// CHECK: %[[XMAP:.*]], %[[XMADE:.*]] = attn_host.tensor_map %[[X]] dims [1, 0] box [64, 128] swizzle 128 env %[[ENV]]
// CHECK: %[[WMAP:.*]], %[[WMADE:.*]] = attn_host.tensor_map %[[W]] dims [1, 0] box [64, 64] swizzle 128 env %[[ENV]]
// CHECK: %[[MADE:.*]] = arith.andi %[[XMADE]], %[[WMADE]]
// CHECK: attn_host.parallel_for @matmul.task0(%[[XMAP]], %[[WMAP]], %[[MADE]], %[[X]], %[[W]], %{{.*}})
// CHECK: func.func private @matmul.task0(%[[INPUT:.*]]: !llvm.ptr, %[[WEIGHT:.*]]: !llvm.ptr, %[[IF:.*]]: i1, {{.*}}, %[[BEGIN:.*]]: index, %[[END:.*]]: index, %{{.*}}: index)
// CHECK: attn_gpu.linear_tile {{.*}} maps(%[[INPUT]] at[%c0{{[_0-9]*}}, %[[BEGIN]]], %[[WEIGHT]] at[%[[END]], %c0{{[_0-9]*}}] if %[[IF]] : !llvm.ptr, !llvm.ptr)
func.func @matmul(%env: !llvm.ptr, %x: memref<?x96xbf16>, %w: memref<96x300xbf16>, %y: memref<128x256xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @matmul.task0(%x, %w, %y) count %n env %env : (memref<?x96xbf16>, memref<96x300xbf16>, memref<128x256xf32>), !llvm.ptr
  return
}
func.func private @matmul.task0(%x: memref<?x96xbf16>, %w: memref<96x300xbf16>, %y: memref<128x256xf32>, %begin: index, %end: index, %worker: index) {
  %rows = memref.subview %x[%begin, 0] [128, 96] [1, 1] : memref<?x96xbf16> to memref<128x96xbf16, strided<[96, 1], offset: ?>>
  %columns = memref.subview %w[0, %end] [96, 256] [1, 1] : memref<96x300xbf16> to memref<96x256xbf16, strided<[300, 1], offset: ?>>
  attn_gpu.linear_tile %rows, %columns outs(%y : memref<128x256xf32>) tiles <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma>
      : memref<128x96xbf16, strided<[96, 1], offset: ?>>, memref<96x256xbf16, strided<[300, 1], offset: ?>>
  return
}

// -----

// A box of a weight [n, k] has all columns of the tile. 128 of k are whole steps, so they may be part of an array.
// CHECK-LABEL: func.func @transposed(
// CHECK: attn_host.tensor_map %{{.*}} dims [1, 0] box [64, 128] swizzle 128
// CHECK: attn_host.tensor_map %{{.*}} dims [2, 1, 0] box [64, 256, 1] swizzle 128
// CHECK: attn_gpu.linear_tile {{.*}} transposed maps(%{{.*}} at[%c256{{[_0-9]*}}, %c0{{[_0-9]*}}], %{{.*}} at[%c0{{[_0-9]*}}, %{{.*}}, %c3{{[_0-9]*}}] if
func.func @transposed(%env: !llvm.ptr, %x: memref<128x512xf16>, %w: memref<8x?x128xf16>, %y: memref<128x256xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @transposed.task0(%x, %w, %y) count %n env %env : (memref<128x512xf16>, memref<8x?x128xf16>, memref<128x256xf32>), !llvm.ptr
  return
}
func.func private @transposed.task0(%x: memref<128x512xf16>, %w: memref<8x?x128xf16>, %y: memref<128x256xf32>, %begin: index, %end: index, %worker: index) {
  %rows = memref.subview %x[0, 256] [128, 128] [1, 1] : memref<128x512xf16> to memref<128x128xf16, strided<[512, 1], offset: 256>>
  %columns = memref.subview %w[3, %begin, 0] [1, 256, 128] [1, 1, 1] : memref<8x?x128xf16> to memref<256x128xf16, strided<[128, 1], offset: ?>>
  attn_gpu.linear_tile %rows, %columns transposed outs(%y : memref<128x256xf32>) tiles <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma>
      : memref<128x128xf16, strided<[512, 1], offset: 256>>, memref<256x128xf16, strided<[128, 1], offset: ?>>
  return
}

// -----

// Near misses: behind the last k are other numbers of the input, or of the weight; k is not known; and mma.sync.
// CHECK-NOT: tensor_map
func.func @behind(%env: !llvm.ptr, %x: memref<128x97xbf16>, %v: memref<128x96xbf16>, %w: memref<96x128xbf16>, %u: memref<97x128xbf16>, %d: memref<128x?xbf16>, %e: memref<?x128xbf16>, %y: memref<128x128xf32>, %n: index) attributes {attn.entry} {
  attn_host.parallel_for @behind.task0(%x, %w, %y) count %n env %env : (memref<128x97xbf16>, memref<96x128xbf16>, memref<128x128xf32>), !llvm.ptr
  attn_host.parallel_for @behind.task1(%v, %u, %y) count %n env %env : (memref<128x96xbf16>, memref<97x128xbf16>, memref<128x128xf32>), !llvm.ptr
  attn_host.parallel_for @behind.task2(%d, %e, %y) count %n env %env : (memref<128x?xbf16>, memref<?x128xbf16>, memref<128x128xf32>), !llvm.ptr
  attn_host.parallel_for @behind.task3(%v, %w, %y) count %n env %env : (memref<128x96xbf16>, memref<96x128xbf16>, memref<128x128xf32>), !llvm.ptr
  return
}
func.func private @behind.task0(%x: memref<128x97xbf16>, %w: memref<96x128xbf16>, %y: memref<128x128xf32>, %begin: index, %end: index, %worker: index) {
  %rows = memref.subview %x[0, 0] [128, 96] [1, 1] : memref<128x97xbf16> to memref<128x96xbf16, strided<[97, 1]>>
  attn_gpu.linear_tile %rows, %w outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 4, matmul = wgmma>
      : memref<128x96xbf16, strided<[97, 1]>>, memref<96x128xbf16>
  return
}
func.func private @behind.task1(%x: memref<128x96xbf16>, %w: memref<97x128xbf16>, %y: memref<128x128xf32>, %begin: index, %end: index, %worker: index) {
  %columns = memref.subview %w[1, 0] [96, 128] [1, 1] : memref<97x128xbf16> to memref<96x128xbf16, strided<[128, 1], offset: 128>>
  attn_gpu.linear_tile %x, %columns outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 4, matmul = wgmma>
      : memref<128x96xbf16>, memref<96x128xbf16, strided<[128, 1], offset: 128>>
  return
}
func.func private @behind.task2(%x: memref<128x?xbf16>, %w: memref<?x128xbf16>, %y: memref<128x128xf32>, %begin: index, %end: index, %worker: index) {
  %rows = memref.subview %x[0, 0] [128, %begin] [1, 1] : memref<128x?xbf16> to memref<128x?xbf16, strided<[?, 1]>>
  attn_gpu.linear_tile %rows, %w outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 64, warps = 8, stages = 4, matmul = wgmma>
      : memref<128x?xbf16, strided<[?, 1]>>, memref<?x128xbf16>
  return
}
func.func private @behind.task3(%x: memref<128x96xbf16>, %w: memref<96x128xbf16>, %y: memref<128x128xf32>, %begin: index, %end: index, %worker: index) {
  attn_gpu.linear_tile %x, %w outs(%y : memref<128x128xf32>) tiles <rows = 128, columns = 128, depth = 32, warps = 8, stages = 4> : memref<128x96xbf16>, memref<96x128xbf16>
  return
}
