//===- Attention.cpp - Attention, whole and by tiles --------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Ops/Regions.h"
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

LogicalResult MergeHeadsOp::verify() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  bool overflows = false;
  std::optional<int64_t> columns = columnsOf(input, overflows);
  if (!columns || overflows || result.getRank() != 2 || input.getDimSize(0) != result.getDimSize(0) ||
      *columns != result.getDimSize(1))
    return emitOpError() << "cannot merge " << input << " into " << result;
  return success();
}

std::optional<unsigned> AttentionOp::dimOf(unsigned i, Dim dim) {
  for (auto [position, expr] : llvm::enumerate(getMap(i).getResults()))
    if (cast<AffineDimExpr>(expr).getPosition() == dim)
      return position;
  return std::nullopt;
}

namespace {
bool isTableWith(AffineMap map, Value operand) {
  return map.getNumResults() == 0 && cast<RankedTensorType>(operand.getType()).getRank() != 0;
}
} // namespace

bool AttentionOp::isTable(unsigned i) { return isTableWith(getMap(4 + i), getExtras()[i]); }

bool AttentionStateOp::isTable(unsigned i) { return isTableWith(getExtraMap(i), getExtras()[i]); }

LogicalResult LookupOp::verify() {
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
/// Tables have a static shape, elements that 32 bits can count, and are read by attn.lookup alone.
LogicalResult verifyTable(Operation *op, Region &region, BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  int64_t elements = 1;
  for (int64_t extent : type.getShape())
    if (extent <= 0 || llvm::MulOverflow(elements, extent, elements) || elements > INT32_MAX)
      return op->emitOpError() << "has a table " << type << ", but a table has a static shape of 1 to " << INT32_MAX
                               << " elements";
  for (Operation *user : argument.getUsers())
    if (!isa<LookupOp>(user))
      return user->emitOpError("uses a table, which only attn.lookup reads");
  return success();
}

/// Checks a score (`isScore`) or mask region: its arguments and what it yields. `isTable` tells which extras are whole.
LogicalResult verifyRegion(Operation *op, Region &region, bool isScore, ValueRange extras,
                           function_ref<bool(unsigned)> isTable) {
  if (region.empty())
    return success();
  StringRef name = isScore ? "score" : "mask";
  SmallVector<Type> expected;
  Builder builder(op->getContext());
  if (isScore)
    expected.push_back(builder.getF32Type());
  expected.append(4, builder.getIndexType());
  for (auto [i, extra] : llvm::enumerate(extras))
    expected.push_back(isTable(i) ? extra.getType() : getElementTypeOrSelf(extra.getType()));
  if (TypeRange(region.front().getArgumentTypes()) != TypeRange(expected))
    return op->emitOpError() << name << " region must take (" << (isScore ? "s: f32, " : "")
                             << "b, h, q, kv: index, and one element of each extra operand, or a table whole)";
  for (BlockArgument argument : region.front().getArguments())
    if (isa<RankedTensorType>(argument.getType()) && failed(verifyTable(op, region, argument)))
      return failure();
  return verifyElementRegion(op, region, name, isScore ? Type(builder.getF32Type()) : Type(builder.getI1Type()));
}

constexpr const char *dimNames[] = {"b", "hkv", "g", "q", "kv", "dqk", "dv"};

/// What maps may hold and must hold: a key has no query position, a result every dim that is not summed over.
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
} // namespace

LogicalResult AttentionOp::verify() {
  SmallVector<Value> operands = {getQuery(), getKey(), getValue(), getResult()};
  llvm::append_range(operands, getExtras());
  if (getMaps().size() != operands.size())
    return emitOpError() << "needs a map for query, key, value, result and each extra operand: " << operands.size()
                         << ", found " << getMaps().size();
  int64_t extents[NumDims];
  std::fill_n(extents, NumDims, -1);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    AffineMap map = getMap(i);
    auto type = cast<RankedTensorType>(operand.getType());
    if (map.getNumDims() != NumDims || map.getNumSymbols() != 0 || !map.isProjectedPermutation())
      return emitOpError() << "map " << i << " must be a projected permutation of (b, hkv, g, q, kv, dqk, dv)";
    bool isTable = i >= 4 && this->isTable(i - 4);
    if (map.getNumResults() != type.getRank() && !isTable)
      return emitOpError() << "map " << i << " has " << map.getNumResults() << " results for " << type;
    for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape())) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      bool packed = (dim == Q && getQBegin()) || (dim == KV && getKvBegin());
      if (ShapedType::isDynamic(size) || packed)
        continue;
      if (extents[dim] != -1 && extents[dim] != size)
        return emitOpError() << "extent of dim " << dimNames[dim] << " is both " << extents[dim] << " and " << size;
      extents[dim] = size;
    }
  }
  if (failed(verifyMaps(*this)))
    return failure();
  if (getAdditive()) {
    // Padding may have reached the query and not the vector.
    int64_t size = cast<RankedTensorType>(getAdditive().getType()).getDimSize(0);
    if (ShapedType::isDynamic(size) || (size != extents[DQK] && padToPanel(size) != extents[DQK]))
      return emitOpError() << "needs an additive vector with an element for each of the static channels dqk, found "
                           << getAdditive().getType() << " for " << getQuery().getType();
  }
  auto isWhole = [&](unsigned i) { return isTable(i); };
  return success(succeeded(verifyRegion(*this, getScore(), true, getExtras(), isWhole)) &&
                 succeeded(verifyRegion(*this, getMask(), false, getExtras(), isWhole)));
}

/// Maps over (q, kv) with as many results as the extra has dims, and a q for each query.
static LogicalResult verifyExtras(AttentionStateOp op, int64_t queries) {
  size_t maps = op.getExtraMaps() ? op.getExtraMaps()->size() : 0;
  if (maps != op.getExtras().size())
    return op.emitOpError() << "has " << maps << " maps for " << op.getExtras().size() << " extra operands";
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    AffineMap map = op.getExtraMap(i);
    auto type = cast<RankedTensorType>(extra.getType());
    if (map.getNumDims() != 2 || map.getNumSymbols() != 0 || !map.isProjectedPermutation() ||
        (map.getNumResults() != type.getRank() && !op.isTable(i)))
      return op.emitOpError() << "map of extra operand " << i << " must be a projected permutation of (q, kv) for "
                              << type;
    for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape()))
      if (cast<AffineDimExpr>(expr).getPosition() == 0 && size != queries)
        return op.emitOpError() << "has " << queries << " queries, but extra operand " << i << " is " << type;
  }
  return success();
}

LogicalResult AttentionStateOp::verify() {
  RankedTensorType query = getQuery().getType(), key = getKey().getType(), value = getValue().getType(),
                   acc = getAcc().getType();
  if (!query.hasStaticShape() || !key.hasStaticShape() || !value.hasStaticShape() || !acc.hasStaticShape())
    return emitOpError("works on tiles of static shape");
  if (query.getRank() != 2 || acc.getRank() != 2 || key.getRank() != 3 || value.getRank() != 3)
    return emitOpError("needs query [m, d], key [b/32, d, 32], value [dv/32, b, 32] and acc [m, dv]");
  auto isPanels = [](int64_t count, int64_t extent) { return extent % kPanel == 0 && extent / kPanel == count; };
  if (key.getDimSize(2) != kPanel || value.getDimSize(2) != kPanel || key.getDimSize(1) != query.getDimSize(1) ||
      !isPanels(key.getDimSize(0), value.getDimSize(1)) || !isPanels(value.getDimSize(0), acc.getDimSize(1)) ||
      acc.getDimSize(0) != query.getDimSize(0))
    return emitOpError() << "key " << key << ", value " << value << " and acc " << acc << " do not fit query " << query;
  for (Value row : {getMax(), getSum()})
    if (cast<RankedTensorType>(row.getType()).getShape() != ArrayRef<int64_t>{query.getDimSize(0)})
      return emitOpError() << "needs one max and one sum for each of the " << query.getDimSize(0) << " queries";
  if (failed(verifyExtras(*this, query.getDimSize(0))))
    return failure();
  if (getAdditive()) {
    auto additive = cast<RankedTensorType>(getAdditive().getType());
    if (additive.isDynamicDim(0) || additive.getDimSize(0) > query.getDimSize(1))
      return emitOpError() << "additive vector " << additive << " does not fit query " << query;
  }
  auto isWhole = [&](unsigned i) { return isTable(i); };
  return success(succeeded(verifyRegion(*this, getScore(), true, getExtras(), isWhole)) &&
                 succeeded(verifyRegion(*this, getMask(), false, getExtras(), isWhole)));
}
