//===- DecomposeAttention.cpp - Lowers one KV block of attention to matmuls and vectors ----===//
//
// A KV block is matmul, online softmax (OnlineSoftmax.h), matmul, as in FlashAttention. A
// masked score is -infinity, so its probability is exactly 0. The running max starts from a
// finite floor, so no NaN arises.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Codegen/Bf16Instructions.h"
#include "lib/Target/CPU/Codegen/Lanes.h"
#include "lib/Target/CPU/Codegen/MaskedValues.h"
#include "lib/Target/CPU/Codegen/MicroKernelTile.h"
#include "lib/Target/CPU/Codegen/OnlineSoftmax.h"
#include "lib/Target/CPU/Codegen/Passes.h"
#include "lib/Target/CPU/Codegen/ScoreRegions.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Kernel.h"
#include "lib/Target/CPU/Schedule/Verify.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

/// A number of keys or queries, and a static bound of it.
struct Count {
  Value count;
  int64_t most;
};

struct Decompose : OpRewritePattern<attn_cpu::AttentionStateOp> {
  using ScoresOfOps = llvm::DenseMap<Operation *, Value>;
  Decompose(MLIRContext *context, const ScoresOfOps &computed) : OpRewritePattern(context), computed(computed) {}

  /// Scores that splitQueries has computed before the op.
  const ScoresOfOps &computed;

  /// The keys of the KV block; with 16 registers, whose matmuls take twice as long as those of 32, of one with a limit
  /// those of its panels that have keys before it, unless they are multiplied as one.
  static FailureOr<Count> countKeys(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op) {
    FailureOr<int64_t> most = boundOf(op.getKey());
    if (failed(most))
      return failure();
    OpFoldResult panels = extent(b, op.getKey(), 0);
    Value count = asValue(b, affineOf(b, b.getAffineDimExpr(0) * kPanel, {panels}));
    const bool isOne = takesAllPanels(op) || op.getKey().getDefiningOp<tensor::ConcatOp>();
    if (op.getLimit() && *most > 1 && !isOne && TargetInfo::of(op).vectorRegisters <= kFewRegisters)
      count = before(b, op, count, kPanel);
    return Count{count, *most * kPanel};
  }

  LogicalResult matchAndRewrite(attn_cpu::AttentionStateOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FailureOr<Count> keys = countKeys(b, op);
    FailureOr<int64_t> queries = boundOf(op.getQuery());
    if (failed(keys) || failed(queries))
      return op.emitOpError("needs bounded numbers of queries and keys");
    const int64_t m = *queries;
    if (m < 1 || m > kLanes)
      return op.emitOpError() << "has " << m << " queries; tiles of a CPU program have at least 1 and at most "
                              << kLanes;
    Type f32 = b.getF32Type();
    bool masked = !op.getMask().empty() || op.getLimit();
    Value scores = computed.lookup(op), factor;
    if (!scores) {
      scores = emptyRows(b, op, keys->most, f32);
      if (scalesScores(op))
        factor = factorOf(b, op);
      scores = op.getAdditive() ? additiveScores(b, op, keys->count, scores)
                                : dotScores(b, op, factor ? op.getQuery() : scaledQuery(b, op), keys->count, scores);
    }
    FailureOr<Softmax> softmax = softmaxOf(
        b, op, {scores, factor, keys->count, op.getScore().empty() ? ScoreUnit::Base2 : ScoreUnit::Natural, masked});
    if (failed(softmax))
      return failure();
    Value acc = softmax->acc, weighted = acc;
    if (masked) // starts from zero, so that withoutMaskedValues can replace all of it
      weighted = emptyRows(b, op, op.getAcc().getType().getDimSize(1), f32);
    bool fromZero = masked;
    forEachPart(op.getValue(), 1, visible(b, op, keys->count), [&](Value values, int64_t first, OpFoldResult count) {
      weighted = addValues(b, op, softmax->probabilities, first, values, count, weighted, fromZero);
      fromZero = false;
    });
    acc = weighted;
    if (masked) {
      auto forEachValuePart = [&](MaskedBlock::Body body) {
        forEachPart(op.getValue(), 1, getAsOpFoldResult(keys->count), body);
      };
      FailureOr<Value> kept = withoutMaskedValues(b, op, {softmax->probabilities, forEachValuePart}, weighted);
      if (failed(kept))
        return failure();
      acc = rescaledSum(b, softmax->acc, softmax->factors, *kept);
    }
    rewriter.replaceOp(op, {acc, softmax->max, softmax->sum});
    return success();
  }

  /// Multiplies each row of `acc` by its factor and adds the row of `weighted`.
  static Value rescaledSum(ImplicitLocOpBuilder &b, Value acc, Value factors, Value weighted) {
    auto type = cast<RankedTensorType>(acc.getType());
    return loop(b, index(b, 0), asValue(b, extent(b, acc, 0)), 1, acc,
                [&](ImplicitLocOpBuilder &b, Value r, Value outer) {
                  Value factor = splat(b, tensor::ExtractOp::create(b, factors, r));
                  return loop(b, index(b, 0), index(b, type.getDimSize(1)), kPanel, outer,
                              [&](ImplicitLocOpBuilder &b, Value c, Value inner) {
                                Value sum = vector::FMAOp::create(b, readPanel(b, inner, {r, c}), factor,
                                                                  readPanel(b, weighted, {r, c}));
                                return writePanel(b, sum, inner, {r, c});
                              });
                });
  }

  /// The matmul of probabilities [first, first + count) of the KV block with the first `count` of `values`, added to
  /// `acc`, or to zero with `fromZero`.
  static Value addValues(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value probabilities, int64_t first,
                         Value values, OpFoldResult count, Value acc, bool fromZero) {
    const int64_t m = op.getQuery().getType().getDimSize(0), panels = op.getAcc().getType().getDimSize(1) / kPanel;
    Value rows = columnsOf(b, probabilities, first, count);
    if (takesAllPanels(op)) {
      Value start = fromZero ? zeros(b, acc) : acc;
      return withKernel(attn_cpu::VnniMatmulOp::create(b, acc.getType(), rows, values, start), kernelIn(op));
    }
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto type = cast<RankedTensorType>(values.getType());
    OpFoldResult zero = b.getIndexAttr(0), height = extent(b, op.getQuery(), 0), panel = b.getIndexAttr(kPanel);
    OpFoldResult lines = affineOf(b, d0.floorDiv(attn_cpu::interleaveOf(type.getElementType())), {count});
    const int64_t width = type.getDimSize(2), extent = getConstantIntValue(lines).value_or(ShapedType::kDynamic);
    return loop(b, index(b, 0), index(b, panels * kPanel), kPanel, acc,
                [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
                  OpFoldResult nth = affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)});
                  Value value = extract(b, nthPanel(b, values, nth), {zero, zero}, {lines, b.getIndexAttr(width)},
                                        {extent, width});
                  Value tile = extract(b, carried, {zero, OpFoldResult(column)}, {height, panel}, {m, kPanel});
                  if (fromZero)
                    tile = zeros(b, tile);
                  Value matmul = panelMatmul(b, op, true, nth, panels, rows, value, tile);
                  return insert(b, matmul, carried, {zero, OpFoldResult(column)}, {height, panel});
                });
  }

  /// Whether a matmul is one op of all panels, two of which AMX multiplies at a time.
  static bool takesAllPanels(attn_cpu::AttentionStateOp op) {
    return op.getBf16Matmul() && kernelIn(op).getMatrixRows();
  }

  static attn_cpu::MicroKernelAttr kernelIn(attn_cpu::AttentionStateOp op) {
    return attn::scheduleOf<attn_cpu::MicroKernelAttr>(op);
  }

  /// The factor of the query. Without a score region it includes log2 e: scores are in base-2 units (A7, A19).
  static Value factorOf(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op) {
    if (!op.getScore().empty())
      return op.getScale();
    Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(std::numbers::log2e));
    return arith::MulFOp::create(b, op.getScale(), log2e);
  }
  static Value factorsOf(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op) { return splat(b, factorOf(b, op)); }

  /// Whether softmax scales the scores, so that matmuls read the query in place and no scaled copy is needed. A copy is
  /// faster where the query's rows alias in L1.
  static bool scalesScores(attn_cpu::AttentionStateOp op) {
    FloatAttr scale;
    if (op.getBf16Matmul() || op.getAdditive() || !op.getScore().empty() ||
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

  /// The number of keys that lie before the limit, of `count` keys, rounded up to a multiple of `multiple`.
  static Value before(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value count, int64_t multiple) {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    Value keys = asValue(b, affineOf(b, (d0 - d1).ceilDiv(multiple) * multiple,
                                     {OpFoldResult(op.getLimit()), OpFoldResult(op.getKv())}));
    return arith::MinSIOp::create(b, count, arith::MaxSIOp::create(b, keys, index(b, multiple)));
  }

  /// The number of keys that lie before the limit, of `count` keys, rounded up as matmuls of dynamic depth need it.
  static OpFoldResult visible(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value count) {
    if (!op.getLimit() || getConstantIntValue(count))
      return getAsOpFoldResult(count);
    return before(b, op, count, kDynamicDepthMultiple);
  }

  /// Slices panel `nth` of keys or values.
  static Value nthPanel(ImplicitLocOpBuilder &b, Value panels, OpFoldResult nth) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(panels.getType()).getShape().drop_front();
    OpFoldResult first = b.getIndexAttr(0);
    return extract(b, panels, {nth, first, first}, {b.getIndexAttr(1), extent(b, panels, 1), extent(b, panels, 2)},
                   shape);
  }

  /// The matmul of `rows` with panel `nth` of `count`, added to `dest`: the op's first matmul or, with `isSecond`, its
  /// second.
  static Value panelMatmul(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, bool isSecond, OpFoldResult nth,
                           int64_t count, Value rows, Value panel, Value dest) {
    SmallVector<Value> prefetched, bounds;
    for (unsigned i = isSecond; i < op.getPrefetched().size(); i += 2) {
      prefetched.push_back(op.getPrefetched()[i]);
      for (int64_t more : {0, 1})
        bounds.push_back(prefetchBound(b, op, asValue(b, affineOf(b, b.getAffineDimExpr(0) + more, {nth})), count,
                                       extent(b, prefetched.back(), 0)));
    }
    return withKernel(attn_cpu::PanelMatmulOp::create(b, dest.getType(), rows, panel, prefetched, bounds, dest,
                                                      isSecond && !prefetched.empty()),
                      kernelIn(op));
  }

  /// The first row that the matmul of panel `nth` of `count` prefetches, of a matrix of `rows` rows.
  static Value prefetchBound(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value nth, int64_t count,
                             OpFoldResult rows) {
    Value step = arith::SubIOp::create(b, op.getTo(), op.getFrom());
    Value part = arith::DivUIOp::create(b, arith::MulIOp::create(b, step, nth), index(b, count));
    part = arith::MulIOp::create(b, asValue(b, rows), arith::AddIOp::create(b, op.getFrom(), part));
    return arith::ShRUIOp::create(b, part, index(b, 16));
  }

  /// The scaled query, computed before the loops over KV blocks; in bf16 where matmuls are bf16 dot products (A22).
  static Value scaledQuery(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op) {
    RankedTensorType type = op.getQuery().getType();
    Type element = op.getBf16Matmul() ? Type(b.getBF16Type()) : b.getF32Type();
    OpBuilder::InsertionGuard guard(b);
    for (auto loop = op->getParentOfType<scf::ForOp>();
         loop && loop.isDefinedOutsideOfLoop(op.getQuery()) && loop.isDefinedOutsideOfLoop(op.getScale());
         loop = loop->getParentOfType<scf::ForOp>())
      b.setInsertionPoint(loop);
    return overRows(b, index(b, type.getDimSize(1)), emptyRows(b, op, type.getDimSize(1), element),
                    [&](ImplicitLocOpBuilder &b, Value r, Value c, Value carried) {
                      Value x = arith::MulFOp::create(b, readPanel(b, op.getQuery(), {r, c}), factorsOf(b, op));
                      return writePanel(b, op.getBf16Matmul() ? castToBf16(b, x) : x, carried, {r, c});
                    });
  }

  /// Calls `body` for each contiguous part of keys or values, which a tensor.concat along `dim` joins, with the part's
  /// first key and its number of keys. Contiguous keys are one part, with the first `count` keys.
  static void forEachPart(Value panels, unsigned dim, OpFoldResult count,
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

  /// Slices columns [first, first + count) of a tile.
  static Value columnsOf(ImplicitLocOpBuilder &b, Value tile, int64_t first, OpFoldResult count) {
    int64_t rows = cast<RankedTensorType>(tile.getType()).getDimSize(0);
    return extract(b, tile, {b.getIndexAttr(0), b.getIndexAttr(first)}, {extent(b, tile, 0), count},
                   {rows, getConstantIntValue(count).value_or(ShapedType::kDynamic)});
  }

  /// The scores of all keys in one buffer: the matmul of the query with the keys.
  static Value dotScores(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value query, Value keys,
                         Value scores) {
    forEachPart(op.getKey(), 0, getAsOpFoldResult(keys), [&](Value part, int64_t first, OpFoldResult count) {
      scores = takesAllPanels(op) ? allScores(b, op, query, part, first, count, scores)
                                  : panelScores(b, op, query, part, first, count, scores);
    });
    return scores;
  }

  static Value zeros(ImplicitLocOpBuilder &b, Value tile) {
    return linalg::FillOp::create(b, Value(arith::ConstantOp::create(b, b.getF32FloatAttr(0))), tile).getResult(0);
  }

  /// The scores of keys [first, first + count) by one matmul of all panels.
  static Value allScores(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value query, Value keys, int64_t first,
                         OpFoldResult count, Value scores) {
    Value start = zeros(b, columnsOf(b, scores, first, count));
    Value matmul = withKernel(attn_cpu::VnniMatmulOp::create(b, start.getType(), query, keys, start), kernelIn(op));
    int64_t m = cast<RankedTensorType>(query.getType()).getDimSize(0);
    return insert(b, matmul, scores, {b.getIndexAttr(0), b.getIndexAttr(first)}, {b.getIndexAttr(m), count});
  }

  /// The scores of keys [first, first + count) by one matmul per panel.
  static Value panelScores(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value query, Value keys,
                           int64_t first, OpFoldResult count, Value scores) {
    int64_t m = cast<RankedTensorType>(query.getType()).getDimSize(0),
            panels = cast<RankedTensorType>(scores.getType()).getDimSize(1) / kPanel;
    OpFoldResult rows = extent(b, query, 0), panel = b.getIndexAttr(kPanel), zero = b.getIndexAttr(0);
    AffineExpr d0 = b.getAffineDimExpr(0);
    return loop(b, index(b, 0), asValue(b, count), kPanel, scores,
                [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
                  OpFoldResult key = affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)}),
                               nth = affineOf(b, (d0 + first).floorDiv(kPanel), {OpFoldResult(column)}),
                               offset = affineOf(b, d0 + first, {OpFoldResult(column)});
                  Value start = zeros(b, extract(b, carried, {zero, offset}, {rows, panel}, {m, kPanel}));
                  Value matmul = panelMatmul(b, op, false, nth, panels, query, nthPanel(b, keys, key), start);
                  return insert(b, matmul, carried, {zero, offset}, {rows, panel});
                });
  }

  /// The scores v . tanh(query + key) of an additive similarity, for vectors of 32 keys.
  static Value additiveScores(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value keys, Value scores) {
    Value factors = factorsOf(b, op);
    int64_t channels = cast<RankedTensorType>(op.getAdditive().getType()).getDimSize(0);
    AffineExpr d0 = b.getAffineDimExpr(0);
    return overRows(b, keys, scores, [&](ImplicitLocOpBuilder &b, Value r, Value column, Value carried) {
      Value nth = asValue(b, affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)}));
      Value none = arith::ConstantOp::create(b, b.getZeroAttr(panelOf(b.getF32Type())));
      Value sum =
          loop(b, index(b, 0), index(b, channels), 1, none, [&](ImplicitLocOpBuilder &b, Value c, Value sum) -> Value {
            Value q = splat(b, tensor::ExtractOp::create(b, op.getQuery(), ValueRange{r, c}));
            Value v = splat(b, tensor::ExtractOp::create(b, op.getAdditive(), c));
            Value x = arith::AddFOp::create(b, q, readPanel(b, op.getKey(), {nth, c, index(b, 0)}));
            return arith::AddFOp::create(b, sum, arith::MulFOp::create(b, v, math::TanhOp::create(b, x)));
          });
      return writePanel(b, arith::MulFOp::create(b, sum, factors), carried, {r, column});
    });
  }

  static Value overRows(ImplicitLocOpBuilder &b, Value columns, Value init,
                        function_ref<Value(ImplicitLocOpBuilder &, Value r, Value c, Value carried)> body) {
    return loop(b, index(b, 0), asValue(b, extent(b, init, 0)), 1, init,
                [&](ImplicitLocOpBuilder &b, Value r, Value outer) {
                  return loop(b, index(b, 0), columns, kPanel, outer,
                              [&](ImplicitLocOpBuilder &b, Value c, Value inner) { return body(b, r, c, inner); });
                });
  }
};

/// Lowers attn_cpu.attention_merge to a loop over splits that combines each with the state.
struct DecomposeMerge : OpRewritePattern<attn_cpu::AttentionMergeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn_cpu::AttentionMergeOp op, PatternRewriter &rewriter) const override {
    if (op.getAcc().getType().getDimSize(1) % kPanel != 0)
      return op.emitOpError() << "has " << op.getAcc().getType().getDimSize(1)
                              << " value channels, which must be a multiple of " << kPanel;
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

  /// Combines row r of `state` (acc, max, sum) with row r of split p.
  static void mergeRow(ImplicitLocOpBuilder &b, attn_cpu::AttentionMergeOp op, Value p, Value r, ValueRange state) {
    Value old = tensor::ExtractOp::create(b, state[1], r);
    Value other = tensor::ExtractOp::create(b, op.getPartialMax(), ValueRange{p, r});
    Value max = larger(b, other, old);
    const ScoreUnit unit = op.getScored() ? ScoreUnit::Natural : ScoreUnit::Base2;
    Value alpha = expOf(b, arith::SubFOp::create(b, old, max), unit);
    Value beta = expOf(b, arith::SubFOp::create(b, other, max), unit);
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
    Value maxResult = tensor::InsertOp::create(b, max, state[1], r),
          sumResult = tensor::InsertOp::create(b, sum, state[2], r);
    scf::YieldOp::create(b, ValueRange{acc, maxResult, sumResult});
  }
};

/// The op on queries [first, first + kLanes) of its query, with the same keys.
attn_cpu::AttentionStateOp sliceQueries(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, int64_t first) {
  OpFoldResult zero = b.getIndexAttr(0), from = b.getIndexAttr(first), count = b.getIndexAttr(kLanes);
  auto rows = [&](Value tensor, unsigned dim = 0) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(tensor.getType()).getShape());
    SmallVector<OpFoldResult> offsets(shape.size(), zero), sizes = extents(b, tensor);
    shape[dim] = kLanes, offsets[dim] = from, sizes[dim] = count;
    return extract(b, tensor, offsets, sizes, shape);
  };
  Value acc = rows(op.getAcc()), max = rows(op.getMax()), sum = rows(op.getSum()), query = rows(op.getQuery()),
        position = asValue(b, affineOf(b, b.getAffineDimExpr(0) + first, {OpFoldResult(op.getQ())}));
  SmallVector<Value> extras;
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    std::optional<unsigned> dim = op.getExtraMap(i).getResultPosition(b.getAffineDimExpr(0));
    extras.push_back(dim ? rows(extra, *dim) : extra);
  }
  auto step = attn_cpu::AttentionStateOp::create(b, query, op.getKey(), op.getValue(), op.getScale(), op.getB(),
                                                 op.getH(), position, op.getKv(), op.getLimit(), extras,
                                                 op.getAdditive(), ValueRange(), Value(), Value(), acc, max, sum,
                                                 op.getExtraMapsAttr(), /*heads=*/1, op.getBf16Matmul());
  step->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  IRMapping mapping;
  op.getScore().cloneInto(&step.getScore(), mapping);
  op.getMask().cloneInto(&step.getMask(), mapping);
  return step;
}

/// Splits a KV block of bf16 matmuls with more than 16 queries into ops of 16 queries, as a vector has a lane per
/// query. The scores of all of them are computed first, so that AMX multiplies beside the softmax of the op before.
void splitQueries(attn_cpu::AttentionStateOp op, Decompose::ScoresOfOps &scores) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  RankedTensorType type = op.getQuery().getType();
  const int64_t m = type.getDimSize(0), channels = type.getDimSize(1),
                keys = attn_cpu::depthOfPanels(op.getValue().getType());
  OpFoldResult zero = b.getIndexAttr(0), lanes = b.getIndexAttr(kLanes);
  Value query = Decompose::scaledQuery(b, op);
  SmallVector<Value> blocksOfScores;
  for (int64_t r = 0; r < m; r += kLanes) {
    Value rows = extract(b, query, {b.getIndexAttr(r), zero}, {lanes, b.getIndexAttr(channels)}, {kLanes, channels});
    Value buffer = tensor::EmptyOp::create(b, ArrayRef<int64_t>{kLanes, keys}, b.getF32Type());
    blocksOfScores.push_back(Decompose::dotScores(b, op, rows, index(b, keys), buffer));
  }
  SmallVector<Value> state(op.getDpsInits());
  for (auto [nth, scoresOfStep] : llvm::enumerate(blocksOfScores)) {
    op.getDpsInitsMutable().assign(state);
    OpFoldResult first = b.getIndexAttr(nth * kLanes);
    attn_cpu::AttentionStateOp step = sliceQueries(b, op, nth * kLanes);
    scores[step] = scoresOfStep;
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
      if (op.getBf16Matmul() && op.getHeads() == 1 && query.hasStaticShape() && query.getDimSize(0) > kLanes &&
          query.getDimSize(0) % kLanes == 0 && op.getKey().getType().hasStaticShape() &&
          op.getValue().getType().hasStaticShape())
        wide.push_back(op);
    });
    Decompose::ScoresOfOps scores;
    for (attn_cpu::AttentionStateOp op : wide)
      splitQueries(op, scores);
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
