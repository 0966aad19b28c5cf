//===- Mistral.h - Decoders of Mistral AI ------------------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

/// Keys of the config that change nothing.
extern const std::vector<std::string_view> mistralKeys, ministral3Keys;

/// Read the specification; errors are recorded in the config.
DecoderSpec readMistral(const DecoderSource &source);
DecoderSpec readMinistral3(const DecoderSource &source);

/// Compiles the text part of a model that takes images, too: one of mistral3, or a llava with a tower of pixtral.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importMistralWhole(mlir::MLIRContext &context,
                                                               huggingface::ModelDescription &model,
                                                               const ImportOptions &options,
                                                               std::string_view architecture);

} // namespace rapt::importing
