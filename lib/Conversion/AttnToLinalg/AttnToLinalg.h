//===- AttnToLinalg.h - Neutral decompositions of attn ---------------------------*- C++ -*-===//
//
// Every op of attn as linalg, tensor, arith, math and scf on tensors of logical shapes. No
// target is known here: what a target lays out by itself, the cache, it tells by a CacheAccess.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Conversion/Tensors.h"
#include "mlir/IR/PatternMatch.h"

namespace rapt {

/// How code reads caches in a target's layout.
class CacheReader {
public:
  enum Part { Keys, Values };
  virtual ~CacheReader() = default;

  /// Whether caches of a layout are read.
  virtual bool knows(attn::CacheLayoutInterface layout) const = 0;
  /// Keys of one head in a block, or values, [positions, channels] of some float type. `slice` is what the pool has of
  /// them (CacheLayoutInterface::getHeadShape).
  virtual mlir::Value read(mlir::ImplicitLocOpBuilder &b, attn::CacheLayoutInterface layout, mlir::Value slice,
                           Part part, int64_t channels) const = 0;
};

/// The same, and how it is written.
class CacheAccess : public CacheReader {
public:
  /// `slice`, positions of one head in one block of a pool, [1, 1, 1, parts, ...], with the key or value of one
  /// position of them: a tensor [1, 1, channels] of f32. Where rows `canBeSplit`, both may have the same part of the
  /// channels.
  virtual mlir::Value write(mlir::ImplicitLocOpBuilder &b, attn::CacheLayoutInterface layout, mlir::Value slice,
                            Part part, mlir::Value position, mlir::Value row) const = 0;
  /// Whether elements of `type` are written each on its own.
  virtual bool canBeSplit(mlir::Type type) const = 0;
};

/// The decompositions of ops other than those on a cache; attention may read one by `cache`.
void populateAttnToLinalgPatterns(mlir::RewritePatternSet &patterns, const CacheReader *cache);
namespace neutral {
/// The scale of a group of numbers whose largest magnitude is `largest`, and its inverse (docs/Semantics.md).
std::pair<mlir::Value, mlir::Value> groupScale(mlir::ImplicitLocOpBuilder &b, mlir::Value largest);
/// The code of x, an integer in f32.
mlir::Value codeOf(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value inverse);
/// Rows that quantize_rows rounds, as the numbers that their codes stand for: of the input's type.
mlir::Value roundedRows(mlir::ImplicitLocOpBuilder &b, attn::QuantizeRowsOp op);
} // namespace neutral

} // namespace rapt
