//===- AttnDialect.h - The attention dialect ---------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/MathExtras.h"

#include "dialect/Attn/AttnAttrInterfaces.h.inc"
#include "dialect/Attn/AttnDialect.h.inc"
#include "dialect/Attn/AttnEnums.h.inc"
#include "dialect/Attn/AttnTypeEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/Attn/AttnAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/Attn/AttnTypes.h.inc"

namespace rapt::attn {
/// Values of the module attribute attn.stage, in order.
inline constexpr llvm::StringLiteral kStages[] = {"imported", "canonical", "laid-out",
                                                  "tiled",    "backend",   "llvm-dialect"};
} // namespace rapt::attn
