// RUN: rapt-opt %s | rapt-opt | FileCheck %s

!tile = !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>
!part = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>, pitch = 128>
!b = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<b>>
!acc = !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>

// CHECK-LABEL: @tiles
func.func @tiles(%i: index, %p: !llvm.ptr<1>, %acc: !acc) {
  // CHECK: attn_gpu.shared %{{.*}} : !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>{{$}}
  %t = attn_gpu.shared %i : !tile
  // CHECK: attn_gpu.subtile %{{.*}}[%{{.*}}, %{{.*}}] : !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>> -> !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>, pitch = 128>
  %part = attn_gpu.subtile %t[%i, %i] : !tile -> !part
  // CHECK: attn_gpu.copy_rows %{{.*}} bounds(%{{.*}}, %{{.*}}) to %{{.*}} thread %{{.*}} of 128 :
  // CHECK-NEXT: ^bb0(%[[ROW:.*]]: index):
  // CHECK-NEXT: attn_gpu.yield %[[ROW]] : index
  attn_gpu.copy_rows %p bounds(%i, %i) to %t thread %i of 128 : !tile {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  // CHECK: attn_gpu.copy_rows %{{.*}} bounds(%{{.*}}, %{{.*}}) to %{{.*}} thread %{{.*}} of 100 elements : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>, pitch = 128>
  attn_gpu.copy_rows %p bounds(%i, %i) to %part thread %i of 100 elements : !part {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  // CHECK: attn_gpu.load_matrix %{{.*}}[%{{.*}}, %{{.*}}] transpose : !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>> -> !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<b>>
  %keys = attn_gpu.load_matrix %t[%i, %i] transpose : !tile -> !b
  // CHECK: attn_gpu.load_matrix %{{.*}}[%{{.*}}, %{{.*}}] :
  %values = attn_gpu.load_matrix %t[%i, %i] : !tile -> !b
  // CHECK: attn_gpu.store_matrix %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>, !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>
  attn_gpu.store_matrix %acc, %t[%i, %i] : !acc, !tile
  return
}

// CHECK-LABEL: @barriers
func.func @barriers(%t: !tile, %map: !llvm.ptr, %i: index, %x: i32) {
  // CHECK: attn_gpu.shared %{{.*}} : !attn_gpu.mbarrier
  %b = attn_gpu.shared %i : !attn_gpu.mbarrier
  // CHECK: attn_gpu.mbarrier_init %{{.*}} arrivals 8
  attn_gpu.mbarrier_init %b arrivals 8
  // CHECK: attn_gpu.mbarrier_expect %{{.*}} bytes 16384
  attn_gpu.mbarrier_expect %b bytes 16384
  // CHECK: attn_gpu.load_tile %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] to %{{.*}} arrive %{{.*}} : !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>
  attn_gpu.load_tile %map[%x, %x, %x] to %t arrive %b : !tile
  // CHECK: attn_gpu.copy_arrive %{{.*}}
  attn_gpu.copy_arrive %b
  // CHECK: attn_gpu.mbarrier_arrive %{{.*}}
  attn_gpu.mbarrier_arrive %b
  // CHECK: attn_gpu.mbarrier_wait %{{.*}} parity %{{.*}}
  attn_gpu.mbarrier_wait %b parity %x
  // CHECK: attn_gpu.wait_for_kernel
  attn_gpu.wait_for_kernel
  // CHECK: attn_gpu.store_tile %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}] : !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>
  attn_gpu.store_tile %t to %map[%x, %x] : !tile
  // CHECK: attn_gpu.barrier_sync %{{.*}} threads 256
  attn_gpu.barrier_sync %x threads 256
  // CHECK: attn_gpu.barrier_arrive %{{.*}} threads 256
  attn_gpu.barrier_arrive %x threads 256
  return
}
