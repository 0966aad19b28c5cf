// RUN: rapt-opt %s --verify-diagnostics --split-input-file

func.func @direction(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.linear' op attribute 'attn_cpu.fused_into' must be #attn_cpu.root<consumer>, found #attn_cpu.root<producer>}}
  %y = attn.linear %x, %w {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @kind(%x: tensor<?x64xf32>) -> tensor<?x64xbf16> {
  // expected-error@+1 {{'attn_cpu.cast_rows' op attribute 'attn_cpu.fused_into' must be #attn_cpu.root<producer>, found unit}}
  %y = attn_cpu.cast_rows %x {attn_cpu.fused_into} : tensor<?x64xf32> -> tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

func.func @op(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'arith.addf' op attribute 'attn_cpu.fused_into' belongs to attn.linear, attn.rope and attn_cpu.cast_rows}}
  %y = arith.addf %x, %x {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
