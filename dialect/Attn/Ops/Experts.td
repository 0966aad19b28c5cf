//===- Experts.td - Mixtures of experts: routing, and rows by expert ----*- tablegen -*-===//
#ifndef RAPT_ATTN_EXPERTS_TD
#define RAPT_ATTN_EXPERTS_TD

include "dialect/Attn/AttnAttrs.td"
include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_RouteOp : Attn_TensorOp<"route", [Attn_HasElementTypes<["getElementUse", "getElementSource"]>, Attn_HasChannels<["getWeightUse", "getResultChannelsDim"]>, Pure, Attn_MovesAll]> {
  let summary = "chooses experts for each token";
  let description = [{
    The scores of a token are the softmax, or the sigmoids, of its first `of` logits. The k experts with the largest scores are chosen, the largest
    first; of equal scores the lower expert's counts as larger, and NaN counts as the least. `weights[t, j]` is the score of expert `experts[t, j]`,
    divided by the sum of the k chosen scores and `floor` (1e-20) where the op is `normalized`, times `scale`.

    With a bias, score + bias decides which experts are chosen, and nothing else (DeepSeek-V3). `within m of g groups by n` chooses within groups: the
    experts are g groups of equal size, one behind another; a group counts as much as the sum of its n largest numbers that decide; the m groups that
    count most, by the same order, have the experts to choose from.

    ```mlir
    func.func @choose(%logits: tensor<?x128xf32>, %more: tensor<?x256xf32>, %bias: tensor<256xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>) {
      %w, %e = attn.route softmax %logits of 128 normalized : tensor<?x128xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
      %v, %f = attn.route sigmoid %more, %bias of 256 within 4 of 8 groups by 2 normalized scale 2.5
        : tensor<?x256xf32>, tensor<256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
      return %w, %f : tensor<?x8xf32>, tensor<?x8xi32>
    }
    ```
  }];
  let arguments = (ins Attn_RoutingAttr:$kind, Attn_RankedTensor:$logits, Optional<Attn_RankedTensor>:$bias, I64Attr:$of,
                       OptionalAttr<Attn_ExpertGroupsAttr>:$within, UnitAttr:$normalized, OptionalAttr<F32Attr>:$scale,
                       OptionalAttr<F32Attr>:$floor);
  let results = (outs Attn_RankedTensor:$weights, RankedTensorOf<[I32]>:$experts);
  let assemblyFormat = [{
    `` $kind $logits (`,` $bias^)? `of` $of (`within` $within^)? (`normalized` $normalized^)? (`scale` $scale^)? (`floor` $floor^)? attr-dict
    `:` type($logits) (`,` type($bias)^)? `->` type($weights) `,` type($experts)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What is added to the sum of a token's scores before they are divided by it.
    float floorOfSum() { return getFloor() ? getFloor()->convertToFloat() : 1e-20f; }
  }];
}

def Attn_GroupRowsOp : Attn_TensorOp<"group_rows", [Pure, Attn_MovesAll]> {
  let summary = "orders pairs of a token and an expert by expert";
  let description = [{
    The pairs (t, j) of a token and one of its experts, `experts[t, j]` in 0 .. E - 1, are ordered by expert, those of one expert by t, then j. Pair p of this
    order is of token `rows[p]`, and `indices[t, j]` is the p of (t, j). `groups[i]` is the first pair of the i-th expert that has pairs, and the expert; its pairs
    end where the next group begins. Behind the groups that have pairs, groups are (number of pairs, 0). There are E + 1 groups.

    ```mlir
    func.func @order(%experts: tensor<?x8xi32>) -> (tensor<?xi32>, tensor<?x8xi32>, tensor<129x2xi32>) {
      %rows, %indices, %groups = attn.group_rows %experts : tensor<?x8xi32> -> tensor<?xi32>, tensor<?x8xi32>, tensor<129x2xi32>
      return %rows, %indices, %groups : tensor<?xi32>, tensor<?x8xi32>, tensor<129x2xi32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$experts);
  let results = (outs RankedTensorOf<[I32]>:$rows, RankedTensorOf<[I32]>:$indices, RankedTensorOf<[I32]>:$groups);
  let assemblyFormat = "$experts attr-dict `:` type($experts) `->` type($rows) `,` type($indices) `,` type($groups)";
  let hasVerifier = 1;
}

def Attn_CombineRowsOp : Attn_TensorOp<"combine_rows", [Attn_HasElementTypes<["getElementUse"]>, Attn_HasChannels<>, Pure, Attn_MovesAll]> {
  let summary = "weighted sums of rows";
  let description = [{
    `result[t, :] = sum_j weights[t, j] * input[indices[t, j], :]`: what the experts of a token give, by the indices of `attn.group_rows`. Without indices, row
    t * k + j is multiplied by `weights[t, j]`, of weights [tokens, k]: with k = 1 each row by its own number.

    ```mlir
    func.func @sum(%x: tensor<?x768xf32>, %w: tensor<?x8xf32>, %indices: tensor<?x8xi32>) -> tensor<?x768xf32> {
      %y = attn.combine_rows %x, %w, %indices : tensor<?x768xf32>, tensor<?x8xf32>, tensor<?x8xi32> -> tensor<?x768xf32>
      return %y : tensor<?x768xf32>
    }
    func.func @scale(%x: tensor<?x768xf32>, %w: tensor<?x1xf32>) -> tensor<?x768xf32> {
      %y = attn.combine_rows %x, %w : tensor<?x768xf32>, tensor<?x1xf32> -> tensor<?x768xf32>
      return %y : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input, Attn_RankedTensor:$weights, Optional<RankedTensorOf<[I32]>>:$indices);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$input `,` $weights (`,` $indices^)? attr-dict `:` type($input) `,` type($weights) (`,` type($indices)^)? `->` type($result)";
  let hasVerifier = 1;
}

#endif
