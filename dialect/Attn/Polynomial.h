//===- Polynomial.h - Sizes as polynomials over dims -------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rapt::attn {

/// A polynomial over named numbers: `3 tokens tokens + 5 rows + 7`. Names are dims of an entry, "dim/16" for a dim
/// divided and rounded down, or counts that are known when the entry runs. A polynomial that cannot be told, or whose
/// numbers leave 2^52, is unknown, and so is all that is made of it.
class Polynomial {
public:
  Polynomial() = default; ///< 0
  Polynomial(int64_t number);
  static Polynomial of(std::string name);
  static Polynomial unknown();
  /// An extent's text: "rows+1", "height/16*width/16+1".
  static Polynomial parse(llvm::StringRef text);

  bool isKnown() const { return known; }
  std::optional<int64_t> asNumber() const;
  Polynomial operator+(const Polynomial &other) const;
  Polynomial operator*(const Polynomial &other) const;
  Polynomial operator-(const Polynomial &other) const { return *this + other * Polynomial(-1); }
  /// Rounded down. Known without a rest and by one product, and for a number or a single name by a number.
  Polynomial dividedBy(const Polynomial &divisor) const;

  /// [[3, "tokens", "tokens"], [5, "rows"], [7]]; [] for 0. Nothing where it is unknown.
  mlir::Attribute asAttribute(mlir::MLIRContext *context) const;
  /// The polynomial that asAttribute wrote; unknown for any other attribute, and for none.
  static Polynomial fromAttribute(mlir::Attribute attribute);

private:
  Polynomial dividedExactly(const Polynomial &divisor) const;
  void add(const std::vector<std::string> &names, int64_t number);

  bool known = true;
  std::map<std::vector<std::string>, int64_t> terms; ///< sorted names; no number is 0
};

} // namespace rapt::attn
