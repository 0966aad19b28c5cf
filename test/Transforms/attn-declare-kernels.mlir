// RUN: rapt-opt %s --attn-declare-kernels --split-input-file --verify-diagnostics | FileCheck %s

// Extents that the op forces to be equal are one dim; one without a name gets the next free one.
// CHECK: attn.dim @dim0 min 0 max 2147483647
// CHECK: func.func @add(%{{.*}}: tensor<?x64xf32> {attn.dims = ["dim0"], attn.name = "arg0"}, %{{.*}}: tensor<?x64xf32> {attn.dims = ["dim0"], attn.name = "y"})
// CHECK-SAME: -> (tensor<?x64xf32> {attn.dims = ["dim0"], attn.name = "out"}) attributes {attn.entry}
func.func @add(%x: tensor<?x64xf32>, %y: tensor<?x64xf32> {attn.name = "y"}) -> tensor<?x64xf32> {
  %z = attn.add %x, %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// The text's names and bounds stay; what another function calls is no kernel.
// CHECK: attn.dim @rows min 1 max 8
// CHECK-NOT: attn.dim
// CHECK: func.func @inner({{.*}}) -> tensor<?x64xf32> {
// CHECK: func.func @outer(%{{.*}}: tensor<?x64xf32> {attn.dims = ["rows"], attn.name = "arg0"}) -> (tensor<?x64xf32> {attn.dims = ["rows"], attn.name = "out"})
attn.dim @rows min 1 max 8
func.func @inner(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %z = attn.activation relu %x : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}
func.func @outer(%x: tensor<?x64xf32> {attn.dims = ["rows"]}) -> tensor<?x64xf32> {
  %z = func.call @inner(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// Tokens of a recurrence and of what is beside it; rows of its states, all written to one state.
// CHECK: attn.dim @dim0 min
// CHECK: attn.dim @dim1 min
// CHECK: attn.dim @dim2 min
// CHECK: attn.dim @dim3 min
// CHECK-NOT: attn.dim
// CHECK: func.func @cell(%{{[^}]*}}: tensor<?x128xf32> {attn.dims = ["dim0"], {{[^}]*}}}, %{{[^}]*}}: tensor<32x128xf32> {attn.name = "arg1"}, %{{[^}]*}}: tensor<?xi32> {attn.dims = ["dim1"], {{[^}]*}}},
// CHECK-SAME: %{{[^}]*}}: tensor<?x32xf32> {attn.dims = ["dim2"], {{[^}]*}}}, %{{[^}]*}}: tensor<?x32xf32> {attn.dims = ["dim2"], {{[^}]*}}}, %{{[^}]*}}: tensor<?x32xf32> {attn.dims = ["dim3"], {{[^}]*}}}, %{{[^}]*}}: tensor<?xi32> {attn.dims = ["dim2"], {{[^}]*}}})
// CHECK-SAME: -> (tensor<?x64xf32> {attn.dims = ["dim0"], {{[^}]*}}}, tensor<?x32xf32> {attn.dims = ["dim3"], {{[^}]*}}})
func.func @cell(%x: tensor<?x128xf32>, %w: tensor<32x128xf32>, %begin: tensor<?xi32>, %h: tensor<?x32xf32>, %c: tensor<?x32xf32>, %state: tensor<?x32xf32>, %slots: tensor<?xi32>)
    -> (tensor<?x64xf32>, tensor<?x32xf32>) {
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) init(%h, %c) : tensor<?x128xf32>, tensor<32x128xf32>, tensor<?xi32>, tensor<?x32xf32>, tensor<?x32xf32>
  %both = attn.concat %y, %y : tensor<?x32xf32>, tensor<?x32xf32>
  %new = attn.update_rows %state, %last#0, %slots : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?xi32>
  return %both, %new : tensor<?x64xf32>, tensor<?x32xf32>
}

// -----

// A model's entries are declared by its importer.
// CHECK: func.func @model(%{{.*}}: tensor<?x64xf32>) -> tensor<?x64xf32> {
module attributes {attn.model = {}} {
  func.func @model(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    return %x : tensor<?x64xf32>
  }
}

// -----

// expected-error@+1 {{has two names for one dim: 'm' is extent 0 of 'arg0' and 'n' is extent 0 of 'arg1', which the ops force to be equal}}
func.func @two(%x: tensor<?x64xf32> {attn.dims = ["m"]}, %y: tensor<?x64xf32> {attn.dims = ["n"]}) -> tensor<?x64xf32> {
  %z = attn.add %x, %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{names 2 dims of 'tensor<?x64xf32>', which has 1}}
func.func @many(%x: tensor<?x64xf32> {attn.dims = ["m", "n"]}) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{has 'f32' as argument 0: a kernel works on tensors of f32, bf16, f16, i32 or i64}}
func.func @scalar(%x: f32, %y: tensor<?x64xf32>) -> tensor<?x64xf32> {
  return %y : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{has two arrays named 'x'}}
func.func @same(%x: tensor<?x64xf32> {attn.name = "x"}, %y: tensor<?x64xf32> {attn.name = "x"}) -> tensor<?x64xf32> {
  return %y : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{attribute 'attn.dims' of argument 0 must be an array of names of dims, found [3]}}
func.func @odd(%x: tensor<?x64xf32> {attn.dims = [3]}) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

// -----

// expected-error@+1 {{has a dim 'f', which is the name of something else}}
func.func @f(%x: tensor<?x64xf32> {attn.dims = ["f"]}) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

// -----

func.func @tokens(%x: tensor<?x64xf32>, %class: tensor<1x64xf32>, %positions: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // expected-error@+1 {{'attn.image_tokens' op makes as many rows as no argument of a kernel has: it belongs in a model}}
  %0 = attn.image_tokens %x, %class, %positions : tensor<?x64xf32>, tensor<1x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
