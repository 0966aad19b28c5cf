//===- MathInstructions.cpp - exp2 and casts to bf16 by AVX-512 instructions ---------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Host/Elementwise.h"
#include "lib/Host/Math.h"
#include "lib/Target/CPU/Codegen/Bf16Instructions.h"
#include "lib/Target/CPU/Codegen/Passes.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCPUMATHINSTRUCTIONS
#include "lib/Target/CPU/Codegen/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Polynomial of 2^f on [0, 1], relative error 8.2e-8; the coefficients are floats.
constexpr double kExp2OfFraction[] = {
    1, 0.6931512951850891, 0.24016444385051727, 0.05579991266131401, 0.009017030708491802, 0.0018671300495043397};
/// Polynomial of 2^f on [0, 1], relative error 7.5e-5, for results that are cast to bf16.
constexpr double kCoarseExp2OfFraction[] = {0.9999252557754517, 0.6958332061767578, 0.22606757283210754,
                                            0.0780244916677475};
/// Lanes of vreduceps and vscalefps.
constexpr int64_t kExp2Lanes = 16;

/// exp2 of 16 elements that are not above zero: vreduceps subtracts floor(x), a polynomial takes the fraction, and
/// vscalefps multiplies by 2^floor(x). Results below 2^-126 are 0 (A20); NaN stays NaN.
Value exp2ByScaledReduce(ImplicitLocOpBuilder &b, Value x, bool isCoarse) {
  constexpr int32_t floorWithoutExceptions = 9, currentRounding = 4;
  auto constant = [&](Type type, int64_t value) -> Value {
    return LLVM::ConstantOp::create(b, type, b.getIntegerAttr(type, value));
  };
  auto call = [&](StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr(name), operands).getResult(0);
  };
  host::Elementwise emitter(b, x);
  Type i32 = b.getI32Type(), i16 = b.getI16Type();
  Value rounding = constant(i32, currentRounding), zeros = emitter.real(0);
  Value fraction = call("llvm.x86.avx512.mask.reduce.ps.512",
                        {x, constant(i32, floorWithoutExceptions), zeros, constant(i16, -1), rounding});
  Value some = emitter.compare(arith::CmpFPredicate::UGE, x, emitter.real(-126));
  some = vector::ExtractOp::create(b, vector::BitCastOp::create(b, VectorType::get({1}, i16), some), 0);
  Value power =
      isCoarse ? emitter.polynomial(fraction, kCoarseExp2OfFraction) : emitter.polynomial(fraction, kExp2OfFraction);
  return call("llvm.x86.avx512.mask.scalef.ps.512", {power, x, zeros, some, rounding});
}

/// Lowers math.exp2 of vectors that are not above zero, 16 lanes at a time.
struct Exp2ByScaledReduce : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!op->hasAttr(host::kNonpositiveAttr) || !type || !type.getElementType().isF32() ||
        type.getNumElements() % kExp2Lanes != 0)
      return rewriter.notifyMatchFailure(op, "not whole vectors of f32 that are not above zero");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    VectorType row = VectorType::get({type.getNumElements()}, b.getF32Type());
    Value x = op.getOperand(), result = arith::ConstantOp::create(b, b.getZeroAttr(row));
    if (type != row)
      x = vector::ShapeCastOp::create(b, row, x);
    for (int64_t from = 0; from < row.getNumElements(); from += kExp2Lanes) {
      Value part = vector::ExtractStridedSliceOp::create(b, x, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{kExp2Lanes},
                                                         ArrayRef<int64_t>{1});
      result = vector::InsertStridedSliceOp::create(b, exp2ByScaledReduce(b, part, op->hasAttr(host::kRoundedAttr)),
                                                    result, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{1});
    }
    rewriter.replaceOp(op, type == row ? result : Value(vector::ShapeCastOp::create(b, type, result)));
    return success();
  }
};

/// Lowers arith.truncf of rows of 32 elements to bf16 by vcvtne2ps2bf16.
struct CastPanelToBf16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    auto from = dyn_cast<VectorType>(op.getIn().getType());
    if (!from || from.getRank() > 2 || from.getShape().back() != attn_cpu::kPanel || !from.getElementType().isF32() ||
        !getElementTypeOrSelf(op.getType()).isBF16())
      return rewriter.notifyMatchFailure(op, "not rows of 32 numbers of f32 to bf16");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (from.getRank() == 1) {
      rewriter.replaceOp(op, cpu::castPanelToBf16(b, op.getIn()));
      return success();
    }
    Value rows = arith::ConstantOp::create(b, b.getZeroAttr(op.getType()));
    for (int64_t r = 0; r < from.getDimSize(0); ++r)
      rows = vector::InsertOp::create(b, cpu::castPanelToBf16(b, vector::ExtractOp::create(b, op.getIn(), r)), rows, r);
    rewriter.replaceOp(op, rows);
    return success();
  }
};

struct MathInstructions : rapt::impl::AttnCPUMathInstructionsBase<MathInstructions> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Backend)))
      return signalPassFailure();
    TargetInfo target = TargetInfo::of(getOperation());
    RewritePatternSet patterns(&getContext());
    if (target.bf16Cast)
      patterns.add<CastPanelToBf16>(&getContext());
    if (target.scaledReduce)
      patterns.add<Exp2ByScaledReduce>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
