// Latent attention of DeepSeek-V2 and V3, 16 heads: 128 channels without a position and 64 with one for scores, 128 for values.
// A row of a token is its latent of 512 channels and then the 64 channels of its key that rotary embeddings have rotated.
!queries = tensor<?x16x192xf32>
!latents = tensor<?x512xf32>
!rotated = tensor<?x64xf32>
!rows = tensor<?x576xf32>
!up = tensor<512x2048xf32>
!upheads = tensor<512x16x128xf32>
!heads = tensor<?x16x128xf32>
!inlatent = tensor<?x16x512xf32>
!absorbed = tensor<?x16x576xf32>
!offsets = tensor<?xi32>
!table = tensor<?x?xi32>
!cache = !attn.kv_cache<[1 x 1 x (576 x f32, 512 x f32)], block = 64>

// Prefill: each head has keys and values of its own, which the latents give; the rotated channels of a key are those of every head.
func.func @expanded(%q: !queries {attn.name = "q"}, %rows: !rows {attn.name = "rows"}, %upkeys: !up {attn.name = "upkeys"}, %upvalues: !up {attn.name = "upvalues"}) -> !heads {
  %first = arith.constant 0 : index
  %tokens = tensor.dim %rows, %first : !rows
  %latent = tensor.extract_slice %rows[0, 0] [%tokens, 512] [1, 1] : !rows to !latents
  %rotated = tensor.extract_slice %rows[0, 512] [%tokens, 64] [1, 1] : !rows to !rotated
  %allkeys = attn.linear %latent, %upkeys : !latents, !up -> tensor<?x2048xf32>
  %allvalues = attn.linear %latent, %upvalues : !latents, !up -> tensor<?x2048xf32>
  %k = attn.split_heads %allkeys : tensor<?x2048xf32> -> !heads
  %v = attn.split_heads %allvalues : tensor<?x2048xf32> -> !heads
  %plain = tensor.extract_slice %q[0, 0, 0] [%tokens, 16, 128] [1, 1, 1] : !queries to !heads
  %positioned = tensor.extract_slice %q[0, 0, 128] [%tokens, 16, 64] [1, 1, 1] : !queries to tensor<?x16x64xf32>
  %scale = arith.constant 0.0721687824 : f32
  %o = attn.attention %plain, %k, %v, %scale second(%positioned, %rotated : tensor<?x16x64xf32>, !rotated)
    maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, d)>,
          affine_map<(b, h, g, i, j, c, d) -> (i, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, c)>]
    : !heads, !heads, !heads -> !heads mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  return %o : !heads
}

// q (W l) = (q W) l: the channels without a position become those of the latent, once for all keys.
func.func private @absorb(%q: !queries, %upkeys: !up) -> !absorbed {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : index
  %tokens = tensor.dim %q, %first : !queries
  %left = tensor.extract_slice %q[0, 0, 0] [%tokens, 16, 128] [1, 1, 1] : !queries to !heads
  %right = tensor.extract_slice %q[0, 0, 128] [%tokens, 16, 64] [1, 1, 1] : !queries to tensor<?x16x64xf32>
  %w = tensor.expand_shape %upkeys [[0], [1, 2]] output_shape [512, 16, 128] : !up into !upheads
  %empty = tensor.empty(%tokens) : !inlatent
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : !inlatent) -> !inlatent
  %product = linalg.generic {indexing_maps = [affine_map<(t, h, l, c) -> (t, h, c)>, affine_map<(t, h, l, c) -> (l, h, c)>, affine_map<(t, h, l, c) -> (t, h, l)>],
                             iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%left, %w : !heads, !upheads) outs(%zeros : !inlatent) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %xy = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %xy : f32
    linalg.yield %next : f32
  } -> !inlatent
  %all = tensor.empty(%tokens) : !absorbed
  %half = tensor.insert_slice %product into %all[0, 0, 0] [%tokens, 16, 512] [1, 1, 1] : !inlatent into !absorbed
  %result = tensor.insert_slice %right into %half[0, 0, 512] [%tokens, 16, 64] [1, 1, 1] : tensor<?x16x64xf32> into !absorbed
  return %result : !absorbed
}

// The mean of latents becomes values, once for all keys.
func.func private @expand(%latents: !inlatent, %upvalues: !up) -> !heads {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : index
  %tokens = tensor.dim %latents, %first : !inlatent
  %w = tensor.expand_shape %upvalues [[0], [1, 2]] output_shape [512, 16, 128] : !up into !upheads
  %empty = tensor.empty(%tokens) : !heads
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : !heads) -> !heads
  %result = linalg.generic {indexing_maps = [affine_map<(t, h, l, d) -> (t, h, l)>, affine_map<(t, h, l, d) -> (l, h, d)>, affine_map<(t, h, l, d) -> (t, h, d)>],
                            iterator_types = ["parallel", "parallel", "reduction", "parallel"]} ins(%latents, %w : !inlatent, !upheads) outs(%zeros : !heads) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %xy = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %xy : f32
    linalg.yield %next : f32
  } -> !heads
  return %result : !heads
}

// Decode: all heads are one group, whose key is the row and whose value is the latent in it. The queries are the last tokens.
func.func @absorbed(%q: !queries {attn.name = "q"}, %rows: !rows {attn.name = "rows"}, %upkeys: !up {attn.name = "upkeys"}, %upvalues: !up {attn.name = "upvalues"}) -> !heads {
  %first = arith.constant 0 : index
  %queries = tensor.dim %q, %first : !queries
  %keys = tensor.dim %rows, %first : !rows
  %past = arith.subi %keys, %queries : index
  %latent = tensor.extract_slice %rows[0, 0] [%keys, 512] [1, 1] : !rows to !latents
  %qa = func.call @absorb(%q, %upkeys) : (!queries, !up) -> !absorbed
  %scale = arith.constant 0.0721687824 : f32
  %o = attn.attention %qa, %rows, %latent, %scale maps [affine_map<(b, h, g, i, j, c, d) -> (i, g, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, c)>, affine_map<(b, h, g, i, j, c, d) -> (j, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, g, d)>]
    : !absorbed, !rows, !latents -> !inlatent mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %position = arith.addi %i, %past : index
    %keep = arith.cmpi sle, %j, %position : index
    attn.yield %keep : i1
  }
  %result = func.call @expand(%o, %upvalues) : (!inlatent, !up) -> !heads
  return %result : !heads
}

// A step of decoding with a paged cache, of one head with keys of 576 channels and values of 512.
func.func @step(%cache: !cache {attn.name = "cache"}, %q: !queries {attn.name = "q"}, %rows: !rows {attn.name = "rows"}, %begin: !offsets {attn.name = "begin"}, %past: !offsets {attn.name = "past"}, %table: !table {attn.name = "table"},
                %upkeys: !up {attn.name = "upkeys"}, %upvalues: !up {attn.name = "upvalues"}) -> (!cache {attn.name = "cache"}, !heads {attn.name = "o"}) {
  %first = arith.constant 0 : index
  %tokens = tensor.dim %rows, %first : !rows
  %key = tensor.expand_shape %rows [[0], [1, 2]] output_shape [%tokens, 1, 576] : !rows into tensor<?x1x576xf32>
  %value = tensor.extract_slice %key[0, 0, 0] [%tokens, 1, 512] [1, 1, 1] : tensor<?x1x576xf32> to tensor<?x1x512xf32>
  %new = attn.kv_append %cache[%first], %key, %value rows(%begin, %past, %table) : !cache, tensor<?x1x576xf32>, tensor<?x1x512xf32>, !offsets, !offsets, !table
  %k, %v = attn.kv_view %new[%first], %table : !cache, !table -> tensor<?x?x1x576xf32>, tensor<?x?x1x512xf32>
  %qa = func.call @absorb(%q, %upkeys) : (!queries, !up) -> !absorbed
  %qg = tensor.expand_shape %qa [[0], [1, 2], [3]] output_shape [%tokens, 1, 16, 576] : !absorbed into tensor<?x1x16x576xf32>
  %scale = arith.constant 0.0721687824 : f32
  %o = attn.attention %qg, %k, %v, %scale q_begin(%begin : !offsets) q_offset(%past : !offsets) maps [affine_map<(b, h, g, i, j, c, d) -> (i, h, g, c)>, affine_map<(b, h, g, i, j, c, d) -> (b, j, h, c)>, affine_map<(b, h, g, i, j, c, d) -> (b, j, h, d)>, affine_map<(b, h, g, i, j, c, d) -> (i, h, g, d)>]
    : tensor<?x1x16x576xf32>, tensor<?x?x1x576xf32>, tensor<?x?x1x512xf32> -> tensor<?x1x16x512xf32> mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %keep = arith.cmpi sle, %j, %i : index
    attn.yield %keep : i1
  }
  %mean = tensor.collapse_shape %o [[0], [1, 2], [3]] : tensor<?x1x16x512xf32> into !inlatent
  %result = func.call @expand(%mean, %upvalues) : (!inlatent, !up) -> !heads
  return %new, %result : !cache, !heads
}
