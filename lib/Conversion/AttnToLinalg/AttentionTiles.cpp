//===- AttentionTiles.cpp - Tiles of queries and blocks of keys of attention -------------===//
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using Dim = AttentionOperands::Dim;

AttentionOperands::AttentionOperands(attn::AttentionOp op)
    : op(op), query(op.getQuery()), key(op.getKey()), value(op.getValue()), scale(op.getScale()),
      qBegin(op.getQBegin()), qOffset(op.getQOffset()), kvBegin(op.getKvBegin()), kvLength(op.getKvLength()),
      additive(op.getAdditive()), sink(op.getSink()), secondQuery(op.getSecondQuery()), secondKey(op.getSecondKey()),
      extras(op.getExtras()), score(&op.getScore()), mask(&op.getMask()),
      tiles(attn::scheduleOf<attn::AttentionTilesAttr>(op)) {
  for (unsigned i = 0; i < op.getMaps().size(); ++i)
    maps.push_back(op.getMap(i));
}

Value AttentionOperands::operand(unsigned i) const {
  if (i >= second())
    return i == second() ? secondQuery : secondKey;
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
  if (dim == Dim::B) { // operands of offsets tell it, too (A25)
    for (Value begin : {qBegin, kvBegin})
      if (begin)
        return affineOf(b, b.getAffineDimExpr(0) - 1, {extent(b, begin, 0)});
    for (Value ofRow : {qOffset, kvLength})
      if (ofRow)
        return extent(b, ofRow, 0);
  }
  // Keys and values have no groups (A3), and a second pair has channels of its own (A46).
  auto tells = [&](unsigned i) {
    return !(dim == Dim::G && (i == Key || i == Value_ || i == second() + 1)) && !(dim == Dim::DQK && i >= second());
  };
  for (unsigned i = 0; i < maps.size(); ++i)
    if (Value tensor = operand(i); tensor && tells(i))
      if (std::optional<unsigned> place = placeOf(i, dim))
        return extent(b, tensor, *place);
  // Nothing but the result may give a number of heads.
  if (std::optional<unsigned> place = placeOf(Result, dim)) {
    RankedTensorType type = attn::AttentionOp(op).getResult().getType();
    if (!type.isDynamicDim(*place))
      return b.getIndexAttr(type.getDimSize(*place));
  }
  return b.getIndexAttr(1);
}

/// The view of a cache that makes a tensor, or null.
static attn::KVViewOp viewOf(Value tensor) {
  return tensor ? tensor.getDefiningOp<attn::KVViewOp>() : attn::KVViewOp();
}

SmallVector<attn::KVViewOp> AttentionOperands::views() const {
  SmallVector<attn::KVViewOp> made;
  for (Value tensor : {key, value, secondKey})
    if (attn::KVViewOp view = viewOf(tensor))
      made.push_back(view);
  return made;
}

std::string neutral::notLegalBecause(const AttentionOperands &o, const CacheReader *cache) {
  if (o.value)
    if (std::optional<unsigned> place = o.placeOf(AttentionOperands::Value_, Dim::DV);
        !place || cast<RankedTensorType>(o.value.getType()).isDynamicDim(*place))
      return "the number of the value's channels is not static";
  SmallVector<attn::KVViewOp> views = o.views();
  for (attn::KVViewOp view : views)
    if (view.getLayout() && views.front().getLayout() &&
        view.getLayout()->getPositions() != views.front().getLayout()->getPositions())
      return "keys and values are in caches of different blocks";
  // A block of a cache is [positions, channels] of one sequence and head.
  for (unsigned i : {unsigned(AttentionOperands::Key), unsigned(AttentionOperands::Value_), o.second() + 1})
    if (i < o.maps.size() && viewOf(o.operand(i)) &&
        (o.placeOf(i, Dim::B) != 0 || o.placeOf(i, Dim::KV) != 1 ||
         o.placeOf(i, i == AttentionOperands::Value_ ? Dim::DV : Dim::DQK) != 3))
      return "the map of keys or values of a cache is not (b, kv, hkv, channels)";
  for (attn::KVViewOp view : views)
    if (!cache || !view.getLayout() || !cache->knows(*view.getLayout()))
      return "no layout of the cache is known";
  return "";
}

QueryTile neutral::queryTile(ImplicitLocOpBuilder &b, const AttentionOperands &o, Value row, Value keyHead, Value group,
                             Value nth) {
  QueryTile tile{.row = row, .keyHead = keyHead, .group = group};
  Value zero = index(b, 0), groups = asValue(b, o.extentOf(b, Dim::G)),
        next = arith::AddIOp::create(b, row, index(b, 1));
  tile.head = arith::AddIOp::create(b, arith::MulIOp::create(b, keyHead, groups), group); // A2
  Value queries = asValue(b, o.extentOf(b, Dim::Q)), begin = zero;
  if (o.qBegin) { // A26
    begin = readIndex(b, o.qBegin, row);
    queries = arith::SubIOp::create(b, readIndex(b, o.qBegin, next), begin);
  }
  std::optional<int64_t> count = o.qBegin ? std::nullopt : getConstantIntValue(o.extentOf(b, Dim::Q));
  // The size of a single tile is a constant from the start: a later fold would not reach the types of loops.
  const bool isOnly = count && *count <= o.tiles.getQueries();
  Value start = arith::MulIOp::create(b, nth, index(b, o.tiles.getQueries()));
  tile.inRow = isOnly ? zero : arith::MinSIOp::create(b, start, queries);
  tile.first = arith::AddIOp::create(b, begin, tile.inRow);
  Value rest = arith::SubIOp::create(b, queries, tile.inRow);
  tile.size = isOnly ? OpFoldResult(b.getIndexAttr(*count))
                     : affineMin(b, {b.getIndexAttr(o.tiles.getQueries()), OpFoldResult(rest)});
  Value offset = o.qOffset ? readIndex(b, o.qOffset, row) : zero;
  tile.position = arith::AddIOp::create(b, offset, tile.inRow); // A14

  tile.firstKey = o.kvBegin ? readIndex(b, o.kvBegin, row) : zero;
  Value keys;
  if (o.kvLength) // A27
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
    sizes.push_back(dim == Dim::Q                       ? tile.size
                    : dim == Dim::G                     ? b.getIndexAttr(tile.heads)
                    : dim == Dim::DQK || dim == Dim::DV ? o.extentOf(b, dim)
                                                        : one);
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

KeyRange neutral::keyRange(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile) {
  SmallVector<attn::KVViewOp> views = o.views();
  if (views.empty())
    return {tile.from, tile.to, o.tiles.getKeys()};
  const int64_t step = views.front().getLayout()->getPositions();
  Value block = arith::DivUIOp::create(b, tile.from, index(b, step));
  return {arith::MulIOp::create(b, block, index(b, step)), tile.to, step};
}

/// The part of `source` that has rows and columns at dims `row` and `column` and the extent 1 at all others, as a
/// matrix. Columns before rows are copied.
static Value matrixOf(ImplicitLocOpBuilder &b, Value source, OFRs offsets, OFRs sizes, unsigned row, unsigned column) {
  const unsigned first = std::min(row, column), second = std::max(row, column);
  Value part;
  if (second + 1 == sizes.size()) {
    SmallVector<int64_t> shape;
    for (unsigned dim : {first, second})
      shape.push_back(isa<Attribute>(sizes[dim]) ? *getConstantIntValue(sizes[dim]) : ShapedType::kDynamic);
    part = extract(b, source, offsets, sizes, shape);
  } else { // upstream's folds leave out the first unit dims, which may be one that stays here
    SmallVector<ReassociationIndices> joined(2);
    for (unsigned dim = 0; dim < sizes.size(); ++dim)
      joined[dim < second ? 0 : 1].push_back(dim);
    part = tensor::CollapseShapeOp::create(b, slice(b, source, offsets, sizes), joined);
  }
  if (row < column)
    return part;
  Value init = emptyOf(b, {sizes[row], sizes[column]}, cast<RankedTensorType>(source.getType()).getElementType());
  return generic(b, {part}, init, {mapOf(b, 2, {1, 0}), b.getMultiDimIdentityMap(2)}, {Loop::Parallel, Loop::Parallel},
                 [](ImplicitLocOpBuilder &, ValueRange x) { return x[0]; });
}

/// Channels of queries and keys that count: a target pads them, and leaves an additive similarity's vector as it was.
static OpFoldResult channelsOf(ImplicitLocOpBuilder &b, const AttentionOperands &o, unsigned operand, unsigned place) {
  return operand != AttentionOperands::Value_ && o.additive ? extent(b, o.additive, 0)
                                                            : extent(b, o.operand(operand), place);
}

Value neutral::keyRows(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile, unsigned i,
                       Value first, OpFoldResult size) {
  SmallVector<OpFoldResult> offsets, sizes;
  unsigned row = 0, column = 0;
  for (auto [place, expr] : llvm::enumerate(o.maps[i].getResults())) {
    const auto dim = static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition());
    OpFoldResult offset = b.getIndexAttr(0), extent = b.getIndexAttr(1); // keys and values have one group
    if (dim == Dim::B)
      offset = tile.row;
    else if (dim == Dim::HKV)
      offset = tile.keyHead;
    else if (dim == Dim::KV)
      offset = Value(arith::AddIOp::create(b, tile.firstKey, first)), extent = size, row = place;
    else if (dim == Dim::DQK || dim == Dim::DV)
      extent = channelsOf(b, o, i, place), column = place;
    offsets.push_back(offset);
    sizes.push_back(extent);
  }
  return matrixOf(b, o.operand(i), offsets, sizes, row, column);
}

/// The columns of two matrices with the same rows, those of the second behind those of the first; `second` may be null.
/// Matrices of different element types become f32.
static Value joined(ImplicitLocOpBuilder &b, Value first, Value second) {
  if (!second)
    return first;
  auto elementOf = [](Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); };
  const Type element = elementOf(first) == elementOf(second) ? elementOf(first) : Type(b.getF32Type());
  OpFoldResult rows = extent(b, first, 0), zero = b.getIndexAttr(0);
  OpFoldResult columns =
      affineOf(b, b.getAffineDimExpr(0) + b.getAffineDimExpr(1), {extent(b, first, 1), extent(b, second, 1)});
  Value dest = emptyOf(b, {rows, columns}, element);
  OpFoldResult at = zero;
  for (Value part : {first, second}) {
    SmallVector<OpFoldResult> offsets{zero, at}, sizes{rows, extent(b, part, 1)};
    Value tile = slice(b, dest, offsets, sizes);
    tile = forEach(b, {part}, tile, [&](ImplicitLocOpBuilder &b, ValueRange x) {
      return x[0].getType() == element ? x[0] : widened(b, x[0]);
    });
    dest = insert(b, tile, dest, offsets, sizes);
    at = sizes[1];
  }
  return dest;
}

/// The numbers of a KV block in the block tables that have been read.
using BlockNumbers = llvm::SmallDenseMap<Value, Value, 2>;

/// Rows of operand i, keys or values, of a KV block: of a plain tensor, or of a cache's block.
static Value blockRows(ImplicitLocOpBuilder &b, const AttentionOperands &o, const CacheReader *cache,
                       const QueryTile &tile, const KeyRange &range, unsigned i, Value first, OpFoldResult size,
                       BlockNumbers &numbers) {
  if (!o.operand(i))
    return {};
  attn::KVViewOp view = viewOf(o.operand(i));
  if (!view)
    return keyRows(b, o, tile, i, first, size);
  const auto part = o.operand(i) == view.getKeys() ? CacheReader::Keys : CacheReader::Values;
  Value &number = numbers[view.getTable()];
  if (!number) {
    Value nth = arith::DivUIOp::create(b, first, index(b, range.step));
    number = readIndex(b, view.getTable(), {tile.row, nth});
  }
  Value pool = part == CacheReader::Keys ? view.getCache() : view.getValuePool();
  ArrayRef<int64_t> head = cast<RankedTensorType>(pool.getType()).getShape().drop_front(4);
  // A key of no head of its own is that of the only one.
  Value keyHead = o.placeOf(i, Dim::HKV) ? tile.keyHead : index(b, 0);
  SmallVector<OpFoldResult> offsets{number, view.getLayer(), keyHead, b.getIndexAttr(view.getValueCache() ? 0 : part)},
      sizes(4, b.getIndexAttr(1));
  offsets.append(head.size(), b.getIndexAttr(0));
  for (int64_t extent : head)
    sizes.push_back(b.getIndexAttr(extent));
  Value stored = extract(b, pool, offsets, sizes, head);
  const int64_t channels = cast<RankedTensorType>(o.operand(i).getType()).getDimSize(3);
  Value whole = cache->read(b, *view.getLayout(), stored, part, channels);
  OpFoldResult count = i == AttentionOperands::Key && o.additive ? extent(b, o.additive, 0) : b.getIndexAttr(channels);
  return slice(b, whole, {b.getIndexAttr(0), b.getIndexAttr(0)}, {size, count});
}

KeyBlock neutral::keyBlock(ImplicitLocOpBuilder &b, const AttentionOperands &o, const CacheReader *cache,
                           const QueryTile &tile, const KeyRange &range, Value first, OpFoldResult size) {
  BlockNumbers numbers;
  auto rows = [&](unsigned i) { return blockRows(b, o, cache, tile, range, i, first, size, numbers); };
  Value keys = rows(AttentionOperands::Key);
  if (o.secondKey)
    keys = joined(b, keys, rows(o.second() + 1));
  return {keys, rows(AttentionOperands::Value_)};
}

// With b in its map an extra counts within the row, else where queries and keys are packed (A29).
Value neutral::extraOf(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile, unsigned i,
                       Value first, OpFoldResult size) {
  const bool isOfRow = o.placeOf(i, Dim::B).has_value();
  SmallVector<OpFoldResult> offsets, sizes;
  for (AffineExpr expr : o.maps[i].getResults()) {
    OpFoldResult extent = b.getIndexAttr(1);
    Value offset;
    switch (static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition())) {
    case Dim::B:
      offset = tile.row;
      break;
    case Dim::HKV:
      offset = tile.keyHead;
      break;
    case Dim::G:
      offset = tile.group, extent = b.getIndexAttr(tile.heads);
      break;
    case Dim::Q:
      offset = isOfRow ? tile.inRow : tile.first, extent = tile.size;
      break;
    case Dim::KV:
      offset = isOfRow ? first : Value(arith::AddIOp::create(b, tile.firstKey, first)), extent = size;
      break;
    default:
      llvm_unreachable("extra operands have no channels");
    }
    offsets.push_back(offset);
    sizes.push_back(extent);
  }
  return slice(b, o.operand(i), offsets, sizes);
}

/// The tile's rows of a query, [queries, channels].
static Value queryRows(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile, unsigned i) {
  SmallVector<OpFoldResult> offsets, sizes;
  placeQueries(b, o, tile, i, offsets, sizes);
  const unsigned row = *o.placeOf(i, Dim::Q), column = *o.placeOf(i, Dim::DQK);
  sizes[column] = channelsOf(b, o, i, column);
  return matrixOf(b, o.operand(i), offsets, sizes, row, column);
}

ScoreTile neutral::scoreTile(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile, Value key,
                             Value first, OpFoldResult size) {
  Value second = o.secondQuery ? queryRows(b, o, tile, o.second()) : Value();
  ScoreTile result{
      .query = joined(b, queryRows(b, o, tile, AttentionOperands::Query), second), .key = key, .scale = o.scale};
  result.b = tile.row, result.h = tile.head, result.q = tile.position, result.kv = first;
  result.additive = o.additive, result.score = o.score, result.mask = o.mask;
  for (unsigned i = 0; i < o.extras.size(); ++i) {
    const unsigned operand = AttentionOperands::FirstExtra + i;
    const bool isTable = o.isTable(i);
    result.extras.push_back(isTable ? o.extras[i] : extraOf(b, o, tile, operand, first, size));
    result.extraMaps.push_back(isTable ? AffineMap::get(2, 0, b.getContext())
                                       : mapOfPart(b, o, operand, {Dim::Q, Dim::KV}));
  }
  return result;
}

SmallVector<Value> neutral::initialSums(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile) {
  Value maximum = lowest(b, tile.size), sum = zeros(b, tile.size);
  if (!o.sink)
    return {maximum, sum};
  Value sink = widened(b, tensor::ExtractOp::create(b, o.sink, tile.head));
  auto fill = [&](Value number, Value dest) { return linalg::FillOp::create(b, number, dest).getResult(0); };
  Value first = arith::MaxNumFOp::create(b, sink, number(b, std::numeric_limits<float>::lowest()));
  return {fill(first, maximum), fill(math::ExpOp::create(b, arith::SubFOp::create(b, sink, first)), sum)};
}
