//===- Passes.h - Conversions between dialects ------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace rapt {
class CacheAccess;
#define GEN_PASS_DECL
#include "lib/Conversion/Passes.h.inc"

/// The same with the layout of the cache, which must outlive the pass.
std::unique_ptr<mlir::Pass> createAttnToLinalg(const CacheAccess *cache);
} // namespace rapt
