//===- AttnDialect.h - The attention dialect ---------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/QuantizedCode.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/MathExtras.h"

#include "dialect/Attn/AttnAttrInterfaces.h.inc"
#include "dialect/Attn/AttnDialect.h.inc"
#include "dialect/Attn/AttnEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/Attn/AttnAttrs.h.inc"

namespace rapt::attn {
/// The size and the type of a key or a value, of which a cache keeps one for each head and position.
struct KVPart {
  int64_t channels;
  mlir::Type element; ///< f32, bf16, f16, or i8 for quantized values with a scale

  bool operator==(const KVPart &) const = default;
  /// The element type that a view gives: f32 of codes, else the cache's own.
  mlir::Type viewElement() const;
};

/// The name that users give an element type of a cache: "f32", "bf16", "f16" or "int8".
llvm::StringRef nameOfStorage(mlir::Type element);

/// Equal layers of a cache.
struct KVSegment {
  int64_t layers, heads;
  KVPart keys, values;

  bool operator==(const KVSegment &) const = default;
  bool isUniform() const { return keys == values; }
};

llvm::hash_code hash_value(const KVSegment &segment);

/// The most positions of a block and channels of a head that a layout of a cache may have.
inline constexpr int64_t kMostCacheExtent = int64_t(1) << 27;
/// Reports a number of positions or channels that no layout of a cache may have.
mlir::LogicalResult verifyCacheExtents(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, int64_t positions,
                                       int64_t keys, int64_t values);
} // namespace rapt::attn

#define GET_TYPEDEF_CLASSES
#include "dialect/Attn/AttnTypes.h.inc"

namespace rapt::attn {
/// The memory of a segment in a layout: a pool of keys and values, or, where they differ, one of each.
llvm::SmallVector<mlir::RankedTensorType, 2> poolsOf(CacheLayoutInterface layout, const KVSegment &segment);

/// Values of the module attribute attn.stage, in order.
inline constexpr llvm::StringLiteral kStages[] = {"imported", "canonical", "laid-out",
                                                  "tiled",    "backend",   "llvm-dialect"};

/// A schedule's number is from 1 to so many.
inline constexpr int64_t kMostNumber = (int64_t(1) << 31) - 1;
mlir::FailureOr<int64_t> parseNumber(mlir::AsmParser &parser);
/// Numbers in brackets, at least one.
mlir::FailureOr<llvm::SmallVector<int64_t>> parseNumbers(mlir::AsmParser &parser);
void printNumbers(mlir::AsmPrinter &printer, llvm::ArrayRef<int64_t> numbers);

/// The schedule of `op`; null where it has none of the kind.
template <typename Schedule = ScheduleInterface> Schedule scheduleOf(mlir::Operation *op) {
  return mlir::dyn_cast_if_present<Schedule>(op->getDiscardableAttr(AttnDialect::scheduleAttr));
}
} // namespace rapt::attn
