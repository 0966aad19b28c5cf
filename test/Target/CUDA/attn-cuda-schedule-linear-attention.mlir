// RUN: rapt-opt %s --attn-cuda-schedule --split-input-file --remarks-filter=fusion -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t

// Numbers of 16 bits are tf32 as they are: chunks on tensor cores. Those of f32 are multiplied exactly, where the recurrent form is faster.
// CHECK-LABEL: @types
// CHECK: attn.linear_attention {{.*}} {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4, chunk = 64, least = 32, matmul = tf32>}
// CHECK: attn.linear_attention {{.*}} {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4>}
// Near misses: keys in f32, and shared memory that does not hold a chunk of 256 channels.
// CHECK: attn.linear_attention {{.*}} {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4>}
// CHECK: attn.linear_attention {{.*}} {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4>}
func.func @types(%b: tensor<?x2x128xbf16>, %f: tensor<?x2x128xf32>, %w: tensor<?x2x256xbf16>, %begin: tensor<?xi32>) -> (tensor<?x2x128xbf16>, tensor<?x2x128xf32>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>) {
  %0 = attn.linear_attention linear %b, %b, %b rows(%begin) : tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>
  %1 = attn.linear_attention linear %f, %f, %f rows(%begin) : tensor<?x2x128xf32>, tensor<?x2x128xf32>, tensor<?x2x128xf32>, tensor<?xi32>
  %2 = attn.linear_attention linear %b, %f, %b rows(%begin) : tensor<?x2x128xbf16>, tensor<?x2x128xf32>, tensor<?x2x128xbf16>, tensor<?xi32>
  %3 = attn.linear_attention linear %w, %w, %b rows(%begin) : tensor<?x2x256xbf16>, tensor<?x2x256xbf16>, tensor<?x2x128xbf16>, tensor<?xi32>
  return %0, %1, %2, %3 : tensor<?x2x128xbf16>, tensor<?x2x128xf32>, tensor<?x2x128xbf16>, tensor<?x2x128xbf16>
}

// -----

// Near miss: decays of channels.
// CHECK-LABEL: @channels
// CHECK: {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4>}
func.func @channels(%b: tensor<?x2x64xf16>, %g: tensor<?x2x64xf32>, %begin: tensor<?xi32>) -> tensor<?x2x64xf16> {
  %0 = attn.linear_attention gated %b, %b, %b decay(%g : tensor<?x2x64xf32>) rows(%begin) : tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?x2x64xf16>, tensor<?xi32>
  return %0 : tensor<?x2x64xf16>
}

// -----

// CHECK-LABEL: @wide
// CHECK-NOT: attn_gpu.schedule
// REMARK: [[#@LINE+2]]:8: remark: [Missed] schedule | Category:fusion | Reason="its neutral decomposition is compiled, since it has more than 256 key channels"
func.func @wide(%q: tensor<?x1x257xf32>, %v: tensor<?x1x8xf32>, %begin: tensor<?xi32>) -> tensor<?x1x8xf32> {
  %0 = attn.linear_attention linear %q, %q, %v rows(%begin) : tensor<?x1x257xf32>, tensor<?x1x257xf32>, tensor<?x1x8xf32>, tensor<?xi32>
  return %0 : tensor<?x1x8xf32>
}

// -----

// On request f32 are multiplied on tensor cores, with half of the value channels: their tiles are larger. Mixed types are f32.
module attributes {attn.target = {target = "cuda", tf32_terms = 2 : i64}} {
  // CHECK-LABEL: @floats
  // CHECK: {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 16, warps = 4, chunk = 64, least = 32, matmul = tf32x3>}
  // CHECK: {attn_gpu.schedule = #attn_gpu.linear_attention_tiles<columns = 32, warps = 4, chunk = 64, least = 32, matmul = tf32x3>}
  func.func @floats(%q: tensor<?x1x128xf32>, %k: tensor<?x1x64xbf16>, %v: tensor<?x1x64xf32>, %begin: tensor<?xi32>) -> (tensor<?x1x128xf32>, tensor<?x1x64xbf16>) {
    %0 = attn.linear_attention linear %q, %q, %q rows(%begin) : tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?xi32>
    %1 = attn.linear_attention linear %k, %k, %v rows(%begin) : tensor<?x1x64xbf16>, tensor<?x1x64xbf16>, tensor<?x1x64xf32>, tensor<?xi32>
    return %0, %1 : tensor<?x1x128xf32>, tensor<?x1x64xbf16>
  }
}
