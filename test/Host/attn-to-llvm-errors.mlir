// RUN: not rapt-opt %s --attn-to-llvm=dialects=nvgpu 2>&1 | FileCheck %s

// A target may only name dialects that have a conversion.
// CHECK: error: the dialect 'nvgpu' has no conversion to the llvm dialect
func.func @f() {
  return
}
