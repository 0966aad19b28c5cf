// RUN: rapt-opt %s --attn-cpu-schedule --split-input-file | FileCheck %s
// RUN: rapt-opt %s --attn-cpu-schedule --split-input-file | sed 's/, rows = 8>/, rows = 4>/' > %t && rapt-opt %t --attn-cpu-tile --split-input-file | FileCheck --check-prefix=EDITED %s

// Sequences of a tile share one read of the weight per time step, which the costs count: the schedule says how many they are.
// CHECK: counts = [{kind = "pairs", name = "count0", queries = "begin"}, {kind = "steps", name = "count1", queries = "begin", rows = 8 : i64}]
// CHECK-SAME: ops = [{op = "recurrence", weights = {{\[\[}}8192, "count1"]]}, {op = "recurrence", weights = {{\[\[}}8192, "count1"]]}, {op = "attention", weights = {{\[\[}}3, "count0"]]}]
// In the text of a stage the schedule may be another.
// EDITED: {kind = "steps", name = "count1", queries = "begin", rows = 4 : i64}
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @two(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>, %begin: tensor<?xi32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) attributes {
      attn.costs = {counts = [{kind = "pairs", name = "count0", queries = "begin"}, {kind = "steps", name = "count1", queries = "begin", rows = 1 : i64}],
                    ops = [{op = "recurrence", weights = [[8192, "count1"]]}, {op = "recurrence", weights = [[8192, "count1"]]}, {op = "attention", weights = [[3, "count0"]]}]}} {
    %y, %h = attn.recurrence rnn_tanh %x, %w rows(%begin) {attn.op = 0 : i64, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, tensor<?xi32>
    %z, %i = attn.recurrence rnn_tanh %x, %w rows(%begin) {attn.op = 1 : i64, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, tensor<?xi32>
    return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
  }
}

// -----

// A recurrence that no schedule takes shares nothing: it has a count of its own.
// CHECK: counts = [{kind = "steps", name = "count0", queries = "begin", rows = 8 : i64}, {kind = "steps", name = "count1", queries = "begin", rows = 1 : i64}]
// CHECK-SAME: ops = [{op = "recurrence", weights = {{\[\[}}8192, "count0"]]}, {op = "recurrence", weights = {{\[\[}}1600, "count1"]]}]
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @neutral(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>, %u: tensor<?x20xf32>, %v: tensor<20x20xf32>, %begin: tensor<?xi32>) -> (tensor<?x64xf32>, tensor<?x20xf32>) attributes {
      attn.costs = {counts = [{kind = "steps", name = "count0", queries = "begin", rows = 1 : i64}],
                    ops = [{op = "recurrence", weights = [[8192, "count0"]]}, {op = "recurrence", weights = [[1600, "count0"]]}]}} {
    %y, %h = attn.recurrence rnn_tanh %x, %w rows(%begin) {attn.op = 0 : i64, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, tensor<?xi32>
    %z, %i = attn.recurrence rnn_tanh %u, %v rows(%begin) {attn.op = 1 : i64} : tensor<?x20xf32>, tensor<20x20xf32>, tensor<?xi32>
    return %y, %z : tensor<?x64xf32>, tensor<?x20xf32>
  }
}

// -----

// The weight of a kernel is an array of the caller, whose bytes count with the activations. Counts without a name, as text may have them, serve nobody; a fresh
// count takes a name that no other has.
// CHECK: counts = [{kind = "steps", name = "count0", queries = "begin", rows = 8 : i64}, {kind = "steps", queries = "begin", rows = 1 : i64}, {kind = "steps", name = "count3", queries = "end", rows = 2 : i64}, {kind = "steps", name = "count4", queries = "begin", rows = 1 : i64}]
// CHECK-SAME: ops = [{activations = {{\[\[}}8192, "count0"]], op = "recurrence"}, {activations = {{\[\[}}1600, "count4"]], op = "recurrence"}]
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @kernel(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>, %u: tensor<?x20xf32>, %v: tensor<20x20xf32>, %begin: tensor<?xi32>) -> (tensor<?x64xf32>, tensor<?x20xf32>) attributes {
      attn.costs = {counts = [{kind = "steps", name = "count0", queries = "begin", rows = 1 : i64}, {kind = "steps", queries = "begin", rows = 1 : i64},
                              {kind = "steps", name = "count3", queries = "end", rows = 2 : i64}],
                    ops = [{activations = [[8192, "count0"]], op = "recurrence"}, {activations = [[1600, "count0"]], op = "recurrence"}]}} {
    %y, %h = attn.recurrence rnn_tanh %x, %w rows(%begin) {attn.op = 0 : i64, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, tensor<?xi32>
    %z, %i = attn.recurrence rnn_tanh %u, %v rows(%begin) {attn.op = 1 : i64} : tensor<?x20xf32>, tensor<20x20xf32>, tensor<?xi32>
    return %y, %z : tensor<?x64xf32>, tensor<?x20xf32>
  }
}
