//===- Mask.cpp - Bounds of the keys that a mask keeps ------------------------------===//
#include "lib/Analysis/Mask.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace rapt;

namespace {

/// A value of the form q * qs + kv * kvs + constant.
struct Linear {
  int64_t q = 0, kv = 0, constant = 0;
};

constexpr unsigned qArgument = 2, kvArgument = 3;

/// Coefficients and constants stay below this, so that sums and products of two of them do not overflow.
constexpr int64_t cap = int64_t(1) << 40;

/// Reads sums of q, kv and constants. A value that is used many times is read once.
class LinearForms {
public:
  explicit LinearForms(Block &block) : block(block) {}

  std::optional<Linear> of(Value value, unsigned depth = 0) {
    if (auto known = forms.find(value); known != forms.end())
      return known->second;
    std::optional<Linear> form = read(value, depth);
    forms[value] = form;
    return form;
  }

private:
  std::optional<Linear> read(Value value, unsigned depth) {
    if (depth > 32)
      return std::nullopt;
    if (value == block.getArgument(qArgument))
      return Linear{1, 0, 0};
    if (value == block.getArgument(kvArgument))
      return Linear{0, 1, 0};
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) {
      if (constant.getSignificantBits() > 40)
        return std::nullopt;
      return Linear{0, 0, constant.getSExtValue()};
    }
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op) || !value.getType().isIndex())
      return std::nullopt;
    auto l = of(op->getOperand(0), depth + 1), r = of(op->getOperand(1), depth + 1);
    if (!l || !r)
      return std::nullopt;
    int64_t sign = isa<arith::SubIOp>(op) ? -1 : 1;
    Linear sum{l->q + sign * r->q, l->kv + sign * r->kv, l->constant + sign * r->constant};
    // A product of positions below this does not wrap in 64 bits either.
    constexpr int64_t most = 1 << 16;
    if (std::abs(sum.constant) > cap || std::abs(sum.q) > most || std::abs(sum.kv) > most)
      return std::nullopt;
    return sum;
  }

  Block &block;
  llvm::DenseMap<Value, std::optional<Linear>> forms;
};

/// Adds the constraint kv * d + q * -d + c >= 0, d = 1 or -1, to the bounds; any other constraint makes them inexact.
void addConstraint(Linear form, MaskBounds &bounds) {
  if (form.kv == 1 && form.q == -1) { // kv >= q - c: a window (A32)
    bounds.lower = bounds.lower ? std::max(*bounds.lower, -form.constant) : -form.constant;
  } else if (form.kv == -1 && form.q == 1) { // kv <= q + c: causal (A31)
    int64_t upper = form.constant + 1;
    bounds.upper = bounds.upper ? std::min(*bounds.upper, upper) : upper;
  } else {
    bounds.exact = false;
  }
}

void addCondition(Value condition, LinearForms &forms, MaskBounds &bounds) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  std::optional<Linear> l, r;
  if (compare) {
    l = forms.of(compare.getLhs());
    r = forms.of(compare.getRhs());
  }
  if (!l || !r) {
    bounds.exact = false;
    return;
  }
  Linear difference{l->q - r->q, l->kv - r->kv, l->constant - r->constant}; // lhs - rhs
  auto negated = [](Linear f, int64_t extra) { return Linear{-f.q, -f.kv, -f.constant + extra}; };
  auto plus = [](Linear f, int64_t extra) { return Linear{f.q, f.kv, f.constant + extra}; };
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sle:
    return addConstraint(negated(difference, 0), bounds);
  case arith::CmpIPredicate::slt:
    return addConstraint(negated(difference, -1), bounds);
  case arith::CmpIPredicate::sge:
    return addConstraint(difference, bounds);
  case arith::CmpIPredicate::sgt:
    return addConstraint(plus(difference, -1), bounds);
  case arith::CmpIPredicate::eq:
    addConstraint(difference, bounds);
    return addConstraint(negated(difference, 0), bounds);
  default:
    bounds.exact = false;
  }
}

} // namespace

MaskBounds rapt::analyzeMask(Region &mask) {
  MaskBounds bounds;
  if (mask.empty())
    return bounds;
  LinearForms forms(mask.front());
  llvm::SetVector<Value> conditions;
  conditions.insert(mask.front().back().getOperand(0));
  for (unsigned i = 0; i < conditions.size(); ++i) {
    Value condition = conditions[i];
    if (auto both = condition.getDefiningOp<arith::AndIOp>())
      conditions.insert_range(both->getOperands());
    else
      addCondition(condition, forms, bounds);
  }
  return bounds;
}
