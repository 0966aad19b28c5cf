//===- Pooling.td - One vector for a row of tokens --------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_POOLING_TD
#define RAPT_ATTN_POOLING_TD

include "dialect/Attn/AttnAttrs.td"
include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_PoolRowsOp : Attn_TensorOp<"pool_rows", [Attn_HasElementTypes<["movesNumbers"]>, Attn_KeepsElementType, Attn_HasChannels<>, Pure, Attn_MovesAll, AllElementTypesMatch<["input", "result"]>]> {
  let summary = "one vector for each row of packed tokens";
  let description = [{
    Row r of the result is the `first` (a class token), the `last`, the `mean` or, column by column, the `max` of the tokens
    `row_begin[r] + skip <= t < row_begin[r + 1]`. A row without such tokens gives 0.

    ```mlir
    func.func @pool(%x: tensor<?x768xf32>, %row_begin: tensor<?xi32>) -> tensor<?x768xf32> {
      %y = attn.pool_rows mean %x, %row_begin : tensor<?x768xf32>, tensor<?xi32> -> tensor<?x768xf32>
      %z = attn.pool_rows mean %x, %row_begin skip 1 : tensor<?x768xf32>, tensor<?xi32> -> tensor<?x768xf32>
      %sum = arith.addf %y, %z : tensor<?x768xf32>
      return %sum : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins Attn_PoolingAttr:$kind, Attn_RankedTensor:$input, RankedTensorOf<[I32]>:$row_begin,
                       DefaultValuedAttr<I64Attr, "0">:$skip);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = [{
    `` $kind $input `,` $row_begin (`skip` $skip^)? attr-dict `:` type($input) `,` type($row_begin) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
