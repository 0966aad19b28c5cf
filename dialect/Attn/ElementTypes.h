//===- ElementTypes.h - Element types of an op's tensors ----------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/Value.h"

namespace rapt::attn {

/// How an op reads a tensor of floats.
enum class ElementUse {
  computed, ///< The op computes with the numbers in f32: an activation, which may as well be f32.
  stored,   ///< An activation that is read as it is stored, in any type.
  fixed,    ///< No activation, or one that is updated in place: its type is not chosen.
  factors   ///< Numbers by which the op multiplies an activation, such as cosines and sines: computed with in f32, too,
            ///< but their type is not chosen, and a layout adds no columns, as the op counts by them.
};

/// Where the element type of a result comes from.
enum class ElementSource {
  rounded, ///< The op computes in f32 and rounds: the type may be chosen.
  f32,     ///< The same, but the numbers need f32: they are cast where they meet another type.
  updated, ///< A tensor of the operands that is updated in place, or log-sum-exp: what has its type stays f32.
  given    ///< A parameter or memory.
};

/// Tensors of an op that have one element type, first the one that tells it.
using EqualTypes = llvm::SmallVector<mlir::Value>;

/// The facts of ElementTypesOpInterface about an op; an op without it computes with all operands and rounds all
/// results, and its traits tell which have one type.
ElementUse elementUseOf(mlir::OpOperand &operand);
ElementSource elementSourceOf(mlir::Value result);
bool movesNumbers(mlir::Operation *op);
llvm::SmallVector<EqualTypes> equalTypesOf(mlir::Operation *op);
/// The lists that traits tell: upstream's SameOperandsAndResultType, KeepsElementType.
llvm::SmallVector<EqualTypes> equalTypesByTraits(mlir::Operation *op);

} // namespace rapt::attn
