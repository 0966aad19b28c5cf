//===- QwenVision.h - The encoder of images of qwen3_vl and qwen3_5 -------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/TextPart.h"
#include "lib/Import/Specs/VisionLanguage.h"

namespace rapt::importing {

/// A model of the encoder and a decoder.
struct QwenVisionFamily {
  std::string_view architecture; ///< of a whole model
  std::span<const TextFamily> texts;
  int64_t imageId; ///< without the key
  int64_t width;   ///< of vectors, without the key
};

/// The module of a decoder that reads images.
ImportedModule importQwenVision(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                const ImportOptions &options, const QwenVisionFamily &family);

} // namespace rapt::importing
