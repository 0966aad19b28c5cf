//===- AttnDialect.h - The attention dialect ---------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include "dialect/Attn/AttnDialect.h.inc"
#include "dialect/Attn/AttnEnums.h.inc"
#include "dialect/Attn/AttnTypeEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/Attn/AttnAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/Attn/AttnTypes.h.inc"

namespace rapt::attn {
/// Columns of a panel, the width every packed layout is padded to.
inline constexpr int64_t kPanel = 32;
inline int64_t padToPanel(int64_t n) { return (n + kPanel - 1) / kPanel * kPanel; }
} // namespace rapt::attn
