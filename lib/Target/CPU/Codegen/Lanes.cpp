//===- Lanes.cpp - Vectors with one lane per row --------------------------------------------===//
//
// Butterfly shuffles reduce all rows together. Each round halves the number of vectors, as
// the partial results of two rows share one vector. vector.reduction would be a dependency
// chain of 16 latencies per row.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Codegen/Lanes.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Transpose.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using attn_cpu::kPanel;
using tile::index;

static_assert(kLanes == tile::kTransposed, "butterfly() shuffles vectors of 16");

VectorType cpu::lanesOf(OpBuilder &b) { return VectorType::get({kLanes}, b.getF32Type()); }

Value cpu::fold(ImplicitLocOpBuilder &b, Value panel, Combine combine) {
  auto half = [&](int64_t from) {
    return vector::ExtractStridedSliceOp::create(b, panel, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{kLanes},
                                                 ArrayRef<int64_t>{1});
  };
  static_assert(kPanel == 2 * kLanes);
  return combine(half(0), half(kLanes));
}

Value cpu::reduceRows(ImplicitLocOpBuilder &b, SmallVector<Value> rows, Combine combine) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    tile::Butterfly lanes = tile::butterfly(half);
    for (int64_t r = 0, count = rows.size(); r < std::min(half, count); ++r) {
      Value other = rows[r + half < count ? r + half : r];
      rows[r] = combine(vector::ShuffleOp::create(b, rows[r], other, lanes.first),
                        vector::ShuffleOp::create(b, rows[r], other, lanes.second));
    }
    rows.truncate(std::min<int64_t>(half, rows.size()));
  }
  return rows[0];
}

Value cpu::readLanes(ImplicitLocOpBuilder &b, Value tensor) {
  auto shape = cast<RankedTensorType>(tensor.getType());
  if (shape.isDynamicDim(0)) {
    Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    return vector::TransferReadOp::create(b, lanesOf(b), tensor, ValueRange{index(b, 0)}, f0, ArrayRef<bool>{false});
  }
  int64_t count = shape.getDimSize(0);
  auto type = VectorType::get({count}, b.getF32Type());
  Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value read = vector::TransferReadOp::create(b, type, tensor, ValueRange{index(b, 0)}, f0, ArrayRef<bool>{true});
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    lanes.push_back(lane % count);
  return count == kLanes ? read : Value(vector::ShuffleOp::create(b, read, read, lanes));
}

Value cpu::writeLanes(ImplicitLocOpBuilder &b, Value lanes, Value tensor) {
  auto shape = cast<RankedTensorType>(tensor.getType());
  if (shape.isDynamicDim(0))
    return vector::TransferWriteOp::create(b, lanes, tensor, ValueRange{index(b, 0)}, ArrayRef<bool>{false})
        .getResult();
  int64_t count = shape.getDimSize(0);
  if (count < kLanes)
    lanes = vector::ExtractStridedSliceOp::create(b, lanes, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{count},
                                                  ArrayRef<int64_t>{1});
  return vector::TransferWriteOp::create(b, lanes, tensor, ValueRange{index(b, 0)}, ArrayRef<bool>{true}).getResult();
}
