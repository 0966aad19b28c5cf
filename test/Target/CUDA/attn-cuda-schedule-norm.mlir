// RUN: rapt-opt %s --attn-cuda-schedule --split-input-file --remarks-filter=fusion -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t

// A warp holds 1,024 elements of a row. Longer rows have several warps.
// CHECK-LABEL: @rows
// CHECK: attn.layer_norm {{.*}} {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 32, threads = 128>} : tensor<?x768xf32>
// CHECK: attn.rms_norm {{.*}} {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 32, threads = 128>} : tensor<?x1024xbf16>
// CHECK: attn.rms_norm {{.*}} {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 128, threads = 128>} : tensor<?x1025xf32>
// CHECK: attn.rms_norm {{.*}} {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 512, threads = 512>} : tensor<?x16384xf32>
func.func @rows(%a: tensor<?x768xf32>, %wa: tensor<768xf32>, %b: tensor<?x1024xbf16>, %wb: tensor<1024xf32>, %c: tensor<?x1025xf32>, %wc: tensor<1025xf32>, %d: tensor<?x16384xf32>, %wd: tensor<16384xf32>) {
  %0 = attn.layer_norm %a, %wa, %wa epsilon 1.0e-5 : tensor<?x768xf32>, tensor<768xf32>
  %1 = attn.rms_norm %b, %wb epsilon 1.0e-5 : tensor<?x1024xbf16>, tensor<1024xf32>
  %2 = attn.rms_norm %c, %wc epsilon 1.0e-5 : tensor<?x1025xf32>, tensor<1025xf32>
  %3 = attn.rms_norm %d, %wd epsilon 1.0e-5 : tensor<?x16384xf32>, tensor<16384xf32>
  return
}

// -----

// Short rows have a thread for 16 bytes, and few heads few threads.
// CHECK-LABEL: @heads
// CHECK: attn.rms_norm {{.*}} {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 16, threads = 128>} : tensor<?x32x64xf32>
// CHECK: attn.rms_norm {{.*}} {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 8, threads = 32>} : tensor<?x3x64xbf16>
// CHECK: attn.rms_norm {{.*}} {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 4, threads = 128>} : tensor<?x?x1xf32>
func.func @heads(%a: tensor<?x32x64xf32>, %b: tensor<?x3x64xbf16>, %w: tensor<64xf32>, %c: tensor<?x?x1xf32>, %wc: tensor<1xf32>) {
  %0 = attn.rms_norm %a, %w epsilon 1.0e-5 : tensor<?x32x64xf32>, tensor<64xf32>
  %1 = attn.rms_norm %b, %w epsilon 1.0e-5 : tensor<?x3x64xbf16>, tensor<64xf32>
  %2 = attn.rms_norm %c, %wc epsilon 1.0e-5 : tensor<?x?x1xf32>, tensor<1xf32>
  return
}

// -----

// Near miss: a row of more elements than the threads of a block hold.
// CHECK-LABEL: @long
// CHECK-NOT: attn.schedule
// REMARK: [[#@LINE+2]]:8: remark: [Missed] schedule | Category:fusion | Reason="its neutral decomposition is compiled, since its rows do not have from 1 to 16384 elements, which a thread block holds"
func.func @long(%x: tensor<?x16385xf32>, %w: tensor<16385xf32>) -> tensor<?x16385xf32> {
  %0 = attn.rms_norm %x, %w epsilon 1.0e-5 : tensor<?x16385xf32>, tensor<16385xf32>
  return %0 : tensor<?x16385xf32>
}

// -----

// REMARK: each of its heads has a weight of its own
// CHECK-LABEL: @own
// CHECK-NOT: attn.schedule
func.func @own(%x: tensor<?x4x64xf32>, %w: tensor<4x64xf32>) {
  %0 = attn.rms_norm %x, %w epsilon 1.0e-5 : tensor<?x4x64xf32>, tensor<4x64xf32>
  return
}
