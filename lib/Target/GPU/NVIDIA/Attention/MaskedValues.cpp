//===- MaskedValues.cpp - Keeps NaN values of masked keys out of results ------------------===//
#include "lib/Target/GPU/NVIDIA/Attention/TileCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

/// A thread's columns of accumulators, of `mma.sync` and of `wgmma`: two in every eight.
constexpr int64_t kPeriod = 8, kColumns = 2;
constexpr int64_t kPeriods = 8; ///< summed at a time

Value widened(ImplicitLocOpBuilder &b, Value value) {
  return value.getType().isF32() ? value : Value(arith::ExtFOp::create(b, b.getF32Type(), value));
}

} // namespace

Value TileCode::load(const GlobalArray &array, Value offset) {
  Value at = arith::IndexCastOp::create(b, b.getI64Type(), offset);
  Value address =
      LLVM::GEPOp::create(b, array.pointer.getType(), array.element, array.pointer, ArrayRef<LLVM::GEPArg>{at});
  return widened(b, LLVM::LoadOp::create(b, array.element, address, unsigned(array.bytes())));
}

/// Rows of which the thread has an element that is not finite: their elements of the thread are stored once more.
void TileCode::storeWithoutMaskedValues(Value acc, Value maximum, Value inverse, Value firstRow) {
  Value zero = FillOp::create(b, maximum.getType(), number(0));
  Value wrong = map(acc.getType(), acc, [&](ValueRange x) -> Value {
    Value magnitude = math::AbsFOp::create(b, x[0]);
    Value isFinite =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, magnitude, number(std::numeric_limits<float>::infinity()));
    return arith::SelectOp::create(b, isFinite, number(0), number(1));
  });
  Value ofRow = ReduceRowsOp::create(b, cast<RowVectorType>(maximum.getType()), Reduction::max, wrong, zero,
                                     /*partial=*/true);
  map(ofRow.getType(), {ofRow, maximum, inverse}, [&](ValueRange x) -> Value {
    Value row = add(x[3], firstRow);
    Value isWrong = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x[0], number(0));
    Value isRow = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, rows);
    auto branch = scf::IfOp::create(b, arith::AndIOp::create(b, isWrong, isRow), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value lane = arith::RemUIOp::create(b, thread, index(kPeriod / kColumns));
    auto columns = scf::ForOp::create(b, arith::MulIOp::create(b, lane, index(kColumns)), index(op.getValueChannels()),
                                      index(kPeriod * kPeriods));
    b.setInsertionPointToStart(columns.getBody());
    sumKeptValues(row, columns.getInductionVar(), x[1], x[2]);
    return x[0];
  });
}

/// Stores the thread's results of a row in some periods, from `column` on.
void TileCode::sumKeptValues(Value row, Value column, Value maximum, Value inverse) {
  Value zero = number(0);
  const GlobalArray query = arrayOf(op.getQuery()), keys = arrayOf(op.getKey()), values = arrayOf(op.getValue()),
                    result = arrayOf(op.getResult());
  // Columns that are not there are read as the last one.
  Value last = index(op.getValueChannels() - 1);
  SmallVector<Value> columns, at;
  for (int64_t i = 0; i < kColumns * kPeriods; ++i) {
    columns.push_back(add(column, index(i / kColumns * kPeriod + i % kColumns)));
    at.push_back(arith::MinSIOp::create(b, columns.back(), last));
  }
  auto loop = scf::ForOp::create(b, index(0), count, index(1), SmallVector<Value>(at.size(), zero));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value key = loop.getInductionVar();
    Value isKept = op.getMask().empty() ? Value(arith::ConstantOp::create(b, b.getBoolAttr(true)))
                                        : clone(op.getMask(), {row, key});
    auto branch = scf::IfOp::create(b, ValueRange(loop.getRegionIterArgs()).getTypes(), isKept,
                                    /*withElseRegion=*/true);
    scf::YieldOp::create(b, branch.getResults());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loop.getRegionIterArgs());
    b.setInsertionPointToStart(branch.thenBlock());
    Value ofQuery = rowOffset(query, row), ofKey = keyOffset(keys, key), ofValue = keyOffset(values, key);
    auto dot = scf::ForOp::create(b, index(0), index(op.getChannels()), index(1), zero);
    {
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToStart(dot.getBody());
      Value channel = dot.getInductionVar();
      Value sum = math::FmaOp::create(b, load(query, add(ofQuery, channel)), load(keys, add(ofKey, channel)),
                                      dot.getRegionIterArg(0));
      scf::YieldOp::create(b, sum);
    }
    Value score = scoreOf(dot.getResult(0), row, key);
    Value probability = power(score, maximum);
    SmallVector<Value> sums;
    for (auto [channel, before] : llvm::zip_equal(at, loop.getRegionIterArgs()))
      sums.push_back(math::FmaOp::create(b, probability, load(values, add(ofValue, channel)), before));
    scf::YieldOp::create(b, sums);
  }
  const Type type = cast<MemRefType>(op.getResult().getType()).getElementType();
  Value first = rowOffset(result, row);
  for (auto [channel, sum] : llvm::zip_equal(columns, loop.getResults())) {
    auto branch = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::sle, channel, last),
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value out = arith::MulFOp::create(b, sum, inverse);
    if (!type.isF32())
      out = arith::TruncFOp::create(b, type, out);
    Value offset = arith::IndexCastOp::create(b, b.getI64Type(), add(first, channel));
    Value address =
        LLVM::GEPOp::create(b, result.pointer.getType(), type, result.pointer, ArrayRef<LLVM::GEPArg>{offset});
    LLVM::StoreOp::create(b, out, address, unsigned(result.bytes()));
  }
}
