//===- Pairs.cpp - Two numbers of bf16 in a word -------------------------------------===//
//
// The words of roundedWords are put together with others, so it rounds as integers; elsewhere
// attn-expand-math knows what the target has.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/Pairs.h"

using namespace mlir;
using namespace rapt;

static int64_t lanesOf(Value vector) { return cast<VectorType>(vector.getType()).getDimSize(0); }

static VectorType wordsOf(ImplicitLocOpBuilder &b, int64_t lanes) { return VectorType::get({lanes}, b.getI32Type()); }

Value tile::words(ImplicitLocOpBuilder &b, int64_t lanes, uint32_t bits) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(wordsOf(b, lanes), b.getI32IntegerAttr(static_cast<int32_t>(bits))));
}

Value tile::roundedWords(ImplicitLocOpBuilder &b, Value numbers) {
  int64_t lanes = lanesOf(numbers);
  Value bits = arith::BitcastOp::create(b, wordsOf(b, lanes), numbers);
  Value odd = arith::AndIOp::create(b, arith::ShRUIOp::create(b, bits, words(b, lanes, 16)), words(b, lanes, 1));
  Value rounded = arith::AddIOp::create(b, bits, arith::AddIOp::create(b, odd, words(b, lanes, 0x7fff)));
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, numbers, numbers);
  rounded = arith::SelectOp::create(b, isNumber, rounded, arith::OrIOp::create(b, bits, words(b, lanes, 0x00400000)));
  return arith::AndIOp::create(b, rounded, words(b, lanes, 0xffff0000));
}

static Value rounded(ImplicitLocOpBuilder &b, Value numbers) {
  return arith::TruncFOp::create(b, VectorType::get({lanesOf(numbers)}, b.getBF16Type()), numbers);
}

Value tile::roundedNeighbors(ImplicitLocOpBuilder &b, Value numbers) {
  return vector::BitCastOp::create(b, wordsOf(b, lanesOf(numbers) / 2), rounded(b, numbers));
}

Value tile::roundedInTurn(ImplicitLocOpBuilder &b, Value first, Value second) {
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < lanesOf(first); ++lane)
    lanes.append({lane, lanesOf(first) + lane});
  return vector::ShuffleOp::create(b, rounded(b, first), rounded(b, second), lanes);
}

Value tile::asPairs(ImplicitLocOpBuilder &b, Value words) {
  return vector::BitCastOp::create(b, VectorType::get({2 * lanesOf(words)}, b.getBF16Type()), words);
}
