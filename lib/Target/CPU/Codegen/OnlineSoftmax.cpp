//===- OnlineSoftmax.cpp - Online softmax of one KV block ------------------------------------===//
#include "lib/Target/CPU/Codegen/OnlineSoftmax.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Host/Math.h"
#include "lib/Target/CPU/Codegen/Bf16Instructions.h"
#include "lib/Target/CPU/Codegen/Lanes.h"
#include "lib/Target/CPU/Codegen/ScoreRegions.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include <numbers>

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using namespace rapt::tile;
using attn_cpu::kPanel;

// With this operand order the comparison and the selection are one maxps.
Value cpu::larger(ImplicitLocOpBuilder &b, Value x, Value floor) {
  return arith::SelectOp::create(b, arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, floor), x, floor);
}

Value cpu::castToBf16(ImplicitLocOpBuilder &b, Value numbers) {
  return arith::TruncFOp::create(b, panelOf(b.getBF16Type()), numbers);
}

// Only differences are multiplied by log2 e: the largest floats times it are infinite (A18).
Value cpu::expOf(ImplicitLocOpBuilder &b, Value difference, ScoreUnit unit, bool isCastToBf16) {
  if (unit == ScoreUnit::Natural) {
    Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(std::numbers::log2e));
    if (auto type = dyn_cast<VectorType>(difference.getType()))
      log2e = vector::BroadcastOp::create(b, type, log2e);
    difference = arith::MulFOp::create(b, difference, log2e);
  }
  // attn-expand-math needs fewer instructions where the operand is not above zero.
  auto exp2 = math::Exp2Op::create(b, difference);
  exp2->setAttr(host::kNonpositiveAttr, b.getUnitAttr());
  if (isCastToBf16)
    exp2->setAttr(host::kRoundedAttr, b.getUnitAttr());
  return exp2;
}

FailureOr<int64_t> cpu::boundOf(Value tensor) {
  if (auto type = cast<RankedTensorType>(tensor.getType()); !type.isDynamicDim(0))
    return type.getDimSize(0);
  return ValueBoundsConstraintSet::computeConstantBound(presburger::BoundType::UB, {tensor, 0},
                                                        /*stopCondition=*/nullptr, /*closedUB=*/true);
}

Value cpu::emptyRows(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, int64_t columns, Type element) {
  OpFoldResult rows = extent(b, op.getQuery(), 0), zero = b.getIndexAttr(0);
  const int64_t m = op.getQuery().getType().getDimSize(0);
  if (!ShapedType::isDynamic(m))
    return tensor::EmptyOp::create(b, ArrayRef<int64_t>{m, columns}, element);
  // Buffers of a task have static sizes.
  Value most = tensor::EmptyOp::create(b, ArrayRef<int64_t>{*boundOf(op.getQuery()), columns}, element);
  return extract(b, most, {zero, zero}, {rows, b.getIndexAttr(columns)}, {m, columns});
}

namespace {

/// Writes a vector of 16 lanes as row r of `dest`.
Value writeRow(ImplicitLocOpBuilder &b, Value lanes, Value r, Value dest) {
  return vector::TransferWriteOp::create(b, lanes, dest, ValueRange{r, index(b, 0)}, ArrayRef<bool>{true}).getResult();
}

/// Returns the max of each row's scores as a row of 16 partial results, and the scores after the score and mask
/// regions, which overwrite them.
FailureOr<std::pair<Value, Value>> blockMax(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op,
                                            const Scores &tile) {
  Value scores = tile.tile, keys = tile.keys;
  auto type = cast<RankedTensorType>(scores.getType());
  bool rewrites = tile.masked || !op.getScore().empty();
  Value floor = arith::ConstantOp::create(
      b, DenseElementsAttr::get(panelOf(b.getF32Type()), -std::numeric_limits<float>::infinity()));
  // Lanes of rows that a tile does not have are never written back.
  const int64_t most = type.isDynamicDim(0) ? kLanes : type.getDimSize(0);
  Value largest = tensor::EmptyOp::create(b, ArrayRef<int64_t>{most, kLanes}, b.getF32Type());
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
  SmallVector<Value> results = loop(b, index(b, 0), asValue(b, extent(b, scores, 0)), 1, inits, body);
  if (failed(status))
    return failure();
  return std::make_pair(results[0], rewrites ? results[1] : scores);
}

/// Per row, for scores that are not scaled yet: the block's largest score, and that score, scaled, minus the new max.
struct BlockMax {
  Value largest, distance;
};

/// 32 scaled scores minus the row's new max. The block's largest score is subtracted before the scaling, so that no
/// difference is above 0. A multiply-add of the score, its factor and the new max would be above 0 by the rounding of
/// that max.
Value belowMax(ImplicitLocOpBuilder &b, Value score, Value factor, Value max, const BlockMax &block, Value r) {
  if (!factor)
    return arith::SubFOp::create(b, score, max);
  auto ofRow = [&](Value numbers) { return splat(b, tensor::ExtractOp::create(b, numbers, r)); };
  Value below = arith::SubFOp::create(b, score, ofRow(block.largest));
  return vector::FMAOp::create(b, below, splat(b, factor), ofRow(block.distance));
}

/// Adds 32 probabilities to `sum` as they are stored (A22); with `sumsByDot`, by a dot product of bf16 probabilities
/// with ones.
Value addProbabilities(ImplicitLocOpBuilder &b, Value sum, Value stored, bool sumsByDot) {
  auto type = cast<VectorType>(stored.getType());
  if (sumsByDot) {
    Value ones = arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getFloatAttr(type.getElementType(), 1)));
    return dotBf16(b, sum, stored, ones);
  }
  if (type.getElementType().isBF16())
    stored = arith::ExtFOp::create(b, panelOf(b.getF32Type()), stored);
  return arith::AddFOp::create(b, sum, stored);
}

/// Reduces each row of 16 partial results to one lane of the result.
Value reduceAll(ImplicitLocOpBuilder &b, Value partial, Combine combine) {
  Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  SmallVector<Value> rows;
  for (int64_t r = 0; r < cast<RankedTensorType>(partial.getType()).getDimSize(0); ++r)
    rows.push_back(vector::TransferReadOp::create(b, lanesOf(b), partial, ValueRange{index(b, r), index(b, 0)}, f0,
                                                  ArrayRef<bool>{true}));
  return reduceRows(b, rows, combine);
}

} // namespace

// Running max, running sum and factors are vectors with one lane per row. Loops over scores and channels take one row
// at a time, so that few registers are live.
FailureOr<Softmax> cpu::softmaxOf(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, const Scores &scores) {
  auto type = cast<RankedTensorType>(scores.tile.getType());
  int64_t channels = op.getAcc().getType().getDimSize(1);
  Value m = asValue(b, extent(b, scores.tile, 0));
  auto found = blockMax(b, op, scores);
  if (failed(found))
    return failure();
  auto plus = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
  auto [partial, finished] = *found;
  Value old = readLanes(b, op.getMax());
  const Value largest = reduceAll(b, partial, [&](Value x, Value y) { return larger(b, x, y); });
  Value multiplied = largest;
  if (scores.factor)
    multiplied = arith::MulFOp::create(b, largest, vector::BroadcastOp::create(b, lanesOf(b), scores.factor));
  // Where all keys are masked, the running max does not change and stays finite.
  Value max = larger(b, multiplied, old);
  Value alpha = expOf(b, arith::SubFOp::create(b, old, max), scores.unit);
  // Probabilities in bf16 have a buffer of their own; f32 probabilities overwrite the scores.
  Value target = finished;
  if (op.getBf16Matmul())
    target = emptyRows(b, op, type.getDimSize(1), b.getBF16Type());
  // One dot product replaces six instructions, which pays even where its throughput is low.
  const TargetInfo info = TargetInfo::of(op);
  const bool sumsByDot = op.getBf16Matmul() && (info.bf16Dot || info.bf16Cast);
  auto toBuffer = [&](Value lanes) {
    return writeLanes(b, lanes, tensor::EmptyOp::create(b, ArrayRef<int64_t>{kLanes}, b.getF32Type()));
  };
  Value maxBuffer = toBuffer(max), alphaBuffer = toBuffer(alpha);
  BlockMax block;
  if (scores.factor) {
    // The clamp keeps the largest score finite where all keys are masked: -infinity minus -infinity would be NaN.
    auto lowest = DenseElementsAttr::get(lanesOf(b), std::numeric_limits<float>::lowest());
    block = {toBuffer(larger(b, largest, arith::ConstantOp::create(b, lowest))),
             toBuffer(arith::SubFOp::create(b, multiplied, max))};
  }
  SmallVector<Value> inits{target, partial};
  if (!scores.masked)
    inits.push_back(op.getAcc());
  SmallVector<Value> rows =
      loop(b, index(b, 0), m, 1, inits, [&](ImplicitLocOpBuilder &b, Value r, ValueRange carried) {
        Value newMax = splat(b, tensor::ExtractOp::create(b, maxBuffer, r)),
              factor = splat(b, tensor::ExtractOp::create(b, alphaBuffer, r)),
              none = arith::ConstantOp::create(b, b.getZeroAttr(sumsByDot ? lanesOf(b) : panelOf(b.getF32Type())));
        SmallVector<Value> row = loop(b, index(b, 0), scores.keys, kPanel, ValueRange{none, carried[0]},
                                      [&](ImplicitLocOpBuilder &b, Value column, ValueRange inner) {
                                        Value score =
                                            readPanel(b, op.getBf16Matmul() ? finished : inner[1], {r, column});
                                        Value below = belowMax(b, score, scores.factor, newMax, block, r);
                                        Value e = expOf(b, below, scores.unit, op.getBf16Matmul());
                                        Value stored = op.getBf16Matmul() ? castToBf16(b, e) : e;
                                        return SmallVector<Value>{addProbabilities(b, inner[0], stored, sumsByDot),
                                                                  writePanel(b, stored, inner[1], {r, column})};
                                      });
        Value total = sumsByDot ? row[0] : fold(b, row[0], plus);
        SmallVector<Value> results{row[1], writeRow(b, total, r, carried[1])};
        if (!scores.masked)
          results.push_back(loop(b, index(b, 0), index(b, channels), kPanel, carried[2],
                                 [&](ImplicitLocOpBuilder &b, Value c, Value inner) {
                                   Value x = arith::MulFOp::create(b, readPanel(b, inner, {r, c}), factor);
                                   return writePanel(b, x, inner, {r, c});
                                 }));
        return results;
      });
  Value sum =
      arith::AddFOp::create(b, arith::MulFOp::create(b, readLanes(b, op.getSum()), alpha), reduceAll(b, rows[1], plus));
  return Softmax{rows[0], scores.masked ? op.getAcc() : rows[2], writeLanes(b, max, op.getMax()),
                 writeLanes(b, sum, op.getSum()), alphaBuffer};
}
