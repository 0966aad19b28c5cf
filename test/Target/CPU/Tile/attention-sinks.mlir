// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

#attention = #attn_cpu.attention_schedule<heads = 3, kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 128, queries = [6, 1], rest_rows = 5, split_keys = 128, split_queries = 1, splits = 3, task_keys = 256, task_queries = 12, wide_queries = 6>
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>

// A sink is the state before the first key: running max and running sum, in base-2 units as the scores are. Splits start empty, so that the state with
// which they are combined has the sinks once, one for each head of a group.
// CHECK-LABEL: @splits
func.func @splits(%cache: tensor<?x2x4x2x64x64xbf16>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x3x64xf32>, %begin: tensor<?xi32>,
                  %past: tensor<?xi32>, %scale: f32, %sink: tensor<12xbf16>) -> tensor<?x4x3x64xf32> {
  // CHECK: scf.forall (%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) in (%{{.*}}, 4, 3, %{{.*}})
  // CHECK: %[[NARROW:.*]] = tensor.extract %arg7[%{{.*}}] : tensor<12xbf16>
  // CHECK: %[[SINK:.*]] = arith.extf %[[NARROW]] : bf16 to f32
  // CHECK: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[SINK]], %[[LOG2E]] : f32
  // CHECK: %[[LOWEST:.*]] = arith.constant -3.40282347E+38 : f32
  // CHECK: %[[MAX:.*]] = arith.maxnumf %[[SCALED]], %[[LOWEST]] : f32
  // CHECK: %[[BELOW:.*]] = arith.subf %[[SCALED]], %[[MAX]] : f32
  // CHECK: %[[SUM:.*]] = math.exp2 %[[BELOW]] : f32
  // CHECK: linalg.fill ins(%[[MAX]] : f32)
  // CHECK: linalg.fill ins(%[[SUM]] : f32)
  // CHECK: attn_cpu.attention_state
  // CHECK: scf.forall (%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) in (%{{.*}}, 4, 1, %{{.*}})
  // CHECK-NOT: tensor.extract %arg7
  // CHECK: linalg.fill ins(%[[EMPTY:.*]] : f32) outs(%{{.*}} : tensor<3xf32>)
  // CHECK: attn_cpu.attention_state {{.*}}, heads = 3 : i64}
  // CHECK: scf.forall (%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}) in (%{{.*}}, 4, 1)
  // CHECK: scf.for %[[ROW:[^ ]*]] = %c0{{.*}} to %c3
  // CHECK: %[[HEAD:.*]] = arith.addi %{{.*}}, %[[ROW]] : index
  // CHECK: tensor.extract %arg7[%[[HEAD]]] : tensor<12xbf16>
  // CHECK: %[[SINK_MAX:.*]] = linalg.fill {{.*}} : tensor<1xf32>
  // CHECK: %[[SINK_SUM:.*]] = linalg.fill {{.*}} : tensor<1xf32>
  // CHECK: attn_cpu.attention_merge {{.*}}, %[[SINK_MAX]], %[[SINK_SUM]]
  %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x2x4x2x64x64xbf16>, tensor<?x?xi32> -> tensor<?x?x4x64xbf16>
  %o = attn.attention %q, %keys, %values, %scale q_begin(%begin : tensor<?xi32>) q_offset(%past : tensor<?xi32>) sink(%sink : tensor<12xbf16>) maps [#q, #k, #v, #o] {attn.schedule = #attention}
    : tensor<?x4x3x64xf32>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x4x3x64xf32>
  return %o : tensor<?x4x3x64xf32>
}
