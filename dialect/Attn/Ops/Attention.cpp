//===- Attention.cpp - Attention and its heads --------------------------------===//
#include "dialect/Attn/AttnOps.h"
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
    return emitOpError() << "A30: reads tables in score and mask regions, but is in '"
                         << (*this)->getParentOp()->getName() << "'";
  RankedTensorType table = getTable().getType();
  if (!isa<BlockArgument>(getTable()))
    return emitOpError("A30: reads tables that are arguments of its region");
  if (table.getRank() < 1 || table.getRank() > 3 || table.getRank() != static_cast<int64_t>(getIndices().size()))
    return emitOpError() << "A30: has " << getIndices().size() << " indices for " << table
                         << "; a table has 1 to 3 dims";
  const Type element = table.getElementType();
  if (getResult().getType() != (isa<FloatType>(element) ? Type(Float32Type::get(getContext())) : element))
    return emitOpError() << "A40: reads " << table.getElementType() << " as " << getResult().getType();
  return success();
}

namespace {
constexpr const char *dimNames[] = {"b", "hkv", "g", "q", "kv", "dqk", "dv"};

/// Maps hold the dims of their operand (A1): a key has no query position, a result every dim that is not summed over.
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
      {"second query", {AttentionOp::Q, AttentionOp::DQK}, {AttentionOp::KV, AttentionOp::DV}},
      {"second key", {AttentionOp::KV, AttentionOp::DQK}, {AttentionOp::Q, AttentionOp::DV}},
  };
  const unsigned second = op.getSecondMap();
  for (unsigned i = 0; i < op.getMaps().size(); ++i) {
    const Rule &rule = rules[i >= second ? 5 + i - second : std::min<unsigned>(i, 4)];
    for (AttentionOp::Dim dim : rule.needed)
      if (!op.dimOf(i, dim))
        return op.emitOpError() << "A1: " << rule.name << " map must have the dim " << dimNames[dim];
    for (AttentionOp::Dim dim : rule.banned)
      if (op.dimOf(i, dim))
        return op.emitOpError() << "A1: " << rule.name << " map must leave the dim " << dimNames[dim] << " out";
  }
  const bool isPair = bool(op.getSecondQuery());
  auto anyHas = [&](AttentionOp::Dim dim, std::initializer_list<unsigned> maps) {
    return llvm::any_of(maps, [&](unsigned i) { return op.dimOf(i, dim).has_value(); });
  };
  if (op.getQBegin() && (anyHas(AttentionOp::B, {0, 3}) || (isPair && anyHas(AttentionOp::B, {second}))))
    return op.emitOpError("A26: has q_begin, so the maps of query and result must leave b out");
  if (op.getKvBegin() && (anyHas(AttentionOp::B, {1, 2}) || (isPair && anyHas(AttentionOp::B, {second + 1}))))
    return op.emitOpError("A27: has kv_begin, so the maps of key and value must leave b out");
  for (AttentionOp::Dim dim : {AttentionOp::B, AttentionOp::HKV, AttentionOp::G}) {
    bool present = anyHas(dim, {0, 1, 2}) || (isPair && anyHas(dim, {second, second + 1}));
    bool packed = dim == AttentionOp::B && op.getQBegin();
    if (!packed && present != op.dimOf(3, dim).has_value())
      return op.emitOpError() << "A4: result map must " << (present ? "have" : "leave out") << " the dim "
                              << dimNames[dim] << ", as query, key and value " << (present ? "have it" : "do");
  }
  return success();
}

/// The static extents of the dims, -1 where none is known: each has one, in whatever operand.
class StaticExtents {
public:
  using Dim = AttentionOp::Dim;

  explicit StaticExtents(AttentionOp op) : op(op) { std::fill_n(extents, kSecondChannels + 1, -1); }

  int64_t operator[](Dim dim) const { return extents[dim]; }
  int64_t secondChannels() const { return extents[kSecondChannels]; }

  /// Those of the operand that has map `i`.
  LogicalResult take(unsigned i, RankedTensorType type) {
    static constexpr const char *names[] = {"the query", "the key", "the value", "the result"};
    const std::string name = i >= op.getSecondMap() ? (i == op.getSecondMap() ? "the second query" : "the second key")
                             : i < 4                ? names[i]
                                                    : "extra operand " + std::to_string(i - 4);
    for (auto [expr, size] : llvm::zip(op.getMap(i).getResults(), type.getShape())) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      if (ShapedType::isDynamic(size))
        continue;
      if (failed(isCounted(dim, size)))
        return failure();
      bool isPacked = (dim == AttentionOp::Q && op.getQBegin()) || (dim == AttentionOp::KV && op.getKvBegin());
      if (dim == AttentionOp::DQK && i >= op.getSecondMap())
        dim = kSecondChannels; // A46
      if (!isPacked && failed(agree(dim, size, "in " + name)))
        return failure();
    }
    return success();
  }

  /// The extent of b that offsets and lengths tell (A25), and the dims of extent 1 (A3, A4).
  LogicalResult finish() {
    const std::tuple<const char *, Value, unsigned> keys[] = {
        {"key ", op.getKey(), 1},
        {"value ", op.getValue(), 2},
        {"second key ", op.getSecondKey(), op.getSecondMap() + 1}};
    for (auto [name, operand, map] : keys)
      if (std::optional<unsigned> group = operand ? op.dimOf(map, AttentionOp::G) : std::nullopt)
        if (auto type = cast<RankedTensorType>(operand.getType()); type.getDimSize(*group) != 1)
          return op.emitOpError() << "A3: " << name << type << (type.isDynamicDim(*group) ? " may have" : " has")
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
        return op.emitOpError() << "A25: " << name << " is empty, but needs one offset more than the extent of dim b";
      if (failed(agree(AttentionOp::B, size - more, (more ? "by the offsets " : "by ") + std::string(name))))
        return failure();
    }
    for (Dim dim : {AttentionOp::B, AttentionOp::HKV, AttentionOp::G})
      if (extents[dim] != -1 && extents[dim] != 1 && op.isSingle(dim))
        return op.emitOpError() << "A4: extent of dim " << dimNames[dim] << " is " << extents[dim]
                                << ", but the result has no dim " << dimNames[dim] << "; expected 1";
    int64_t heads = std::max<int64_t>(extents[AttentionOp::HKV], 1);
    if (llvm::MulOverflow(heads, std::max<int64_t>(extents[AttentionOp::G], 1), heads) || heads > INT32_MAX)
      return op.emitOpError() << "A15: has " << extents[AttentionOp::HKV] << " times " << extents[AttentionOp::G]
                              << " query heads, but heads are below 2^31";
    return success();
  }

private:
  static constexpr unsigned kSecondChannels = AttentionOp::NumDims;

  static StringRef nameOf(unsigned dim) { return dim == kSecondChannels ? "dqk of the second pair" : dimNames[dim]; }

  /// Whether 32 bits count what the dim counts (A15).
  LogicalResult isCounted(unsigned dim, int64_t size) {
    const bool isPosition = dim == AttentionOp::Q || dim == AttentionOp::KV;
    if (dim == AttentionOp::DQK || dim == AttentionOp::DV || dim == kSecondChannels ||
        size <= INT32_MAX - (isPosition ? 63 : 0))
      return success();
    return op.emitOpError() << "A15: dim " << nameOf(dim) << " has " << size << " elements, but "
                            << (isPosition ? "positions are 0 to 2^31 - 65" : "sequences and heads are below 2^31");
  }

  /// `where` tells what has the extent: "in the key".
  LogicalResult agree(unsigned dim, int64_t size, std::string where) {
    if (extents[dim] == -1) {
      extents[dim] = size;
      sources[dim] = std::move(where);
      return success();
    }
    if (extents[dim] == size)
      return success();
    const auto [most, least] = std::pair(std::max(size, extents[dim]), std::min(size, extents[dim]));
    const bool areHeads = dim == AttentionOp::HKV && (sources[dim] == "in the query") && least > 0;
    InFlightDiagnostic error = op.emitOpError();
    error << (areHeads                 ? "A2"
              : dim == AttentionOp::B  ? "A25"
              : dim == kSecondChannels ? "A46"
                                       : "A1")
          << ": dim " << nameOf(dim) << " has " << extents[dim] << (extents[dim] == 1 ? " element " : " elements ")
          << sources[dim] << " and " << size << " " << where;
    if (areHeads && most % least == 0)
      error << "; query heads are hkv g, so give the query a dim hkv of " << least << " and a dim g of " << most / least
            << ", by attn.split_heads";
    else if (areHeads)
      error << "; query heads are hkv g, and " << most << " is no multiple of " << least;
    else
      error << "; give all operands one extent";
    return error;
  }

  AttentionOp op;
  int64_t extents[kSecondChannels + 1];
  std::string sources[kSecondChannels + 1]; ///< what told the extent
};
} // namespace

/// The vector of additive attention has an element for each of the query's channels (A6).
static LogicalResult verifyAdditive(AttentionOp op, int64_t channels) {
  if (!op.getAdditive())
    return success();
  // A target's layout may pad the heads, with zeros, and not the vector.
  int64_t size = cast<RankedTensorType>(op.getAdditive().getType()).getDimSize(0);
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(channels) || size > channels)
    return op.emitOpError()
           << "A6: needs an additive vector with an element for each of the static channels dqk, found "
           << op.getAdditive().getType() << " for " << op.getQuery().getType();
  return success();
}

/// A second pair is whole, and of dot products (A45).
static LogicalResult verifySecondPair(AttentionOp op, int64_t channels) {
  if (!op.getSecondQuery())
    return success();
  if (op.getAdditive())
    return op.emitOpError("A45: has an additive vector and a second pair, whose similarity is the dot product");
  if (channels == 0)
    return op.emitOpError() << "A46: needs a second pair of 1 channel or more, found " << op.getSecondQuery().getType()
                            << " and " << op.getSecondKey().getType();
  return success();
}

/// Sinks have an element for each query head (A41).
static LogicalResult verifySink(AttentionOp op, const StaticExtents &extents) {
  if (!op.getSink())
    return success();
  const int64_t size = cast<RankedTensorType>(op.getSink().getType()).getDimSize(0);
  int64_t heads = 1;
  for (AttentionOp::Dim dim : {AttentionOp::HKV, AttentionOp::G}) {
    const int64_t extent = op.isSingle(dim) ? 1 : extents[dim];
    if (extent < 0 || ShapedType::isDynamic(size))
      return success();
    heads *= extent; // below 2^31
  }
  if (size != heads)
    return op.emitOpError() << "A41: needs a sink for each of its " << heads << " query heads, found "
                            << op.getSink().getType();
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  int64_t extents[NumDims];
  std::fill_n(extents, NumDims, ShapedType::kDynamic);
  auto mapOf = [&](unsigned i) {
    return i < adaptor.getMaps().size() ? cast<AffineMapAttr>(adaptor.getMaps()[i]).getValue() : AffineMap();
  };
  const unsigned second = 4 + adaptor.getExtras().size();
  const std::pair<unsigned, Value> operands[] = {{0, adaptor.getQuery()},
                                                 {1, adaptor.getKey()},
                                                 {2, adaptor.getValue()},
                                                 {second, adaptor.getSecondQuery()},
                                                 {second + 1, adaptor.getSecondKey()}};
  for (auto [i, operand] : operands) {
    if (!operand)
      continue;
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
  if (AffineMapAttr lseMap = adaptor.getLseMapAttr()) {
    types.push_back(getLseType(types.front(), adaptor.getMaps(), lseMap));
    if (!types.back())
      return emitOptionalError(loc, "A12: log-sum-exp must have the result's dims but dv");
  }
  if (adaptor.getWeights())
    types.push_back(adaptor.getWeights().getType());
  return success();
}

static AffineMapAttr resultMapOf(ArrayAttr maps) {
  auto map = maps && maps.size() > 3 ? dyn_cast<AffineMapAttr>(maps[3]) : AffineMapAttr();
  return map && map.getValue().getNumDims() == AttentionOp::NumDims && map.getValue().isProjectedPermutation()
             ? map
             : AffineMapAttr();
}

AffineMapAttr AttentionOp::getDefaultLseMap(ArrayAttr maps) {
  AffineMapAttr of = resultMapOf(maps);
  if (!of)
    return {};
  auto isChannels = [&](AffineExpr expr) { return cast<AffineDimExpr>(expr).getPosition() == DV; };
  SmallVector<AffineExpr> dims(of.getValue().getResults());
  llvm::erase_if(dims, isChannels);
  return AffineMapAttr::get(AffineMap::get(NumDims, 0, dims, of.getContext()));
}

/// The dim of the result for each dim of log-sum-exp; none where the maps do not fit.
static std::optional<SmallVector<int64_t>> lseDimsOf(ArrayAttr maps, AffineMapAttr lseMap) {
  AffineMapAttr of = resultMapOf(maps), all = AttentionOp::getDefaultLseMap(maps);
  if (!of || !lseMap || lseMap.getValue().getNumDims() != AttentionOp::NumDims ||
      !lseMap.getValue().isProjectedPermutation() ||
      lseMap.getValue().getNumResults() != all.getValue().getNumResults())
    return std::nullopt;
  SmallVector<int64_t> dims;
  for (AffineExpr expr : lseMap.getValue().getResults()) {
    std::optional<unsigned> place = of.getValue().getResultPosition(expr);
    if (!place || !all.getValue().getResultPosition(expr))
      return std::nullopt;
    dims.push_back(*place);
  }
  return dims;
}

RankedTensorType AttentionOp::getLseType(Type result, ArrayAttr maps, AffineMapAttr lseMap) {
  auto type = dyn_cast<RankedTensorType>(result);
  std::optional<SmallVector<int64_t>> dims = lseDimsOf(maps, lseMap);
  if (!type || !dims || resultMapOf(maps).getValue().getNumResults() != type.getRank())
    return {};
  return RankedTensorType::get(llvm::map_to_vector(*dims, [&](int64_t dim) { return type.getDimSize(dim); }),
                               Float32Type::get(type.getContext()));
}

SmallVector<int64_t> AttentionOp::getLseDims() { return *lseDimsOf(getMaps(), getLseMapAttr()); }

std::optional<unsigned> AttentionOp::dimOfLse(Dim dim) {
  return getLseMap()->getResultPosition(getAffineDimExpr(dim, getContext()));
}

/// Whether each sequence has all keys of the dim kv (A27).
static bool hasAllKeys(AttentionOp op) { return !op.getKvLength() && !op.getKvBegin() && !op.getQOffset(); }

/// Checks the results beside the first (A12, A33), of which the op says whether it has them.
static LogicalResult verifyOutputs(AttentionOp op, const StaticExtents &extents) {
  if (op->getNumResults() > 1 && extents[AttentionOp::DV] == 0)
    return op.emitOpError("A12: has values without channels: it gives no log-sum-exp and no weights");
  if (bool(op.getLse()) != op.getLseMap().has_value())
    return op.emitOpError() << (op.getLse() ? "A12: gives a log-sum-exp without 'log_sum_exp'"
                                            : "A12: has 'log_sum_exp', but no result for it");
  if (op.getLse())
    if (RankedTensorType expected = AttentionOp::getLseType(op.getResult().getType(), op.getMaps(), op.getLseMapAttr());
        op.getLse().getType() != expected)
      return op.emitOpError() << "A12: gives the log-sum-exp " << op.getLse().getType() << ", expected " << expected
                              << ": the result's dims without dv";
  const bool has = bool(op.getWeights());
  if (bool(op.getLayer()) != has || op.getHeads().has_value() != has || bool(op.getNewWeights()) != has)
    return op.emitOpError(
        "A33: needs weights, their layer and their heads, and gives the weights: all of them, or none");
  if (!has)
    return success();
  if (op.getNewWeights().getType() != op.getWeights().getType())
    return op.emitOpError() << "A33: gives the weights " << op.getNewWeights().getType() << " for "
                            << op.getWeights().getType();
  if (op.dimOf(0, AttentionOp::B) || op.dimOf(3, AttentionOp::B))
    return op.emitOpError("A33: has weights, so queries are packed: the maps of query and result must leave b out");
  RankedTensorType weights = op.getWeights().getType();
  if (weights.getRank() != 4 || ShapedType::isDynamic(weights.getDimSize(1)) ||
      ShapedType::isDynamic(weights.getDimSize(2)) || ShapedType::isDynamic(weights.getDimSize(3)))
    return op.emitOpError() << "A33: updates weights [tokens, layers, heads, keys], nothing but tokens dynamic, found "
                            << weights;
  ArrayRef<int64_t> heads = *op.getHeads();
  if (heads.empty() || int64_t(heads.size()) != weights.getDimSize(2))
    return op.emitOpError() << "A33: names " << heads.size() << " heads for the weights " << weights;
  const int64_t queries = op.getQuery().getType().getDimSize(*op.dimOf(0, AttentionOp::Q));
  if (!ShapedType::isDynamic(queries) && !weights.isDynamicDim(0) && queries != weights.getDimSize(0))
    return op.emitOpError() << "A33: updates weights of " << weights.getDimSize(0) << " tokens, but has " << queries
                            << " queries";
  if (const int64_t keys = extents[AttentionOp::KV]; keys > weights.getDimSize(3) && hasAllKeys(op))
    return op.emitOpError() << "A34: has " << keys << " keys, but the weights " << weights << " end at "
                            << weights.getDimSize(3) << "; make their last dim as large";
  // Heads are known while the program is compiled: no task checks one.
  int64_t all = 1;
  for (AttentionOp::Dim dim : {AttentionOp::HKV, AttentionOp::G}) {
    if (op.dimOf(3, dim) && extents[dim] < 0)
      return op.emitOpError() << "A33: updates weights of heads, but the extent of dim " << dimNames[dim]
                              << " is dynamic; expected a number";
    all *= op.dimOf(3, dim) ? extents[dim] : 1;
  }
  for (int64_t head : heads)
    if (head < 0 || head >= all)
      return op.emitOpError() << "A33: names head " << head << " of " << all << "; heads count from 0";
  return success();
}

Value AttentionOp::getMapped(unsigned i) {
  if (i >= getSecondMap())
    return i == getSecondMap() ? getSecondQuery() : getSecondKey();
  const Value first[] = {getQuery(), getKey(), getValue(), getResult()};
  return i < 4 ? first[i] : getExtras()[i - 4];
}

/// The operands and the result that have maps, in the order of these.
static SmallVector<Value> mappedOperands(AttentionOp op) {
  SmallVector<Value> operands{op.getQuery(), op.getKey(), op.getValue(), op.getResult()};
  llvm::append_range(operands, op.getExtras());
  if (op.getSecondQuery())
    operands.append({op.getSecondQuery(), op.getSecondKey()});
  return operands;
}

LogicalResult AttentionOp::verify() {
  if (bool(getSecondQuery()) != bool(getSecondKey()))
    return emitOpError("A45: needs a second query and a second key, or neither of them");
  SmallVector<Value> operands = mappedOperands(*this);
  if (getMaps().size() != operands.size())
    return emitOpError() << "A1: needs a map for query, key, value, result"
                         << (getSecondQuery() ? ", each extra operand and the second pair: "
                                              : " and each extra operand: ")
                         << operands.size() << ", found " << getMaps().size();
  StaticExtents extents(*this);
  for (auto [i, operand] : llvm::enumerate(operands)) {
    AffineMap map = getMap(i);
    auto type = cast<RankedTensorType>(operand.getType());
    if (map.getNumDims() != NumDims || map.getNumSymbols() != 0 || !map.isProjectedPermutation())
      return emitOpError() << "A1: map " << i << " must be a projected permutation of (b, hkv, g, q, kv, dqk, dv)";
    bool isTable = i >= 4 && i < getSecondMap() && this->isTable(i - 4);
    if (map.getNumResults() != type.getRank() && !isTable)
      return emitOpError() << "A1: map " << i << " has " << map.getNumResults() << " results for " << type;
    if (failed(extents.take(i, type)))
      return failure();
  }
  if (failed(verifyMaps(*this)) || failed(extents.finish()))
    return failure();
  if (extents[DQK] == 0)
    return emitOpError() << "A6: needs queries and keys of 1 channel or more, found " << getQuery().getType() << " and "
                         << getKey().getType();
  if (failed(verifyAdditive(*this, extents[DQK])) || failed(verifySecondPair(*this, extents.secondChannels())) ||
      failed(verifySink(*this, extents)))
    return failure();
  return verifyOutputs(*this, extents);
}

LogicalResult AttentionOp::canonicalize(AttentionOp op, PatternRewriter &rewriter) {
  const bool keepsLse = op.getLse() && !op.getLse().use_empty(),
             keepsWeights = op.getNewWeights() && !op.getNewWeights().use_empty();
  if (keepsLse == op.getLseMap().has_value() && keepsWeights == bool(op.getWeights()))
    return failure();
  op.replaceOutputs(rewriter, keepsLse ? op.getLseMapAttr() : AffineMapAttr(), keepsWeights ? op.getWeights() : Value(),
                    keepsWeights ? op.getLayer() : Value(), keepsWeights ? op.getHeadsAttr() : DenseI64ArrayAttr());
  return success();
}

AttentionOp AttentionOp::replaceOutputs(RewriterBase &rewriter, AffineMapAttr lseMap, Value weights, Value layer,
                                        DenseI64ArrayAttr heads) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*this);
  Type lse = lseMap ? getLseType(getResult().getType(), getMaps(), lseMap) : RankedTensorType();
  auto made = AttentionOp::create(rewriter, getLoc(), getResult().getType(), lse, weights ? weights.getType() : Type(),
                                  getQuery(), getKey(), getValue(), getScale(), getQBegin(), getQOffset(), getKvBegin(),
                                  getKvLength(), getExtras(), getAdditive(), getSink(), getSecondQuery(),
                                  getSecondKey(), weights, layer, heads, getMaps(), lseMap);
  made->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(getScore(), made.getScore(), made.getScore().end());
  rewriter.inlineRegionBefore(getMask(), made.getMask(), made.getMask().end());
  for (auto [old, result] : {std::pair<Value, Value>(getResult(), made.getResult()),
                             {getLse(), made.getLse()},
                             {getNewWeights(), made.getNewWeights()}})
    if (old && result)
      rewriter.replaceAllUsesWith(old, result);
  rewriter.eraseOp(*this);
  return made;
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

/// Each iteration dim has one extent, in whatever operand. `operands`: those that have maps, in their order.
static void relateIterationDims(AttentionOp op, DimRelations &dims, ValueRange operands) {
  constexpr unsigned secondChannels = AttentionOp::NumDims;
  AffineExpr first[secondChannels + 1];
  auto see = [&](unsigned dim, Value value, unsigned i) {
    if (first[dim])
      dims.equal(value, i, first[dim]);
    else
      first[dim] = dims.extent(value, i);
  };
  for (auto [i, operand] : llvm::enumerate(operands)) {
    bool hasRows = op.dimOf(i, AttentionOp::B).has_value();
    for (auto [position, expr] : llvm::enumerate(op.getMap(i).getResults())) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      // Beside its row, a query or key is counted within the row, not in the packed dim.
      bool isWithinRow =
          hasRows && ((dim == AttentionOp::Q && op.getQBegin()) || (dim == AttentionOp::KV && op.getKvBegin()));
      if (dim == AttentionOp::DQK && i >= op.getSecondMap())
        dim = secondChannels;
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
  if (op.getSink()) {
    AffineExpr heads = first[AttentionOp::HKV], groups = first[AttentionOp::G];
    dims.equal(op.getSink(), 0, heads && groups ? heads * groups : heads ? heads : groups ? groups : dims.number(1));
  }
}

void AttentionOp::relateDims(DimRelations &dims) {
  relateIterationDims(*this, dims, mappedOperands(*this));
  if (Value lse = getLse())
    for (auto [i, dim] : llvm::enumerate(getLseDims()))
      dims.equal(lse, i, getResult(), dim);
  if (Value weights = getWeights()) {
    dims.equal(getNewWeights(), weights);
    dims.equal(weights, 0, getQuery(), *dimOf(0, Q));
  }
}

void AttentionOp::addCosts(CostModel &model) {
  auto extent = [&](Dim dim, unsigned map, Value operand) {
    std::optional<unsigned> i = dimOf(map, dim);
    return i ? model.dim(operand, *i) : Polynomial(1);
  };
  Value query = getQuery(), key = getKey(), value = getValue(), secondQuery = getSecondQuery(),
        secondKey = getSecondKey();
  const unsigned second = getSecondMap();
  // A second pair may be alone in having a dim.
  auto extentOfQueries = [&](Dim dim) {
    return secondQuery && !dimOf(0, dim) ? extent(dim, second, secondQuery) : extent(dim, 0, query);
  };
  Polynomial heads = extentOfQueries(HKV) * extentOfQueries(G), keyHeads = extent(HKV, 1, key),
             channels = extent(DQK, 0, query), valueChannels = extent(DV, 2, value), allChannels = channels;
  if (secondQuery)
    allChannels = channels + extent(DQK, second, secondQuery);
  CostModel::AttendedKeys attended =
      model.attendedKeys({getQBegin(), getQOffset(), getKvBegin(), getKvLength(), getMask(), extent(B, 0, query),
                          extent(Q, 0, query), extent(KV, 1, key)});
  // Keys and values of different types are f32 where they are multiplied.
  Type ofKeys = getElementTypeOrSelf(key.getType());
  model.compute(attended.twicePairs * heads * (allChannels + valueChannels),
                ofKeys == getElementTypeOrSelf(value.getType()) ? ofKeys : Float32Type::get(getContext()));
  model.move(query);
  model.move(key, attended.keys * keyHeads * channels * model.elementBytes(key));
  model.move(value, attended.keys * keyHeads * valueChannels * model.elementBytes(value));
  if (secondQuery) {
    model.move(secondQuery);
    model.move(secondKey, attended.keys * extent(HKV, second + 1, secondKey) * extent(DQK, second + 1, secondKey) *
                              model.elementBytes(secondKey));
  }
  for (Value extra : getExtras())
    model.move(extra);
  if (Value sink = getSink())
    model.move(sink);
  model.move(getResult());
  if (Value lse = getLse())
    model.move(lse);
  if (Value weights = getNewWeights()) { // scores are computed again, and one layer is written
    model.compute(attended.twicePairs * Polynomial(int64_t(getHeads()->size())) * allChannels,
                  getElementTypeOrSelf(key.getType()));
    model.move(weights,
               model.dim(weights, 0) * model.dim(weights, 2) * model.dim(weights, 3) * model.elementBytes(weights));
  }
}

std::optional<unsigned> SplitHeadsOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

int64_t SplitHeadsOp::getChannelGroup(Value tensor) {
  return tensor == getInput() ? cast<RankedTensorType>(getHeads()[0].getType()).getShape().back() : 0;
}

std::optional<unsigned> MergeHeadsOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

int64_t MergeHeadsOp::getChannelGroup(Value tensor) {
  return tensor == getResult() ? getInput().getType().getShape().back() : 0;
}

std::optional<unsigned> AttentionOp::getChannelsDim(OpOperand &operand) {
  const std::tuple<MutableOperandRange, unsigned, Dim> heads[] = {{getQueryMutable(), 0, DQK},
                                                                  {getKeyMutable(), 1, DQK},
                                                                  {getValueMutable(), 2, DV},
                                                                  {getSecondQueryMutable(), getSecondMap(), DQK},
                                                                  {getSecondKeyMutable(), getSecondMap() + 1, DQK}};
  for (auto [operands, map, dim] : heads)
    if (llvm::any_of(operands, [&](OpOperand &other) { return &other == &operand; }))
      return dimOf(map, dim);
  return std::nullopt;
}

std::optional<unsigned> AttentionOp::getResultChannelsDim(Value result) {
  return result == getResult() ? dimOf(3, DV) : std::nullopt;
}

/// Tables and the vector of an additive similarity may be weights, which are read by element.
std::optional<WeightUse> AttentionOp::getWeightUse(OpOperand &operand) {
  bool isRead = operand.get() == getAdditive();
  for (auto [i, extra] : llvm::enumerate(getExtrasMutable()))
    if (&extra == &operand)
      isRead = isTable(i);
  return isRead ? std::optional<WeightUse>(std::in_place) : std::nullopt;
}

/// The regions' tables take the types of the operands. Where padding made a row longer, its end is still the logical
/// one.
LogicalResult AttentionOp::keepChannels(ArrayRef<int64_t>, Padding) {
  for (Region *region : {&getScore(), &getMask()}) {
    for (auto [i, extra] : llvm::enumerate(getExtras())) {
      if (region->empty() || !isTable(i))
        continue;
      BlockArgument table = region->getArgument((region == &getScore() ? 5 : 4) + i);
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

/// Whether the vector of an additive similarity has fewer elements than the heads have channels.
bool AttentionOp::isPadded() {
  auto query = cast<RankedTensorType>(getQuery().getType());
  return getAdditive() &&
         cast<RankedTensorType>(getAdditive().getType()).getDimSize(0) != query.getDimSize(*dimOf(0, DQK));
}

bool SplitHeadsOp::movesNumbers() { return true; }

SmallVector<EqualTypes> SplitHeadsOp::getEqualTypes() {
  EqualTypes types(getHeads());
  types.push_back(getInput());
  return {types};
}

bool MergeHeadsOp::movesNumbers() { return true; }

ElementUse AttentionOp::getElementUse(OpOperand &operand) {
  auto isOperand = [&](OpOperand &other) { return &operand == &other; };
  if (&operand == &getQueryMutable() || llvm::any_of(getAdditiveMutable(), isOperand) ||
      llvm::any_of(getSecondQueryMutable(), isOperand))
    return ElementUse::computed;
  const bool isStored = &operand == &getKeyMutable() || &operand == &getValueMutable() ||
                        llvm::any_of(getSinkMutable(), isOperand) || llvm::any_of(getSecondKeyMutable(), isOperand);
  return isStored ? ElementUse::stored : ElementUse::fixed;
}

ElementSource AttentionOp::getElementSource(Value result) {
  if (result == getResult())
    return ElementSource::rounded;
  return ElementSource::updated;
}

SmallVector<EqualTypes> AttentionOp::getEqualTypes() {
  if (!getWeights())
    return {};
  return {EqualTypes{getNewWeights(), getWeights()}};
}
