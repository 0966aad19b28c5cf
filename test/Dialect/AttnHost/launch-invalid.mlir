// RUN: rapt-opt %s --split-input-file --verify-diagnostics

func.func @missing(%env: !llvm.ptr, %n: index) {
  // expected-error@+1 {{'attn_host.launch' op names @kernels::@scale, which is no function of a nested module}}
  attn_host.launch @kernels::@scale() blocks %n env %env : (), !llvm.ptr
  return
}

// -----

func.func private @host(%n: index)
func.func @not_nested(%env: !llvm.ptr, %n: index) {
  // expected-error@+1 {{'attn_host.launch' op names @host, which is no function of a nested module}}
  attn_host.launch @host(%n) blocks %n env %env : (index), !llvm.ptr
  return
}

// -----

gpu.module @kernels {
  func.func @scale(%x: memref<?xf32>) attributes {attn_host.kernel = #attn_host.kernel<threads = 128>} {
    return
  }
}
func.func @captures(%env: !llvm.ptr, %n: index) {
  // expected-error@+1 {{'attn_host.launch' op kernel @kernels::@scale must take the captures}}
  attn_host.launch @kernels::@scale(%n) blocks %n env %env : (index), !llvm.ptr
  return
}

// -----

gpu.module @kernels {
  func.func @plain() {
    return
  }
}
func.func @no_kernel(%env: !llvm.ptr, %n: index) {
  // expected-error@+1 {{'attn_host.launch' op kernel @kernels::@plain has no attn_host.kernel}}
  attn_host.launch @kernels::@plain() blocks %n env %env : (), !llvm.ptr
  return
}

// -----

// expected-error@+1 {{expected numbers of 31 bits, found -1}}
#negative = #attn_host.kernel<threads = 128, shared = -1>
module attributes {negative = #negative} {}

// -----

gpu.module @kernels {
  // expected-error@+1 {{attribute 'attn_host.kernel' is a #attn_host.kernel of a function}}
  func.func @number() attributes {attn_host.kernel = 128 : i64} {
    return
  }
}

// -----

gpu.module @kernels {
  func.func @maps() attributes {attn_host.kernel = #attn_host.kernel<threads = 128, maps = 1>} {
    return
  }
}
func.func @too_many_maps(%env: !llvm.ptr, %n: index) {
  // expected-error@+1 {{kernel @kernels::@maps has 1 tensor maps of 0 captures}}
  attn_host.launch @kernels::@maps() blocks %n env %env : (), !llvm.ptr
  return
}
