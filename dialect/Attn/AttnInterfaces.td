//===- AttnInterfaces.td - Interfaces of the attention dialect -------*- tablegen -*-===//
#ifndef RAPT_ATTN_INTERFACES_TD
#define RAPT_ATTN_INTERFACES_TD

include "dialect/Attn/AttnDialect.td"
include "mlir/IR/Interfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Attn_DimRelationsOpInterface : OpInterface<"DimRelationsOpInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    States once how the extents of an op's operands and results depend on each other. Result shapes
    (ReifyRankedShapedTypeOpInterface), the dims of kernels and the costs of ops are read from it.
  }];
  let methods = [
    InterfaceMethod<"Adds what the op states to `dims`. Static extents of types need no equation.",
      "void", "relateDims", (ins "::rapt::attn::DimRelations &":$dims)>
  ];
}

def Attn_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    An op of the stage canonical tells what it computes and moves. An op without this interface costs nothing: it is a view.
  }];
  let methods = [
    InterfaceMethod<"Tells `model` what the op computes and moves.",
      "void", "addCosts", (ins "::rapt::attn::CostModel &":$model), "", "model.moveAll($_op);">
  ];
  let extraClassOf = "return ::rapt::attn::hasInterfaces($_op);";
}
/// An op that reads its operands and writes its results, each once, and whose arithmetic does not matter.
defvar Attn_MovesAll = DeclareOpInterfaceMethods<Attn_CostOpInterface>;
/// An op that implements addCosts.
defvar Attn_HasCosts = DeclareOpInterfaceMethods<Attn_CostOpInterface, ["addCosts"]>;

def Attn_ChannelsOpInterface : OpInterface<"ChannelsOpInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    Tells which dims of an op's tensors are channels (the contiguous columns of a row, or of a head), which a target's layout may
    pad with zeros behind them, how the op reads weights, and how it goes from rows to rows. Layouts of a target ask it.
  }];
  let methods = [
    InterfaceMethod<"The dim of an operand that has channels; none of one that is read by element, or is a matmul's weight.",
      "::std::optional<unsigned>", "getChannelsDim", (ins "::mlir::OpOperand &":$operand)>,
    InterfaceMethod<"The dim of a result that has channels, if one has.",
      "::std::optional<unsigned>", "getResultChannelsDim", (ins "::mlir::Value":$result), "", "return ::rapt::attn::lastDim(result);">,
    InterfaceMethod<[{Channels of a group, where the channels of an operand or result come in groups that are padded each: heads
      side by side, or the gates of a recurrence. 0 without groups.}],
      "int64_t", "getChannelGroup", (ins "::mlir::Value":$tensor), "", "return 0;">,
    InterfaceMethod<"How the op reads an operand that is a weight; nothing for one that cannot be a weight.",
      "::std::optional<::rapt::attn::WeightUse>", "getWeightUse", (ins "::mlir::OpOperand &":$operand), "", "return ::std::nullopt;">,
    InterfaceMethod<"How the op goes from rows of its operands to rows of its result.",
      "::rapt::attn::RowAccess", "getRowAccess", (ins), "", "return ::rapt::attn::RowAccess::other;">,
    InterfaceMethod<[{Called when the channels of operands have got zeros behind them: `channels` has for each operand how many it had.
      An op that must know how many channels count keeps the number. `padded` tells how many a number of channels has in memory.}],
      "::llvm::LogicalResult", "keepChannels", (ins "::llvm::ArrayRef<int64_t>":$channels, "::rapt::attn::Padding":$padded), "", "return ::mlir::success();">,
    InterfaceMethod<"Whether channels may be padded only behind all of them, not in groups: the op takes a number of leading ones.",
      "bool", "takesLeadingChannels", (ins), "", "return false;">,
    InterfaceMethod<"Whether a layout has padded channels that the op tells apart from those that count.",
      "bool", "isPadded", (ins), "", "return false;">
  ];
  let extraClassOf = "return ::rapt::attn::hasInterfaces($_op);";
}
class Attn_HasChannels<list<string> own = []> : DeclareOpInterfaceMethods<Attn_ChannelsOpInterface, own>;

def Attn_ElementTypesOpInterface : OpInterface<"ElementTypesOpInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    Tells which tensors of an op are activations, whose element types passes choose. An op without it computes with all operands and
    rounds all results.
  }];
  let methods = [
    InterfaceMethod<"How the op reads an operand.",
      "::rapt::attn::ElementUse", "getElementUse", (ins "::mlir::OpOperand &":$operand), "", "return ::rapt::attn::ElementUse::computed;">,
    InterfaceMethod<"Where the element type of a result comes from.",
      "::rapt::attn::ElementSource", "getElementSource", (ins "::mlir::Value":$result), "", "return ::rapt::attn::ElementSource::rounded;">,
    InterfaceMethod<"Whether every number of the results is one of the first operand, in whatever place.",
      "bool", "movesNumbers", (ins), "", "return false;">,
    InterfaceMethod<"The lists of tensors that have one element type.",
      "::llvm::SmallVector<::rapt::attn::EqualTypes>", "getEqualTypes", (ins), "", "return ::rapt::attn::equalTypesByTraits($_op);">
  ];
}
class Attn_HasElementTypes<list<string> own> : DeclareOpInterfaceMethods<Attn_ElementTypesOpInterface, own>;

/// Result 0 has the element type of operand 0.
def Attn_KeepsElementType : NativeOpTrait<"KeepsElementType"> { let cppNamespace = "::rapt::attn"; }
def Attn_StaysInTiles : NativeOpTrait<"StaysInTiles"> { let cppNamespace = "::rapt::attn"; }
def Attn_StaysInHostProgram : NativeOpTrait<"StaysInHostProgram"> { let cppNamespace = "::rapt::attn"; }

/// An op with regions that compute one element each, of scalars, and end in `attn.yield`.
def Attn_ComputesElements : NativeOpTrait<"ComputesElements"> { let cppNamespace = "::rapt::attn"; }

def Attn_ScoreAndMaskOpInterface : OpInterface<"ScoreAndMaskOpInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    Attention, whole or a part of it, with the optional regions `score(s, b, h, q, kv, extras...)` and `mask(b, h, q, kv, extras...)`. The
    interface verifies what the regions take and yield; `attn.lookup` reads tables in them.
  }];
  let methods = [
    InterfaceMethod<"Maps the score of a query and a key; may be empty.", "::mlir::Region &", "getScore">,
    InterfaceMethod<"Tells whether a key counts for a query; may be empty.", "::mlir::Region &", "getMask">,
    InterfaceMethod<"The tensors of which the regions see an element, or the whole.", "::mlir::OperandRange", "getExtras">,
    InterfaceMethod<"Whether the regions get extra operand `i` whole.", "bool", "isTable", (ins "unsigned":$i)>
  ];
  let verifyWithRegions = 1;
  let verify = "return ::rapt::attn::verifyScoreAndMask($_op);";
}

def Attn_EpilogueOpInterface : OpInterface<"EpilogueOpInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    An elementwise op that can be fused into a matmul's epilogue: one operand is the matmul's result, the others are
    read at the same element. Arithmetic of upstream has it on matrices of floats (Elementwise.cpp).
  }];
  let methods = [
    InterfaceMethod<"Emits the scalar computation for one element: `operands` are the f32 values of this op's operands.",
      "::mlir::Value", "emitScalar", (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$operands)>
  ];
  let extraClassOf = "return ::rapt::attn::hasInterfaces($_op);";
}

/// Element types of activations and results. An op computes in f32 and rounds a result of 16 bits once.
defvar Attn_Floats = [F32, BF16, F16];
/// Elements of extra operands beside floats.
defvar Attn_Integers = [I1, I8, I32, I64];
def Attn_RankedTensor : RankedTensorOf<Attn_Floats>;
def Attn_Matrix : 2DTensorOf<Attn_Floats>;
def Attn_Vector : 1DTensorOf<Attn_Floats>;

/// The result's shape is inferred; its elements are of any of the types that it allows.
def Attn_InfersShape : InferTypeOpAdaptorBase<[{
  static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange types) {
    return haveSameShapes(inferred, types);
  }
}]>;

/// An op with tensors: it states how their extents depend on each other, from which the shapes of its results are reified.
class Attn_TensorOp<string mnemonic, list<Trait> traits = []> : Attn_Op<mnemonic, !listconcat(traits, [
    DeclareOpInterfaceMethods<Attn_DimRelationsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>])> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::reifyResultShapes(::mlir::OpBuilder &builder,
                                                       ::mlir::ReifiedRankedShapedTypeDims &shapes) {
      return reifyRelatedDims(*this, builder, shapes);
    }
  }];
}

#endif
