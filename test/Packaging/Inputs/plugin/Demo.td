//===- Demo.td - A dialect of one op, outside of Rapt --------------------*- tablegen -*-===//
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Demo_Dialect : Dialect {
  let name = "demo";
  let cppNamespace = "::demo";
}

def Demo_SelfAttentionOp : Op<Demo_Dialect, "self_attention", [Pure]> {
  let summary = "causal attention of a sequence to itself, from packed queries, keys and values";
  let arguments = (ins RankedTensorOf<[F32]>:$qkv, I64Attr:$heads);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$qkv `heads` $heads attr-dict `:` type($qkv) `->` type($result)";
  let hasVerifier = 1;
}
