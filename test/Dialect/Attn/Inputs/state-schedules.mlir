// Ways to tile attn.attention_state over (queries, keys), as upstream's transform ops do it.
module attributes {transform.with_named_sequence} {
  // Tiles of 3 queries, for each the keys in blocks of 64 through the state.
  transform.named_sequence @serial(%root: !transform.any_op {transform.readonly}) {
    %state = transform.structured.match ops{["attn.attention_state"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loops:2 = transform.structured.tile_using_for %state tile_sizes [3, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  // Tiles of 3 queries at the same time.
  transform.named_sequence @grid(%root: !transform.any_op {transform.readonly}) {
    %state = transform.structured.match ops{["attn.attention_state"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_forall %state tile_sizes [3, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
  // Parts of 64 keys at the same time, then the merge.
  transform.named_sequence @parts(%root: !transform.any_op {transform.readonly}) {
    %state = transform.structured.match ops{["attn.attention_state"]} in %root : (!transform.any_op) -> !transform.any_op
    %empty:3, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %state reduction_dims = [1] by tile_sizes = [0, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  // Three parts, whatever the number of keys, each of which goes through its keys in blocks of 32.
  transform.named_sequence @threads(%root: !transform.any_op {transform.readonly}) {
    %state = transform.structured.match ops{["attn.attention_state"]} in %root : (!transform.any_op) -> !transform.any_op
    %empty:3, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %state reduction_dims = [1] by num_threads = [0, 3]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    %tile, %serial:2 = transform.structured.tile_using_for %part tile_sizes [4, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
  // One state for each key of a tile, kept over a loop of tiles: the op has one state for a part.
  transform.named_sequence @lanes(%root: !transform.any_op {transform.readonly}) {
    %state = transform.structured.match ops{["attn.attention_state"]} in %root : (!transform.any_op) -> !transform.any_op
    %empty:3, %part, %merge, %loop = transform.structured.tile_reduction_using_for %state reduction_dims = [1] by tile_sizes = [0, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
