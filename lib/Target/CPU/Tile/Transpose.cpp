//===- Transpose.cpp - Transposes keys into packed panels ----------------------------------===//
//
// Four rounds of butterfly shuffles transpose a 16 x 16 matrix. Each round swaps the
// off-diagonal quarters of all blocks of 16, 8, 4 or 2, two vectors at a time. Rounds whose
// quarters are whole registers cost nothing.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/Transpose.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Vnni.h"

using namespace mlir;
using namespace rapt;
using attn_cpu::kPanel;
using tile::kTransposed;

tile::Butterfly tile::butterfly(int64_t half) {
  Butterfly result;
  for (int64_t lane = 0; lane < kTransposed; ++lane) {
    bool low = (lane & half) == 0;
    result.first.push_back(low ? lane : kTransposed + lane - half);
    result.second.push_back(low ? lane + half : kTransposed + lane);
  }
  return result;
}

/// Transposes 16 vectors of 16 lanes.
static void transpose(ImplicitLocOpBuilder &b, SmallVectorImpl<Value> &rows) {
  for (int64_t half = kTransposed / 2; half > 0; half /= 2) {
    tile::Butterfly lanes = tile::butterfly(half);
    for (int64_t r = 0; r < kTransposed; ++r) {
      if (r & half)
        continue;
      Value x = rows[r], y = rows[r + half];
      rows[r] = vector::ShuffleOp::create(b, x, y, lanes.first);
      rows[r + half] = vector::ShuffleOp::create(b, x, y, lanes.second);
    }
  }
}

Value tile::writeTransposed(ImplicitLocOpBuilder &b, bool isInterleaved, function_ref<Value(int64_t)> read,
                            function_ref<Value(int64_t, Value, Value)> write, Value dest) {
  SmallVector<Value> rows;
  for (int64_t i = 0; i < kTransposed; ++i)
    rows.push_back(isInterleaved ? castNeighbors(b, read(i)) : read(i));
  for (int64_t from = 0; from < cast<VectorType>(rows[0].getType()).getDimSize(0); from += kTransposed) {
    SmallVector<Value> square;
    for (Value row : rows)
      square.push_back(vector::ExtractStridedSliceOp::create(b, row, ArrayRef<int64_t>{from},
                                                             ArrayRef<int64_t>{kTransposed}, ArrayRef<int64_t>{1}));
    transpose(b, square);
    for (auto [i, column] : llvm::enumerate(square))
      dest = write(from + i, isInterleaved ? asBf16(b, column) : column, dest);
  }
  return dest;
}
