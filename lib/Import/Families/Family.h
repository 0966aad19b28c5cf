//===- Family.h - Interface of every family -----------------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

/// Reads the config, asks for tensors, builds the module of stage `imported`.
using FamilyFunction = ImportedModule(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                      const ImportOptions &options);

#define RAPT_FAMILY(MODEL_TYPE, FUNCTION, KEYS) FamilyFunction FUNCTION;
#define RAPT_DECODER(MODEL_TYPE, FAMILY, KEYS) extern const DecoderFamily FAMILY;
#include "lib/Import/Families/Families.def"
#undef RAPT_FAMILY
#undef RAPT_DECODER

/// Compiles the text part of a model of Mistral AI that takes images, too: one of mistral3, or a llava with a tower of
/// pixtral.
ImportedModule importMistralWhole(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                  const ImportOptions &options, std::string_view architecture);

} // namespace rapt::importing
