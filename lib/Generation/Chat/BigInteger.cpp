//===- BigInteger.cpp ------------------------------------------------------===//
#include "lib/Generation/Chat/BigInteger.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace rapt::chat {

using Digits = std::vector<uint32_t>;

BigInteger::BigInteger(int64_t value) : negative(value < 0) {
  uint64_t size = negative ? -uint64_t(value) : uint64_t(value);
  digits = {uint32_t(size), uint32_t(size >> 32)};
  trim();
}

BigInteger BigInteger::ofReal(double value) {
  int exponent;
  double fraction = std::frexp(std::trunc(value), &exponent); // 53 bits
  BigInteger result(int64_t(std::ldexp(fraction, 53)));
  if (exponent <= 53)
    return BigInteger(int64_t(std::trunc(value)));
  BigInteger power(1), two(2);
  for (int i = 53; i < exponent; ++i)
    power = power * two;
  return result * power;
}

BigInteger BigInteger::ofDigits(std::string_view text, unsigned base) {
  BigInteger result;
  for (char c : text) {
    uint64_t carry = c <= '9' ? uint64_t(c - '0') : uint64_t((c | 32) - 'a' + 10);
    for (uint32_t &digit : result.digits) {
      carry += uint64_t(digit) * base;
      digit = uint32_t(carry);
      carry >>= 32;
    }
    if (carry)
      result.digits.push_back(uint32_t(carry));
  }
  result.trim();
  return result;
}

void BigInteger::trim() {
  while (!digits.empty() && digits.back() == 0)
    digits.pop_back();
  negative &= !digits.empty();
}

std::optional<int64_t> BigInteger::small() const {
  if (digits.size() > 2)
    return std::nullopt;
  uint64_t size = 0;
  for (size_t i = digits.size(); i-- > 0;)
    size = size << 32 | digits[i];
  if (size > uint64_t(INT64_MAX) + negative)
    return std::nullopt;
  return int64_t(negative ? -size : size);
}

double BigInteger::real() const {
  if (digits.size() > 1024 / 32)
    return negative ? -HUGE_VAL : HUGE_VAL;
  const std::string decimal = text();
  double value = 0;
  if (std::from_chars(decimal.data(), decimal.data() + decimal.size(), value).ec == std::errc())
    return value;
  return negative ? -HUGE_VAL : HUGE_VAL;
}

uint32_t BigInteger::divideDigits(uint32_t divisor) {
  uint64_t rest = 0;
  for (size_t i = digits.size(); i-- > 0;) {
    rest = rest << 32 | digits[i];
    digits[i] = uint32_t(rest / divisor);
    rest %= divisor;
  }
  trim();
  return uint32_t(rest);
}

std::string BigInteger::text(unsigned base) const {
  // As many digits at once as one division by 32 bits gives.
  uint32_t chunk = base;
  int count = 1;
  while (uint64_t(chunk) * base <= UINT32_MAX) {
    chunk *= base;
    ++count;
  }
  std::string text;
  BigInteger left = *this;
  left.negative = false;
  while (!left.isZero()) {
    uint32_t part = left.divideDigits(chunk);
    for (int i = 0; i < count && (part || !left.isZero()); ++i, part /= base)
      text += "0123456789abcdefghijklmnopqrstuvwxyz"[part % base];
  }
  if (text.empty())
    text = "0";
  if (negative)
    text += '-';
  std::reverse(text.begin(), text.end());
  return text;
}

BigInteger operator-(BigInteger value) {
  value.negative = !value.negative && !value.isZero();
  return value;
}

static int compareSizes(const Digits &a, const Digits &b) {
  if (a.size() != b.size())
    return a.size() < b.size() ? -1 : 1;
  for (size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i])
      return a[i] < b[i] ? -1 : 1;
  return 0;
}

static Digits added(const Digits &a, const Digits &b) {
  Digits sum;
  uint64_t carry = 0;
  for (size_t i = 0; i < std::max(a.size(), b.size()) || carry; ++i) {
    carry += (i < a.size() ? uint64_t(a[i]) : 0) + (i < b.size() ? b[i] : 0);
    sum.push_back(uint32_t(carry));
    carry >>= 32;
  }
  return sum;
}

/// `a` less `b`, which is not larger.
static Digits subtracted(const Digits &a, const Digits &b) {
  Digits difference = a;
  int64_t borrow = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t digit = int64_t(a[i]) - (i < b.size() ? b[i] : 0) - borrow;
    borrow = digit < 0;
    difference[i] = uint32_t(digit);
  }
  return difference;
}

BigInteger operator+(const BigInteger &a, const BigInteger &b) {
  BigInteger result;
  if (a.negative == b.negative) {
    result.digits = added(a.digits, b.digits);
    result.negative = a.negative;
  } else {
    bool aIsLarger = compareSizes(a.digits, b.digits) >= 0;
    const BigInteger &larger = aIsLarger ? a : b, &other = aIsLarger ? b : a;
    result.digits = subtracted(larger.digits, other.digits);
    result.negative = larger.negative;
  }
  result.trim();
  return result;
}

BigInteger operator*(const BigInteger &a, const BigInteger &b) {
  BigInteger result;
  result.digits.assign(a.digits.size() + b.digits.size(), 0);
  for (size_t i = 0; i < a.digits.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.digits.size() || carry; ++j) {
      carry += result.digits[i + j] + uint64_t(a.digits[i]) * (j < b.digits.size() ? b.digits[j] : 0);
      result.digits[i + j] = uint32_t(carry);
      carry >>= 32;
    }
  }
  result.negative = a.negative != b.negative;
  result.trim();
  return result;
}

int compare(const BigInteger &a, const BigInteger &b) {
  if (a.negative != b.negative)
    return a.negative ? -1 : 1;
  int sizes = compareSizes(a.digits, b.digits);
  return a.negative ? -sizes : sizes;
}

void BigInteger::divide(const BigInteger &value, const BigInteger &divisor, BigInteger &quotient,
                        BigInteger &remainder) {
  quotient = remainder = {};
  quotient.digits.assign(value.digits.size(), 0);
  BigInteger size = divisor;
  size.negative = false;
  // One bit after the other: numbers of templates are short.
  for (size_t bit = value.bits(); bit-- > 0;) {
    remainder.digits = added(remainder.digits, remainder.digits);
    if (value.digits[bit / 32] >> (bit % 32) & 1)
      remainder = remainder + BigInteger(1);
    remainder.trim();
    if (compareSizes(remainder.digits, size.digits) >= 0) {
      remainder = remainder - size;
      quotient.digits[bit / 32] |= 1u << (bit % 32);
    }
  }
  quotient.negative = value.negative != divisor.negative;
  quotient.trim();
  remainder.negative = value.negative && !remainder.isZero();
  if (!remainder.isZero() && value.negative != divisor.negative) { // rounded toward zero so far
    quotient = quotient - BigInteger(1);
    remainder = remainder + divisor;
  }
}

} // namespace rapt::chat
