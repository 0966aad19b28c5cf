//===- AttnGPULinearAttentionOps.td - Linear attention of a thread block -*- tablegen -*-===//
#ifndef RAPT_ATTNGPU_LINEARATTENTIONOPS_TD
#define RAPT_ATTNGPU_LINEARATTENTIONOPS_TD

include "dialect/AttnGPU/AttnGPUAttentionOps.td"

def AttnGPU_LinearAttentionTileOp : AttnGPU_Op<"linear_attention_tile", [
    DeclareOpInterfaceMethods<AttnGPU_BlockTask>, AttrSizedOperandSegments, DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "linear attention of value channels of one state, by a thread block";
  let description = [{
    `attn.linear_attention` of a sequence's tokens and one state: query [tokens, outputs, key channels], key [tokens, 1, key channels], value [tokens, 1, value channels], decay [tokens, 1] or [tokens, 1, key channels], beta [tokens, 1],
    and result [tokens, outputs, value channels]. With a beta it is the delta rule.

    The state begins as the matrix of `first`, or of `states` where there is none, whose first element is at the indices `from`; without both it begins as zeros. It is left in `states`, with the first element at `to`.

    In the recurrent form a thread holds some key channels of a value channel of the state in registers, and threads add up their sums by butterfly shuffles. Tokens are staged in shared memory.

    In the chunked form (Yang et al. 2024, gated DeltaNet), with G for the sums of the decays of a chunk's tokens, S for the state before it, and i, j for its tokens:

        A[i, j]  = beta[i] (k[i] . k[j]) e^(G[i] - G[j])                  for j < i
        N[i]     = beta[i] (v[i] - e^G[i] S^T k[i]) - sum_j A[i, j] N[j]   else v[i] without the delta rule
        o[i]     = scale (e^G[i] S^T q[i] + sum_j (k[j] . q[i]) e^(G[i] - G[j]) N[j])   for j <= i
        S       := e^G[last] S + sum_j e^(G[last] - G[j]) k[j] N[j]^T

    All sums are matmuls (`attn_gpu.multiply`) but for those within 16 tokens of N, which a thread computes by forward substitution for each value channel. A warp has 16 tokens. e^(-G) alone is never computed: exponents are differences that no decay above 0 makes
    positive. G is the sum of whole numbers, which is exact, and of rests of at most a half. Each chunk takes the form that its number of tokens says, so that a sequence in pieces of whole chunks has the same bits.

    ```mlir
    func.func @gated_delta(%q: tensor<?x1x128xbf16>, %k: tensor<?x1x128xbf16>, %v: tensor<?x1x32xbf16>, %g: tensor<?x1xf32>, %b: tensor<?x1xf32>, %o: tensor<?x1x32xbf16>, %s: tensor<?x32x128x128xf32>, %slot: index, %head: index)
        -> (tensor<?x1x32xbf16>, tensor<?x32x128x128xf32>) {
      %zero = arith.constant 0 : index
      %0:2 = attn_gpu.linear_attention_tile %q, %k, %v decay(%g : tensor<?x1xf32>) beta(%b : tensor<?x1xf32>) from[%slot, %head, %zero, %zero] to[%slot, %head, %zero, %zero]
          outs(%o : tensor<?x1x32xbf16>) states(%s : tensor<?x32x128x128xf32>) tiles <columns = 32, warps = 4, chunk = 64, least = 32, matmul = tf32> {scale = 1.0 : f64}
          : tensor<?x1x128xbf16>, tensor<?x1x128xbf16>, tensor<?x1x32xbf16> -> tensor<?x1x32xbf16>, tensor<?x32x128x128xf32>
      return %0#0, %0#1 : tensor<?x1x32xbf16>, tensor<?x32x128x128xf32>
    }
    ```
  }];
  let arguments = (ins AttnGPU_Array<AttnGPU_Floats, [3]>:$query, AttnGPU_Array<AttnGPU_Floats, [3]>:$key, AttnGPU_Array<AttnGPU_Floats, [3]>:$value,
                       Optional<AttnGPU_Array<[F32], [2, 3]>>:$decay, Optional<AttnGPU_Array<[F32], [2]>>:$beta, Optional<AttnGPU_Array<[F32], [4, 5]>>:$first,
                       Variadic<Index>:$from, Variadic<Index>:$to, AttnGPU_Array<AttnGPU_Floats, [3]>:$result, Optional<AttnGPU_Array<[F32], [4, 5]>>:$states,
                       F64Attr:$scale, AttnGPU_LinearAttentionTilesAttr:$tiles);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`decay` `(` $decay^ `:` type($decay) `)`)? (`beta` `(` $beta^ `:` type($beta) `)`)? (`first` `(` $first^ `:` type($first) `)`)?
    (`from` `[` $from^ `]`)? (`to` `[` $to^ `]`)? `outs` `(` $result `:` type($result) `)` (`states` `(` $states^ `:` type($states) `)`)? `tiles` $tiles attr-dict
    `:` type($query) `,` type($key) `,` type($value) (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      const unsigned count = getStates() ? 2 : 1;
      return ::mlir::MutableOperandRange(*this, getNumOperands() - count, count);
    }
    static constexpr int64_t kMostKeys = 256, kMostOutputs = 32;
    int64_t getKeyChannels();
    /// Outputs that read the state.
    int64_t getOutputs();
    /// The key channels that threads hold, some of which may be beyond those that there are: they are zero.
    int64_t getHeldChannels();
    /// The tokens that are staged at once in the recurrent form, and the numbers of each: key, queries, decays by
    /// channel, and behind them value, decay and beta.
    int64_t getStagedTokens();
    int64_t getStagedRows();
    /// Tiles in shared memory of the chunked form: the state, transposed; the chunk's queries and keys; what its tokens add to the
    /// value channels, transposed; a number for each two of them.
    TileType getStateTile();
    TileType getQueryTile();
    TileType getKeyTile();
    TileType getChangeTile();
    TileType getPairTile();
    /// Numbers of each token of a chunk, behind the tiles.
    static constexpr int64_t kTokenNumbers = 7;
  }];
}

#endif
