//===- DecomposeAttention.cpp - One step of online softmax on vectors ---------------------===//
//
// Between the two products rows are handled one at a time, so that what is live
// stays small. A masked score is -inf: its probability is exactly 0, and the running
// maximum starts from a finite floor, so no NaN arises. The maximum is overwritten
// last, which lets the state bufferise in place.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Conversion/AttnToLinalg/Rows.h"
#include "lib/Target/CPU/Lanes.h"
#include "lib/Target/CPU/Math.h"
#include "lib/Target/CPU/PairInstructions.h"
#include "lib/Target/CPU/Passes.h"
#include "lib/Target/CPU/ScoreRegions.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include <numbers>

namespace rapt {
#define GEN_PASS_DEF_ATTNDECOMPOSEATTENTION
#include "lib/Target/CPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using namespace rapt::cpu;
using attn::kPanel;

namespace {

/// The larger of two floats; `floor` where x is NaN, as maxps with this operand order does in one instruction.
Value larger(ImplicitLocOpBuilder &b, Value x, Value floor) {
  return arith::SelectOp::create(b, arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, floor), x, floor);
}

/// 2^x where x is not above zero, which attn-expand-math has fewer instructions for.
Value exp2OfNonpositive(ImplicitLocOpBuilder &b, Value x) {
  auto exp2 = math::Exp2Op::create(b, x);
  exp2->setAttr(kNonpositiveAttr, b.getUnitAttr());
  return exp2;
}

/// How many keys a step has, at most `most` of them.
struct KeyCount {
  Value count;
  int64_t most;
};

struct Decompose : OpRewritePattern<attn::AttentionStateOp> {
  using Scores = llvm::DenseMap<Operation *, Value>;
  Decompose(MLIRContext *context, const Scores &made) : OpRewritePattern(context), made(made) {}

  /// The scores of ops whose products have been made before them.
  const Scores &made;

  static FailureOr<KeyCount> countKeys(ImplicitLocOpBuilder &b, attn::AttentionStateOp op) {
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

  LogicalResult matchAndRewrite(attn::AttentionStateOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FailureOr<KeyCount> keys = countKeys(b, op);
    auto isStatic = [](Value tile) { return cast<RankedTensorType>(tile.getType()).hasStaticShape(); };
    if (failed(keys) || !isStatic(op.getQuery()) || !isStatic(op.getAcc()))
      return op.emitOpError("works on tiles of static shape, or of at most so many keys, in a CPU program");
    if (op.getQuery().getType().getDimSize(0) > kLanes)
      return op.emitOpError() << "has " << op.getQuery().getType().getDimSize(0)
                              << " queries; tiles of a CPU program have at most " << kLanes;
    int64_t m = op.getQuery().getType().getDimSize(0);
    int64_t valueChannels = op.getAcc().getType().getDimSize(1);
    Type f32 = b.getF32Type();
    Value zero = index(b, 0);
    bool masked = !op.getMask().empty() || op.getLimit();
    Value scores = made.lookup(op);
    if (!scores) {
      scores = tensor::EmptyOp::create(b, ArrayRef<int64_t>{m, keys->most}, f32);
      scores = op.getAdditive() ? additiveScores(b, op, keys->count, scores)
                                : dotScores(b, op, scaledQuery(b, op), keys->count, scores);
    }
    // What follows is by rows and panels.
    OpFoldResult rows = b.getIndexAttr(m), panel = b.getIndexAttr(kPanel), first = b.getIndexAttr(0);
    AffineExpr d0 = b.getAffineDimExpr(0);

    FailureOr<Softmax> softmax = softmaxOf(b, op, scores, keys->count, masked);
    if (failed(softmax))
      return failure();
    scores = softmax->probabilities;
    if (op.getPaired()) {
      Value acc = softmax->acc;
      forParts(op.getValue(), 1, [&](Value values, int64_t first, int64_t count) {
        Value rows = columnsOf(b, scores, first, count);
        acc = attn::PairedProductOp::create(b, acc.getType(), rows, values, acc).getResult()[0];
      });
      rewriter.replaceOp(op, {acc, softmax->max, softmax->sum});
      return success();
    }
    OpFoldResult count = getAsOpFoldResult(keys->count);
    scores = extract(b, scores, {first, first}, {rows, count},
                     {m, getConstantIntValue(count).value_or(ShapedType::kDynamic)});
    Value acc = loop(b, zero, index(b, valueChannels), kPanel, softmax->acc,
                     [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
                       OpFoldResult nth = affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)});
                       Value value = nthPanel(b, op.getValue(), nth);
                       Value tile = extract(b, carried, {first, OpFoldResult(column)}, {rows, panel}, {m, kPanel});
                       Value product = productOf(b, op, true, nth, valueChannels / kPanel, scores, value, tile);
                       return insert(b, product, carried, {first, OpFoldResult(column)}, {rows, panel});
                     });
    rewriter.replaceOp(op, {acc, softmax->max, softmax->sum});
    return success();
  }

  /// What the query is multiplied by: scores are in base-2 units where they are linear in it.
  static Value factorsOf(ImplicitLocOpBuilder &b, attn::AttentionStateOp op) {
    if (!op.getScore().empty())
      return splat(b, op.getScale());
    Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(std::numbers::log2e));
    return splat(b, arith::MulFOp::create(b, op.getScale(), log2e));
  }

  /// Panel `nth` of keys or values.
  static Value nthPanel(ImplicitLocOpBuilder &b, Value panels, OpFoldResult nth) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(panels.getType()).getShape().drop_front();
    OpFoldResult first = b.getIndexAttr(0);
    return extract(b, panels, {nth, first, first}, {b.getIndexAttr(1), extent(b, panels, 1), extent(b, panels, 2)},
                   shape);
  }

  /// dest + rows panel, the `nth` of `count` products of the op's first or second factor, whose rows may lie in pairs.
  static Value productOf(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, bool isSecond, OpFoldResult nth,
                         int64_t count, Value rows, Value panel, Value dest) {
    if (cast<RankedTensorType>(panel.getType()).getDimSize(1) != kPanel)
      return attn::PairedProductOp::create(b, dest.getType(), rows, panel, dest).getResult()[0];
    SmallVector<Value> ahead, bounds;
    for (unsigned i = isSecond; i < op.getAhead().size(); i += 2) {
      ahead.push_back(op.getAhead()[i]);
      for (int64_t more : {0, 1})
        bounds.push_back(boundAhead(b, op, asValue(b, affineOf(b, b.getAffineDimExpr(0) + more, {nth})), count,
                                    extent(b, ahead.back(), 0)));
    }
    return attn::PanelProductOp::create(b, dest.getType(), rows, panel, ahead, bounds, dest, isSecond && !ahead.empty())
        .getResult()[0];
  }

  /// The row of `rows` at which part `nth` of `count` of the step's part of what lies ahead begins.
  static Value boundAhead(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value nth, int64_t count,
                          OpFoldResult rows) {
    Value step = arith::SubIOp::create(b, op.getTo(), op.getFrom());
    Value part = arith::DivUIOp::create(b, arith::MulIOp::create(b, step, nth), index(b, count));
    part = arith::MulIOp::create(b, asValue(b, rows), arith::AddIOp::create(b, op.getFrom(), part));
    return arith::ShRUIOp::create(b, part, index(b, 16));
  }

  /// The query times its factors, before the loops over blocks of keys; as bf16 where products are of pairs.
  static Value scaledQuery(ImplicitLocOpBuilder &b, attn::AttentionStateOp op) {
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
  /// key and how many it has. What lies together is one of them.
  static void forParts(Value panels, unsigned dim, function_ref<void(Value part, int64_t first, int64_t count)> body) {
    auto whole = panels.getDefiningOp<tensor::ConcatOp>();
    int64_t first = 0;
    for (Value part : whole ? ValueRange(whole.getInputs()) : ValueRange(panels)) {
      auto type = cast<RankedTensorType>(part.getType());
      int64_t count = dim == 0 ? type.getDimSize(0) * kPanel : attn::depthOfPanels(type);
      body(part, first, count);
      first += count;
    }
  }

  /// Columns [first, first + count) of a tile.
  static Value columnsOf(ImplicitLocOpBuilder &b, Value tile, int64_t first, int64_t count) {
    int64_t rows = cast<RankedTensorType>(tile.getType()).getDimSize(0);
    return extract(b, tile, {b.getIndexAttr(0), b.getIndexAttr(first)}, {b.getIndexAttr(rows), b.getIndexAttr(count)},
                   {rows, count});
  }

  /// 32 numbers as bf16.
  static Value rounded(ImplicitLocOpBuilder &b, Value numbers) {
    return arith::TruncFOp::create(b, panelOf(b.getBF16Type()), numbers);
  }

  /// Scores of all panels into one buffer: products of the scaled query.
  static Value dotScores(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value query, Value keys, Value scores) {
    int64_t m = cast<RankedTensorType>(query.getType()).getDimSize(0);
    Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    if (op.getPaired()) {
      forParts(op.getKey(), 0, [&](Value keys, int64_t first, int64_t count) {
        Value start = linalg::FillOp::create(b, f0, columnsOf(b, scores, first, count)).getResult(0);
        Value product = attn::PairedProductOp::create(b, start.getType(), query, keys, start).getResult()[0];
        scores = insert(b, product, scores, {b.getIndexAttr(0), b.getIndexAttr(first)},
                        {b.getIndexAttr(m), b.getIndexAttr(count)});
      });
      return scores;
    }
    OpFoldResult rows = b.getIndexAttr(m), panel = b.getIndexAttr(kPanel), first = b.getIndexAttr(0);
    AffineExpr d0 = b.getAffineDimExpr(0);
    int64_t panels = cast<RankedTensorType>(scores.getType()).getDimSize(1) / kPanel;
    return loop(b, index(b, 0), keys, kPanel, scores, [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
      OpFoldResult nth = affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)});
      Value key = nthPanel(b, op.getKey(), nth);
      Value tile = extract(b, carried, {first, OpFoldResult(column)}, {rows, panel}, {m, kPanel});
      Value start = linalg::FillOp::create(b, f0, tile).getResult(0);
      Value product = productOf(b, op, false, nth, panels, query, key, start);
      return insert(b, product, carried, {first, OpFoldResult(column)}, {rows, panel});
    });
  }

  /// v . tanh(query + key): 32 keys at once, channel after channel.
  static Value additiveScores(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value keys, Value scores) {
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

  struct Softmax {
    Value probabilities, acc, max, sum;
  };

  /// Each row's largest score, lane by lane, into a row of 16; the regions' results in place of the scores.
  static FailureOr<std::pair<Value, Value>> largestScores(ImplicitLocOpBuilder &b, attn::AttentionStateOp op,
                                                          Value scores, Value keys, bool masked) {
    auto type = cast<RankedTensorType>(scores.getType());
    bool rewrites = masked || !op.getScore().empty();
    Value floor = arith::ConstantOp::create(
        b, DenseElementsAttr::get(panelOf(b.getF32Type()), -std::numeric_limits<float>::infinity()));
    Value largest = tensor::EmptyOp::create(b, ArrayRef<int64_t>{type.getDimSize(0), kLanes}, b.getF32Type());
    LogicalResult status = success();
    auto body = [&](ImplicitLocOpBuilder &b, Value r, ValueRange outer) {
      SmallVector<Value> inits{floor};
      if (rewrites)
        inits.push_back(outer[1]);
      SmallVector<Value> row =
          loop(b, index(b, 0), keys, kPanel, inits, [&](ImplicitLocOpBuilder &b, Value column, ValueRange inner) {
            Value from = rewrites ? inner[1] : scores, score = readPanel(b, from, {r, column});
            SmallVector<Value> next;
            if (rewrites) {
              FailureOr<Value> finished = finishScores(b, op, score, r, column);
              if (failed(finished))
                status = failure();
              score = finished.value_or(score);
              next.push_back(writePanel(b, score, from, {r, column}));
            }
            next.insert(next.begin(), larger(b, score, inner[0]));
            return next;
          });
      Value lanes = fold(b, row[0], [&](Value x, Value y) { return larger(b, x, y); });
      SmallVector<Value> results{writeRow(b, lanes, r, outer[0])};
      if (rewrites)
        results.push_back(row[1]);
      return results;
    };
    SmallVector<Value> inits{largest};
    if (rewrites)
      inits.push_back(scores);
    SmallVector<Value> results = loop(b, index(b, 0), index(b, type.getDimSize(0)), 1, inits, body);
    if (failed(status))
      return failure();
    return std::make_pair(results[0], rewrites ? results[1] : scores);
  }

  /// sum + 32 probabilities as they are stored: rounded ones by a product with ones where it `sumsPairs`.
  static Value addProbabilities(ImplicitLocOpBuilder &b, Value sum, Value stored, bool sumsPairs) {
    auto type = cast<VectorType>(stored.getType());
    if (sumsPairs) {
      Value ones = arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getFloatAttr(type.getElementType(), 1)));
      return dotPairs(b, sum, stored, ones);
    }
    if (type.getElementType().isBF16())
      stored = arith::ExtFOp::create(b, panelOf(b.getF32Type()), stored);
    return arith::AddFOp::create(b, sum, stored);
  }

  /// 16 lanes as row r.
  static Value writeRow(ImplicitLocOpBuilder &b, Value lanes, Value r, Value dest) {
    return vector::TransferWriteOp::create(b, lanes, dest, ValueRange{r, index(b, 0)}, ArrayRef<bool>{true})
        .getResult();
  }

  /// Rows of 16 lanes, each reduced, as lanes.
  static Value reduceAll(ImplicitLocOpBuilder &b, Value partial, Combine combine) {
    Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    SmallVector<Value> rows;
    for (int64_t r = 0; r < cast<RankedTensorType>(partial.getType()).getDimSize(0); ++r)
      rows.push_back(vector::TransferReadOp::create(b, lanesOf(b), partial, ValueRange{index(b, r), index(b, 0)}, f0,
                                                    ArrayRef<bool>{true}));
    return reduceRows(b, rows, combine);
  }

  /// Probabilities in place of the scores, sum and acc rescaled, max overwritten last. What is one number a row is in
  /// the lanes of a vector; between those, rows are handled one at a time.
  static FailureOr<Softmax> softmaxOf(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value scores, Value keys,
                                      bool masked) {
    auto type = cast<RankedTensorType>(scores.getType());
    int64_t m = type.getDimSize(0), channels = op.getAcc().getType().getDimSize(1);
    auto largest = largestScores(b, op, scores, keys, masked);
    if (failed(largest))
      return failure();
    auto plus = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
    auto [partial, finished] = *largest;
    Value old = readLanes(b, op.getMax());
    Value max = larger(b, reduceAll(b, partial, [&](Value x, Value y) { return larger(b, x, y); }), old);
    Value alpha = exp2OfNonpositive(b, arith::SubFOp::create(b, old, max));
    // Rounded probabilities lie apart; the others take the place of the scores.
    Value target = finished;
    if (op.getPaired())
      target = tensor::EmptyOp::create(b, type.getShape(), b.getBF16Type());
    // Even where the dot product is slow it replaces six instructions.
    const TargetInfo info = TargetInfo::of(op);
    const bool sumsPairs = op.getPaired() && (info.bf16Dot || info.bf16Round);
    auto spread = [&](Value lanes) {
      return writeLanes(b, lanes, tensor::EmptyOp::create(b, ArrayRef<int64_t>{kLanes}, b.getF32Type()));
    };
    Value maxima = spread(max), alphas = spread(alpha);
    SmallVector<Value> rows = loop(
        b, index(b, 0), index(b, m), 1, ValueRange{target, partial, op.getAcc()},
        [&](ImplicitLocOpBuilder &b, Value r, ValueRange carried) {
          Value newMax = splat(b, tensor::ExtractOp::create(b, maxima, r)),
                factor = splat(b, tensor::ExtractOp::create(b, alphas, r)),
                none = arith::ConstantOp::create(b, b.getZeroAttr(sumsPairs ? lanesOf(b) : panelOf(b.getF32Type())));
          SmallVector<Value> row = loop(b, index(b, 0), keys, kPanel, ValueRange{none, carried[0]},
                                        [&](ImplicitLocOpBuilder &b, Value column, ValueRange inner) {
                                          Value score = readPanel(b, op.getPaired() ? finished : inner[1], {r, column});
                                          Value e = exp2OfNonpositive(b, arith::SubFOp::create(b, score, newMax));
                                          Value stored = op.getPaired() ? rounded(b, e) : e;
                                          return SmallVector<Value>{addProbabilities(b, inner[0], stored, sumsPairs),
                                                                    writePanel(b, stored, inner[1], {r, column})};
                                        });
          Value acc = loop(b, index(b, 0), index(b, channels), kPanel, carried[2],
                           [&](ImplicitLocOpBuilder &b, Value c, Value inner) {
                             Value x = arith::MulFOp::create(b, readPanel(b, inner, {r, c}), factor);
                             return writePanel(b, x, inner, {r, c});
                           });
          Value total = sumsPairs ? row[0] : fold(b, row[0], plus);
          return SmallVector<Value>{row[1], writeRow(b, total, r, carried[1]), acc};
        });
    Value sum = arith::AddFOp::create(b, arith::MulFOp::create(b, readLanes(b, op.getSum()), alpha),
                                      reduceAll(b, rows[1], plus));
    return Softmax{rows[0], rows[2], writeLanes(b, max, op.getMax()), writeLanes(b, sum, op.getSum())};
  }
};

/// One part after another into the state, in the base-2 units that the decomposed steps leave in max.
struct DecomposeMerge : OpRewritePattern<attn::AttentionMergeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::AttentionMergeOp op, PatternRewriter &rewriter) const override {
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
  static void mergeRow(ImplicitLocOpBuilder &b, attn::AttentionMergeOp op, Value p, Value r, ValueRange state) {
    Value old = tensor::ExtractOp::create(b, state[1], r);
    Value other = tensor::ExtractOp::create(b, op.getPartialMax(), ValueRange{p, r});
    Value max = larger(b, other, old);
    Value alpha = math::Exp2Op::create(b, arith::SubFOp::create(b, old, max));
    Value beta = math::Exp2Op::create(b, arith::SubFOp::create(b, other, max));
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

/// A paired step of more queries than a vector has lanes becomes steps of so many in turn, of which all `scores` come
/// first: tiles are multiplied beside the softmax of those before. The step's results are left to the last ones.
void takeInTurn(attn::AttentionStateOp op, Decompose::Scores &scores) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  RankedTensorType type = op.getQuery().getType();
  const int64_t m = type.getDimSize(0), channels = type.getDimSize(1),
                keys = attn::depthOfPanels(op.getValue().getType());
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
    OpFoldResult first = b.getIndexAttr(nth * kLanes), panels = b.getIndexAttr(keys / kPanel);
    auto step = cast<attn::AttentionStateOp>(op.getTiledImplementation(b, {first, zero}, {lanes, panels})->tiledOps[0]);
    // All keys, which may lie apart.
    step.getKeyMutable().assign(op.getKey());
    step.getValueMutable().assign(op.getValue());
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
    SmallVector<attn::AttentionStateOp> wide;
    getOperation()->walk([&](attn::AttentionStateOp op) {
      RankedTensorType query = op.getQuery().getType();
      if (op.getPaired() && query.hasStaticShape() && query.getDimSize(0) > kLanes &&
          query.getDimSize(0) % kLanes == 0 && op.getKey().getType().hasStaticShape() &&
          op.getValue().getType().hasStaticShape())
        wide.push_back(op);
    });
    Decompose::Scores scores;
    for (attn::AttentionStateOp op : wide)
      takeInTurn(op, scores);
    RewritePatternSet patterns(&getContext());
    patterns.add<Decompose>(&getContext(), scores);
    patterns.add<DecomposeMerge>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    WalkResult rest = getOperation()->walk([](Operation *op) {
      return isa<attn::AttentionStateOp, attn::AttentionMergeOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (rest.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
