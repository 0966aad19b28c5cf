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
  attn_gpu.attention_tile %q, %keys, %v scale %scale outs(%q : memref<64x64xbf16>) {keys = 32 : i64, rows = 64 : i64, warps = 4 : i64, wgmma} : memref<64x64xbf16>, memref<?x64xbf16, strided<[512, 1], offset: ?>>, memref<?x64xbf16>
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
  attn_gpu.attention_tile %q, %k, %k scale %scale outs(%q : memref<64x64xbf16>) {keys = 32 : i64, rows = 64 : i64, warps = 4 : i64} : memref<64x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
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
  attn_gpu.attention_tile %q, %keys, %keys scale %scale outs(%q : memref<64x40xbf16>) {keys = 32 : i64, rows = 64 : i64, warps = 4 : i64, wgmma} : memref<64x40xbf16>, memref<?x40xbf16, strided<[320, 1], offset: ?>>, memref<?x40xbf16, strided<[320, 1], offset: ?>>
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
  attn_gpu.attention_tile %q, %keys, %keys scale %scale outs(%q : memref<64x40xbf16>) {keys = 32 : i64, rows = 64 : i64, warps = 4 : i64, wgmma} : memref<64x40xbf16>, memref<?x40xbf16, strided<[320, 1], offset: ?>>, memref<?x40xbf16, strided<[320, 1], offset: ?>>
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
  attn_gpu.attention_tile %q, %keys, %keys scale %scale outs(%q : memref<64x64xbf16>) {keys = 32 : i64, rows = 64 : i64, warps = 4 : i64, wgmma} : memref<64x64xbf16>, memref<?x64xbf16, strided<[1024, 1]>>, memref<?x64xbf16, strided<[1024, 1]>>
  return
}
func.func private @six.task1(%q: memref<64x64xbf16>, %k: memref<?x2x2x2x2x64xbf16>, %begin: index, %end: index, %worker: index) {
  %scale = arith.constant 0.125 : f32
  %keys = memref.subview %q[0, 0] [32, 64] [2, 1] : memref<64x64xbf16> to memref<32x64xbf16, strided<[128, 1]>>
  attn_gpu.attention_tile %q, %keys, %keys scale %scale outs(%q : memref<64x64xbf16>) {keys = 32 : i64, rows = 64 : i64, warps = 4 : i64, wgmma} : memref<64x64xbf16>, memref<32x64xbf16, strided<[128, 1]>>, memref<32x64xbf16, strided<[128, 1]>>
  return
}
