//===- FeedForward.cpp - Matmuls, activations, gates --------------------------------===//
//
// A matmul is two or three ops: zeros, sums over the depth, and the epilogue. The loops of the
// sums are (row, depth, column), or (row, column, depth) where the weight is transposed, so that the innermost goes
// along a row of the weight. Where rows have a matrix of several each, its number is computed
// first, and the weight is read by indices. Heads are one more loop.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/Elementwise.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

struct DecomposeElementwise : attn::ElementwisePattern {
  using ElementwisePattern::ElementwisePattern;

  LogicalResult matchAndRewrite(attn::EpilogueOpInterface op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value first = op->getOperand(0);
    Value init = emptyFor(b, op->getResult(0), extents(b, first));
    rewriter.replaceOp(op, forEach(b, op->getOperands(), init, [&](ImplicitLocOpBuilder &b, ValueRange elements) {
                         SmallVector<Value> numbers;
                         for (Value element : elements.drop_back())
                           numbers.push_back(widened(b, element));
                         return rounded(b, op.emitScalar(b, b.getLoc(), numbers), elements.back().getType());
                       }));
    return success();
  }
};

struct DecomposeLinear : OpRewritePattern<attn::LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::LinearOp op, PatternRewriter &rewriter) const override {
    if (op.isQuantized() || op.getLayout())
      return rewriter.notifyMatchFailure(op, "the weight is no matrix of floats");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (op.isOfHeads()) {
      rewriter.replaceOp(op, ofHeads(b, op));
      return success();
    }
    Value input = op.getInput(), weight = op.getWeight();
    OpFoldResult rows = extent(b, input, 0), columns = extent(b, weight, op.getTransposed() ? 0 : 1);
    Value first = op.getGroups() ? firstColumns(b, op) : Value();
    if (first)
      columns = b.getIndexAttr(op.getResult().getType().getDimSize(1));
    Value init = emptyFor(b, op.getResult(), {rows, columns}), dest = init;
    const Type element = op.getResult().getType().getElementType();
    if (!element.isF32()) // sums are f32, whatever the result is
      dest = emptyOf(b, extents(b, init), b.getF32Type());
    const bool transposed = op.getTransposed();
    const int64_t m = 0, k = transposed ? 2 : 1, n = transposed ? 1 : 2;
    AffineMap ofWeight = transposed ? mapOf(b, 3, {n, k}) : mapOf(b, 3, {k, n});
    SmallVector<AffineMap> maps{mapOf(b, 3, {m, k}), first ? mapOf(b, 3, {m}) : ofWeight, mapOf(b, 3, {m, n})};
    SmallVector<Loop> loops(3, Loop::Parallel);
    loops[k] = Loop::Reduction;
    Value sums = generic(b, {input, first ? first : weight}, filled(b, 0, dest), maps, loops,
                         [&](ImplicitLocOpBuilder &b, ValueRange x) {
                           Value factor = x[1];
                           if (first) {
                             SmallVector<Value> place{at(b, k), columnAt(b, x[1], at(b, n))};
                             if (transposed)
                               std::swap(place[0], place[1]);
                             factor = read(b, weight, place);
                           }
                           Value term = arith::MulFOp::create(b, widened(b, x[0]), widened(b, factor));
                           return Value(arith::AddFOp::create(b, x[2], term));
                         });
    if (!op.getEpilogue().empty())
      sums = epilogue(b, op, sums, init, rows, columns, first);
    else if (dest != init)
      sums = forEach(b, {sums}, init, [&](ImplicitLocOpBuilder &b, ValueRange x) { return rounded(b, x[0], element); });
    rewriter.replaceOp(op, sums);
    return success();
  }

  /// The sums of heads, [rows, heads, columns], and their epilogue.
  static Value ofHeads(ImplicitLocOpBuilder &b, attn::LinearOp op) {
    const Type element = op.getResult().getType().getElementType();
    const bool transposed = op.getTransposed();
    const int64_t heads = op.getInput().getType().getDimSize(1), columns = op.getResult().getType().getDimSize(2);
    RankedTensorType weight = op.getWeight().getType();
    SmallVector<int64_t> shape(weight.getShape());
    shape[transposed ? 0 : 1] = columns;
    shape.insert(shape.begin() + (transposed ? 0 : 1), heads);
    SmallVector<ReassociationIndices> parts{{0}, {1, 2}};
    if (transposed)
      parts = {{0, 1}, {2}};
    Value matrices =
        tensor::ExpandShapeOp::create(b, RankedTensorType::get(shape, weight.getElementType()), op.getWeight(), parts);
    Value init = emptyFor(b, op.getResult(),
                          {extent(b, op.getInput(), 0), b.getIndexAttr(heads), b.getIndexAttr(columns)}),
          dest = element.isF32() ? init : emptyOf(b, extents(b, init), b.getF32Type());
    const int64_t m = 0, h = 1, k = transposed ? 3 : 2, n = transposed ? 2 : 3;
    SmallVector<AffineMap> maps{mapOf(b, 4, {m, h, k}), transposed ? mapOf(b, 4, {h, n, k}) : mapOf(b, 4, {k, h, n}),
                                mapOf(b, 4, {m, h, n})};
    SmallVector<Loop> loops(4, Loop::Parallel);
    loops[k] = Loop::Reduction;
    Value sums = generic(b, {op.getInput(), matrices}, filled(b, 0, dest), maps, loops,
                         [&](ImplicitLocOpBuilder &b, ValueRange x) {
                           Value term = arith::MulFOp::create(b, widened(b, x[0]), widened(b, x[1]));
                           return Value(arith::AddFOp::create(b, x[2], term));
                         });
    if (op.getEpilogue().empty() && dest == init)
      return sums;
    return forEach(b, {sums}, init, [&](ImplicitLocOpBuilder &b, ValueRange x) {
      return rounded(b, op.getEpilogue().empty() ? x[0] : inlineRegion(b, op.getEpilogue(), {x[0]}), element);
    });
  }

  /// The first column, in the weight, of the matrix of each row, [rows] of i32.
  static Value firstColumns(ImplicitLocOpBuilder &b, attn::LinearOp op) {
    const int64_t groups = cast<RankedTensorType>(op.getGroups().getType()).getDimSize(0) - 1,
                  columns = op.getResult().getType().getDimSize(1);
    return forEach(b, {}, emptyOf(b, {extent(b, op.getInput(), 0)}, b.getI32Type()),
                   [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
                     Value row = at(b, 0), zero = index(b, 0);
                     Value matrix = loop(b, zero, index(b, groups), 1, zero,
                                         [&](ImplicitLocOpBuilder &b, Value group, Value carried) -> Value {
                                           Value begin = readIndex(b, op.getGroups(), {group, index(b, 0)});
                                           Value isReached =
                                               arith::CmpIOp::create(b, arith::CmpIPredicate::sle, begin, row);
                                           Value own = readIndex(b, op.getGroups(), {group, index(b, 1)});
                                           return arith::SelectOp::create(b, isReached, own, carried);
                                         });
                     Value first = arith::MulIOp::create(b, matrix, index(b, columns));
                     return arith::IndexCastOp::create(b, b.getI32Type(), first);
                   });
  }

  /// Column `column` of the matrix that begins at `first`, an i32.
  static Value columnAt(ImplicitLocOpBuilder &b, Value first, Value column) {
    return arith::AddIOp::create(b, arith::IndexCastOp::create(b, b.getIndexType(), first), column);
  }

  static Value epilogue(ImplicitLocOpBuilder &b, attn::LinearOp op, Value sums, Value init, OpFoldResult rows,
                        OpFoldResult columns, Value first) {
    SmallVector<Value> inputs{sums}, biases;
    SmallVector<AffineMap> maps{b.getMultiDimIdentityMap(2)};
    for (Value extra : op.getExtras()) {
      if (first && cast<RankedTensorType>(extra.getType()).getRank() == 1) {
        biases.push_back(extra);
        inputs.push_back(first);
        maps.push_back(mapOf(b, 2, {0}));
        continue;
      }
      biases.push_back(nullptr);
      const bool isBias = cast<RankedTensorType>(extra.getType()).getRank() == 1;
      // A bias may be longer than the result's columns.
      if (isBias && cast<RankedTensorType>(extra.getType()).getDimSize(0) != op.getResult().getType().getDimSize(1))
        extra = slice(b, extra, {b.getIndexAttr(0)}, {columns});
      inputs.push_back(extra);
      maps.push_back(isBias ? mapOf(b, 2, {1}) : b.getMultiDimIdentityMap(2));
    }
    maps.push_back(b.getMultiDimIdentityMap(2));
    return generic(b, inputs, init, maps, {Loop::Parallel, Loop::Parallel},
                   [&](ImplicitLocOpBuilder &b, ValueRange elements) {
                     SmallVector<Value> numbers;
                     for (auto [i, element] : llvm::enumerate(elements.drop_back())) {
                       Value bias = i > 0 ? biases[i - 1] : Value();
                       numbers.push_back(bias ? read(b, bias, columnAt(b, element, at(b, 1))) : widened(b, element));
                     }
                     return rounded(b, inlineRegion(b, op.getEpilogue(), numbers), elements.back().getType());
                   });
  }
};

} // namespace

std::pair<Value, Value> neutral::groupScale(ImplicitLocOpBuilder &b, Value largest) {
  Value most = number(b, 127), zero = number(b, 0);
  Value isFinite =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, largest, number(b, std::numeric_limits<float>::infinity()));
  Value counts = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, largest, number(b, 0x1p-100));
  Value scale = arith::SelectOp::create(b, counts, arith::DivFOp::create(b, largest, most), zero);
  scale = arith::SelectOp::create(b, isFinite, scale, number(b, std::numeric_limits<float>::quiet_NaN()));
  Value inverse = arith::SelectOp::create(b, arith::AndIOp::create(b, counts, isFinite),
                                          arith::DivFOp::create(b, most, largest), zero);
  return {scale, inverse};
}

Value neutral::codeOf(ImplicitLocOpBuilder &b, Value x, Value inverse) {
  Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, inverse, number(b, 0));
  Value code = math::RoundEvenOp::create(b, arith::MulFOp::create(b, x, inverse));
  return arith::SelectOp::create(b, isZero, number(b, 0), code);
}

/// The column at which group `group` begins, and where it ends: groups begin anew after each period.
static std::pair<Value, Value> groupAt(ImplicitLocOpBuilder &b, attn::QuantizedType type, int64_t depth, Value group) {
  const int64_t period = type.getPeriod() ? type.getPeriod() : depth;
  if (type.getGroup() == 0)
    return {index(b, 0), index(b, depth)};
  const int64_t ofPeriod = llvm::divideCeil(period, type.getGroup());
  AffineExpr d0 = b.getAffineDimExpr(0);
  Value part = asValue(b, affineOf(b, d0.floorDiv(ofPeriod) * period, {OpFoldResult(group)}));
  Value begin =
      arith::AddIOp::create(b, part, asValue(b, affineOf(b, d0 % ofPeriod * type.getGroup(), {OpFoldResult(group)})));
  Value end = arith::MinSIOp::create(b, arith::AddIOp::create(b, begin, index(b, type.getGroup())),
                                     arith::AddIOp::create(b, part, index(b, period)));
  return {begin, arith::MinSIOp::create(b, end, index(b, depth))};
}

Value neutral::roundedRows(ImplicitLocOpBuilder &b, attn::QuantizeRowsOp op) {
  auto type = cast<attn::QuantizedType>(op.getResult().getType().getElementType());
  Value input = op.getInput();
  auto inputType = cast<RankedTensorType>(input.getType());
  const int64_t depth = inputType.getDimSize(1), period = type.getPeriod() ? type.getPeriod() : depth;
  const int64_t groups =
      type.getGroup() == 0 ? 1 : llvm::divideCeil(depth, period) * llvm::divideCeil(period, type.getGroup());
  OpFoldResult rows = extent(b, input, 0);
  // The largest magnitude of each group, by a loop over its columns.
  Value largest = forEach(
      b, {}, emptyOf(b, {rows, b.getIndexAttr(groups)}, b.getF32Type()), [&](ImplicitLocOpBuilder &b, ValueRange) {
        Value row = at(b, 0);
        auto [begin, end] = groupAt(b, type, depth, at(b, 1));
        return loop(b, begin, end, 1, number(b, 0), [&](ImplicitLocOpBuilder &b, Value column, Value most) -> Value {
          Value x = math::AbsFOp::create(b, read(b, input, {row, column}));
          return arith::MaximumFOp::create(b, most, x);
        });
      });
  return forEach(b, {input}, emptyOf(b, extents(b, input), b.getF32Type()),
                 [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                   Value row = at(b, 0), column = at(b, 1), group = index(b, 0);
                   if (type.getGroup() != 0) {
                     AffineExpr c = b.getAffineDimExpr(0);
                     AffineExpr nth = c.floorDiv(period) * int64_t(llvm::divideCeil(period, type.getGroup())) +
                                      (c % period).floorDiv(type.getGroup());
                     group = asValue(b, affineOf(b, nth, {OpFoldResult(column)}));
                   }
                   auto [scale, inverse] = groupScale(b, tensor::ExtractOp::create(b, largest, ValueRange{row, group}));
                   return arith::MulFOp::create(b, scale, codeOf(b, widened(b, x[0]), inverse));
                 });
}

void neutral::populateFeedForward(RewritePatternSet &patterns) {
  patterns.add<DecomposeElementwise, DecomposeLinear>(patterns.getContext());
}
