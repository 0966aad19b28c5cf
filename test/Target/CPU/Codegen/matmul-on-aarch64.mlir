// On NEON a micro-kernel tile is 14 rows by two vectors: multiply-adds by a vector element, without a spill.

// RUN: raptc %s --mtriple=aarch64-linux-gnu -S | FileCheck %s
// REQUIRES: compiler

// CHECK-LABEL: {{^}}matmul.task0:
// CHECK-NOT: q{{[0-9]+}}, [sp
// CHECK: ldp q[[LEFT:[0-9]+]], q[[RIGHT:[0-9]+]], [x{{[0-9]+}}
// CHECK-COUNT-20: fmla v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, v{{[0-9]+}}.s[0]
// CHECK: b.{{lt|ne}}
// CHECK-NOT: q{{[0-9]+}}, [sp
// CHECK: .Lfunc_end
func.func @matmul(%x: tensor<?x256xf32>, %w: tensor<256x96xf32>) -> tensor<?x96xf32> {
  %0 = attn.linear %x, %w : tensor<?x256xf32>, tensor<256x96xf32> -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
