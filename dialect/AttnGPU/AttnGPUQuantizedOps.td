//===- AttnGPUQuantizedOps.td - Quantized matmuls of a thread block ----*- tablegen -*-===//
#ifndef RAPT_ATTNGPU_QUANTIZEDOPS_TD
#define RAPT_ATTNGPU_QUANTIZEDOPS_TD

include "dialect/AttnGPU/AttnGPUAttentionOps.td"

def AttnGPU_QuantizeTileOp : AttnGPU_Op<"quantize_tile", [
    DeclareOpInterfaceMethods<AttnGPU_BlockTask>, DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "quantizes a row of activations, by a thread block";
  let description = [{
    Quantized values and scales of one row, as docs/Semantics.md says. A scale is that of `group` elements: 16, 32, 64 or 128, or 0 for all of them. `period`, where it is not 0, says after how many elements groups begin anew; these are padded with zeros to a multiple of 32.

    Words of 4 among 32 quantized values are in the order 0, 2, 4, 6, 1, 3, 5, 7. So a lane of `attn_gpu.quantized_mma` has 8 consecutive ones. Columns of scales beyond the groups are not written.

    ```mlir
    func.func @rows(%x: tensor<1x768xbf16>, %codes: tensor<1x768xi8>, %scales: tensor<1x24xf32>) -> (tensor<1x768xi8>, tensor<1x24xf32>) {
      %0:2 = attn_gpu.quantize_tile %x outs(%codes, %scales : tensor<1x768xi8>, tensor<1x24xf32>) {group = 32 : i64, period = 0 : i64} : tensor<1x768xbf16> -> tensor<1x768xi8>, tensor<1x24xf32>
      return %0#0, %0#1 : tensor<1x768xi8>, tensor<1x24xf32>
    }
    ```
  }];
  let arguments = (ins AttnGPU_Array<AttnGPU_Floats, [2]>:$input, AttnGPU_Array<[I8], [2]>:$codes, AttnGPU_Array<[F32], [2]>:$scales,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$group, ConfinedAttr<I64Attr, [IntNonNegative]>:$period);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $input `outs` `(` $codes `,` $scales `:` type($codes) `,` type($scales) `)` attr-dict `:` type($input) (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return ::mlir::MutableOperandRange(getOperation(), 1, 2); }
    static constexpr int64_t kWarps = 8;
  }];
}

def AttnGPU_QuantizedLinearTileOp : AttnGPU_Op<"quantized_linear_tile", [
    DeclareOpInterfaceMethods<AttnGPU_BlockTask>, DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, RecursiveMemoryEffects]> {
  let summary = "a tile of a quantized matmul with an epilogue, by a thread block";
  let description = [{
    `result[i, j] = epilogue(sum over groups g of scale_w[g, j] scales[i, g] sum over k in g of (code_w[k, j] - zero[g, j]) codes[i, k], i, j)`. Sums over the k of a group are integers without error, the others are f32 in the order of the groups.

    `codes` and `scales` are those of `attn_gpu.quantize_tile`. The weight is the bytes of `columns` / 32 panels of `#attn_gpu.quantized_panels`, [panels, groups, bytes of a group], with elements of the type `quantized`. A step of the loop over k
    has 128 of it, whose bytes are copied as they are. Tiles and epilogue are as those of `attn_gpu.linear_tile`. Of a weight in blocks, groups are blocks, whose numbers docs/Semantics.md defines; 128 of k are units of 32, and behind them the numbers of their blocks.

    ```mlir
    func.func @w4(%codes: tensor<?x768xi8>, %scales: tensor<?x24xf32>, %w: tensor<2x24x576xi8>, %y: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
      %0 = attn_gpu.quantized_linear_tile %codes, %scales, %w outs(%y : tensor<?x64xbf16>) tiles <rows = 64, columns = 64, depth = 128, warps = 4, stages = 3> {quantized = !attn.quantized<u4 group 32 axis 0>}
          : tensor<?x768xi8>, tensor<?x24xf32>, tensor<2x24x576xi8> -> tensor<?x64xbf16>
      return %0 : tensor<?x64xbf16>
    }
    ```
  }];
  let arguments = (ins AttnGPU_Array<[I8], [2]>:$codes, AttnGPU_Array<[F32], [2]>:$scales, AttnGPU_Array<[I8], [3]>:$weight, AttnGPU_Array<AttnGPU_Floats, [2]>:$result,
                       TypeAttr:$quantized, AttnGPU_LinearTilesAttr:$tiles);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$epilogue, AnyRegion:$pairs);
  let assemblyFormat = [{
    $codes `,` $scales `,` $weight `outs` `(` $result `:` type($result) `)` `tiles` $tiles attr-dict `:` type($codes) `,` type($scales) `,` type($weight) (`->` type($results)^)? (`epilogue` $epilogue^)? (`pairs` $pairs^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getResultMutable(); }
    std::pair<int64_t, int64_t> getGridOfWarps();
    static constexpr int64_t kDepth = 128; ///< of a step
    ::rapt::attn::QuantizedType getType() { return ::llvm::cast<::rapt::attn::QuantizedType>(getQuantized()); }
    /// Groups of a step; 0 where all of k is one.
    int64_t getGroupsOfStep() { return getType().getGroup() ? kDepth / getType().getGroup() : 0; }
    /// Bytes of the quantized values of a group, or of the part of one in a step, of a panel.
    int64_t getCodeBytes();
    /// Bytes of a group of a panel, or of the part of one in a step.
    int64_t getGroupBytes();
    /// Bytes of a panel in a step.
    int64_t getPanelBytes();
    /// Where a step of a panel has the numbers of its blocks: behind their units.
    int64_t getNumbersOffset();
    /// Bytes of a block's numbers.
    int64_t getNumberBytes();
    /// Blocks of a step, or 1 where a block is longer.
    int64_t getBlocksOfStep();
    /// Where the parts of a step are in a buffer of shared memory: activations, panels, scales of activations.
    TileType getCodesTile();
    int64_t getPanelsOffset();
    int64_t getScalesOffset();
    int64_t getStageBytes();
  }];
}

def AttnGPU_QuantizedMmaOp : AttnGPU_Op<"quantized_mma", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "a matmul of quantized values of a warp's rows and of a panel";
  let description = [{
    `acc[m, n] += sum_k a[m, k] (code[k, n] - zero[n])` for 32 of k and 16 columns, `column` of the panel and those behind it, by `mma.sync.m16n8k32` of 8 bits. An element of `a` has two quantized values. `codes` points to the first word of the 32
    of k in shared memory, where 16-byte chunk c of row r of words is at c ^ (r & 6) for 8 `bits` and at c ^ 2 (r & 3) for 4: so 32 lanes read 32 banks. Quantized values of 4 bits without `zeros` are multiplied by 16, which saves an
    instruction: `attn_gpu.add_scaled` divides by it.

    ```mlir
    func.func @f(%a: !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>>, %codes: !llvm.ptr<3>, %column: index, %sums: !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>) {
      %0 = attn_gpu.quantized_mma %a, %codes[%column], %sums bits 4 : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_FragmentType:$a, AttnGPU_SharedPointer:$codes, Index:$column, AttnGPU_FragmentType:$acc, Optional<AttnGPU_SharedPointer>:$zeros, AttnGPU_CountAttr<4, 8>:$bits);
  let results = (outs AttnGPU_FragmentType:$result);
  let assemblyFormat = "$a `,` $codes `[` $column `]` (`zeros` $zeros^)? `,` $acc `bits` $bits attr-dict `:` qualified(type($a)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def AttnGPU_BlockMmaOp : AttnGPU_Op<"block_mma", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "a matmul of a warp's rows and a unit of a panel in blocks";
  let description = [{
    `acc[m, n] += sum over groups g of row_scales[row + m][g] (scale[g, n] sum over k in g of (value[k, n] - zero) a[m, k] + offset[g, n] sum over k in g of a[m, k])` for the 32 of k of a unit and 16 columns, `column` of the panel and those behind
    it, by `mma.sync.m16n8k32` of 8 bits. Sums over k are integers. An element of `a` has two quantized values. `unit` points to the unit in shared memory, whose codes have 16-byte chunk c of row r of words at c ^ (r & 6) for 8 bits and at
    c ^ 2 (r & 3) for others, and `numbers` to those of its block; lib/Support/BlockFormat.h says what lies where. Scales of rows are f32, one for each group of the unit, of rows that are `pitch` bytes apart.

    ```mlir
    func.func @f(%a: !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>>, %rows: !llvm.ptr<3>, %i: index, %unit: !llvm.ptr<3>, %numbers: !llvm.ptr<3>, %column: index, %acc: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) {
      %0 = attn_gpu.block_mma %a, %rows[%i] pitch 16, %unit, %numbers[%column], %acc of !attn.quantized<q4_k group 32 axis 0> : !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>> -> !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_FragmentType:$a, AttnGPU_SharedPointer:$row_scales, Index:$row, AttnGPU_CountAttr<4, 1024>:$pitch, AttnGPU_SharedPointer:$unit, AttnGPU_SharedPointer:$numbers, Index:$column,
                       AttnGPU_FragmentType:$acc, TypeAttr:$quantized);
  let results = (outs AttnGPU_FragmentType:$result);
  let assemblyFormat = [{
    $a `,` $row_scales `[` $row `]` `pitch` $pitch `,` $unit `,` $numbers `[` $column `]` `,` $acc `of` $quantized attr-dict `:` qualified(type($a)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def AttnGPU_AddScaledOp : AttnGPU_Op<"add_scaled", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "adds sums of integers times the scales of their rows and columns";
  let description = [{
    `acc[m, n] += sums[m, n] * (row_scales[row + m] * column_scales[column + n] * factor)`. Scales are in shared memory: those of rows are f32, `pitch` bytes apart, and those of columns bf16.

    ```mlir
    func.func @f(%sums: !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>>, %rows: !llvm.ptr<3>, %columns: !llvm.ptr<3>, %i: index, %acc: !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) {
      %0 = attn_gpu.add_scaled %sums, %rows[%i] pitch 16, %columns[%i], %acc factor 0.0625 : !attn_gpu.fragment<16x16xi32, #attn_gpu.mma<acc>> -> !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_FragmentType:$sums, AttnGPU_SharedPointer:$row_scales, Index:$row, AttnGPU_CountAttr<4, 1024>:$pitch, AttnGPU_SharedPointer:$column_scales, Index:$column,
                       AttnGPU_FragmentType:$acc, F32Attr:$factor);
  let results = (outs AttnGPU_FragmentType:$result);
  let assemblyFormat = [{
    $sums `,` $row_scales `[` $row `]` `pitch` $pitch `,` $column_scales `[` $column `]` `,` $acc `factor` $factor attr-dict `:` qualified(type($sums)) `->` qualified(type($result))
  }];
  let hasVerifier = 1;
}

#endif
