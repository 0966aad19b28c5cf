//===- Import.h - A checkpoint becomes attn IR --------------------------*- C++ -*-===//
#pragma once
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>
#include <string_view>
#include <vector>

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

/// Makes the module of stage `imported` of a model, by its config's model_type. Parameters have the checkpoint's
/// storage types (vectors f32). Nothing in the module depends on where the model lies. Loads the dialects it needs into
/// `context`.
///
/// Errors name the file and every wrong key or tensor at once; an unknown model_type is told the supported one of most
/// of its keys. Findings that need no stop (an end-of-text id that the vocabulary lacks) are warnings of the context.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importModel(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options = {});

/// Fails where no family understands the model: its model_type is unknown. Says which family has most of its keys.
Status checkFamily(huggingface::ModelDescription &model);

/// The model_type values that importModel understands, sorted.
std::vector<std::string_view> listFamilies();

} // namespace rapt
