//===- ExpandMath.cpp - Transcendental functions as polynomials -----------------------------===//
//
// The polynomials are minimax fits in double (Lawson's algorithm); the relative error of
// each on its interval stands beside it. exp and exp2 reduce to |f| <= 1/2 octave and
// rebuild the power of two in the exponent bits; tanh and erf use an odd polynomial
// near zero and exp elsewhere; sin and cos take multiples of pi/2 off (Cody and Waite
// 1980, with fused multiply-adds).
//
//===----------------------------------------------------------------------===//
#include "lib/Host/Elementwise.h"
#include "lib/Host/Math.h"
#include "lib/Host/Passes.h"
#include "lib/Host/WideMath.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include <numbers>

namespace rapt {
#define GEN_PASS_DEF_ATTNEXPANDMATH
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// 2^f on [-0.5, 0.5], 9.3e-8; the coefficients are floats.
constexpr double kExp2[] = {
    1, 0.6931470036506653, 0.24022246897220612, 0.0555071122944355, 0.009671294130384922, 0.0013269407209008932};

/// The same, 7.5e-5, for what is rounded to bf16.
constexpr double kCoarseExp2[] = {0.9999280571937561, 0.6932610273361206, 0.2426113784313202, 0.05517164617776871};

/// The functions on scalars or vectors of f32.
struct Emitter : host::Elementwise {
  using Elementwise::Elementwise;

  /// y * 2^r for |r| <= 127, y in [0.5, 2].
  Value scale(Value y, Value r) {
    Type i32 = withElement(b.getI32Type());
    Value shifted = arith::ShLIOp::create(b, arith::FPToSIOp::create(b, i32, r), integer(23));
    Value bits = arith::AddIOp::create(b, arith::BitcastOp::create(b, i32, y), shifted);
    return arith::BitcastOp::create(b, type, bits);
  }

  /// Results below 2^-126 become 0, above the largest float infinity, and NaN stays.
  Value limits(Value x, Value y, double low, double high) {
    y = select(compare(arith::CmpFPredicate::OLT, x, real(low)), real(0), y);
    y = select(compare(arith::CmpFPredicate::OGT, x, real(high)), real(std::numeric_limits<float>::infinity()), y);
    return select(compare(arith::CmpFPredicate::UNO, x, x), x, y);
  }

  Value clamp(Value x, double low, double high) {
    x = select(compare(arith::CmpFPredicate::OGT, x, real(low)), x, real(low));
    return select(compare(arith::CmpFPredicate::OLT, x, real(high)), x, real(high));
  }

  Value exp2(Value x) {
    Value inside = clamp(x, -126, 0x1.fffffep6);
    Value r = math::RoundEvenOp::create(b, inside);
    Value y = polynomial(sub(inside, r), kExp2);
    // 2^r with r = 128 does not exist: split the last octave.
    Value top = compare(arith::CmpFPredicate::OGT, r, real(127));
    y = scale(y, select(top, real(127), r));
    y = select(top, add(y, y), y);
    return limits(x, y, -126, 0x1.fffffep6);
  }

  /// exp2 of x <= 0 (A20): nothing overflows, -127 and less gives 0, what would be below 2^-126 is something below it.
  /// Adding 1.5 * 2^23 + 127 rounds to an integer and leaves its power of two's exponent in the low bits. NaN stays.
  Value exp2OfNonpositive(Value x, bool isCoarse) {
    constexpr double rounder = 0x1.8p23 + 127;
    Value inside = select(compare(arith::CmpFPredicate::OLT, x, real(-127)), real(-127), x);
    Value rounded = add(inside, real(rounder));
    Value fraction = sub(inside, sub(rounded, real(rounder)));
    Value y = isCoarse ? polynomial(fraction, kCoarseExp2) : polynomial(fraction, kExp2);
    Type i32 = withElement(b.getI32Type());
    Value power = arith::ShLIOp::create(b, arith::BitcastOp::create(b, i32, rounded), integer(23));
    return mul(y, arith::BitcastOp::create(b, type, power));
  }

  Value exp(Value x) {
    // ln 2 in two parts: the first has 12 trailing zero bits, so that r * high is exact.
    constexpr double high = 0.693359375, low = -2.12194440054690583e-4;
    Value inside = clamp(x, -87.33654022216797, 88.72283172607422);
    Value r = math::RoundEvenOp::create(b, mul(inside, real(std::numbers::log2e)));
    Value f = fma(r, real(-low), fma(r, real(-high), inside));
    // e^f on [-0.3466, 0.3466], 9.2e-8; the coefficients are floats.
    Value y = polynomial(f, {1, 0.9999997019767761, 0.4999915063381195, 0.16667647659778595, 0.041897837072610855,
                             0.008289715275168419});
    Value top = compare(arith::CmpFPredicate::OGT, r, real(127));
    y = scale(y, select(top, real(127), r));
    y = select(top, add(y, y), y);
    return limits(x, y, -87.33654022216797, 88.72283172607422);
  }

  /// sin(x + quarters * pi/2) for |x| <= 2^20, NaN beyond.
  Value sine(Value x, int32_t quarters) {
    constexpr double most = 0x1p20;
    // pi/2 in three floats. k is below 2^20, so that k * high and what it leaves of x are exact.
    constexpr double high = 1.5707963705062866, middle = -4.3711388286737929e-08, low = -1.7151245100059226e-15;
    Value inside = clamp(x, -most, most);
    Value k = math::RoundEvenOp::create(b, mul(inside, real(2 / std::numbers::pi)));
    Value r = fma(k, real(-low), fma(k, real(-middle), fma(k, real(-high), inside)));
    Value z = mul(r, r);
    // (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2/2) / r^4 in r^2 on [0, 0.7], 5.9e-9 and 1.8e-10.
    Value sin = fma(mul(r, z), polynomial(z, {-0.16666649717105236, 0.00833185674448575, -0.00019475113989232}), r);
    Value cos = polynomial(z, {1, -0.5, 0.041666638033243657, -0.0013886943942156725, 2.4391124550284397e-05});
    Type i32 = withElement(b.getI32Type());
    Value quadrant = arith::FPToSIOp::create(b, i32, k);
    if (quarters != 0)
      quadrant = arith::AddIOp::create(b, quadrant, integer(quarters));
    Value odd = arith::ShLIOp::create(b, quadrant, integer(31)); // its sign bit, and that of the result
    Value sign = arith::AndIOp::create(b, arith::ShLIOp::create(b, quadrant, integer(30)), integer(INT32_MIN));
    Value y = select(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, odd, integer(0)), cos, sin);
    y = arith::BitcastOp::create(b, type, arith::XOrIOp::create(b, arith::BitcastOp::create(b, i32, y), sign));
    return select(compare(arith::CmpFPredicate::OLE, abs(x), real(most)), y,
                  real(std::numeric_limits<float>::quiet_NaN()));
  }
  Value cos(Value x) { return sine(x, 1); }
  /// x itself near zero: the reduction would lose the sign of -0.
  Value sin(Value x) { return select(compare(arith::CmpFPredicate::OLT, abs(x), real(0x1p-12)), x, sine(x, 0)); }

  /// x = 2^k m with m from sqrt(1/2) to sqrt(2), so that log(x) = k ln 2 + log(m).
  Value log(Value x) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    // ln 2 in two parts: the first has 12 trailing zero bits, so that k * high is exact.
    constexpr double high = 0.693359375, low = -2.12194440054690583e-4;
    Type i32 = withElement(b.getI32Type());
    Value isSubnormal = compare(arith::CmpFPredicate::OLT, x, real(0x1p-126));
    Value normal = select(isSubnormal, mul(x, real(0x1p23)), x);
    Value bits = arith::BitcastOp::create(b, i32, normal);
    // 0x3f3504f3 are the bits of sqrt(1/2).
    Value power = arith::ShRSIOp::create(b, arith::SubIOp::create(b, bits, integer(0x3f3504f3)), integer(23));
    Value m = arith::BitcastOp::create(
        b, type, arith::SubIOp::create(b, bits, Value(arith::ShLIOp::create(b, power, integer(23)))));
    Value k = sub(arith::SIToFPOp::create(b, type, power), select(isSubnormal, real(23), real(0)));
    Value z = sub(m, real(1)), square = mul(z, z);
    // (log(1 + z) - z + z^2/2) / z^3 on [-0.2929, 0.4143], 5.9e-9 of log(1 + z); the coefficients are floats.
    Value y = polynomial(z, {0.3333333134651184, -0.2500081956386566, 0.20001226663589478, -0.16623356938362122,
                             0.14201757311820984, -0.13160182535648346, 0.1276157796382904, -0.07634497433900833});
    y = fma(square, real(-0.5), fma(k, real(low), mul(y, mul(square, z))));
    y = fma(k, real(high), add(z, y));
    y = select(compare(arith::CmpFPredicate::OEQ, x, real(infinity)), x, y);
    Value edge = select(compare(arith::CmpFPredicate::OEQ, x, real(0)), real(-infinity),
                        real(std::numeric_limits<double>::quiet_NaN()));
    return select(compare(arith::CmpFPredicate::OGT, x, real(0)), y, edge);
  }

  Value tanh(Value x) {
    Value a = abs(x), u = mul(x, x);
    // tanh(x) / x in x^2 on [0, 0.39], 3.7e-9.
    Value near = mul(x, polynomial(u, {0.9999999962994425, -0.3333326338040094, 0.13331185767621448,
                                       -0.05372523158698459, 0.020603147074549907, -0.005672421665581812}));
    Value e = exp(add(a, a));
    Value far = sub(real(1), arith::DivFOp::create(b, real(2), add(e, real(1))));
    far = math::CopySignOp::create(b, far, x);
    return select(compare(arith::CmpFPredicate::OLT, a, real(0.625)), near, far);
  }

  Value erf(Value x) {
    Value a = abs(x), u = mul(x, x);
    // erf(x) / x in x^2 on [0, 1], 1.2e-9.
    Value near =
        mul(x, polynomial(u, {1.128379165913752, -0.37612627135966137, 0.11283600176261488, -0.02685444459210662,
                              0.005189535339758763, -0.0008020841283820362, 7.889119546412801e-05}));
    // erfc(x) exp(x^2) in 1 / (1 + x) on x in [1, 4.2], 8.7e-8; erf is 1 in f32 beyond 3.92.
    Value bounded = select(compare(arith::CmpFPredicate::OLT, a, real(4.2)), a, real(4.2));
    Value t = arith::DivFOp::create(b, real(1), add(bounded, real(1)));
    Value tail = polynomial(t, {-0.00032972560511572907, 0.5719018372347557, 0.48901848385841956, 0.6720055967054954,
                                -1.397067357246399, 0.79710195651373, -0.12068009384392475});
    Value square = mul(bounded, bounded);
    Value far = sub(real(1), mul(exp(sub(real(0), square)), tail));
    far = math::CopySignOp::create(b, far, x);
    Value y = select(compare(arith::CmpFPredicate::OLT, a, real(1)), near, far);
    return select(compare(arith::CmpFPredicate::UNO, x, x), x, y);
  }
};

template <typename Op, Value (Emitter::*emit)(Value)> struct Expand : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32() || isa<TensorType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Emitter emitter(b, op.getOperand());
    if (op->hasAttr(host::kNonpositiveAttr)) {
      rewriter.replaceOp(op, emitter.exp2OfNonpositive(op.getOperand(), op->hasAttr(host::kRoundedAttr)));
      return success();
    }
    rewriter.replaceOp(op, (emitter.*emit)(op.getOperand()));
    return success();
  }
};

/// Whether LLVM has an instruction, or some, for an op of math on every processor.
bool isInstruction(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp, math::RoundEvenOp,
             math::RoundOp, math::RsqrtOp, math::SqrtOp, math::TruncOp>(op);
}

struct ExpandMath : rapt::impl::AttnExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Backend)))
      return signalPassFailure();
    // A walk does not visit the ops that it makes.
    RewritePatternSet narrow(&getContext());
    host::populateNarrowMathPatterns(narrow);
    walkAndApplyPatterns(getOperation(), std::move(narrow));
    RewritePatternSet patterns(&getContext());
    host::populateWideMathPatterns(patterns);
    patterns.add<Expand<math::ExpOp, &Emitter::exp>, Expand<math::Exp2Op, &Emitter::exp2>,
                 Expand<math::TanhOp, &Emitter::tanh>, Expand<math::ErfOp, &Emitter::erf>,
                 Expand<math::SinOp, &Emitter::sin>, Expand<math::CosOp, &Emitter::cos>,
                 Expand<math::LogOp, &Emitter::log>>(&getContext());
    // Where a processor has no instruction to round to bf16, LLVM calls a function of the compiler's own library.
    arith::populateExpandBFloat16Patterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    WalkResult calls = getOperation()->walk([](Operation *op) {
      if ((!isa<math::MathDialect>(op->getDialect()) && !isa<arith::RemFOp>(op)) || isInstruction(op))
        return WalkResult::advance();
      op->emitOpError() << "on " << op->getOperand(0).getType() << " would call libm; expected a function of "
                        << "dialect/Attn/ScalarOps.def on scalars or vectors of f32, bf16 or f16";
      return WalkResult::interrupt();
    });
    if (calls.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
