// RUN: rapt-opt %s --attn-decompose-attention --split-input-file | FileCheck %s

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// Matmul, softmax, matmul. Without a mask no score is compared with a limit. Running max, running sum and factor have one lane per row: butterfly
// shuffles reduce the partial results of 8 rows in 4 rounds.
// CHECK-LABEL: @plain
func.func @plain(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index,
                 %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>)
    -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: attn_cpu.panel_matmul %{{.*}} : tensor<8x64xf32>, tensor<64x32xf32>, tensor<8x32xf32>
  // CHECK-NOT: arith.cmpi
  // CHECK-COUNT-30: vector.shuffle
  // CHECK: math.exp2 %{{.*}} {nonpositive} : vector<16xf32>
  // CHECK: math.exp2 %{{.*}} {nonpositive} : vector<32xf32>
  // CHECK-COUNT-30: vector.shuffle
  // CHECK: attn_cpu.panel_matmul %{{.*}} : tensor<8x64xf32>, tensor<64x32xf32>, tensor<8x32xf32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0, %0#1, %0#2 : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// Score region, limit and mask are vectors of 32 keys, with 32-bit indices; masked scores become -infinity.
// CHECK-LABEL: @regions
func.func @regions(%q: tensor<1x32xf32>, %k: tensor<1x32x32xf32>, %v: tensor<1x32x32xf32>, %scale: f32, %i: index,
                   %acc: tensor<1x32xf32>, %m: tensor<1xf32>, %l: tensor<1xf32>) -> tensor<1x32xf32> {
  // CHECK: math.tanh %{{.*}} : vector<32xf32>
  // CHECK: arith.cmpi slt, {{.*}} : vector<32xi32>
  // CHECK: arith.cmpi sle, {{.*}} : vector<32xi32>
  // CHECK: arith.select {{.*}} : vector<32xi1>, vector<32xf32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) limit(%i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<1x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<1x32xf32>, tensor<1xf32>, tensor<1xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %x: index, %y: index):
      %t = math.tanh %s : f32
      attn.yield %t : f32
    } mask {
    ^bb0(%b: index, %h: index, %x: index, %y: index):
      %keep = arith.cmpi sle, %y, %x : index
      attn.yield %keep : i1
    }
  return %0#0 : tensor<1x32xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// An extra operand is read 32 keys at a time along rows or columns; a table by a gather with 32-bit indices, or as one element.
// CHECK-LABEL: @extras
func.func @extras(%q: tensor<1x32xf32>, %k: tensor<1x32x32xf32>, %v: tensor<1x32x32xf32>, %scale: f32, %i: index, %acc: tensor<1x32xf32>,
                  %m: tensor<1xf32>, %l: tensor<1xf32>, %rows: tensor<1x?xf32>, %columns: tensor<?x1xf32>, %one: tensor<1xf32>, %table: tensor<4x32xf32>) -> tensor<1x32xf32> {
  // CHECK: vector.transfer_read {{.*}} : tensor<1x?xf32>, vector<32xf32>
  // CHECK: vector.transfer_read {{.*}} : tensor<?x1xf32>, vector<32xf32>
  // CHECK: tensor.extract %{{.*}} : tensor<1xf32>
  // CHECK: arith.maxsi {{.*}} : vector<32xi32>
  // CHECK: arith.minsi {{.*}} : vector<32xi32>
  // CHECK: vector.gather {{.*}} : tensor<128xf32>, vector<32xi32>, vector<32xi1>, vector<32xf32> into vector<32xf32>
  // CHECK: tensor.extract %{{.*}} : tensor<128xf32>
  // CHECK-NOT: xi64
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i)
    extras(%rows, %columns, %one, %table : tensor<1x?xf32>, tensor<?x1xf32>, tensor<1xf32>, tensor<4x32xf32>)
    maps [affine_map<(q, kv) -> (q, kv)>, affine_map<(q, kv) -> (kv, q)>, affine_map<(q, kv) -> (q)>, affine_map<(q, kv) -> ()>] init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<1x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<1x32xf32>, tensor<1xf32>, tensor<1xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %x: index, %y: index, %a: f32, %c: f32, %d: f32, %t: tensor<4x32xf32>):
      %0 = attn.lookup %t[%h, %y] : tensor<4x32xf32> -> f32
      %1 = attn.lookup %t[%h, %x] : tensor<4x32xf32> -> f32
      %2 = arith.addf %a, %c : f32
      %3 = arith.addf %2, %d : f32
      %4 = arith.addf %3, %0 : f32
      %5 = arith.addf %4, %1 : f32
      attn.yield %5 : f32
    }
  return %0#0 : tensor<1x32xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// An additive similarity is no matmul: a loop over channels computes tanh for vectors of 32 keys.
// CHECK-LABEL: @additive
func.func @additive(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index,
                    %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %w: tensor<40xf32>) -> tensor<8x64xf32> {
  // CHECK-NOT: attn_cpu.panel_matmul
  // CHECK: scf.for %{{.*}} = %{{.*}} to %c40
  // CHECK: math.tanh %{{.*}} : vector<32xf32>
  // CHECK: math.exp2 %{{.*}} {nonpositive} : vector<32xf32>
  // CHECK: attn_cpu.panel_matmul %{{.*}} : tensor<8x64xf32>, tensor<64x32xf32>, tensor<8x32xf32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) additive(%w : tensor<40xf32>) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x64xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// With a constant positive scale, softmax scales the scores after subtracting the largest one, so matmuls read the query in place.
// CHECK-LABEL: @scaled
func.func @scaled(%all: tensor<?x768xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %i: index, %acc: tensor<8x64xf32>,
                  %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x64xf32> {
  // CHECK: %[[QUERY:.*]] = tensor.extract_slice
  %scale = arith.constant 0.125 : f32
  %q = tensor.extract_slice %all[%i, 64] [8, 64] [1, 1] : tensor<?x768xf32> to tensor<8x64xf32>
  // CHECK: attn_cpu.panel_matmul %[[QUERY]]
  // CHECK: arith.mulf %{{.*}} : vector<16xf32>
  // CHECK: %[[BELOW:.*]] = arith.subf %{{.*}} : vector<32xf32>
  // CHECK: %[[SCALED:.*]] = vector.fma %[[BELOW]], %{{.*}} : vector<32xf32>
  // CHECK-NEXT: math.exp2 %[[SCALED]] {nonpositive}
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x64xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// With a dynamic number of keys, the depth of the second matmul is the number of keys before the limit, rounded up to a multiple of 4.
// CHECK: affine_map<()[s0, s1] -> (((s0 - s1) ceildiv 4) * 4)>
// CHECK-LABEL: @before_limit
// CHECK-SAME: %[[FROM:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: tensor<14x64xf32>
func.func @before_limit(%n: index, %q: tensor<14x64xf32>, %ks: tensor<4x64x32xf32>, %vs: tensor<2x128x32xf32>, %scale: f32, %i: index, %end: index,
                        %acc: tensor<14x64xf32>, %m: tensor<14xf32>, %l: tensor<14xf32>) -> tensor<14x64xf32> {
  %c4 = arith.constant 4 : index
  %blocks = affine.min affine_map<(d0) -> (d0, 4)>(%n)
  %keys = affine.apply affine_map<(d0) -> (d0 * 32)>(%blocks)
  %k = tensor.extract_slice %ks[0, 0, 0] [%blocks, 64, 32] [1, 1, 1] : tensor<4x64x32xf32> to tensor<?x64x32xf32>
  %v = tensor.extract_slice %vs[0, 0, 0] [2, %keys, 32] [1, 1, 1] : tensor<2x128x32xf32> to tensor<2x?x32xf32>
  // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<14x64xf32>, tensor<64x32xf32>
  // CHECK: %[[BEFORE:.*]] = affine.apply #{{.*}}()[%[[END]], %[[FROM]]]
  // CHECK: %[[SOME:.*]] = arith.maxsi %[[BEFORE]], %{{.*}}
  // CHECK: %[[COUNT:.*]] = arith.minsi %{{.*}}, %[[SOME]]
  // CHECK: %[[ROWS:.*]] = tensor.extract_slice %{{.*}}[0, 0] [14, %[[COUNT]]]
  // CHECK: %[[VALUES:.*]] = tensor.extract_slice %{{.*}}[0, 0] [%[[COUNT]], 32]
  // CHECK: attn_cpu.panel_matmul %[[ROWS]], %[[VALUES]]
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) limit(%end) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<14x64xf32>, tensor<?x64x32xf32>, tensor<2x?x32xf32>, tensor<14x64xf32>, tensor<14xf32>, tensor<14xf32>
  return %0#0 : tensor<14x64xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// The scaled query does not depend on the KV block: it is computed before the loop.
// CHECK-LABEL: @blocks
func.func @blocks(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %n: index, %i: index,
                  %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: vector.transfer_read %arg0
  // CHECK: scf.for {{.*}} to %arg4
  // CHECK-NOT: vector.transfer_read %arg0
  %0:3 = scf.for %b = %c0 to %n step %c1 iter_args(%a = %acc, %x = %m, %y = %l) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
    %1:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %b) init(%a, %x, %y) {attn.schedule = #kernel}
      : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
    scf.yield %1#0, %1#1, %1#2 : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  }
  return %0#0 : tensor<8x64xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// Without bf16_matmul, VNNI-packed keys and values are widened in registers. With as many heads as rows they have one position.
// CHECK-LABEL: @group
// CHECK-SAME: %[[Q:[a-z0-9]+]]: index
func.func @group(%i: index, %q: tensor<4x64xf32>, %k: tensor<2x32x64xbf16>, %v: tensor<2x32x64xbf16>, %scale: f32,
                 %acc: tensor<4x64xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>) -> tensor<4x64xf32> {
  // CHECK: attn_cpu.panel_matmul %{{.*}} : tensor<4x64xf32>, tensor<32x64xbf16>, tensor<4x32xf32>
  // CHECK: scf.for %[[ROW:[a-z0-9]+]] =
  // CHECK-NOT: arith.addi %[[Q]], %[[ROW]]
  // CHECK: attn_cpu.panel_matmul %{{.*}} : tensor<4x64xf32>, tensor<32x64xbf16>, tensor<4x32xf32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel, heads = 4 : i64}
    : tensor<4x64xf32>, tensor<2x32x64xbf16>, tensor<2x32x64xbf16>, tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
    mask {
    ^bb0(%b: index, %h: index, %x: index, %y: index):
      %keep = arith.cmpi sle, %y, %x : index
      attn.yield %keep : i1
    }
  return %0#0 : tensor<4x64xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// With two heads, two rows have the position of a query and read its element of an extra operand.
// CHECK-LABEL: @two_heads
// CHECK-SAME: %[[Q:[a-z0-9]+]]: index
func.func @two_heads(%i: index, %q: tensor<4x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %ends: tensor<2xi32>,
                     %acc: tensor<4x64xf32>, %m: tensor<4xf32>, %l: tensor<4xf32>) -> tensor<4x64xf32> {
  // CHECK: scf.for %[[ROW:[a-z0-9]+]] =
  // CHECK: %[[NTH:.*]] = arith.divui %[[ROW]], %c2
  // CHECK: %[[POSITION:.*]] = arith.addi %[[Q]], %[[NTH]] : index
  // CHECK: tensor.extract %{{.*}}[%[[NTH]]] : tensor<2xi32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) extras(%ends : tensor<2xi32>) maps [affine_map<(q, kv) -> (q)>] init(%acc, %m, %l) {attn.schedule = #kernel, heads = 2 : i64}
    : tensor<4x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>
    mask {
    ^bb0(%b: index, %h: index, %x: index, %y: index, %end: i32):
      %0 = arith.index_cast %end : i32 to index
      %keep = arith.cmpi sle, %y, %0 : index
      attn.yield %keep : i1
    }
  return %0#0 : tensor<4x64xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 32, rows = 14, vnni_rows = 13>
// With bf16_matmul the scaled query is cast to bf16 before the loop, and so are the probabilities, for which a short polynomial is enough. The running
// sum is that of the cast probabilities, by a dot product with ones.
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @bf16
  func.func @bf16(%q: tensor<14x64xf32>, %k: tensor<2x32x64xbf16>, %v: tensor<2x32x64xbf16>, %scale: f32, %n: index, %i: index,
                    %acc: tensor<14x64xf32>, %m: tensor<14xf32>, %l: tensor<14xf32>) -> tensor<14x64xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: arith.mulf {{.*}} : vector<32xf32>
    // CHECK: arith.truncf {{.*}} : vector<32xf32> to vector<32xbf16>
    // CHECK: scf.for {{.*}} to %arg4
    // CHECK: linalg.fill
    // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<14x64xbf16>, tensor<32x64xbf16>, tensor<14x32xf32>
    // CHECK: %[[E:.*]] = math.exp2 {{.*}} {nonpositive, rounded} : vector<32xf32>
    // CHECK: %[[ROUNDED:.*]] = arith.truncf %[[E]] : vector<32xf32> to vector<32xbf16>
    // CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %[[ROUNDED]], %{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
    // CHECK: vector.transfer_write %[[ROUNDED]], %{{.*}} : vector<32xbf16>, tensor<14x64xbf16>
    // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<14x64xbf16>, tensor<32x64xbf16>, tensor<14x32xf32>
    %0:3 = scf.for %b = %c0 to %n step %c1 iter_args(%a = %acc, %x = %m, %y = %l) -> (tensor<14x64xf32>, tensor<14xf32>, tensor<14xf32>) {
      %1:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %b) init(%a, %x, %y) {attn.schedule = #kernel, bf16_matmul}
        : tensor<14x64xf32>, tensor<2x32x64xbf16>, tensor<2x32x64xbf16>, tensor<14x64xf32>, tensor<14xf32>, tensor<14xf32>
      scf.yield %1#0, %1#1, %1#2 : tensor<14x64xf32>, tensor<14xf32>, tensor<14xf32>
    }
    return %0#0 : tensor<14x64xf32>
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 32, rows = 14, vnni_rows = 13>
// The depth of VNNI-packed keys before the limit is a multiple of 4, too; blocks of a paged cache are multiplied one after another.
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @paired_rest
  func.func @paired_rest(%q: tensor<14x64xf32>, %ks: tensor<4x32x64xbf16>, %vs: tensor<2x64x64xbf16>, %scale: f32, %n: index, %i: index, %end: index,
                         %acc: tensor<14x64xf32>, %m: tensor<14xf32>, %l: tensor<14xf32>) -> tensor<14x64xf32> {
    %count = affine.min affine_map<(d0) -> (d0, 2)>(%n)
    %blocks = affine.apply affine_map<(d0) -> (d0 * 2)>(%count)
    %lines = affine.apply affine_map<(d0) -> (d0 * 32)>(%count)
    %k = tensor.extract_slice %ks[0, 0, 0] [%blocks, 32, 64] [1, 1, 1] : tensor<4x32x64xbf16> to tensor<?x32x64xbf16>
    %v = tensor.extract_slice %vs[0, 0, 0] [2, %lines, 64] [1, 1, 1] : tensor<2x64x64xbf16> to tensor<2x?x64xbf16>
    // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<14x64xbf16>, tensor<32x64xbf16>
    // CHECK: %[[COUNT:.*]] = arith.minsi
    // CHECK: %[[ROWS:.*]] = tensor.extract_slice %{{.*}}[0, 0] [14, %[[COUNT]]]
    // CHECK: %[[LINES:.*]] = affine.apply #{{.*}}()[%[[COUNT]]]
    // CHECK: %[[VALUES:.*]] = tensor.extract_slice %{{.*}}[0, 0] [%[[LINES]], 64]
    // CHECK: attn_cpu.panel_matmul %[[ROWS]], %[[VALUES]], {{.*}} : tensor<14x?xbf16>, tensor<?x64xbf16>
    %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) limit(%end) init(%acc, %m, %l) {attn.schedule = #kernel, bf16_matmul}
      : tensor<14x64xf32>, tensor<?x32x64xbf16>, tensor<2x?x64xbf16>, tensor<14x64xf32>, tensor<14xf32>, tensor<14xf32>
    return %0#0 : tensor<14x64xf32>
  }

  // CHECK-LABEL: @paired_parts
  func.func @paired_parts(%q: tensor<14x64xf32>, %k0: tensor<2x32x64xbf16>, %k1: tensor<2x32x64xbf16>, %v0: tensor<2x32x64xbf16>, %v1: tensor<2x32x64xbf16>,
                          %scale: f32, %i: index, %acc: tensor<14x64xf32>, %m: tensor<14xf32>, %l: tensor<14xf32>) -> tensor<14x64xf32> {
    %k = tensor.concat dim(0) %k0, %k1 : (tensor<2x32x64xbf16>, tensor<2x32x64xbf16>) -> tensor<4x32x64xbf16>
    %v = tensor.concat dim(1) %v0, %v1 : (tensor<2x32x64xbf16>, tensor<2x32x64xbf16>) -> tensor<2x64x64xbf16>
    // CHECK: tensor.extract_slice %arg1
    // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<14x64xbf16>, tensor<32x64xbf16>
    // CHECK: tensor.extract_slice %arg2
    // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<14x64xbf16>, tensor<32x64xbf16>
    // CHECK: tensor.extract_slice %{{.*}}[0, 0] [14, 64] [1, 1] : tensor<14x128xbf16>
    // CHECK: tensor.extract_slice %arg3
    // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<14x64xbf16>, tensor<32x64xbf16>
    // CHECK: tensor.extract_slice %{{.*}}[0, 64] [14, 64] [1, 1] : tensor<14x128xbf16>
    // CHECK: tensor.extract_slice %arg4
    // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<14x64xbf16>, tensor<32x64xbf16>
    %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel, bf16_matmul}
      : tensor<14x64xf32>, tensor<4x32x64xbf16>, tensor<2x64x64xbf16>, tensor<14x64xf32>, tensor<14xf32>, tensor<14xf32>
    return %0#0 : tensor<14x64xf32>
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 32, matrix_rows = 16, rows = 14, vnni_rows = 13>
// 32 queries become two tiles of 16: the scores of both, then softmax and second matmul of each. Masks use the positions of each tile.
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @turns
  // CHECK-SAME: %[[Q:[a-z0-9]+]]: index
  func.func @turns(%i: index, %q: tensor<32x64xf32>, %k: tensor<2x32x64xbf16>, %v: tensor<2x32x64xbf16>, %scale: f32,
                   %acc: tensor<32x64xf32>, %m: tensor<32xf32>, %l: tensor<32xf32>) -> tensor<32x64xf32> {
    // CHECK-COUNT-2: attn_cpu.vnni_matmul {{.*}} : tensor<16x64xbf16>, tensor<2x32x64xbf16>, tensor<16x64xf32>
    // CHECK-NOT: attn_cpu.vnni_matmul
    // CHECK: arith.addi %[[Q]],
    // CHECK: math.exp2 {{.*}} : vector<32xf32>
    // CHECK: arith.truncf {{.*}} : vector<32xf32> to vector<32xbf16>
    // CHECK: arith.extf {{.*}} : vector<32xbf16> to vector<32xf32>
    // CHECK: attn_cpu.vnni_matmul
    // CHECK: %[[LATER:.*]] = affine.apply {{.*}}%[[Q]]
    // CHECK: arith.addi %[[LATER]],
    // CHECK: math.exp2 {{.*}} : vector<32xf32>
    // CHECK: attn_cpu.vnni_matmul
    // CHECK-NOT: attn_cpu.vnni_matmul
    %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel, bf16_matmul}
      : tensor<32x64xf32>, tensor<2x32x64xbf16>, tensor<2x32x64xbf16>, tensor<32x64xf32>, tensor<32xf32>, tensor<32xf32>
      mask {
      ^bb0(%b: index, %h: index, %x: index, %y: index):
        %keep = arith.cmpi sle, %y, %x : index
        attn.yield %keep : i1
      }
    return %0#0 : tensor<32x64xf32>
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// A dynamic number of at most four panels of keys: the buffer of scores is static, and loops have dynamic bounds.
// CHECK-LABEL: @some
func.func @some(%q: tensor<8x64xf32>, %k: tensor<9x64x32xf32>, %v: tensor<2x288x32xf32>, %scale: f32, %i: index, %n: index,
                %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x64xf32> {
  %count = affine.min affine_map<(d0) -> (d0, 4)>(%n)
  %keys = affine.apply affine_map<(d0) -> (d0 * 32)>(%count)
  // CHECK: %[[MIN:.*]] = affine.min
  // CHECK: %[[COUNT:.*]] = affine.apply #{{.*}}()[%[[MIN]]]
  // CHECK: tensor.empty() : tensor<8x128xf32>
  // CHECK: scf.for {{.*}} to %[[COUNT]] step %c32
  // CHECK: attn_cpu.panel_matmul %{{.*}} : tensor<8x64xf32>, tensor<64x32xf32>, tensor<8x32xf32>
  // CHECK: scf.for {{.*}} to %[[COUNT]] step %c32
  // CHECK: attn_cpu.panel_matmul %{{.*}} : tensor<8x?xf32>, tensor<?x32xf32>, tensor<8x32xf32>
  %ks = tensor.extract_slice %k[0, 0, 0] [%count, 64, 32] [1, 1, 1] : tensor<9x64x32xf32> to tensor<?x64x32xf32>
  %vs = tensor.extract_slice %v[0, 0, 0] [2, %keys, 32] [1, 1, 1] : tensor<2x288x32xf32> to tensor<2x?x32xf32>
  %0:3 = attn_cpu.attention_state %q, %ks, %vs, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<8x64xf32>, tensor<?x64x32xf32>, tensor<2x?x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x64xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// The first matmul prefetches the next queries, split over its 2 panels; the second prefetches the output rows.
// CHECK-LABEL: @prefetch
// CHECK-SAME: %[[NEXT:[a-z0-9]+]]: tensor<8x64xf32>, %[[RESULT:[a-z0-9]+]]: tensor<8x32xf32>
func.func @prefetch(%next: tensor<8x64xf32>, %result: tensor<8x32xf32>, %q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<1x64x32xf32>,
                 %scale: f32, %i: index, %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x32xf32> {
  %c0 = arith.constant 0 : index
  %all = arith.constant 65536 : index
  // CHECK: attn_cpu.panel_matmul %{{.*}} prefetch(%[[NEXT]] : tensor<8x64xf32>) rows(%{{.*}}, %{{.*}}) {{.*}} : tensor<8x64xf32>
  // CHECK: attn_cpu.panel_matmul %{{.*}} prefetch(%[[RESULT]] : tensor<8x32xf32>) rows(%{{.*}}, %{{.*}}) write {{.*}} : tensor<8x64xf32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i)
    prefetch(%next, %result : tensor<8x64xf32>, tensor<8x32xf32>) rows(%c0, %all) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<1x64x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x32xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 32, matrix_rows = 16, rows = 14, vnni_rows = 13>
// Keys and values that are not contiguous have one matmul per part and one softmax of all scores; no copy joins them.
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @apart
  // CHECK-SAME: %[[K0:[a-z0-9]+]]: tensor<2x32x64xbf16>, %[[K1:[a-z0-9]+]]: tensor<2x32x64xbf16>, %[[V0:[a-z0-9]+]]: tensor<2x32x64xbf16>, %[[V1:[a-z0-9]+]]: tensor<2x32x64xbf16>
  func.func @apart(%k0: tensor<2x32x64xbf16>, %k1: tensor<2x32x64xbf16>, %v0: tensor<2x32x64xbf16>, %v1: tensor<2x32x64xbf16>, %i: index,
                   %q: tensor<32x64xf32>, %scale: f32, %acc: tensor<32x64xf32>, %m: tensor<32xf32>, %l: tensor<32xf32>) -> tensor<32x64xf32> {
    // CHECK: attn_cpu.vnni_matmul %{{.*}}, %[[K0]], %{{.*}} : tensor<16x64xbf16>, tensor<2x32x64xbf16>, tensor<16x64xf32>
    // CHECK: attn_cpu.vnni_matmul %{{.*}}, %[[K1]],
    // CHECK: attn_cpu.vnni_matmul %{{.*}}, %[[K0]],
    // CHECK: attn_cpu.vnni_matmul %{{.*}}, %[[K1]],
    // CHECK: scf.for {{.*}} to %c128
    // CHECK: math.exp2 {{.*}} : vector<32xf32>
    // CHECK: attn_cpu.vnni_matmul %{{.*}}, %[[V0]], %{{.*}} : tensor<16x64xbf16>, tensor<2x32x64xbf16>, tensor<16x64xf32>
    // CHECK: attn_cpu.vnni_matmul %{{.*}}, %[[V1]],
    // CHECK: math.exp2 {{.*}} : vector<32xf32>
    // CHECK: attn_cpu.vnni_matmul %{{.*}}, %[[V0]],
    // CHECK: attn_cpu.vnni_matmul %{{.*}}, %[[V1]],
    %k = tensor.concat dim(0) %k0, %k1 : (tensor<2x32x64xbf16>, tensor<2x32x64xbf16>) -> tensor<4x32x64xbf16>
    %v = tensor.concat dim(1) %v0, %v1 : (tensor<2x32x64xbf16>, tensor<2x32x64xbf16>) -> tensor<2x64x64xbf16>
    %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel, bf16_matmul}
      : tensor<32x64xf32>, tensor<4x32x64xbf16>, tensor<2x64x64xbf16>, tensor<32x64xf32>, tensor<32xf32>, tensor<32xf32>
    return %0#0 : tensor<32x64xf32>
  }
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// With masked keys, probabilities times values start from zero. Where the result is not finite, values of unmasked keys are added key by key. The result
// is added to the rescaled accumulators.
// CHECK-LABEL: @masked_values
func.func @masked_values(%q: tensor<8x32xf32>, %k: tensor<1x32x32xf32>, %v: tensor<1x32x32xf32>, %scale: f32, %i: index, %end: index,
                         %acc: tensor<8x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x32xf32> {
  // CHECK: math.exp2 {{.*}} : vector<32xf32>
  // CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<8x32xf32>
  // CHECK: %[[PRODUCT:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[EMPTY]])
  // CHECK: linalg.fill
  // CHECK: attn_cpu.panel_matmul
  // CHECK: %[[SUMS:.*]]:2 = scf.for
  // CHECK: vector.fma
  // CHECK: arith.cmpf uno
  // CHECK: %[[SOME:.*]] = vector.reduction <or>
  // CHECK: %[[RARE:.*]] = llvm.intr.expect.with.probability %[[SOME]], %false, 1.000000e+00
  // CHECK: %[[EXACT:.*]] = scf.if %[[RARE]]
  // CHECK: arith.cmpi slt, {{.*}} : vector<32xi32>
  // CHECK: arith.select {{.*}} : vector<32xf32>
  // CHECK: vector.fma
  // CHECK: } else {
  // CHECK: scf.yield %[[PRODUCT]]
  // CHECK: %[[RESULT:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %arg6)
  // CHECK: vector.transfer_read %[[EXACT]]
  // CHECK: vector.fma
  // CHECK: return %[[RESULT]]
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) limit(%end) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<8x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0 : tensor<8x32xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// Indices are 64-bit integers: lanes have 64 bits where 32 bits are not enough, and a scalar that 32-bit lanes are compared with is clamped to 32 bits.
// CHECK-LABEL: @wide_indices
func.func @wide_indices(%q: tensor<1x32xf32>, %k: tensor<1x32x32xf32>, %v: tensor<1x32x32xf32>, %scale: f32, %i: index,
                        %acc: tensor<1x32xf32>, %m: tensor<1xf32>, %l: tensor<1xf32>) -> tensor<1x32xf32> {
  // CHECK: arith.muli {{.*}} : vector<32xi64>
  // CHECK: arith.divsi {{.*}} : vector<32xi64>
  // CHECK: %[[INDEX:.*]] = arith.trunci {{.*}} : vector<32xi64> to vector<32xi32>
  // CHECK: arith.sitofp %[[INDEX]] : vector<32xi32> to vector<32xf32>
  // CHECK: %[[LOW:.*]] = arith.maxsi %{{.*}}, %{{.*}} : index
  // CHECK: %[[NEAREST:.*]] = arith.minsi %[[LOW]], %{{.*}} : index
  // CHECK: arith.index_cast %[[NEAREST]] : index to i32
  // CHECK: arith.cmpi slt, {{.*}} : vector<32xi32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<1x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<1x32xf32>, tensor<1xf32>, tensor<1xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %x: index, %y: index):
      %wide = arith.constant 8589934592 : index
      %product = arith.muli %y, %wide : index
      %quotient = arith.divsi %product, %wide : index
      %number = arith.index_cast %quotient : index to i32
      %f = arith.sitofp %number : i32 to f32
      %t = arith.addf %s, %f : f32
      attn.yield %t : f32
    } mask {
    ^bb0(%b: index, %h: index, %x: index, %y: index):
      %wide = arith.constant 1099511627776 : index
      %apart = arith.subi %x, %y : index
      %keep = arith.cmpi slt, %apart, %wide : index
      attn.yield %keep : i1
    }
  return %0#0 : tensor<1x32xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// The max is subtracted from a score region's result before the multiplication by log2 e, as the largest floats times it are infinite; so it is when
// states are combined.
// CHECK-LABEL: @natural
func.func @natural(%q: tensor<1x32xf32>, %k: tensor<1x32x32xf32>, %v: tensor<1x32x32xf32>, %scale: f32, %i: index, %as: tensor<4x1x32xf32>,
                   %ms: tensor<4x1xf32>, %ls: tensor<4x1xf32>, %acc: tensor<1x32xf32>, %m: tensor<1xf32>, %l: tensor<1xf32>) -> tensor<1x32xf32> {
  // CHECK: math.tanh %{{.*}} : vector<32xf32>
  // CHECK-NOT: arith.mulf %{{.*}} : vector<32xf32>
  // CHECK: %[[ALPHA:.*]] = arith.mulf {{.*}} : vector<16xf32>
  // CHECK: math.exp2 %[[ALPHA]] {nonpositive}
  // CHECK: %[[BELOW:.*]] = arith.subf {{.*}} : vector<32xf32>
  // CHECK: %[[UNITS:.*]] = arith.mulf %[[BELOW]], %{{.*}} : vector<32xf32>
  // CHECK: math.exp2 %[[UNITS]] {nonpositive} : vector<32xf32>
  %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<1x32xf32>, tensor<1x32x32xf32>, tensor<1x32x32xf32>, tensor<1x32xf32>, tensor<1xf32>, tensor<1xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %x: index, %y: index):
      %t = math.tanh %s : f32
      attn.yield %t : f32
    }
  // CHECK: %[[APART:.*]] = arith.subf {{.*}} : f32
  // CHECK: %[[FACTOR:.*]] = arith.mulf %[[APART]], %{{.*}} : f32
  // CHECK: math.exp2 %[[FACTOR]] {nonpositive} : f32
  %1:3 = attn_cpu.attention_merge %as, %ms, %ls init(%0#0, %0#1, %0#2) {scored}
    : tensor<4x1x32xf32>, tensor<4x1xf32>, tensor<4x1xf32>, tensor<1x32xf32>, tensor<1xf32>, tensor<1xf32>
  return %1#0 : tensor<1x32xf32>
}

// -----

#kernel = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>
// A tile of as many queries as are left has buffers of the most queries, and partial results of 16.
// CHECK-LABEL: @queries_left
func.func @queries_left(%q: tensor<40x64xf32>, %n: index, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %i: index, %acc: tensor<?x64xf32>,
                        %m: tensor<?xf32>, %l: tensor<?xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[LEFT:.*]] = affine.min
  %left = affine.min affine_map<()[s0] -> (s0, 14)>()[%n]
  %scale = arith.constant 0.125 : f32
  %rows = tensor.extract_slice %q[%i, 0] [%left, 64] [1, 1] : tensor<40x64xf32> to tensor<?x64xf32>
  // CHECK: %[[MOST:.*]] = tensor.empty() : tensor<14x64xf32>
  // CHECK: tensor.extract_slice %[[MOST]][0, 0] [%[[LEFT]], 64]
  // CHECK: attn_cpu.panel_matmul {{.*}} : tensor<?x64xf32>, tensor<64x32xf32>, tensor<?x32xf32>
  // CHECK: scf.for {{.*}} -> (tensor<16x16xf32>)
  %0:3 = attn_cpu.attention_state %rows, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #kernel}
    : tensor<?x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>
  return %0#0 : tensor<?x64xf32>
}
