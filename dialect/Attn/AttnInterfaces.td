//===- AttnInterfaces.td - Interfaces of the attention dialect -------*- tablegen -*-===//
#ifndef RAPT_ATTN_INTERFACES_TD
#define RAPT_ATTN_INTERFACES_TD

include "mlir/IR/Interfaces.td"

def Attn_EpilogueOpInterface : OpInterface<"EpilogueOpInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    An elementwise op that a product can take into its epilogue: one operand is the product's result, the others are
    read at the same element.
  }];
  let methods = [
    InterfaceMethod<"Emits the scalar computation for one element: `operands` are the f32 values of this op's operands.",
      "::mlir::Value", "emitScalar", (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>
  ];
}

#endif
