// RUN: rapt-opt %s --verify-diagnostics --split-input-file

!a = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
func.func @f(%x: f32) {
  // expected-error@+1 {{makes accumulators or row vectors, found '!attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>'}}
  %0 = attn_gpu.fill %x : !a
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%p: !llvm.ptr<1>, %i: index) {
  // expected-error@+1 {{has bounds of rows and columns, found 3 bounds}}
  %0 = attn_gpu.load_fragment %p[%i, %i] stride %i bounds(%i, %i, %i) of f32 : !acc
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%p: !llvm.ptr<1>, %i: index) {
  // expected-error@+1 {{works on f32, bf16 and f16, and on an operand's own elements, found 'f64' for '!attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>'}}
  %0 = attn_gpu.load_fragment %p[%i, %i] stride %i of f64 : !acc
  return
}

// -----

!a = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
func.func @f(%p: !llvm.ptr<1>, %i: index) {
  // expected-error@+1 {{works on f32, bf16 and f16, and on an operand's own elements, found 'f16' for '!attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>'}}
  %0 = attn_gpu.load_fragment %p[%i, %i] stride %i of f16 : !a
  return
}

// -----

!a = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
func.func @f(%p: !llvm.ptr<1>, %i: index, %a: !a) {
  // expected-error@+1 {{'attn_gpu.store_fragment' op stores accumulators, found '!attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>'}}
  attn_gpu.store_fragment %a, %p[%i, %i] stride %i of bf16 : !a
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
!row = !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
func.func @f(%a: !acc, %x: f32) {
  // expected-error@+1 {{has results of one type}}
  %0:2 = attn_gpu.map(%a : !acc) -> !acc, !row {
  ^bb0(%y: f32, %i: index, %j: index):
    attn_gpu.yield %y, %y : f32, f32
  }
  return
}

// -----

!a = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
func.func @f(%x: f32) {
  // expected-error@+1 {{computes accumulators or row vectors, found '!attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>'}}
  %0 = attn_gpu.map() -> !a {
  ^bb0(%i: index, %j: index):
    attn_gpu.yield %x : f32
  }
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
!row = !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
func.func @f(%a: !acc) {
  // expected-error@+1 {{has operands that belong to its results, found '!attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>' for '!attn_gpu.row_vector<16, #attn_gpu.mma<acc>>'}}
  %0 = attn_gpu.map(%a : !acc) -> !row {
  ^bb0(%y: f32, %i: index):
    attn_gpu.yield %y : f32
  }
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%a: !acc) {
  // expected-error@+1 {{has a region of ('f32', 'index', 'index'), found ('f32', 'index')}}
  %0 = attn_gpu.map(%a : !acc) -> !acc {
  ^bb0(%y: f32, %i: index):
    attn_gpu.yield %y : f32
  }
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%a: !acc) {
  // expected-error@+1 {{yields one value for each result}}
  %0 = attn_gpu.map(%a : !acc) -> !acc {
  ^bb0(%y: f32, %i: index, %j: index):
    attn_gpu.yield %y, %y : f32, f32
  }
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%a: !acc) {
  // expected-error@+1 {{has a region of scalars, found attn_gpu.wait_for_kernel}}
  %0 = attn_gpu.map(%a : !acc) -> !acc {
  ^bb0(%y: f32, %i: index, %j: index):
    attn_gpu.wait_for_kernel
    attn_gpu.yield %y : f32
  }
  return
}

// -----

!wide = !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>
!row = !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
func.func @f(%a: !wide) {
  // expected-error@+1 {{gives a value for each row of accumulators, found '!attn_gpu.row_vector<16, #attn_gpu.mma<acc>>' for '!attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>'}}
  %0 = attn_gpu.reduce_rows max %a : !wide -> !row
  return
}

// -----

!a = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
!wide = !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>
func.func @f(%a: !wide) {
  // expected-error@+1 {{makes a first operand of accumulators that the same threads hold, found '!attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>' and '!attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>'}}
  %0 = attn_gpu.pack %a : !wide -> !a
  return
}

// -----

!b = !attn_gpu.fragment<64x64xbf16, #attn_gpu.mma<b>>
!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%a: !acc) {
  // expected-error@+1 {{makes a first operand of accumulators that the same threads hold, found '!attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>' and '!attn_gpu.fragment<64x64xbf16, #attn_gpu.mma<b>>'}}
  %0 = attn_gpu.pack %a : !acc -> !b
  return
}

// -----

!b = !attn_gpu.fragment<64x64xbf16, #attn_gpu.mma<b>>
!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
!left = !attn_gpu.fragment<64x64xbf16, #attn_gpu.wgmma<a>>
func.func @f(%a: !left, %b: !b, %c: !acc) {
  // expected-error@+1 {{needs fragments of the layouts mma<a>, mma<b> and mma<acc>}}
  %0 = attn_gpu.mma %a, %b, %c : !left, !b -> !acc
  return
}

// -----

!a = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%a: !a, %b: !attn_gpu.fragment<32x64xbf16, #attn_gpu.mma<b>>, %c: !acc) {
  // expected-error@+1 {{needs floats [m, k], [k, n] and [m, n] of one element type}}
  %0 = attn_gpu.mma %a, %b, %c : !a, !attn_gpu.fragment<32x64xbf16, #attn_gpu.mma<b>> -> !acc
  return
}

// -----

!a = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
!wide = !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>
!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%a: !a, %t: !tile) {
  // expected-error@+1 {{needs fragments of the layouts wgmma<a> and wgmma<acc>}}
  %0 = attn_gpu.wgmma %a, %t : !a, !tile -> !wide
  return
}

// -----

!wide = !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>
!left = !attn_gpu.fragment<64x64xbf16, #attn_gpu.wgmma<a>>
func.func @f(%a: !left, %t: !attn_gpu.tile<64x128xbf16, #attn_gpu.swizzle<128>>) {
  // expected-error@+1 {{'attn_gpu.wgmma' op needs floats [m, k], [k, n] and [m, n] of one element type}}
  %0 = attn_gpu.wgmma %a, %t transpose : !left, !attn_gpu.tile<64x128xbf16, #attn_gpu.swizzle<128>> -> !wide
  return
}

// -----

!left = !attn_gpu.fragment<64x64xbf16, #attn_gpu.wgmma<a>>
func.func @f(%a: !left, %t: !attn_gpu.tile<64x320xbf16, #attn_gpu.swizzle<128>>) {
  // expected-error@+1 {{needs at most 256 columns and a depth that is a multiple of 16, found 320 and 64}}
  %0 = attn_gpu.wgmma %a, %t : !left, !attn_gpu.tile<64x320xbf16, #attn_gpu.swizzle<128>> -> !attn_gpu.fragment<64x320xf32, #attn_gpu.wgmma<acc>>
  return
}

// -----

!wide = !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>
!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
func.func @f(%t: !tile, %p: !llvm.ptr<1>, %i: index) {
  // expected-error@+1 {{has a result that attn_gpu.store_fragment uses before attn_gpu.wgmma_wait}}
  %0 = attn_gpu.wgmma %t, %t : !tile, !tile -> !wide
  attn_gpu.store_fragment %0, %p[%i, %i] stride %i of f32 : !wide
  return
}

// -----

!a = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
func.func @f(%p: !llvm.ptr<1>, %i: index, %a: !a) {
  // expected-error@+1 {{'attn_gpu.store_rows' op stores accumulators, found '!attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>'}}
  attn_gpu.store_rows %a, %p[%i] bounds(%i, %i) of bf16 : !a {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%p: !llvm.ptr<1>, %i: index, %acc: !acc, %x: f32) {
  // expected-error@+1 {{has a region of a row that yields an offset}}
  attn_gpu.store_rows %acc, %p[%i] bounds(%i, %i) of bf16 : !acc {
  ^bb0(%row: index):
    attn_gpu.yield %x : f32
  }
  return
}

// -----

// Pairs of f32 have 8 bytes already.
!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%p: !llvm.ptr<1>, %i: index, %acc: !acc) {
  // expected-error@+1 {{stores fours of bf16 or f16, of fragments of a multiple of 16 columns, found '!attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>' as 'f32'}}
  attn_gpu.store_rows %acc, %p[%i] bounds(%i, %i) of f32 fours : !acc {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  return
}

// -----

// A pair has a neighbor in the same 16 columns.
!acc = !attn_gpu.fragment<16x24xf32, #attn_gpu.mma<acc>>
func.func @f(%p: !llvm.ptr<1>, %i: index, %acc: !acc) {
  // expected-error@+1 {{stores fours of bf16 or f16, of fragments of a multiple of 16 columns, found '!attn_gpu.fragment<16x24xf32, #attn_gpu.mma<acc>>' as 'bf16'}}
  attn_gpu.store_rows %acc, %p[%i] bounds(%i, %i) of bf16 fours : !acc {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  return
}

// -----

// One at a time is not four at once.
!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%p: !llvm.ptr<1>, %i: index, %acc: !acc) {
  // expected-error@+1 {{stores fours of bf16 or f16, of fragments of a multiple of 16 columns, found '!attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>' as 'bf16'}}
  attn_gpu.store_rows %acc, %p[%i] bounds(%i, %i) of bf16 elements fours : !acc {
  ^bb0(%row: index):
    attn_gpu.yield %row : index
  }
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%acc: !acc) {
  // expected-error@+1 {{yields one value for each result}}
  %0 = attn_gpu.map(%acc : !acc) -> !acc {
  ^bb0(%x: f32, %row: index, %column: index):
    attn_gpu.yield %row : index
  }
  return
}

// -----

// Pairs are those of one fragment.
!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
!row = !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
func.func @f(%a: !acc, %v: !row) {
  // expected-error@+1 {{maps the pairs of one fragment to another of its type, found '!attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>', '!attn_gpu.row_vector<16, #attn_gpu.mma<acc>>' for '!attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>'}}
  %0 = attn_gpu.map pairs (%a, %v : !acc, !row) -> !acc {
  ^bb0(%x: f32, %y: f32, %z: f32, %i: index, %j: index):
    attn_gpu.yield %x, %y : f32, f32
  }
  return
}

// -----

// Rows have no columns beside each other.
!row = !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
func.func @f(%v: !row) {
  // expected-error@+1 {{maps the pairs of one fragment to another of its type, found '!attn_gpu.row_vector<16, #attn_gpu.mma<acc>>' for '!attn_gpu.row_vector<16, #attn_gpu.mma<acc>>'}}
  %0 = attn_gpu.map pairs (%v : !row) -> !row {
  ^bb0(%x: f32, %y: f32, %i: index):
    attn_gpu.yield %x, %y : f32, f32
  }
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%a: !acc) {
  // expected-error@+1 {{has a region of ('f32', 'f32', 'index', 'index'), found ('f32', 'index', 'index')}}
  %0 = attn_gpu.map pairs (%a : !acc) -> !acc {
  ^bb0(%x: f32, %i: index, %j: index):
    attn_gpu.yield %x, %x : f32, f32
  }
  return
}

// -----

!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
func.func @f(%a: !acc) {
  // expected-error@+1 {{yields two values for each result}}
  %0 = attn_gpu.map pairs (%a : !acc) -> !acc {
  ^bb0(%x: f32, %y: f32, %i: index, %j: index):
    attn_gpu.yield %x : f32
  }
  return
}
