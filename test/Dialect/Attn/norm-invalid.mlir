// RUN: rapt-opt --split-input-file --verify-diagnostics %s

func.func @rank(%x: tensor<16xf32>, %w: tensor<16xf32>) {
  // expected-error@+1 {{'attn.rms_norm' op needs an input of at least two dims, the last one static, found 'tensor<16xf32>'}}
  %0 = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?x4x?xf32>, %w: tensor<16xf32>) {
  // expected-error@+1 {{'attn.layer_norm' op needs an input of at least two dims, the last one static, found 'tensor<?x4x?xf32>'}}
  %0 = attn.layer_norm %x, %w, %w epsilon 1.0e-6 : tensor<?x4x?xf32>, tensor<16xf32>
  return
}

// -----

func.func @weight(%x: tensor<?x63x64xf32>, %w: tensor<63xf32>) {
  // expected-error@+1 {{weight 'tensor<63xf32>' does not fit input 'tensor<?x63x64xf32>'}}
  %0 = attn.layer_norm %x, %w, %w epsilon 1.0e-6 : tensor<?x63x64xf32>, tensor<63xf32>
  return
}

// -----

func.func @own_weight(%x: tensor<?x3x64xf32>, %w: tensor<4x64xf32>) {
  // expected-error@+1 {{weight 'tensor<4x64xf32>' does not fit input 'tensor<?x3x64xf32>'}}
  %0 = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x3x64xf32>, tensor<4x64xf32>
  return
}

// -----

// A weight has one dim less than the input at most.
func.func @weight_rank(%x: tensor<3x64xf32>, %w: tensor<3x64xf32>) {
  // expected-error@+1 {{weight 'tensor<3x64xf32>' does not fit input 'tensor<3x64xf32>'}}
  %0 = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<3x64xf32>, tensor<3x64xf32>
  return
}

// -----

func.func @epsilon(%x: tensor<?x64xf32>, %w: tensor<64xf32>) {
  // expected-error@+1 {{needs a positive finite epsilon, found 0.000000e+00}}
  %0 = attn.rms_norm %x, %w epsilon 0.0 : tensor<?x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @epsilon_nan(%x: tensor<?x64xf32>, %w: tensor<64xf32>) {
  // expected-error@+1 {{needs a positive finite epsilon, found nan}}
  %0 = attn.rms_norm %x, %w epsilon 0x7FF8000000000000 : tensor<?x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @columns(%x: tensor<?x128x64xf32>, %w: tensor<64xf32>) {
  // expected-error@+1 {{columns must be within 1..64, found 65}}
  %0 = attn.layer_norm %x, %w, %w epsilon 1.0e-5 columns 65 : tensor<?x128x64xf32>, tensor<64xf32>
  return
}
