//===- LowerProducts.cpp - Register tiles of matrix products --------------------------------===//
#include "lib/Conversion/AttnToLinalg/Tile.h"
#include "lib/Target/CPU/Passes.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLOWERPRODUCTS
#include "lib/Target/CPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::kPanel;

namespace {

/// Chains of accumulators of a single row.
constexpr int64_t kChains = 4;

struct LowerProduct : OpRewritePattern<linalg::MatmulOp> {
  LowerProduct(MLIRContext *context, TargetInfo target) : OpRewritePattern(context), target(target) {}
  TargetInfo target;

  LogicalResult matchAndRewrite(linalg::MatmulOp op, PatternRewriter &rewriter) const override {
    auto a = dyn_cast<RankedTensorType>(op.getInputs()[0].getType()),
         w = dyn_cast<RankedTensorType>(op.getInputs()[1].getType());
    if (!a || !w || !a.hasStaticShape() || !w.hasStaticShape() || w.getDimSize(1) % kPanel != 0)
      return rewriter.notifyMatchFailure(op, "not a static tile of whole panels");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t m = a.getDimSize(0), lanes = target.lanesF32(), columns = 2 * lanes;
    // As many rows as the accumulators allow, in parts of nearly one size.
    int64_t parts = llvm::divideCeil(m, (target.vectorRegisters - 3) / 2);
    Value dest = op.getOutputs()[0];
    auto fill = dest.getDefiningOp<linalg::FillOp>();
    bool fromZero = fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
    if (fromZero)
      dest = fill.getOutputs()[0];
    for (int64_t column = 0; column < w.getDimSize(1); column += columns)
      for (int64_t part = 0; part < parts; ++part) {
        int64_t row = m * part / parts, end = m * (part + 1) / parts;
        dest = emit(b, op, dest, fromZero, row, end - row, column, lanes);
      }
    rewriter.replaceOp(op, dest);
    if (fromZero && fill->use_empty())
      rewriter.eraseOp(fill);
    return success();
  }

  /// Rows [row, row + rows) by columns [column, column + 2 * lanes) of the product, written into `dest`.
  static Value emit(ImplicitLocOpBuilder &b, linalg::MatmulOp op, Value dest, bool fromZero, int64_t row, int64_t rows,
                    int64_t column, int64_t lanes) {
    Value a = op.getInputs()[0], w = op.getInputs()[1];
    int64_t k = cast<RankedTensorType>(a.getType()).getDimSize(1);
    int64_t chains = rows == 1 && k % kChains == 0 ? kChains : 1;
    auto vector = VectorType::get({lanes}, b.getF32Type());
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    auto f0 = [&]() -> Value { return arith::ConstantOp::create(b, b.getF32FloatAttr(0)); };
    auto at = [&](int64_t r, int64_t half) {
      return SmallVector<Value>{index(b, row + r), index(b, column + half * lanes)};
    };
    SmallVector<Value> inits;
    for (int64_t chain = 0; chain < chains; ++chain)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t half = 0; half < 2; ++half)
          inits.push_back(fromZero || chain > 0 ? zeros
                                                : Value(vector::TransferReadOp::create(b, vector, dest, at(r, half),
                                                                                       f0(), ArrayRef<bool>{true})));
    auto loop = scf::ForOp::create(b, index(b, 0), index(b, k), index(b, chains), inits);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next;
      for (int64_t chain = 0; chain < chains; ++chain) {
        Value step = loop.getInductionVar();
        if (chain > 0)
          step = arith::AddIOp::create(b, step, index(b, chain));
        Value panels[2] = {load(b, w, step, column, lanes), load(b, w, step, column + lanes, lanes)};
        for (int64_t r = 0; r < rows; ++r) {
          Value element = tensor::ExtractOp::create(b, a, ValueRange{index(b, row + r), step});
          Value factor = vector::BroadcastOp::create(b, vector, element);
          for (int64_t half = 0; half < 2; ++half)
            next.push_back(vector::FMAOp::create(b, factor, panels[half], loop.getRegionIterArg(next.size())));
        }
      }
      scf::YieldOp::create(b, next);
    }
    SmallVector<Value> sums(loop.getResults());
    for (int64_t stride = chains / 2; stride > 0; stride /= 2)
      for (int64_t i = 0; i < stride * rows * 2; ++i)
        sums[i] = arith::AddFOp::create(b, sums[i], sums[i + stride * rows * 2]);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t half = 0; half < 2; ++half)
        dest =
            vector::TransferWriteOp::create(b, sums[r * 2 + half], dest, at(r, half), ArrayRef<bool>{true}).getResult();
    return dest;
  }

  static Value load(ImplicitLocOpBuilder &b, Value w, Value k, int64_t column, int64_t lanes) {
    Type element = getElementTypeOrSelf(w.getType());
    Value padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
    Value loaded = vector::TransferReadOp::create(b, VectorType::get({lanes}, element), w,
                                                  ValueRange{k, index(b, column)}, padding, ArrayRef<bool>{true});
    if (element.isF32())
      return loaded;
    return arith::ExtFOp::create(b, VectorType::get({lanes}, b.getF32Type()), loaded);
  }
};

struct LowerProducts : rapt::impl::AttnLowerProductsBase<LowerProducts> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerProduct>(&getContext(), TargetInfo::of(getOperation()));
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
