// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt --mlir-print-op-generic %s | rapt-opt | FileCheck %s

// CHECK-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<?x64xf32>, %w: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  // CHECK: attn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<?x64xf32>, tensor<64xf32>
  %0 = attn.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<?x64xf32>, tensor<64xf32>
  // CHECK: attn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-05 columns 48 : tensor<?x64xf32>, tensor<64xf32>
  %1 = attn.layer_norm %0, %w, %b epsilon 1.0e-5 columns 48 : tensor<?x64xf32>, tensor<64xf32>
  return %1 : tensor<?x64xf32>
}

// CHECK-LABEL: @rms_norm
func.func @rms_norm(%x: tensor<?x64xf32>, %w: tensor<64xf32>) -> tensor<?x64xf32> {
  // CHECK: attn.rms_norm %{{.*}}, %{{.*}} epsilon 9.9999999999999995E-7 : tensor<?x64xf32>, tensor<64xf32>
  %0 = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x64xf32>, tensor<64xf32>
  // CHECK: attn.rms_norm %{{.*}}, %{{.*}} epsilon 9.9999999999999995E-7 columns 1 : tensor<?x64xf32>, tensor<64xf32>
  %1 = attn.rms_norm %0, %w epsilon 1.0e-6 columns 1 : tensor<?x64xf32>, tensor<64xf32>
  return %1 : tensor<?x64xf32>
}

// Heads are normalized one by one.
// CHECK-LABEL: @heads
func.func @heads(%x: tensor<?x4x?x20xbf16>, %w: tensor<20xf32>) -> tensor<?x4x?x20xbf16> {
  // CHECK: attn.rms_norm %{{.*}}, %{{.*}} epsilon 9.9999999999999995E-7 columns 17 : tensor<?x4x?x20xbf16>, tensor<20xf32>
  %0 = attn.rms_norm %x, %w epsilon 1.0e-6 columns 17 : tensor<?x4x?x20xbf16>, tensor<20xf32>
  // CHECK: attn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<?x4x?x20xbf16>, tensor<20xf32>
  %1 = attn.layer_norm %0, %w, %w epsilon 1.0e-5 : tensor<?x4x?x20xbf16>, tensor<20xf32>
  return %1 : tensor<?x4x?x20xbf16>
}

// Each head has a weight of its own.
// CHECK-LABEL: @own
func.func @own(%x: tensor<?x4x20xf32>, %w: tensor<4x20xf32>) -> tensor<?x4x20xf32> {
  // CHECK: attn.rms_norm %{{.*}}, %{{.*}} epsilon 1.000000e-05 : tensor<?x4x20xf32>, tensor<4x20xf32>
  %0 = attn.rms_norm %x, %w epsilon 1.0e-5 : tensor<?x4x20xf32>, tensor<4x20xf32>
  return %0 : tensor<?x4x20xf32>
}
