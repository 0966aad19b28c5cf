//===- AttnCPUEnums.td - Enumerations of the CPU's machine dialect ----*- tablegen -*-===//
#ifndef RAPT_ATTNCPU_ENUMS_TD
#define RAPT_ATTNCPU_ENUMS_TD

include "mlir/IR/EnumAttr.td"

def AttnCPU_Root : I32EnumAttr<"Root", "where the root of a fusion is", [
    I32EnumAttrCase<"consumer", 0>, // the op that reads the result
    I32EnumAttrCase<"producer", 1>  // the op that makes the input
  ]> {
  let cppNamespace = "::rapt::attn_cpu";
  let genSpecializedAttr = 0;
}

#endif
