//===- MathInstructions.cpp - Functions of f32 by instructions of GPUs ---------------------===//
//
// Upstream's lowering of math.exp2 with fastmath<afn> is `ex2.approx` without `.ftz`, which scales denormal numbers by
// two more instructions; tanh is a polynomial. Neither tanh nor a division by a constant branches here: `div.rn` has a
// branch for numbers near the ends of the range, which each element of a tile would have.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include <numbers>

using namespace mlir;
using namespace rapt;

namespace {

template <typename Op> bool isApproximate(Op op) {
  return op.getType().isF32() && bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
}

Value callIntrinsic(OpBuilder &builder, Location loc, StringRef name, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, builder.getF32Type(), builder.getStringAttr(name), operands)
      .getResult(0);
}

template <typename Op> struct LowerMath : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!isApproximate(op))
      return failure();
    rewriter.replaceOp(op, instruction(op, rewriter));
    return success();
  }

private:
  static Value instruction(math::Exp2Op op, OpBuilder &builder) {
    return callIntrinsic(builder, op.getLoc(), "llvm.nvvm.ex2.approx.ftz.f", op.getOperand());
  }

  static Value instruction(math::ExpOp op, OpBuilder &builder) {
    const Value toBase2 =
        arith::ConstantOp::create(builder, op.getLoc(), builder.getF32FloatAttr(std::numbers::log2e_v<float>));
    const Value scaled = arith::MulFOp::create(builder, op.getLoc(), op.getOperand(), toBase2);
    return callIntrinsic(builder, op.getLoc(), "llvm.nvvm.ex2.approx.ftz.f", scaled);
  }

  static Value instruction(math::Log2Op op, OpBuilder &builder) {
    return callIntrinsic(builder, op.getLoc(), "llvm.nvvm.lg2.approx.ftz.f", op.getOperand());
  }

  static Value instruction(math::TanhOp op, OpBuilder &builder) {
    auto dialect = LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT);
    return LLVM::InlineAsmOp::create(builder, op.getLoc(), TypeRange(builder.getF32Type()), op.getOperand(),
                                     "tanh.approx.f32 $0, $1;", "=f,f", /*has_side_effects=*/false,
                                     /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None, dialect,
                                     ArrayAttr())
        .getResult(0);
  }

  static Value instruction(arith::DivFOp op, OpBuilder &builder) {
    return callIntrinsic(builder, op.getLoc(), "llvm.nvvm.div.approx.ftz.f", op.getOperands());
  }
};

/// tanh(x) is x + x^3 p(x^2) up to 0.55, and 1 - 2 / (1 + e^2|x|) with the sign of x from there on. The polynomial is a
/// minimax fit of the relative error. test/Execute/scalar_ops.py checks the error in units in the last place.
struct LowerTanh : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern<math::TanhOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().isF32() || isApproximate(op))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto number = [&](float value) -> Value { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); };
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto fma = [&](Value x, Value y, Value z) -> Value { return math::FmaOp::create(b, x, y, z); };
    const Value x = op.getOperand(), size = math::AbsFOp::create(b, x), square = mul(x, x);
    constexpr float kTerms[] = {-0.33332905173301697f, 0.13319668173789978f, -0.0526004284620285f,
                                0.016296369954943657f};
    Value near = number(kTerms[3]);
    for (int i = 2; i >= 0; --i)
      near = fma(near, square, number(kTerms[i]));
    near = fma(mul(near, square), size, size);
    const Value power =
        callIntrinsic(b, b.getLoc(), "llvm.nvvm.ex2.approx.ftz.f", mul(size, number(2 * std::numbers::log2e_v<float>)));
    const Value sum = arith::AddFOp::create(b, power, number(1));
    const Value quotient = callIntrinsic(b, b.getLoc(), "llvm.nvvm.div.approx.ftz.f", ValueRange{number(2), sum});
    const Value far = arith::SubFOp::create(b, number(1), quotient);
    const Value isNear = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, size, number(0.55f));
    rewriter.replaceOpWithNewOp<math::CopySignOp>(op, arith::SelectOp::create(b, isNear, near, far), x);
    return success();
  }
};

/// x / c = q + r (x - c q), where r is the nearest number to 1 / c and q = x r: rounded to nearest (Markstein 1990).
/// Infinity is left as q, and 0 has the sign of q.
struct LowerDivisionByConstant : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern<arith::DivFOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    if (!takes(op))
      return failure();
    const float by = *divisorOf(op), reciprocal = 1 / by;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto number = [&](float value) -> Value { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); };
    const Value quotient = arith::MulFOp::create(b, op.getLhs(), number(reciprocal));
    const Value rest = math::FmaOp::create(b, number(-by), quotient, op.getLhs());
    const Value rounded =
        math::CopySignOp::create(b, math::FmaOp::create(b, rest, number(reciprocal), quotient), quotient);
    const Value isInfinite = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, math::AbsFOp::create(b, quotient),
                                                   number(std::numeric_limits<float>::infinity()));
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isInfinite, quotient, rounded);
    return success();
  }

  /// Divisors with which x - c q is exact for quotients down to 2^-90.
  static bool takes(arith::DivFOp op) {
    const std::optional<float> by = divisorOf(op);
    return by && !isApproximate(op) && std::abs(*by) >= 0x1p-12f && std::abs(*by) <= 0x1p12f;
  }

private:
  static std::optional<float> divisorOf(arith::DivFOp op) {
    FloatAttr divisor;
    if (!op.getType().isF32() || !matchPattern(op.getRhs(), m_Constant(&divisor)))
      return std::nullopt;
    return divisor.getValue().convertToFloat();
  }
};

} // namespace

void cuda::populateMathInstructions(RewritePatternSet &patterns, ConversionTarget &target) {
  patterns.add<LowerMath<math::Exp2Op>, LowerMath<math::ExpOp>, LowerMath<math::Log2Op>, LowerMath<math::TanhOp>,
               LowerMath<arith::DivFOp>, LowerTanh, LowerDivisionByConstant>(patterns.getContext());
  target.addDynamicallyLegalOp<math::Exp2Op>([](math::Exp2Op op) { return !isApproximate(op); });
  target.addDynamicallyLegalOp<math::ExpOp>([](math::ExpOp op) { return !isApproximate(op); });
  target.addDynamicallyLegalOp<math::Log2Op>([](math::Log2Op op) { return !isApproximate(op); });
  target.addDynamicallyLegalOp<math::TanhOp>([](math::TanhOp op) { return !op.getType().isF32(); });
  target.addDynamicallyLegalOp<arith::DivFOp>(
      [](arith::DivFOp op) { return !isApproximate(op) && !LowerDivisionByConstant::takes(op); });
}
