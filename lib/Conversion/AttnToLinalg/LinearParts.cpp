//===- LinearParts.cpp - Products whose rows are longer than a cache ------------------------===//
//
// A task of Linear.cpp reads its rows of the input once a panel. Where k is so large that 210
// of them do not stay in the second-level cache, tasks are (blocks of at most 210 rows, some
// panels), which take k in parts: a part of the rows is read for all panels of the task, and
// sums are in scratch until the last part. Few rows stay in any case, and leave more tasks.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/LinearTask.h"
#include "lib/Conversion/AttnToLinalg/Quantization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::kPanel;

namespace {

/// Least k: 210 rows of it take 1.3 MB.
constexpr int64_t kLeastDepth = 1536;
/// A part of k is at most so deep, so that 210 rows of it take 430 KB, and no less than a quarter of that.
constexpr int64_t kMostOfPart = 512, kLeastOfPart = 128;
/// A part is whole cache lines of the rows.
constexpr int64_t kLine = 16;
/// Panels of a task, and the rows of an input from which on it takes so many.
constexpr int64_t kTaskPanels = 4, kManyRows = 28;

/// How deep each of equal parts of k is; 0 where k is taken whole.
int64_t depthOfPart(int64_t k) {
  for (int64_t depth = kMostOfPart; k >= kLeastDepth && depth >= kLeastOfPart; depth -= kLine)
    if (k % depth == 0)
      return depth;
  return 0;
}

struct TileDeepLinear : OpRewritePattern<attn::LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::LinearOp op, PatternRewriter &rewriter) const override {
    RankedTensorType weight = op.getWeight().getType();
    int64_t columns = op.getResult().getType().getDimSize(1), k = op.getDepth(), depth = depthOfPart(k);
    if (!op.isPacked() || quantizedPanels(op.getWeight()) || !weight.getElementType().isF32() ||
        ShapedType::isDynamic(columns) || depth == 0)
      return rewriter.notifyMatchFailure(op, "k is taken whole");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    OpFoldResult rows = extent(b, op.getInput(), 0);
    LinearTask prototype{op, inputOf(b, op), overwritable(op), {}, {}, {}, {}, k, {}, false, {}, k, false};
    Value dest = prototype.inPlace ? Value(op.getExtras()[*prototype.inPlace])
                                   : destination(b, op.getResult(), {rows, b.getIndexAttr(columns)});
    auto share = shareRows(b, rows, kTaskRows, kTileRows);
    OpFoldResult blocks = share.first;
    Value each = share.second;
    Value many = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, asValue(b, rows), index(b, kManyRows));
    Value together = arith::SelectOp::create(b, many, index(b, kTaskPanels), index(b, 1));
    Value panels = index(b, llvm::divideCeil(columns, kPanel)),
          groups = arith::CeilDivUIOp::create(b, panels, together);
    SmallVector<OpFoldResult> extents{blocks, OpFoldResult(groups)};
    rewriter.replaceOp(
        op, grid(b, extents, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
          Value firstPanel = arith::MulIOp::create(b, ids[1], together);
          Value count = arith::MinUIOp::create(b, together, arith::SubIOp::create(b, panels, firstPanel));
          LinearTask task = prototype;
          task.firstRow = OpFoldResult(Value(arith::MulIOp::create(b, ids[0], each)));
          OpFoldResult taskRows = affineMin(b, {OpFoldResult(each), affineOf(b, d0 - d1, {rows, task.firstRow})});
          OpFoldResult column = affineOf(b, d0 * kPanel, {OpFoldResult(firstPanel)});
          OpFoldResult width = affineMin(b, {affineOf(b, d0 * kPanel, {OpFoldResult(count)}),
                                             affineOf(b, b.getAffineConstantExpr(columns) - d0, {column})});
          Value sums = sumParts(b, task, firstPanel, count, depth, asValue(b, taskRows));
          Value tile = extract(b, dests[0], {task.firstRow, column}, {taskRows, width},
                               {ShapedType::kDynamic, ShapedType::kDynamic});
          tile = finish(b, task, firstPanel, count, columns, taskRows, sums, tile);
          return SmallVector<Insertion>{{tile, {task.firstRow, column}, {taskRows, width}}};
        }));
    return success();
  }

  /// Each tile of the task's rows.
  static Value overTiles(ImplicitLocOpBuilder &b, Value rows, Value init,
                         function_ref<Value(ImplicitLocOpBuilder &, int64_t m, Value r, Value carried)> body) {
    return overRowTiles(
        b, kProductRows, rows, init, [&](ImplicitLocOpBuilder &b, int64_t m, Value from, Value to, Value carried) {
          return loop(b, from, to, m, carried,
                      [&](ImplicitLocOpBuilder &b, Value r, Value inner) { return body(b, m, r, inner); });
        });
  }

  /// The products of the task's rows with `count` panels, [210, 128].
  static Value sumParts(ImplicitLocOpBuilder &b, const LinearTask &task, Value firstPanel, Value count, int64_t depth,
                        Value rows) {
    constexpr int64_t columns = kTaskPanels * kPanel;
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    Value zero = index(b, 0), f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    OpFoldResult panel = b.getIndexAttr(kPanel);
    auto type = RankedTensorType::get({kTaskRows, columns}, b.getF32Type());
    Value room = empty(b, type, {b.getIndexAttr(kTaskRows), b.getIndexAttr(columns)});
    return loop(b, zero, index(b, task.k), depth, room, [&](ImplicitLocOpBuilder &b, Value from, Value carried) {
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, from, zero);
      Value fills = arith::SelectOp::create(b, isFirst, index(b, 1), zero);
      return loop(b, zero, count, 1, carried, [&](ImplicitLocOpBuilder &b, Value nth, Value carried) {
        Value weight = partOf(b, task, arith::AddIOp::create(b, firstPanel, nth), from, depth);
        OpFoldResult column = affineOf(b, d0 * kPanel, {OpFoldResult(nth)});
        return overTiles(b, rows, carried, [&](ImplicitLocOpBuilder &b, int64_t m, Value r, Value carried) {
          OpFoldResult tileRows = b.getIndexAttr(m), row = affineOf(b, d0 + d1, {task.firstRow, OpFoldResult(r)});
          Value input =
              extract(b, task.input, {row, OpFoldResult(from)}, {tileRows, b.getIndexAttr(depth)}, {m, depth});
          Value tile = extract(b, carried, {OpFoldResult(r), column}, {tileRows, panel}, {m, kPanel});
          tile = loop(b, zero, fills, 1, tile, [&](ImplicitLocOpBuilder &b, Value, Value carried) {
            return linalg::FillOp::create(b, f0, carried).getResult(0);
          });
          tile = linalg::MatmulOp::create(b, tile.getType(), ValueRange{input, weight}, ValueRange{tile}).getResult(0);
          return insert(b, tile, carried, {OpFoldResult(r), column}, {tileRows, panel});
        });
      });
    });
  }

  /// Rows [from, from + depth) of a panel, [depth, 32].
  static Value partOf(ImplicitLocOpBuilder &b, const LinearTask &task, Value panel, Value from, int64_t depth) {
    attn::LinearOp op = task.op;
    return extract(b, op.getWeight(), {OpFoldResult(panel), OpFoldResult(from), b.getIndexAttr(0)},
                   {b.getIndexAttr(1), b.getIndexAttr(depth), b.getIndexAttr(kPanel)}, {depth, kPanel});
  }

  /// The epilogues of `count` panels, from `sums` into `dest`.
  static Value finish(ImplicitLocOpBuilder &b, const LinearTask &task, Value firstPanel, Value count, int64_t columns,
                      OpFoldResult rows, Value sums, Value dest) {
    AffineExpr d0 = b.getAffineDimExpr(0);
    OpFoldResult zero = b.getIndexAttr(0), panel = b.getIndexAttr(kPanel);
    return loop(b, index(b, 0), count, 1, dest, [&](ImplicitLocOpBuilder &b, Value nth, Value outer) {
      LinearTask ofPanel = task;
      ofPanel.column = affineOf(b, d0 * kPanel, {OpFoldResult(Value(arith::AddIOp::create(b, firstPanel, nth)))});
      cutToPanel(b, ofPanel, columns);
      OpFoldResult column = affineOf(b, d0 * kPanel, {OpFoldResult(nth)});
      int64_t width = ofPanel.narrow ? ShapedType::kDynamic : kPanel;
      Value mine = extract(b, outer, {zero, column}, {rows, ofPanel.width}, {ShapedType::kDynamic, width});
      mine = overTiles(b, asValue(b, rows), mine, [&](ImplicitLocOpBuilder &b, int64_t m, Value r, Value carried) {
        Value tile = extract(b, sums, {OpFoldResult(r), column}, {b.getIndexAttr(m), panel}, {m, kPanel});
        return finishTile(b, ofPanel, m, r, tile, carried);
      });
      return insert(b, mine, outer, {zero, column}, {rows, ofPanel.width});
    });
  }
};

} // namespace

void rapt::populateDeepLinearTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileDeepLinear>(patterns.getContext(), /*benefit=*/2);
}
