// RUN: rapt-opt %s | rapt-opt | FileCheck %s

!a = !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>
!b = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<b>>
!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
!p = !attn_gpu.fragment<16x64xf16, #attn_gpu.mma<a>>
!row = !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>

// CHECK-LABEL: @of_a_warp
func.func @of_a_warp(%a: !a, %b: !b, %p: !llvm.ptr<1>, %i: index, %x: f32) -> !p {
  // CHECK: attn_gpu.fill %{{.*}} : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
  %zero = attn_gpu.fill %x : !acc
  // CHECK: attn_gpu.fill %{{.*}} : !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
  %low = attn_gpu.fill %x : !row
  // CHECK: attn_gpu.mma %{{.*}}, %{{.*}}, %{{.*}} : !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>, !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<b>> -> !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
  %s = attn_gpu.mma %a, %b, %zero : !a, !b -> !acc
  // CHECK: attn_gpu.reduce_rows max %{{.*}} init %{{.*}} : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>> -> !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
  %m = attn_gpu.reduce_rows max %s init %low : !acc -> !row
  // CHECK: attn_gpu.reduce_rows add %{{.*}} partial :
  %part = attn_gpu.reduce_rows add %s partial : !acc -> !row
  // CHECK: attn_gpu.reduce_lanes add %{{.*}} : !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
  %l = attn_gpu.reduce_lanes add %part : !row
  // CHECK: attn_gpu.map(%{{.*}}, %{{.*}} : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>, !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>) -> !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>> {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: index, %{{.*}}: index):
  // CHECK: attn_gpu.yield %{{.*}} : f32
  %e = attn_gpu.map(%s, %m : !acc, !row) -> !acc {
  ^bb0(%y: f32, %max: f32, %row: index, %column: index):
    %less = arith.subf %y, %max : f32
    attn_gpu.yield %less : f32
  }
  // CHECK: attn_gpu.map() -> !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>, !attn_gpu.row_vector<16, #attn_gpu.mma<acc>> {
  %two:2 = attn_gpu.map() -> !row, !row {
  ^bb0(%row: index):
    attn_gpu.yield %x, %x : f32, f32
  }
  // CHECK: attn_gpu.load_fragment %{{.*}}[%{{.*}}, %{{.*}}] stride %{{.*}} bounds(%{{.*}}, %{{.*}}) of bf16 : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
  %bias = attn_gpu.load_fragment %p[%i, %i] stride %i bounds(%i, %i) of bf16 : !acc
  // CHECK: attn_gpu.store_fragment %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] stride %{{.*}} of f32 : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
  attn_gpu.store_fragment %bias, %p[%i, %i] stride %i of f32 : !acc
  // CHECK: attn_gpu.store_rows %{{.*}}, %{{.*}}[%{{.*}}] bounds(%{{.*}}, %{{.*}}) of bf16 elements : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>> {
  // CHECK-NEXT: ^bb0(%[[ROW:.*]]: index):
  // CHECK-NEXT: attn_gpu.yield %[[ROW]] : index
  attn_gpu.store_rows %bias, %p[%i] bounds(%i, %i) of bf16 elements : !acc {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  // CHECK: attn_gpu.store_rows %{{.*}}, %{{.*}}[%{{.*}}] bounds(%{{.*}}, %{{.*}}) of f16 fours : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>> {
  attn_gpu.store_rows %bias, %p[%i] bounds(%i, %i) of f16 fours : !acc {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  // CHECK: attn_gpu.pack %{{.*}} : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>> -> !attn_gpu.fragment<16x64xf16, #attn_gpu.mma<a>>
  %packed = attn_gpu.pack %e : !acc -> !p
  return %packed : !p
}

!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<64>, pitch = 192>
!left = !attn_gpu.fragment<64x64xbf16, #attn_gpu.wgmma<a>>
!sums = !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>

// CHECK-LABEL: @of_a_warpgroup
func.func @of_a_warpgroup(%t: !tile, %p: !left) {
  // CHECK: attn_gpu.wgmma_fence{{$}}
  attn_gpu.wgmma_fence
  // CHECK: attn_gpu.wgmma %{{.*}}, %{{.*}} transpose : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<64>, pitch = 192>, !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<64>, pitch = 192> -> !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>
  %s = attn_gpu.wgmma %t, %t transpose : !tile, !tile -> !sums
  // CHECK: attn_gpu.wgmma_fence(%{{.*}} : !attn_gpu.fragment<64x64xbf16, #attn_gpu.wgmma<a>>)
  %q = attn_gpu.wgmma_fence(%p : !left)
  // CHECK: attn_gpu.wgmma %{{.*}}, %{{.*}}, %{{.*}} : !attn_gpu.fragment<64x64xbf16, #attn_gpu.wgmma<a>>, !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<64>, pitch = 192> -> !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>
  %o = attn_gpu.wgmma %q, %t, %s : !left, !tile -> !sums
  // CHECK: attn_gpu.wgmma_wait 1{{$}}
  attn_gpu.wgmma_wait 1
  // CHECK: attn_gpu.wgmma_wait 0(%{{.*}}, %{{.*}} : !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>, !attn_gpu.fragment<64x64xbf16, #attn_gpu.wgmma<a>>)
  %r:2 = attn_gpu.wgmma_wait 0(%o, %q : !sums, !left)
  return
}
