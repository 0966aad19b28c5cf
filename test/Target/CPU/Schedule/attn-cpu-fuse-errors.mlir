// RUN: rapt-opt %s --attn-set-target="target=cpu capabilities=vector_bytes=64,bf16_dot" --attn-cpu-schedule --attn-verify-laid-out --verify-diagnostics --split-input-file
// RUN: rapt-opt %s --attn-set-target="target=cpu capabilities=vector_bytes=64,bf16_dot" --attn-cpu-schedule --attn-cpu-tile --verify-diagnostics --split-input-file

// A fusion is input as any other text: one that is not legal is one error, which says why. The passes below trust it.
func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>, %c: tensor<?x32xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.linear' op has 'attn_cpu.fused_into', which is not legal, since no epilogue of a matmul reads it}}
  %y = attn.linear %x, %w {attn_cpu.fused_into = #attn_cpu.root<consumer>} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{which is not legal, since it is read by more than one op}}
  %up = attn.linear %x, %w {attn_cpu.fused_into = #attn_cpu.root<consumer>} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %y = arith.addf %up, %up : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @f(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{which is not legal, since the two matmuls read different activations}}
  %up = attn.linear %z, %w {attn_cpu.fused_into = #attn_cpu.root<consumer>} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%up) : tensor<?x64xf32>, tensor<64x64xf32>, (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{which is not legal, since another matmul is fused into the one that reads it}}
  %a = attn.linear %x, %w {attn_cpu.fused_into = #attn_cpu.root<consumer>} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %b = attn.linear %x, %w {attn_cpu.fused_into = #attn_cpu.root<consumer>} : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%a, %b) : tensor<?x64xf32>, tensor<64x64xf32>, (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %first: f32, %second: f32):
    %0 = arith.mulf %first, %second : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

func.func @f(%x: tensor<?x2x64xf32>, %c: tensor<?x32xf32>) -> tensor<?x2x64xf32> {
  // expected-error@+1 {{'attn.rope' op has 'attn_cpu.fused_into', which is not legal, since no matmul makes its heads}}
  %y = attn.rope %x, %c, %c {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x2x64xf32>, tensor<?x32xf32>
  return %y : tensor<?x2x64xf32>
}

// -----

func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>, %c: tensor<?x24xf32>) -> tensor<?x2x48xf32> {
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xf32>
  %1 = attn.split_heads %0 : tensor<?x96xf32> -> tensor<?x2x48xf32>
  // expected-error@+1 {{which is not legal, since its heads do not fill whole packed panels}}
  %2 = attn.rope %1, %c, %c {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x2x48xf32>, tensor<?x24xf32>
  return %2 : tensor<?x2x48xf32>
}

// -----

func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn_cpu.cast_rows' op has 'attn_cpu.fused_into', which is not legal, since no op of the same block makes its rows}}
  %r = attn_cpu.cast_rows %x {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x64xf32> -> tensor<?x64xbf16>
  %y = attn.linear %r, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @f(%x: tensor<?x64xf32>, %w: tensor<2x32x64xbf16>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %s = arith.addf %x, %x : tensor<?x64xf32>
  // expected-error@+1 {{which is not legal, since another cast of its rows is fused into the op that makes them}}
  %a = attn_cpu.cast_rows %s {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x64xf32> -> tensor<?x64xbf16>
  %b = attn_cpu.cast_rows %s {attn_cpu.fused_into = #attn_cpu.root<producer>} : tensor<?x64xf32> -> tensor<?x64xbf16>
  %y = attn.linear %a, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
  %z = attn.linear %b, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x128xf32>, %groups: tensor<3x2xi32>, %others: tensor<3x2xi32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{which is not legal, since the two matmuls read different activations}}
  %up = attn.linear %x, %w groups %others {attn_cpu.fused_into = #attn_cpu.root<consumer>} : tensor<?x64xf32>, tensor<64x128xf32> groups tensor<3x2xi32> -> tensor<?x64xf32>
  %y = attn.linear %x, %w, (%up) groups %groups : tensor<?x64xf32>, tensor<64x128xf32>, (tensor<?x64xf32>) groups tensor<3x2xi32> -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %other: f32):
    %0 = arith.mulf %sum, %other : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}
