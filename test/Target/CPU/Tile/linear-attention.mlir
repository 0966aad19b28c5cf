// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

#slice = #attn_cpu.linear_attention_schedule<chunk = 6, columns = 32, keys = 2, single = 96, tokens = 2>

// A task is a state. That of a sequence of one token is read and written in its slots, all columns at once. Another one is copied slice by slice from the slot where the
// sequence begins. It goes along the tokens in chunks of three pairs. First a loop over the pairs
// multiplies keys and queries with the keys before (4 products). Then for each slice of 32 value channels a loop over the pairs reads the state for both keys and
// queries, solves for what they change, and adds it to the decayed state. A last token alone reads the state for two key channels at once. Other tokens' outputs are 0.
// CHECK-LABEL: @gated_delta
// CHECK-SAME: %{{.*}}: tensor<?x1x64xf32>, %{{.*}}: tensor<?x2x96xf32>, %{{.*}}: tensor<?x2xf32>, %{{.*}}: tensor<?xi32>, %[[S:.*]]: tensor<?x2x64x96xf32>
func.func @gated_delta(%q: tensor<?x1x64xf32>, %v: tensor<?x2x96xf32>, %g: tensor<?x2xf32>, %begin: tensor<?xi32>, %s: tensor<?x2x64x96xf32>) -> (tensor<?x2x96xf32>, tensor<?x2x64x96xf32>) {
  // CHECK: scf.forall
  // CHECK: scf.forall (%[[ROW:.*]], %[[STATE:.*]]) in (%{{.*}}, 2) shared_outs(%{{.*}} = %{{.*}}, %[[STATES:.*]] = %[[S]])
  // CHECK: %[[IS_ONE:.*]] = arith.cmpi eq
  // CHECK: %[[ONE:.*]] = arith.index_castui %[[IS_ONE]] : i1 to index
  // CHECK: scf.for %{{.*}} = %{{.*}} to %[[ONE]] {{.*}} -> (tensor<?x2x64x96xf32>, tensor<?x1x96xf32>)
  // CHECK: scf.for {{.*}} -> (vector<32xf32>, tensor<2x64xf32>)
  // CHECK: scf.for {{.*}} step %c96{{.*}} -> (tensor<?x2x64x96xf32>, tensor<?x1x96xf32>)
  // CHECK: scf.for {{.*}} step %c2
  // CHECK: vector.transfer_read %{{.*}}[%[[ROW]], %[[STATE]], %{{.*}}, %{{.*}}]
  // CHECK-COUNT-12: vector.fma
  // CHECK: scf.for {{.*}} -> (tensor<?x2x64x96xf32>)
  // CHECK: vector.transfer_write %{{.*}}[%[[ROW]], %[[STATE]], %{{.*}}, %{{.*}}]
  // CHECK: %[[OTHERS:.*]] = arith.xori %[[IS_ONE]]
  // CHECK: arith.index_castui %[[OTHERS]]
  // CHECK: tensor.extract_slice %{{.*}}[%[[ROW]], %[[STATE]], 0, 0] [1, 1, 64, 96]
  // CHECK: scf.for {{.*}} -> (tensor<192x32xf32>)
  // CHECK-COUNT-3: vector.transfer_write
  // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c6{{.*}} -> (tensor<192x32xf32>, tensor<?x1x96xf32>)
  // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c2{{.*}} -> (tensor<12x64xf32>, tensor<3x6xf32>)
  // CHECK: scf.for {{.*}} -> (vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, tensor<12x64xf32>)
  // CHECK-COUNT-4: vector.fma
  // CHECK: scf.yield
  // CHECK-COUNT-4: vector.reduction <add>
  // CHECK-COUNT-2: math.exp {{.*}} : vector<32xf32>
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %c3{{.*}} -> (tensor<192x32xf32>, tensor<?x1x96xf32>)
  // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c2{{.*}} -> (tensor<192x32xf32>, tensor<?x1x96xf32>)
  // CHECK: scf.for {{.*}} -> (vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>)
  // CHECK-COUNT-4: vector.fma
  // CHECK: scf.yield
  // CHECK: arith.subf
  // CHECK: vector.fma
  // CHECK: arith.subf
  // CHECK: scf.for {{.*}} -> (tensor<192x32xf32>)
  // CHECK-COUNT-2: vector.fma
  // CHECK: scf.yield
  // CHECK-COUNT-3: vector.fma
  // CHECK: scf.for {{.*}} -> (tensor<192x32xf32>, tensor<?x1x96xf32>)
  // CHECK: scf.for {{.*}} -> (vector<32xf32>, tensor<12x64xf32>)
  // CHECK: math.exp
  // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c2{{.*}} -> (vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>)
  // CHECK: scf.for {{.*}} -> (tensor<64x96xf32>)
  // CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[%[[ROW]], %[[STATE]], 0, 0] [1, 1, 64, 96]
  // CHECK: scf.forall.in_parallel
  // CHECK: tensor.parallel_insert_slice
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[STATES]][%[[ROW]], %[[STATE]], 0, 0] [1, 1, 64, 96]
  %y, %new = attn.linear_attention gated_delta %q, %q, %v decay(%g : tensor<?x2xf32>) beta(%g : tensor<?x2xf32>) rows(%begin) state(%s : tensor<?x2x64x96xf32>) {attn.schedule = #slice}
    : tensor<?x1x64xf32>, tensor<?x1x64xf32>, tensor<?x2x96xf32>, tensor<?xi32>
  return %y, %new : tensor<?x2x96xf32>, tensor<?x2x64x96xf32>
}

// -----

#slice = #attn_cpu.linear_attention_schedule<chunk = 6, columns = 64, keys = 1, single = 32, tokens = 1>

// Without a state: zeros. Without the delta rule the state is read for queries alone, here two of two panels each. Decays by channel are in the keys and queries that
// the passes over the state read.
// CHECK-LABEL: @gated
func.func @gated(%q: tensor<?x2x7xf32>, %k: tensor<?x1x7xf32>, %v: tensor<?x1x64xf32>, %g: tensor<?x1x7xf32>, %begin: tensor<?xi32>) -> tensor<?x2x64xf32> {
  // CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 1)
  // CHECK: scf.for {{.*}} -> (tensor<7x64xf32>, tensor<?x2x64xf32>)
  // CHECK: scf.for {{.*}} -> (vector<32xf32>, vector<32xf32>, tensor<30x32xf32>)
  // CHECK: math.exp {{.*}} : vector<32xf32>
  // CHECK: scf.for {{.*}} -> (vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>)
  // CHECK-NOT: arith.subf
  // CHECK: scf.for {{.*}} -> (tensor<7x64xf32>)
  // CHECK-COUNT-2: vector.fma
  // CHECK: scf.yield
  %y = attn.linear_attention gated %q, %k, %v decay(%g : tensor<?x1x7xf32>) rows(%begin) {attn.schedule = #slice} : tensor<?x2x7xf32>, tensor<?x1x7xf32>, tensor<?x1x64xf32>, tensor<?xi32>
  return %y : tensor<?x2x64xf32>
}
