//===- KeyBounds.cpp - Bounds of integers of blocks of keys --------------------------------===//
#include "lib/Target/GPU/Attention/KeyBounds.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Target/GPU/Attention/Splits.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using Dim = AttentionOperands::Dim;

/// -1 - x, which reverses the order of integers.
static Value complement(ImplicitLocOpBuilder &b, Value x) {
  return arith::XOrIOp::create(b, x, arith::ConstantIntOp::create(b, x.getType(), -1));
}

/// Bounds of an extra operand, a block of `keys` elements along its dim kv.
static Value findKeyBounds(ImplicitLocOpBuilder &b, const AttentionOperands &o, unsigned extra, int64_t keys) {
  const unsigned operand = AttentionOperands::FirstExtra + extra, place = *o.placeOf(operand, Dim::KV);
  Value numbers = o.extras[extra];
  SmallVector<OpFoldResult> shape = extents(b, numbers);
  Value count = asValue(b, shape[place]);
  shape[place] = affineOf(b, b.getAffineDimExpr(0).ceilDiv(keys), {shape[place]});
  shape.push_back(b.getIndexAttr(2));
  const Type i64 = b.getI64Type();
  return any_gpu::forElements(b, emptyOf(b, shape, i64), [&](ImplicitLocOpBuilder &b, ArrayRef<Value> at) -> Value {
    Value first = arith::MulIOp::create(b, at[place], index(b, keys));
    Value end = arith::MinSIOp::create(b, arith::AddIOp::create(b, first, index(b, keys)), count);
    Value isHigh = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, at.back(), index(b, 0));
    Value none = arith::ConstantIntOp::create(b, i64, INT64_MAX);
    return loop(b, first, end, 1, none, [&](ImplicitLocOpBuilder &b, Value key, Value least) -> Value {
      SmallVector<Value> indices(at.drop_back());
      indices[place] = key;
      Value number = tensor::ExtractOp::create(b, numbers, indices);
      if (number.getType() != i64)
        number = arith::ExtSIOp::create(b, i64, number);
      return arith::MinSIOp::create(b, least, arith::SelectOp::create(b, isHigh, complement(b, number), number));
    });
  });
}

SmallVector<Value> any_gpu::findAllKeyBounds(ImplicitLocOpBuilder &b, const AttentionOperands &o, int64_t heads) {
  SmallVector<Value> all(o.extras.size());
  SmallVector<bool> known(4, true);
  for (unsigned i = 0; i < all.size(); ++i) {
    const unsigned operand = AttentionOperands::FirstExtra + i;
    // Rows of one tile that have numbers of their own for a key have no bounds in common.
    const bool isShared = !o.placeOf(operand, Dim::Q) && (heads == 1 || !o.placeOf(operand, Dim::G));
    known.push_back(!o.isTable(i) && getElementTypeOrSelf(o.extras[i].getType()).isInteger() &&
                    (isShared || !o.placeOf(operand, Dim::KV)));
  }
  if (o.mask->empty() || !mayTellKept(*o.mask, known))
    return all;
  for (unsigned i = 0; i < all.size(); ++i)
    if (known[4 + i] && o.placeOf(AttentionOperands::FirstExtra + i, Dim::KV))
      all[i] = findKeyBounds(b, o, i, o.tiles.getKeys());
  return all;
}

tile::Interval any_gpu::keyBoundsOf(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile,
                                    unsigned extra, int64_t keys, Value bounds, Value first, Value count) {
  const unsigned operand = AttentionOperands::FirstExtra + extra, place = *o.placeOf(operand, Dim::KV);
  Value last = arith::AddIOp::create(b, first, arith::SubIOp::create(b, count, index(b, 1)));
  Value blocks = asValue(b, extent(b, bounds, place));
  auto bound = [&](int64_t which) {
    Value least;
    for (Value key : {first, last}) {
      SmallVector<Value> indices;
      for (AffineExpr expr : o.maps[operand].getResults()) {
        const auto dim = static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition());
        Value block = arith::DivUIOp::create(b, key, index(b, keys));
        indices.push_back(dim == Dim::B     ? tile.row
                          : dim == Dim::HKV ? tile.keyHead
                          : dim == Dim::G   ? tile.group
                                            : within(b, block, blocks));
      }
      indices.push_back(index(b, which));
      Value found = tensor::ExtractOp::create(b, bounds, indices);
      least = least ? Value(arith::MinSIOp::create(b, least, found)) : found;
    }
    return arith::IndexCastOp::create(b, b.getIndexType(), which ? complement(b, least) : least).getResult();
  };
  return {bound(0), bound(1)};
}
