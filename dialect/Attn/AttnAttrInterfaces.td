//===- AttnAttrInterfaces.td - Interfaces of attributes ----------------*- tablegen -*-===//
#ifndef RAPT_ATTN_ATTRINTERFACES_TD
#define RAPT_ATTN_ATTRINTERFACES_TD

include "mlir/IR/Interfaces.td"

def Attn_WeightLayoutInterface : AttrInterface<"WeightLayoutInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    How a target lays out the weight of an op, which is then a tensor of another shape. An op that has such a layout asks it what
    the weight is; without one the weight is a plain matrix.
  }];
  let methods = [
    InterfaceMethod<"Whether a tensor has the layout's shape and element type.",
      "bool", "isWeight", (ins "::mlir::ShapedType":$weight)>,
    InterfaceMethod<"Whether a tensor holds a matrix of `columns` columns with at most `rows` rows.",
      "bool", "isMatrix", (ins "::mlir::ShapedType":$weight, "int64_t":$rows, "int64_t":$columns)>,
    InterfaceMethod<"Rows of the matrix that a tensor holds, with those that fill it up; dynamic where they are.",
      "int64_t", "getRows", (ins "::mlir::ShapedType":$weight)>,
    InterfaceMethod<"Where the element (row, column) of a matrix is in its tensor, counted from the first.",
      "int64_t", "getOffset", (ins "::mlir::ShapedType":$weight, "int64_t":$row, "int64_t":$column)>,
    InterfaceMethod<"Columns of the matrix that a tensor holds, with those that fill it up.",
      "int64_t", "getColumns", (ins "::mlir::ShapedType":$weight)>,
    InterfaceMethod<"Columns of an activation whose rows are columns of such a matrix.",
      "int64_t", "getWidthOfRows", (ins "::mlir::ShapedType":$weight)>,
    InterfaceMethod<"Whether a matmul takes rows of an element type and so many columns with such a weight.",
      "bool", "takesRows", (ins "::mlir::Type":$element, "int64_t":$columns)>
  ];
}

def Attn_ParameterLayoutInterface : AttrInterface<"ParameterLayoutInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    How a target lays out a parameter in the weight file. The parameter's type is then that of its elements in the file. `#attn.rows` serves every target; other
    layouts are a target's, which tells the packer about them.
  }];
  let methods = [
    InterfaceMethod<"The shape of one layer without padding, which the sources make.", "::llvm::ArrayRef<int64_t>", "getShape">,
    InterfaceMethod<"Whether one layer may have a type, with padding.", "bool", "isStored", (ins "::mlir::RankedTensorType":$layer)>
  ];
}

def Attn_CacheLayoutInterface : AttrInterface<"CacheLayoutInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    How a target lays out equal layers of a cache in memory. The memory is a pool, a tensor [blocks, layers, heads, parts, ...] of keys and values (2 parts), or
    one pool of keys and one of values (1 part each). An op that works on such memory has the layout; the dims behind the parts are those of one head's keys, or
    values, in one block.
  }];
  let methods = [
    InterfaceMethod<"Positions of a block.", "int64_t", "getPositions">,
    InterfaceMethod<"Channels of a key, without padding.", "int64_t", "getKeys">,
    InterfaceMethod<"Channels of a value, without padding.", "int64_t", "getValues">,
    InterfaceMethod<"Channels of a key or value of `channels` with padding.", "int64_t", "getPadded", (ins "int64_t":$channels)>,
    InterfaceMethod<"The extents of keys, or values, of `channels` of one head in a block.",
      "::llvm::SmallVector<int64_t>", "getHeadShape", (ins "::mlir::Type":$element, "int64_t":$channels)>,
    InterfaceMethod<"Which element of one head's keys, or values, is channel c of position p in the block: an expression in C.",
      "std::string", "getElementAt", (ins "::mlir::Type":$element, "int64_t":$channels, "bool":$areValues)>,
    InterfaceMethod<"At which byte of one head's keys, or values, the f32 scale of position p is, alike; empty where there are none.",
      "std::string", "getScaleAt", (ins "::mlir::Type":$element, "int64_t":$channels)>
  ];
}

def Attn_SourceTransformInterface : AttrInterface<"SourceTransformInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    A step from a tensor of a checkpoint to a parameter. It gives a shape for a shape; what it does to values is for the packer and the reference.
  }];
  let methods = [
    InterfaceMethod<"The shape that a tensor of `shape` becomes; where there is none, tells why and fails.",
      "::mlir::FailureOr<::llvm::SmallVector<int64_t>>", "shapeAfter",
      (ins "::llvm::ArrayRef<int64_t>":$shape, "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError), "",
      "return ::llvm::SmallVector<int64_t>(shape);">,
    InterfaceMethod<"The shape that becomes `shape`; none where several do.",
      "::std::optional<::llvm::SmallVector<int64_t>>", "shapeBefore", (ins "::llvm::ArrayRef<int64_t>":$shape), "",
      "return ::llvm::SmallVector<int64_t>(shape);">
  ];
}

def Attn_ScheduleInterface : AttrInterface<"ScheduleInterface"> {
  let cppNamespace = "::rapt::attn";
  let description = [{
    How a target's code does an op or, on a module, those that have no schedule of their own. The discardable attribute `attn.schedule` has it. One pass of the
    target sets it in the stage laid-out; later passes read it, and no tuned constant.
  }];
  let methods = [
    InterfaceMethod<"The `#attn.linalg_tiles` of a module's schedule; null for any other.",
      "::mlir::Attribute", "getLinalgTiles", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return {};">
  ];
}

#endif
