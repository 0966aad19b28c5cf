//===- Demo.td - A dialect of one op, outside of Rapt --------------------*- tablegen -*-===//
include "dialect/Attn/AttnInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Demo_Dialect : Dialect {
  let name = "demo";
  let cppNamespace = "::demo";
}

def Demo_SelfAttentionOp : Op<Demo_Dialect, "self_attention", [Pure]> {
  let summary = "causal attention of a sequence to itself, from packed queries, keys and values";
  let arguments = (ins Attn_RankedTensor:$qkv, I64Attr:$heads);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$qkv `heads` $heads attr-dict `:` type($qkv) `->` type($result)";
  let hasVerifier = 1;
}
