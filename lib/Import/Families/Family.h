//===- Family.h - Interface of every family -----------------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ImportOptions.h"

namespace rapt::importing {

/// Reads the config, asks for tensors, builds the module of stage `imported`.
using FamilyFunction = Expected<mlir::OwningOpRef<mlir::ModuleOp>>(mlir::MLIRContext &context,
                                                                   huggingface::ModelDescription &model,
                                                                   const ImportOptions &options);

#define RAPT_FAMILY(MODEL_TYPE, FUNCTION, KEYS) FamilyFunction FUNCTION;
#include "lib/Import/Families/Families.def"
#undef RAPT_FAMILY

} // namespace rapt::importing
