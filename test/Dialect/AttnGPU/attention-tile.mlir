// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt %s --canonicalize | FileCheck %s --check-prefix=FOLD

!q = tensor<?x3x64xbf16>
!k = tensor<?x64xbf16>

// CHECK-LABEL: func.func @plain
func.func @plain(%q: !k, %k: !k, %scale: f32, %o: !k) -> !k {
  // CHECK: attn_gpu.attention_tile %{{.*}}, %{{.*}}, %{{.*}} scale %{{.*}} outs(%{{.*}} : tensor<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4> : tensor<?x64xbf16>, tensor<?x64xbf16>, tensor<?x64xbf16> -> tensor<?x64xbf16>
  %0 = attn_gpu.attention_tile %q, %k, %k scale %scale outs(%o : !k) tiles <rows = 64, keys = 64, warps = 4> : !k, !k, !k -> !k
  return %0 : !k
}

// Elements of two types are multiplied as f32. The largest scores and the sums are those of a part of the keys.
// CHECK-LABEL: func.func @floats
func.func @floats(%q: memref<?x64xf32>, %k: memref<?x64xbf16>, %scale: f32, %lse: memref<?xf32>, %sum: memref<?xf32>) {
  // CHECK: attn_gpu.attention_tile {{.*}} scale %{{.*}} outs(%{{.*}}, %{{.*}} : memref<?x64xf32>, memref<?xf32>) sum(%{{.*}} : memref<?xf32>) tiles <rows = 64, keys = 32, warps = 2, matmul = tf32x3>
  attn_gpu.attention_tile %q, %k, %k scale %scale outs(%q, %lse : memref<?x64xf32>, memref<?xf32>) sum(%sum : memref<?xf32>) tiles <rows = 64, keys = 32, warps = 2, matmul = tf32x3> : memref<?x64xf32>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// Heads of a group, a cache, sinks, log-sum-exp and all regions, on buffers.
// CHECK-LABEL: func.func @all
func.func @all(%q: memref<?x3x64xf16>, %k: memref<?x32x64xf16>, %v: memref<?x32x80xf16>, %scale: f32, %table: memref<?xi32>, %i: index, %sink: memref<3xbf16>,
               %o: memref<?x3x80xf32>, %lse: memref<?x3xf32>) {
  // CHECK: attn_gpu.attention_tile {{.*}} table(%{{.*}}, %{{.*}}, %{{.*}} : memref<?xi32>) sink(%{{.*}} : memref<3xbf16>) outs(%{{.*}}, %{{.*}} : memref<?x3x80xf32>, memref<?x3xf32>) tiles <rows = 128, keys = 128, warps = 8, matmul = wgmma> : memref<?x3x64xf16>, memref<?x32x64xf16>, memref<?x32x80xf16>
  // CHECK-SAME: score {
  // CHECK: } mask {
  // CHECK: } blocks {
  attn_gpu.attention_tile %q, %k, %v scale %scale table(%table, %i, %i : memref<?xi32>) sink(%sink : memref<3xbf16>) outs(%o, %lse : memref<?x3x80xf32>, memref<?x3xf32>)
      tiles <rows = 128, keys = 128, warps = 8, matmul = wgmma> : memref<?x3x64xf16>, memref<?x32x64xf16>, memref<?x32x80xf16> score {
  ^bb0(%s: f32, %row: index, %column: index):
    attn_gpu.yield %s : f32
  } mask {
  ^bb0(%row: index, %column: index):
    %keep = arith.cmpi sle, %column, %row : index
    attn_gpu.yield %keep : i1
  } blocks {
  ^bb0(%first: index, %count: index):
    %keep = arith.cmpi sle, %first, %count : index
    attn_gpu.yield %keep, %keep : i1, i1
  }
  return
}

// Casts to less static types are folded; regions may be left out.
// FOLD-LABEL: func.func @cast
func.func @cast(%q: tensor<8x64xbf16>, %k: !k, %scale: f32, %o: tensor<8x64xbf16>) -> !k {
  // FOLD: attn_gpu.attention_tile {{.*}} : tensor<8x64xbf16>, tensor<?x64xbf16>, tensor<?x64xbf16> -> tensor<8x64xbf16>
  // FOLD: tensor.cast
  %rows = tensor.cast %q : tensor<8x64xbf16> to !k
  %dest = tensor.cast %o : tensor<8x64xbf16> to !k
  %0 = attn_gpu.attention_tile %rows, %k, %k scale %scale outs(%dest : !k) tiles <rows = 64, keys = 64, warps = 4> : !k, !k, !k -> !k
  return %0 : !k
}

// CHECK-LABEL: func.func @bounds
func.func @bounds(%ids: memref<?xi32>, %n: index) -> (index, index) {
  // CHECK: %[[LOW:.*]], %[[HIGH:.*]] = attn_gpu.range %{{.*}} {
  // CHECK: attn_gpu.yield %{{.*}} : index
  // CHECK: return %[[LOW]], %[[HIGH]]
  %low, %high = attn_gpu.range %n {
  ^bb0(%i: index):
    %id = memref.load %ids[%i] : memref<?xi32>
    %number = arith.index_cast %id : i32 to index
    attn_gpu.yield %number : index
  }
  return %low, %high : index, index
}

// CHECK-LABEL: func.func @maps
func.func @maps(%q: memref<?x64xbf16>, %scale: f32, %map: !llvm.ptr, %made: i1, %i: index) {
  // CHECK: attn_gpu.attention_tile {{.*}} maps(%[[MAP:.*]] at[%[[I:.*]], %[[I]]], %[[MAP]] at[%[[I]], %[[I]], %[[I]]] if %{{.*}} : !llvm.ptr, !llvm.ptr) outs
  attn_gpu.attention_tile %q, %q, %q scale %scale maps(%map at [%i, %i], %map at [%i, %i, %i] if %made : !llvm.ptr, !llvm.ptr) outs(%q : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4, matmul = wgmma> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}
