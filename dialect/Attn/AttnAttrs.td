//===- AttnAttrs.td - Attributes of the attention dialect ------------*- tablegen -*-===//
#ifndef RAPT_ATTN_ATTRS_TD
#define RAPT_ATTN_ATTRS_TD

include "dialect/Attn/AttnAttrInterfaces.td"
include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnSchedules.td"
include "dialect/Attn/AttnSources.td"
include "mlir/IR/EnumAttr.td"

def Attn_ActivationKind : I32EnumAttr<"ActivationKind", "an activation function", [
    I32EnumAttrCase<"gelu", 0>,       // x * Phi(x), exact erf
    I32EnumAttrCase<"gelu_tanh", 1>,  // tanh approximation (gelu_new)
    I32EnumAttrCase<"relu", 2>,
    I32EnumAttrCase<"silu", 3>,       // x * sigmoid(x)
    I32EnumAttrCase<"tanh", 4>,
    I32EnumAttrCase<"sigmoid", 5>,
    I32EnumAttrCase<"quick_gelu", 6>  // x * sigmoid(1.702 x)
  ]> {
  let cppNamespace = "::rapt::attn";
  let genSpecializedAttr = 0;
}
def Attn_ActivationAttr : EnumAttr<Attn_Dialect, Attn_ActivationKind, "activation_kind"> {
  let assemblyFormat = "$value";
}

def Attn_RowWrite : I32EnumAttr<"RowWrite", "what becomes of a row", [
    I32EnumAttrCase<"set", 0>,
    I32EnumAttrCase<"add", 1>
  ]> {
  let cppNamespace = "::rapt::attn";
  let genSpecializedAttr = 0;
}
def Attn_RowWriteAttr : EnumAttr<Attn_Dialect, Attn_RowWrite, "row_write"> {
  let assemblyFormat = "$value";
}

def Attn_PoolingKind : I32EnumAttr<"PoolingKind", "how the tokens of a row become one vector", [
    I32EnumAttrCase<"first", 0>,
    I32EnumAttrCase<"last", 1>,
    I32EnumAttrCase<"mean", 2>,
    I32EnumAttrCase<"max", 3>
  ]> {
  let cppNamespace = "::rapt::attn";
  let genSpecializedAttr = 0;
}
def Attn_PoolingAttr : EnumAttr<Attn_Dialect, Attn_PoolingKind, "pooling_kind"> {
  let assemblyFormat = "$value";
}

def Attn_RoutingKind : I32EnumAttr<"RoutingKind", "how logits of experts become scores", [
    I32EnumAttrCase<"softmax", 0>,
    I32EnumAttrCase<"sigmoid", 1>
  ]> {
  let cppNamespace = "::rapt::attn";
  let genSpecializedAttr = 0;
}
def Attn_RoutingAttr : EnumAttr<Attn_Dialect, Attn_RoutingKind, "routing_kind"> {
  let assemblyFormat = "$value";
}

def Attn_ExpertGroupsAttr : Attn_Attr<"ExpertGroups", "expert_groups"> {
  let summary = "groups of experts of which some are chosen first";
  let description = [{
    `kept` of `groups` groups of experts are chosen, each by the sum of its `by` largest numbers.

    Example: `#attn.expert_groups<4 of 8 groups by 2>`
  }];
  let parameters = (ins "int64_t":$kept, "int64_t":$groups, "int64_t":$by);
  let assemblyFormat = "$kept `of` $groups `groups` `by` $by";
  let genVerifyDecl = 1;
}

def Attn_RecurrenceKind : I32EnumAttr<"RecurrenceKind", "a recurrent cell", [
    I32EnumAttrCase<"rnn_tanh", 0>, // Elman 1990
    I32EnumAttrCase<"rnn_relu", 1>,
    I32EnumAttrCase<"gru", 2>,      // Cho et al. 2014; reset after the matmul, as in cuDNN and PyTorch
    I32EnumAttrCase<"lstm", 3>      // Hochreiter and Schmidhuber 1997, with forget gate
  ]> {
  let cppNamespace = "::rapt::attn";
  let genSpecializedAttr = 0;
}
def Attn_RecurrenceAttr : EnumAttr<Attn_Dialect, Attn_RecurrenceKind, "recurrence_kind"> {
  let assemblyFormat = "$value";
}

def Attn_LinearAttentionKind : I32EnumAttr<"LinearAttentionKind", "how a token changes the state of linear attention", [
    I32EnumAttrCase<"linear", 0>,
    I32EnumAttrCase<"gated", 1>,
    I32EnumAttrCase<"delta", 2>,
    I32EnumAttrCase<"gated_delta", 3>
  ]> {
  let cppNamespace = "::rapt::attn";
  let genSpecializedAttr = 0;
}
def Attn_LinearAttentionAttr : EnumAttr<Attn_Dialect, Attn_LinearAttentionKind, "linear_attention_kind"> {
  let assemblyFormat = "$value";
}

def Attn_HeadPairing : I32EnumAttr<"HeadPairing", "which heads share another one", [
    I32EnumAttrCase<"neighbors", 0>, // those beside each other
    I32EnumAttrCase<"remainder", 1>  // those with equal remainder by the number of the other ones
  ]> {
  let cppNamespace = "::rapt::attn";
  let genSpecializedAttr = 0;
}
def Attn_HeadPairingAttr : EnumAttr<Attn_Dialect, Attn_HeadPairing, "head_pairing"> {
  let assemblyFormat = "$value";
}

def Attn_RowsAttr : Attn_Attr<"Rows", "rows", [DeclareAttrInterfaceMethods<Attn_ParameterLayoutInterface>]> {
  let summary = "a parameter by rows of its last dim";
  let description = [{
    One row behind the other. Behind a row there may be padding, zeros: the parameter's type says how long a row is. With `column_group`, the columns come in groups of so
    many, each with padding behind it. A quantized matrix is quantized along its rows: a row is its groups, each of which is quantized values, a scale and a zero point.

    Example: `#attn.rows<shape = [768, 2320], column_group = 80>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, DefaultValuedParameter<"int64_t", "0">:$columnGroup);
  let assemblyFormat = "`<` `shape` `=` custom<Extents>($shape) (`,` `column_group` `=` $columnGroup^)? `>`";
  let genVerifyDecl = 1;
}

def Attn_CacheRowsAttr : Attn_Attr<"CacheRows", "cache_rows", [DeclareAttrInterfaceMethods<Attn_CacheLayoutInterface, ["getPadded", "getHeadShape", "getElementAt", "getScaleAt"]>]> {
  let summary = "a cache by rows";
  let description = [{
    A pool is [blocks, layers, heads, parts, positions, channels]. In i8 the scale of a position (f32, its bytes from the lowest on) is behind its quantized values.

    Example: `#attn.cache_rows<positions = 64, keys = 64, values = 64>`
  }];
  let parameters = (ins "int64_t":$positions, "int64_t":$keys, "int64_t":$values);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of a scale behind the quantized values of a position.
    static constexpr int64_t kScaleBytes = 4;
  }];
}

#endif
