//===- Mistral.h - Decoders of Mistral AI ------------------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

/// Compiles the text part of a model that takes images, too: one of mistral3, or a llava with a tower of pixtral.
ImportedModule importMistralWhole(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                  const ImportOptions &options, std::string_view architecture);

} // namespace rapt::importing
