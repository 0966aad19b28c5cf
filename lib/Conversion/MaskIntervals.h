//===- MaskIntervals.h - Intervals of a mask tell which keys of a block it keeps ----------*- C++ -*-===//
//
// A mask region is evaluated once for a rectangle of queries and keys instead of once for each of
// its elements: every index and integer becomes the interval of its values, every i1 the pair (true
// for all elements, true for some). A block of which no element is kept is skipped (A23); a block of which
// all are kept needs no mask. Sound for every region, exact where comparisons of q and kv with
// numbers are joined by `and`, `or` and `not`.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Conversion/Tensors.h"
#include <optional>

namespace rapt::tile {

/// A number where it is known while code is made; else an index, or an i1, for which the number is 0 or 1.
using Scalar = std::variant<int64_t, Value>;

/// No element is below `low` or above `high`. An i1 has whether all elements are true, and whether some are.
struct Interval {
  Scalar low, high;
};

/// An argument of a mask region at a rectangle, as far as it is known.
struct MaskArgument {
  std::optional<Interval> interval; ///< of an element
  Value table = {};                 ///< an extra operand that the region reads whole
};

/// i1: whether the mask keeps some element, and whether it keeps all.
struct Kept {
  Scalar some, all;
};

/// The answer of a mask region for a rectangle whose b, h, q, kv and elements of extra operands are `arguments`. Code
/// is made at `b`; without code, every argument is a number and nothing from outside of the region is known.
Kept keptBy(mlir::Region &mask, llvm::ArrayRef<MaskArgument> arguments, ImplicitLocOpBuilder *b);

/// keptBy with code, for a rectangle of the positions `indices` of b, h, q and kv; `rangeOf` gives the interval of the
/// elements of extra operand `i`, which the region reads.
Kept keptBy(ImplicitLocOpBuilder &b, mlir::Region &mask, llvm::ArrayRef<Interval> indices, ValueRange extras,
            llvm::function_ref<std::optional<Interval>(unsigned i)> rangeOf);

/// The interval of `count` positions from `first` on.
Interval between(ImplicitLocOpBuilder &b, Value first, Value count);

/// Whether keptBy can tell anything of a block where it knows the intervals of the arguments that are `known`.
bool mayTellKept(mlir::Region &mask, llvm::ArrayRef<bool> known);

/// A scalar as an index, or as an i1.
Value asIndex(ImplicitLocOpBuilder &b, Scalar scalar);
Value asBool(ImplicitLocOpBuilder &b, Scalar scalar);
inline bool isNumber(Scalar scalar, int64_t number) { return scalar == Scalar(number); }

using ValuesBody = llvm::function_ref<llvm::SmallVector<Value>(ImplicitLocOpBuilder &)>;

/// The values of `types` that `body` gives where `condition` is true, else those of `otherwise`.
llvm::SmallVector<Value> where(ImplicitLocOpBuilder &b, Scalar condition, mlir::TypeRange types, ValuesBody body,
                               ValuesBody otherwise);
/// The values that `body` gives where `condition` is true, else `otherwise`.
llvm::SmallVector<Value> where(ImplicitLocOpBuilder &b, Scalar condition, ValueRange otherwise, ValuesBody body);

} // namespace rapt::tile
