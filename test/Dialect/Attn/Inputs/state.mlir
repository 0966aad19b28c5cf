// A state of any number of queries and keys, with a score that has a bias for each of them and a look-up, and a window of 70 keys. The
// first query is at the position that is the length of `positions`, the first key at 7.
attn.dim @queries min 0 max 4096
attn.dim @keys min 0 max 4096
attn.dim @first min 0 max 4096
func.func @state(%q: tensor<?x5xf32> {attn.name = "q", attn.dims = ["queries"]}, %k: tensor<?x5xf32> {attn.name = "k", attn.dims = ["keys"]},
                 %v: tensor<?x11xf32> {attn.name = "v", attn.dims = ["keys"]}, %bias: tensor<?x?xf32> {attn.name = "bias", attn.dims = ["keys", "queries"]},
                 %slopes: tensor<9xf32> {attn.name = "slopes"}, %positions: tensor<?xf32> {attn.name = "positions", attn.dims = ["first"]},
                 %acc: tensor<?x11xf32> {attn.name = "acc", attn.dims = ["queries"]}, %max: tensor<?xf32> {attn.name = "max", attn.dims = ["queries"]},
                 %sum: tensor<?xf32> {attn.name = "sum", attn.dims = ["queries"]})
    -> (tensor<?x11xf32> {attn.name = "new_acc", attn.dims = ["queries"]}, tensor<?xf32> {attn.name = "new_max", attn.dims = ["queries"]},
        tensor<?xf32> {attn.name = "new_sum", attn.dims = ["queries"]}) attributes {attn.entry} {
  %scale = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %first = tensor.dim %positions, %c0 : tensor<?xf32>
  %0:3 = attn.attention_state %q, %k, %v, %scale at(%c0, %c0, %first, %c7) extras(%bias, %slopes : tensor<?x?xf32>, tensor<9xf32>)
    maps [affine_map<(q, kv) -> (kv, q)>, affine_map<(q, kv) -> ()>] init(%acc, %max, %sum)
    : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x11xf32>, tensor<?x11xf32>, tensor<?xf32>, tensor<?xf32>
    score {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %e: f32, %table: tensor<9xf32>):
      %distance = arith.subi %i, %j : index
      %slope = attn.lookup %table[%distance] : tensor<9xf32> -> f32
      %biased = arith.addf %s, %e : f32
      %sloped = arith.addf %biased, %slope : f32
      attn.yield %sloped : f32
    }
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %e: f32, %table: tensor<9xf32>):
      %c70 = arith.constant 70 : index
      %start = arith.subi %i, %c70 : index
      %below = arith.cmpi sle, %j, %i : index
      %inside = arith.cmpi sgt, %j, %start : index
      %keep = arith.andi %below, %inside : i1
      attn.yield %keep : i1
    }
  return %0#0, %0#1, %0#2 : tensor<?x11xf32>, tensor<?xf32>, tensor<?xf32>
}
