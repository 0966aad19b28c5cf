//===- DecomposeAttention.cpp - One step of online softmax on vectors ---------------------===//
//
// Rows are handled one at a time between the two products, so that what is live
// stays small. A masked score is -inf: its probability is exactly 0, and the running
// maximum starts from a finite floor, so no NaN arises. The maximum is overwritten
// last, which lets the state bufferise in place.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Conversion/AttnToLinalg/Tile.h"
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
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t m = op.getQuery().getType().getDimSize(0);
    int64_t keys = op.getValue().getType().getDimSize(1), valueChannels = op.getAcc().getType().getDimSize(1);
    Type f32 = b.getF32Type();
    Value zero = index(b, 0);
    Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(std::numbers::log2e));
    bool hasScore = !op.getScore().empty(), masked = !op.getMask().empty() || op.getLimit();

    // Query in base-2 units, where the scores are linear in it.
    Value factor = hasScore ? op.getScale() : Value(arith::MulFOp::create(b, op.getScale(), log2e));
    Value factors = splat(b, factor);
    Value scores = tensor::EmptyOp::create(b, ArrayRef<int64_t>{m, keys}, f32);
    scores = op.getAdditive() ? additiveScores(b, op, factors, scores) : dotScores(b, op, factors, scores);
    // What follows is by rows and panels.
    OpFoldResult rows = b.getIndexAttr(m), panel = b.getIndexAttr(kPanel), first = b.getIndexAttr(0),
                 one = b.getIndexAttr(1);
    AffineExpr d0 = b.getAffineDimExpr(0);
    auto tileType = RankedTensorType::get({m, kPanel}, f32);

    LogicalResult status = success();
    auto rowLoop = scf::ForOp::create(b, zero, index(b, m), index(b, 1),
                                      ValueRange{scores, op.getSum(), op.getAcc(), op.getMax()});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(rowLoop.getBody());
      status = softmaxRow(b, op, rowLoop, keys, valueChannels, masked);
    }
    if (failed(status))
      return failure();
    scores = rowLoop.getResult(0);
    Value acc =
        loop(b, zero, index(b, valueChannels), kPanel, rowLoop.getResult(2),
             [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
               OpFoldResult nth = affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(column)});
               Value value =
                   extract(b, op.getValue(), {nth, first, first}, {one, b.getIndexAttr(keys), panel}, {keys, kPanel});
               Value tile = extract(b, carried, {first, OpFoldResult(column)}, {rows, panel}, {m, kPanel});
               Value product =
                   linalg::MatmulOp::create(b, tileType, ValueRange{scores, value}, ValueRange{tile}).getResult(0);
               return insert(b, product, carried, {first, OpFoldResult(column)}, {rows, panel});
             });
    rewriter.replaceOp(op, {acc, rowLoop.getResult(3), rowLoop.getResult(1)});
    return success();
  }

  /// Scores of all panels into one buffer: products of the scaled query.
  static Value dotScores(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value factors, Value scores) {
    RankedTensorType type = op.getQuery().getType();
    int64_t m = type.getDimSize(0), channels = type.getDimSize(1);
    Value query = overRows(b, m, channels, tensor::EmptyOp::create(b, type.getShape(), b.getF32Type()),
                           [&](ImplicitLocOpBuilder &b, Value r, Value c, Value carried) {
                             Value x = arith::MulFOp::create(b, readPanel(b, op.getQuery(), {r, c}), factors);
                             return writePanel(b, x, carried, {r, c});
                           });
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
  static Value additiveScores(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value factors, Value scores) {
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

  /// Row r of (scores, sum, acc, max): probabilities in place of scores, sum and acc rescaled, max overwritten last.
  static LogicalResult softmaxRow(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, scf::ForOp rowLoop, int64_t keys,
                                  int64_t valueChannels, bool masked) {
    Value r = rowLoop.getInductionVar(), scores = rowLoop.getRegionIterArg(0), sums = rowLoop.getRegionIterArg(1),
          acc = rowLoop.getRegionIterArg(2), maxima = rowLoop.getRegionIterArg(3);
    Value zero = index(b, 0), end = index(b, keys), step = index(b, kPanel);
    Value old = tensor::ExtractOp::create(b, maxima, r);

    bool rewrites = masked || !op.getScore().empty();
    SmallVector<Value> inits{splat(b, old)};
    if (rewrites)
      inits.push_back(scores);
    auto maxLoop = scf::ForOp::create(b, zero, end, step, inits);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(maxLoop.getBody());
      Value column = maxLoop.getInductionVar(), from = rewrites ? maxLoop.getRegionIterArg(1) : scores;
      Value score = readPanel(b, from, {r, column});
      SmallVector<Value> next;
      if (rewrites) {
        FailureOr<Value> finished = finish(b, op, score, r, column);
        if (failed(finished))
          return failure();
        score = *finished;
        next.push_back(writePanel(b, score, from, {r, column}));
      }
      next.insert(next.begin(), larger(b, score, maxLoop.getRegionIterArg(0)));
      scf::YieldOp::create(b, next);
    }
    if (rewrites)
      scores = maxLoop.getResult(1);
    Value newMax = vector::ReductionOp::create(b, vector::CombiningKind::MAXNUMF, maxLoop.getResult(0));
    Value alpha = math::Exp2Op::create(b, arith::SubFOp::create(b, old, newMax));
    Value newMaxima = splat(b, newMax);

    Value noSum = arith::ConstantOp::create(b, b.getZeroAttr(panelOf(b.getF32Type())));
    auto expLoop = scf::ForOp::create(b, zero, end, step, ValueRange{noSum, scores});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(expLoop.getBody());
      Value column = expLoop.getInductionVar(), from = expLoop.getRegionIterArg(1);
      Value e = math::Exp2Op::create(b, arith::SubFOp::create(b, readPanel(b, from, {r, column}), newMaxima));
      Value sum = arith::AddFOp::create(b, expLoop.getRegionIterArg(0), e);
      scf::YieldOp::create(b, ValueRange{sum, writePanel(b, e, from, {r, column})});
    }
    Value blockSum = vector::ReductionOp::create(b, vector::CombiningKind::ADD, expLoop.getResult(0));
    Value oldSum = tensor::ExtractOp::create(b, sums, r);
    Value newSum = arith::AddFOp::create(b, arith::MulFOp::create(b, oldSum, alpha), blockSum);
    sums = tensor::InsertOp::create(b, newSum, sums, r);

    Value alphas = splat(b, alpha);
    acc = loop(b, zero, index(b, valueChannels), kPanel, acc, [&](ImplicitLocOpBuilder &b, Value c, Value carried) {
      return writePanel(b, arith::MulFOp::create(b, readPanel(b, carried, {r, c}), alphas), carried, {r, c});
    });
    maxima = tensor::InsertOp::create(b, newMax, maxima, r);
    scf::YieldOp::create(b, ValueRange{expLoop.getResult(1), sums, acc, maxima});
    return success();
  }
};

struct DecomposeAttention : rapt::impl::AttnDecomposeAttentionBase<DecomposeAttention> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Decompose>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    if (getOperation()->walk([](attn::AttentionStateOp) { return WalkResult::interrupt(); }).wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
