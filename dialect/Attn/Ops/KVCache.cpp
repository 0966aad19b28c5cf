//===- KVCache.cpp - Keys and values of past positions ---------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace rapt::attn;

/// The segment of `cache` that an op names; null, and an error, where it has none of that number.
static const KVSegment *segmentOf(Operation *op, KVCacheType cache, uint64_t segment) {
  if (segment < cache.getSegments().size())
    return &cache.getSegments()[segment];
  op->emitOpError() << "names segment " << int64_t(segment) << " of " << cache << ", which has "
                    << cache.getSegments().size();
  return nullptr;
}

/// Whether a layout's memory of keys, or values, of `channels` with so many parts has the type `pool`.
static bool isPool(RankedTensorType pool, CacheLayoutInterface layout, int64_t channels, int64_t parts) {
  Type element = pool.getElementType();
  if (pool.getRank() < 4 || pool.getDimSize(3) != parts || pool.getDimSize(1) <= 0 || pool.getDimSize(2) <= 0 ||
      !(element.isF32() || element.isBF16() || element.isF16() || element.isSignlessInteger(8)))
    return false;
  return pool.getShape().drop_front(4) == ArrayRef(layout.getHeadShape(element, channels));
}

/// Memory alone has a layout, its values apart, and no segments. Heads have the layout's channels, `key` and `value`,
/// with padding or without.
template <typename Op>
static LogicalResult verifyMemory(Op op, RankedTensorType memory, RankedTensorType key, RankedTensorType value) {
  std::optional<CacheLayoutInterface> layout = op.getLayout();
  if (!layout)
    return op.emitOpError() << "works on memory, " << memory << ", without saying its layout";
  if (op.getSegment())
    return op.emitOpError() << "names segment " << int64_t(op.getSegment()) << " of memory, which is of one";
  const int64_t keys = layout->getKeys(), values = layout->getValues(), parts = op.getValueCache() ? 1 : 2;
  const bool isOne = op.getValueCache() || keys == values;
  auto valuePool = cast<RankedTensorType>(op.getValuePool().getType());
  if (!isOne || !isPool(memory, *layout, keys, parts) || !isPool(valuePool, *layout, values, parts) ||
      memory.getShape().take_front(3) != valuePool.getShape().take_front(3)) {
    InFlightDiagnostic error = op.emitOpError() << "has memory " << memory;
    if (op.getValueCache())
      error << " and " << valuePool;
    return error << ", which does not lie as " << *layout << " says";
  }
  auto fits = [&](RankedTensorType type, RankedTensorType pool, int64_t channels) {
    const int64_t heads = type.getDimSize(type.getRank() - 2), own = type.getShape().back();
    return heads == pool.getDimSize(2) && (own == channels || own == layout->getPadded(channels));
  };
  if (!fits(key, memory, keys) || !fits(value, valuePool, values)) {
    InFlightDiagnostic error = op.emitOpError()
                               << "has keys " << key << " and values " << value << ", which do not fit " << memory;
    if (op.getValueCache())
      error << " and " << valuePool;
    return error << " in the layout " << *layout;
  }
  return success();
}

LogicalResult KVAppendOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getCache().getType());
  if (adaptor.getValueCache())
    types.push_back(adaptor.getValueCache().getType());
  return success();
}

/// The segment of layers that an append or a view names; null where the op works on memory.
template <typename Op>
static FailureOr<const KVSegment *> verifiedSegment(Op op, RankedTensorType key, RankedTensorType value) {
  Type type = op.getCache().getType();
  auto cache = dyn_cast<KVCacheType>(type);
  if (!cache) {
    if (failed(verifyMemory(op, cast<RankedTensorType>(type), key, value)))
      return failure();
    return static_cast<const KVSegment *>(nullptr);
  }
  if (op.getValueCache())
    return op.emitOpError() << "has memory of values beside " << cache << ", which holds them";
  if (op.getLayout())
    return op.emitOpError() << "has a layout, but " << cache << " is no memory";
  const KVSegment *segment = segmentOf(op, cache, op.getSegment());
  if (!segment)
    return failure();
  return segment;
}

LogicalResult KVAppendOp::verify() {
  auto key = cast<RankedTensorType>(getKey().getType()), value = cast<RankedTensorType>(getValue().getType());
  if (key.getRank() != 3 || value.getRank() != 3 || key.getShape().drop_back() != value.getShape().drop_back() ||
      key.getElementType() != value.getElementType())
    return emitOpError() << "needs keys and values [tokens, heads, channels] of the same tokens, heads and element "
                         << "type, found " << key << " and " << value;
  FailureOr<const KVSegment *> found = verifiedSegment(*this, key, value);
  if (failed(found) || !*found)
    return LogicalResult(found);
  const KVSegment &segment = **found;
  for (auto [type, part, name] : {std::tuple(key, segment.keys, "key "), std::tuple(value, segment.values, "value ")})
    if (type.getDimSize(1) != segment.heads || type.getDimSize(2) != part.channels)
      return emitOpError() << name << type << " does not fit " << getCache().getType();
  return success();
}

LogicalResult KVViewOp::verify() {
  auto keys = cast<RankedTensorType>(getKeys().getType()), values = cast<RankedTensorType>(getValues().getType());
  if (keys.getRank() != 4 || values.getRank() != 4)
    return emitOpError() << "gives keys and values [rows, positions, heads, channels], found " << keys << " and "
                         << values;
  FailureOr<const KVSegment *> found = verifiedSegment(*this, keys, values);
  if (failed(found))
    return failure();
  if (!*found) {
    for (auto [type, pool] : {std::pair(keys, getCache()), std::pair(values, getValuePool())})
      if (Type element = getElementTypeOrSelf(pool.getType());
          type.getElementType() != KVPart{1, element}.viewElement())
        return emitOpError() << "result " << type << " does not fit " << pool.getType();
    return success();
  }
  const KVSegment &segment = **found;
  for (auto [type, part] : {std::pair(keys, segment.keys), std::pair(values, segment.values)})
    if (type.getDimSize(2) != segment.heads || type.getDimSize(3) != part.channels ||
        type.getElementType() != part.viewElement())
      return emitOpError() << "result " << type << " does not fit " << getCache().getType();
  return success();
}

/// Reports parts that do not lie one behind another in the blocks of `cache`.
static LogicalResult verifyParts(Operation *op, RankedTensorType cache, ArrayRef<int64_t> at, TypeRange parts) {
  const int64_t bytes = cache.getDimSize(1);
  if (ShapedType::isDynamic(bytes) || at.size() != parts.size())
    return op->emitOpError() << "needs a number of bytes of a block and an offset of each part, found " << cache
                             << " and " << at.size() << " offsets of " << parts.size() << " parts";
  int64_t end = 0;
  for (auto [offset, type] : llvm::zip_equal(at, parts)) {
    auto part = cast<RankedTensorType>(type);
    if (part.getRank() < 2 || !part.isDynamicDim(0) ||
        llvm::any_of(part.getShape().drop_front(), ShapedType::isDynamic) || !part.getElementType().isIntOrFloat() ||
        part.getElementTypeBitWidth() % 8 != 0)
      return op->emitOpError() << "needs parts [blocks, ...] of static extents, found " << part;
    std::optional<int64_t> size = part.getElementTypeBitWidth() / 8;
    for (int64_t extent : part.getShape().drop_front())
      size = size ? llvm::checkedMul(*size, extent) : std::nullopt;
    if (offset % 64 != 0 || offset < end || !size || *size > bytes || offset > bytes - *size)
      return op->emitOpError() << "needs parts at multiples of 64 one behind another in a block of " << bytes
                               << " bytes, found " << part << " at " << offset;
    end = offset + *size;
  }
  return success();
}

LogicalResult CachePartsOp::verify() {
  return verifyParts(*this, cast<RankedTensorType>(getCache().getType()), getAt(), getParts().getTypes());
}

LogicalResult CacheJoinOp::verify() {
  return verifyParts(*this, cast<RankedTensorType>(getCache().getType()), getAt(), getParts().getTypes());
}

void CachePartsOp::relateDims(DimRelations &dims) {
  for (Value part : getParts())
    dims.equal(part, 0, getCache(), 0);
}

void CacheJoinOp::relateDims(DimRelations &dims) { dims.equal(getResult(), getCache()); }

void KVAppendOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), getCache());
  if (getValueCache())
    dims.equal(getValueResult(), getValueCache());
  for (unsigned dim : {0, 1})
    dims.equal(getValue(), dim, getKey(), dim);
  dims.offsets(getRowBegin(), {getPast(), getTable()});
}

void KVViewOp::relateDims(DimRelations &dims) {
  auto cache = dyn_cast<KVCacheType>(getCache().getType());
  const int64_t positions = cache ? cache.getBlock() : getLayout()->getPositions();
  for (Value result : getResults()) {
    dims.equal(result, 0, getTable(), 0);
    dims.equal(result, 1, dims.extent(getTable(), 1) * positions);
  }
  for (unsigned dim : {0, 1, 2})
    dims.equal(getValues(), dim, getKeys(), dim);
}

void KVAppendOp::addCosts(CostModel &model) {
  Polynomial keys = model.elements(getKey()), values = model.elements(getValue());
  auto cache = dyn_cast<KVCacheType>(getCache().getType());
  const KVSegment *segment = cache ? &cache.getSegments()[getSegment()] : nullptr;
  auto bytes = [&](Value pool, const KVPart *part) {
    return part ? Polynomial(part->element.getIntOrFloatBitWidth() / 8) : model.elementBytes(pool);
  };
  model.move(getCache(), keys * bytes(getCache(), segment ? &segment->keys : nullptr) +
                             values * bytes(getValuePool(), segment ? &segment->values : nullptr));
  model.move(getKey());
  model.move(getValue());
}

std::optional<unsigned> KVAppendOp::getChannelsDim(OpOperand &operand) {
  return &operand == &getKeyMutable() || &operand == &getValueMutable() ? lastDim(operand) : std::nullopt;
}

std::optional<unsigned> KVAppendOp::getResultChannelsDim(Value) { return std::nullopt; }

std::optional<unsigned> KVViewOp::getChannelsDim(OpOperand &) { return std::nullopt; }

ElementUse KVAppendOp::getElementUse(OpOperand &operand) {
  return &operand == &getKeyMutable() || &operand == &getValueMutable() ? ElementUse::computed : ElementUse::fixed;
}

ElementSource KVAppendOp::getElementSource(Value) { return ElementSource::updated; }

SmallVector<EqualTypes> KVAppendOp::getEqualTypes() { return {EqualTypes{getKey(), getValue()}}; }

ElementUse KVViewOp::getElementUse(OpOperand &) { return ElementUse::fixed; }
ElementSource KVViewOp::getElementSource(Value) { return ElementSource::given; }
