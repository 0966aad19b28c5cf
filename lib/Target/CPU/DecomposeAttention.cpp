//===- DecomposeAttention.cpp - One step of online softmax on vectors ---------------------===//
//
// Between the two products rows are handled one at a time, so that what is live
// stays small. A masked score is -inf: its probability is exactly 0, and the running
// maximum starts from a finite floor, so no NaN arises. The maximum is overwritten
// last, which lets the state bufferise in place.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Conversion/AttnToLinalg/Tile.h"
#include "lib/Target/CPU/Math.h"
#include "lib/Target/CPU/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include <numbers>

namespace rapt {
#define GEN_PASS_DEF_ATTNDECOMPOSEATTENTION
#include "lib/Target/CPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::kPanel;

namespace {

VectorType panelOf(Type element) { return VectorType::get({kPanel}, element); }

Value splat(ImplicitLocOpBuilder &b, Value scalar) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(b, panelOf(scalar.getType()), scalar);
}

/// The larger of two floats; `floor` where x is NaN, as maxps with this operand order does in one instruction.
Value larger(ImplicitLocOpBuilder &b, Value x, Value floor) {
  return arith::SelectOp::create(b, arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, floor), x, floor);
}

/// Rows whose maxima or sums are in the lanes of one vector.
constexpr int64_t kLanes = 16;

VectorType lanesOf(OpBuilder &b) { return VectorType::get({kLanes}, b.getF32Type()); }

using Combine = function_ref<Value(Value, Value)>;

/// The halves of a panel combined.
Value fold(ImplicitLocOpBuilder &b, Value panel, Combine combine) {
  auto half = [&](int64_t from) {
    return vector::ExtractStridedSliceOp::create(b, panel, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{kLanes},
                                                 ArrayRef<int64_t>{1});
  };
  static_assert(kPanel == 2 * kLanes);
  return combine(half(0), half(kLanes));
}

/// Each of at most 16 vectors of 16 lanes reduced: lane r has what `combine` makes of vector r. Rounds halve the number
/// of vectors, and what is left of two of them shares one. Each row's reduction is a tree: no chain of 16 latencies.
Value reduceRows(ImplicitLocOpBuilder &b, SmallVector<Value> rows, Combine combine) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    SmallVector<int64_t> first, second;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      bool low = (lane & half) == 0;
      first.push_back(low ? lane : kLanes + lane - half);
      second.push_back(low ? lane + half : kLanes + lane);
    }
    for (int64_t r = 0, count = rows.size(); r < std::min(half, count); ++r) {
      Value other = rows[r + half < count ? r + half : r];
      rows[r] = combine(vector::ShuffleOp::create(b, rows[r], other, first),
                        vector::ShuffleOp::create(b, rows[r], other, second));
    }
    rows.truncate(std::min<int64_t>(half, rows.size()));
  }
  return rows[0];
}

/// A tensor of at most 16 numbers as 16 lanes; those beyond repeat some.
Value readLanes(ImplicitLocOpBuilder &b, Value tensor) {
  int64_t count = cast<RankedTensorType>(tensor.getType()).getDimSize(0);
  auto type = VectorType::get({count}, b.getF32Type());
  Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value read = vector::TransferReadOp::create(b, type, tensor, ValueRange{index(b, 0)}, f0, ArrayRef<bool>{true});
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    lanes.push_back(lane % count);
  return count == kLanes ? read : Value(vector::ShuffleOp::create(b, read, read, lanes));
}

/// The first lanes into a tensor of at most 16 numbers.
Value writeLanes(ImplicitLocOpBuilder &b, Value lanes, Value tensor) {
  int64_t count = cast<RankedTensorType>(tensor.getType()).getDimSize(0);
  if (count < kLanes)
    lanes = vector::ExtractStridedSliceOp::create(b, lanes, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{count},
                                                  ArrayRef<int64_t>{1});
  return vector::TransferWriteOp::create(b, lanes, tensor, ValueRange{index(b, 0)}, ArrayRef<bool>{true}).getResult();
}

/// 2^x where x is not above zero, which attn-expand-math has fewer instructions for.
Value exp2OfNonpositive(ImplicitLocOpBuilder &b, Value x) {
  auto exp2 = math::Exp2Op::create(b, x);
  exp2->setAttr(cpu::kNonpositiveAttr, b.getUnitAttr());
  return exp2;
}

Value toI32(ImplicitLocOpBuilder &b, Value value) {
  return value.getType().isIndex() ? Value(arith::IndexCastOp::create(b, b.getI32Type(), value)) : value;
}

/// attn.lookup at indices of which any may be a vector, in the table as one row: clamped to the table, 32-bit.
Value lookUp(ImplicitLocOpBuilder &b, Value table, ArrayRef<Value> indices) {
  auto type = cast<RankedTensorType>(table.getType());
  bool isVector = llvm::any_of(indices, [](Value index) { return isa<VectorType>(index.getType()); });
  auto number = [&](Value like, int64_t value) -> Value {
    Value constant = arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
    return isa<VectorType>(like.getType()) ? splat(b, constant) : constant;
  };
  Value at;
  for (auto [index, extent] : llvm::zip_equal(indices, type.getShape())) {
    Value clamped = arith::MaxSIOp::create(b, index, number(index, 0));
    clamped = arith::MinSIOp::create(b, clamped, number(index, extent - 1));
    if (isVector)
      clamped = splat(b, clamped);
    if (at)
      clamped = arith::AddIOp::create(b, arith::MulIOp::create(b, at, number(at, extent)), clamped);
    at = clamped;
  }
  if (type.getRank() > 1) {
    SmallVector<ReassociationIndices> all(1);
    llvm::append_range(all[0], llvm::seq<int64_t>(0, type.getRank()));
    auto flat = RankedTensorType::get({type.getNumElements()}, type.getElementType());
    table = tensor::CollapseShapeOp::create(b, flat, table, all);
  }
  if (!isVector)
    return tensor::ExtractOp::create(b, table, Value(arith::IndexCastOp::create(b, b.getIndexType(), at)));
  VectorType panel = panelOf(type.getElementType());
  Value every = arith::ConstantOp::create(b, DenseElementsAttr::get(panelOf(b.getI1Type()), true));
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(panel));
  return vector::GatherOp::create(b, panel, table, ValueRange{index(b, 0)}, at, every, none);
}

/// A score or mask region on 32 keys at once: what depends on the score or on kv is a vector, the rest stays scalar.
/// Indices are i32, which keeps 32 of them in two vectors.
FailureOr<Value> applyRegion(ImplicitLocOpBuilder &b, Region &region, ArrayRef<Value> arguments) {
  Block &block = region.front();
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(block.getArguments(), arguments))
    mapping.map(from, to);
  Type i32 = b.getI32Type();
  for (Operation &op : block.without_terminator()) {
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
      Value source = mapping.lookupOrDefault(op.getOperand(0));
      if (getElementTypeOrSelf(source.getType()) != i32 ||
          !(op.getResult(0).getType().isIndex() || op.getResult(0).getType() == i32))
        return op.emitOpError("in a score or mask region casts between index and a type other than i32"), failure();
      mapping.map(op.getResult(0), source);
      continue;
    }
    if (auto lookup = dyn_cast<attn::LookupOp>(op)) {
      SmallVector<Value> indices;
      for (Value index : lookup.getIndices())
        indices.push_back(toI32(b, mapping.lookupOrDefault(index)));
      mapping.map(lookup.getResult(), lookUp(b, mapping.lookupOrDefault(lookup.getTable()), indices));
      continue;
    }
    bool isVector = false;
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      Value value = toI32(b, mapping.lookupOrDefault(operand));
      isVector |= isa<VectorType>(value.getType());
      operands.push_back(value);
    }
    if (!OpTrait::hasElementwiseMappableTraits(&op) && !op.hasTrait<OpTrait::ConstantLike>())
      return op.emitOpError("is not elementwise, so it cannot be in a score or mask region of a CPU program"),
             failure();
    SmallVector<Type> types;
    for (Type type : op.getResultTypes()) {
      Type scalar = type.isIndex() ? i32 : type;
      types.push_back(isVector ? Type(panelOf(scalar)) : scalar);
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      TypedAttr value = constant.getValue();
      if (value.getType().isIndex())
        value = b.getI32IntegerAttr(cast<IntegerAttr>(value).getInt());
      mapping.map(op.getResult(0), arith::ConstantOp::create(b, value));
      continue;
    }
    if (isVector)
      for (Value &operand : operands)
        operand = splat(b, operand);
    OperationState state(op.getLoc(), op.getName(), operands, types, op.getAttrs());
    state.propertiesAttr = op.getPropertiesAsAttribute();
    Operation *clone = b.create(state);
    mapping.map(op.getResults(), clone->getResults());
  }
  return splat(b, mapping.lookupOrDefault(block.back().getOperand(0)));
}

struct Decompose : OpRewritePattern<attn::AttentionStateOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::AttentionStateOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> tiles{op.getQuery(), op.getKey(), op.getValue(), op.getAcc(), op.getMax(), op.getSum()};
    if (!llvm::all_of(tiles, [](Value tile) { return cast<RankedTensorType>(tile.getType()).hasStaticShape(); }))
      return op.emitOpError("works on tiles of static shape in a CPU program");
    if (op.getQuery().getType().getDimSize(0) > kLanes)
      return op.emitOpError() << "has " << op.getQuery().getType().getDimSize(0)
                              << " queries; tiles of a CPU program have at most " << kLanes;
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t m = op.getQuery().getType().getDimSize(0);
    int64_t keys = op.getValue().getType().getDimSize(1), valueChannels = op.getAcc().getType().getDimSize(1);
    Type f32 = b.getF32Type();
    Value zero = index(b, 0);
    bool masked = !op.getMask().empty() || op.getLimit();
    Value scores = tensor::EmptyOp::create(b, ArrayRef<int64_t>{m, keys}, f32);
    scores = op.getAdditive() ? additiveScores(b, op, scores) : dotScores(b, op, scores);
    // What follows is by rows and panels.
    OpFoldResult rows = b.getIndexAttr(m), panel = b.getIndexAttr(kPanel), first = b.getIndexAttr(0),
                 one = b.getIndexAttr(1);
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto tileType = RankedTensorType::get({m, kPanel}, f32);

    FailureOr<Softmax> softmax = softmaxOf(b, op, scores, masked);
    if (failed(softmax))
      return failure();
    scores = softmax->probabilities;
    Value acc =
        loop(b, zero, index(b, valueChannels), kPanel, softmax->acc,
             [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
               OpFoldResult nth = affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)});
               Value value =
                   extract(b, op.getValue(), {nth, first, first}, {one, b.getIndexAttr(keys), panel}, {keys, kPanel});
               Value tile = extract(b, carried, {first, OpFoldResult(column)}, {rows, panel}, {m, kPanel});
               Value product =
                   linalg::MatmulOp::create(b, tileType, ValueRange{scores, value}, ValueRange{tile}).getResult(0);
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

  /// Scores of all panels into one buffer: products of the scaled query.
  static Value dotScores(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value scores) {
    RankedTensorType type = op.getQuery().getType();
    int64_t m = type.getDimSize(0), channels = type.getDimSize(1);
    // The query is scaled before the loops over blocks of keys.
    Value query;
    {
      OpBuilder::InsertionGuard guard(b);
      for (auto loop = op->getParentOfType<scf::ForOp>();
           loop && loop.isDefinedOutsideOfLoop(op.getQuery()) && loop.isDefinedOutsideOfLoop(op.getScale());
           loop = loop->getParentOfType<scf::ForOp>())
        b.setInsertionPoint(loop);
      query = overRows(b, m, channels, tensor::EmptyOp::create(b, type.getShape(), b.getF32Type()),
                       [&](ImplicitLocOpBuilder &b, Value r, Value c, Value carried) {
                         Value x = arith::MulFOp::create(b, readPanel(b, op.getQuery(), {r, c}), factorsOf(b, op));
                         return writePanel(b, x, carried, {r, c});
                       });
    }
    OpFoldResult rows = b.getIndexAttr(m), panel = b.getIndexAttr(kPanel), first = b.getIndexAttr(0),
                 one = b.getIndexAttr(1);
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto tileType = RankedTensorType::get({m, kPanel}, b.getF32Type());
    Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    int64_t keys = cast<RankedTensorType>(scores.getType()).getDimSize(1);
    return loop(
        b, index(b, 0), index(b, keys), kPanel, scores, [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
          OpFoldResult nth = affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)});
          Value key =
              extract(b, op.getKey(), {nth, first, first}, {one, b.getIndexAttr(channels), panel}, {channels, kPanel});
          Value tile = extract(b, carried, {first, OpFoldResult(column)}, {rows, panel}, {m, kPanel});
          Value start = linalg::FillOp::create(b, f0, tile).getResult(0);
          Value product = linalg::MatmulOp::create(b, tileType, ValueRange{query, key}, ValueRange{start}).getResult(0);
          return insert(b, product, carried, {first, OpFoldResult(column)}, {rows, panel});
        });
  }

  /// v . tanh(query + key): 32 keys at once, channel after channel.
  static Value additiveScores(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value scores) {
    Value factors = factorsOf(b, op);
    int64_t channels = cast<RankedTensorType>(op.getAdditive().getType()).getDimSize(0);
    auto type = cast<RankedTensorType>(scores.getType());
    AffineExpr d0 = b.getAffineDimExpr(0);
    return overRows(
        b, type.getDimSize(0), type.getDimSize(1), scores,
        [&](ImplicitLocOpBuilder &b, Value r, Value column, Value carried) {
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

  static Value overRows(ImplicitLocOpBuilder &b, int64_t m, int64_t columns, Value init,
                        function_ref<Value(ImplicitLocOpBuilder &, Value r, Value c, Value carried)> body) {
    return loop(b, index(b, 0), index(b, m), 1, init, [&](ImplicitLocOpBuilder &b, Value r, Value outer) {
      return loop(b, index(b, 0), index(b, columns), kPanel, outer,
                  [&](ImplicitLocOpBuilder &b, Value c, Value inner) { return body(b, r, c, inner); });
    });
  }

  /// What the regions see of the extras at query r of the tile and 32 keys from `key` on: elements, or a table.
  static SmallVector<Value> readExtras(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value r, Value key) {
    SmallVector<Value> values;
    for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
      if (op.isTable(i)) {
        values.push_back(extra);
        continue;
      }
      AffineMap map = op.getExtraMap(i);
      Type element = getElementTypeOrSelf(extra.getType());
      SmallVector<Value> indices;
      AffineMap along;
      for (auto [place, expr] : llvm::enumerate(map.getResults())) {
        bool isKey = cast<AffineDimExpr>(expr).getPosition() == 1;
        indices.push_back(isKey ? key : r);
        if (isKey)
          along = AffineMap::get(map.getNumResults(), 0, b.getAffineDimExpr(place));
      }
      if (!along) {
        values.push_back(tensor::ExtractOp::create(b, extra, indices));
        continue;
      }
      Value padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
      values.push_back(
          vector::TransferReadOp::create(b, panelOf(element), extra, indices, padding, along, ArrayRef<bool>{false}));
    }
    return values;
  }

  /// Scores of 32 keys with the regions applied, in base-2 units.
  static FailureOr<Value> finish(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value score, Value r,
                                 Value column) {
    Type i32 = b.getI32Type();
    Value key = arith::AddIOp::create(b, op.getKv(), column);
    Value steps = arith::ConstantOp::create(
        b, DenseIntElementsAttr::get(panelOf(i32), llvm::to_vector(llvm::seq<int32_t>(0, kPanel))));
    Value kv = arith::AddIOp::create(b, splat(b, toI32(b, key)), steps);
    SmallVector<Value> where{toI32(b, op.getB()), toI32(b, op.getH()), toI32(b, arith::AddIOp::create(b, op.getQ(), r)),
                             kv};
    llvm::append_range(where, readExtras(b, op, r, key));
    if (!op.getScore().empty()) {
      SmallVector<Value> arguments{score};
      llvm::append_range(arguments, where);
      FailureOr<Value> result = applyRegion(b, op.getScore(), arguments);
      if (failed(result))
        return failure();
      Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(std::numbers::log2e));
      score = arith::MulFOp::create(b, *result, splat(b, log2e));
    }
    Value keep;
    if (op.getLimit())
      keep = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, kv, splat(b, toI32(b, op.getLimit())));
    if (!op.getMask().empty()) {
      FailureOr<Value> mask = applyRegion(b, op.getMask(), where);
      if (failed(mask))
        return failure();
      keep = keep ? Value(arith::AndIOp::create(b, keep, *mask)) : *mask;
    }
    if (!keep)
      return score;
    Value masked = arith::ConstantOp::create(b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
    return Value(arith::SelectOp::create(b, keep, score, splat(b, masked)));
  }

  struct Softmax {
    Value probabilities, acc, max, sum;
  };

  /// Each row's largest score, lane by lane, into a row of 16; the regions' results in place of the scores.
  static FailureOr<std::pair<Value, Value>> largestScores(ImplicitLocOpBuilder &b, attn::AttentionStateOp op,
                                                          Value scores, bool masked) {
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
      SmallVector<Value> row = loop(b, index(b, 0), index(b, type.getDimSize(1)), kPanel, inits,
                                    [&](ImplicitLocOpBuilder &b, Value column, ValueRange inner) {
                                      Value from = rewrites ? inner[1] : scores,
                                            score = readPanel(b, from, {r, column});
                                      SmallVector<Value> next;
                                      if (rewrites) {
                                        FailureOr<Value> finished = finish(b, op, score, r, column);
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
  static FailureOr<Softmax> softmaxOf(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value scores, bool masked) {
    auto type = cast<RankedTensorType>(scores.getType());
    int64_t m = type.getDimSize(0), channels = op.getAcc().getType().getDimSize(1);
    auto largest = largestScores(b, op, scores, masked);
    if (failed(largest))
      return failure();
    auto plus = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
    auto [partial, finished] = *largest;
    Value old = readLanes(b, op.getMax());
    Value max = larger(b, reduceAll(b, partial, [&](Value x, Value y) { return larger(b, x, y); }), old);
    Value alpha = exp2OfNonpositive(b, arith::SubFOp::create(b, old, max));
    auto spread = [&](Value lanes) {
      return writeLanes(b, lanes, tensor::EmptyOp::create(b, ArrayRef<int64_t>{kLanes}, b.getF32Type()));
    };
    Value maxima = spread(max), alphas = spread(alpha);
    SmallVector<Value> rows =
        loop(b, index(b, 0), index(b, m), 1, ValueRange{finished, partial, op.getAcc()},
             [&](ImplicitLocOpBuilder &b, Value r, ValueRange carried) {
               Value newMax = splat(b, tensor::ExtractOp::create(b, maxima, r)),
                     factor = splat(b, tensor::ExtractOp::create(b, alphas, r)),
                     none = arith::ConstantOp::create(b, b.getZeroAttr(panelOf(b.getF32Type())));
               SmallVector<Value> row =
                   loop(b, index(b, 0), index(b, type.getDimSize(1)), kPanel, ValueRange{none, carried[0]},
                        [&](ImplicitLocOpBuilder &b, Value column, ValueRange inner) {
                          Value score = readPanel(b, inner[1], {r, column});
                          Value e = exp2OfNonpositive(b, arith::SubFOp::create(b, score, newMax));
                          return SmallVector<Value>{arith::AddFOp::create(b, inner[0], e),
                                                    writePanel(b, e, inner[1], {r, column})};
                        });
               Value acc = loop(b, index(b, 0), index(b, channels), kPanel, carried[2],
                                [&](ImplicitLocOpBuilder &b, Value c, Value inner) {
                                  Value x = arith::MulFOp::create(b, readPanel(b, inner, {r, c}), factor);
                                  return writePanel(b, x, inner, {r, c});
                                });
               return SmallVector<Value>{row[1], writeRow(b, fold(b, row[0], plus), r, carried[1]), acc};
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

struct DecomposeAttention : rapt::impl::AttnDecomposeAttentionBase<DecomposeAttention> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Decompose, DecomposeMerge>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    WalkResult rest = getOperation()->walk([](Operation *op) {
      return isa<attn::AttentionStateOp, attn::AttentionMergeOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (rest.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
