//===- ImportOptions.h - Bounds of the program to make ----------*- C++ -*-===//
#pragma once
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>

namespace rapt {

/// Bounds of the program to make. The checkpoint decides everything else.
struct ImportOptions {
  int64_t maxSequenceLength = 0; ///< positions of one sequence; 0: as many as the model has
  int64_t maxBatch = 64;         ///< sequences of one step
  int64_t maxTokens = 65536;     ///< tokens of one step over all its sequences
  int64_t cacheBlock = 64;       ///< positions of one block of the key/value cache
  /// Attention's weights will be outputs (attn-request-attention-outputs): images are no larger than the model's own,
  /// or its processor's.
  bool attentionWeights = false;
  /// The type in which weights will be stored, where it is another one than the checkpoint's. Some constants are
  /// rounded to it, as the model's classes make them in the type that the model is loaded in.
  std::optional<artifact::DType> storage = {};
};

namespace importing {

/// A module of stage `imported`, or what is wrong with the model.
using ImportedModule = Expected<mlir::OwningOpRef<mlir::ModuleOp>>;

} // namespace importing
} // namespace rapt
