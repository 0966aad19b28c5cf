//===- ConvSpec.h - The specification of a convolutional encoder of images -*- C++ -*-===//
//
// Liu et al. 2022, "A ConvNet for the 2020s": stages of layers, each a convolution of every
// channel alone and a feed-forward. Tensors have the names of convnext.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Specs/VisionSpec.h"

namespace rapt::importing {

struct ConvStage {
  int64_t width, layers;
};

struct ConvSpec : ImageSpec {
  std::vector<ConvStage> stages; ///< each but the first halves the images' sides
  attn::ActivationKind activation = attn::ActivationKind::gelu;
  NormSpec norm = {.kind = NormSpec::Layer, .epsilon = 1e-6, .hasBias = true}; ///< of layers and ahead of stages
  NormSpec finalNorm = norm;                                                   ///< of the pixels' mean
  bool hasScale = true;         ///< layers scale the columns of what they add
  bool hasResponseNorm = false; ///< of the columns between a layer's two matmuls

  int64_t width() const { return stages.back().width; }
  /// Pixels of the image along a side of a pixel of the last stage.
  int64_t stride() const { return patch << (stages.size() - 1); }
};

/// The module of stage `imported` of a convolutional encoder of images; errors are those of the config, which `spec`
/// was read from.
ImportedModule importConv(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                          const ImportOptions &options, const ConvSpec &spec);

} // namespace rapt::importing
