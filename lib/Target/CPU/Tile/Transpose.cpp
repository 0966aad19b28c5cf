//===- Transpose.cpp - Keys from rows into panels ------------------------------------------===//
//
// A square of 16 x 16 is transposed in four rounds of a butterfly: each swaps the quarters off
// the diagonal of blocks of 16, 8, 4 and 2, two vectors at a time. Rounds whose blocks are
// whole registers cost nothing.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/Transpose.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Pairs.h"

using namespace mlir;
using namespace rapt;
using attn_cpu::kPanel;
using tile::kTurned;

tile::Exchange tile::exchange(int64_t half) {
  Exchange result;
  for (int64_t lane = 0; lane < kTurned; ++lane) {
    bool low = (lane & half) == 0;
    result.first.push_back(low ? lane : kTurned + lane - half);
    result.second.push_back(low ? lane + half : kTurned + lane);
  }
  return result;
}

/// Element [c] of vector r becomes element [r] of vector c.
static void turn(ImplicitLocOpBuilder &b, SmallVectorImpl<Value> &rows) {
  for (int64_t half = kTurned / 2; half > 0; half /= 2) {
    tile::Exchange lanes = tile::exchange(half);
    for (int64_t r = 0; r < kTurned; ++r) {
      if (r & half)
        continue;
      Value x = rows[r], y = rows[r + half];
      rows[r] = vector::ShuffleOp::create(b, x, y, lanes.first);
      rows[r + half] = vector::ShuffleOp::create(b, x, y, lanes.second);
    }
  }
}

Value tile::writeTurned(ImplicitLocOpBuilder &b, bool inPairs, function_ref<Value(int64_t)> read,
                        function_ref<Value(int64_t, Value, Value)> write, Value dest) {
  SmallVector<Value> rows;
  for (int64_t i = 0; i < kTurned; ++i)
    rows.push_back(inPairs ? roundedNeighbors(b, read(i)) : read(i));
  for (int64_t from = 0; from < cast<VectorType>(rows[0].getType()).getDimSize(0); from += kTurned) {
    SmallVector<Value> square;
    for (Value row : rows)
      square.push_back(vector::ExtractStridedSliceOp::create(b, row, ArrayRef<int64_t>{from},
                                                             ArrayRef<int64_t>{kTurned}, ArrayRef<int64_t>{1}));
    turn(b, square);
    for (auto [i, column] : llvm::enumerate(square))
      dest = write(from + i, inPairs ? asPairs(b, column) : column, dest);
  }
  return dest;
}
