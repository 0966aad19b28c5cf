// RUN: rapt-opt %s --attn-gpu-tile --verify-diagnostics --split-input-file

func.func @long(%x: tensor<?x16385xbf16>, %w: tensor<16385xf32>) -> tensor<?x16385xbf16> {
  // expected-error@+1 {{has a schedule, but its rows do not have from 1 to 16384 elements, which a thread block holds}}
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 512, threads = 512>} : tensor<?x16385xbf16>, tensor<16385xf32>
  return %y : tensor<?x16385xbf16>
}
