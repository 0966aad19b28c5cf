//===- Operators.cpp -------------------------------------------------------===//
#include "lib/Generation/Chat/Operators.h"
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Formatting.h"
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>
#include <cmath>

namespace rapt::chat {

Text besideMarkup(Run &run, const Value &value) {
  return value.isMarkup() ? shown(run, value) : escaped(shown(run, value));
}

Value concatenated(Run &run, const List &parts) {
  bool isMarkup = run.escapes && std::any_of(parts.begin(), parts.end(), [](auto &one) { return one.isMarkup(); });
  Text text;
  for (const Value &part : parts)
    if (!run.hasRoomFor(text.size()))
      return {};
    else
      text += isMarkup ? besideMarkup(run, part) : shown(run, part);
  return run.string(std::move(text), isMarkup);
}

static Value repeated(Run &run, const Value &what, const Value &count) {
  int64_t times = count.isSmall() ? std::max<int64_t>(count.integer(), 0) : count.big().isNegative() ? 0 : INT64_MAX;
  size_t length = what.is(Kind::String) ? what.text().size() : what.list().size();
  if (times > 0 && length > run.bounds.characters / size_t(times))
    return run.fail("repeats something " + std::to_string(times) + " times, which makes it too long");
  if (!run.spend(length * size_t(times) / (what.is(Kind::String) ? 8 : 1)))
    return {};
  Text text;
  List list;
  for (int64_t i = 0; i < times && length > 0; ++i)
    if (what.is(Kind::String))
      text += what.text();
    else
      list.insert(list.end(), what.list().begin(), what.list().end());
  return what.is(Kind::String) ? run.string(std::move(text), what.isMarkup())
                               : run.list(std::move(list), what.is(Kind::Tuple));
}

static Value power(Run &run, const Value &left, const Value &right) {
  BigInteger base = left.big(), result(1);
  if (right.big().isNegative())
    return base.isZero() ? run.fail("a division by zero") : Value::of(std::pow(left.real(), right.real()));
  bool isUnit = base.isZero() || base == BigInteger(1) || base == BigInteger(-1);
  if (isUnit)
    return Value::of(right.big().isZero() ? BigInteger(1) : right.big().isOdd() ? base : base * base);
  uint64_t times = right.isSmall() ? uint64_t(right.integer()) : UINT64_MAX;
  while (run.spend(base.bits() * (base.bits() + result.bits()) / 1024 + 1)) {
    if (times % 2)
      result = result * base;
    if ((times /= 2) == 0)
      return run.number(result);
    base = base * base;
    if (base.bits() > 2 * run.mostBits())
      return run.number(base); // fails, as what is left of the power would
  }
  return {};
}

static Value divided(Run &run, std::string_view sign, const Value &left, const Value &right) {
  if (sign == "/")
    return Value::of(double((long double)(left.real()) / (long double)(right.real())));
  if (left.isSmall() && right.isSmall() && right.integer() != -1) {
    int64_t a = left.integer(), b = right.integer();
    bool down = a % b != 0 && (a < 0) != (b < 0); // Python rounds down
    return Value::of(sign == "//" ? a / b - down : a % b + (down ? b : 0));
  }
  BigInteger quotient, remainder, value = left.big();
  if (!run.spend(value.bits() * value.bits() / 64 + 1))
    return {};
  BigInteger::divide(value, right.big(), quotient, remainder);
  return run.number(sign == "//" ? quotient : remainder);
}

static Value integers(Run &run, std::string_view sign, const Value &left, const Value &right) {
  if (sign == "**")
    return power(run, left, right);
  if (sign == "/" || sign == "//" || sign == "%")
    return divided(run, sign, left, right);
  int64_t a = left.integer(), b = right.integer(), result = 0;
  bool fits = left.isSmall() && right.isSmall() &&
              !(sign == "+"   ? __builtin_add_overflow(a, b, &result)
                : sign == "-" ? __builtin_sub_overflow(a, b, &result)
                              : __builtin_mul_overflow(a, b, &result));
  if (fits)
    return Value::of(result);
  BigInteger x = left.big(), y = right.big();
  if (!run.spend(sign == "*" ? x.bits() * y.bits() / 1024 + 1 : 1))
    return {};
  return run.number(sign == "+" ? x + y : sign == "-" ? x - y : x * y);
}

static Value reals(Run &run, std::string_view sign, double a, double b) {
  if (sign == "+")
    return Value::of(a + b);
  if (sign == "-")
    return Value::of(a - b);
  if (sign == "*")
    return Value::of(a * b);
  if (sign == "/")
    return Value::of(a / b);
  if (sign == "**") {
    if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
      return run.fail("a fractional power of a negative number");
    double result = std::pow(a, b);
    if (a == 0 && b < 0)
      return run.fail("a division by zero");
    return std::isinf(result) && std::isfinite(a) && std::isfinite(b) ? run.fail("a number is too large")
                                                                      : Value::of(result);
  }
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) {
    remainder += b;
    quotient -= 1;
  } else if (remainder == 0) {
    remainder = std::copysign(0.0, b);
  }
  double floor = std::floor(quotient);
  if (quotient - floor > 0.5)
    floor += 1;
  return Value::of(sign == "%" ? remainder : quotient == 0 ? std::copysign(0.0, a / b) : floor);
}

static bool isSequence(const Value &value) { return value.is(Kind::String) || value.isList(); }

Value arithmetic(Run &run, std::string_view sign, const Value &left, const Value &right) {
  for (const Value *side : {&left, &right})
    if (side->is(Kind::Undefined) && !(sign == "%" && left.is(Kind::String)))
      return run.fail(side->why());
  if (sign == "%" && left.is(Kind::String))
    return formatPercent(run, left, right);
  if (left.isNumber() && right.isNumber()) {
    if ((sign == "/" || sign == "//" || sign == "%") && right.real() == 0)
      return run.fail("a division by zero");
    for (const Value *side : {&left, &right})
      if (side->isWhole() && std::isinf(side->real()) && (sign == "/" || left.kind() != right.kind()))
        return run.fail("a number is too large");
    return left.isWhole() && right.isWhole() ? integers(run, sign, left, right)
                                             : reals(run, sign, left.real(), right.real());
  }
  if (sign == "+" && left.is(Kind::String) && right.is(Kind::String)) {
    if (!left.isMarkup() && !right.isMarkup())
      return run.hasRoomFor(left.text().size() + right.text().size()) ? run.string(left.text() + right.text())
                                                                      : Value();
    return run.string(besideMarkup(run, left) + besideMarkup(run, right), true);
  }
  if (sign == "+" && left.isList() && left.kind() == right.kind() && run.spend(left.list().size())) {
    List list = left.list();
    list.insert(list.end(), right.list().begin(), right.list().end());
    return run.list(std::move(list), left.is(Kind::Tuple));
  }
  if (sign == "*" && isSequence(left) && right.isWhole())
    return repeated(run, left, right);
  if (sign == "*" && left.isWhole() && isSequence(right))
    return repeated(run, right, left);
  return run.fail("'" + std::string(sign) + "' between " + typeName(left) + " and " + typeName(right));
}

Value negated(Run &run, const Value &value) {
  if (value.is(Kind::Undefined))
    return run.fail(value.why());
  if (!value.isNumber())
    return run.fail("a sign before " + std::string(typeName(value)));
  return value.is(Kind::Float) ? Value::of(-value.real()) : run.number(-value.big());
}

bool compares(Run &run, std::string_view sign, const Value &left, const Value &right) {
  if (sign == "in" || sign == "not in")
    return contains(run, right, left) == (sign == "in");
  if (sign == "==" || sign == "!=")
    return equal(run, left, right) == (sign == "==");
  if (left.isNumber() && right.isNumber() && (std::isnan(left.real()) || std::isnan(right.real())))
    return false;
  bool swapped = sign == ">" || sign == "<=";
  bool below = swapped ? less(run, right, left, sign) : less(run, left, right, sign);
  return below == (sign.size() == 1);
}

} // namespace rapt::chat
