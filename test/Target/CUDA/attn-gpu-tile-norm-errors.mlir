// RUN: rapt-opt %s --attn-gpu-tile --verify-diagnostics --split-input-file

func.func @number(%x: tensor<?x64xbf16>, %w: tensor<64xf32>) -> tensor<?x64xbf16> {
  // expected-error@+1 {{has a schedule 'thread_block' without 'lanes' or 'threads'}}
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 {attn.schedule = #attn.schedule<thread_block = <lanes = 8>>} : tensor<?x64xbf16>, tensor<64xf32>
  return %y : tensor<?x64xbf16>
}

// -----

func.func @fewer(%x: tensor<?x64xbf16>, %w: tensor<64xf32>) -> tensor<?x64xbf16> {
  // expected-error@+1 {{has a schedule of 4 threads of which 8 have a row}}
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 {attn.schedule = #attn.schedule<thread_block = <lanes = 8, threads = 4>>} : tensor<?x64xbf16>, tensor<64xf32>
  return %y : tensor<?x64xbf16>
}

// -----

// The tile's own rules are those of its op.
func.func @lanes(%x: tensor<?x64xbf16>, %w: tensor<64xf32>) -> tensor<?x64xbf16> {
  // expected-error@+1 {{'attn_gpu.norm_tile' op has 128 threads of which 12 have a row}}
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 {attn.schedule = #attn.schedule<thread_block = <lanes = 12, threads = 128>>} : tensor<?x64xbf16>, tensor<64xf32>
  return %y : tensor<?x64xbf16>
}

// -----

func.func @long(%x: tensor<?x16385xbf16>, %w: tensor<16385xf32>) -> tensor<?x16385xbf16> {
  // expected-error@+1 {{has a schedule 'thread_block', but its rows do not have from 1 to 16384 elements, which a thread block holds}}
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 {attn.schedule = #attn.schedule<thread_block = <lanes = 512, threads = 512>>} : tensor<?x16385xbf16>, tensor<16385xf32>
  return %y : tensor<?x16385xbf16>
}
