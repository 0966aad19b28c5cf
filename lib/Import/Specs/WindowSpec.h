//===- WindowSpec.h - The specification of an encoder of images by windows -*- C++ -*-===//
//
// Liu et al. 2021, "Swin Transformer": stages of layers whose patches attend to those of
// their window. Tensors have the names of swin.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Parts/WindowGrid.h"
#include "lib/Import/Specs/VisionSpec.h"

namespace rapt::importing {

/// A stage is a stack of layers over a grid of patches; the next one's patches are 2 x 2 of its own.
struct WindowStage : StackSpec {
  WindowGrid grid;
  int64_t shift = 0; ///< of every second layer's windows; 0: none of them is shifted
  std::string biasTable = "attention.self.relative_position_bias_table";

  int64_t shiftOf(int64_t layer) const { return layer % 2 == 0 ? 0 : shift; }
};

/// All images are of one size.
struct WindowSpec : ImageSpec {
  std::vector<WindowStage> stages;
  NormSpec norm;      ///< of the last stage's patches
  NormSpec inputNorm; ///< of the first patches, and of those that become one

  const WindowStage &last() const { return stages.back(); }
};

/// The module of stage `imported` of an encoder of images by windows; errors are those of the config, which `spec` was
/// read from.
ImportedModule importWindows(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                             const ImportOptions &options, const WindowSpec &spec);

} // namespace rapt::importing
