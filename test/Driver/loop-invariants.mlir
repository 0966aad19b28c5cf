// Ops that are the same in every layer are computed in front of the layers: rotations rounded to bf16. Ops on what a layer changes stay.

// REQUIRES: compiler
// RUN: raptc %s --emit=canonical | FileCheck %s
// CHECK-LABEL: func.func @layers
// CHECK-COUNT-2: arith.truncf %{{.*}} : tensor<?x32xf32> to tensor<?x32xbf16>
// CHECK: scf.for
// CHECK-NOT: to tensor<?x32xbf16>
// CHECK: attn.rope
func.func @layers(%x: tensor<?x2x64xf32> {attn.name = "x", attn.dims = ["tokens"]},
                  %a: tensor<?x32xf32> {attn.name = "a", attn.dims = ["tokens"]}, %b: tensor<?x32xf32> {attn.name = "b", attn.dims = ["tokens"]})
    -> (tensor<?x2x64xf32> {attn.name = "y", attn.dims = ["tokens"]}) attributes {attn.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%z = %x) -> (tensor<?x2x64xf32>) {
    %cos = arith.truncf %a : tensor<?x32xf32> to tensor<?x32xbf16>
    %sin = arith.truncf %b : tensor<?x32xf32> to tensor<?x32xbf16>
    %r = attn.rope %z, %cos, %sin : tensor<?x2x64xf32>, tensor<?x32xbf16>
    scf.yield %r : tensor<?x2x64xf32>
  }
  return %y : tensor<?x2x64xf32>
}
