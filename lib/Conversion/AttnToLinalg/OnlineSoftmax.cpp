//===- OnlineSoftmax.cpp - Attention of a tile of queries, block after block ----------===//
//
// Scores that do not count are told apart, not made -infinity: a value behind one is never
// used, be it NaN. The maximum starts from the lowest finite number.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/OnlineSoftmax.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using Dim = AttentionOperands::Dim;
using Attention = attn::AttentionOp;

template <typename Op> static void takeOperands(Op op, AttentionOperands &o) {
  o.op = op;
  o.query = op.getQuery(), o.key = op.getKey(), o.scale = op.getScale(), o.additive = op.getAdditive();
  o.qBegin = op.getQBegin(), o.qOffset = op.getQOffset(), o.kvBegin = op.getKvBegin(), o.kvLength = op.getKvLength();
  o.extras.assign(op.getExtras().begin(), op.getExtras().end());
  o.score = &op.getScore(), o.mask = &op.getMask();
}

AttentionOperands::AttentionOperands(attn::AttentionOp op) {
  takeOperands(op, *this);
  value = op.getValue();
  for (unsigned i = 0; i < op.getMaps().size(); ++i)
    maps.push_back(op.getMap(i));
}

AttentionOperands::AttentionOperands(attn::AttentionWeightsOp op) {
  takeOperands(op, *this);
  AffineMap none = AffineMap::get(Attention::NumDims, 0, op.getContext());
  maps = {op.getMap(0), op.getMap(1), none, none};
  for (unsigned i = 0; i < extras.size(); ++i)
    maps.push_back(op.getMap(FirstExtra + i));
}

Value AttentionOperands::operand(unsigned i) const {
  return i == Query ? query : i == Key ? key : i == Value_ ? value : i == Result ? Value() : extras[i - FirstExtra];
}

bool AttentionOperands::isTable(unsigned extra) const {
  return maps[FirstExtra + extra].getNumResults() == 0 &&
         cast<RankedTensorType>(extras[extra].getType()).getRank() != 0;
}

std::optional<unsigned> AttentionOperands::placeOf(unsigned i, Dim dim) const {
  for (auto [place, expr] : llvm::enumerate(maps[i].getResults()))
    if (cast<AffineDimExpr>(expr).getPosition() == unsigned(dim))
      return place;
  return std::nullopt;
}

OpFoldResult AttentionOperands::extentOf(ImplicitLocOpBuilder &b, Dim dim) const {
  if (dim == Dim::B) { // operands of offsets tell it, too
    for (Value begin : {qBegin, kvBegin})
      if (begin)
        return affineOf(b, b.getAffineDimExpr(0) - 1, {extent(b, begin, 0)});
    for (Value ofRow : {qOffset, kvLength})
      if (ofRow)
        return extent(b, ofRow, 0);
  }
  for (unsigned i = 0; i < maps.size(); ++i)
    if (Value tensor = operand(i); tensor && !(i == Key && dim == Dim::G) && !(i == Value_ && dim == Dim::G))
      if (std::optional<unsigned> place = placeOf(i, dim))
        return extent(b, tensor, *place);
  // Nothing but the result may give a number of heads.
  if (isa<attn::AttentionOp>(op))
    if (std::optional<unsigned> place = placeOf(Result, dim)) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      if (!type.isDynamicDim(*place))
        return b.getIndexAttr(type.getDimSize(*place));
    }
  return b.getIndexAttr(1);
}

attn::KVViewOp AttentionOperands::view() const { return key.getDefiningOp<attn::KVViewOp>(); }

std::string neutral::obstacle(const AttentionOperands &o, const CacheReader *cache) {
  if (o.value)
    if (std::optional<unsigned> place = o.placeOf(AttentionOperands::Value_, Dim::DV);
        !place || cast<RankedTensorType>(o.value.getType()).isDynamicDim(*place))
      return "the number of the value's channels is not static";
  attn::KVViewOp view = o.view();
  if (view && o.value && o.value.getDefiningOp<attn::KVViewOp>() != view)
    return "keys and values are not of one cache";
  if (!view && o.value && o.value.getDefiningOp<attn::KVViewOp>())
    return "values are in a cache, and keys are not";
  if (view && (!cache || !cache->matches(view.getCache().getType(),
                                         cast<RankedTensorType>(view.getKeys().getType()).getDimSize(3))))
    return "no layout of the cache is known";
  return "";
}

QueryTile neutral::queryTile(ImplicitLocOpBuilder &b, const AttentionOperands &o, Value row, Value keyHead, Value group,
                             Value nth) {
  QueryTile tile{.row = row, .keyHead = keyHead, .group = group};
  Value zero = index(b, 0), groups = asValue(b, o.extentOf(b, Dim::G)),
        next = arith::AddIOp::create(b, row, index(b, 1));
  tile.head = arith::AddIOp::create(b, arith::MulIOp::create(b, keyHead, groups), group);
  Value queries = asValue(b, o.extentOf(b, Dim::Q)), begin = zero;
  if (o.qBegin) {
    begin = readIndex(b, o.qBegin, row);
    queries = arith::SubIOp::create(b, readIndex(b, o.qBegin, next), begin);
  }
  Value start = arith::MulIOp::create(b, nth, index(b, kQueries));
  tile.inRow = arith::MinSIOp::create(b, start, queries);
  tile.first = arith::AddIOp::create(b, begin, tile.inRow);
  Value rest = arith::SubIOp::create(b, queries, tile.inRow);
  tile.size = affineMin(b, {b.getIndexAttr(kQueries), OpFoldResult(rest)});
  Value offset = o.qOffset ? readIndex(b, o.qOffset, row) : zero;
  tile.position = arith::AddIOp::create(b, offset, tile.inRow);

  tile.firstKey = o.kvBegin ? readIndex(b, o.kvBegin, row) : zero;
  Value keys;
  if (o.kvLength)
    keys = readIndex(b, o.kvLength, row);
  else if (o.kvBegin)
    keys = arith::SubIOp::create(b, readIndex(b, o.kvBegin, next), tile.firstKey);
  else if (o.qOffset)
    keys = arith::AddIOp::create(b, offset, queries);
  else
    keys = asValue(b, o.extentOf(b, Dim::KV));
  // Keys outside of the mask's bounds count for no query of the tile.
  MaskBounds bounds = analyzeMask(*o.mask);
  tile.from = zero, tile.to = keys;
  if (bounds.lower)
    tile.from = arith::MaxSIOp::create(b, zero, arith::AddIOp::create(b, tile.position, index(b, *bounds.lower)));
  if (bounds.upper) {
    Value last = arith::AddIOp::create(b, tile.position, asValue(b, tile.size));
    Value end = arith::AddIOp::create(b, last, index(b, *bounds.upper - 1));
    tile.to = arith::MaxSIOp::create(b, zero, arith::MinSIOp::create(b, keys, end));
  }
  // A tile without queries has no keys, whatever the row's offsets are.
  Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, rest, zero);
  tile.to = arith::SelectOp::create(b, isEmpty, zero, tile.to);
  return tile;
}

void neutral::placeQueries(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile, unsigned i,
                           SmallVectorImpl<OpFoldResult> &offsets, SmallVectorImpl<OpFoldResult> &sizes) {
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  for (AffineExpr expr : o.maps[i].getResults()) {
    const auto dim = static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition());
    OpFoldResult offset = dim == Dim::B     ? tile.row
                          : dim == Dim::HKV ? tile.keyHead
                          : dim == Dim::G   ? tile.group
                          : dim == Dim::Q   ? OpFoldResult(tile.first)
                                            : zero;
    offsets.push_back(offset);
    sizes.push_back(dim == Dim::Q ? tile.size : dim == Dim::DQK || dim == Dim::DV ? o.extentOf(b, dim) : one);
  }
}

AffineMap neutral::mapOfPart(ImplicitLocOpBuilder &b, const AttentionOperands &o, unsigned i, ArrayRef<Dim> dims) {
  SmallVector<int64_t> results;
  for (AffineExpr expr : o.maps[i].getResults()) {
    const auto *it = llvm::find(dims, static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition()));
    results.push_back(it == dims.end() ? -1 : it - dims.begin());
  }
  return mapOf(b, dims.size(), results);
}

/// The part of the keys or values of plain tensors that is one block.
static Value keyPart(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile, unsigned i,
                     Value first, OpFoldResult size) {
  SmallVector<OpFoldResult> offsets, sizes;
  for (auto [place, expr] : llvm::enumerate(o.maps[i].getResults())) {
    const auto dim = static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition());
    const bool isKey = dim == Dim::KV, isChannel = dim == Dim::DQK || dim == Dim::DV;
    // Keys and values have one group.
    offsets.push_back(dim == Dim::B     ? OpFoldResult(tile.row)
                      : dim == Dim::HKV ? OpFoldResult(tile.keyHead)
                      : isKey           ? OpFoldResult(Value(arith::AddIOp::create(b, tile.firstKey, first)))
                                        : OpFoldResult(b.getIndexAttr(0)));
    sizes.push_back(isKey ? size : isChannel ? extent(b, o.operand(i), place) : OpFoldResult(b.getIndexAttr(1)));
  }
  return slice(b, o.operand(i), offsets, sizes);
}

SmallVector<Value>
neutral::overBlocks(ImplicitLocOpBuilder &b, const AttentionOperands &o, const CacheReader *cache,
                    const QueryTile &tile, ValueRange init,
                    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, const KeyBlock &, ValueRange)> body) {
  attn::KVViewOp view = o.view();
  int64_t step = kKeys, channels = 0;
  Value from = tile.from;
  if (view) {
    channels = cast<RankedTensorType>(view.getKeys().getType()).getDimSize(3);
    step = cache->blockOf(cast<RankedTensorType>(view.getCache().getType()), channels);
    Value block = arith::DivUIOp::create(b, from, index(b, step));
    from = arith::MulIOp::create(b, block, index(b, step));
  }
  return loop(b, from, tile.to, step, init, [&](ImplicitLocOpBuilder &b, Value first, ValueRange carried) {
    Value rest = arith::SubIOp::create(b, tile.to, first);
    KeyBlock block{.first = first, .size = affineMin(b, {b.getIndexAttr(step), OpFoldResult(rest)})};
    if (!view) {
      block.keys = keyPart(b, o, tile, AttentionOperands::Key, first, block.size);
      block.keyMap = mapOfPart(b, o, AttentionOperands::Key, {Dim::Q, Dim::KV, Dim::DQK});
      if (o.value) {
        block.values = keyPart(b, o, tile, AttentionOperands::Value_, first, block.size);
        block.valueMap = mapOfPart(b, o, AttentionOperands::Value_, {Dim::Q, Dim::KV, Dim::DV});
      }
      return body(b, block, carried);
    }
    Value nth = arith::DivUIOp::create(b, first, index(b, step)), id = readIndex(b, view.getTable(), {tile.row, nth});
    auto read = [&](CacheReader::Part part) {
      Value whole = cache->read(b, view.getCache(), id, view.getLayer(), tile.keyHead, part, channels);
      return slice(b, whole, {b.getIndexAttr(0), b.getIndexAttr(0)}, {block.size, b.getIndexAttr(channels)});
    };
    block.keys = read(CacheReader::Keys);
    block.keyMap = mapOf(b, 3, {1, 2});
    if (o.value) {
      block.values = read(CacheReader::Values);
      block.valueMap = mapOf(b, 3, {1, 2});
    }
    return body(b, block, carried);
  });
}

/// The arguments of a region behind the score: row, head, positions, and the elements of extra operands.
static SmallVector<Value> regionArguments(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile,
                                          Value query, Value key) {
  Value inRow = arith::AddIOp::create(b, tile.inRow, query);
  SmallVector<Value> arguments{tile.row, tile.head, arith::AddIOp::create(b, tile.position, query), key};
  for (auto [i, extra] : llvm::enumerate(o.extras)) {
    if (o.isTable(i)) {
      arguments.push_back(extra);
      continue;
    }
    const unsigned operand = AttentionOperands::FirstExtra + i;
    // With b in its map an extra counts within the row, else where queries and keys are packed.
    const bool isOfRow = o.placeOf(operand, Dim::B).has_value();
    SmallVector<Value> place;
    for (AffineExpr expr : o.maps[operand].getResults()) {
      switch (static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition())) {
      case Dim::B:
        place.push_back(tile.row);
        break;
      case Dim::HKV:
        place.push_back(tile.keyHead);
        break;
      case Dim::G:
        place.push_back(tile.group);
        break;
      case Dim::Q:
        place.push_back(isOfRow ? inRow : Value(arith::AddIOp::create(b, tile.first, query)));
        break;
      case Dim::KV:
        place.push_back(isOfRow ? key : Value(arith::AddIOp::create(b, tile.firstKey, key)));
        break;
      default:
        llvm_unreachable("extra operands have no channels");
      }
    }
    arguments.push_back(tensor::ExtractOp::create(b, extra, place));
  }
  return arguments;
}

/// A block's keys in f32, [channels, keys].
static Value turned(ImplicitLocOpBuilder &b, const AttentionOperands &o, Value keys, const KeyBlock &block) {
  SmallVector<OpFoldResult> shape{b.getIndexAttr(0), block.size};
  for (auto [place, expr] : llvm::enumerate(block.keyMap.getResults()))
    if (expr == b.getAffineDimExpr(2))
      shape[0] = extent(b, keys, place);
  AffineMap fromTurned = block.keyMap.replaceDimsAndSymbols(
      {b.getAffineConstantExpr(0), b.getAffineDimExpr(1), b.getAffineDimExpr(0)}, {}, 2, 0);
  return generic(b, {keys}, emptyOf(b, shape, b.getF32Type()), {fromTurned, b.getMultiDimIdentityMap(2)},
                 {Loop::Parallel, Loop::Parallel},
                 [](ImplicitLocOpBuilder &b, ValueRange x) { return widened(b, x[0]); });
}

Scores neutral::scoresOf(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile,
                         const KeyBlock &block) {
  SmallVector<OpFoldResult> offsets, sizes, shape{tile.size, block.size};
  placeQueries(b, o, tile, AttentionOperands::Query, offsets, sizes);
  Value queries = slice(b, o.query, offsets, sizes), room = emptyOf(b, shape, b.getF32Type());
  AffineMap queryMap = mapOfPart(b, o, AttentionOperands::Query, {Dim::Q, Dim::KV, Dim::DQK});
  SmallVector<Value> inputs{queries, block.keys};
  SmallVector<AffineMap> maps{queryMap, block.keyMap};
  if (o.additive) {
    inputs.push_back(o.additive);
    maps.push_back(mapOf(b, 3, {2}));
    // A target pads channels, and leaves the vector as it was.
    OpFoldResult channels = extent(b, o.additive, 0);
    auto cut = [&](Value &tensor, AffineMap map) {
      SmallVector<OpFoldResult> zeros(map.getNumResults(), b.getIndexAttr(0)), all = extents(b, tensor);
      for (auto [size, expr] : llvm::zip_equal(all, map.getResults()))
        if (expr == b.getAffineDimExpr(2))
          size = channels;
      tensor = slice(b, tensor, zeros, all);
    };
    if (extent(b, o.additive, 0) != o.extentOf(b, Dim::DQK))
      cut(inputs[0], queryMap), cut(inputs[1], block.keyMap);
  }
  maps.push_back(mapOf(b, 3, {0, 1}));
  // Keys by channels: the innermost loop is over keys then, which lie side by side, and sums stay in one order.
  const bool isTurned = isa<Attribute>(o.extentOf(b, Dim::DQK));
  if (isTurned) {
    inputs[1] = turned(b, o, inputs[1], block);
    for (AffineMap &map : maps)
      map = map.compose(mapOf(b, 3, {0, 2, 1}));
    maps[1] = mapOf(b, 3, {1, 2});
  }
  SmallVector<Loop> loops{Loop::Parallel, Loop::Parallel, Loop::Reduction};
  if (isTurned)
    std::swap(loops[1], loops[2]);
  Value similarities =
      generic(b, inputs, filled(b, 0, room), maps, loops, [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
        Value q = widened(b, x[0]), k = widened(b, x[1]);
        Value term = o.additive ? Value(arith::MulFOp::create(b, widened(b, x[2]),
                                                              math::TanhOp::create(b, arith::AddFOp::create(b, q, k))))
                                : Value(arith::MulFOp::create(b, q, k));
        return arith::AddFOp::create(b, x.back(), term);
      });
  Scores result;
  AffineMap both = b.getMultiDimIdentityMap(2);
  SmallVector<Value> inits{room};
  SmallVector<AffineMap> outs{both, both};
  if (!o.mask->empty()) {
    inits.push_back(emptyOf(b, shape, b.getI8Type()));
    outs.push_back(both);
  }
  SmallVector<Value> results =
      generic(b, ValueRange(similarities), inits, outs, {Loop::Parallel, Loop::Parallel},
              [&](ImplicitLocOpBuilder &b, ValueRange x) {
                Value key = arith::AddIOp::create(b, block.first, at(b, 1));
                SmallVector<Value> arguments = regionArguments(b, o, tile, at(b, 0), key);
                SmallVector<Value> made{arith::MulFOp::create(b, x[0], o.scale)};
                if (!o.score->empty()) {
                  SmallVector<Value> all{made[0]};
                  llvm::append_range(all, arguments);
                  made[0] = inlineRegion(b, *o.score, all);
                }
                if (!o.mask->empty())
                  made.push_back(arith::ExtUIOp::create(b, b.getI8Type(), inlineRegion(b, *o.mask, arguments)));
                return made;
              });
  result.scores = results[0];
  if (!o.mask->empty())
    result.kept = results[1];
  return result;
}

static Value isKept(ImplicitLocOpBuilder &b, Value kept) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, kept, arith::ConstantOp::create(b, b.getI8IntegerAttr(0)));
}

Softmax neutral::advance(ImplicitLocOpBuilder &b, const Scores &scores, Value maximum, Value sum) {
  AffineMap both = b.getMultiDimIdentityMap(2), row = mapOf(b, 2, {0});
  SmallVector<Value> inputs{scores.scores};
  if (scores.kept)
    inputs.push_back(scores.kept);
  SmallVector<AffineMap> maps(inputs.size(), both), reduced(maps), whole(maps);
  reduced.push_back(row);
  OpFoldResult queries = extent(b, maximum, 0);
  Value ofBlock =
      generic(b, inputs, lowest(b, queries), reduced, {Loop::Parallel, Loop::Reduction},
              [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                Value larger = arith::MaxNumFOp::create(b, x.back(), x[0]);
                return scores.kept ? Value(arith::SelectOp::create(b, isKept(b, x[1]), larger, x.back())) : larger;
              });
  // One op takes the maximum before out of its place, and gives the decay.
  AffineMap each = b.getMultiDimIdentityMap(1);
  SmallVector<Value> moved =
      generic(b, ValueRange(ofBlock), ValueRange{maximum, emptyOf(b, {queries}, b.getF32Type())}, {each, each, each},
              Loop::Parallel, [](ImplicitLocOpBuilder &b, ValueRange x) -> SmallVector<Value> {
                Value larger = arith::MaxNumFOp::create(b, x[1], x[0]);
                return {larger, math::ExpOp::create(b, arith::SubFOp::create(b, x[1], larger))};
              });
  Softmax result;
  result.maximum = moved[0], result.decay = moved[1];
  inputs.push_back(result.maximum);
  whole.push_back(row);
  whole.push_back(both);
  Value room = emptyOf(b, extents(b, scores.scores), b.getF32Type());
  result.probabilities =
      generic(b, inputs, room, whole, {Loop::Parallel, Loop::Parallel}, [&](ImplicitLocOpBuilder &b, ValueRange x) {
        Value p = math::ExpOp::create(b, arith::SubFOp::create(b, x[0], x[scores.kept ? 2 : 1]));
        return scores.kept ? Value(arith::SelectOp::create(b, isKept(b, x[1]), p, number(b, -1))) : p;
      });
  Value ofBlockSum = generic(b, {result.probabilities}, zeros(b, queries), {both, row},
                             {Loop::Parallel, Loop::Reduction}, [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                               Value isOut = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x[0], number(b, 0));
                               return arith::SelectOp::create(b, isOut, x[1], arith::AddFOp::create(b, x[1], x[0]));
                             });
  result.sum = forEach(b, {result.decay, ofBlockSum}, sum, [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
    return arith::AddFOp::create(b, arith::MulFOp::create(b, x[2], x[0]), x[1]);
  });
  return result;
}

Value neutral::lowest(ImplicitLocOpBuilder &b, OpFoldResult queries) {
  return filled(b, std::numeric_limits<float>::lowest(), emptyOf(b, {queries}, b.getF32Type()));
}

Value neutral::zeros(ImplicitLocOpBuilder &b, OpFoldResult queries) {
  return filled(b, 0, emptyOf(b, {queries}, b.getF32Type()));
}
