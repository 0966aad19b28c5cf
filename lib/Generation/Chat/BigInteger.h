//===- BigInteger.h - Integers without a limit of size ---------------------===//
//
// Python's integers have none, and templates see those of JSON and their own.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::chat {

/// A sign and digits of 32 bits, the lowest first, without zeros at the top.
class BigInteger {
public:
  BigInteger() = default;
  BigInteger(int64_t value);
  /// The integer part of a finite number.
  static BigInteger ofReal(double value);
  /// Digits of a base from 2 to 36 alone.
  static BigInteger ofDigits(std::string_view digits, unsigned base);

  bool isZero() const { return digits.empty(); }
  bool isNegative() const { return negative; }
  bool isOdd() const { return !digits.empty() && digits[0] % 2; }
  size_t bits() const { return digits.size() * 32; }
  std::optional<int64_t> small() const;
  /// The nearest double; an infinity beyond the largest.
  double real() const;
  std::string text(unsigned base = 10) const;

  friend BigInteger operator-(BigInteger value);
  friend BigInteger operator+(const BigInteger &a, const BigInteger &b);
  friend BigInteger operator-(const BigInteger &a, const BigInteger &b) { return a + -b; }
  friend BigInteger operator*(const BigInteger &a, const BigInteger &b);
  friend int compare(const BigInteger &a, const BigInteger &b);
  friend bool operator==(const BigInteger &a, const BigInteger &b) = default;
  /// As Python divides: the quotient is rounded down, the remainder has the divisor's sign. `divisor` is not zero.
  static void divide(const BigInteger &value, const BigInteger &divisor, BigInteger &quotient, BigInteger &remainder);

private:
  void trim();
  /// Divides the digits, and returns the remainder.
  uint32_t divideDigits(uint32_t divisor);

  bool negative = false;
  std::vector<uint32_t> digits;
};

} // namespace rapt::chat
