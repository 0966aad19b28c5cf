//===- Attention.cpp - Attention and its heads --------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Ops/LastDim.h"
#include "dialect/Attn/Ops/Regions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rapt::attn;

namespace {
/// Columns that the heads of one token take; none unless the type is [tokens, heads, channels] or [tokens, groups,
/// heads, channels] with nothing but tokens dynamic. `overflows` tells that there are too many to count.
std::optional<int64_t> columnsOf(RankedTensorType heads, bool &overflows) {
  if (heads.getRank() != 3 && heads.getRank() != 4)
    return std::nullopt;
  int64_t columns = 1;
  for (int64_t extent : heads.getShape().drop_front()) {
    if (ShapedType::isDynamic(extent))
      return std::nullopt;
    overflows |= llvm::MulOverflow(columns, extent, columns);
  }
  return columns;
}
} // namespace

LogicalResult rapt::attn::verifyScoreAndMask(Operation *op) {
  auto attention = cast<ScoreAndMaskOpInterface>(op);
  return verifyScoreAndMask(op, attention.getScore(), attention.getMask(), attention.getExtras(),
                            [&](unsigned i) { return attention.isTable(i); });
}

LogicalResult SplitHeadsOp::verify() {
  RankedTensorType input = getInput().getType();
  if (input.getRank() != 2)
    return emitOpError() << "needs an input of rank 2, found " << input;
  int64_t columns = 0;
  for (Value head : getHeads()) {
    auto type = cast<RankedTensorType>(head.getType());
    bool overflows = false;
    std::optional<int64_t> width = columnsOf(type, overflows);
    if (!width || type.getDimSize(0) != input.getDimSize(0))
      return emitOpError()
             << "gives [tokens, heads, channels] or [tokens, groups, heads, channels], nothing but tokens "
                "dynamic, found "
             << type;
    if (overflows || llvm::AddOverflow(columns, *width, columns))
      return emitOpError() << "results take more columns than can be counted";
  }
  if (columns != input.getDimSize(1))
    return emitOpError() << "results take " << columns << " columns, but the input is " << input;
  return success();
}

LogicalResult SplitHeadsOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  // split_heads(merge_heads(x)) = x for the same heads
  auto merge = getInput().getDefiningOp<MergeHeadsOp>();
  if (!merge || getHeads().size() != 1 || getHeads()[0].getType() != merge.getInput().getType())
    return failure();
  results.push_back(merge.getInput());
  return success();
}

OpFoldResult MergeHeadsOp::fold(FoldAdaptor) {
  // merge_heads(split_heads(x)) = x where all columns are the one result's
  auto split = getInput().getDefiningOp<SplitHeadsOp>();
  if (split && split.getHeads().size() == 1 && split.getInput().getType() == getType())
    return split.getInput();
  return {};
}

LogicalResult MergeHeadsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  bool overflows = false;
  std::optional<int64_t> columns = columnsOf(input, overflows);
  if (!columns || overflows)
    return emitOptionalError(loc, "no heads to merge in ", input);
  types.push_back(RankedTensorType::get({input.getDimSize(0), *columns}, input.getElementType()));
  return success();
}

LogicalResult MergeHeadsOp::verify() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  bool overflows = false;
  std::optional<int64_t> columns = columnsOf(input, overflows);
  if (!columns || overflows || result.getRank() != 2 || input.getDimSize(0) != result.getDimSize(0) ||
      *columns != result.getDimSize(1) || input.getElementType() != result.getElementType())
    return emitOpError() << "cannot merge " << input << " into " << result;
  return success();
}

/// The position of `dim` among the results of a projected permutation.
static std::optional<unsigned> placeOf(AffineMap map, unsigned dim) {
  for (auto [position, expr] : llvm::enumerate(map.getResults()))
    if (cast<AffineDimExpr>(expr).getPosition() == dim)
      return position;
  return std::nullopt;
}

std::optional<unsigned> AttentionOp::dimOf(unsigned i, Dim dim) { return placeOf(getMap(i), dim); }

bool AttentionOp::isTable(unsigned i) { return isTableWith(getMap(4 + i), getExtras()[i]); }

bool AttentionOp::isSingle(Dim dim) {
  return (dim == B || dim == HKV || dim == G) && !dimOf(3, dim) && !(dim == B && getQBegin());
}

LogicalResult LookupOp::verify() {
  if (!isa<ScoreAndMaskOpInterface>((*this)->getParentOp()))
    return emitOpError() << "reads tables in score and mask regions, but is in '" << (*this)->getParentOp()->getName()
                         << "'";
  RankedTensorType table = getTable().getType();
  if (!isa<BlockArgument>(getTable()))
    return emitOpError("reads tables that are arguments of its region");
  if (table.getRank() < 1 || table.getRank() > 3 || table.getRank() != static_cast<int64_t>(getIndices().size()))
    return emitOpError() << "has " << getIndices().size() << " indices for " << table << "; a table has 1 to 3 dims";
  if (table.getElementType().isInteger(32) != getResult().getType().isInteger(32))
    return emitOpError() << "reads " << table.getElementType() << " as " << getResult().getType();
  return success();
}

namespace {
constexpr const char *dimNames[] = {"b", "hkv", "g", "q", "kv", "dqk", "dv"};

/// Maps hold the dims of their operand: a key has no query position, a result has every dim that is not summed over.
LogicalResult verifyMaps(AttentionOp op) {
  using Dims = SmallVector<AttentionOp::Dim>;
  struct Rule {
    StringRef name;
    Dims needed, banned;
  };
  const Rule rules[] = {
      {"query", {AttentionOp::Q, AttentionOp::DQK}, {AttentionOp::KV, AttentionOp::DV}},
      {"key", {AttentionOp::KV, AttentionOp::DQK}, {AttentionOp::Q, AttentionOp::DV}},
      {"value", {AttentionOp::KV, AttentionOp::DV}, {AttentionOp::Q, AttentionOp::DQK}},
      {"result", {AttentionOp::Q, AttentionOp::DV}, {AttentionOp::KV, AttentionOp::DQK}},
      {"extra operand's", {}, {AttentionOp::DQK, AttentionOp::DV}},
  };
  for (unsigned i = 0; i < op.getMaps().size(); ++i) {
    const Rule &rule = rules[std::min<unsigned>(i, 4)];
    for (AttentionOp::Dim dim : rule.needed)
      if (!op.dimOf(i, dim))
        return op.emitOpError() << rule.name << " map must have the dim " << dimNames[dim];
    for (AttentionOp::Dim dim : rule.banned)
      if (op.dimOf(i, dim))
        return op.emitOpError() << rule.name << " map must leave the dim " << dimNames[dim] << " out";
  }
  if (op.getQBegin() && (op.dimOf(0, AttentionOp::B) || op.dimOf(3, AttentionOp::B)))
    return op.emitOpError("has q_begin, so the maps of query and result must leave b out");
  if (op.getKvBegin() && (op.dimOf(1, AttentionOp::B) || op.dimOf(2, AttentionOp::B)))
    return op.emitOpError("has kv_begin, so the maps of key and value must leave b out");
  for (AttentionOp::Dim dim : {AttentionOp::B, AttentionOp::HKV, AttentionOp::G}) {
    bool present = op.dimOf(0, dim) || op.dimOf(1, dim) || op.dimOf(2, dim);
    bool packed = dim == AttentionOp::B && op.getQBegin();
    if (!packed && present != op.dimOf(3, dim).has_value())
      return op.emitOpError() << "result map must " << (present ? "have" : "leave out") << " the dim " << dimNames[dim]
                              << ", as query, key and value " << (present ? "have it" : "do");
  }
  return success();
}

/// The static extents of the dims, -1 where none is known: each has one, in whatever operand.
template <typename Op> class StaticExtents {
public:
  using Dim = AttentionOp::Dim;

  explicit StaticExtents(Op op) : op(op) { std::fill_n(extents, AttentionOp::NumDims, -1); }

  int64_t operator[](Dim dim) const { return extents[dim]; }

  /// Those of the operand that has map `i`.
  LogicalResult take(unsigned i, RankedTensorType type) {
    for (auto [expr, size] : llvm::zip(op.getMap(i).getResults(), type.getShape())) {
      auto dim = static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition());
      bool isPacked = (dim == AttentionOp::Q && op.getQBegin()) || (dim == AttentionOp::KV && op.getKvBegin());
      if (!ShapedType::isDynamic(size) && !isPacked && failed(agree(dim, size)))
        return failure();
    }
    return success();
  }

  /// The extent of b that offsets and lengths tell, and the dims that need the extent 1. `keys`: key and value.
  LogicalResult finish(ValueRange keys) {
    for (auto [i, operand] : llvm::enumerate(keys))
      if (std::optional<unsigned> group = op.dimOf(1 + i, AttentionOp::G))
        if (auto type = cast<RankedTensorType>(operand.getType()); type.getDimSize(*group) != 1)
          return op.emitOpError() << (i == 0 ? "key " : "value ") << type
                                  << (type.isDynamicDim(*group) ? " may have" : " has")
                                  << " more than one element of the dim g; heads with keys and values of their own are "
                                     "the dim hkv";
    const std::tuple<const char *, Value, int64_t> perRow[] = {{"q_begin", op.getQBegin(), 1},
                                                               {"q_offset", op.getQOffset(), 0},
                                                               {"kv_begin", op.getKvBegin(), 1},
                                                               {"kv_length", op.getKvLength(), 0}};
    for (auto [name, tensor, more] : perRow) {
      int64_t size = tensor ? cast<RankedTensorType>(tensor.getType()).getDimSize(0) : ShapedType::kDynamic;
      if (ShapedType::isDynamic(size))
        continue;
      if (size < more)
        return op.emitOpError() << name << " is empty, but needs one offset more than the extent of dim b";
      if (failed(agree(AttentionOp::B, size - more)))
        return failure();
    }
    for (Dim dim : {AttentionOp::B, AttentionOp::HKV, AttentionOp::G})
      if (extents[dim] != -1 && extents[dim] != 1 && op.isSingle(dim))
        return op.emitOpError() << "extent of dim " << dimNames[dim] << " is " << extents[dim]
                                << ", but the result has no dim " << dimNames[dim] << "; expected 1";
    return success();
  }

private:
  LogicalResult agree(Dim dim, int64_t size) {
    if (extents[dim] != -1 && extents[dim] != size)
      return op.emitOpError() << "extent of dim " << dimNames[dim] << " is both " << extents[dim] << " and " << size;
    extents[dim] = size;
    return success();
  }

  Op op;
  int64_t extents[AttentionOp::NumDims];
};
} // namespace

/// The vector of additive attention has an element for each of the query's channels.
template <typename Op> static LogicalResult verifyAdditive(Op op, int64_t channels) {
  if (!op.getAdditive())
    return success();
  // A target's layout may pad the heads, with zeros, and not the vector.
  int64_t size = cast<RankedTensorType>(op.getAdditive().getType()).getDimSize(0);
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(channels) || size > channels)
    return op.emitOpError() << "needs an additive vector with an element for each of the static channels dqk, found "
                            << op.getAdditive().getType() << " for " << op.getQuery().getType();
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  int64_t extents[NumDims];
  std::fill_n(extents, NumDims, ShapedType::kDynamic);
  auto mapOf = [&](unsigned i) {
    return i < adaptor.getMaps().size() ? cast<AffineMapAttr>(adaptor.getMaps()[i]).getValue() : AffineMap();
  };
  for (auto [i, operand] : llvm::enumerate(ValueRange{adaptor.getQuery(), adaptor.getKey(), adaptor.getValue()})) {
    auto type = cast<RankedTensorType>(operand.getType());
    AffineMap map = mapOf(i);
    if (!map || map.getNumDims() != NumDims || !map.isProjectedPermutation() || map.getNumResults() != type.getRank())
      return emitOptionalError(loc, "map ", i, " of attention does not fit ", type);
    for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape()))
      if (int64_t &extent = extents[cast<AffineDimExpr>(expr).getPosition()]; ShapedType::isDynamic(extent))
        extent = size;
  }
  AffineMap map = mapOf(3);
  if (!map || map.getNumDims() != NumDims || !map.isProjectedPermutation())
    return emitOptionalError(loc, "attention has no map of its result");
  SmallVector<int64_t> shape;
  for (AffineExpr expr : map.getResults())
    shape.push_back(extents[cast<AffineDimExpr>(expr).getPosition()]);
  types.push_back(RankedTensorType::get(shape, Float32Type::get(context)));
  return success();
}

LogicalResult AttentionOp::verify() {
  SmallVector<Value> operands = {getQuery(), getKey(), getValue(), getResult()};
  llvm::append_range(operands, getExtras());
  if (getMaps().size() != operands.size())
    return emitOpError() << "needs a map for query, key, value, result and each extra operand: " << operands.size()
                         << ", found " << getMaps().size();
  StaticExtents<AttentionOp> extents(*this);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    AffineMap map = getMap(i);
    auto type = cast<RankedTensorType>(operand.getType());
    if (map.getNumDims() != NumDims || map.getNumSymbols() != 0 || !map.isProjectedPermutation())
      return emitOpError() << "map " << i << " must be a projected permutation of (b, hkv, g, q, kv, dqk, dv)";
    bool isTable = i >= 4 && this->isTable(i - 4);
    if (map.getNumResults() != type.getRank() && !isTable)
      return emitOpError() << "map " << i << " has " << map.getNumResults() << " results for " << type;
    if (failed(extents.take(i, type)))
      return failure();
  }
  if (failed(verifyMaps(*this)) || failed(extents.finish({getKey(), getValue()})))
    return failure();
  if (failed(verifyAdditive(*this, extents[DQK])))
    return failure();
  return success();
}

std::optional<unsigned> AttentionWeightsOp::dimOf(unsigned i, unsigned dim) { return placeOf(getMap(i), dim); }

bool AttentionWeightsOp::isSingle(Dim dim) {
  return dim == AttentionOp::B ? !getQBegin() : dim == AttentionOp::G && !dimOf(0, G);
}

bool AttentionWeightsOp::isTable(unsigned i) { return isTableWith(getMap(4 + i), getExtras()[i]); }

/// Checks the maps and takes the static extents of all dims.
static LogicalResult verifyWeightMaps(AttentionWeightsOp op, StaticExtents<AttentionWeightsOp> &extents) {
  using A = AttentionOp;
  SmallVector<Value> operands = {op.getQuery(), op.getKey()};
  llvm::append_range(operands, op.getExtras());
  if (op.getMaps().size() != operands.size())
    return op.emitOpError() << "needs a map for query, key and each extra operand: " << operands.size() << ", found "
                            << op.getMaps().size();
  for (auto [place, operand] : llvm::enumerate(operands)) {
    unsigned i = place < 2 ? place : place + 2;
    AffineMap map = op.getMap(i);
    auto type = cast<RankedTensorType>(operand.getType());
    if (map.getNumDims() != A::NumDims || map.getNumSymbols() != 0 || !map.isProjectedPermutation())
      return op.emitOpError() << "map " << place << " must be a projected permutation of (b, hkv, g, q, kv, dqk, dv)";
    if (map.getNumResults() != type.getRank() && (i < 4 || !op.isTable(i - 4)))
      return op.emitOpError() << "map " << place << " has " << map.getNumResults() << " results for " << type;
    if (failed(extents.take(i, type)))
      return failure();
    bool banned = op.dimOf(i, A::DV) || (i == 0 && op.dimOf(i, A::KV)) || (i == 1 && op.dimOf(i, A::Q)) ||
                  (i >= 4 && op.dimOf(i, A::DQK));
    bool complete = i >= 4 || (op.dimOf(i, i == 0 ? A::Q : A::KV) && op.dimOf(i, A::DQK));
    if (banned || !complete)
      return op.emitOpError() << "map " << place << " must be that of "
                              << (i == 0   ? "a query: q and dqk, not kv and dv"
                                  : i == 1 ? "a key: kv and dqk, not q and dv"
                                           : "an extra operand: not dqk and dv");
  }
  if (op.dimOf(0, A::B) || (op.getKvBegin() && op.dimOf(1, A::B)))
    return op.emitOpError("needs packed queries, and with kv_begin packed keys, whose maps leave b out");
  return extents.finish(op.getKey());
}

LogicalResult AttentionWeightsOp::verify() {
  StaticExtents<AttentionWeightsOp> extents(*this);
  if (failed(verifyWeightMaps(*this, extents)))
    return failure();
  RankedTensorType weights = getWeights().getType();
  if (weights.getRank() != 4 || ShapedType::isDynamic(weights.getDimSize(1)) ||
      ShapedType::isDynamic(weights.getDimSize(2)) || ShapedType::isDynamic(weights.getDimSize(3)))
    return emitOpError() << "updates [tokens, layers, heads, keys], nothing but tokens dynamic, found " << weights;
  if (getHeads().empty() || int64_t(getHeads().size()) != weights.getDimSize(2))
    return emitOpError() << "names " << getHeads().size() << " heads for " << weights;
  for (int64_t head : getHeads())
    if (int64_t keyHeads = extents[AttentionOp::HKV], heads = keyHeads * std::max<int64_t>(extents[AttentionOp::G], 1);
        head < 0 || (keyHeads > 0 && head >= heads))
      return emitOpError() << "names head " << head << " of " << heads;
  if (failed(verifyAdditive(*this, extents[AttentionOp::DQK])))
    return failure();
  return success();
}

void SplitHeadsOp::relateDims(DimRelations &dims) {
  for (Value head : getHeads())
    dims.equal(head, 0, getInput(), 0);
}

void MergeHeadsOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), 0, getInput(), 0);
  AffineExpr columns = dims.extent(getInput(), 1);
  for (int64_t i = 2; i < getInput().getType().getRank(); ++i)
    columns = columns * dims.extent(getInput(), i);
  dims.equal(getResult(), 1, columns);
}

/// Each iteration dim has one extent, in whatever operand. `operands`: those that have maps, with the maps' numbers.
template <typename Op>
static void relateIterationDims(Op op, DimRelations &dims, ArrayRef<std::pair<unsigned, Value>> operands) {
  AffineExpr first[AttentionOp::NumDims];
  auto see = [&](unsigned dim, Value value, unsigned i) {
    if (first[dim])
      dims.equal(value, i, first[dim]);
    else
      first[dim] = dims.extent(value, i);
  };
  for (auto [i, operand] : operands) {
    bool hasRows = op.dimOf(i, AttentionOp::B).has_value();
    for (auto [position, expr] : llvm::enumerate(op.getMap(i).getResults())) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      // Beside its row, a query or key is counted within the row, not in the packed dim.
      bool isWithinRow =
          hasRows && ((dim == AttentionOp::Q && op.getQBegin()) || (dim == AttentionOp::KV && op.getKvBegin()));
      if (!isWithinRow)
        see(dim, operand, position);
    }
  }
  for (Value perRow : {op.getQOffset(), op.getKvLength()})
    if (perRow)
      see(AttentionOp::B, perRow, 0);
  for (Value begin : {op.getQBegin(), op.getKvBegin()}) {
    if (!begin)
      continue;
    dims.offsets(begin);
    if (AffineExpr rows = first[AttentionOp::B])
      dims.equal(begin, 0, rows + 1);
    else if (op.isSingle(AttentionOp::B))
      dims.equal(begin, 0, dims.number(2));
  }
  for (AttentionOp::Dim dim : {AttentionOp::B, AttentionOp::HKV, AttentionOp::G})
    if (first[dim] && op.isSingle(dim))
      dims.equal(dims.getSymbol(first[dim]).value, *dims.getSymbol(first[dim]).dim, dims.number(1));
  if (op.getQBegin() && op.getKvBegin())
    dims.equal(op.getQBegin(), op.getKvBegin());
}

void AttentionOp::relateDims(DimRelations &dims) {
  SmallVector<std::pair<unsigned, Value>> operands{{0, getQuery()}, {1, getKey()}, {2, getValue()}, {3, getResult()}};
  for (auto [i, extra] : llvm::enumerate(getExtras()))
    operands.push_back({4 + i, extra});
  relateIterationDims(*this, dims, operands);
}

void AttentionWeightsOp::relateDims(DimRelations &dims) {
  SmallVector<std::pair<unsigned, Value>> operands{{0, getQuery()}, {1, getKey()}};
  for (auto [i, extra] : llvm::enumerate(getExtras()))
    operands.push_back({4 + i, extra});
  relateIterationDims(*this, dims, operands);
  dims.equal(getResult(), getWeights());
  dims.equal(getWeights(), 0, getQuery(), *dimOf(0, Q));
}

/// The matmuls with keys and, where there are `values`, with these.
template <typename Op> static void addAttentionCosts(Op op, Value values, CostModel &model) {
  auto extent = [&](AttentionOp::Dim dim, unsigned map, Value operand) {
    std::optional<unsigned> i = op.dimOf(map, dim);
    return i ? model.dim(operand, *i) : Polynomial(1);
  };
  Value query = op.getQuery(), key = op.getKey();
  Polynomial heads = extent(AttentionOp::HKV, 0, query) * extent(AttentionOp::G, 0, query),
             keyHeads = extent(AttentionOp::HKV, 1, key), channels = extent(AttentionOp::DQK, 0, query),
             valueChannels = values ? extent(AttentionOp::DV, 2, values) : Polynomial(0);
  CostModel::AttendedKeys attended = model.attendedKeys(
      {op.getQBegin(), op.getQOffset(), op.getKvBegin(), op.getKvLength(), op.getMask(),
       extent(AttentionOp::B, 0, query), extent(AttentionOp::Q, 0, query), extent(AttentionOp::KV, 1, key)});
  model.compute(attended.twicePairs * heads * (channels + valueChannels), getElementTypeOrSelf(key.getType()));
  model.move(query);
  model.move(key, attended.keys * keyHeads * channels * model.elementBytes(key));
  if (values)
    model.move(values, attended.keys * keyHeads * valueChannels * model.elementBytes(values));
  for (Value extra : op.getExtras())
    model.move(extra);
  model.move(op.getResult());
}

void AttentionOp::addCosts(CostModel &model) { addAttentionCosts(*this, getValue(), model); }

void AttentionWeightsOp::addCosts(CostModel &model) { addAttentionCosts(*this, Value(), model); }

std::optional<unsigned> SplitHeadsOp::getChannelsDim(Value tensor) { return lastDim(tensor); }

int64_t SplitHeadsOp::getChannelGroup(Value tensor) {
  return tensor == getInput() ? cast<RankedTensorType>(getHeads()[0].getType()).getShape().back() : 0;
}

std::optional<unsigned> MergeHeadsOp::getChannelsDim(Value tensor) { return lastDim(tensor); }

int64_t MergeHeadsOp::getChannelGroup(Value tensor) {
  return tensor == getResult() ? getInput().getType().getShape().back() : 0;
}

std::optional<unsigned> AttentionOp::getChannelsDim(Value tensor) {
  if (tensor == getQuery() || tensor == getKey())
    return dimOf(tensor == getQuery() ? 0 : 1, DQK);
  return tensor == getValue() || tensor == getResult() ? dimOf(tensor == getValue() ? 2 : 3, DV) : std::nullopt;
}

std::optional<unsigned> AttentionWeightsOp::getChannelsDim(Value tensor) {
  return tensor == getQuery() || tensor == getKey() ? dimOf(tensor == getQuery() ? 0 : 1, DQK) : std::nullopt;
}

/// Tables and the vector of an additive similarity may be weights, which are read by element.
template <typename Op> static std::optional<WeightUse> weightUseOfAttention(Op op, OpOperand &operand) {
  unsigned first = op.getExtras().getBeginOperandIndex(), number = operand.getOperandNumber();
  bool isExtra = number >= first && number < first + op.getExtras().size();
  bool isRead = isExtra ? op.isTable(number - first) : operand.get() == op.getAdditive();
  return isRead ? std::optional<WeightUse>(std::in_place) : std::nullopt;
}

std::optional<WeightUse> AttentionOp::getWeightUse(OpOperand &operand) { return weightUseOfAttention(*this, operand); }

std::optional<WeightUse> AttentionWeightsOp::getWeightUse(OpOperand &operand) {
  return weightUseOfAttention(*this, operand);
}

/// The regions' tables take the types of the operands. Where padding made a row longer, its end is still the logical
/// one.
template <typename Op> static LogicalResult retypeTables(Op op) {
  for (Region *region : {&op.getScore(), &op.getMask()}) {
    for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
      if (region->empty() || !op.isTable(i))
        continue;
      BlockArgument table = region->getArgument((region == &op.getScore() ? 5 : 4) + i);
      int64_t last = cast<RankedTensorType>(table.getType()).getShape().back();
      if (table.getType() == extra.getType())
        continue;
      table.setType(extra.getType());
      for (Operation *user : table.getUsers()) {
        OpBuilder b(user);
        Value end = arith::ConstantIndexOp::create(b, user->getLoc(), last - 1);
        OpOperand &index = user->getOpOperand(user->getNumOperands() - 1);
        index.set(arith::MinSIOp::create(b, user->getLoc(), index.get(), end));
      }
    }
  }
  return success();
}

LogicalResult AttentionOp::keepChannels(ArrayRef<int64_t>) { return retypeTables(*this); }

LogicalResult AttentionWeightsOp::keepChannels(ArrayRef<int64_t>) { return retypeTables(*this); }

/// Whether the vector of an additive similarity has fewer elements than the heads have channels.
template <typename Op> static bool hasPaddedHeads(Op op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  return op.getAdditive() && cast<RankedTensorType>(op.getAdditive().getType()).getDimSize(0) !=
                                 query.getDimSize(*op.dimOf(0, AttentionOp::DQK));
}

bool AttentionOp::isPadded() { return hasPaddedHeads(*this); }

bool AttentionWeightsOp::isPadded() { return hasPaddedHeads(*this); }
