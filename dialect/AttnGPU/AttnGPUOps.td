//===- AttnGPUOps.td - Ops on fragments -------------------------------*- tablegen -*-===//
#ifndef RAPT_ATTNGPU_OPS_TD
#define RAPT_ATTNGPU_OPS_TD

include "dialect/AttnGPU/AttnGPUAttentionOps.td"
include "dialect/AttnGPU/AttnGPULinearAttentionOps.td"
include "dialect/AttnGPU/AttnGPULinearOps.td"
include "dialect/AttnGPU/AttnGPUNormOps.td"
include "dialect/AttnGPU/AttnGPUQuantizedOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def AttnGPU_Values : AnyTypeOf<[AttnGPU_FragmentType, AttnGPU_RowVectorType]>;

def AttnGPU_FillOp : AttnGPU_Op<"fill", [Pure, TypesMatchWith<"value has the type of the result's elements", "result", "value", "::rapt::attn_gpu::scalarOf($_self)">]> {
  let summary = "accumulators, or values of rows, that are all one number";
  let description = [{
    ```mlir
    func.func @zero(%f0: f32) {
      %0 = attn_gpu.fill %f0 : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[F32, I32]>:$value);
  let results = (outs AttnGPU_Values:$result);
  let assemblyFormat = "$value attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

class AttnGPU_GlobalFragmentOp<string mnemonic> : AttnGPU_Op<mnemonic> {
  let hasVerifier = 1;
}

def AttnGPU_LoadFragmentOp : AttnGPU_GlobalFragmentOp<"load_fragment"> {
  let summary = "loads a fragment from global memory";
  let description = [{
    The fragment's element (i, j) is the matrix's at (row + i, column + j), converted to f32 for accumulators. `bounds` are the extents of the matrix, of rows alone or of rows and columns: elements beyond them are zero and not
    read. Without a bound of columns, pairs of columns are read at once: `stride`, `column` and the pointer are then aligned to two elements.

    ```mlir
    func.func @bias(%p: !llvm.ptr<1>, %i: index, %rows: index, %stride: index) {
      %0 = attn_gpu.load_fragment %p[%i, %i] stride %stride bounds(%rows) of bf16 : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_GlobalPointer:$source, Index:$row, Index:$column, Index:$stride, Variadic<Index>:$bounds, TypeAttrOf<AnyFloat>:$element);
  let results = (outs AttnGPU_FragmentType:$fragment);
  let assemblyFormat = [{
    $source `[` $row `,` $column `]` `stride` $stride (`bounds` `(` $bounds^ `)`)? `of` $element attr-dict `:` qualified(type($fragment))
  }];
}

def AttnGPU_StoreFragmentOp : AttnGPU_GlobalFragmentOp<"store_fragment"> {
  let summary = "stores accumulators to global memory";
  let description = [{
    The reverse of `attn_gpu.load_fragment`: elements are rounded to `element`, and those beyond the bounds are not written.

    ```mlir
    func.func @output(%o: !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>, %p: !llvm.ptr<1>, %i: index, %rows: index, %stride: index) {
      attn_gpu.store_fragment %o, %p[%i, %i] stride %stride bounds(%rows) of bf16 : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_FragmentType:$fragment, AttnGPU_GlobalPointer:$dest, Index:$row, Index:$column, Index:$stride, Variadic<Index>:$bounds,
                       TypeAttrOf<AnyFloat>:$element);
  let assemblyFormat = [{
    $fragment `,` $dest `[` $row `,` $column `]` `stride` $stride (`bounds` `(` $bounds^ `)`)? `of` $element attr-dict `:` qualified(type($fragment))
  }];
}

def AttnGPU_StoreRowsOp : AttnGPU_Op<"store_rows", [SingleBlock]> {
  let summary = "stores accumulators to rows anywhere in global memory";
  let description = [{
    The fragment's row i is row `row` + i, whose elements go to `dest` + offset(row + i) on: the region gives the offset in elements. `bounds` are the numbers of rows and columns; what is beyond them is not written. Elements are rounded to
    `element`, and two are written at once, for which rows begin at multiples of two elements and their number of columns is even; with `elements` one at a time. With `fours` neighboring threads exchange bf16 or f16 of two columns, and write four at once: rows
    begin at multiples of four elements then, and their number of columns is one of four. The threads of a warp execute it together.

    ```mlir
    func.func @output(%o: !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>, %p: !llvm.ptr<1>, %i: index, %rows: index, %columns: index, %stride: index) {
      attn_gpu.store_rows %o, %p[%i] bounds(%rows, %columns) of bf16 : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>> {
      ^bb0(%row: index):
        %offset = arith.muli %row, %stride : index
        attn_gpu.yield %offset : index
      }
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_FragmentType:$fragment, AttnGPU_GlobalPointer:$dest, Index:$row, Index:$row_bound, Index:$column_bound,
                       TypeAttrOf<AnyFloat>:$element, UnitAttr:$elements, UnitAttr:$fours);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $fragment `,` $dest `[` $row `]` `bounds` `(` $row_bound `,` $column_bound `)` `of` $element (`elements` $elements^)? (`fours` $fours^)? attr-dict `:` qualified(type($fragment)) $body
  }];
  let hasVerifier = 1;
}

def AttnGPU_MapOp : AttnGPU_Op<"map", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "computes each element, or each row's value, by a region of scalars";
  let description = [{
    The region gets the operands' elements and the row and column of the element, as index; for results that are row vectors, the operands' values of a row and the row. A row vector among operands of a map of fragments gives the value of the
    element's row. Score and mask regions of attention are inlined here.

    With `own_columns` the columns are computed where the map is. Else LLVM may compute them once for all maps of a loop, and keep them in registers.

    With `pairs` the region gets two elements of columns beside each other, the first of which is even, and gives both; the column is the first one's. There is one operand, a fragment of the result's type whose threads hold such pairs.

    ```mlir
    func.func @swap(%s: !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>) {
      %0 = attn_gpu.map pairs (%s : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>) -> !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>> {
      ^bb0(%x: f32, %y: f32, %row: index, %column: index):
        attn_gpu.yield %y, %x : f32, f32
      }
      return
    }
    func.func @causal(%s: !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>, %m: !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>, %low: f32) {
      %0 = attn_gpu.map(%s, %m : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>, !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>) -> !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>> {
      ^bb0(%x: f32, %max: f32, %row: index, %column: index):
        %seen = arith.cmpi sle, %column, %row : index
        %kept = arith.select %seen, %x, %low : f32
        %less = arith.subf %kept, %max : f32
        attn_gpu.yield %less : f32
      }
      return
    }
    ```
  }];
  let arguments = (ins Variadic<AttnGPU_Values>:$operands, UnitAttr:$own_columns, UnitAttr:$pairs);
  let results = (outs Variadic<AttnGPU_Values>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`own_columns` $own_columns^)? (`pairs` $pairs^)? `(` ($operands^ `:` qualified(type($operands)))? `)` `->` qualified(type($results)) $body attr-dict";
  let hasVerifier = 1;
}

def AttnGPU_YieldOp : AttnGPU_Op<"yield", [Pure, Terminator, ParentOneOf<["AttentionTileOp", "CopyRowsOp", "RangeOp", "LinearTileOp", "MapOp", "QuantizedLinearTileOp", "StoreRowsOp"]>]> {
  let summary = "ends a region of attn_gpu";
  let description = [{
    ```mlir
    func.func @twice(%v: !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>) {
      %0 = attn_gpu.map(%v : !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>) -> !attn_gpu.row_vector<16, #attn_gpu.mma<acc>> {
      ^bb0(%x: f32, %row: index):
        %y = arith.addf %x, %x : f32
        attn_gpu.yield %y : f32
      }
      return
    }
    ```
  }];
  let arguments = (ins Variadic<AnyTypeOf<[F32, I1, Index]>>:$values);
  let assemblyFormat = "$values attr-dict `:` qualified(type($values))";
}

def AttnGPU_ReduceRowsOp : AttnGPU_Op<"reduce_rows", [OptionalTypesMatchWith<"init has the result's type", "result", "init", "$_self">]> {
  let summary = "the maximum or the sum of each row";
  let description = [{
    Each thread combines its elements of a row in the order of their columns, then the lanes that share the row combine theirs by butterfly shuffles, and at last `init`. With `partial` there are no shuffles: each lane combines its
    own `init` and elements, and `attn_gpu.reduce_lanes` combines the lanes' values later. The result of `max` is not defined for NaN.

    ```mlir
    func.func @max(%s: !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>, %m: !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>) {
      %0 = attn_gpu.reduce_rows max %s init %m : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>> -> !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_Reduction:$reduction, AttnGPU_FragmentType:$fragment, Optional<AttnGPU_RowVectorType>:$init, UnitAttr:$partial);
  let results = (outs AttnGPU_RowVectorType:$result);
  let assemblyFormat = "$reduction $fragment (`init` $init^)? (`partial` $partial^)? attr-dict `:` qualified(type($fragment)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def AttnGPU_ReduceLanesOp : AttnGPU_Op<"reduce_lanes", [SameOperandsAndResultType]> {
  let summary = "combines the partial values of the lanes that share a row";
  let description = [{
    ```mlir
    func.func @sums(%l: !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>) {
      %0 = attn_gpu.reduce_lanes add %l : !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_Reduction:$reduction, AttnGPU_RowVectorType:$values);
  let results = (outs AttnGPU_RowVectorType:$result);
  let assemblyFormat = "$reduction $values attr-dict `:` qualified(type($result))";
}

def AttnGPU_PackOp : AttnGPU_Op<"pack", [Pure]> {
  let summary = "accumulators as the first operand of the next matmul";
  let description = [{
    Rounds to bf16 or f16. Every thread holds the elements of both layouts already, which the verifier checks: no data moves.

    ```mlir
    func.func @probabilities(%p: !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>) {
      %0 = attn_gpu.pack %p : !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>> -> !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_FragmentType:$fragment);
  let results = (outs AttnGPU_FragmentType:$result);
  let assemblyFormat = "$fragment attr-dict `:` qualified(type($fragment)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def AttnGPU_MmaOp : AttnGPU_Op<"mma", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "a matmul of a warp's fragments";
  let description = [{
    `acc[m, n] += sum_k a[m, k] b[k, n]`, by `mma.sync.m16n8k16`; k is outermost.

    ```mlir
    func.func @scores(%q: !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>, %k: !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<b>>, %s: !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>) {
      %0 = attn_gpu.mma %q, %k, %s : !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>, !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<b>> -> !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_FragmentType:$a, AttnGPU_FragmentType:$b, AttnGPU_FragmentType:$acc);
  let results = (outs AttnGPU_FragmentType:$result);
  let assemblyFormat = "$a `,` $b `,` $acc attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def AttnGPU_WgmmaOp : AttnGPU_Op<"wgmma", [OptionalTypesMatchWith<"acc has the result's type", "result", "acc", "$_self">]> {
  let summary = "starts a matmul of a warpgroup";
  let description = [{
    `acc[m, n] += sum_k a[m, k] b[k, n]`, by `wgmma.mma_async`; without `acc` the sums start from zero. `a` is a tile in shared memory or a fragment in registers. `b` is a tile [k, n], with `transpose` a tile [n, k] (keys). m is
    a multiple of 64, and n one of 8 up to 256.

    The matmul is asynchronous: until `attn_gpu.wgmma_wait` has returned the result, nothing but a further `attn_gpu.wgmma` may use it, and no op may change `a`. `attn_gpu.wgmma_fence` precedes the first matmul after other code has
    computed `a` or `acc`.

    ```mlir
    func.func @scores(%q: !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>, %k: !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>) {
      attn_gpu.wgmma_fence
      %0 = attn_gpu.wgmma %q, %k transpose : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>, !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>> -> !attn_gpu.fragment<64x128xf32, #attn_gpu.wgmma<acc>>
      nvvm.wgmma.commit.group.sync.aligned
      %s = attn_gpu.wgmma_wait 0(%0 : !attn_gpu.fragment<64x128xf32, #attn_gpu.wgmma<acc>>)
      return
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[AttnGPU_FragmentType, AttnGPU_TileType]>:$a, AttnGPU_TileType:$b, Optional<AttnGPU_FragmentType>:$acc, UnitAttr:$transpose);
  let results = (outs AttnGPU_FragmentType:$result);
  let assemblyFormat = [{
    $a `,` $b (`,` $acc^)? (`transpose` $transpose^)? attr-dict `:` qualified(type($a)) `,` qualified(type($b)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def AttnGPU_WgmmaFenceOp : AttnGPU_Op<"wgmma_fence", [InferTypeOpAdaptor]> {
  let summary = "orders the warpgroup's accesses of registers before matmuls that follow";
  let description = [{
    The operands are fragments that a matmul reads next, the first operand or accumulators. They are computed before the fence, and the results are what the matmul takes.

    ```mlir
    func.func @f(%p: !attn_gpu.fragment<64x64xbf16, #attn_gpu.wgmma<a>>, %o: !attn_gpu.fragment<64x128xf32, #attn_gpu.wgmma<acc>>) {
      %0:2 = attn_gpu.wgmma_fence(%p, %o : !attn_gpu.fragment<64x64xbf16, #attn_gpu.wgmma<a>>, !attn_gpu.fragment<64x128xf32, #attn_gpu.wgmma<acc>>)
      return
    }
    ```
  }];
  let arguments = (ins Variadic<AttnGPU_FragmentType>:$fragments);
  let results = (outs Variadic<AttnGPU_FragmentType>:$results);
  let assemblyFormat = "(`(` $fragments^ `:` qualified(type($fragments)) `)`)? attr-dict";
}

def AttnGPU_WgmmaWaitOp : AttnGPU_Op<"wgmma_wait", [InferTypeOpAdaptor]> {
  let summary = "waits until at most so many groups of the warpgroup's matmuls are under way";
  let description = [{
    The operands are accumulators that are then complete; the results are their values. Fragments in registers that complete matmuls have read may be operands, too: they are then free.

    ```mlir
    func.func @f(%s: !attn_gpu.fragment<64x128xf32, #attn_gpu.wgmma<acc>>) {
      %0 = attn_gpu.wgmma_wait 1(%s : !attn_gpu.fragment<64x128xf32, #attn_gpu.wgmma<acc>>)
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_CountAttr<0, 7>:$groups, Variadic<AttnGPU_FragmentType>:$fragments);
  let results = (outs Variadic<AttnGPU_FragmentType>:$results);
  let assemblyFormat = "$groups (`(` $fragments^ `:` qualified(type($fragments)) `)`)? attr-dict";
}

#endif
