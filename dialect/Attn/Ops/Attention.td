//===- Attention.td - Attention and its heads --------------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_ATTENTION_TD
#define RAPT_ATTN_ATTENTION_TD

include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_SplitHeadsOp : Attn_TensorOp<"split_heads", [Attn_HasElementTypes<["movesNumbers", "getEqualTypes"]>, Attn_KeepsElementType, Attn_HasChannels<["getChannelGroup"]>, Pure, SameOperandsAndResultElementType]> {
  let summary = "cuts the columns of an activation into heads";
  let description = [{
    The columns are the results' heads one after another: result i takes `heads(i) * head_dim` columns. A view. Heads of
    rank 4 are in groups, [tokens, groups, heads of a group, channels], group after group. How the columns are cut is for
    the results' types to say: they are not inferred.

    ```mlir
    func.func @split(%qkv: tensor<?x2304xf32>) -> (tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32>) {
      %q, %k, %v = attn.split_heads %qkv : tensor<?x2304xf32> -> tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32>
      return %q, %k, %v : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input);
  let results = (outs Variadic<Attn_RankedTensor>:$heads);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($heads)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_MergeHeadsOp : Attn_TensorOp<"merge_heads", [Attn_HasElementTypes<["movesNumbers"]>, Attn_KeepsElementType, Attn_HasChannels<["getChannelGroup"]>, Pure, InferTypeOpAdaptor]> {
  let summary = "puts heads side by side in the columns of an activation";
  let description = [{
    The inverse of `attn.split_heads`. Heads get into groups, as grouped queries are, by the two:

    ```mlir
    func.func @merge(%o: tensor<?x12x64xf32>) -> tensor<?x768xf32> {
      %x = attn.merge_heads %o : tensor<?x12x64xf32> -> tensor<?x768xf32>
      return %x : tensor<?x768xf32>
    }
    func.func @group(%q: tensor<?x12x64xf32>) -> tensor<?x4x3x64xf32> {
      %x = attn.merge_heads %q : tensor<?x12x64xf32> -> tensor<?x768xf32>
      %y = attn.split_heads %x : tensor<?x768xf32> -> tensor<?x4x3x64xf32>
      return %y : tensor<?x4x3x64xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

/// A type under a name that messages say, with the number of its rule.
class Attn_Named<Type type, string words> : Type<type.predicate, words, type.cppType>;
def Attn_SequenceNumbers : Attn_Named<1DTensorOf<[I32]>, "offsets or lengths of sequences, a 1D tensor of i32 (A25)">;
def Attn_Extra : Attn_Named<RankedTensorOf<!listconcat(Attn_Floats, Attn_Integers)>,
                            "an extra operand, a tensor of f32, bf16, f16, i1, i8, i32 or i64 (A40)">;
def Attn_AdditiveVector : Attn_Named<Attn_Vector, "the vector of additive similarity, a 1D tensor of f32, bf16 or f16 (A6)">;
def Attn_Sinks : Attn_Named<Attn_Vector, "a logit for each query head, a 1D tensor of f32, bf16 or f16 (A41)">;

def Attn_AttentionOp : Attn_TensorOp<"attention", [
    Attn_HasElementTypes<["getElementUse", "getElementSource", "getEqualTypes"]>,
    Attn_ComputesElements, Attn_ScoreAndMaskOpInterface, Attn_HasChannels<["getResultChannelsDim", "getWeightUse", "keepChannels", "isPadded"]>, Pure, Attn_HasCosts, RecursiveMemoryEffects, AttrSizedOperandSegments,
    AttrSizedResultSegments, InferTypeOpAdaptorBase<[{
      /// An extent that query, key and value leave dynamic may be a static one of the result.
      static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange types) {
        return ::llvm::succeeded(::mlir::verifyCompatibleShapes(inferred, types));
      }
    }]>]> {
  let summary = "softmax(scale * similarity(query, key)) . value";
  let description = [{
    `maps` are those of query, key, value, result, the extra operands and a second pair: projected permutations of
    (b, hkv, g, q, kv, dqk, dv) = (row, key/value head, query head of its group, query, key position, query/key channel,
    value channel) (A1). Query head h is `hkv * G + g` (A2). Scores are f32 (A21) and natural (A7): `s = scale * sum_dqk query * key` (A5). Numbers of rules are those of docs/Semantics.md.

    The optional region `score(s, b, h, q, kv, extras...)` maps a score, `mask(b, h, q, kv, extras...)` says which keys
    count (A8); extras are elements of the extra operands at their maps (A29, A40). An extra operand with dims whose map is empty is a
    table (A30): the regions get the tensor and read it with `attn.lookup`. A masked element takes no part, whatever its score (A9); another one does (A10, A18).
    A row with no key gives 0 (A11). Indices are absolute (A14), below 2^31 (A15), and computed with as 64-bit integers (A16). Regions may use scalars from outside, but no tensors: those are
    extra operands (A17). Their ops are scalar arithmetic and `attn.lookup`, without side effects, calls, loops or branches (A44). Causal masks are aligned by `q_offset` (A31); a window of w keys has the query's own among them (A32).

    Keys and values have no groups: g is in neither's map, or has the extent 1 there (A3). A dim b, hkv or g that the result does not have,
    but for the b of packed queries, has the extent 1 (A4).

    With `additive`, a vector v of dqk elements, similarity is v . tanh(query + key) (Bahdanau et al. 2015) in place of query . key (A6). Where
    a target's layout pads channels, v may be left as it was.

    With `second(query, key)`, a second pair, the similarity is query . key + second query . second key, without a concatenation: decoupled rotary
    positions of latent attention (DeepSeek-AI 2024) (A45). The last two maps are the pair's. Its dqk is an extent of its own; b, hkv, g, q and kv are
    those of the op. So one key of rotated channels serves all heads where its map leaves hkv out (A46).

    With `sink`, a vector of one logit for each query head, in the order of `h`, the denominator of the softmax has the term e^sink besides
    (Xiao et al. 2023; gpt-oss) (A41). So probabilities sum to less than 1. A sink of -infinity is none, one of NaN or +infinity makes its head's
    results NaN (A43).

    - `q_begin` (rows + 1 offsets): queries of all rows are packed in the dim q, and b is not in their map (A25, A26). Queries of no row give 0 (A28).
    - `q_offset`: absolute position of a row's first query; 0 without it.
    - `kv_begin` (rows + 1 offsets): keys of all rows are packed in the dim kv.
    - `kv_length`: keys of a row, at most `kv_begin[b+1] - kv_begin[b]` if there is `kv_begin`. Without it: `kv_begin[b+1] - kv_begin[b]`, or with q_offset `q_offset[b] + queries of b`,
      or the extent of the dim kv (A27).

    Two more results are there on request; `attn-request-attention-outputs` asks for them, and one that nothing reads is dropped.

    - With `log_sum_exp`: the natural logarithm of each query's sum of e^score over its keys (A12), and e^sink (A42), in f32;
      -infinity where a query has neither key nor sink. Its dims are those of the result but dv, in this order or in that of a map: `log_sum_exp(affine_map<...>)`.
    - With `weights(%w[%layer] heads [...])`: `%w`, [tokens, layers, heads, keys], with the probabilities that the values are mixed
      with, of `heads` (query heads) in the layer: `new[t, layer, i, j]` is that of key j of the row of t for head `heads[i]`, 0 of keys
      that the row does not have or the mask excludes (A33). Where nothing reads `%w` afterwards it is updated in place. A layer outside of
      the tensor changes nothing, so that a loop over all layers keeps those that are asked for (A34). A row has at most as many keys as the
      last dim, and queries are packed: b is in neither the query's map nor the result's.

    Compiled programs compute scores without a region in base 2 (A19), take the smallest exponentials as 0 (A20), skip blocks of keys that the mask excludes (A23), and
    give the same bits with any number of threads (A24). By bf16 dot products they round the scaled query and the probabilities (A22).

    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
    func.func @look(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %rows: tensor<?xi32>, %layer: index, %w: tensor<?x6x2x512xf32>)
        -> (tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x6x2x512xf32>) {
      %scale = arith.constant 0.125 : f32
      %o, %lse, %new = attn.attention %q, %k, %k, %scale q_begin(%rows : tensor<?xi32>) kv_begin(%rows : tensor<?xi32>)
        weights(%w[%layer] heads [0, 7] : tensor<?x6x2x512xf32>) log_sum_exp maps [#q, #k, #v, #o]
        : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
      return %o, %lse, %new : tensor<?x12x64xf32>, tensor<?x12xf32>, tensor<?x6x2x512xf32>
    }
    func.func @causal(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %v: tensor<?x12x64xf32>) -> tensor<?x12x64xf32> {
      %scale = arith.constant 0.125 : f32
      %o = attn.attention %q, %k, %v, %scale maps [#q, #k, #v, #o]
        : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
        mask {
        ^bb0(%b: index, %h: index, %i: index, %j: index):
          %keep = arith.cmpi sle, %j, %i : index
          attn.yield %keep : i1
        }
      return %o : tensor<?x12x64xf32>
    }
    func.func @sinks(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %v: tensor<?x12x64xf32>, %sinks: tensor<12xbf16>) -> tensor<?x12x64xf32> {
      %scale = arith.constant 0.125 : f32
      %o = attn.attention %q, %k, %v, %scale sink(%sinks : tensor<12xbf16>) maps [#q, #k, #v, #o]
        : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
      return %o : tensor<?x12x64xf32>
    }
    #shared = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, dqk)>
    func.func @decoupled(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %v: tensor<?x12x64xf32>, %rotated: tensor<?x12x32xf32>,
                         %position: tensor<?x32xf32>) -> tensor<?x12x64xf32> {
      %scale = arith.constant 0.1 : f32
      %o = attn.attention %q, %k, %v, %scale second(%rotated, %position : tensor<?x12x32xf32>, tensor<?x32xf32>)
        maps [#q, #k, #v, #o, #q, #shared] : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
      return %o : tensor<?x12x64xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$query, Attn_RankedTensor:$key, Attn_RankedTensor:$value, F32:$scale,
                       Optional<Attn_SequenceNumbers>:$q_begin, Optional<Attn_SequenceNumbers>:$q_offset,
                       Optional<Attn_SequenceNumbers>:$kv_begin, Optional<Attn_SequenceNumbers>:$kv_length,
                       Variadic<Attn_Extra>:$extras, Optional<Attn_AdditiveVector>:$additive,
                       Optional<Attn_Sinks>:$sink, Optional<Attn_RankedTensor>:$second_query, Optional<Attn_RankedTensor>:$second_key,
                       Optional<Attn_RankedTensor>:$weights, Optional<Index>:$layer, OptionalAttr<DenseI64ArrayAttr>:$heads,
                       AffineMapArrayAttr:$maps, OptionalAttr<AffineMapAttr>:$lse_map);
  let results = (outs Attn_RankedTensor:$result, Optional<RankedTensorOf<[F32]>>:$lse, Optional<Attn_RankedTensor>:$new_weights);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $scale
    (`q_begin` `(` $q_begin^ `:` type($q_begin) `)`)? (`q_offset` `(` $q_offset^ `:` type($q_offset) `)`)?
    (`kv_begin` `(` $kv_begin^ `:` type($kv_begin) `)`)? (`kv_length` `(` $kv_length^ `:` type($kv_length) `)`)?
    (`extras` `(` $extras^ `:` type($extras) `)`)? (`additive` `(` $additive^ `:` type($additive) `)`)?
    (`sink` `(` $sink^ `:` type($sink) `)`)? (`second` `(` $second_query^ `,` $second_key `:` type($second_query) `,` type($second_key) `)`)?
    (`weights` `(` $weights^ `[` $layer `]` `heads` $heads `:` type($weights) `)`)? custom<OutputsAndMaps>($lse_map, $maps) attr-dict
    `:` type($query) `,` type($key) `,` type($value) `->` type($result)
    custom<OutputsAndRegions>(type($lse), type($new_weights), $score, $mask,
                              ref(type($result)), ref(type($weights)), ref($maps), ref($lse_map))
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$query, "::mlir::Value":$key, "::mlir::Value":$value,
                                 "::mlir::Value":$scale, "::mlir::Value":$qBegin, "::mlir::Value":$qOffset,
                                 "::mlir::Value":$kvBegin, "::mlir::Value":$kvLength, "::mlir::ValueRange":$extras,
                                 "::mlir::ArrayAttr":$maps),
                            [{ build($_builder, $_state, result, /*lse=*/nullptr, /*new_weights=*/nullptr, query, key, value, scale,
                                     qBegin, qOffset, kvBegin, kvLength, extras, /*additive=*/nullptr, /*sink=*/nullptr,
                                     /*second_query=*/nullptr, /*second_key=*/nullptr, /*weights=*/nullptr, /*layer=*/nullptr, /*heads=*/nullptr, maps,
                                     /*lse_map=*/nullptr); }]>];
  let extraClassDeclaration = [{
    /// The iteration dims in the order of the maps.
    enum Dim { B, HKV, G, Q, KV, DQK, DV, NumDims };
    ::mlir::AffineMap getMap(unsigned i) { return ::llvm::cast<::mlir::AffineMapAttr>(getMaps()[i]).getValue(); }
    /// The operand, or the result, that has map i.
    ::mlir::Value getMapped(unsigned i);
    /// The number of the second query's map, behind those of the extra operands; the second key's is the next.
    unsigned getSecondMap() { return 4 + getExtras().size(); }
    /// Position of iteration dim `dim` among the dims of operand i, or none. In the maps of a second pair `DQK` is the
    /// pair's own dim.
    std::optional<unsigned> dimOf(unsigned i, Dim dim);
    /// Whether extra operand i is a table.
    bool isTable(unsigned i);
    /// Whether all of dim b, hkv or g would have the same result, so that its extent must be 1.
    bool isSingle(Dim dim);
    /// The map of log-sum-exp that is not written: the result's without dv. Null where `maps` do not fit.
    static ::mlir::AffineMapAttr getDefaultLseMap(::mlir::ArrayAttr maps);
    /// The type of log-sum-exp beside a result. Null where the maps do not fit.
    static ::mlir::RankedTensorType getLseType(::mlir::Type result, ::mlir::ArrayAttr maps, ::mlir::AffineMapAttr lseMap);
    /// The dim of the result for each dim of log-sum-exp.
    ::llvm::SmallVector<int64_t> getLseDims();
    /// Position of iteration dim `dim` among the dims of log-sum-exp, or none.
    std::optional<unsigned> dimOfLse(Dim dim);
    /// Replaces the op by one with these results beside the first; `lseMap` is null without log-sum-exp, and `weights`,
    /// `layer` and `heads` are null without weights.
    AttentionOp replaceOutputs(::mlir::RewriterBase &rewriter, ::mlir::AffineMapAttr lseMap, ::mlir::Value weights,
                               ::mlir::Value layer, ::mlir::DenseI64ArrayAttr heads);
  }];
}

def Attn_LookupOp : Attn_Op<"lookup", [Attn_StaysInTiles, Pure]> {
  let summary = "reads a table in a score or mask region";
  let description = [{
    The element of a table (an extra operand with an empty map) at indices that may depend on anything. A float is read as f32, an
    integer as it is (A40). An index beyond an end of its dim reads the element at that end (A30). T5's relative positions:

    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
    #table = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>
    func.func @relative(%q: tensor<?x12x64xf32>, %bias: tensor<12x129xf32>) -> tensor<?x12x64xf32> {
      %scale = arith.constant 1.0 : f32
      %o = attn.attention %q, %q, %q, %scale extras(%bias : tensor<12x129xf32>) maps [#q, #k, #v, #o, #table]
        : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
        score {
        ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<12x129xf32>):
          %middle = arith.constant 64 : index
          %apart = arith.subi %j, %i : index
          %bucket = arith.addi %apart, %middle : index
          %x = attn.lookup %t[%h, %bucket] : tensor<12x129xf32> -> f32
          %y = arith.addf %s, %x : f32
          attn.yield %y : f32
        }
      return %o : tensor<?x12x64xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<!listconcat(Attn_Floats, Attn_Integers)>:$table, Variadic<Index>:$indices);
  let results = (outs AnyTypeOf<!listconcat([F32], Attn_Integers)>:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table) `->` type($result)";
  let hasVerifier = 1;
}

#endif
