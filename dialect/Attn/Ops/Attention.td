//===- Attention.td - Attention and its heads --------------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_ATTENTION_TD
#define RAPT_ATTN_ATTENTION_TD

include "dialect/Attn/AttnDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_SplitHeadsOp : Attn_Op<"split_heads", [Pure]> {
  let summary = "cuts the columns of an activation into heads";
  let description = [{
    The columns are the results' heads one after another: result i takes `heads(i) * head_dim` columns. A view. How
    the columns are cut is for the results' types to say: they are not inferred.

    ```mlir
    func.func @split(%qkv: tensor<?x2304xf32>) -> (tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32>) {
      %q, %k, %v = attn.split_heads %qkv : tensor<?x2304xf32> -> tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32>
      return %q, %k, %v : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$input);
  let results = (outs Variadic<RankedTensorOf<[F32]>>:$heads);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($heads)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_MergeHeadsOp : Attn_Op<"merge_heads", [Pure, InferTypeOpAdaptor]> {
  let summary = "puts heads side by side in the columns of an activation";
  let description = [{
    ```mlir
    func.func @merge(%o: tensor<?x12x64xf32>) -> tensor<?x768xf32> {
      %x = attn.merge_heads %o : tensor<?x12x64xf32> -> tensor<?x768xf32>
      return %x : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$input);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_AttentionOp : Attn_Op<"attention", [
    Pure, RecursiveMemoryEffects, AttrSizedOperandSegments,
    InferTypeOpAdaptorBase<[{
      /// An extent that query, key and value leave dynamic may be a static one of the result.
      static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange types) {
        return ::llvm::succeeded(::mlir::verifyCompatibleShapes(inferred, types));
      }
    }]>]> {
  let summary = "softmax(scale * query . key) . value";
  let description = [{
    `maps` are those of query, key, value, result and the extra operands: projected permutations of
    (b, hkv, g, q, kv, dqk, dv) = (row, key/value head, query head of its group, query, key position, query/key channel,
    value channel). Query head h is `hkv * G + g`. Scores are f32 and natural: `s = scale * sum_dqk query * key`.

    The optional region `score(s, b, h, q, kv, extras...)` maps a score, `mask(b, h, q, kv, extras...)` says which keys
    count; extras are elements of the extra operands at their maps. A masked element takes no part, whatever its score.
    A row with no key gives 0. Indices are absolute. Regions may use scalars from outside, but no tensors: those are
    extra operands.

    - `q_begin` (rows + 1 offsets): queries of all rows are packed in the dim q, and b is not in their map.
    - `q_offset`: absolute position of a row's first query; 0 without it.
    - `kv_begin` (rows + 1 offsets): keys of all rows are packed in the dim kv.
    - `kv_length`: keys of a row. Without it: `kv_begin[b+1] - kv_begin[b]`, or with q_offset `q_offset[b] + queries of b`,
      or the extent of the dim kv.

    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
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
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$query, RankedTensorOf<[AnyFloat]>:$key, RankedTensorOf<[AnyFloat]>:$value, F32:$scale,
                       Optional<1DTensorOf<[I32]>>:$q_begin, Optional<1DTensorOf<[I32]>>:$q_offset,
                       Optional<1DTensorOf<[I32]>>:$kv_begin, Optional<1DTensorOf<[I32]>>:$kv_length,
                       Variadic<RankedTensorOf<[AnyType]>>:$extras, AffineMapArrayAttr:$maps);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $scale
    (`q_begin` `(` $q_begin^ `:` type($q_begin) `)`)? (`q_offset` `(` $q_offset^ `:` type($q_offset) `)`)?
    (`kv_begin` `(` $kv_begin^ `:` type($kv_begin) `)`)? (`kv_length` `(` $kv_length^ `:` type($kv_length) `)`)?
    (`extras` `(` $extras^ `:` type($extras) `)`)? `maps` $maps attr-dict
    `:` type($query) `,` type($key) `,` type($value) `->` type($result)
    custom<NamedRegions>($score, $mask)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The iteration dims in the order of the maps.
    enum Dim { B, HKV, G, Q, KV, DQK, DV, NumDims };
    ::mlir::AffineMap getMap(unsigned i) { return ::llvm::cast<::mlir::AffineMapAttr>(getMaps()[i]).getValue(); }
    /// Position of iteration dim `dim` among the dims of operand i, or none.
    std::optional<unsigned> dimOf(unsigned i, Dim dim);
  }];
}

#endif
