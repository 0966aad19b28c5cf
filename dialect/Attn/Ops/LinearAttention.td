//===- LinearAttention.td - Attention as a recurrence over a matrix ----*- tablegen -*-===//
#ifndef RAPT_ATTN_LINEAR_ATTENTION_TD
#define RAPT_ATTN_LINEAR_ATTENTION_TD

include "dialect/Attn/AttnAttrs.td"
include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_LinearAttentionOp : Attn_TensorOp<"linear_attention", [
    Attn_HasElementTypes<["getElementUse", "getElementSource", "getEqualTypes"]>, Attn_KeepsElementType, Pure, Attn_HasCosts, AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "attention without softmax: a recurrence over a matrix for each head";
  let description = [{
    Every head of a sequence has a state S [key channels, value channels]. Each token, from the sequence's first to its last, changes it and
    then reads it: `output = scale * transpose(S) query`. With the token's decay a = e^decay, of the head or of each key channel (rows of S):

    - `linear`: S' = S + key value^T (Katharopoulos et al. 2020).
    - `gated`: S' = a S + key value^T (RetNet, GLA, and the state-space duality of Mamba-2, with B, C and the scaled input as key, query and value).
    - `delta`: S' = S + beta key (value - transpose(S) key)^T (Schlag et al. 2021, DeltaNet).
    - `gated_delta`: the same with a S in place of S (gated DeltaNet; by channel Kimi delta attention).

    Tensors are [tokens, heads, channels]; `decay` is [tokens, heads] or [tokens, heads, key channels] and `beta` [tokens, heads], of f32. There
    are as many states as heads of `key` or of `value`, whichever are more, and as many outputs as states or heads of `query`. The fewer ones are shared: with the
    pairing `neighbors` by heads beside each other (state s has key head s / (states / key heads)), with `remainder` by those with equal remainder (key head s mod key heads).

    Rows of tokens are those between the offsets `rows`; outputs of tokens of no row are 0. `state` is [slots, states, key channels, value channels]
    in f32, or with `layer` [slots, layers, states, ...], of which that layer's are read and written. Row r begins with the state in slot `from[r]` and leaves its last one in slot
    `to[r]`, where the second result has it; other slots are as before. No slot is written twice, and none that is written is another row's first one. Without `slots` row r has slot r. Without a state, rows begin with
    zeros and leave none. Where nothing reads `state` afterwards it is updated in place.

    ```mlir
    func.func @mix(%q: tensor<?x16x128xf32>, %k: tensor<?x16x128xf32>, %v: tensor<?x32x128xf32>, %decay: tensor<?x32xf32>, %beta: tensor<?x32xf32>,
                   %row_begin: tensor<?xi32>, %state: tensor<?x32x128x128xf32>) -> (tensor<?x32x128xf32>, tensor<?x32x128x128xf32>) {
      %y, %new = attn.linear_attention gated_delta %q, %k, %v decay(%decay : tensor<?x32xf32>) beta(%beta : tensor<?x32xf32>)
        rows(%row_begin) state(%state : tensor<?x32x128x128xf32>) scale 0.08838834764831845
        : tensor<?x16x128xf32>, tensor<?x16x128xf32>, tensor<?x32x128xf32>, tensor<?xi32>
      return %y, %new : tensor<?x32x128xf32>, tensor<?x32x128x128xf32>
    }
    ```
  }];
  let arguments = (ins Attn_LinearAttentionAttr:$kind, Attn_RankedTensor:$query, Attn_RankedTensor:$key, Attn_RankedTensor:$value,
                       Optional<RankedTensorOf<[F32]>>:$decay, Optional<RankedTensorOf<[F32]>>:$beta, 1DTensorOf<[I32]>:$row_begin,
                       Optional<RankedTensorOf<[F32]>>:$state, Optional<Index>:$layer,
                       Optional<1DTensorOf<[I32]>>:$from, Optional<1DTensorOf<[I32]>>:$to,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale, DefaultValuedAttr<Attn_HeadPairingAttr, "HeadPairing::neighbors">:$pairing);
  let results = (outs Attn_RankedTensor:$output, Optional<RankedTensorOf<[F32]>>:$new_state);
  let assemblyFormat = [{
    `` $kind $query `,` $key `,` $value (`decay` `(` $decay^ `:` type($decay) `)`)? (`beta` `(` $beta^ `:` type($beta) `)`)?
    `rows` `(` $row_begin `)` (`state` `(` $state^ `:` type($state) `)`)? (`layer` `(` $layer^ `)`)?
    (`slots` `(` $from^ `:` type($from) `,` $to `:` type($to) `)`)? (`scale` $scale^)? (`pairing` `` $pairing^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `,` type($row_begin)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static bool hasDecay(LinearAttentionKind kind) { return kind == LinearAttentionKind::gated || kind == LinearAttentionKind::gated_delta; }
    static bool hasBeta(LinearAttentionKind kind) { return kind == LinearAttentionKind::delta || kind == LinearAttentionKind::gated_delta; }
    bool isDelta() { return hasBeta(getKind()); }
    /// Whether each key channel has a decay of its own.
    bool decaysByChannel() { return getDecay() && getDecay().getType().getRank() == 3; }
    int64_t getKeyChannels() { return getKey().getType().getDimSize(2); }
    int64_t getValueChannels() { return getValue().getType().getDimSize(2); }
    /// Heads of states and of outputs.
    int64_t getStates() { return std::max(getKey().getType().getDimSize(1), getValue().getType().getDimSize(1)); }
    int64_t getOutputs() { return getOutput().getType().getDimSize(1); }
    /// The head of `shared` heads that head `head` of `all` has.
    int64_t getPaired(int64_t head, int64_t all, int64_t shared) {
      return getPairing() == HeadPairing::neighbors ? head / (all / shared) : head % shared;
    }
  }];
}

#endif
