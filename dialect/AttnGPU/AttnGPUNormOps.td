//===- AttnGPUNormOps.td - Norms of rows by a thread block -------------*- tablegen -*-===//
#ifndef RAPT_ATTNGPU_NORMOPS_TD
#define RAPT_ATTNGPU_NORMOPS_TD

include "dialect/AttnGPU/AttnGPUAttentionOps.td"

def AttnGPU_NormTileOp : AttnGPU_Op<"norm_tile", [
    DeclareOpInterfaceMethods<AttnGPU_BlockTask>, DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "norms of a tile of rows, by a thread block";
  let description = [{
    With `bias`, layer normalization: `(input[i, j] - mean) / sqrt(variance + epsilon) * weight[j] + bias[j]`, where mean and variance are those of the row's first `columns` elements. Without, root mean square normalization: mean and bias are zero.

    `threads` threads of `tiles` execute the op; `lanes` of them, a power of two, have a row, so that there are at most `threads / lanes` rows. A thread holds its elements in registers: 16 bytes of the row, then those that are 16 bytes times `lanes` further. Where
    all arrays are aligned, which the kernel decides, these are loaded and stored at once.

    The sums of a row do not depend on alignment and on other rows: a thread adds up its own elements in their order, then threads combine theirs (`attn_gpu.reduce_threads`).

    ```mlir
    func.func @norm(%x: tensor<?x768xbf16>, %w: tensor<768xf32>, %b: tensor<768xf32>, %y: tensor<?x768xbf16>) -> tensor<?x768xbf16> {
      %0 = attn_gpu.norm_tile %x, %w, %b outs(%y : tensor<?x768xbf16>) tiles <lanes = 32, threads = 128> {columns = 768 : i64, epsilon = 1.0e-5 : f64}
          : tensor<?x768xbf16>, tensor<768xf32>, tensor<768xf32> -> tensor<?x768xbf16>
      return %0 : tensor<?x768xbf16>
    }
    ```
  }];
  let arguments = (ins AttnGPU_Array<AttnGPU_Floats, [2]>:$input, AttnGPU_Array<AttnGPU_Floats, [1]>:$weight, Optional<AttnGPU_Array<AttnGPU_Floats, [1]>>:$bias,
                       AttnGPU_Array<AttnGPU_Floats, [2]>:$result, F64Attr:$epsilon, ConfinedAttr<I64Attr, [IntPositive]>:$columns, AttnGPU_NormTilesAttr:$tiles);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $input `,` $weight (`,` $bias^)? `outs` `(` $result `:` type($result) `)` `tiles` $tiles attr-dict `:` type($input) `,` type($weight) (`,` type($bias)^)? (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getResultMutable(); }
    /// Elements of 16 bytes of the input, and how many such parts of a row a thread has.
    int64_t getVector();
    int64_t getParts();
    /// Elements that a thread can hold, and the most threads of a row.
    static constexpr int64_t kMostElements = 32, kMostLanes = 512;
  }];
}

def AttnGPU_ReduceThreadsOp : AttnGPU_Op<"reduce_threads", [AllTypesMatch<["value", "result"]>]> {
  let summary = "the sum or the maximum of a value of neighboring threads";
  let description = [{
    Combines the values of `threads` threads, a power of two, that begin at a multiple of their number. All threads of the block execute the op, and each gets the result of its own. Lanes of a warp combine theirs by butterfly shuffles; then
    warps write theirs to shared memory, from byte `scratch` on, 4 bytes for each warp of the block, and each thread reads them in their order. Another op may use these bytes behind a barrier.

    ```mlir
    func.func @sum(%x: f32, %scratch: index) -> f32 {
      %0 = attn_gpu.reduce_threads add %x threads 256 scratch %scratch : f32
      return %0 : f32
    }
    ```
  }];
  let arguments = (ins AttnGPU_Reduction:$reduction, F32:$value, AttnGPU_CountAttr<2, 1024>:$threads, Index:$scratch);
  let results = (outs F32:$result);
  let assemblyFormat = "$reduction $value `threads` $threads `scratch` $scratch attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif
