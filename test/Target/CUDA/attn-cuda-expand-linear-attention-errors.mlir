// RUN: rapt-opt %s --attn-cuda-expand --verify-diagnostics --split-input-file

func.func @host(%q: memref<?x1x8xf32>) {
  // expected-error@+1 {{is expanded in a GPU module, on buffers}}
  attn_gpu.linear_attention_tile %q, %q, %q outs(%q : memref<?x1x8xf32>) tiles <columns = 16, warps = 4> {scale = 1.0 : f64} : memref<?x1x8xf32>, memref<?x1x8xf32>, memref<?x1x8xf32>
  return
}
