// A step with a score, a mask and a limit, of any number of queries and keys; the mask is a window of 70 keys.
func.func @state(%q: tensor<?x5xf32> {attn.name = "q"}, %k: tensor<?x5x32xf32> {attn.name = "k"}, %v: tensor<2x?x32xf32> {attn.name = "v"},
                 %first: index {attn.name = "first"}, %limit: index {attn.name = "limit"}, %acc: tensor<?x64xf32> {attn.name = "acc"},
                 %max: tensor<?xf32> {attn.name = "max"}, %sum: tensor<?xf32> {attn.name = "sum"})
    -> (tensor<?x64xf32> {attn.name = "new_acc"}, tensor<?xf32> {attn.name = "new_max"}, tensor<?xf32> {attn.name = "new_sum"}) {
  %scale = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %0:3 = attn.attention_state %q, %k, %v, %scale at(%c0, %c0, %first, %c7) limit(%limit) init(%acc, %max, %sum)
    : tensor<?x5xf32>, tensor<?x5x32xf32>, tensor<2x?x32xf32>, tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %distance = arith.subi %i, %j : index
      %word = arith.index_cast %distance : index to i32
      %number = arith.sitofp %word : i32 to f32
      %slope = arith.constant -0.0625 : f32
      %bias = arith.mulf %number, %slope : f32
      %biased = arith.addf %s, %bias : f32
      attn.yield %biased : f32
    }
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %c70 = arith.constant 70 : index
      %start = arith.subi %i, %c70 : index
      %below = arith.cmpi sle, %j, %i : index
      %inside = arith.cmpi sgt, %j, %start : index
      %keep = arith.andi %below, %inside : i1
      attn.yield %keep : i1
    }
  return %0#0, %0#1, %0#2 : tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>
}
