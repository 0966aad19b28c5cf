//===- DecomposeAttention.cpp - One step of online softmax on vectors ---------------------===//
//
// Between the two products is softmax (OnlineSoftmax.h), of rows one at a time, so that
// what is live stays small. A masked score is -inf: its probability is exactly 0, and the
// running maximum starts from a finite floor, so no NaN arises.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Codegen/Lanes.h"
#include "lib/Target/CPU/Codegen/MaskedValues.h"
#include "lib/Target/CPU/Codegen/OnlineSoftmax.h"
#include "lib/Target/CPU/Codegen/PairInstructions.h"
#include "lib/Target/CPU/Codegen/Passes.h"
#include "lib/Target/CPU/Codegen/RegisterTile.h"
#include "lib/Target/CPU/Codegen/ScoreRegions.h"
#include "lib/Target/CPU/Schedule/Fields.h"
#include "lib/Target/CPU/Schedule/Verify.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include <numbers>

namespace rapt {
#define GEN_PASS_DEF_ATTNDECOMPOSEATTENTION
#include "lib/Target/CPU/Codegen/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using namespace rapt::cpu;
using attn_cpu::kPanel;

namespace {

/// How many keys a step has, at most `most` of them.
struct KeyCount {
  Value count;
  int64_t most;
};

struct Decompose : OpRewritePattern<attn_cpu::AttentionStateOp> {
  using Scores = llvm::DenseMap<Operation *, Value>;
  Decompose(MLIRContext *context, const Scores &made) : OpRewritePattern(context), made(made) {}

  /// The scores of ops whose products have been made before them.
  const Scores &made;

  static FailureOr<KeyCount> countKeys(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op) {
    auto type = cast<RankedTensorType>(op.getKey().getType());
    FailureOr<int64_t> most = type.getDimSize(0);
    if (type.isDynamicDim(0))
      most = ValueBoundsConstraintSet::computeConstantBound(presburger::BoundType::UB, {op.getKey(), 0},
                                                            /*stopCondition=*/nullptr, /*closedUB=*/true);
    if (failed(most))
      return failure();
    OpFoldResult panels = extent(b, op.getKey(), 0);
    return KeyCount{asValue(b, affineOf(b, b.getAffineDimExpr(0) * kPanel, {panels})), *most * kPanel};
  }

  LogicalResult matchAndRewrite(attn_cpu::AttentionStateOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FailureOr<KeyCount> keys = countKeys(b, op);
    auto isStatic = [](Value tile) { return cast<RankedTensorType>(tile.getType()).hasStaticShape(); };
    if (failed(keys) || !isStatic(op.getQuery()) || !isStatic(op.getAcc()))
      return op.emitOpError("works on tiles of static shape, or of at most so many keys, in a CPU program");
    const int64_t m = op.getQuery().getType().getDimSize(0);
    if (m < 1 || m > kLanes)
      return op.emitOpError() << "has " << m << " queries; tiles of a CPU program have at least 1 and at most "
                              << kLanes;
    Type f32 = b.getF32Type();
    bool masked = !op.getMask().empty() || op.getLimit();
    Value scores = made.lookup(op), factor;
    if (!scores) {
      scores = tensor::EmptyOp::create(b, ArrayRef<int64_t>{m, keys->most}, f32);
      if (scalesScores(op))
        factor = factorOf(b, op);
      scores = op.getAdditive() ? additiveScores(b, op, keys->count, scores)
                                : dotScores(b, op, factor ? op.getQuery() : scaledQuery(b, op), keys->count, scores);
    }
    FailureOr<Softmax> softmax = softmaxOf(
        b, op, {scores, factor, keys->count, op.getScore().empty() ? ScoreUnit::Base2 : ScoreUnit::Natural, masked});
    if (failed(softmax))
      return failure();
    Value acc = softmax->acc, product = acc;
    if (masked) // from zero, as nothing of it may be used
      product = tensor::EmptyOp::create(b, op.getAcc().getType().getShape(), f32);
    bool fromZero = masked;
    forParts(op.getValue(), 1, visible(b, op, keys->count), [&](Value values, int64_t first, OpFoldResult count) {
      product = addValues(b, op, softmax->probabilities, first, values, count, product, fromZero);
      fromZero = false;
    });
    acc = product;
    if (masked) {
      auto overParts = [&](MaskedBlock::Body body) {
        forParts(op.getValue(), 1, getAsOpFoldResult(keys->count), body);
      };
      FailureOr<Value> kept = withoutMaskedValues(b, op, {softmax->probabilities, overParts}, product);
      if (failed(kept))
        return failure();
      acc = rescaledSum(b, softmax->acc, softmax->factors, *kept);
    }
    rewriter.replaceOp(op, {acc, softmax->max, softmax->sum});
    return success();
  }

  /// Each row of `acc` times its factor, plus that of `product`.
  static Value rescaledSum(ImplicitLocOpBuilder &b, Value acc, Value factors, Value product) {
    auto type = cast<RankedTensorType>(acc.getType());
    return loop(b, index(b, 0), index(b, type.getDimSize(0)), 1, acc,
                [&](ImplicitLocOpBuilder &b, Value r, Value outer) {
                  Value factor = splat(b, tensor::ExtractOp::create(b, factors, r));
                  return loop(b, index(b, 0), index(b, type.getDimSize(1)), kPanel, outer,
                              [&](ImplicitLocOpBuilder &b, Value c, Value inner) {
                                Value sum = vector::FMAOp::create(b, readPanel(b, inner, {r, c}), factor,
                                                                  readPanel(b, product, {r, c}));
                                return writePanel(b, sum, inner, {r, c});
                              });
                });
  }

  /// acc, or 0 where it is to start `fromZero`, + probabilities [first, first + count) of the step times `values`, of
  /// which as many count.
  static Value addValues(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value probabilities, int64_t first,
                         Value values, OpFoldResult count, Value acc, bool fromZero) {
    const int64_t m = op.getQuery().getType().getDimSize(0), panels = op.getAcc().getType().getDimSize(1) / kPanel;
    Value rows = columnsOf(b, probabilities, first, count);
    if (multipliesTiles(op)) {
      Value start = fromZero ? zeros(b, acc) : acc;
      return withKernel(attn_cpu::VnniMatmulOp::create(b, acc.getType(), rows, values, start), kernelIn(op));
    }
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto type = cast<RankedTensorType>(values.getType());
    OpFoldResult zero = b.getIndexAttr(0), height = b.getIndexAttr(m), panel = b.getIndexAttr(kPanel);
    OpFoldResult lines = affineOf(b, d0.floorDiv(attn_cpu::isInPairs(type) ? 2 : 1), {count});
    const int64_t width = type.getDimSize(2), extent = getConstantIntValue(lines).value_or(ShapedType::kDynamic);
    return loop(b, index(b, 0), index(b, panels * kPanel), kPanel, acc,
                [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
                  OpFoldResult nth = affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)});
                  Value value = extract(b, nthPanel(b, values, nth), {zero, zero}, {lines, b.getIndexAttr(width)},
                                        {extent, width});
                  Value tile = extract(b, carried, {zero, OpFoldResult(column)}, {height, panel}, {m, kPanel});
                  if (fromZero)
                    tile = zeros(b, tile);
                  Value product = productOf(b, op, true, nth, panels, rows, value, tile);
                  return insert(b, product, carried, {zero, OpFoldResult(column)}, {height, panel});
                });
  }

  /// Whether products are one op of all panels, which instructions on tiles take two at a time.
  static bool multipliesTiles(attn_cpu::AttentionStateOp op) { return op.getPaired() && kernelIn(op).matrixRows; }
  /// The micro-kernel of its products.
  static MicroKernel kernelIn(attn_cpu::AttentionStateOp op) { return scheduleOf<MicroKernel>(op); }

  /// The factor of the query: scores are in base-2 units where they are linear in it.
  static Value factorOf(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op) {
    if (!op.getScore().empty())
      return op.getScale();
    Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(std::numbers::log2e));
    return arith::MulFOp::create(b, op.getScale(), log2e);
  }
  static Value factorsOf(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op) { return splat(b, factorOf(b, op)); }

  /// Whether the scores are multiplied by the factor, as they are subtracted from, and not the query: matmuls then
  /// read it where it lies, unless its rows push one another out of the cache.
  static bool scalesScores(attn_cpu::AttentionStateOp op) {
    FloatAttr scale;
    if (op.getPaired() || op.getAdditive() || !op.getScore().empty() ||
        !matchPattern(op.getScale(), m_Constant(&scale)) || !(scale.getValueAsDouble() > 0))
      return false;
    Value query = op.getQuery();
    while (true) {
      if (rowsAlias(op, cast<RankedTensorType>(query.getType())))
        return false;
      Operation *from = query.getDefiningOp();
      if (!isa_and_present<tensor::ExtractSliceOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(
              from))
        return true;
      query = from->getOperand(0);
    }
  }

  /// Those of `count` keys, possibly fewer than a tile's, that lie before the limit: matmuls take four at a time.
  static OpFoldResult visible(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value count) {
    if (!op.getLimit() || getConstantIntValue(count))
      return getAsOpFoldResult(count);
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    Value before = asValue(b, affineOf(b, (d0 - d1).ceilDiv(kStepsTogether) * kStepsTogether,
                                       {OpFoldResult(op.getLimit()), OpFoldResult(op.getKv())}));
    return arith::MinSIOp::create(b, count, arith::MaxSIOp::create(b, before, index(b, kStepsTogether))).getResult();
  }

  /// Panel `nth` of keys or values.
  static Value nthPanel(ImplicitLocOpBuilder &b, Value panels, OpFoldResult nth) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(panels.getType()).getShape().drop_front();
    OpFoldResult first = b.getIndexAttr(0);
    return extract(b, panels, {nth, first, first}, {b.getIndexAttr(1), extent(b, panels, 1), extent(b, panels, 2)},
                   shape);
  }

  /// dest + rows panel, the `nth` of `count` products of the op's first or second factor.
  static Value productOf(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, bool isSecond, OpFoldResult nth,
                         int64_t count, Value rows, Value panel, Value dest) {
    SmallVector<Value> ahead, bounds;
    for (unsigned i = isSecond; i < op.getAhead().size(); i += 2) {
      ahead.push_back(op.getAhead()[i]);
      for (int64_t more : {0, 1})
        bounds.push_back(boundAhead(b, op, asValue(b, affineOf(b, b.getAffineDimExpr(0) + more, {nth})), count,
                                    extent(b, ahead.back(), 0)));
    }
    return withKernel(attn_cpu::PanelMatmulOp::create(b, dest.getType(), rows, panel, ahead, bounds, dest,
                                                      isSecond && !ahead.empty()),
                      kernelIn(op));
  }

  /// The row of `rows` at which part `nth` of `count` of the step's part of what lies ahead begins.
  static Value boundAhead(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value nth, int64_t count,
                          OpFoldResult rows) {
    Value step = arith::SubIOp::create(b, op.getTo(), op.getFrom());
    Value part = arith::DivUIOp::create(b, arith::MulIOp::create(b, step, nth), index(b, count));
    part = arith::MulIOp::create(b, asValue(b, rows), arith::AddIOp::create(b, op.getFrom(), part));
    return arith::ShRUIOp::create(b, part, index(b, 16));
  }

  /// The query times its factors, before the loops over blocks of keys; as bf16 where products are of pairs.
  static Value scaledQuery(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op) {
    RankedTensorType type = op.getQuery().getType();
    Type element = op.getPaired() ? Type(b.getBF16Type()) : b.getF32Type();
    OpBuilder::InsertionGuard guard(b);
    for (auto loop = op->getParentOfType<scf::ForOp>();
         loop && loop.isDefinedOutsideOfLoop(op.getQuery()) && loop.isDefinedOutsideOfLoop(op.getScale());
         loop = loop->getParentOfType<scf::ForOp>())
      b.setInsertionPoint(loop);
    return overRows(b, type.getDimSize(0), index(b, type.getDimSize(1)),
                    tensor::EmptyOp::create(b, type.getShape(), element),
                    [&](ImplicitLocOpBuilder &b, Value r, Value c, Value carried) {
                      Value x = arith::MulFOp::create(b, readPanel(b, op.getQuery(), {r, c}), factorsOf(b, op));
                      return writePanel(b, op.getPaired() ? rounded(b, x) : x, carried, {r, c});
                    });
  }

  /// Keys or values that lie apart, put together along dim `dim`, one after another: `body` gets each with its first
  /// key and how many it has. Contiguous keys are one part, with the first `count` keys.
  static void forParts(Value panels, unsigned dim, OpFoldResult count,
                       function_ref<void(Value part, int64_t first, OpFoldResult count)> body) {
    auto whole = panels.getDefiningOp<tensor::ConcatOp>();
    if (!whole)
      return body(panels, 0, count);
    int64_t first = 0;
    for (Value part : whole.getInputs()) {
      auto type = cast<RankedTensorType>(part.getType());
      int64_t keys = dim == 0 ? type.getDimSize(0) * kPanel : attn_cpu::depthOfPanels(type);
      body(part, first, Builder(part.getContext()).getIndexAttr(keys));
      first += keys;
    }
  }

  /// Columns [first, first + count) of a tile.
  static Value columnsOf(ImplicitLocOpBuilder &b, Value tile, int64_t first, OpFoldResult count) {
    int64_t rows = cast<RankedTensorType>(tile.getType()).getDimSize(0);
    return extract(b, tile, {b.getIndexAttr(0), b.getIndexAttr(first)}, {b.getIndexAttr(rows), count},
                   {rows, getConstantIntValue(count).value_or(ShapedType::kDynamic)});
  }

  /// Scores of all panels into one buffer: products of the query, scaled where the scores are not to be.
  static Value dotScores(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value query, Value keys,
                         Value scores) {
    forParts(op.getKey(), 0, getAsOpFoldResult(keys), [&](Value part, int64_t first, OpFoldResult count) {
      scores = multipliesTiles(op) ? tileScores(b, op, query, part, first, count, scores)
                                   : panelScores(b, op, query, part, first, count, scores);
    });
    return scores;
  }

  static Value zeros(ImplicitLocOpBuilder &b, Value tile) {
    return linalg::FillOp::create(b, Value(arith::ConstantOp::create(b, b.getF32FloatAttr(0))), tile).getResult(0);
  }

  /// Scores of keys [first, first + count), one op.
  static Value tileScores(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value query, Value keys,
                          int64_t first, OpFoldResult count, Value scores) {
    Value start = zeros(b, columnsOf(b, scores, first, count));
    Value product = withKernel(attn_cpu::VnniMatmulOp::create(b, start.getType(), query, keys, start), kernelIn(op));
    int64_t m = cast<RankedTensorType>(query.getType()).getDimSize(0);
    return insert(b, product, scores, {b.getIndexAttr(0), b.getIndexAttr(first)}, {b.getIndexAttr(m), count});
  }

  /// The same, a panel at a time.
  static Value panelScores(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value query, Value keys,
                           int64_t first, OpFoldResult count, Value scores) {
    int64_t m = cast<RankedTensorType>(query.getType()).getDimSize(0),
            panels = cast<RankedTensorType>(scores.getType()).getDimSize(1) / kPanel;
    OpFoldResult rows = b.getIndexAttr(m), panel = b.getIndexAttr(kPanel), zero = b.getIndexAttr(0);
    AffineExpr d0 = b.getAffineDimExpr(0);
    return loop(b, index(b, 0), asValue(b, count), kPanel, scores,
                [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
                  OpFoldResult key = affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)}),
                               nth = affineOf(b, (d0 + first).floorDiv(kPanel), {OpFoldResult(column)}),
                               place = affineOf(b, d0 + first, {OpFoldResult(column)});
                  Value start = zeros(b, extract(b, carried, {zero, place}, {rows, panel}, {m, kPanel}));
                  Value product = productOf(b, op, false, nth, panels, query, nthPanel(b, keys, key), start);
                  return insert(b, product, carried, {zero, place}, {rows, panel});
                });
  }

  /// v . tanh(query + key): 32 keys at once, channel after channel.
  static Value additiveScores(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value keys, Value scores) {
    Value factors = factorsOf(b, op);
    int64_t channels = cast<RankedTensorType>(op.getAdditive().getType()).getDimSize(0);
    auto type = cast<RankedTensorType>(scores.getType());
    AffineExpr d0 = b.getAffineDimExpr(0);
    return overRows(
        b, type.getDimSize(0), keys, scores, [&](ImplicitLocOpBuilder &b, Value r, Value column, Value carried) {
          Value nth = asValue(b, affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)}));
          Value none = arith::ConstantOp::create(b, b.getZeroAttr(panelOf(b.getF32Type())));
          Value sum = loop(
              b, index(b, 0), index(b, channels), 1, none, [&](ImplicitLocOpBuilder &b, Value c, Value sum) -> Value {
                Value q = splat(b, tensor::ExtractOp::create(b, op.getQuery(), ValueRange{r, c}));
                Value v = splat(b, tensor::ExtractOp::create(b, op.getAdditive(), c));
                Value x = arith::AddFOp::create(b, q, readPanel(b, op.getKey(), {nth, c, index(b, 0)}));
                return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, v, math::TanhOp::create(b, x)));
              });
          return writePanel(b, arith::MulFOp::create(b, sum, factors), carried, {r, column});
        });
  }

  static Value overRows(ImplicitLocOpBuilder &b, int64_t m, Value columns, Value init,
                        function_ref<Value(ImplicitLocOpBuilder &, Value r, Value c, Value carried)> body) {
    return loop(b, index(b, 0), index(b, m), 1, init, [&](ImplicitLocOpBuilder &b, Value r, Value outer) {
      return loop(b, index(b, 0), columns, kPanel, outer,
                  [&](ImplicitLocOpBuilder &b, Value c, Value inner) { return body(b, r, c, inner); });
    });
  }
};

/// One part after another into the state.
struct DecomposeMerge : OpRewritePattern<attn_cpu::AttentionMergeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn_cpu::AttentionMergeOp op, PatternRewriter &rewriter) const override {
    if (op.getAcc().getType().getDimSize(1) % kPanel != 0)
      return op.emitOpError() << "has " << op.getAcc().getType().getDimSize(1)
                              << " value channels, which are no panels of " << kPanel;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value zero = index(b, 0), one = index(b, 1);
    Value queries = asValue(b, extent(b, op.getAcc(), 0)), parts = asValue(b, extent(b, op.getPartialAcc(), 0));
    auto partLoop = scf::ForOp::create(b, zero, parts, one, op.getDpsInits());
    b.setInsertionPointToStart(partLoop.getBody());
    auto rowLoop = scf::ForOp::create(b, zero, queries, one, partLoop.getRegionIterArgs());
    scf::YieldOp::create(b, rowLoop.getResults());
    b.setInsertionPointToStart(rowLoop.getBody());
    mergeRow(b, op, partLoop.getInductionVar(), rowLoop.getInductionVar(), rowLoop.getRegionIterArgs());
    rewriter.replaceOp(op, partLoop.getResults());
    return success();
  }

  /// Row r of `state` (acc, max, sum) with that of part p.
  static void mergeRow(ImplicitLocOpBuilder &b, attn_cpu::AttentionMergeOp op, Value p, Value r, ValueRange state) {
    Value old = tensor::ExtractOp::create(b, state[1], r);
    Value other = tensor::ExtractOp::create(b, op.getPartialMax(), ValueRange{p, r});
    Value max = larger(b, other, old);
    const ScoreUnit unit = op.getScored() ? ScoreUnit::Natural : ScoreUnit::Base2;
    Value alpha = powerOf(b, arith::SubFOp::create(b, old, max), unit);
    Value beta = powerOf(b, arith::SubFOp::create(b, other, max), unit);
    auto combine = [](ImplicitLocOpBuilder &b, Value x, Value alpha, Value y, Value beta) -> Value {
      return arith::AddFOp::create(b, arith::MulFOp::create(b, x, alpha), arith::MulFOp::create(b, y, beta));
    };
    Value sum = combine(b, tensor::ExtractOp::create(b, state[2], r), alpha,
                        tensor::ExtractOp::create(b, op.getPartialSum(), ValueRange{p, r}), beta);
    Value alphas = splat(b, alpha), betas = splat(b, beta);
    Value acc = loop(b, index(b, 0), index(b, op.getAcc().getType().getDimSize(1)), kPanel, state[0],
                     [&](ImplicitLocOpBuilder &b, Value c, Value carried) {
                       Value x = readPanel(b, carried, {r, c}), y = readPanel(b, op.getPartialAcc(), {p, r, c});
                       return writePanel(b, combine(b, x, alphas, y, betas), carried, {r, c});
                     });
    Value maxima = tensor::InsertOp::create(b, max, state[1], r), sums = tensor::InsertOp::create(b, sum, state[2], r);
    scf::YieldOp::create(b, ValueRange{acc, maxima, sums});
  }
};

/// The op on queries [first, first + kLanes) and all keys, from the state before.
attn_cpu::AttentionStateOp sliceQueries(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, int64_t first) {
  OpFoldResult zero = b.getIndexAttr(0), from = b.getIndexAttr(first), count = b.getIndexAttr(kLanes);
  auto rows = [&](Value tensor, unsigned dim = 0) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(tensor.getType()).getShape());
    SmallVector<OpFoldResult> offsets(shape.size(), zero), sizes = extents(b, tensor);
    shape[dim] = kLanes, offsets[dim] = from, sizes[dim] = count;
    return extract(b, tensor, offsets, sizes, shape);
  };
  Value acc = rows(op.getAcc()), max = rows(op.getMax()), sum = rows(op.getSum()), query = rows(op.getQuery()),
        position = op.getQ();
  if (!op.getOnePosition())
    position = asValue(b, affineOf(b, b.getAffineDimExpr(0) + first, {OpFoldResult(position)}));
  SmallVector<Value> extras;
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    std::optional<unsigned> place = op.getExtraMap(i).getResultPosition(b.getAffineDimExpr(0));
    extras.push_back(place ? rows(extra, *place) : extra);
  }
  auto step = attn_cpu::AttentionStateOp::create(b, query, op.getKey(), op.getValue(), op.getScale(), op.getB(),
                                                 op.getH(), position, op.getKv(), op.getLimit(), extras,
                                                 op.getAdditive(), ValueRange(), Value(), Value(), acc, max, sum,
                                                 op.getExtraMapsAttr(), op.getOnePosition(), op.getPaired());
  step->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  IRMapping mapping;
  op.getScore().cloneInto(&step.getScore(), mapping);
  op.getMask().cloneInto(&step.getMask(), mapping);
  return step;
}

/// A paired step of more queries than a vector has lanes becomes steps of so many in turn, of which all `scores` come
/// first: tiles are multiplied beside the softmax of those before. The step's results are left to the last ones.
void takeInTurn(attn_cpu::AttentionStateOp op, Decompose::Scores &scores) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  RankedTensorType type = op.getQuery().getType();
  const int64_t m = type.getDimSize(0), channels = type.getDimSize(1),
                keys = attn_cpu::depthOfPanels(op.getValue().getType());
  OpFoldResult zero = b.getIndexAttr(0), lanes = b.getIndexAttr(kLanes);
  Value query = Decompose::scaledQuery(b, op);
  SmallVector<Value> products;
  for (int64_t r = 0; r < m; r += kLanes) {
    Value rows = extract(b, query, {b.getIndexAttr(r), zero}, {lanes, b.getIndexAttr(channels)}, {kLanes, channels});
    Value room = tensor::EmptyOp::create(b, ArrayRef<int64_t>{kLanes, keys}, b.getF32Type());
    products.push_back(Decompose::dotScores(b, op, rows, index(b, keys), room));
  }
  SmallVector<Value> state(op.getDpsInits());
  for (auto [nth, product] : llvm::enumerate(products)) {
    op.getDpsInitsMutable().assign(state);
    OpFoldResult first = b.getIndexAttr(nth * kLanes);
    attn_cpu::AttentionStateOp step = sliceQueries(b, op, nth * kLanes);
    scores[step] = product;
    for (auto [i, result] : llvm::enumerate(step.getResults())) {
      SmallVector<OpFoldResult> offsets{first}, sizes{lanes};
      if (i == 0)
        offsets.push_back(zero), sizes.push_back(extent(b, state[0], 1));
      state[i] = insert(b, result, state[i], offsets, sizes);
    }
  }
  op.replaceAllUsesWith(state);
  op.erase();
}

struct DecomposeAttention : rapt::impl::AttnDecomposeAttentionBase<DecomposeAttention> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    const WalkResult kernels = getOperation()->walk([](attn_cpu::AttentionStateOp op) {
      return failed(kernelOf(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (kernels.wasInterrupted())
      return signalPassFailure();
    SmallVector<attn_cpu::AttentionStateOp> wide;
    getOperation()->walk([&](attn_cpu::AttentionStateOp op) {
      RankedTensorType query = op.getQuery().getType();
      if (op.getPaired() && query.hasStaticShape() && query.getDimSize(0) > kLanes &&
          query.getDimSize(0) % kLanes == 0 && op.getKey().getType().hasStaticShape() &&
          op.getValue().getType().hasStaticShape())
        wide.push_back(op);
    });
    Decompose::Scores scores;
    for (attn_cpu::AttentionStateOp op : wide)
      takeInTurn(op, scores);
    RewritePatternSet patterns(&getContext());
    patterns.add<Decompose>(&getContext(), scores);
    patterns.add<DecomposeMerge>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    WalkResult rest = getOperation()->walk([](Operation *op) {
      return isa<attn_cpu::AttentionStateOp, attn_cpu::AttentionMergeOp>(op) ? WalkResult::interrupt()
                                                                             : WalkResult::advance();
    });
    if (rest.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
