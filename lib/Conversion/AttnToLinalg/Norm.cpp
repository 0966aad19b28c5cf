//===- Norm.cpp - Normalization over the last dim ---------------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

/// Sums over the columns of each row, [rows].
Value sumColumns(ImplicitLocOpBuilder &b, ValueRange inputs, ArrayRef<AffineMap> maps,
                 function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> term) {
  Value zeros = filled(b, 0, emptyOf(b, {extent(b, inputs[0], 0)}, b.getF32Type()));
  SmallVector<AffineMap> all(maps);
  all.push_back(mapOf(b, 2, {0}));
  return generic(b, inputs, zeros, all, {Loop::Parallel, Loop::Reduction}, [&](ImplicitLocOpBuilder &b, ValueRange x) {
    return Value(arith::AddFOp::create(b, x.back(), term(b, x.drop_back())));
  });
}

template <typename Op> struct DecomposeNorm : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    constexpr bool isLayerNorm = std::is_same_v<Op, attn::LayerNormOp>;
    Value input = op.getInput(), counted = input;
    OpFoldResult rows = extent(b, input, 0);
    const int64_t width = cast<RankedTensorType>(input.getType()).getDimSize(1),
                  columns = op.getColumns().value_or(width);
    if (columns != width) // weight and bias are zero in the others
      counted = slice(b, input, {b.getIndexAttr(0), b.getIndexAttr(0)}, {rows, b.getIndexAttr(columns)});
    AffineMap both = b.getMultiDimIdentityMap(2), row = mapOf(b, 2, {0}), column = mapOf(b, 2, {1});
    Value count = number(b, static_cast<double>(columns)), mean;
    if (isLayerNorm)
      mean = forEach(
          b, {sumColumns(b, {counted}, {both}, [](ImplicitLocOpBuilder &b, ValueRange x) { return widened(b, x[0]); })},
          emptyOf(b, {rows}, b.getF32Type()),
          [&](ImplicitLocOpBuilder &b, ValueRange x) { return Value(arith::DivFOp::create(b, x[0], count)); });
    auto deviation = [&](ImplicitLocOpBuilder &b, Value x, Value mean) {
      return mean ? Value(arith::SubFOp::create(b, widened(b, x), mean)) : widened(b, x);
    };
    SmallVector<Value> inputs{counted};
    SmallVector<AffineMap> maps{both};
    if (mean)
      inputs.push_back(mean), maps.push_back(row);
    Value squares = sumColumns(b, inputs, maps, [&](ImplicitLocOpBuilder &b, ValueRange x) {
      Value d = deviation(b, x[0], mean ? x[1] : Value());
      return Value(arith::MulFOp::create(b, d, d));
    });
    Value init = emptyFor(b, op.getResult(), {rows, b.getIndexAttr(width)});
    inputs = {input, squares, op.getWeight()}, maps = {both, row, column};
    if (mean)
      inputs.push_back(mean), maps.push_back(row);
    if constexpr (isLayerNorm)
      inputs.push_back(op.getBias()), maps.push_back(column);
    maps.push_back(both);
    Value epsilon = number(b, op.getEpsilon().convertToDouble());
    Value result =
        generic(b, inputs, init, maps, {Loop::Parallel, Loop::Parallel}, [&](ImplicitLocOpBuilder &b, ValueRange x) {
          Value variance = arith::AddFOp::create(b, arith::DivFOp::create(b, x[1], count), epsilon);
          Value y =
              arith::DivFOp::create(b, deviation(b, x[0], mean ? x[3] : Value()), math::SqrtOp::create(b, variance));
          y = arith::MulFOp::create(b, y, widened(b, x[2]));
          if (isLayerNorm)
            y = arith::AddFOp::create(b, y, widened(b, x[4]));
          return rounded(b, y, x.back().getType());
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void neutral::populateNorm(RewritePatternSet &patterns) {
  patterns.add<DecomposeNorm<attn::LayerNormOp>, DecomposeNorm<attn::RMSNormOp>>(patterns.getContext());
}
