//===- Activation.h - Activations in configs of Rapt's own schemas -------------===//
#pragma once
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include "lib/Import/Parts/Blocks.h"

namespace rapt::importing {

/// One of activationNames(), or leaky_relu.
struct Activation {
  attn::ActivationKind kind = attn::ActivationKind::relu;
  std::optional<double> slope = {}; ///< of leaky_relu below 0
};

/// The keys `activation` and, of leaky_relu, `negative_slope`.
Activation readActivation(huggingface::ConfigReader &reader, const char *usual);

/// The activation of a matmul's result, which nothing else uses.
mlir::Value activate(const Scope &scope, mlir::Location loc, mlir::Value result, const Activation &activation);

} // namespace rapt::importing
