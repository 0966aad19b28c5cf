//===- Comparison.cpp ------------------------------------------------------===//
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Frame.h"
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>
#include <cmath>

namespace rapt::chat {

/// Negative, zero or positive; nothing beside a NaN.
static std::optional<int> compareNumbers(const Value &a, const Value &b) {
  if (a.isWhole() && b.isWhole())
    return a.isSmall() && b.isSmall() ? (a.integer() > b.integer()) - (a.integer() < b.integer())
                                      : compare(a.big(), b.big());
  if (std::isnan(a.real()) || std::isnan(b.real()))
    return std::nullopt;
  // A whole number is compared exactly, not as it would be rounded.
  if (a.isWhole() != b.isWhole()) {
    double real = a.isWhole() ? b.real() : a.real();
    int sign = a.isWhole() ? 1 : -1;
    if (std::isinf(real))
      return real > 0 ? -sign : sign;
    int whole = compare((a.isWhole() ? a : b).big(), BigInteger::ofReal(real));
    double fraction = real - std::trunc(real);
    return sign * (whole ? whole : fraction > 0 ? -1 : fraction < 0);
  }
  return (a.real() > b.real()) - (a.real() < b.real());
}

static bool equalLists(Run &run, const List &a, const List &b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [&](const Value &x, const Value &y) {
           return run.spend(1) && (x.isSame(y) || equal(run, x, y));
         });
}

static bool equalDicts(Run &run, const Dict &a, const Dict &b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Dict::Entry &member) {
           const Value *other = run.failed() ? nullptr : b.find(run, member.first);
           return other && equal(run, member.second, *other);
         });
}

static bool equalViews(Run &run, const Value &a, const Value &b) {
  const View &left = a.view(), &right = b.view();
  if (left.part == View::Part::Values || right.part == View::Part::Values)
    return a.isSame(b);
  std::optional<List> items = itemsOf(run, a);
  return items && lengthOf(run, a) == lengthOf(run, b) &&
         std::all_of(items->begin(), items->end(), [&](const Value &item) { return contains(run, b, item); });
}

bool equal(Run &run, const Value &a, const Value &b) {
  if (!run.spend(1))
    return false;
  if (a.isNumber() && b.isNumber())
    return compareNumbers(a, b) == 0;
  if (a.kind() != b.kind())
    return false;
  switch (a.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return true;
  case Kind::String:
    return a.text().size() == b.text().size() && run.spendText(a.text().size()) && sameText(a.text(), b.text());
  case Kind::List:
  case Kind::Tuple:
    return equalLists(run, a.list(), b.list());
  case Kind::Dict:
    return equalDicts(run, a.dict(), b.dict());
  case Kind::Range: {
    const SpacedRange &x = a.range(), &y = b.range();
    return x.count == y.count && (x.count == 0 || (x.begin == y.begin && (x.count == 1 || x.step == y.step)));
  }
  case Kind::View:
    return equalViews(run, a, b);
  case Kind::Method:
    return a.method().routine == b.method().routine && a.method().self.isSame(b.method().self);
  default:
    return a.isSame(b);
  }
}

static bool lessLists(Run &run, const List &a, const List &b, std::string_view sign) {
  size_t shared = std::min(a.size(), b.size());
  for (size_t i = 0; i < shared && run.spend(1); ++i)
    if (!a[i].isSame(b[i]) && !equal(run, a[i], b[i]))
      return less(run, a[i], b[i], sign);
  return a.size() < b.size();
}

bool less(Run &run, const Value &a, const Value &b, std::string_view sign) {
  if (!run.spend(1))
    return false;
  if (a.isNumber() && b.isNumber()) {
    std::optional<int> order = compareNumbers(a, b);
    return order && *order < 0;
  }
  if (a.is(Kind::String) && b.is(Kind::String)) {
    const Text &x = a.text(), &y = b.text();
    return run.spendText(std::min(x.size(), y.size())) &&
           std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(),
                                        [](char32_t c, char32_t d) { return pointOf(c) < pointOf(d); });
  }
  if (a.isList() && a.kind() == b.kind())
    return lessLists(run, a.list(), b.list(), sign);
  for (const Value *side : {&a, &b})
    if (side->is(Kind::Undefined))
      return run.fail(side->why()), false;
  run.fail("'" + std::string(sign) + "' between " + typeName(a) + " and " + typeName(b));
  return false;
}

static size_t mixed(size_t hash, size_t part) { return (hash ^ part) * 0x9E3779B97F4A7C15u + (hash >> 29); }

static size_t hashOfNumber(const Value &value) {
  double real = value.real();
  if (value.isWhole() || (std::isfinite(real) && real == std::trunc(real))) {
    BigInteger whole = value.isWhole() ? value.big() : BigInteger::ofReal(real);
    return whole.small() ? mixed(1, size_t(*whole.small())) : std::hash<std::string>()(whole.text(32));
  }
  return std::hash<double>()(real);
}

std::optional<size_t> hashOf(Run &run, const Value &value) {
  if (!run.spend(1))
    return std::nullopt;
  if (value.isNumber())
    return hashOfNumber(value);
  size_t hash = size_t(value.kind());
  switch (value.kind()) {
  case Kind::String:
    if (!run.spendText(value.text().size()))
      return std::nullopt;
    for (char32_t c : value.text())
      hash = mixed(hash, pointOf(c));
    return hash;
  case Kind::Tuple:
    for (const Value &item : value.list()) {
      std::optional<size_t> part = hashOf(run, item);
      if (!part)
        return std::nullopt;
      hash = mixed(hash, *part);
    }
    return hash;
  case Kind::List:
  case Kind::Dict:
    return std::nullopt;
  case Kind::View:
    return value.view().part == View::Part::Values ? std::optional(hash) : std::nullopt;
  default: // told apart by ==
    return hash;
  }
}

bool isTrue(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
  case Kind::Integer:
    return !value.isSmall() || value.integer() != 0;
  case Kind::Float:
    return value.real() != 0;
  case Kind::String:
    return !value.text().empty();
  case Kind::List:
  case Kind::Tuple:
    return !value.list().empty();
  case Kind::Dict:
    return !value.dict().empty();
  case Kind::Range:
    return value.range().count != 0;
  case Kind::View:
    return !value.view().dict.dict().empty();
  case Kind::Loop:
    return !value.loop().items.empty();
  default: // an iterator too, whatever it yields
    return true;
  }
}

std::optional<int64_t> lengthOf(Run &run, const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return 0;
  case Kind::String:
    return int64_t(value.text().size());
  case Kind::List:
  case Kind::Tuple:
    return int64_t(value.list().size());
  case Kind::Dict:
    return int64_t(value.dict().size());
  case Kind::Range:
    return value.range().count;
  case Kind::View:
    return int64_t(value.view().dict.dict().size());
  case Kind::Loop:
    return int64_t(value.loop().items.size());
  default:
    run.fail(std::string(typeName(value)) + " has no length");
    return std::nullopt;
  }
}

} // namespace rapt::chat
