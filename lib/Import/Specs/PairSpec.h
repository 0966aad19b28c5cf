//===- PairSpec.h - The specification of two towers, of texts and images -*- C++ -*-===//
//
// A pair of encoders puts texts and images into one space, where the cosine of their vectors
// is how well they fit (Radford et al. 2021).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Parts/AttentionPool.h"
#include "lib/Import/Parts/PackedRows.h"
#include "lib/Import/Specs/EncoderSpec.h"
#include "lib/Import/Specs/VisionSpec.h"

namespace rapt::importing {

/// The encoder of texts. The norm behind its layers is that of texts' vectors.
struct TextTowerSpec : EncoderSpec {
  std::string projection;
  bool hasProjectionBias = false;
  std::optional<TokenChoice> vector; ///< the token that has a text's vector; nothing: the last one
  std::optional<int64_t> padding;    ///< the token that fills texts up to all positions; nothing: texts have any length
};

/// Two towers. Projections are parts without a prefix.
struct PairSpec {
  TextTowerSpec text;
  VisionSpec image;
  std::string imageProjection;           ///< empty: none
  std::optional<AttentionPoolSpec> pool; ///< of an image's tokens; without it the first token is the image's
  int64_t width = 0;                     ///< of the vectors
  /// Tensors of one element: the exponential of the first is times the cosine, the second is added; empty: none. The
  /// numbers are theirs where there is no checkpoint.
  std::string scale, bias;
  double defaultScale = 0, defaultBias = 0;
  bool areIndependent =
      false; ///< the sigmoid of a logit is the probability that a text fits, instead of the softmax of all
  std::vector<std::string_view> harmlessKeys, ignoredTensors;
};

/// The module of stage `imported` of a pair, with the entries encode_text, encode_image and compare; errors are those
/// of the config, which `spec` was read from.
ImportedModule importPair(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                          const ImportOptions &options, PairSpec spec);

} // namespace rapt::importing
