//===- OnlineSoftmax.cpp - From scores to probabilities and the state of softmax ------------===//
#include "lib/Target/CPU/Codegen/OnlineSoftmax.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Host/Math.h"
#include "lib/Target/CPU/Codegen/Lanes.h"
#include "lib/Target/CPU/Codegen/PairInstructions.h"
#include "lib/Target/CPU/Codegen/ScoreRegions.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <numbers>

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using namespace rapt::tile;
using attn_cpu::kPanel;

// maxps with this operand order is one instruction.
Value cpu::larger(ImplicitLocOpBuilder &b, Value x, Value floor) {
  return arith::SelectOp::create(b, arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, floor), x, floor);
}

Value cpu::rounded(ImplicitLocOpBuilder &b, Value numbers) {
  return arith::TruncFOp::create(b, panelOf(b.getBF16Type()), numbers);
}

// Only differences are multiplied by log2 e.
Value cpu::powerOf(ImplicitLocOpBuilder &b, Value difference, ScoreUnit unit, bool isRounded) {
  if (unit == ScoreUnit::Natural) {
    Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(std::numbers::log2e));
    if (auto type = dyn_cast<VectorType>(difference.getType()))
      log2e = vector::BroadcastOp::create(b, type, log2e);
    difference = arith::MulFOp::create(b, difference, log2e);
  }
  // attn-expand-math has fewer instructions for what is not above zero.
  auto exp2 = math::Exp2Op::create(b, difference);
  exp2->setAttr(host::kNonpositiveAttr, b.getUnitAttr());
  if (isRounded)
    exp2->setAttr(host::kRoundedAttr, b.getUnitAttr());
  return exp2;
}

namespace {

/// 16 lanes as row r.
Value writeRow(ImplicitLocOpBuilder &b, Value lanes, Value r, Value dest) {
  return vector::TransferWriteOp::create(b, lanes, dest, ValueRange{r, index(b, 0)}, ArrayRef<bool>{true}).getResult();
}

/// Each row's largest score, lane by lane, into a row of 16; the regions' results in place of the scores.
FailureOr<std::pair<Value, Value>> largestScores(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op,
                                                 const Scores &tile) {
  Value scores = tile.tile, keys = tile.keys;
  auto type = cast<RankedTensorType>(scores.getType());
  bool rewrites = tile.masked || !op.getScore().empty();
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

/// Where the exponents of scores without their factor begin: each row's largest score in this block, and how far that
/// score, multiplied, is above the new max.
struct Reference {
  Value largest, distance;
};

/// 32 scores less the row's maximum. The block's largest score is subtracted before the multiplication, so that it
/// gives no more than 0 however large it is: a product less the rounded maximum, which are one multiply-add, would
/// leave what the maximum was rounded by.
Value belowMax(ImplicitLocOpBuilder &b, Value score, Value factor, Value max, const Reference &reference, Value r) {
  if (!factor)
    return arith::SubFOp::create(b, score, max);
  auto ofRow = [&](Value numbers) { return splat(b, tensor::ExtractOp::create(b, numbers, r)); };
  Value below = arith::SubFOp::create(b, score, ofRow(reference.largest));
  return vector::FMAOp::create(b, below, splat(b, factor), ofRow(reference.distance));
}

/// sum + 32 probabilities as they are stored: rounded ones by a product with ones where it `sumsPairs`.
Value addProbabilities(ImplicitLocOpBuilder &b, Value sum, Value stored, bool sumsPairs) {
  auto type = cast<VectorType>(stored.getType());
  if (sumsPairs) {
    Value ones = arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getFloatAttr(type.getElementType(), 1)));
    return dotPairs(b, sum, stored, ones);
  }
  if (type.getElementType().isBF16())
    stored = arith::ExtFOp::create(b, panelOf(b.getF32Type()), stored);
  return arith::AddFOp::create(b, sum, stored);
}

/// Rows of 16 lanes, each reduced, as lanes.
Value reduceAll(ImplicitLocOpBuilder &b, Value partial, Combine combine) {
  Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  SmallVector<Value> rows;
  for (int64_t r = 0; r < cast<RankedTensorType>(partial.getType()).getDimSize(0); ++r)
    rows.push_back(vector::TransferReadOp::create(b, lanesOf(b), partial, ValueRange{index(b, r), index(b, 0)}, f0,
                                                  ArrayRef<bool>{true}));
  return reduceRows(b, rows, combine);
}

} // namespace

// A vector's lanes hold one number of each row (max, sum, factor); loops over scores and channels take one row at a
// time.
FailureOr<Softmax> cpu::softmaxOf(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, const Scores &scores) {
  auto type = cast<RankedTensorType>(scores.tile.getType());
  int64_t m = type.getDimSize(0), channels = op.getAcc().getType().getDimSize(1);
  auto found = largestScores(b, op, scores);
  if (failed(found))
    return failure();
  auto plus = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
  auto [partial, finished] = *found;
  Value old = readLanes(b, op.getMax());
  const Value largest = reduceAll(b, partial, [&](Value x, Value y) { return larger(b, x, y); });
  Value multiplied = largest;
  if (scores.factor)
    multiplied = arith::MulFOp::create(b, largest, vector::BroadcastOp::create(b, lanesOf(b), scores.factor));
  // Where all keys are masked the maximum stays what it was, which is finite.
  Value max = larger(b, multiplied, old);
  Value alpha = powerOf(b, arith::SubFOp::create(b, old, max), scores.unit);
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
  Reference reference;
  if (scores.factor) {
    // Finite where all keys are masked, as what is masked is infinitely far below.
    auto lowest = DenseElementsAttr::get(lanesOf(b), std::numeric_limits<float>::lowest());
    reference = {spread(larger(b, largest, arith::ConstantOp::create(b, lowest))),
                 spread(arith::SubFOp::create(b, multiplied, max))};
  }
  SmallVector<Value> inits{target, partial};
  if (!scores.masked)
    inits.push_back(op.getAcc());
  SmallVector<Value> rows =
      loop(b, index(b, 0), index(b, m), 1, inits, [&](ImplicitLocOpBuilder &b, Value r, ValueRange carried) {
        Value newMax = splat(b, tensor::ExtractOp::create(b, maxima, r)),
              factor = splat(b, tensor::ExtractOp::create(b, alphas, r)),
              none = arith::ConstantOp::create(b, b.getZeroAttr(sumsPairs ? lanesOf(b) : panelOf(b.getF32Type())));
        SmallVector<Value> row = loop(b, index(b, 0), scores.keys, kPanel, ValueRange{none, carried[0]},
                                      [&](ImplicitLocOpBuilder &b, Value column, ValueRange inner) {
                                        Value score = readPanel(b, op.getPaired() ? finished : inner[1], {r, column});
                                        Value below = belowMax(b, score, scores.factor, newMax, reference, r);
                                        Value e = powerOf(b, below, scores.unit, op.getPaired());
                                        Value stored = op.getPaired() ? rounded(b, e) : e;
                                        return SmallVector<Value>{addProbabilities(b, inner[0], stored, sumsPairs),
                                                                  writePanel(b, stored, inner[1], {r, column})};
                                      });
        Value total = sumsPairs ? row[0] : fold(b, row[0], plus);
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
                 writeLanes(b, sum, op.getSum()), alphas};
}
