//===- Embedding.td - Table look-ups ---------------------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_EMBEDDING_TD
#define RAPT_ATTN_EMBEDDING_TD

include "dialect/Attn/AttnAttrInterfaces.td"
include "dialect/Attn/AttnAttrs.td"
include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "dialect/Attn/AttnTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_EmbeddingOp : Attn_TensorOp<"embedding", [Attn_HasElementTypes<["getElementUse"]>, Attn_HasChannels<["getWeightUse", "getRowAccess"]>, Pure, Attn_HasCosts, Attn_InfersShape]> {
  let summary = "looks rows of a table up by id";
  let description = [{
    `result[i, :] = scale * table[ids[i], :]`, where there is a scale. An id outside the table is the caller's error: entries check ids before they run.
    The table is [rows, columns], or transposed in a target's `layout`. A quantized table gives its dequantized values.

    ```mlir
    func.func @embed(%ids: tensor<?xi32>, %wte: tensor<50257x768xf32>) -> tensor<?x768xf32> {
      %x = attn.embedding %ids, %wte : tensor<?xi32>, tensor<50257x768xf32> -> tensor<?x768xf32>
      return %x : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$ids, RankedTensorOf<!listconcat(Attn_Floats, [Attn_QuantizedType])>:$table, OptionalAttr<F32Attr>:$scale,
                       OptionalAttr<Attn_WeightLayoutInterface>:$layout);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$ids `,` $table (`scale` $scale^)? attr-dict `:` type($ids) `,` type($table) `->` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$ids, "::mlir::Value":$table),
                            [{ build($_builder, $_state, result, ids, table, /*scale=*/nullptr, /*layout=*/nullptr); }]>];
}

def Attn_SelectRowsOp : Attn_TensorOp<"select_rows", [Attn_HasElementTypes<["movesNumbers"]>, Attn_KeepsElementType, Attn_HasChannels<["getRowAccess"]>, Pure, Attn_HasCosts, InferTypeOpAdaptor]> {
  let summary = "selects rows of an activation";
  let description = [{
    `result[i, :] = input[rows[i], :]`: the positions whose logits are wanted. With a layer, the input is [slots, layers, columns],
    a state that `attn.update_rows` writes: `result[i, :] = input[rows[i], layer, :]`.

    ```mlir
    func.func @last(%x: tensor<?x768xf32>, %want: tensor<?xi32>) -> tensor<?x768xf32> {
      %y = attn.select_rows %x, %want : tensor<?x768xf32>, tensor<?xi32> -> tensor<?x768xf32>
      return %y : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input, Optional<Index>:$layer, RankedTensorOf<[I32]>:$rows);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$input (`[` $layer^ `]`)? `,` $rows attr-dict `:` type($input) `,` type($rows) `->` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::Value":$rows),
                            [{ build($_builder, $_state, result, input, /*layer=*/nullptr, rows); }]>];
}

def Attn_WriteRowsOp : Attn_TensorOp<"write_rows", [Attn_HasElementTypes<["getElementUse"]>, Attn_KeepsElementType, Attn_HasChannels<>, Pure, Attn_HasCosts, AllTypesMatch<["input", "result"]>]> {
  let summary = "sets some rows of an activation, or adds to them";
  let description = [{
    `set`: `result[rows[i], :] = values[i, :]`; `add`: `result[rows[i], :] = input[rows[i], :] + values[i, :]`. Other rows are as in `input`. No
    row is named twice. With a layer, the values are [n, layers, columns], of which `values[i, layer, :]` are read. Where nothing reads
    `input` afterwards it is updated in place, so that an op without rows costs nothing. (`attn.update_rows` writes a state.)

    ```mlir
    func.func @images(%x: tensor<?x768xf32>, %vectors: tensor<?x4x768xf32>, %layer: index, %tokens: tensor<?xi32>) -> tensor<?x768xf32> {
      %y = attn.write_rows set %x, %vectors[%layer], %tokens : tensor<?x768xf32>, tensor<?x4x768xf32>, tensor<?xi32>
      return %y : tensor<?x768xf32>
    }
    func.func @further(%x: tensor<?x768xf32>, %vectors: tensor<?x768xf32>, %tokens: tensor<?xi32>) -> tensor<?x768xf32> {
      %y = attn.write_rows add %x, %vectors, %tokens : tensor<?x768xf32>, tensor<?x768xf32>, tensor<?xi32>
      return %y : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RowWriteAttr:$kind, Attn_Matrix:$input, Attn_RankedTensor:$values, Optional<Index>:$layer, 1DTensorOf<[I32]>:$rows);
  let results = (outs Attn_Matrix:$result);
  let assemblyFormat = [{
    `` $kind $input `,` $values (`[` $layer^ `]`)? `,` $rows attr-dict `:` type($input) `,` type($values) `,` type($rows)
  }];
  let hasVerifier = 1;
}

def Attn_ColumnOp : Attn_TensorOp<"column", [Attn_HasElementTypes<["movesNumbers"]>, Attn_KeepsElementType, Pure, Attn_MovesAll, AllElementTypesMatch<["input", "result"]>]> {
  let summary = "one column of an activation";
  let description = [{
    `result[i] = input[i, column]`: the start of a span from a head that gives start and end.

    ```mlir
    func.func @start(%x: tensor<?x2xf32>) -> tensor<?xf32> {
      %y = attn.column %x[0] : tensor<?x2xf32> -> tensor<?xf32>
      return %y : tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input, I64Attr:$column);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$input `[` $column `]` attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$column)>];
}

#endif
