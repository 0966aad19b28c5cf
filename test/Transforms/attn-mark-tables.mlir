// RUN: rapt-opt %s --attn-mark-tables | FileCheck %s

// A table of positions, one of each layer, and one of 8 bits. A tied head is read by a matmul, too, of the same slice or
// of another; a table that is an output is read whole.
// CHECK: attn.parameter @positions {{.*}} {attn.read_by_rows}
// CHECK: attn.parameter @layered layers 2 {{.*}} {attn.read_by_rows}
// CHECK: attn.parameter @quantized {{.*}} {attn.read_by_rows}
// CHECK: attn.parameter @tied : {{.*}}"tied">]{{$}}
// CHECK: attn.parameter @tied_elsewhere : {{.*}}"tied_elsewhere">]{{$}}
// CHECK: attn.parameter @shown : {{.*}}"shown">]{{$}}
// CHECK: attn.parameter @unread : {{.*}}"unread">]{{$}}
// CHECK: attn.parameter @never : {{.*}}"never">]{{$}}
attn.parameter @positions : tensor<10x64xf32> from [#attn.source<"positions">]
attn.parameter @layered layers 2 : tensor<2x10x64xf32> from [#attn.source<"{layer}">]
attn.parameter @quantized : tensor<10x64x!attn.quantized<u8 group 32 axis 1>> from [#attn.source<"quantized">]
attn.parameter @tied : tensor<10x64xf32> from [#attn.source<"tied">]
attn.parameter @tied_elsewhere : tensor<10x64xf32> from [#attn.source<"tied_elsewhere">]
attn.parameter @shown : tensor<10x64xf32> from [#attn.source<"shown">]
attn.parameter @unread : tensor<10x64xf32> from [#attn.source<"unread">]
attn.parameter @never : tensor<10x64xf32> from [#attn.source<"never">]
func.func @rows(%ids: tensor<?xi32>, %layer: index)
    -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<10x64xf32>) {
  %a = attn.parameter_slice @positions : tensor<10x64xf32>
  %b = attn.parameter_slice @layered[%layer] : tensor<10x64xf32>
  %c = attn.parameter_slice @quantized : tensor<10x64x!attn.quantized<u8 group 32 axis 1>>
  %d = attn.parameter_slice @tied : tensor<10x64xf32>
  %e = attn.parameter_slice @tied_elsewhere : tensor<10x64xf32>
  %f = attn.parameter_slice @shown : tensor<10x64xf32>
  %g = attn.parameter_slice @unread : tensor<10x64xf32>
  %1 = attn.embedding %ids, %a : tensor<?xi32>, tensor<10x64xf32> -> tensor<?x64xf32>
  %2 = attn.embedding %ids, %b : tensor<?xi32>, tensor<10x64xf32> -> tensor<?x64xf32>
  %3 = attn.embedding %ids, %c : tensor<?xi32>, tensor<10x64x!attn.quantized<u8 group 32 axis 1>> -> tensor<?x64xf32>
  %4 = attn.embedding %ids, %d : tensor<?xi32>, tensor<10x64xf32> -> tensor<?x64xf32>
  %5 = attn.embedding %ids, %e : tensor<?xi32>, tensor<10x64xf32> -> tensor<?x64xf32>
  %6 = attn.embedding %ids, %f : tensor<?xi32>, tensor<10x64xf32> -> tensor<?x64xf32>
  return %1, %2, %3, %4, %5, %6, %f : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<10x64xf32>
}
func.func @heads(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>) -> (tensor<?x10xf32>, tensor<?x10xf32>) {
  %d = attn.parameter_slice @tied : tensor<10x64xf32>
  %1 = attn.linear %x, %d transposed : tensor<?x64xf32>, tensor<10x64xf32> -> tensor<?x10xf32>
  %e = attn.parameter_slice @tied_elsewhere : tensor<10x64xf32>
  %2 = attn.linear %z, %e transposed : tensor<?x64xf32>, tensor<10x64xf32> -> tensor<?x10xf32>
  return %1, %2 : tensor<?x10xf32>, tensor<?x10xf32>
}
