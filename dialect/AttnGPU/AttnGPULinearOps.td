//===- AttnGPULinearOps.td - Matmuls of a thread block -----------------*- tablegen -*-===//
#ifndef RAPT_ATTNGPU_LINEAROPS_TD
#define RAPT_ATTNGPU_LINEAROPS_TD

include "dialect/AttnGPU/AttnGPUAttentionOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def AttnGPU_LinearTileOp : AttnGPU_Op<"linear_tile", [
    DeclareOpInterfaceMethods<AttnGPU_BlockTask, ["getMostBlocks"]>, AttrSizedOperandSegments, DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, RecursiveMemoryEffects]> {
  let summary = "a tile of a matmul with an epilogue, by a thread block";
  let description = [{
    `result[i, j] = epilogue(sum_k input[i, k] * weight[k, j], i, j)`, with sums of f32. The weight is [k, n], or [n, k] with `transposed`.

    All threads of the block execute the op, as its `tiles` say. The epilogue takes the sum and its row and column, which count from those of the tile. It
    is evaluated for rows and columns beyond the result's, too, and may read arrays from outside. Its values in columns j and j + 1 of a row, for even j, are the operands of `pairs`, with the row and j; it gives both elements of the result.

    The sum of an element does not depend on the schedule but for `parts`: terms are added in groups of 16 of k, in their order; the sums of parts are added in the end, in the order of the parts.

    No kernel writes the weight if it is `constant_weight`. A tile that `waits` is in a kernel that waits for the kernel before it (`attn_gpu.wait_for_kernel`) only behind its first copies of the weight.

    With the matmul `wgmma` the warps are warpgroups of 64 rows each, and four warps more copy the operands. `maps(%input_map at [...], %weight_map at [...] if %made)` names tensor maps of the arrays that input and weight are
    in, if `made` says that they have some: TMA copies them then. The coordinates are those of the first element: column, row and what other dims the array has. An array ends where k does, or k is a multiple of `depth`. Of several
    tiles, a thread block copies the operands of one while it stores the one before.

    An input and a weight that are not both bf16, or both f16, are multiplied as f32 (`attn_gpu.multiply`). Terms are then added one by one (`fma`), or in groups of 8 of k.

    ```mlir
    func.func @add(%x: tensor<?x768xbf16>, %w: tensor<768x64xbf16>, %b: tensor<64xbf16>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
      %0 = attn_gpu.linear_tile %x, %w outs(%y : tensor<?x64xbf16>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>
          : tensor<?x768xbf16>, tensor<768x64xbf16> -> tensor<?x64xbf16> epilogue {
      ^bb0(%sum: f32, %row: index, %column: index):
        %bias = tensor.extract %b[%column] : tensor<64xbf16>
        %wide = arith.extf %bias : bf16 to f32
        %1 = arith.addf %sum, %wide : f32
        attn_gpu.yield %1 : f32
      }
      return %0 : tensor<?x64xbf16>
    }
    ```
  }];
  let arguments = (ins AttnGPU_Array<AttnGPU_Floats, [2]>:$input, AttnGPU_Array<AttnGPU_Floats, [2]>:$weight,
                       Optional<AttnGPU_MapPointer>:$inputMap, Variadic<Index>:$inputAt, Optional<AttnGPU_MapPointer>:$weightMap, Variadic<Index>:$weightAt, Optional<I1>:$made,
                       AttnGPU_Array<AttnGPU_Floats, [2]>:$result, UnitAttr:$transposed, AttnGPU_LinearTilesAttr:$tiles, UnitAttr:$constant_weight, UnitAttr:$waits);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$epilogue, AnyRegion:$pairs);
  let assemblyFormat = [{
    $input `,` $weight (`transposed` $transposed^)?
    (`maps` `(` $inputMap^ `at` `[` $inputAt `]` `,` $weightMap `at` `[` $weightAt `]` `if` $made `:` type($inputMap) `,` type($weightMap) `)`)? `outs` `(` $result `:` type($result) `)` `tiles` $tiles attr-dict `:` type($input) `,` type($weight) (`->` type($results)^)? (`epilogue` $epilogue^)? (`pairs` $pairs^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getResultMutable(); }
    /// How the tile is divided among the warps of a part, that down times that across; {0, 0} where it cannot be.
    std::pair<int64_t, int64_t> getGridOfWarps();
    /// Whether its numbers are multiplied as f32.
    bool multipliesFloats();
    bool isOfWarpgroups() { return getTiles().getMatmul() == MatmulKind::wgmma; }
    /// Whether it can wait for the kernel before: its first copies can be of the weight, which no kernel writes.
    bool mayWait() { return getConstantWeight() && !isOfWarpgroups(); }
    /// Where the parts of a step of k are in a buffer of shared memory, and the bytes of such a buffer.
    TileType getInputTile();
    TileType getWeightTile();
    int64_t getStageBytes();
  }];
}

def AttnGPU_ColumnsOp : AttnGPU_Op<"columns", [Pure]> {
  let summary = "columns of accumulators";
  let description = [{
    The fragment's columns from `first` on, a multiple of 8, as a fragment of the same rows and layout. No data moves.

    ```mlir
    func.func @f(%s: !attn_gpu.fragment<64x256xf32, #attn_gpu.wgmma<acc>>) {
      %0 = attn_gpu.columns %s from 48 : !attn_gpu.fragment<64x256xf32, #attn_gpu.wgmma<acc>> -> !attn_gpu.fragment<64x16xf32, #attn_gpu.wgmma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_FragmentType:$fragment, ConfinedAttr<I64Attr, [IntNonNegative]>:$first);
  let results = (outs AttnGPU_FragmentType:$result);
  let assemblyFormat = "$fragment `from` $first attr-dict `:` qualified(type($fragment)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def AttnGPU_MultiplyOp : AttnGPU_Op<"multiply", [InferTypeOpAdaptor]> {
  let summary = "a warp's matmul of f32 from tiles in shared memory";
  let description = [{
    `acc[m, n] += sum_k input[row + m, k] * weight[k, column + n]`, for `depth` of k from `k` on. The weight's tile is [k, n], or [n, k] with `transposed`. The accumulators are one or more, of columns beside each other. bf16 and f16 are widened to f32.

    - `fma`: each term is added by a fused multiply-add, in the order of k.
    - `tf32`: by `mma.sync.m16n8k8`; f32 are rounded to tf32, to the nearest, ties away from zero.
    - `tf32x3`: each f32 is the sum of two tf32, and three of their four matmuls are added, from the smallest on (3xTF32).

    `row`, `column` and `k` are multiples of 8.

    ```mlir
    func.func @f(%x: !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>, %w: !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>, %s: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %row: index, %column: index, %k: index) {
      %0:2 = attn_gpu.multiply fma %x[%row], %w[%column] k %k depth 8 (%s, %s : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>)
          : !attn_gpu.tile<64x32xf32, #attn_gpu.swizzle<128>>, !attn_gpu.tile<32x64xbf16, #attn_gpu.swizzle<128>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_MatmulKind:$kind, AttnGPU_TileType:$input, AttnGPU_TileType:$weight, Index:$row, Index:$column, Index:$k, AttnGPU_CountAttr<8, 64>:$depth,
                       Variadic<AttnGPU_FragmentType>:$acc, UnitAttr:$transposed);
  let results = (outs Variadic<AttnGPU_FragmentType>:$results);
  let assemblyFormat = [{
    $kind $input `[` $row `]` `,` $weight `[` $column `]` (`transposed` $transposed^)? `k` $k `depth` $depth `(` $acc `:` qualified(type($acc)) `)` attr-dict `:` qualified(type($input)) `,` qualified(type($weight))
  }];
  let hasVerifier = 1;
}

def AttnGPU_SumWarpsOp : AttnGPU_Op<"sum_warps"> {
  let summary = "sums of accumulators of several warps";
  let description = [{
    The `threads` threads of the block are `parts` groups of as many threads, which follow each other. The fragments of the nth threads of all groups are added, in the order of the groups; they have columns beside each other. Each group gets some of these columns: the
    first group the first ones, as many as the result has. Groups behind the last column get those of another group. All threads of the block execute the op. They meet in shared memory from byte `scratch` on, which has 4 bytes for each value of each thread, and which
    another op may use behind a barrier.

    ```mlir
    func.func @f(%x: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, %scratch: index) {
      %0 = attn_gpu.sum_warps(%x, %x : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>, !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) parts 4 threads 128 scratch %scratch -> !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins Variadic<AttnGPU_FragmentType>:$values, AttnGPU_CountAttr<2, 32>:$parts, AttnGPU_CountAttr<64, 1024>:$threads, Index:$scratch);
  let results = (outs AttnGPU_FragmentType:$result);
  let assemblyFormat = "`(` $values `:` qualified(type($values)) `)` `parts` $parts `threads` $threads `scratch` $scratch attr-dict `->` qualified(type($result))";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The columns of all values.
    int64_t getColumns();
  }];
}

#endif
