//===- Norm.cpp - Normalization over the last dim ---------------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

/// The map of `rank` dims to all but the last.
AffineMap rowsMap(ImplicitLocOpBuilder &b, unsigned rank) {
  return b.getMultiDimIdentityMap(rank).dropResult(rank - 1);
}

/// Sums over the last dim.
Value sumColumns(ImplicitLocOpBuilder &b, ValueRange inputs, ArrayRef<AffineMap> maps,
                 function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> term) {
  SmallVector<OpFoldResult> rows = extents(b, inputs[0]);
  rows.pop_back();
  Value zeros = filled(b, 0, emptyOf(b, rows, b.getF32Type()));
  SmallVector<AffineMap> all(maps);
  all.push_back(rowsMap(b, rows.size() + 1));
  SmallVector<Loop> loops(rows.size(), Loop::Parallel);
  loops.push_back(Loop::Reduction);
  return generic(b, inputs, zeros, all, loops, [&](ImplicitLocOpBuilder &b, ValueRange x) {
    return Value(arith::AddFOp::create(b, x.back(), term(b, x.drop_back())));
  });
}

template <typename Op> struct DecomposeNorm : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    constexpr bool isLayerNorm = std::is_same_v<Op, attn::LayerNormOp>;
    Value input = op.getInput(), counted = input;
    auto type = cast<RankedTensorType>(input.getType());
    const int64_t rank = type.getRank(), width = type.getShape().back(), columns = op.getColumns().value_or(width);
    SmallVector<OpFoldResult> all = extents(b, input), rows = all;
    rows.pop_back();
    if (columns != width) { // weight and bias are zero in the others
      SmallVector<OpFoldResult> leading = rows;
      leading.push_back(b.getIndexAttr(columns));
      counted = slice(b, input, SmallVector<OpFoldResult>(rank, b.getIndexAttr(0)), leading);
    }
    AffineMap element = b.getMultiDimIdentityMap(rank), row = rowsMap(b, rank);
    const int64_t dims = cast<RankedTensorType>(op.getWeight().getType()).getRank();
    AffineMap column = element.getMinorIdentityMap(rank, dims, op.getContext());
    Value count = number(b, static_cast<double>(columns)), mean;
    if (isLayerNorm)
      mean = forEach(
          b,
          {sumColumns(b, {counted}, {element}, [](ImplicitLocOpBuilder &b, ValueRange x) { return widened(b, x[0]); })},
          emptyOf(b, rows, b.getF32Type()),
          [&](ImplicitLocOpBuilder &b, ValueRange x) { return Value(arith::DivFOp::create(b, x[0], count)); });
    auto deviation = [&](ImplicitLocOpBuilder &b, Value x, Value mean) {
      return mean ? Value(arith::SubFOp::create(b, widened(b, x), mean)) : widened(b, x);
    };
    SmallVector<Value> inputs{counted};
    SmallVector<AffineMap> maps{element};
    if (mean)
      inputs.push_back(mean), maps.push_back(row);
    Value squares = sumColumns(b, inputs, maps, [&](ImplicitLocOpBuilder &b, ValueRange x) {
      Value d = deviation(b, x[0], mean ? x[1] : Value());
      return Value(arith::MulFOp::create(b, d, d));
    });
    Value init = emptyFor(b, op.getResult(), all);
    inputs = {input, squares, op.getWeight()}, maps = {element, row, column};
    if (mean)
      inputs.push_back(mean), maps.push_back(row);
    if constexpr (isLayerNorm)
      inputs.push_back(op.getBias()), maps.push_back(column);
    maps.push_back(element);
    Value epsilon = number(b, op.getEpsilon().convertToDouble());
    Value result = generic(
        b, inputs, init, maps, SmallVector<Loop>(rank, Loop::Parallel), [&](ImplicitLocOpBuilder &b, ValueRange x) {
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
