//===- OwnInputs.h - Inputs that each layer has of its own ----------------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// What layers read of the tokens, `ids`, and of the first layer's input, x [tokens, width].
struct OwnInputs {
  mlir::Value columns; ///< what a projection makes of x, [tokens, layers, columns]
  mlir::Value rows;    ///< each token's first row of a table that has those of all layers, one behind another
};
OwnInputs walkOwnInputs(const Walk &walk, const StackSpec &stack, mlir::Value ids, mlir::Value x);

/// x plus what the layer makes of its input.
mlir::Value addOwnInput(const Walk &walk, const StackSpec &stack, mlir::Value x, const OwnInputs &inputs);

} // namespace rapt::importing
