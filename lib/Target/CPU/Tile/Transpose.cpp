//===- Transpose.cpp - Transposes keys into packed panels ----------------------------------===//
//
// Four rounds of butterfly shuffles transpose a 16 x 16 matrix. Each round swaps the
// off-diagonal quarters of all blocks of 16, 8, 4 or 2, two vectors at a time. Rounds whose
// quarters are whole registers cost nothing.
//
// With 16 registers the matrix is 8 x 8, read, transposed and written before the next one. Its
// three rounds are shuffles that AVX has as one instruction each: unpacked elements, pairs, and
// halves. (The 8 x 8 transpose of the x86vector dialect blends by inline assembly, which needs
// an assembler in the compiler.)
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/Transpose.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Tile/Vnni.h"
#include "lib/TargetInfo/TargetInfo.h"

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
static void transposeSixteen(ImplicitLocOpBuilder &b, SmallVectorImpl<Value> &rows) {
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

/// Transposes 8 vectors of 8 lanes.
static void transposeEight(ImplicitLocOpBuilder &b, SmallVectorImpl<Value> &rows) {
  constexpr int64_t lower[][8] = {{0, 8, 1, 9, 4, 12, 5, 13}, {0, 1, 8, 9, 4, 5, 12, 13}, {0, 1, 2, 3, 8, 9, 10, 11}},
                    upper[][8] = {
                        {2, 10, 3, 11, 6, 14, 7, 15}, {2, 3, 10, 11, 6, 7, 14, 15}, {4, 5, 6, 7, 12, 13, 14, 15}};
  auto shuffle = [&](Value x, Value y, ArrayRef<int64_t> lanes) -> Value {
    return vector::ShuffleOp::create(b, x, y, lanes);
  };
  SmallVector<Value> pairs(8), fours(8);
  for (int64_t r = 0; r < 8; r += 2)
    pairs[r] = shuffle(rows[r], rows[r + 1], lower[0]), pairs[r + 1] = shuffle(rows[r], rows[r + 1], upper[0]);
  for (int64_t r : {0, 1, 4, 5}) {
    const int64_t channel = r / 4 * 4 + r % 4 * 2;
    fours[channel] = shuffle(pairs[r], pairs[r + 2], lower[1]);
    fours[channel + 1] = shuffle(pairs[r], pairs[r + 2], upper[1]);
  }
  for (int64_t c = 0; c < 4; ++c)
    rows[c] = shuffle(fours[c], fours[c + 4], lower[2]), rows[c + 4] = shuffle(fours[c], fours[c + 4], upper[2]);
}

Value tile::writeTransposed(ImplicitLocOpBuilder &b, bool isInterleaved,
                            function_ref<Value(int64_t, int64_t, int64_t)> read,
                            function_ref<Value(int64_t, int64_t, ArrayRef<Value>, Value)> write, Value dest) {
  const bool isNarrow = TargetInfo::of(b.getInsertionBlock()->getParentOp()).vectorRegisters <= cpu::kFewRegisters;
  const int64_t side = isNarrow ? kTransposed / 2 : kTransposed, interleave = isInterleaved ? 2 : 1,
                count = isNarrow ? side * interleave : kPanel;
  for (int64_t channel = 0; channel < kPanel; channel += count)
    for (int64_t key = 0; key < kTransposed; key += side) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < side; ++i) {
        Value row = read(key + i, channel, count);
        rows.push_back(isInterleaved ? castNeighbors(b, row) : row);
      }
      for (int64_t from = 0; from < count / interleave; from += side) {
        SmallVector<Value> square;
        for (Value row : rows)
          square.push_back(count / interleave == side
                               ? row
                               : vector::ExtractStridedSliceOp::create(b, row, ArrayRef<int64_t>{from},
                                                                       ArrayRef<int64_t>{side}, ArrayRef<int64_t>{1}));
        if (isNarrow)
          transposeEight(b, square);
        else
          transposeSixteen(b, square);
        for (Value &column : square)
          column = isInterleaved ? asBf16(b, column) : column;
        dest = write(channel / interleave + from, key, square, dest);
      }
    }
  return dest;
}

Value tile::writeLines(ImplicitLocOpBuilder &b, ArrayRef<Value> lines, function_ref<SmallVector<Value>(int64_t)> at,
                       Value dest) {
  SmallVector<Value> places;
  for (size_t i = 0; i < lines.size(); ++i)
    llvm::append_range(places, at(i));
  return attn_cpu::WriteLinesOp::create(b, lines, dest, places).getResult();
}
