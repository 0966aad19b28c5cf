// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
// A state outside of a grid is cut into tiles of 8 queries, by its own interface: positions and slices move with the tile. Each tile goes through its keys
// in blocks of 24, which the loop carries acc, max and sum through.
// CHECK-LABEL: @whole
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x20xf32>, %[[K:[a-z0-9]+]]: tensor<?x20xbf16>, %[[V:[a-z0-9]+]]: tensor<?x24xf32>
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<?x1x?xf32>, %[[ACC:[a-z0-9]+]]: tensor<?x24xf32>, %[[M:[a-z0-9]+]]: tensor<?xf32>, %[[L:[a-z0-9]+]]: tensor<?xf32>
func.func @whole(%q: tensor<?x20xf32>, %k: tensor<?x20xbf16>, %v: tensor<?x24xf32>, %s: f32, %i: index, %bias: tensor<?x1x?xf32>,
                 %acc: tensor<?x24xf32>, %m: tensor<?xf32>, %l: tensor<?xf32>) -> (tensor<?x24xf32>, tensor<?xf32>, tensor<?xf32>) {
  // CHECK: %[[RESULT:.*]]:3 = scf.forall (%{{.*}}) in (%{{.*}}) shared_outs(%[[A:.*]] = %[[ACC]], %[[B:.*]] = %[[M]], %[[C:.*]] = %[[L]])
  // CHECK: %[[SIZE:.*]] = affine.min
  // CHECK: tensor.extract_slice %[[Q]]
  // CHECK: tensor.extract_slice %[[BIAS]]
  // CHECK: %[[A0:.*]] = tensor.extract_slice %[[A]]
  // CHECK: %[[B0:.*]] = tensor.extract_slice %[[B]]
  // CHECK: %[[C0:.*]] = tensor.extract_slice %[[C]]
  // CHECK: %[[STATE:.*]]:3 = scf.for %{{.*}} step %c24 iter_args(%{{.*}} = %[[A0]], %[[MAX:.*]] = %[[B0]], %{{.*}} = %[[C0]])
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x20xbf16>) outs(%{{.*}} : tensor<20x?xf32>)
  // CHECK: arith.extf
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x?xf32>, tensor<?x1x?xf32>)
  // CHECK-NOT: attn.
  // CHECK: scf.forall.in_parallel
  // CHECK: tensor.parallel_insert_slice %[[STATE]]#0 into %[[A]]
  // CHECK: tensor.parallel_insert_slice %[[STATE]]#1 into %[[B]]
  // CHECK: tensor.parallel_insert_slice %[[STATE]]#2 into %[[C]]
  // CHECK: return %[[RESULT]]#0, %[[RESULT]]#1, %[[RESULT]]#2
  %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) extras(%bias : tensor<?x1x?xf32>) maps [affine_map<(q, kv) -> (kv, 0, q)>] init(%acc, %m, %l) {attn.schedule = #tiles}
    : tensor<?x20xf32>, tensor<?x20xbf16>, tensor<?x24xf32>, tensor<?x24xf32>, tensor<?xf32>, tensor<?xf32>
    score {
    ^bb0(%x: f32, %b: index, %h: index, %y: index, %z: index, %e: f32):
      %1 = arith.addf %x, %e : f32
      attn.yield %1 : f32
    }
  return %0#0, %0#1, %0#2 : tensor<?x24xf32>, tensor<?xf32>, tensor<?xf32>
}

// -----

#tiles = #attn.attention_tiles<keys = 24, queries = 8>
// Near miss: in a grid a state is a task's, which another grid cannot be in.
// CHECK-LABEL: @task
func.func @task(%q: tensor<8x20xf32>, %k: tensor<?x20xf32>, %v: tensor<?x24xf32>, %s: f32, %i: index, %acc: tensor<8x24xf32>, %m: tensor<8xf32>,
                %l: tensor<8xf32>) -> tensor<8x24xf32> {
  // CHECK: scf.forall
  // CHECK-NOT: scf.forall (
  // CHECK: scf.for
  %r = scf.forall (%t) in (1) shared_outs(%o = %acc) -> tensor<8x24xf32> {
    %0:3 = attn.attention_state %q, %k, %v, %s at(%i, %i, %i, %i) init(%o, %m, %l) {attn.schedule = #tiles}
      : tensor<8x20xf32>, tensor<?x20xf32>, tensor<?x24xf32>, tensor<8x24xf32>, tensor<8xf32>, tensor<8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %0#0 into %o[0, 0] [8, 24] [1, 1] : tensor<8x24xf32> into tensor<8x24xf32>
    }
  }
  return %r : tensor<8x24xf32>
}

// -----

// The largest maximum, the factor of the state before and of each part, and the sums over parts in their order; the running max is overwritten last.
// CHECK-LABEL: @merge
// CHECK-SAME: %[[AS:.*]]: tensor<?x8x24xf32>, %[[MS:.*]]: tensor<?x8xf32>, %[[LS:.*]]: tensor<?x8xf32>, %[[ACC:.*]]: tensor<8x24xf32>, %[[M:.*]]: tensor<8xf32>, %[[L:.*]]: tensor<8xf32>
func.func @merge(%as: tensor<?x8x24xf32>, %ms: tensor<?x8xf32>, %ls: tensor<?x8xf32>, %acc: tensor<8x24xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>)
    -> (tensor<8x24xf32>, tensor<8xf32>, tensor<8xf32>) {
  // CHECK: %[[OF_PARTS:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[MS]] :
  // CHECK: %[[LARGEST:.*]] = linalg.generic {{.*}} ins(%[[OF_PARTS]], %[[M]] :
  // CHECK: %[[DECAY:.*]] = linalg.generic {{.*}} ins(%[[M]], %[[LARGEST]] :
  // CHECK: %[[FACTORS:.*]] = linalg.generic {{.*}} ins(%[[MS]], %[[LARGEST]] :
  // CHECK: %[[SUMS:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[LS]], %[[FACTORS]] :
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[SUMS]], %[[DECAY]] : {{.*}} outs(%[[L]] :
  // CHECK: %[[ADDED:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[AS]], %[[FACTORS]] :
  // CHECK: %[[NEW:.*]] = linalg.generic {{.*}} ins(%[[ADDED]], %[[DECAY]] : {{.*}} outs(%[[ACC]] :
  // CHECK: %[[MAX:.*]] = linalg.generic {{.*}} ins(%[[OF_PARTS]] : {{.*}} outs(%[[M]] :
  // CHECK: return %[[NEW]], %[[MAX]], %[[SUM]]
  %0:3 = attn.attention_merge %as, %ms, %ls init(%acc, %m, %l)
    : tensor<?x8x24xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<8x24xf32>, tensor<8xf32>, tensor<8xf32>
  return %0#0, %0#1, %0#2 : tensor<8x24xf32>, tensor<8xf32>, tensor<8xf32>
}
