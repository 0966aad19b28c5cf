//===- Vnni.cpp - Vectors of bf16 that are interleaved by 2 --------------------------===//
//
// bf16Words casts by integer arithmetic, as its callers merge its lanes with others. The other
// functions emit arith.truncf, which attn-expand-math lowers as the target can.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/Vnni.h"

using namespace mlir;
using namespace rapt;

static int64_t lanesOf(Value vector) { return cast<VectorType>(vector.getType()).getDimSize(0); }

static VectorType wordsOf(ImplicitLocOpBuilder &b, int64_t lanes) { return VectorType::get({lanes}, b.getI32Type()); }

Value tile::words(ImplicitLocOpBuilder &b, int64_t lanes, uint32_t bits) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(wordsOf(b, lanes), b.getI32IntegerAttr(static_cast<int32_t>(bits))));
}

Value tile::bf16Words(ImplicitLocOpBuilder &b, Value numbers) {
  int64_t lanes = lanesOf(numbers);
  Value bits = arith::BitcastOp::create(b, wordsOf(b, lanes), numbers);
  Value odd = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits, words(b, lanes, 16)), words(b, lanes, 1));
  Value rounded = arith::AddIOp::create(b, bits, arith::AddIOp::create(b, odd, words(b, lanes, 0x7fff)));
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, numbers, numbers);
  rounded = arith::SelectOp::create(b, isNumber, rounded, arith::OrIOp::create(b, bits, words(b, lanes, 0x00400000)));
  return arith::AndIOp::create(b, rounded, words(b, lanes, 0xffff0000));
}

static Value castToBf16(ImplicitLocOpBuilder &b, Value numbers) {
  return arith::TruncFOp::create(b, VectorType::get({lanesOf(numbers)}, b.getBF16Type()), numbers);
}

Value tile::castNeighbors(ImplicitLocOpBuilder &b, Value numbers) {
  return vector::BitCastOp::create(b, wordsOf(b, lanesOf(numbers) / 2), castToBf16(b, numbers));
}

Value tile::castInterleaved(ImplicitLocOpBuilder &b, Value first, Value second) {
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < lanesOf(first); ++lane)
    lanes.append({lane, lanesOf(first) + lane});
  return vector::ShuffleOp::create(b, castToBf16(b, first), castToBf16(b, second), lanes);
}

Value tile::asBf16(ImplicitLocOpBuilder &b, Value words) {
  return vector::BitCastOp::create(b, VectorType::get({2 * lanesOf(words)}, b.getBF16Type()), words);
}
