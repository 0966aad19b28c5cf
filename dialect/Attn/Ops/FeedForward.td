//===- FeedForward.td - Matmuls, activations, gates --------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_FEEDFORWARD_TD
#define RAPT_ATTN_FEEDFORWARD_TD

include "dialect/Attn/AttnAttrInterfaces.td"
include "dialect/Attn/AttnAttrs.td"
include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "dialect/Attn/AttnTypes.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_LinearOp : Attn_TensorOp<"linear", [AttrSizedOperandSegments, Attn_HasElementTypes<["getElementUse"]>, Attn_ComputesElements, Attn_HasChannels<["getWeightUse"]>, Pure, Attn_HasCosts, RecursiveMemoryEffects]> {
  let summary = "a matmul with an epilogue";
  let description = [{
    `result[m, n] = epilogue(sum_k input[m, k] * weight[k, n], extra...)`. Sums are f32. The optional region maps the sum and
    one f32 of each extra operand to the result; an extra operand of rank 1 is read at n (a bias), one of rank 2 at
    (m, n) (a residual, a gate). `transposed` says that the weight is [n, k] (a tied embedding). A target's
    `layout` says how the weight lies, which is not a matrix of two dims then; the input may have zeros behind the weight's rows. How many
    of the layout's columns the result has is for its type to say: it is not inferred. A quantized weight
    takes quantized rows of the same groups, and sums are those of docs/Semantics.md.

    With `groups`, the weight has several matrices of n columns, one behind another, and a row of the input is multiplied by one of them: rows
    `groups[i][0] <= m < groups[i + 1][0]` by matrix `groups[i][1]`, i < G of `groups: [G + 1, 2]`, which `attn.group_rows` makes. Rows ascend, from 0 to the
    number of rows, and groups without rows are behind those with rows. An extra operand of rank 1 has n elements for each matrix then.

    Heads `[m, h, k]` have a matrix each: the weight has h matrices of n columns, one behind another, and the result is
    `[m, h, n] = sum_k input[m, h, k] * weight[k, h * N + n]`, N columns of a matrix. Such a matmul has no groups, no extra operands and no quantized weight.

    ```mlir
    func.func @up(%x: tensor<?x768xf32>, %w: tensor<768x3072xf32>, %b: tensor<3072xf32>) -> tensor<?x3072xf32> {
      %y = attn.linear %x, %w, (%b) : tensor<?x768xf32>, tensor<768x3072xf32>, (tensor<3072xf32>) -> tensor<?x3072xf32> {
      ^bb0(%sum: f32, %bias: f32):
        %0 = arith.addf %sum, %bias : f32
        attn.yield %0 : f32
      }
      return %y : tensor<?x3072xf32>
    }
    func.func @experts(%x: tensor<?x768xf32>, %w: tensor<4096x768xf32>, %groups: tensor<9x2xi32>) -> tensor<?x512xf32> {
      %y = attn.linear %x, %w groups %groups transposed : tensor<?x768xf32>, tensor<4096x768xf32> groups tensor<9x2xi32> -> tensor<?x512xf32>
      return %y : tensor<?x512xf32>
    }
    func.func @heads(%x: tensor<?x16x128xf32>, %w: tensor<8192x128xf32>) -> tensor<?x16x512xf32> {
      %y = attn.linear %x, %w transposed : tensor<?x16x128xf32>, tensor<8192x128xf32> -> tensor<?x16x512xf32>
      return %y : tensor<?x16x512xf32>
    }
    ```
  }];
  let arguments = (ins RankedTensorOf<!listconcat(Attn_Floats, [Attn_QuantizedType])>:$input, RankedTensorOf<!listconcat(Attn_Floats, [Attn_QuantizedType])>:$weight,
                       Variadic<Attn_RankedTensor>:$extras, Optional<RankedTensorOf<[I32]>>:$groups, UnitAttr:$transposed,
                       OptionalAttr<Attn_WeightLayoutInterface>:$layout);
  let results = (outs Attn_RankedTensor:$result);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    $input `,` $weight (`,` `(` $extras^ `)`)? (`groups` $groups^)? (`transposed` $transposed^)? attr-dict
    `:` type($input) `,` type($weight) (`,` `(` type($extras)^ `)`)? (`groups` type($groups)^)? `->` type($result) custom<OptionalRegion>($epilogue)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input, "::mlir::Value":$weight)>];
  let extraClassDeclaration = [{
    bool isQuantized() { return ::mlir::isa<QuantizedType>(getWeight().getType().getElementType()); }
    /// The input before its rows are quantized.
    ::mlir::Value getUnquantizedInput();
    /// Rows of the weight, with those that fill up one with a layout.
    int64_t getDepth();
    /// Whether each head has a matrix of its own.
    bool isOfHeads() { return getInput().getType().getRank() == 3; }
    /// Whether the weight has several matrices, one behind another, by groups of rows or heads.
    bool hasMatrices() { return getGroups() || isOfHeads(); }
    /// Matrices that the weight has: 1 without groups or heads. Dynamic where the weight's columns are.
    int64_t getMatrices();
    /// The region's block, made with an identity body when there is none.
    ::mlir::Block *ensureEpilogue(::mlir::OpBuilder &builder);
  }];
}

def Attn_YieldOp : Attn_Op<"yield", [Attn_StaysInTiles, Pure, Terminator, ReturnLike]> {
  let summary = "gives a region's result";
  let hasVerifier = 1;
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Attn_ActivationOp : Attn_TensorOp<"activation", [Attn_HasChannels<["getRowAccess"]>, Pure, Attn_MovesAll, SameOperandsAndResultType, DeclareOpInterfaceMethods<Attn_EpilogueOpInterface>]> {
  let summary = "an activation function, elementwise";
  let description = [{
    ```mlir
    func.func @act(%x: tensor<?x3072xf32>) -> tensor<?x3072xf32> {
      %y = attn.activation gelu_tanh %x : tensor<?x3072xf32>
      return %y : tensor<?x3072xf32>
    }
    ```
  }];
  let arguments = (ins Attn_ActivationAttr:$kind, Attn_RankedTensor:$input);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "`` $kind $input attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Attn_ClipOp : Attn_TensorOp<"clip", [Attn_HasChannels<["getRowAccess"]>, Pure, Attn_MovesAll, SameOperandsAndResultType, DeclareOpInterfaceMethods<Attn_EpilogueOpInterface>]> {
  let summary = "numbers clipped to an interval around zero, elementwise";
  let description = [{
    `max(min(x, bound), -bound)`; NaN stays NaN.

    ```mlir
    func.func @clip(%x: tensor<?x768xf32>) -> tensor<?x768xf32> {
      %y = attn.clip %x within 8.0 : tensor<?x768xf32>
      return %y : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input, F32Attr:$bound);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$input `within` $bound attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Attn_GLUOp : Attn_TensorOp<"glu", [Attn_HasChannels<["getRowAccess"]>, Pure, Attn_MovesAll, SameOperandsAndResultType, DeclareOpInterfaceMethods<Attn_EpilogueOpInterface>]> {
  let summary = "gated linear unit: activation(gate) * up";
  let description = [{
    The elementwise half of a gated feed-forward (Shazeer 2020): `activation(gate) * up`.

    ```mlir
    func.func @swiglu(%gate: tensor<?x5632xf32>, %up: tensor<?x5632xf32>) -> tensor<?x5632xf32> {
      %y = attn.glu silu %gate, %up : tensor<?x5632xf32>
      return %y : tensor<?x5632xf32>
    }
    ```
  }];
  let arguments = (ins Attn_ActivationAttr:$kind, Attn_RankedTensor:$gate, Attn_RankedTensor:$up);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "`` $kind $gate `,` $up attr-dict `:` type($gate)";
}

#endif
