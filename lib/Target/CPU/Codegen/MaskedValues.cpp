//===- MaskedValues.cpp - Keeps NaN values of masked keys out of results -------------------===//
//
// Unused positions of a cache block hold old data, NaN included, and 0 times NaN is NaN (A9).
// Checking the result of the matmul is cheaper than checking its values: the result has fewer
// elements, and it is in L1.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Codegen/MaskedValues.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Codegen/ScoreRegions.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

Value zeros(ImplicitLocOpBuilder &b) { return arith::ConstantOp::create(b, b.getZeroAttr(panelOf(b.getF32Type()))); }

/// Whether some element of a tensor [rows, multiple of 32 columns] is NaN or infinite: sums the elements times 0, which
/// is NaN for those. Even and odd rows and each panel have a partial sum, as a single one would be a long dependency
/// chain.
Value hasNonFinite(ImplicitLocOpBuilder &b, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  const int64_t columns = type.getDimSize(1), step = !type.isDynamicDim(0) && type.getDimSize(0) % 2 == 0 ? 2 : 1,
                width = columns <= 4 * kPanel ? columns : kPanel;
  SmallVector<Value> sums(step * width / kPanel, zeros(b));
  sums = loop(b, index(b, 0), asValue(b, extent(b, tensor, 0)), step, sums,
              [&](ImplicitLocOpBuilder &b, Value row, ValueRange outer) {
                return loop(b, index(b, 0), index(b, columns), width, outer,
                            [&](ImplicitLocOpBuilder &b, Value column, ValueRange inner) {
                              SmallVector<Value> next;
                              for (int64_t r = 0; r < step; ++r)
                                for (int64_t c = 0; c < width; c += kPanel) {
                                  Value at[] = {arith::AddIOp::create(b, row, index(b, r)),
                                                arith::AddIOp::create(b, column, index(b, c))};
                                  next.push_back(
                                      vector::FMAOp::create(b, readPanel(b, tensor, at), zeros(b), inner[next.size()]));
                                }
                              return next;
                            });
              });
  Value sum = sums.front();
  for (Value other : ArrayRef(sums).drop_front())
    sum = arith::AddFOp::create(b, sum, other);
  Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, sum, sum);
  Value some = vector::ReductionOp::create(b, vector::CombiningKind::OR, isNaN);
  // Without the hint LLVM takes the loops of the slow path for the hottest code and gives them the registers.
  Value expected = arith::ConstantOp::create(b, b.getBoolAttr(false));
  return LLVM::ExpectWithProbabilityOp::create(b, some, expected, b.getF64FloatAttr(1));
}

/// Channels [channel, channel + 32) of value `key` of a packed block.
Value readValues(ImplicitLocOpBuilder &b, Value values, Value key, Value channel) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  const bool isInterleaved = attn_cpu::interleaveOf(getElementTypeOrSelf(values.getType())) > 1;
  Value panel = asValue(b, affineOf(b, d0.floorDiv(kPanel), {OpFoldResult(channel)})),
        line = asValue(b, affineOf(b, d0.floorDiv(isInterleaved ? 2 : 1), {OpFoldResult(key)}));
  if (!isInterleaved)
    return readPanel(b, values, {panel, line, index(b, 0)});
  auto [even, odd] = readInterleaved(b, values, {panel, line, index(b, 0)}, kPanel);
  Value isOdd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, asValue(b, affineOf(b, d0 % 2, {OpFoldResult(key)})),
                                      index(b, 0));
  return arith::SelectOp::create(b, isOdd, odd, even);
}

/// Adds `probability` times value `key` to row r of `acc`, or nothing where `isKept` is false (A9, A10).
Value addValue(ImplicitLocOpBuilder &b, Value acc, Value r, Value probability, Value isKept, Value values, Value key) {
  if (!probability.getType().isF32())
    probability = arith::ExtFOp::create(b, b.getF32Type(), probability);
  Value factor = splat(b, probability);
  int64_t channels = cast<RankedTensorType>(acc.getType()).getDimSize(1);
  return loop(b, index(b, 0), index(b, channels), kPanel, acc,
              [&](ImplicitLocOpBuilder &b, Value channel, Value carried) {
                Value value = arith::SelectOp::create(b, isKept, readValues(b, values, key, channel), zeros(b));
                Value sum = vector::FMAOp::create(b, factor, value, readPanel(b, carried, {r, channel}));
                return writePanel(b, sum, carried, {r, channel});
              });
}

/// Adds to row r of `acc` the probabilities times the values of one contiguous part of the block. The part has `count`
/// keys, from the block's key `first` on.
FailureOr<Value> addRow(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, const MaskedBlock &block, Value r,
                        Value values, int64_t first, Value count, Value acc) {
  bool fails = false;
  acc = loop(b, index(b, 0), count, kPanel, acc, [&](ImplicitLocOpBuilder &b, Value begin, Value outer) {
    Value column = arith::AddIOp::create(b, begin, index(b, first));
    FailureOr<Value> kept = keptKeys(b, op, r, column);
    if (failed(kept)) {
      fails = true;
      return outer;
    }
    Value flags = tensor::EmptyOp::create(b, ArrayRef<int64_t>{kPanel}, b.getF32Type());
    flags = writePanel(b, arith::UIToFPOp::create(b, panelOf(b.getF32Type()), *kept), flags, index(b, 0));
    return loop(b, index(b, 0), index(b, kPanel), 1, outer, [&](ImplicitLocOpBuilder &b, Value lane, Value inner) {
      Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1));
      Value isKept =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, tensor::ExtractOp::create(b, flags, lane), one);
      Value nth = arith::AddIOp::create(b, column, lane), key = arith::AddIOp::create(b, begin, lane);
      Value probability = tensor::ExtractOp::create(b, block.probabilities, ValueRange{r, nth});
      return addValue(b, inner, r, probability, isKept, values, key);
    });
  });
  return fails ? FailureOr<Value>(failure()) : acc;
}

} // namespace

FailureOr<Value> cpu::withoutMaskedValues(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op,
                                          const MaskedBlock &block, Value weightedValues) {
  auto exact = scf::IfOp::create(b, weightedValues.getType(), hasNonFinite(b, weightedValues), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(exact.elseBlock());
  scf::YieldOp::create(b, weightedValues);
  b.setInsertionPointToStart(exact.thenBlock());
  auto type = cast<RankedTensorType>(weightedValues.getType());
  LogicalResult status = success();
  auto body = [&](ImplicitLocOpBuilder &b, Value r, Value carried) {
    Value acc =
        loop(b, index(b, 0), index(b, type.getDimSize(1)), kPanel, carried,
             [&](ImplicitLocOpBuilder &b, Value c, Value inner) { return writePanel(b, zeros(b), inner, {r, c}); });
    block.forEachPart([&](Value values, int64_t first, OpFoldResult count) {
      FailureOr<Value> sum = addRow(b, op, block, r, values, first, asValue(b, count), acc);
      if (failed(sum))
        status = failure();
      acc = sum.value_or(acc);
    });
    return acc;
  };
  Value acc = loop(b, index(b, 0), asValue(b, extent(b, op.getQuery(), 0)), 1, weightedValues, body);
  scf::YieldOp::create(b, acc);
  if (failed(status))
    return failure();
  return exact.getResult(0);
}
