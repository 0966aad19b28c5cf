//===- Recurrence.td - Recurrent cells over rows of tokens ---------------*- tablegen -*-===//
#ifndef RAPT_ATTN_RECURRENCE_TD
#define RAPT_ATTN_RECURRENCE_TD

include "dialect/Attn/AttnAttrInterfaces.td"
include "dialect/Attn/AttnAttrs.td"
include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_RecurrenceOp : Attn_TensorOp<"recurrence", [Attn_HasElementTypes<["getElementUse", "getEqualTypes"]>, Attn_KeepsElementType, Attn_HasChannels<["getChannelGroup", "getWeightUse"]>, Pure, Attn_HasCosts, AttrSizedOperandSegments, InferTypeOpAdaptor]> {
  let summary = "a recurrent layer: one cell over the tokens of each row";
  let description = [{
    Every row's state goes through the cell once per token, from the row's first token to its last, or with `reverse` from its last
    to its first. `gates` are the parts of the pre-activations that come from the layer's input, for all tokens at once
    (one `attn.linear` outside); with p = state W + bias, sigma the sigmoid, and parts of h columns in this order:

    - `rnn_tanh`, `rnn_relu`: h' = tanh(gates + p), relu(gates + p).
    - `gru` (r, z, n): r = sigma(gates_r + p_r), z = sigma(gates_z + p_z), n = tanh(gates_n + r p_n), h' = (1 - z) n + z h.
    - `lstm` (i, f, g, o): c' = sigma(f) c + sigma(i) tanh(g), h' = sigma(o) tanh(c'), each of gates + p.

    The weight is [h, parts h], or lies in a target's `layout`, whose rows beyond the weight's count as zeros. `init` is h of each row, for an lstm then c; zeros without it. Results are h' at each
    token, and the state after each row's last step: of a row without tokens, the initial one.

    ```mlir
    func.func @encode(%gates: tensor<?x2048xf32>, %w: tensor<512x2048xf32>, %row_begin: tensor<?xi32>, %h0: tensor<?x512xf32>,
                      %c0: tensor<?x512xf32>) -> (tensor<?x512xf32>, tensor<?x512xf32>) {
      %y, %last:2 = attn.recurrence lstm %gates, %w rows(%row_begin) init(%h0, %c0)
        : tensor<?x2048xf32>, tensor<512x2048xf32>, tensor<?xi32>, tensor<?x512xf32>, tensor<?x512xf32>
      return %y, %last#0 : tensor<?x512xf32>, tensor<?x512xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RecurrenceAttr:$kind, Attn_Matrix:$gates, Attn_RankedTensor:$weight,
                       Optional<Attn_Vector>:$bias, 1DTensorOf<[I32]>:$row_begin, Variadic<Attn_Matrix>:$initial,
                       UnitAttr:$reverse, OptionalAttr<Attn_WeightLayoutInterface>:$layout);
  let results = (outs Attn_Matrix:$output, Variadic<Attn_Matrix>:$states);
  let assemblyFormat = [{
    `` $kind $gates `,` $weight (`bias` `(` $bias^ `:` type($bias) `)`)? `rows` `(` $row_begin `)` (`init` `(` $initial^ `)`)?
    (`reverse` $reverse^)? attr-dict `:` type($gates) `,` type($weight) `,` type($row_begin) (`,` type($initial)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Columns of the state.
    int64_t getHidden() { return getOutput().getType().getDimSize(1); }
    /// Parts of the pre-activations: 1, for a gru 3, for an lstm 4.
    int64_t getParts() { return partsOf(getKind()); }
    static int64_t partsOf(RecurrenceKind kind) {
      return kind == RecurrenceKind::lstm ? 4 : kind == RecurrenceKind::gru ? 3 : 1;
    }
    /// Tensors of the state: h, for an lstm c too.
    static int64_t statesOf(RecurrenceKind kind) { return kind == RecurrenceKind::lstm ? 2 : 1; }
  }];
}

def Attn_UpdateRowsOp : Attn_TensorOp<"update_rows", [Attn_HasElementTypes<["getElementUse", "getElementSource", "getEqualTypes"]>, Attn_HasChannels<>, Pure, Attn_HasCosts, AllTypesMatch<["state", "result"]>]> {
  let summary = "writes rows of a state";
  let description = [{
    `result[rows[i], :] = values[i, :]`, other rows as in `state`: the inverse of `attn.select_rows`. No row is written twice. With a
    layer, state is [slots, layers, columns] and rows of that layer are written. Where nothing reads `state` afterwards it is
    updated in place: an entry's state is an argument and a result of one name.

    ```mlir
    func.func @keep(%state: tensor<?x2x512xf32>, %layer: index, %h: tensor<?x512xf32>, %slots: tensor<?xi32>) -> tensor<?x2x512xf32> {
      %new = attn.update_rows %state[%layer], %h, %slots : tensor<?x2x512xf32>, tensor<?x512xf32>, tensor<?xi32>
      return %new : tensor<?x2x512xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$state, Optional<Index>:$layer, Attn_Matrix:$values, 1DTensorOf<[I32]>:$rows);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = [{
    $state (`[` $layer^ `]`)? `,` $values `,` $rows attr-dict `:` type($state) `,` type($values) `,` type($rows)
  }];
  let hasVerifier = 1;
}

def Attn_ConcatOp : Attn_TensorOp<"concat", [Attn_HasElementTypes<["movesNumbers", "getEqualTypes"]>, Attn_KeepsElementType, Attn_HasChannels<["keepChannels", "takesLeadingChannels"]>, Pure, Attn_MovesAll, InferTypeOpAdaptor]> {
  let summary = "puts activations side by side";
  let description = [{
    The columns of all inputs one after another, as of the two directions of a bidirectional layer. `columns`, set by a target's layout,
    says how many leading columns of each input count: the rest are padding. The result has `width` columns, where that is given, of which
    those beyond the sum are padding.

    ```mlir
    func.func @both(%forward: tensor<?x256xf32>, %backward: tensor<?x256xf32>) -> tensor<?x512xf32> {
      %y = attn.concat %forward, %backward : tensor<?x256xf32>, tensor<?x256xf32>
      return %y : tensor<?x512xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<Attn_Matrix>:$inputs, OptionalAttr<DenseI64ArrayAttr>:$columns, OptionalAttr<I64Attr>:$width);
  let results = (outs Attn_Matrix:$result);
  let assemblyFormat = "$inputs (`columns` $columns^)? (`width` $width^)? attr-dict `:` type($inputs)";
  let hasVerifier = 1;
}

#endif
