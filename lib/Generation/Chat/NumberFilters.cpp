//===- NumberFilters.cpp - Filters of numbers ------------------------------===//
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Formatting.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Operators.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace rapt::chat {

static Value absolute(Call &call) {
  if (!call.self.isNumber())
    return call.self.is(Kind::Undefined) ? call.run.fail(call.self.why())
                                         : call.fail("of " + std::string(typeName(call.self)));
  if (call.self.is(Kind::Float))
    return Value::of(std::fabs(call.self.real()));
  return Value::of(call.self.big().isNegative() ? -call.self.big() : call.self.big());
}

/// The number that a value is, or its text tells.
static std::optional<double> realOf(Call &call) {
  if (call.self.is(Kind::Undefined))
    call.run.fail(call.self.why());
  if (call.self.isNumber())
    return call.self.real();
  const bool isText = call.self.is(Kind::String) && call.self.text().size() <= call.run.bounds.digits;
  return isText && call.run.spendText(call.self.text().size()) ? readReal(call.self.text()) : std::nullopt;
}

static Value otherwise(Call &call, Value zero) { return call.has(0) ? call[0] : zero; }

static Value integer(Call &call) {
  if (call.self.isWhole())
    return Value::of(call.self.big());
  int64_t base = call.integer(1, 10);
  bool isText = call.self.is(Kind::String) && call.self.text().size() <= call.run.bounds.digits;
  constexpr size_t bitsOfDigit = 4;
  if (isText && (base == 0 || (base >= 2 && base <= 36)) && call.run.spendNumber(bitsOfDigit * call.self.text().size()))
    if (std::optional<BigInteger> number = readInteger(call.self.text(), unsigned(base)))
      return call.run.number(*number);
  std::optional<double> number = realOf(call);
  if (!number || std::isnan(*number))
    return otherwise(call, Value::of(int64_t(0)));
  return std::isinf(*number) ? call.fail("of an infinity") : call.run.number(BigInteger::ofReal(*number));
}

static Value real(Call &call) {
  std::optional<double> number = realOf(call);
  if (call.self.isWhole() && number && std::isinf(*number))
    return call.fail("of a number that is too large");
  return number ? Value::of(*number) : otherwise(call, Value::of(0.0));
}

/// A whole number to tens, hundreds and so on; a half goes to the even one.
static Value roundedInteger(Call &call, const BigInteger &number, int64_t digits) {
  if (digits >= 0)
    return Value::of(number);
  if (-digits > int64_t(call.run.bounds.digits))
    return Value::of(int64_t(0));
  BigInteger unit(1), quotient, remainder;
  for (int64_t i = digits; i < 0; ++i)
    unit = unit * BigInteger(10);
  BigInteger::divide(number, unit, quotient, remainder);
  int order = compare(remainder + remainder, unit);
  return call.run.number((order > 0 || (order == 0 && quotient.isOdd()) ? quotient + BigInteger(1) : quotient) * unit);
}

static double roundedReal(double number, int64_t digits) {
  if (!std::isfinite(number) || digits > 330)
    return number;
  if (digits >= 0) { // the decimal digits of a double are rounded as it is, a half to the even one
    std::string text = fixed(number, int(digits));
    double value = number;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  double unit = std::pow(10.0, double(-digits));
  return std::isinf(unit) ? std::copysign(0.0, number) : std::nearbyint(number / unit) * unit;
}

static Value round(Call &call) {
  if (!call.self.isNumber())
    return call.self.is(Kind::Undefined) ? call.run.fail(call.self.why())
                                         : call.fail("of " + std::string(typeName(call.self)));
  int64_t digits = std::clamp<int64_t>(call.integer(0, 0), -5000, 5000);
  Text method = call.has(1) && call.text(1) ? *call.text(1) : U"common";
  if (sameText(method, U"common")) {
    if (call.self.isWhole())
      return roundedInteger(call, call.self.big(), digits);
    return Value::of(roundedReal(call.self.real(), digits));
  }
  bool up = sameText(method, U"ceil");
  if (call.run.failed() || (!up && !sameText(method, U"floor")))
    return call.fail("knows the methods common, ceil and floor");
  double unit = std::pow(10.0, double(digits)), scaled = call.self.real() * unit;
  if (!std::isfinite(scaled))
    return call.fail("of a number that is too large");
  return Value::of((up ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

static Value fileSize(Call &call) {
  std::optional<double> bytes = realOf(call);
  if (!bytes)
    return call.fail("of " + std::string(typeName(call.self)));
  bool binary = call.flag(0);
  double base = binary ? 1024 : 1000, unit = base;
  if (*bytes == 1)
    return Value::of("1 Byte");
  if (*bytes < base)
    return Value::of(BigInteger::ofReal(*bytes).text() + " Bytes");
  std::string prefixes = binary ? "KMGTPEZY" : "kMGTPEZY";
  char prefix = 0;
  for (char next : prefixes) {
    prefix = next;
    unit *= base;
    if (*bytes < unit)
      break;
  }
  return Value::of(fixed(base * *bytes / unit, 1) + " " + prefix + (binary ? "iB" : "B"));
}

Table numberFilters() {
  static constexpr Routine all[] = {
      {"abs", "", absolute},
      {"filesizeformat", "binary?", fileSize},
      {"float", "default?", real},
      {"int", "default? base?", integer},
      {"round", "precision? method?", round},
  };
  return all;
}

} // namespace rapt::chat
