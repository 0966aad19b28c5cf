// RUN: rapt-opt %s --attn-cuda-schedule --split-input-file --mlir-print-local-scope | FileCheck %s
// RUN: rapt-opt %s --attn-cuda-schedule --split-input-file --remarks-filter=fusion -o %t 2>&1 | grep remark: | FileCheck %s --check-prefix=REMARK

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#s = #attn.attention_tiles<keys = 8, queries = 1>
module attributes {attn.target = {target = "cuda", device_arch = 80 : i64}} {
  // CHECK-LABEL: func.func @halves
  // CHECK: attn_gpu.schedule = #attn_gpu.attention_schedule<tiles = <rows = {{[0-9]+}}, keys = {{[0-9]+}}, warps = {{[0-9]+}}>, blocks = {{[0-9]+}}, least_keys = {{[0-9]+}}>
  func.func @halves(%q: tensor<?x12x64xbf16>, %scale: f32) -> tensor<?x12x64xf32> {
    %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #s} : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }

  // CHECK-LABEL: func.func @floats
  // CHECK: tiles = <rows = 128, keys = 32, warps = 4, matmul = fma>, blocks = {{[0-9]+}}, least_keys = {{[0-9]+}}>
  func.func @floats(%q: tensor<?x12x64xf32>, %scale: f32) -> tensor<?x12x64xf32> {
    %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #s} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }

  // Elements of two types are multiplied as f32.
  // CHECK-LABEL: func.func @mixed
  // CHECK: matmul = fma>
  func.func @mixed(%q: tensor<?x12x64xbf16>, %k: tensor<?x12x64xf16>, %scale: f32) -> tensor<?x12x64xf32> {
    %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #s} : tensor<?x12x64xbf16>, tensor<?x12x64xf16>, tensor<?x12x64xf16> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }

  // CHECK-LABEL: func.func @wide
  // CHECK-NOT: attn_gpu.schedule
  // REMARK: there are 512 channels; thread blocks have schedules for up to 256
  func.func @wide(%q: tensor<?x12x512xbf16>, %scale: f32) -> tensor<?x12x512xf32> {
    %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #s} : tensor<?x12x512xbf16>, tensor<?x12x512xbf16>, tensor<?x12x512xbf16> -> tensor<?x12x512xf32>
    return %o : tensor<?x12x512xf32>
  }

  // CHECK-LABEL: func.func @dynamic
  // CHECK-NOT: attn_gpu.schedule
  // REMARK: the channels of queries are not their last dim, of a static extent
  func.func @dynamic(%q: tensor<?x12x?xbf16>, %v: tensor<?x12x64xbf16>, %scale: f32) -> tensor<?x12x64xf32> {
    %o = attn.attention %q, %q, %v, %scale maps [#q, #k, #v, #o] {attn.schedule = #s} : tensor<?x12x?xbf16>, tensor<?x12x?xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }

  // CHECK-LABEL: func.func @additive
  // CHECK-NOT: attn_gpu.schedule
  // REMARK: an additive similarity is no matmul
  func.func @additive(%q: tensor<?x12x64xbf16>, %scale: f32, %a: tensor<64xf32>) -> tensor<?x12x64xf32> {
    %o = attn.attention %q, %q, %q, %scale additive(%a : tensor<64xf32>) maps [#q, #k, #v, #o] {attn.schedule = #s} : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }

  // CHECK-LABEL: func.func @second
  // CHECK-NOT: attn_gpu.schedule
  // REMARK: it has a second pair of queries and keys
  func.func @second(%q: tensor<?x12x64xbf16>, %scale: f32) -> tensor<?x12x64xf32> {
    %o = attn.attention %q, %q, %q, %scale second(%q, %q : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>) maps [#q, #k, #v, #o, #q, #k] {attn.schedule = #s}
      : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

// Fused multiply-adds or tf32: warpgroups have no part in either. The more channels, the fewer rows and keys.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {target = "cuda", device_arch = 90 : i64, device_exact, tf32_terms = 2 : i64}} {
  // CHECK-LABEL: func.func @tf32
  // CHECK: tiles = <rows = 64, keys = 16, warps = 2, matmul = tf32x3>
  func.func @tf32(%q: tensor<?x12x128xf32>, %scale: f32) -> tensor<?x12x128xf32> {
    %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>} : tensor<?x12x128xf32>, tensor<?x12x128xf32>, tensor<?x12x128xf32> -> tensor<?x12x128xf32>
    return %o : tensor<?x12x128xf32>
  }

  // CHECK-LABEL: func.func @wide
  // CHECK: tiles = <rows = 32, keys = 16, warps = 2, matmul = tf32x3>
  func.func @wide(%q: tensor<?x12x256xf32>, %scale: f32) -> tensor<?x12x256xf32> {
    %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>} : tensor<?x12x256xf32>, tensor<?x12x256xf32>, tensor<?x12x256xf32> -> tensor<?x12x256xf32>
    return %o : tensor<?x12x256xf32>
  }
}

// -----

// Warpgroup matmuls are those of one architecture.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {target = "cuda", device_arch = 90 : i64, device_exact}} {
  // CHECK-LABEL: func.func @hopper
  // CHECK: matmul = wgmma>
  func.func @hopper(%q: tensor<?x12x64xbf16>, %scale: f32) -> tensor<?x12x64xf32> {
    %o = attn.attention %q, %q, %q, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>} : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}
