// RUN: rapt-opt %s --attn-pad-kernels --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @ragged
// CHECK-SAME: %[[X:.*]]: tensor<?x33xf32>, %[[W:.*]]: tensor<33xf32>
// CHECK: %[[PX:.*]] = tensor.pad %[[X]] low[0, 0] high[0, 31]
// CHECK: %[[PW:.*]] = tensor.pad %[[W]] low[0] high[31]
// CHECK: %[[N:.*]] = attn.rms_norm %[[PX]], %[[PW]] {{.*}} columns 33 : tensor<?x64xf32>, tensor<64xf32>
// The next op takes a padded result as it is.
// CHECK-NOT: tensor.pad
// CHECK: %[[A:.*]] = attn.activation relu %[[N]] : tensor<?x64xf32>
// CHECK: %[[CUT:.*]] = tensor.extract_slice %[[A]][0, 0] [%{{.*}}, 33] [1, 1]
// CHECK: return %[[CUT]]
func.func @ragged(%x: tensor<?x33xf32>, %w: tensor<33xf32>) -> tensor<?x33xf32> {
  %n = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x33xf32>, tensor<33xf32>
  %a = attn.activation relu %n : tensor<?x33xf32>
  return %a : tensor<?x33xf32>
}

// A weight that fills panels is read where it lies; nothing is copied.
// CHECK-LABEL: @whole
// CHECK-NOT: tensor.pad
// CHECK-NOT: linalg.pack
// CHECK: attn.linear {{.*}} : tensor<?x33xf32>, tensor<33x64xf32> -> tensor<?x64xf32>
// CHECK-NOT: extract_slice
func.func @whole(%x: tensor<?x33xf32>, %w: tensor<33x64xf32>) -> tensor<?x64xf32> {
  %y = attn.linear %x, %w : tensor<?x33xf32>, tensor<33x64xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// A matmul that is returned stores its last panel narrow.
// CHECK-LABEL: @transposed
// CHECK: %[[P:.*]] = linalg.pack {{.*}} inner_dims_pos = [0] inner_tiles = [32] into %{{.*}} : tensor<65x7xf32> -> tensor<3x7x32xf32>
// CHECK: %[[Y:.*]] = attn.linear %{{.*}}, %[[P]] {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x7xf32>, tensor<3x7x32xf32> -> tensor<?x65xf32>
// CHECK: return %[[Y]]
func.func @transposed(%x: tensor<?x7xf32>, %w: tensor<65x7xf32>) -> tensor<?x65xf32> {
  %y = attn.linear %x, %w transposed : tensor<?x7xf32>, tensor<65x7xf32> -> tensor<?x65xf32>
  return %y : tensor<?x65xf32>
}

// -----

func.func @unknown(%x: tensor<?x?xf32>, %rows: tensor<?xi32>) -> tensor<?x?xf32> {
  // expected-error@+1 {{has a last extent '?': the columns of a kernel's arrays must be numbers}}
  %a = attn.select_rows %x, %rows : tensor<?x?xf32>, tensor<?xi32> -> tensor<?x?xf32>
  return %a : tensor<?x?xf32>
}

// -----

// Elementwise ops need no panels: their neutral decomposition takes columns that are no number.
// CHECK-LABEL: @unknown_elements
func.func @unknown_elements(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // CHECK-NEXT: %[[Y:.*]] = attn.activation relu %arg0
  // CHECK-NEXT: %[[Z:.*]] = arith.addf %[[Y]], %arg0
  // CHECK-NEXT: return %[[Z]]
  %0 = attn.activation relu %x : tensor<?x?xf32>
  %1 = arith.addf %0, %x : tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// -----

func.func @turned(%q: tensor<?x2x32xf32>, %k: tensor<2x32x9xf32>, %v: tensor<?x2x32xf32>, %s: f32) -> tensor<?x2x32xf32> {
  // CHECK: attn.attention %arg0, %arg1, %arg2, %arg3
  // CHECK-SAME: attn_cpu.neutral
  %o = attn.attention %q, %k, %v, %s maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (h, c, j)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, d)>]
    : tensor<?x2x32xf32>, tensor<2x32x9xf32>, tensor<?x2x32xf32> -> tensor<?x2x32xf32>
  return %o : tensor<?x2x32xf32>
}

// -----

// Heads of a cache that fill no panel: the cache pads them, a caller's queries are as they are.
// CHECK-LABEL: @cached
// CHECK: attn.attention %arg0
// CHECK-SAME: attn_cpu.neutral
func.func @cached(%q: tensor<?x?x2x40xf32>, %cache: !attn.kv_cache<1 x 2 x 40, block = 64, f32>, %table: tensor<?x?xi32>, %past: tensor<?xi32>,
                  %layer: index, %s: f32) -> tensor<?x?x2x40xf32> {
  %k, %v = attn.kv_view %cache[%layer], %table : !attn.kv_cache<1 x 2 x 40, block = 64, f32>, tensor<?x?xi32> -> tensor<?x?x2x40xf32>
  %o = attn.attention %q, %k, %v, %s kv_length(%past : tensor<?xi32>) maps [affine_map<(b, h, g, i, j, c, d) -> (b, i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (b, j, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (b, j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (b, i, h, d)>]
      : tensor<?x?x2x40xf32>, tensor<?x?x2x40xf32>, tensor<?x?x2x40xf32> -> tensor<?x?x2x40xf32>
  return %o : tensor<?x?x2x40xf32>
}

// -----

// A sigmoid makes 0.5 of zeros: the norm reads its columns that count, and zeros behind them. A relu's own zeros stay.
// CHECK-LABEL: @zeros
func.func @zeros(%x: tensor<?x20xf32>, %norm: tensor<20xf32>) -> tensor<?x20xf32> {
  // CHECK: %[[HALVES:.*]] = attn.activation sigmoid %{{.*}} : tensor<?x32xf32>
  // CHECK: %[[CUT:.*]] = tensor.extract_slice %[[HALVES]]
  // CHECK: %[[PADDED:.*]] = tensor.pad %[[CUT]]
  // CHECK: attn.rms_norm %[[PADDED]]
  // CHECK: %[[RELU:.*]] = attn.activation relu
  // CHECK: attn.rms_norm %[[RELU]]
  %a = attn.activation sigmoid %x : tensor<?x20xf32>
  %b = attn.rms_norm %a, %norm epsilon 1.0e-5 : tensor<?x20xf32>, tensor<20xf32>
  %c = attn.activation relu %b : tensor<?x20xf32>
  %d = attn.rms_norm %c, %norm epsilon 1.0e-5 : tensor<?x20xf32>, tensor<20xf32>
  return %d : tensor<?x20xf32>
}
