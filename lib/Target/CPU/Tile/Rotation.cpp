//===- Rotation.cpp - Rotary embedding of heads in a tile -------------------------------===//
#include "lib/Target/CPU/Tile/Rotation.h"
#include "dialect/AttnCPU/Panels.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;

void tile::forChunks(int64_t count, int64_t width, function_ref<void(int64_t first, int64_t size)> body) {
  for (int64_t first = 0; first < count; first += width)
    body(first, std::min(width, count - first));
}

/// Most chunks that are unrolled, each with constants of its own; the heads of models have fewer.
static constexpr int64_t kUnrolledChunks = 32;

Value tile::overChunks(ImplicitLocOpBuilder &b, int64_t count, int64_t width, Value init,
                       function_ref<Value(ImplicitLocOpBuilder &, OpFoldResult, int64_t, Value)> body) {
  const int64_t looped = count > kUnrolledChunks * width ? count - count % width : 0;
  if (looped > 0)
    init = loop(b, index(b, 0), index(b, looped), width, init,
                [&](ImplicitLocOpBuilder &b, Value first, Value carried) { return body(b, first, width, carried); });
  forChunks(count - looped, width,
            [&](int64_t first, int64_t size) { init = body(b, b.getIndexAttr(looped + first), size, init); });
  return init;
}

Value tile::readChunk(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices, int64_t size) {
  Value padding = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  auto type = VectorType::get({size}, b.getF32Type());
  return vector::TransferReadOp::create(b, type, tensor, indices, padding, ArrayRef<bool>{true});
}

Value tile::writeChunk(ImplicitLocOpBuilder &b, Value chunk, Value tensor, ValueRange indices) {
  return vector::TransferWriteOp::create(b, chunk, tensor, indices, ArrayRef<bool>{true}).getResult();
}

namespace {

/// Two chunks of cosines and sines as pairs side by side take them: (c, c) and (-s, s).
void interleave(ImplicitLocOpBuilder &b, int64_t size, Value &c, Value &s) {
  SmallVector<int64_t> twice, signs;
  for (int64_t i = 0; i < size; ++i) {
    twice.append({i, i});
    signs.append({size + i, i});
  }
  c = vector::ShuffleOp::create(b, c, c, twice);
  s = vector::ShuffleOp::create(b, s, arith::NegFOp::create(b, s), signs);
}

/// (c, c) x + (-s, s) x with its pairs swapped.
Value rotateInterleaved(ImplicitLocOpBuilder &b, int64_t size, Value x, Value c, Value s) {
  SmallVector<int64_t> swapped;
  for (int64_t i = 0; i < size; ++i)
    swapped.append({2 * i + 1, 2 * i});
  Value rotated = arith::MulFOp::create(b, vector::ShuffleOp::create(b, x, x, swapped), s);
  return math::FmaOp::create(b, x, c, rotated);
}

} // namespace

Value tile::rotateHeads(ImplicitLocOpBuilder &b, attn::RopeOp op, Value token, Value heads, Value source,
                        HeadPlace from, Value out, HeadPlace to) {
  const int64_t pairs = cast<RankedTensorType>(op.getCosines().getType()).getDimSize(1);
  const int64_t width = op.getInterleaved() ? attn_cpu::kPanel / 2 : attn_cpu::kPanel;
  return overChunks(b, pairs, width, out, [&](ImplicitLocOpBuilder &b, OpFoldResult first, int64_t size, Value result) {
    AffineExpr d0 = b.getAffineDimExpr(0);
    Value c = readChunk(b, op.getCosines(), {token, asValue(b, first)}, size);
    Value s = readChunk(b, op.getSines(), {token, asValue(b, first)}, size);
    if (op.getInterleaved())
      interleave(b, size, c, s);
    return loop(b, index(b, 0), heads, 1, result, [&](ImplicitLocOpBuilder &b, Value head, Value carried) -> Value {
      auto read = [&](OpFoldResult at, int64_t size) {
        return source ? readChunk(b, source, from(head, at), size) : readChunk(b, carried, to(head, at), size);
      };
      if (op.getInterleaved()) {
        OpFoldResult at = affineOf(b, d0 * 2, {first});
        return writeChunk(b, rotateInterleaved(b, size, read(at, 2 * size), c, s), carried, to(head, at));
      }
      OpFoldResult second = affineOf(b, d0 + pairs, {first});
      Value x = read(first, size), y = read(second, size);
      Value minus = arith::NegFOp::create(b, arith::MulFOp::create(b, y, s));
      Value rotated = math::FmaOp::create(b, y, c, arith::MulFOp::create(b, x, s));
      carried = writeChunk(b, math::FmaOp::create(b, x, c, minus), carried, to(head, first));
      return writeChunk(b, rotated, carried, to(head, second));
    });
  });
}
