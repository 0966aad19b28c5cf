//===- Mixers.h - Recurrences and convolutions in the place of attention -*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// What the sequences of a step keep between its tokens and the next ones: the tensors `state` and `conv_state` of the
/// entry, which the layer replaces by its own; null of a model without them, and of an entry that reads whole texts.
struct MixerStates {
  mlir::Value rowBegin, from = {}, to = {};
  mlir::Value matrices = {}, inputs = {};
  LayerNumbers matrixLayers = {}, inputLayers = {}; ///< those that have a place in the tensors
  mlir::Value ids = {};                             ///< of the tokens, where convolutions are centered
};

/// x [tokens, columns] times a number; `part` has the op.
mlir::Value timesNumber(const Walk &walk, mlir::Value x, double factor, const std::string &part);

/// The short convolution of x [tokens, channels], of the sequences and with the last inputs of `states`, which may be
/// null where weights are declared. A centered one has no last inputs.
mlir::Value walkShortConvolution(const Walk &walk, const ShortConvSpec &spec, mlir::Value x, int64_t channels,
                                 MixerStates *states);

/// log(1 + e^x) of a scalar, without a loss of small ones.
mlir::Value softplus(const Scope &inner, mlir::Location loc, mlir::Value x);

/// x [tokens, width] to what the layer adds to it. `states` may be null where weights are declared.
mlir::Value walkStateSpace(const Walk &walk, const StackSpec &stack, mlir::Value x, MixerStates *states);
mlir::Value walkDeltaRule(const Walk &walk, const StackSpec &stack, mlir::Value x, MixerStates *states);
mlir::Value walkGatedConvolution(const Walk &walk, const StackSpec &stack, mlir::Value x, MixerStates *states);

} // namespace rapt::importing
