//===- AttnOps.h - All ops of the attention dialect ----------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnDialect.h"
#include "dialect/Attn/Channels.h"
#include "dialect/Attn/CostModel.h"
#include "dialect/Attn/DimRelations.h"
#include "dialect/Attn/ElementTypes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace rapt::attn {
// Upstream's PartialReductionOpInterface names these without their namespace.
using mlir::Location, mlir::MergeResult, mlir::ReductionTilingStrategy, mlir::SmallVector, mlir::TilingResult,
    mlir::Value, mlir::ValueRange;

/// Checks the regions of an op with ScoreAndMaskOpInterface.
mlir::LogicalResult verifyScoreAndMask(mlir::Operation *op);

/// Whether `op` has the interfaces of this dialect that its name has. Arithmetic of upstream has them on matrices of
/// floats, casts on any tensors of floats; on scalars and other tensors these ops have none.
bool hasInterfaces(mlir::Operation *op);
} // namespace rapt::attn

#include "dialect/Attn/AttnInterfaces.h.inc"

namespace rapt::attn {
/// Whether the tensors have the same shapes, whatever their elements are.
bool haveSameShapes(mlir::TypeRange first, mlir::TypeRange second);
} // namespace rapt::attn

namespace rapt::attn {
/// An op whose first result has the element type of its first operand.
template <typename Op> class KeepsElementType : public mlir::OpTrait::TraitBase<Op, KeepsElementType> {};
/// An op that the stage tiled may still have, as it is: a declaration, or an op on tiles.
template <typename Op> class StaysInTiles : public mlir::OpTrait::TraitBase<Op, StaysInTiles> {};
/// An op that the stage backend may still have, as it is.
template <typename Op> class StaysInHostProgram : public mlir::OpTrait::TraitBase<Op, StaysInHostProgram> {};
/// An op with regions that compute one element each and end in attn.yield.
template <typename Op> class ComputesElements : public mlir::OpTrait::TraitBase<Op, ComputesElements> {};
} // namespace rapt::attn

#define GET_OP_CLASSES
#include "dialect/Attn/AttnOps.h.inc"

namespace rapt::attn {
/// Whether `op` is of this dialect, or arithmetic of upstream that has its interfaces.
bool isAttnOp(mlir::Operation *op);
/// Emits `tensor`, a tensor of floats, with elements of the type `element`: rounded to nearest, ties to even.
mlir::Value emitCast(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor, mlir::Type element);
/// Whether a module holds bare kernels: functions on arrays of the caller, without a model and its parameters.
bool isKernelModule(mlir::Operation *module);
/// Emits `kind`(x) for an f32 scalar or vector with arith and math ops.
mlir::Value emitActivation(mlir::OpBuilder &builder, mlir::Location loc, ActivationKind kind, mlir::Value x);
/// A splat constant of x's type (f32 scalar or vector/tensor of f32).
mlir::Value emitConstantLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, double value);
} // namespace rapt::attn
