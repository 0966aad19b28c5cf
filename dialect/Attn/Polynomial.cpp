//===- Polynomial.cpp - Sizes as polynomials over dims -------------------------------===//
#include "dialect/Attn/Polynomial.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rapt::attn;

static constexpr int64_t most = int64_t(1) << 52;

Polynomial::Polynomial(int64_t number) { add({}, number); }

Polynomial Polynomial::of(std::string name) {
  Polynomial result;
  result.add({std::move(name)}, 1);
  return result;
}

Polynomial Polynomial::unknown() {
  Polynomial result;
  result.known = false;
  return result;
}

Polynomial Polynomial::parse(StringRef text) {
  auto [product, plus] = text.split('+');
  int64_t more = 0;
  if (!plus.empty() && plus.getAsInteger(10, more))
    return unknown();
  Polynomial result(1);
  SmallVector<StringRef, 2> factors;
  product.split(factors, '*');
  for (StringRef factor : factors)
    result = result * of(factor.str());
  return result + Polynomial(more);
}

void Polynomial::add(const std::vector<std::string> &names, int64_t number) {
  int64_t &term = terms[names], total;
  if (llvm::AddOverflow(term, number, total) || total > most || total < -most)
    known = false;
  term = total;
  if (term == 0)
    terms.erase(names);
}

std::optional<int64_t> Polynomial::asNumber() const {
  if (!known || terms.size() > 1 || (terms.size() == 1 && !terms.begin()->first.empty()))
    return std::nullopt;
  return terms.empty() ? 0 : terms.begin()->second;
}

Polynomial Polynomial::operator+(const Polynomial &other) const {
  Polynomial result = *this;
  result.known &= other.known;
  for (const auto &[names, number] : other.terms)
    result.add(names, number);
  return result;
}

Polynomial Polynomial::operator*(const Polynomial &other) const {
  Polynomial product;
  product.known = known && other.known;
  for (const auto &[left, x] : terms)
    for (const auto &[right, y] : other.terms) {
      std::vector<std::string> names = left;
      names.insert(names.end(), right.begin(), right.end());
      llvm::sort(names);
      int64_t number = 0;
      product.known &= !llvm::MulOverflow(x, y, number);
      product.add(names, number);
    }
  return product;
}

/// A name, or "name/16", divided by a number. Rounded down twice is as by the product, which is all that the runtime
/// reads, in at most 9 digits.
static Polynomial dividedName(StringRef name, int64_t by) {
  constexpr int64_t mostDivisor = 999'999'999;
  auto [dim, slash] = name.split('/');
  int64_t before = 1, all = 0;
  if ((!slash.empty() && slash.getAsInteger(10, before)) || llvm::MulOverflow(before, by, all) || all > mostDivisor)
    return Polynomial::unknown();
  return Polynomial::of(dim.str() + "/" + std::to_string(all));
}

Polynomial Polynomial::dividedBy(const Polynomial &divisor) const {
  if (Polynomial quotient = dividedExactly(divisor); quotient.known)
    return quotient;
  std::optional<int64_t> number = asNumber(), by = divisor.asNumber();
  if (!by || *by < 1)
    return unknown();
  if (number && *number >= 0)
    return Polynomial(*number / *by);
  bool isName = known && terms.size() == 1 && terms.begin()->first.size() == 1 && terms.begin()->second == 1;
  return isName ? dividedName(terms.begin()->first.front(), *by) : unknown();
}

/// Unknown where there is a rest, or a divisor of several products.
Polynomial Polynomial::dividedExactly(const Polynomial &divisor) const {
  if (!known || !divisor.known || divisor.terms.size() != 1)
    return unknown();
  const auto &[names, number] = *divisor.terms.begin();
  Polynomial quotient;
  for (const auto &[left, x] : terms) {
    std::vector<std::string> rest = left;
    for (const std::string &name : names) {
      auto found = llvm::find(rest, name);
      if (found == rest.end())
        return unknown();
      rest.erase(found);
    }
    if (x % number != 0)
      return unknown();
    quotient.add(rest, x / number);
  }
  return quotient;
}

Attribute Polynomial::asAttribute(MLIRContext *context) const {
  Builder b(context);
  SmallVector<Attribute> list;
  for (const auto &[names, number] : terms) {
    SmallVector<Attribute> term{b.getI64IntegerAttr(number)};
    for (const std::string &name : names)
      term.push_back(b.getStringAttr(name));
    list.push_back(b.getArrayAttr(term));
  }
  return known ? b.getArrayAttr(list) : Attribute();
}

Polynomial Polynomial::fromAttribute(Attribute attribute) {
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!list)
    return unknown();
  Polynomial sum;
  for (Attribute element : list) {
    auto term = dyn_cast<ArrayAttr>(element);
    auto number = term && !term.empty() ? dyn_cast<IntegerAttr>(term[0]) : IntegerAttr();
    if (!number || !number.getType().isInteger(64) ||
        !llvm::all_of(term.getValue().drop_front(), llvm::IsaPred<StringAttr>))
      return unknown();
    Polynomial product(number.getInt());
    for (Attribute name : term.getValue().drop_front())
      product = product * of(cast<StringAttr>(name).str());
    sum = sum + product;
  }
  return sum;
}
