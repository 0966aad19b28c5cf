// RUN: rapt-opt --attn-declare-kernels %s | FileCheck %s

// Dims are declared although no op of the dialect has loaded it.

// CHECK: attn.dim @dim0 min 0
// CHECK: func.func @same(%{{.*}}: tensor<?x8xf32> {attn.dims = ["dim0"], attn.name = "arg0"})
func.func @same(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  return %x : tensor<?x8xf32>
}
