// RUN: rapt-opt %s --attn-to-linalg --verify-diagnostics --split-input-file

func.func @not_packed(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{has no tiled form: the weight is not in panels}}
  %y = attn.linear %x, %w transposed : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @not_padded(%x: tensor<?x50xf32>, %w: tensor<50xf32>) -> tensor<?x50xf32> {
  // expected-error@+1 {{has no tiled form: columns are not padded}}
  %y = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x50xf32>, tensor<50xf32>
  return %y : tensor<?x50xf32>
}

// -----

func.func @recurrence(%x: tensor<?x50xf32>, %w: tensor<50x50xf32>, %begin: tensor<?xi32>, %h: tensor<?x50xf32>) -> tensor<?x50xf32> {
  // expected-error@+1 {{has no tiled form: columns are not padded}}
  %y, %last = attn.recurrence rnn_tanh %x, %w rows(%begin) init(%h) : tensor<?x50xf32>, tensor<50x50xf32>, tensor<?xi32>, tensor<?x50xf32>
  return %y : tensor<?x50xf32>
}

// -----

func.func @concat(%x: tensor<?x50xf32>) -> tensor<?x100xf32> {
  // expected-error@+1 {{has no tiled form: columns are not padded}}
  %y = attn.concat %x, %x : tensor<?x50xf32>, tensor<?x50xf32>
  return %y : tensor<?x100xf32>
}
