//===- PairSpec.h - The specification of two towers, of texts and images -*- C++ -*-===//
//
// A pair of encoders puts texts and images into one space, where the cosine of their vectors
// tells how well they fit (Radford et al. 2021).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/VisionSpec.h"

namespace rapt::importing {

/// The encoder of texts. A text's vector is that of its last token, which ends it.
struct TextTowerSpec : StackSpec {
  int64_t vocabulary = 0, positions = 0;
  bool isCausal = false;
  std::string prefix = "text_model.", stack = "text"; ///< of tensors; the name of the layers' stack
  std::string words = "embeddings.token_embedding", positionTable = "embeddings.position_embedding";
  std::string finalNorm = "final_layer_norm", projection;
};

/// Two towers. Projections are parts without a prefix.
struct PairSpec {
  TextTowerSpec text;
  VisionSpec image;
  std::string imageProjection;
  int64_t width = 0;    ///< of the vectors
  std::string scale;    ///< the tensor whose exponential is times the cosine
  double usualScale = 0; ///< what it is without a checkpoint
  std::vector<std::string_view> harmlessKeys, ignoredTensors;
};

/// The module of stage `imported` of a pair, with the entries encode_text, encode_image and compare; errors are those
/// of the config, which `spec` was read from.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importPair(mlir::MLIRContext &context,
                                                       huggingface::ModelDescription &model,
                                                       const ImportOptions &options, PairSpec spec);

} // namespace rapt::importing
