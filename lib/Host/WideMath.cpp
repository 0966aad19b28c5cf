//===- WideMath.cpp - Functions of f32 that are computed in f64 -----------------------------===//
//
// Rare functions: in f64 their short polynomials, whose relative errors stand beside them,
// need no second word, and every f32 is normal. exp2 adds 1.5 * 2^52, which rounds to an
// integer and leaves it in the low bits; log2 is the series of atanh; atan2 reduces to [0, 1].
// The polynomials are minimax fits (Lawson's algorithm).
//
//===----------------------------------------------------------------------===//
#include "lib/Host/WideMath.h"
#include "lib/Host/Elementwise.h"
#include <numbers>

using namespace mlir;
using namespace rapt;
using arith::CmpFPredicate;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kRounder = 0x1.8p52;

/// (2^f - 1) / f on [-0.5, 0.5], 8.0e-14.
constexpr double kExp2[] = {0.6931471805599374,     0.24022650695813827,    0.05550410866571896,
                            0.009618129159159756,   0.0013333557984465082,  0.00015403456039922436,
                            1.5252812544108707e-05, 1.3255182604865468e-06, 1.0177829068425126e-07};
/// log2((1 + s) / (1 - s)) / s in s^2 for |s| <= 0.1716, 3.1e-15.
constexpr double kLog2[] = {2.8853900817779325, 0.9617966939089292,  0.5770780231635647, 0.4121975738509509,
                            0.3206688479080144, 0.25990842618530147, 0.2598291054623969};
/// atan(x) / x in x^2 on [0, 1], 9.4e-12.
constexpr double kAtan[] = {0.9999999999906611,    -0.33333333005334664, 0.19999980837836473, -0.14285271439361072,
                            0.11105741734163625,   -0.09051620375777286, 0.07503962563265063, -0.06042634930068952,
                            0.04396725445240457,   -0.0263386121766942,  0.01164660577859955, -0.003278295959134425,
                            0.00043295747173033305};
/// sin(r) / r and cos(r) in r^2 for |r| <= pi/4, 4.6e-12 and 6.7e-14.
constexpr double kSin[] = {0.999999999995425, -0.16666666630299898, 0.008333328676097812, -0.00019839174142549524,
                           2.717114064388464e-06};
constexpr double kCos[] = {0.9999999999999342,    -0.4999999999926882,   0.04166666653329641,
                           -0.001388887991282437, 2.479883965227723e-05, -2.716764571220031e-07};

/// The functions on scalars or vectors of f64 that hold numbers of f32.
struct Wide : host::Elementwise {
  using Elementwise::Elementwise;

  Value word(int64_t value) {
    Type i64 = withElement(b.getI64Type());
    TypedAttr scalar = b.getI64IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(i64))
      scalar = DenseElementsAttr::get(vector, Attribute(scalar));
    return arith::ConstantOp::create(b, scalar);
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, withElement(b.getI64Type()), x); }
  Value number(Value bits) { return arith::BitcastOp::create(b, type, bits); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value withSign(Value x, Value sign) { return math::CopySignOp::create(b, x, sign); }
  Value negative(Value x) { return compare(CmpFPredicate::OLT, withSign(real(1), x), real(0)); }
  Value lessThan(Value x, Value y) { return compare(CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) { return compare(CmpFPredicate::OEQ, x, y); }
  Value unordered(Value x, Value y) { return compare(CmpFPredicate::UNO, x, y); }

  /// 2^r and 2^f - 1 of x = r + f, with r an integer and |f| <= 1/2; x is clamped to 2^-1000 and 2^1000, beyond f32.
  std::pair<Value, Value> splitPower(Value x) {
    Value inside = select(compare(CmpFPredicate::OGT, x, real(-1000)), x, real(-1000));
    inside = select(lessThan(inside, real(1000)), inside, real(1000));
    Value rounded = add(inside, real(kRounder)), f = sub(inside, sub(rounded, real(kRounder)));
    Value power = arith::AddIOp::create(b, bits(real(1)), Value(arith::ShLIOp::create(b, bits(rounded), word(52))));
    return {number(power), mul(f, polynomial(f, kExp2))};
  }
  Value exp2(Value x) {
    auto [power, part] = splitPower(x);
    return select(unordered(x, x), x, fma(power, part, power));
  }
  Value exp(Value x) { return exp2(mul(x, real(std::numbers::log2e))); }
  Value expm1(Value x) {
    auto [power, part] = splitPower(mul(x, real(std::numbers::log2e)));
    Value y = withSign(fma(power, part, sub(power, real(1))), x); // the sign of a zero
    return select(unordered(x, x), x, y);
  }

  /// x = 2^e m with m from sqrt(1/2) to sqrt(2).
  Value log2(Value x) {
    // 2^52 + e, whose low bits are those of the biased exponent.
    Value exponent = arith::ShRUIOp::create(b, bits(x), word(52));
    Value e = sub(number(either(exponent, word(0x4330000000000000))), real(0x1p52 + 1023));
    Value m = number(either(both(bits(x), word(0x000fffffffffffff)), word(0x3ff0000000000000)));
    Value isLarge = compare(CmpFPredicate::OGT, m, real(std::numbers::sqrt2));
    m = select(isLarge, mul(m, real(0.5)), m);
    e = select(isLarge, add(e, real(1)), e);
    Value s = div(sub(m, real(1)), add(m, real(1)));
    Value y = fma(s, polynomial(mul(s, s), kLog2), e);
    y = select(equal(x, real(kInfinity)), x, y);
    return select(compare(CmpFPredicate::OGT, x, real(0)), y, select(equal(x, real(0)), real(-kInfinity), real(kNaN)));
  }
  Value log10(Value x) { return mul(log2(x), real(std::numbers::ln2 / std::numbers::ln10)); }
  /// 1 + x is exact down to 2^-26; below, two terms of the series are.
  Value log1p(Value x) {
    Value series = sub(x, mul(mul(x, x), real(0.5))), y = mul(log2(add(x, real(1))), real(std::numbers::ln2));
    return select(lessThan(abs(x), real(0x1p-26)), series, y);
  }

  /// |x|^y with the sign of x where `isOdd`; NaN for numbers below zero where `isFraction`, if there is one.
  Value power(Value x, Value y, Value isOdd, Value isFraction) {
    Value a = abs(x), magnitude = exp2(mul(y, log2(a)));
    magnitude = select(either(equal(y, real(0)), equal(a, real(1))), real(1), magnitude);
    Value result = select(both(isOdd, negative(x)), sub(real(-0.0), magnitude), magnitude);
    if (!isFraction)
      return result;
    Value isNumber = both(lessThan(x, real(0)), lessThan(a, real(kInfinity)));
    return select(both(isNumber, isFraction), real(kNaN), result);
  }
  Value powf(Value x, Value y) {
    Value half = mul(y, real(0.5));
    Value isFraction = compare(CmpFPredicate::UNE, math::TruncOp::create(b, y), y);
    Value isEven = equal(math::TruncOp::create(b, half), half), one = withBit(true);
    Value isOdd = arith::XOrIOp::create(b, either(isFraction, isEven), one);
    return power(x, y, isOdd, isFraction);
  }
  Value withBit(bool value) {
    Type i1 = withElement(b.getI1Type());
    TypedAttr scalar = b.getBoolAttr(value);
    if (auto vector = dyn_cast<VectorType>(i1))
      scalar = DenseElementsAttr::get(vector, value);
    return arith::ConstantOp::create(b, scalar);
  }
  /// The exponent is an integer, whose lowest bit a float may not have.
  Value fpowi(Value x, Value n) {
    Value y = arith::SIToFPOp::create(b, type, n), isOdd = n;
    if (!getElementTypeOrSelf(n.getType()).isInteger(1))
      isOdd = arith::TruncIOp::create(b, withElement(b.getI1Type()), n);
    return power(x, y, isOdd, Value());
  }
  Value cbrt(Value x) { return withSign(exp2(div(log2(abs(x)), real(3))), x); }

  Value sinh(Value x) {
    Value e = expm1(abs(x));
    return withSign(mul(add(e, div(e, add(e, real(1)))), real(0.5)), x);
  }
  Value cosh(Value x) {
    Value e = exp(abs(x));
    return mul(add(e, div(real(1), e)), real(0.5));
  }

  /// For |x| <= 2^20, as sin and cos; NaN beyond.
  Value tan(Value x) {
    // pi/2 in two numbers; what x - k * pi/2 leaves is right to 2^-53 of itself.
    constexpr double high = 1.5707963267948966, low = 6.123233995736766e-17;
    Value rounded = add(mul(x, real(2 / std::numbers::pi)), real(kRounder)), k = sub(rounded, real(kRounder));
    Value r = fma(k, real(-low), fma(k, real(-high), x)), z = mul(r, r);
    Value sin = mul(r, polynomial(z, kSin)), cos = polynomial(z, kCos);
    Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, both(bits(rounded), word(1)), word(0));
    Value y = div(select(isOdd, sub(real(-0.0), cos), sin), select(isOdd, sin, cos));
    return select(compare(CmpFPredicate::OLE, abs(x), real(0x1p20)), y, real(kNaN));
  }

  Value atan2(Value y, Value x) {
    Value ay = abs(y), ax = abs(x), isSteep = compare(CmpFPredicate::OGT, ay, ax);
    Value low = select(isSteep, ax, ay), high = select(isSteep, ay, ax);
    Value q = select(equal(high, real(0)), real(0), div(low, high));
    q = select(equal(low, real(kInfinity)), real(1), q);
    Value p = mul(q, polynomial(mul(q, q), kAtan));
    p = select(isSteep, sub(real(std::numbers::pi / 2), p), p);
    p = select(negative(x), sub(real(std::numbers::pi), p), p);
    return select(unordered(x, y), add(x, y), withSign(p, y));
  }
  Value atan(Value x) { return atan2(x, real(1)); }
  /// sqrt(1 - x^2), NaN beyond 1.
  Value leg(Value x) { return math::SqrtOp::create(b, mul(sub(real(1), x), add(real(1), x))); }
  Value asin(Value x) { return atan2(x, leg(x)); }
  Value acos(Value x) { return atan2(leg(x), x); }

  /// x - trunc(x / y) y. A quotient of 29 bits times y is exact, and what it leaves is 2^-28 of x: 10 times are enough
  /// for the 277 powers of two of f32.
  Value remainder(Value x, Value y) {
    Value ay = abs(y), r = abs(x);
    for (int i = 0; i < 10; ++i) {
      Value q = number(both(bits(div(r, ay)), word(~0xffffff)));
      r = fma(math::TruncOp::create(b, q), sub(real(-0.0), ay), r);
    }
    r = select(lessThan(r, real(0)), add(r, ay), r); // where a quotient was rounded up
    r = select(both(equal(ay, real(kInfinity)), lessThan(abs(x), real(kInfinity))), abs(x), r);
    return withSign(r, x);
  }
};

/// `x` with elements of `element`.
Value cast(ImplicitLocOpBuilder &b, Value x, Type element) {
  Type from = getElementTypeOrSelf(x.getType());
  auto vector = dyn_cast<VectorType>(x.getType());
  Type to = vector ? Type(vector.clone(element)) : element;
  if (!isa<FloatType>(from) || from == element)
    return x;
  return from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth() ? Value(arith::ExtFOp::create(b, to, x))
                                                                        : arith::TruncFOp::create(b, to, x);
}

template <typename Op, auto emit> struct ExpandWide : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32() || isa<TensorType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> x;
    for (Value operand : op->getOperands())
      x.push_back(cast(b, operand, b.getF64Type()));
    Wide wide(b, x[0]);
    Value y;
    if constexpr (std::is_invocable_v<decltype(emit), Wide &, Value>)
      y = std::invoke(emit, wide, x[0]);
    else
      y = std::invoke(emit, wide, x[0], x[1]);
    rewriter.replaceOp(op, cast(b, y, b.getF32Type()));
    return success();
  }
};

/// A function of a 16-bit float, whose operands become f32.
struct ExpandNarrow : RewritePattern {
  explicit ExpandNarrow(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isa<math::MathDialect>(op->getDialect()) && !isa<arith::RemFOp>(op))
      return failure();
    Type type = op->getNumResults() == 1 ? op->getResult(0).getType() : Type();
    Type element = type ? getElementTypeOrSelf(type) : Type();
    if (!element || isa<TensorType>(type) || !(element.isBF16() || element.isF16()))
      return failure();
    ImplicitLocOpBuilder b(op->getLoc(), rewriter);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(cast(b, operand, b.getF32Type()));
    auto vector = dyn_cast<VectorType>(type);
    OperationState state(op->getLoc(), op->getName(), operands,
                         TypeRange{vector ? Type(vector.clone(b.getF32Type())) : Type(b.getF32Type())}, op->getAttrs());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    rewriter.replaceOp(op, cast(b, b.create(state)->getResult(0), element));
    return success();
  }
};

} // namespace

void host::populateWideMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandWide<math::ExpM1Op, &Wide::expm1>, ExpandWide<math::Log2Op, &Wide::log2>,
               ExpandWide<math::Log10Op, &Wide::log10>, ExpandWide<math::Log1pOp, &Wide::log1p>,
               ExpandWide<math::PowFOp, &Wide::powf>, ExpandWide<math::FPowIOp, &Wide::fpowi>,
               ExpandWide<math::CbrtOp, &Wide::cbrt>, ExpandWide<math::SinhOp, &Wide::sinh>,
               ExpandWide<math::CoshOp, &Wide::cosh>, ExpandWide<math::TanOp, &Wide::tan>,
               ExpandWide<math::Atan2Op, &Wide::atan2>, ExpandWide<math::AtanOp, &Wide::atan>,
               ExpandWide<math::AsinOp, &Wide::asin>, ExpandWide<math::AcosOp, &Wide::acos>,
               ExpandWide<arith::RemFOp, &Wide::remainder>>(patterns.getContext());
}

void host::populateNarrowMathPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandNarrow>(patterns.getContext());
}
