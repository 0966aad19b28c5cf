//===- Sum.h - Sizes as sums of products of dims ----------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rapt {

/// A sum of products of named numbers: `3 tokens tokens + 5 rows + 7`. Names are dims of an entry, "dim/16" for a dim
/// divided and rounded down, or counts that are known when the entry runs. A sum that cannot be told, or whose numbers
/// leave 2^52, is unknown, and so is all that is made of it.
class Sum {
public:
  Sum() = default; ///< 0
  Sum(int64_t number);
  static Sum of(std::string name);
  static Sum unknown();
  /// An extent's text: "rows+1", "height/16*width/16+1".
  static Sum parse(llvm::StringRef text);

  bool isKnown() const { return known; }
  std::optional<int64_t> asNumber() const;
  Sum operator+(const Sum &other) const;
  Sum operator*(const Sum &other) const;
  Sum operator-(const Sum &other) const { return *this + other * Sum(-1); }
  /// Rounded down. Known without a rest and by one product, and for a number or a single name by a number.
  Sum dividedBy(const Sum &divisor) const;

  /// [[3, "tokens", "tokens"], [5, "rows"], [7]]; [] for 0. Nothing where it is unknown.
  mlir::Attribute asAttribute(mlir::MLIRContext *context) const;

private:
  Sum dividedExactly(const Sum &divisor) const;
  void add(const std::vector<std::string> &names, int64_t number);

  bool known = true;
  std::map<std::vector<std::string>, int64_t> terms; ///< sorted names; no number is 0
};

} // namespace rapt
