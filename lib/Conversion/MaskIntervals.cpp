//===- MaskIntervals.cpp - Intervals of a mask tell which keys of a block it keeps ----------------===//
#include "lib/Conversion/MaskIntervals.h"
#include "lib/Analysis/IntegerRanges.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;

namespace {

/// Numbers that code computes, or values of ops that it makes.
class Scalars {
public:
  explicit Scalars(ImplicitLocOpBuilder *b) : b(b) {}

  static Scalar known(Value value) {
    APInt constant;
    if (!matchPattern(value, m_ConstantInt(&constant)) || constant.getSignificantBits() > 64)
      return value;
    return value.getType().isInteger(1) ? int64_t(constant.getZExtValue()) : constant.getSExtValue();
  }
  ImplicitLocOpBuilder &builder() const { return *b; }

  template <typename Op> Scalar make(function_ref<int64_t(int64_t, int64_t)> fold, Scalar x, Scalar y, bool isTruth) {
    if (std::holds_alternative<int64_t>(x) && std::holds_alternative<int64_t>(y))
      return fold(std::get<int64_t>(x), std::get<int64_t>(y));
    Value l = isTruth ? asBool(*b, x) : asIndex(*b, x), r = isTruth ? asBool(*b, y) : asIndex(*b, y);
    return known(b->createOrFold<Op>(l, r));
  }
  Scalar add(Scalar x, Scalar y) {
    return make<arith::AddIOp>([](int64_t x, int64_t y) { return x + y; }, x, y, false);
  }
  Scalar sub(Scalar x, Scalar y) {
    return make<arith::SubIOp>([](int64_t x, int64_t y) { return x - y; }, x, y, false);
  }
  Scalar mul(Scalar x, Scalar y) {
    return make<arith::MulIOp>([](int64_t x, int64_t y) { return x * y; }, x, y, false);
  }
  Scalar divide(Scalar x, Scalar y) {
    return make<arith::DivSIOp>([](int64_t x, int64_t y) { return x / y; }, x, y, false);
  }
  Scalar remainder(Scalar x, Scalar y) {
    return make<arith::RemSIOp>([](int64_t x, int64_t y) { return x % y; }, x, y, false);
  }
  Scalar smaller(Scalar x, Scalar y) {
    return make<arith::MinSIOp>([](int64_t x, int64_t y) { return std::min(x, y); }, x, y, false);
  }
  Scalar larger(Scalar x, Scalar y) {
    return make<arith::MaxSIOp>([](int64_t x, int64_t y) { return std::max(x, y); }, x, y, false);
  }
  Scalar both(Scalar x, Scalar y) {
    return make<arith::AndIOp>([](int64_t x, int64_t y) { return x & y; }, x, y, true);
  }
  Scalar either(Scalar x, Scalar y) {
    return make<arith::OrIOp>([](int64_t x, int64_t y) { return x | y; }, x, y, true);
  }
  Scalar negate(Scalar x) {
    return make<arith::XOrIOp>([](int64_t x, int64_t y) { return x ^ y; }, x, Scalar(1), true);
  }
  /// x <= y, or x < y.
  Scalar isAtMost(Scalar x, Scalar y, bool isStrict = false) {
    if (std::holds_alternative<int64_t>(x) && std::holds_alternative<int64_t>(y))
      return int64_t(isStrict ? std::get<int64_t>(x) < std::get<int64_t>(y)
                              : std::get<int64_t>(x) <= std::get<int64_t>(y));
    const auto predicate = isStrict ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sle;
    return known(b->createOrFold<arith::CmpIOp>(predicate, asIndex(*b, x), asIndex(*b, y)));
  }
  /// Index `x` where the condition is true, else `y`.
  Scalar choose(Scalar condition, Scalar x, Scalar y) {
    if (const int64_t *number = std::get_if<int64_t>(&condition))
      return *number ? x : y;
    return known(b->createOrFold<arith::SelectOp>(std::get<Value>(condition), asIndex(*b, x), asIndex(*b, y)));
  }

private:
  ImplicitLocOpBuilder *b;
};

using MaybeInterval = std::optional<Interval>;

/// Numbers from outside are taken to be within these; where one is not, nothing is known.
constexpr int64_t kMost = int64_t(1) << 61;

/// The arguments and values from outside whose type does not bound them enough to compute with them.
SmallVector<Value> unboundedOf(Region &mask) {
  llvm::SetVector<Value> values;
  getUsedValuesDefinedAbove(mask, values);
  for (BlockArgument extra : mask.front().getArguments().drop_front(4))
    values.insert(extra);
  return llvm::filter_to_vector(values, [](Value value) {
    APInt constant;
    return (value.getType().isIndex() || value.getType().isInteger(64)) &&
           !matchPattern(value, m_ConstantInt(&constant));
  });
}

class Evaluation {
public:
  Evaluation(Region &mask, ImplicitLocOpBuilder *b)
      : mask(mask), scalars(b), hasCode(b), unbounded(unboundedOf(mask)), ranges(mask, 0, unbounded, kMost) {}

  Kept run(ArrayRef<MaskArgument> arguments) {
    for (auto [argument, given] : llvm::zip_equal(mask.front().getArguments(), arguments)) {
      intervals[argument] = given.interval;
      if (given.table)
        tables[argument] = given.table;
    }
    for (Operation &op : mask.front().without_terminator())
      if (op.getNumResults() == 1 && isNumber(op.getResult(0)))
        intervals[op.getResult(0)] = evaluate(op);
    MaybeInterval kept = of(mask.front().getTerminator()->getOperand(0));
    if (!kept)
      return {int64_t(1), int64_t(0)};
    Scalar isSound(int64_t(1));
    for (Value value : unbounded)
      if (MaybeInterval interval = of(value)) {
        isSound = scalars.both(isSound, scalars.isAtMost(Scalar(-kMost), interval->low));
        isSound = scalars.both(isSound, scalars.isAtMost(interval->high, Scalar(kMost)));
      }
    return {scalars.either(kept->high, scalars.negate(isSound)), scalars.both(kept->low, isSound)};
  }

private:
  /// Whether a value has an interval: an index, or an integer of at most 64 bits.
  static bool isNumber(Value value) { return value.getType().isIntOrIndex() && width(value) <= 64; }
  static bool isTruth(Value value) { return value.getType().isInteger(1); }

  MaybeInterval of(Value value) {
    if (auto found = intervals.find(value); found != intervals.end())
      return found->second;
    return intervals[value] = fromOutside(value);
  }

  /// A constant, or a scalar that the region reads from outside.
  MaybeInterval fromOutside(Value value) {
    Scalar scalar = Scalars::known(value);
    if (std::holds_alternative<Value>(scalar)) {
      if (!hasCode || !isNumber(value))
        return std::nullopt;
      if (!isTruth(value) && !value.getType().isIndex())
        scalar = Value(arith::IndexCastOp::create(scalars.builder(), scalars.builder().getIndexType(), value));
    }
    return Interval{scalar, scalar};
  }

  static unsigned width(Value value) { return ConstantIntRanges::getStorageBitwidth(value.getType()); }

  /// Whether an op's result is that of numbers without a width.
  bool isExact(Operation &op) {
    const ConstantIntRanges x = ranges.of(op.getOperand(0)), y = ranges.of(op.getOperand(1));
    bool overflows = false;
    for (const APInt &l : {x.smin(), x.smax()})
      for (const APInt &r : {y.smin(), y.smax()}) {
        bool here = false;
        if (isa<arith::AddIOp>(op))
          (void)l.sadd_ov(r, here);
        else if (isa<arith::SubIOp>(op))
          (void)l.ssub_ov(r, here);
        else
          (void)l.smul_ov(r, here);
        overflows |= here;
      }
    return !overflows;
  }
  bool isNonNegative(Value value) { return ranges.isNonNegative(value); }

  MaybeInterval evaluate(Operation &op) {
    if (auto lookup = dyn_cast<attn::LookupOp>(op))
      return evaluateLookup(lookup);
    if (op.getNumOperands() == 0)
      return matchPattern(&op, m_Constant()) ? fromOutside(op.getResult(0)) : std::nullopt;
    SmallVector<Interval> x;
    for (Value operand : op.getOperands()) {
      MaybeInterval interval = isNumber(operand) ? of(operand) : std::nullopt;
      if (!interval)
        return partlyKnown(op);
      x.push_back(*interval);
    }
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return evaluateComparison(compare, x);
    if (isa<arith::SelectOp>(op))
      return isTruth(op.getResult(0)) ? chooseTruth(x) : chooseNumber(x);
    return isTruth(op.getResult(0)) ? evaluateTruth(op, x) : evaluateNumber(op, x);
  }

  /// `false and x` is false, `true or x` is true, whatever x is.
  MaybeInterval partlyKnown(Operation &op) {
    if (!isa<arith::AndIOp, arith::OrIOp>(op) || !isTruth(op.getResult(0)))
      return std::nullopt;
    for (Value operand : op.getOperands())
      if (MaybeInterval x = isTruth(operand) ? of(operand) : std::nullopt)
        return isa<arith::AndIOp>(op) ? Interval{int64_t(0), x->high} : Interval{x->low, int64_t(1)};
    return std::nullopt;
  }

  MaybeInterval evaluateTruth(Operation &op, ArrayRef<Interval> x) {
    auto both = [&](const Interval &x, const Interval &y) {
      return Interval{scalars.both(x.low, y.low), scalars.both(x.high, y.high)};
    };
    auto either = [&](const Interval &x, const Interval &y) {
      return Interval{scalars.either(x.low, y.low), scalars.either(x.high, y.high)};
    };
    if (isa<arith::AndIOp, arith::MulIOp, arith::MinUIOp, arith::MaxSIOp>(op))
      return both(x[0], x[1]);
    if (isa<arith::OrIOp, arith::MaxUIOp, arith::MinSIOp>(op))
      return either(x[0], x[1]);
    if (isa<arith::XOrIOp, arith::AddIOp, arith::SubIOp>(op))
      return differ(x[0], x[1]);
    return std::nullopt;
  }

  Interval negated(const Interval &x) { return {scalars.negate(x.high), scalars.negate(x.low)}; }

  /// Whether two i1 differ.
  Interval differ(const Interval &x, const Interval &y) {
    const Interval notX = negated(x), notY = negated(y);
    return {scalars.either(scalars.both(x.low, notY.low), scalars.both(notX.low, y.low)),
            scalars.either(scalars.both(x.high, notY.high), scalars.both(notX.high, y.high))};
  }

  MaybeInterval evaluateNumber(Operation &op, ArrayRef<Interval> x) {
    return llvm::TypeSwitch<Operation *, MaybeInterval>(&op)
        .Case([&](arith::AddIOp) -> MaybeInterval {
          if (!isExact(op))
            return std::nullopt;
          return Interval{scalars.add(x[0].low, x[1].low), scalars.add(x[0].high, x[1].high)};
        })
        .Case([&](arith::SubIOp) -> MaybeInterval {
          if (!isExact(op))
            return std::nullopt;
          return Interval{scalars.sub(x[0].low, x[1].high), scalars.sub(x[0].high, x[1].low)};
        })
        .Case([&](arith::MulIOp) -> MaybeInterval { return isExact(op) ? multiplied(x[0], x[1]) : MaybeInterval(); })
        .Case([&](arith::MinSIOp) -> MaybeInterval {
          return Interval{scalars.smaller(x[0].low, x[1].low), scalars.smaller(x[0].high, x[1].high)};
        })
        .Case([&](arith::MaxSIOp) -> MaybeInterval {
          return Interval{scalars.larger(x[0].low, x[1].low), scalars.larger(x[0].high, x[1].high)};
        })
        .Case<arith::DivSIOp, arith::RemSIOp>([&](auto) { return quotient(op, x); })
        .Case<arith::DivUIOp, arith::RemUIOp, arith::FloorDivSIOp>(
            [&](auto) { return isNonNegative(op.getOperand(0)) ? quotient(op, x) : MaybeInterval(); })
        .Case<arith::MinUIOp, arith::MaxUIOp>([&](auto) -> MaybeInterval {
          if (!isNonNegative(op.getOperand(0)) || !isNonNegative(op.getOperand(1)))
            return std::nullopt;
          if (isa<arith::MinUIOp>(op))
            return Interval{scalars.smaller(x[0].low, x[1].low), scalars.smaller(x[0].high, x[1].high)};
          return Interval{scalars.larger(x[0].low, x[1].low), scalars.larger(x[0].high, x[1].high)};
        })
        .Case<arith::IndexCastOp, arith::ExtSIOp>([&](auto) { return extended(op, x[0], /*isSigned=*/true); })
        .Case<arith::IndexCastUIOp, arith::ExtUIOp>([&](auto) { return extended(op, x[0], /*isSigned=*/false); })
        .Case([&](arith::TruncIOp) { return extended(op, x[0], /*isSigned=*/true); })
        .Default([](Operation *) { return MaybeInterval(); });
  }

  MaybeInterval multiplied(const Interval &x, const Interval &y) {
    for (auto [factor, other] : {std::pair(x, y), std::pair(y, x)})
      if (const int64_t *number = std::get_if<int64_t>(&factor.low); number && tile::isNumber(factor.high, *number)) {
        Interval scaled{scalars.mul(other.low, Scalar(*number)), scalars.mul(other.high, Scalar(*number))};
        if (*number < 0)
          std::swap(scaled.low, scaled.high);
        return scaled;
      }
    Scalar corners[] = {scalars.mul(x.low, y.low), scalars.mul(x.low, y.high), scalars.mul(x.high, y.low),
                        scalars.mul(x.high, y.high)};
    Interval all{corners[0], corners[0]};
    for (Scalar corner : ArrayRef(corners).drop_front())
      all = {scalars.smaller(all.low, corner), scalars.larger(all.high, corner)};
    return all;
  }

  /// A quotient rounded towards 0, or its remainder, by a positive number.
  MaybeInterval quotient(Operation &op, ArrayRef<Interval> x) {
    const int64_t *divisor = std::get_if<int64_t>(&x[1].low);
    if (!divisor || *divisor <= 0 || !tile::isNumber(x[1].high, *divisor))
      return std::nullopt;
    const Scalar by(*divisor);
    Interval quotients{scalars.divide(x[0].low, by), scalars.divide(x[0].high, by)};
    if (!isa<arith::RemSIOp, arith::RemUIOp>(op))
      return quotients;
    // Within one quotient the remainder rises with the number.
    Scalar isOne =
        scalars.both(scalars.isAtMost(quotients.low, quotients.high), scalars.isAtMost(quotients.high, quotients.low));
    const int64_t least = isNonNegative(op.getOperand(0)) ? 0 : 1 - *divisor;
    return Interval{scalars.choose(isOne, scalars.remainder(x[0].low, by), Scalar(least)),
                    scalars.choose(isOne, scalars.remainder(x[0].high, by), Scalar(*divisor - 1))};
  }

  /// A cast to another width, or between index and integer.
  MaybeInterval extended(Operation &op, const Interval &x, bool isSigned) {
    Value from = op.getOperand(0), to = op.getResult(0);
    if (isTruth(from)) {
      const int64_t one = isSigned ? -1 : 1;
      Interval number{scalars.choose(x.low, Scalar(one), Scalar(0)), scalars.choose(x.high, Scalar(one), Scalar(0))};
      if (isSigned)
        std::swap(number.low, number.high);
      return number;
    }
    if (!isSigned && !isNonNegative(from))
      return std::nullopt;
    const ConstantIntRanges range = ranges.of(from);
    const unsigned bits = width(to);
    if (bits < width(from) && (range.smin().getSignificantBits() > bits || range.smax().getSignificantBits() > bits))
      return std::nullopt;
    return x;
  }

  MaybeInterval evaluateComparison(arith::CmpIOp op, ArrayRef<Interval> x) {
    using P = arith::CmpIPredicate;
    if (isTruth(op.getLhs())) {
      Interval unequal = differ(x[0], x[1]);
      if (op.getPredicate() == P::ne)
        return unequal;
      return op.getPredicate() == P::eq ? MaybeInterval(negated(unequal)) : std::nullopt;
    }
    auto atMost = [&](const Interval &l, const Interval &r, bool isStrict) {
      return Interval{scalars.isAtMost(l.high, r.low, isStrict), scalars.isAtMost(l.low, r.high, isStrict)};
    };
    P predicate = op.getPredicate();
    if (predicate >= P::ult) { // as signed ones, where both sides are
      if (!isNonNegative(op.getLhs()) || !isNonNegative(op.getRhs()))
        return std::nullopt;
      predicate = static_cast<P>(static_cast<uint64_t>(predicate) - static_cast<uint64_t>(P::ult) +
                                 static_cast<uint64_t>(P::slt));
    }
    switch (predicate) {
    case P::slt:
      return atMost(x[0], x[1], true);
    case P::sle:
      return atMost(x[0], x[1], false);
    case P::sgt:
      return atMost(x[1], x[0], true);
    case P::sge:
      return atMost(x[1], x[0], false);
    default:
      break;
    }
    const Interval l = atMost(x[0], x[1], false), r = atMost(x[1], x[0], false);
    const Interval equal{scalars.both(l.low, r.low), scalars.both(l.high, r.high)};
    return predicate == P::eq ? equal : negated(equal);
  }

  MaybeInterval chooseTruth(ArrayRef<Interval> x) {
    const Interval &c = x[0];
    Scalar never = scalars.negate(c.high), notAll = scalars.negate(c.low);
    Scalar all = scalars.either(scalars.both(c.low, x[1].low), scalars.both(never, x[2].low));
    all = scalars.either(all, scalars.both(x[1].low, x[2].low));
    return Interval{all, scalars.either(scalars.both(c.high, x[1].high), scalars.both(notAll, x[2].high))};
  }

  MaybeInterval chooseNumber(ArrayRef<Interval> x) {
    auto bound = [&](Scalar ofFirst, Scalar ofSecond, Scalar ofBoth) {
      return scalars.choose(x[0].low, ofFirst, scalars.choose(x[0].high, ofBoth, ofSecond));
    };
    return Interval{bound(x[1].low, x[2].low, scalars.smaller(x[1].low, x[2].low)),
                    bound(x[1].high, x[2].high, scalars.larger(x[1].high, x[2].high))};
  }

  /// An element of a table at the same indices for all queries and keys.
  MaybeInterval evaluateLookup(attn::LookupOp op) {
    Value table = tables.lookup(op.getTable());
    if (!table || !hasCode)
      return std::nullopt;
    ImplicitLocOpBuilder &b = scalars.builder();
    SmallVector<Value> indices;
    for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
      MaybeInterval x = of(index);
      if (!x || x->low != x->high)
        return std::nullopt;
      const Scalar last(asValue(b, affineOf(b, b.getAffineDimExpr(0) - 1, {extent(b, table, int64_t(dim))})));
      indices.push_back(asIndex(b, scalars.larger(Scalar(0), scalars.smaller(x->low, last))));
    }
    intervals.erase(op.getResult());
    return fromOutside(tensor::ExtractOp::create(b, table, indices));
  }

  Region &mask;
  Scalars scalars;
  bool hasCode;
  SmallVector<Value> unbounded;
  IntegerRanges ranges;
  llvm::DenseMap<Value, MaybeInterval> intervals;
  llvm::DenseMap<Value, Value> tables;
};

} // namespace

Kept tile::keptBy(Region &mask, ArrayRef<MaskArgument> arguments, ImplicitLocOpBuilder *b) {
  if (mask.empty())
    return {int64_t(1), int64_t(1)};
  return Evaluation(mask, b).run(arguments);
}

Kept tile::keptBy(ImplicitLocOpBuilder &b, Region &mask, ArrayRef<Interval> indices, ValueRange extras,
                  function_ref<std::optional<Interval>(unsigned)> rangeOf) {
  SmallVector<MaskArgument> arguments;
  for (const Interval &interval : indices)
    arguments.push_back({interval});
  for (auto [i, extra] : llvm::enumerate(extras)) {
    BlockArgument argument = mask.getArgument(4 + i);
    const bool isTable = isa<RankedTensorType>(argument.getType());
    arguments.push_back({isTable || argument.use_empty() ? std::nullopt : rangeOf(i), isTable ? extra : Value()});
  }
  return keptBy(mask, arguments, &b);
}

Interval tile::between(ImplicitLocOpBuilder &b, Value first, Value count) {
  Value last = arith::SubIOp::create(b, arith::AddIOp::create(b, first, count), index(b, 1));
  return {first, last};
}

bool tile::mayTellKept(Region &mask, ArrayRef<bool> known) {
  if (mask.empty())
    return false;
  // Code for arguments of a block that is thrown away.
  Block block;
  ImplicitLocOpBuilder b(mask.getLoc(), mask.getContext());
  b.setInsertionPointToStart(&block);
  SmallVector<MaskArgument> arguments;
  for (auto [argument, isKnown] : llvm::zip_equal(mask.front().getArguments(), known)) {
    MaskArgument given;
    Type type = argument.getType().isInteger(1) ? argument.getType() : Type(b.getIndexType());
    if (isa<RankedTensorType>(argument.getType()))
      given.table = block.addArgument(argument.getType(), mask.getLoc());
    else if (isKnown)
      given.interval = {block.addArgument(type, mask.getLoc()), block.addArgument(type, mask.getLoc())};
    arguments.push_back(given);
  }
  const Kept kept = keptBy(mask, arguments, &b);
  return !isNumber(kept.some, 1) || !isNumber(kept.all, 0);
}

Value tile::asIndex(ImplicitLocOpBuilder &b, Scalar scalar) {
  const int64_t *number = std::get_if<int64_t>(&scalar);
  return number ? index(b, *number) : std::get<Value>(scalar);
}

Value tile::asBool(ImplicitLocOpBuilder &b, Scalar scalar) {
  const int64_t *number = std::get_if<int64_t>(&scalar);
  return number ? Value(arith::ConstantOp::create(b, b.getBoolAttr(*number))) : std::get<Value>(scalar);
}

SmallVector<Value> tile::where(ImplicitLocOpBuilder &b, Scalar condition, TypeRange types, ValuesBody body,
                               ValuesBody otherwise) {
  if (const int64_t *number = std::get_if<int64_t>(&condition))
    return *number ? body(b) : otherwise(b);
  auto choice = scf::IfOp::create(b, types, std::get<Value>(condition), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(b, body(b));
  b.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(b, otherwise(b));
  return SmallVector<Value>(choice.getResults());
}

SmallVector<Value> tile::where(ImplicitLocOpBuilder &b, Scalar condition, ValueRange otherwise, ValuesBody body) {
  return where(b, condition, otherwise.getTypes(), body,
               [&](ImplicitLocOpBuilder &) { return SmallVector<Value>(otherwise); });
}
