//===- MathInstructions.cpp - Approximate instructions for functions of f32 ----------------===//
//
// Upstream's lowering of math.exp2 with fastmath<afn> is `ex2.approx` without `.ftz`, which scales denormal numbers by
// two more instructions; tanh is a polynomial.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CUDA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

} // namespace

void cuda::populateMathInstructions(RewritePatternSet &patterns, ConversionTarget &target) {
  patterns.add<LowerMath<math::Exp2Op>, LowerMath<math::ExpOp>, LowerMath<math::Log2Op>, LowerMath<math::TanhOp>,
               LowerMath<arith::DivFOp>>(patterns.getContext());
  target.addDynamicallyLegalOp<math::Exp2Op>([](math::Exp2Op op) { return !isApproximate(op); });
  target.addDynamicallyLegalOp<math::ExpOp>([](math::ExpOp op) { return !isApproximate(op); });
  target.addDynamicallyLegalOp<math::Log2Op>([](math::Log2Op op) { return !isApproximate(op); });
  target.addDynamicallyLegalOp<math::TanhOp>([](math::TanhOp op) { return !isApproximate(op); });
  target.addDynamicallyLegalOp<arith::DivFOp>([](arith::DivFOp op) { return !isApproximate(op); });
}
