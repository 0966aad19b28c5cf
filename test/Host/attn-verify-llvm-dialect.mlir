// RUN: rapt-opt %s --attn-verify-llvm-dialect --split-input-file --verify-diagnostics

// Declarations stay, for the manifest.
attn.dim @n min 0 max 64
attn.parameter @w : tensor<64x32xf32> from [#attn.source<"w">]
llvm.func @f() {
  llvm.return
}

// -----

func.func @f() {
  // expected-error@+1 {{'func.return' op is not of the stage llvm-dialect, whose dialects are builtin, attn, llvm}}
  return
}

// -----

attn.dim @n min 0 max 64
llvm.func @f() {
  // expected-error@+1 {{'attn.dim_size' op is left: the llvm-dialect stage promises declarations alone}}
  %n = attn.dim_size @n : index
  llvm.return
}

// -----

// expected-error@+1 {{'llvm.func' op is an entry without attn.buffers, which the llvm-dialect stage promises}}
llvm.func @f() attributes {attn.entry} {
  llvm.return
}
