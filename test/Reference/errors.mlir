// Faults at which the evaluator stops, each with one error at the op: extents that only the run shows, and ops of later stages.
// REQUIRES: compiler
// RUN: sh -c 'for f in weights_keys state_keys state_channels state_values state_queries image layer table values slice insert names undeclared both beyond element inside cast layout segment positions wide unsigned unsigned_inside; do rapt-reference %s --entry=$f --cache-blocks=4; echo "$f: status $?"; done' 2>&1 | FileCheck %s

func.func @weights_keys() {
  %w = tensor.empty() : tensor<2x1x1x4xf32>
  %q = tensor.empty() : tensor<2x4x8xf32>
  %n = arith.constant 6 : index
  %k = tensor.empty(%n) : tensor<?x4x8xf32>
  %l = arith.constant 0 : index
  %s = arith.constant 1.0 : f32
  // CHECK: error: 'attn.attention' op row 0 has 6 keys for weights of 4
  // CHECK: weights_keys: status 1
  %o, %0 = attn.attention %q, %k, %k, %s weights(%w[%l] heads [3] : tensor<2x1x1x4xf32>) maps [affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>,
           affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>]
    : tensor<2x4x8xf32>, tensor<?x4x8xf32>, tensor<?x4x8xf32> -> tensor<2x4x8xf32>
  return
}
func.func @state_keys() {
  %n = arith.constant 3 : index
  %q = tensor.empty() : tensor<8x64xf32>
  %k = tensor.empty(%n) : tensor<?x64xf32>
  %v = tensor.empty() : tensor<64x64xf32>
  %m = tensor.empty() : tensor<8xf32>
  %i = arith.constant 0 : index
  %s = arith.constant 1.0 : f32
  // CHECK: error: 'attn.attention_state' op has 3 keys for 64 values
  // CHECK: state_keys: status 1
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%q, %m, %m)
    : tensor<8x64xf32>, tensor<?x64xf32>, tensor<64x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return
}
func.func @state_channels() {
  %n = arith.constant 3 : index
  %q = tensor.empty() : tensor<8x64xf32>
  %k = tensor.empty(%n) : tensor<64x?xf32>
  %v = tensor.empty() : tensor<64x64xf32>
  %m = tensor.empty() : tensor<8xf32>
  %i = arith.constant 0 : index
  %s = arith.constant 1.0 : f32
  // CHECK: error: 'attn.attention_state' op has keys or an additive vector of other channels than the 64 of its query
  // CHECK: state_channels: status 1
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%q, %m, %m)
    : tensor<8x64xf32>, tensor<64x?xf32>, tensor<64x64xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return
}
func.func @state_values() {
  %n = arith.constant 3 : index
  %q = tensor.empty() : tensor<8x64xf32>
  %v = tensor.empty(%n) : tensor<8x?xf32>
  %m = tensor.empty() : tensor<8xf32>
  %i = arith.constant 0 : index
  %s = arith.constant 1.0 : f32
  // CHECK: error: 'attn.attention_state' op has a state of 64 channels for values of 3
  // CHECK: state_values: status 1
  %0:3 = attn.attention_state %q, %q, %v, %s at(%i, %i, %i, %i) init(%q, %m, %m)
    : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x?xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return
}
func.func @state_queries() {
  %n = arith.constant 3 : index
  %q = tensor.empty() : tensor<8x64xf32>
  %k = tensor.empty() : tensor<64x64xf32>
  %a = tensor.empty(%n) : tensor<?x64xf32>
  %m = tensor.empty(%n) : tensor<?xf32>
  %i = arith.constant 0 : index
  %s = arith.constant 1.0 : f32
  // CHECK: error: 'attn.attention_state' op has a state of 3 queries for 8
  // CHECK: state_queries: status 1
  %0:3 = attn.attention_state %q, %k, %k, %s at(%i, %i, %i, %i) init(%a, %m, %m)
    : tensor<8x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>
  return
}
func.func @image() {
  %n = arith.constant 7 : index
  %x = tensor.empty(%n) : tensor<?x16xf32>
  %learned = tensor.empty() : tensor<1x16xf32>
  %positions = tensor.empty() : tensor<5x16xf32>
  // CHECK: error: 'attn.image_tokens' op has 7 patches for images of 5 tokens, 1 of them learned
  // CHECK: image: status 1
  %0 = attn.image_tokens %x, %learned, %positions : tensor<?x16xf32>, tensor<1x16xf32>, tensor<5x16xf32> -> tensor<?x16xf32>
  return
}
func.func @layer(%c: !attn.kv_cache<2 x 1 x 4, block = 32, f32> {attn.name = "cache"}) {
  %l = arith.constant 5 : index
  %n = arith.constant 1 : index
  %t = tensor.empty(%n, %n) : tensor<?x?xi32>
  // CHECK: error: 'attn.kv_view' op names layer 5 of a cache of 2 layers
  // CHECK: layer: status 1
  %k, %v = attn.kv_view %c[%l], %t : !attn.kv_cache<2 x 1 x 4, block = 32, f32>, tensor<?x?xi32> -> tensor<?x?x1x4xf32>
  return
}
func.func @table(%c: !attn.kv_cache<2 x 1 x 4, block = 32, f32> {attn.name = "cache"}) {
  %l = arith.constant 0 : index
  %n = arith.constant 2 : index
  %m = arith.constant 3 : index
  %x = tensor.empty(%l) : tensor<?x1x4xf32>
  %r = tensor.empty(%n) : tensor<?xi32>
  %t = tensor.empty(%m, %m) : tensor<?x?xi32>
  // CHECK: error: 'attn.kv_append' op has 2 past lengths and a table of 3 rows for 1 rows
  // CHECK: table: status 1
  %0 = attn.kv_append %c[%l], %x, %x rows(%r, %r, %t)
    : !attn.kv_cache<2 x 1 x 4, block = 32, f32>, tensor<?x1x4xf32>, tensor<?x1x4xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}
func.func @values(%c: !attn.kv_cache<2 x 1 x 4, block = 32, f32> {attn.name = "cache"}) {
  %l = arith.constant 0 : index
  %n = arith.constant 2 : index
  %x = tensor.empty(%l) : tensor<?x1x4xf32>
  %y = tensor.empty(%n) : tensor<?x1x4xf32>
  %r = tensor.empty(%n) : tensor<?xi32>
  %t = tensor.empty(%n, %n) : tensor<?x?xi32>
  // CHECK: error: 'attn.kv_append' op has keys and values of different extents
  // CHECK: values: status 1
  %0 = attn.kv_append %c[%l], %x, %y rows(%r, %r, %t)
    : !attn.kv_cache<2 x 1 x 4, block = 32, f32>, tensor<?x1x4xf32>, tensor<?x1x4xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}
func.func @slice() {
  %n = arith.constant 6 : index
  %x = tensor.empty() : tensor<8xf32>
  // CHECK: error: 'tensor.extract_slice' op takes 4 elements from 6 on, with stride 1, of dim 0, whose extent is 8
  // CHECK: slice: status 1
  %0 = tensor.extract_slice %x[%n] [4] [1] : tensor<8xf32> to tensor<4xf32>
  return
}
func.func @insert() {
  %n = arith.constant 3 : index
  %m = arith.constant 4 : index
  %x = tensor.empty() : tensor<8xf32>
  %y = tensor.empty(%n) : tensor<?xf32>
  // CHECK: error: 'tensor.insert_slice' op puts a tile of 3 elements into a slice of 4
  // CHECK: insert: status 1
  %0 = tensor.insert_slice %y into %x[0] [%m] [1] : tensor<?xf32> into tensor<8xf32>
  return
}
attn.dim @n min 0 max 64
// CHECK: error: 'func.func' op names 2 dims of argument 0, which has 1
// CHECK: names: status 1
func.func @names(%c: !attn.kv_cache<2 x 1 x 4, block = 32, f32> {attn.name = "cache", attn.dims = ["n", "n"]}) {
  return
}
// The compiler declares dims that a kernel names.
// CHECK: undeclared: status 0
func.func @undeclared(%c: !attn.kv_cache<2 x 1 x 4, block = 32, f32> {attn.name = "cache", attn.dims = ["u"]}) {
  return
}
// CHECK: error: 'func.func' op dim 'n' is both 4 and 3
// CHECK: both: status 1
func.func @both(%c: !attn.kv_cache<2 x 1 x 4, block = 32, f32> {attn.name = "c", attn.dims = ["n"]},
                %d: !attn.kv_cache<2 x 1 x 4, block = 32, f32> {attn.name = "d", attn.dims = ["n+1"]}) {
  return
}
func.func @beyond() {
  %n = arith.constant 2 : index
  %x = tensor.empty() : tensor<8x4xf32>
  // CHECK: error: 'tensor.dim' op asks for dim 2 of a tensor of rank 2
  // CHECK: beyond: status 1
  %0 = tensor.dim %x, %n : tensor<8x4xf32>
  return
}
func.func @element() {
  %x = tensor.empty() : tensor<8x4xf32>
  %e = tensor.empty() : tensor<9xf32>
  // CHECK: error: 'linalg.generic' op reads beyond a tensor from outside of its region
  // CHECK: element: status 1
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<9xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %j = arith.constant 0 : index
    %v = tensor.extract %x[%i, %j] : tensor<8x4xf32>
    linalg.yield %v : f32
  } -> tensor<9xf32>
  return
}
func.func @inside() {
  %x = tensor.empty() : tensor<8xf32>
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %v = tensor.extract %x[%i] : tensor<8xf32>
    // CHECK: error: 'arith.addf' op makes a tensor in a region, which is not evaluated
    // CHECK: inside: status 1
    %s = arith.addf %x, %x : tensor<8xf32>
    %w = tensor.extract %s[%i] : tensor<8xf32>
    %y = arith.addf %v, %w : f32
    linalg.yield %y : f32
  } -> tensor<8xf32>
  return
}
func.func @cast() {
  %x = tensor.empty() : tensor<8x4xf32>
  // CHECK: error: 'tensor.bitcast' op is not evaluated
  // CHECK: cast: status 1
  %0 = tensor.bitcast %x : tensor<8x4xf32> to tensor<8x4xi32>
  return
}
func.func @layout() {
  %l = arith.constant 0 : index
  %n = arith.constant 1 : index
  %c = tensor.empty(%n) : tensor<?x2x4x2x64x64xf32>
  %t = tensor.empty(%n, %n) : tensor<?x?xi32>
  // CHECK: error: 'attn.kv_view' op has a cache in a target's layout, which is of a later stage than is evaluated
  // CHECK: layout: status 1
  %k, %v = attn.kv_view %c[%l], %t {layout = #attn.cache_rows<positions = 64, keys = 64, values = 64>} : tensor<?x2x4x2x64x64xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
  return
}
func.func @segment(%c: !attn.kv_cache<[3 x 2 x (4 x f32, 8 x f32), 2 x 1 x 4 x f32], block = 64>) {
  %l = arith.constant 2 : index
  %t = tensor.empty() : tensor<1x1xi32>
  // CHECK: error: 'attn.kv_view' op names layer 2 of a cache of 2 layers in segment 1
  // CHECK: segment: status 1
  %k, %v = attn.kv_view %c[%l] segment 1, %t : !attn.kv_cache<[3 x 2 x (4 x f32, 8 x f32), 2 x 1 x 4 x f32], block = 64>, tensor<1x1xi32> -> tensor<1x64x1x4xf32>
  return
}
func.func @positions() {
  %c = arith.constant 2147483583 : i32
  %one = arith.constant 1 : i32
  %past = tensor.splat %c : tensor<1xi32>
  %length = tensor.splat %one : tensor<1xi32>
  %x = tensor.empty() : tensor<1x2x1x8xf32>
  %s = arith.constant 1.0 : f32
  // CHECK: error: 'attn.attention' op row 0 has 2 queries from position 2147483583 on, but positions are 0 to 2147483583
  // CHECK: positions: status 1
  %0 = attn.attention %x, %x, %x, %s q_offset(%past : tensor<1xi32>) kv_length(%length : tensor<1xi32>)
    maps [affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>,
          affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>, affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dv)>]
    : tensor<1x2x1x8xf32>, tensor<1x2x1x8xf32>, tensor<1x2x1x8xf32> -> tensor<1x2x1x8xf32>
  return
}
func.func @wide() {
  %x = arith.constant 1 : i32
  // CHECK: error: 'arith.extsi' op works on 'i128', but only scalars of at most 64 bits are evaluated
  // CHECK: wide: status 1
  %0 = arith.extsi %x : i32 to i128
  return
}
func.func @unsigned() {
  %a = arith.constant 0 : index
  %b = arith.constant 4 : index
  %c = arith.constant 1 : index
  // CHECK: error: 'scf.for' op compares without signs, which is not evaluated
  // CHECK: unsigned: status 1
  scf.for unsigned %i = %a to %b step %c {
  }
  return
}
func.func @unsigned_inside() {
  %a = arith.constant 0 : index
  %b = arith.constant 4 : index
  %c = arith.constant 1 : index
  %e = tensor.empty() : tensor<8xindex>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<8xindex>) {
  ^bb0(%old: index):
    // CHECK: error: 'scf.for' op compares without signs, which is not evaluated
    // CHECK: unsigned_inside: status 1
    %sum = scf.for unsigned %i = %a to %b step %c iter_args(%s = %a) -> (index) {
      %t = arith.addi %s, %i : index
      scf.yield %t : index
    }
    linalg.yield %sum : index
  } -> tensor<8xindex>
  return
}
