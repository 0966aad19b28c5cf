// RUN: rapt-opt %s --attn-add-token-entries=most=8 --split-input-file | FileCheck %s

// A step with logits gets an entry for the most likely token and one for several.
// CHECK-LABEL: func.func @step(
// CHECK-LABEL: func.func @best_token(
// CHECK-SAME: %[[LOGITS:.*]]: tensor<?x5000xf32> {attn.dims = ["wanted"], attn.name = "logits"}
// CHECK-SAME: %{{.*}}: tensor<?xi32> {attn.dims = ["wanted"], attn.name = "among"}
// CHECK-SAME: -> (tensor<?x1xi32> {attn.dims = ["wanted"], attn.name = "top_ids"}, tensor<?x1xf32> {attn.dims = ["wanted"], attn.name = "top_logits"})
// CHECK-SAME: attributes {attn.entry}
// The winners of 157 groups of 32 tokens compete in five groups, and those in one. A point reads all tokens of its group
// before it compares them, so that no read waits for another one.
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} outs(%{{.*}}, %{{.*}} : tensor<?x157xi32>, tensor<?x157xf32>)
// CHECK-NOT: arith.cmpf
// CHECK-COUNT-32: tensor.extract %[[LOGITS]]
// NaN and infinity win.
// CHECK: arith.cmpf uge
// CHECK: outs(%{{.*}}, %{{.*}} : tensor<?x5xi32>, tensor<?x5xf32>)
// CHECK: outs(%{{.*}}, %{{.*}} : tensor<?x1xi32>, tensor<?x1xf32>)
// CHECK-LABEL: func.func @top_tokens(
// CHECK-SAME: -> (tensor<?x8xi32> {{.*}}, tensor<?x8xf32>
// The winners of 157 groups are ranked, by counting in five parts which are before each of them.
// CHECK: outs(%{{.*}}, %{{.*}} : tensor<?x157xi32>, tensor<?x157xf32>)
// CHECK: outs(%{{.*}} : tensor<?x5x157xi32>)
// CHECK: outs(%{{.*}} : tensor<?x157xi32>)
// CHECK: outs(%{{.*}} : tensor<?x5x8xi32>)
// CHECK: outs(%{{.*}} : tensor<?x8xi32>)
// The tokens of the eight first groups are ranked.
// CHECK: outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x256xi32>, tensor<?x256xi32>, tensor<?x256xf32>)
// CHECK: outs(%{{.*}} : tensor<?x8x256xi32>)
// CHECK: outs(%{{.*}} : tensor<?x256xi32>)
// CHECK: outs(%{{.*}} : tensor<?x8x8xi32>)
// CHECK: outs(%{{.*}}, %{{.*}} : tensor<?x8xi32>, tensor<?x8xf32>)
attn.dim @wanted min 0 max 64
func.func @step(%x: tensor<?x5000xf32> {attn.name = "x", attn.dims = ["wanted"]}) -> (tensor<?x5000xf32> {attn.name = "logits", attn.dims = ["wanted"]}) attributes {attn.entry} {
  return %x : tensor<?x5000xf32>
}

// -----

// A vocabulary of fewer tokens than are asked for.
// CHECK-LABEL: func.func @top_tokens(
// CHECK-SAME: -> (tensor<?x5xi32> {{.*}}, tensor<?x5xf32>
attn.dim @wanted min 0 max 64
func.func @step(%x: tensor<?x5xf32> {attn.name = "x", attn.dims = ["wanted"]}) -> (tensor<?x5xf32> {attn.name = "logits", attn.dims = ["wanted"]}) attributes {attn.entry} {
  return %x : tensor<?x5xf32>
}

// -----

// Without logits of f32, of a result of this name, there is nothing to choose by.
// CHECK-LABEL: func.func @step(
// CHECK-NOT: func.func
attn.dim @wanted min 0 max 64
func.func @step(%x: tensor<?x5xf32> {attn.name = "x", attn.dims = ["wanted"]}) -> (tensor<?x5xf32> {attn.name = "y", attn.dims = ["wanted"]}) attributes {attn.entry} {
  return %x : tensor<?x5xf32>
}

// -----

// CHECK-LABEL: func.func @step(
// CHECK-NOT: func.func
attn.dim @wanted min 0 max 64
func.func @step(%x: tensor<?x5xbf16> {attn.name = "x", attn.dims = ["wanted"]}) -> (tensor<?x5xbf16> {attn.name = "logits", attn.dims = ["wanted"]}) attributes {attn.entry} {
  return %x : tensor<?x5xbf16>
}

// -----

// Entries that are there already stay as they are.
// CHECK-LABEL: func.func @step(
// CHECK-LABEL: func.func @best_token(
// CHECK-NOT: func.func @top_tokens
attn.dim @wanted min 0 max 64
func.func @step(%x: tensor<?x5xf32> {attn.name = "x", attn.dims = ["wanted"]}) -> (tensor<?x5xf32> {attn.name = "logits", attn.dims = ["wanted"]}) attributes {attn.entry} {
  return %x : tensor<?x5xf32>
}
func.func @best_token(%x: tensor<?x5xf32> {attn.name = "x", attn.dims = ["wanted"]}) -> (tensor<?x5xf32> {attn.name = "y", attn.dims = ["wanted"]}) attributes {attn.entry} {
  return %x : tensor<?x5xf32>
}
