// RUN: rapt-opt %s --verify-diagnostics --split-input-file

// Warpgroups multiply two numbers of one type of 16 bits.
func.func @types(%q: memref<?x64xbf16>, %k: memref<?x64xf16>, %scale: f32, %o: memref<?x64xbf16>) {
  // expected-error@+1 {{multiplies 'bf16', 'f16' and 'f16', which wgmma does not}}
  attn_gpu.attention_tile %q, %k, %k scale %scale outs(%o : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4, matmul = wgmma> : memref<?x64xbf16>, memref<?x64xf16>, memref<?x64xf16>
  return
}

// -----

func.func @halves(%q: memref<?x64xbf16>, %scale: f32) {
  // expected-error@+1 {{multiplies 'bf16', 'bf16' and 'bf16', which tf32 does not}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4, matmul = tf32> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

func.func @sums(%q: memref<?x128xf32>, %scale: f32) {
  // expected-error@+1 {{a thread would have 192 scores and sums of f32, more than 160}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x128xf32>) tiles <rows = 64, keys = 64, warps = 2, matmul = fma> : memref<?x128xf32>, memref<?x128xf32>, memref<?x128xf32>
  return
}

// -----

func.func @shared(%q: memref<?x256xf32>, %v: memref<?x64xf32>, %scale: f32) {
  // expected-error@+1 {{it needs more than 232448 bytes of shared memory}}
  attn_gpu.attention_tile %q, %q, %v scale %scale outs(%v : memref<?x64xf32>) tiles <rows = 256, keys = 64, warps = 8, matmul = fma> : memref<?x256xf32>, memref<?x256xf32>, memref<?x64xf32>
  return
}

// -----

// Six warps copy 24 rows of 8 chunks at a time.
func.func @copies(%q: memref<?x64xf32>, %scale: f32) {
  // expected-error@+1 {{its threads cannot copy '!attn_gpu.tile<32x64xf32, #attn_gpu.swizzle<128>>' by whole rows}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x64xf32>) tiles <rows = 96, keys = 32, warps = 6, matmul = fma> : memref<?x64xf32>, memref<?x64xf32>, memref<?x64xf32>
  return
}

// -----

func.func @sum(%q: memref<?x64xbf16>, %scale: f32, %sum: memref<?xf32>) {
  // expected-error@+1 {{has a sum without the largest score}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x64xbf16>) sum(%sum : memref<?xf32>) tiles <rows = 64, keys = 64, warps = 4> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

func.func @rank(%q: memref<?x64xbf16>, %k: memref<?x8x64xbf16>, %scale: f32, %o: memref<?x64xbf16>) {
  // expected-error@+1 {{needs key and value of rank 2 and a result of the query's rank}}
  attn_gpu.attention_tile %q, %k, %k scale %scale outs(%o : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4> : memref<?x64xbf16>, memref<?x8x64xbf16>, memref<?x8x64xbf16>
  return
}

// -----

func.func @channels(%q: memref<?x320xbf16>, %scale: f32) {
  // expected-error@+1 {{needs from 1 to 256 channels, and as many heads, found 320}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x320xbf16>) tiles <rows = 64, keys = 64, warps = 4> : memref<?x320xbf16>, memref<?x320xbf16>, memref<?x320xbf16>
  return
}

// -----

func.func @dynamic(%q: memref<?x?xbf16>, %scale: f32) {
  // expected-error@+1 {{needs from 1 to 256 channels}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x?xbf16>) tiles <rows = 64, keys = 64, warps = 4> : memref<?x?xbf16>, memref<?x?xbf16>, memref<?x?xbf16>
  return
}

// -----

func.func @extents(%q: memref<?x64xbf16>, %k: memref<?x32xbf16>, %scale: f32) {
  // expected-error@+1 {{has extents of query, key, value and result that do not fit each other}}
  attn_gpu.attention_tile %q, %k, %q scale %scale outs(%q : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4> : memref<?x64xbf16>, memref<?x32xbf16>, memref<?x64xbf16>
  return
}

// -----

func.func @positions(%q: memref<?x64xbf16>, %k: memref<?x?x64xbf16>, %scale: f32, %table: memref<?xi32>, %i: index) {
  // expected-error@+1 {{needs a static number of positions in a block of the cache}}
  attn_gpu.attention_tile %q, %k, %k scale %scale table(%table, %i, %i : memref<?xi32>) outs(%q : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4>
    : memref<?x64xbf16>, memref<?x?x64xbf16>, memref<?x?x64xbf16>
  return
}

// -----

func.func @sinks(%q: memref<?x3x64xbf16>, %k: memref<?x64xbf16>, %scale: f32, %sink: memref<4xf32>) {
  // expected-error@+1 {{needs a sink for each head}}
  attn_gpu.attention_tile %q, %k, %k scale %scale sink(%sink : memref<4xf32>) outs(%q : memref<?x3x64xbf16>) tiles <rows = 64, keys = 64, warps = 4>
    : memref<?x3x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

func.func @lse(%q: memref<?x3x64xbf16>, %k: memref<?x64xbf16>, %scale: f32, %lse: memref<?x2xf32>) {
  // expected-error@+1 {{needs a log-sum-exp and a sum of the result's dims but the last}}
  attn_gpu.attention_tile %q, %k, %k scale %scale outs(%q, %lse : memref<?x3x64xbf16>, memref<?x2xf32>) tiles <rows = 64, keys = 64, warps = 4>
    : memref<?x3x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

func.func @schedule(%q: memref<?x64xbf16>, %scale: f32) {
  // expected-error@+1 {{has a schedule of 48 rows, 64 keys and 4 warps; it needs a multiple of 64 rows and of 16 keys}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x64xbf16>) tiles <rows = 48, keys = 64, warps = 4> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

func.func @keys(%q: memref<?x64xbf16>, %scale: f32) {
  // expected-error@+1 {{has a schedule of 64 rows, 40 keys and 4 warps}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x64xbf16>) tiles <rows = 64, keys = 40, warps = 4> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

// A warpgroup has 64 rows.
func.func @warpgroups(%q: memref<?x64xbf16>, %scale: f32) {
  // expected-error@+1 {{has a schedule of 256 rows, 64 keys and 8 warps}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x64xbf16>) tiles <rows = 256, keys = 64, warps = 8, matmul = wgmma> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

func.func @region(%q: memref<?x64xbf16>, %scale: f32) {
  // expected-error@+1 {{has a region 'mask' that takes ('index', 'index') and yields ('i1')}}
  attn_gpu.attention_tile %q, %q, %q scale %scale outs(%q : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16> mask {
  ^bb0(%row: index):
    %keep = arith.constant true
    attn_gpu.yield %keep : i1
  }
  return
}

// -----

func.func @range(%n: index) {
  // expected-error@+1 {{has a region of a number that yields an index}}
  %low, %high = attn_gpu.range %n {
  ^bb0(%i: index):
    %keep = arith.constant true
    attn_gpu.yield %keep : i1
  }
  return
}

// -----

// Threads that compute have no use for tensor maps.
func.func @maps_of_mma(%q: memref<?x64xbf16>, %scale: f32, %map: !llvm.ptr, %made: i1, %i: index) {
  // expected-error@+1 {{has tensor maps; these are of keys and values without a table, with 2 to 5 coordinates each, for the matmul 'wgmma'}}
  attn_gpu.attention_tile %q, %q, %q scale %scale maps(%map at [%i, %i], %map at [%i, %i] if %made : !llvm.ptr, !llvm.ptr) outs(%q : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}

// -----

func.func @coordinates(%q: memref<?x64xbf16>, %scale: f32, %map: !llvm.ptr, %made: i1, %i: index) {
  // expected-error@+1 {{with 2 to 5 coordinates each}}
  attn_gpu.attention_tile %q, %q, %q scale %scale maps(%map at [%i, %i], %map at [%i] if %made : !llvm.ptr, !llvm.ptr) outs(%q : memref<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4, matmul = wgmma> : memref<?x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
  return
}
