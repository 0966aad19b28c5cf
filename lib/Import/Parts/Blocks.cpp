//===- Blocks.cpp - The parts that transformer blocks are made of ---------===//
#include "lib/Import/Parts/Blocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using Dims = std::initializer_list<unsigned>;

namespace {

// The names of Hugging Face's ACT2FN that the dialect can compute; index by index.
constexpr std::string_view names[] = {"gelu",       "gelu_python", "gelu_new", "gelu_pytorch_tanh",
                                      "gelu_fast",  "relu",        "silu",     "swish",
                                      "quick_gelu", "tanh",        "sigmoid"};
constexpr attn::ActivationKind kinds[] = {
    attn::ActivationKind::gelu,      attn::ActivationKind::gelu,      attn::ActivationKind::gelu_tanh,
    attn::ActivationKind::gelu_tanh, attn::ActivationKind::gelu_tanh, attn::ActivationKind::relu,
    attn::ActivationKind::silu,      attn::ActivationKind::silu,      attn::ActivationKind::quick_gelu,
    attn::ActivationKind::tanh,      attn::ActivationKind::sigmoid};
static_assert(std::size(names) == std::size(kinds));

RankedTensorType withColumns(Value x, int64_t columns) {
  auto type = cast<RankedTensorType>(x.getType());
  return RankedTensorType::get({type.getDimSize(0), columns}, type.getElementType());
}

} // namespace

std::span<const std::string_view> importing::activationNames() { return names; }

attn::ActivationKind importing::activationNamed(std::string_view name) {
  const std::string_view *at = llvm::find(names, name);
  assert(at != std::end(names) && "not one of activationNames()");
  return kinds[at - names];
}

Value importing::constant(const Scope &scope, Location loc, double value) {
  return arith::ConstantOp::create(scope.builder, loc, scope.builder.getF32FloatAttr(static_cast<float>(value)));
}

Value importing::softCapped(const Scope &scope, Location loc, Value x, double cap) {
  OpBuilder &builder = scope.builder;
  Value share = arith::MulFOp::create(builder, loc, x, constant(scope, loc, 1 / cap));
  Value bounded = math::TanhOp::create(builder, loc, share);
  return arith::MulFOp::create(builder, loc, bounded, constant(scope, loc, cap));
}

attn::EmbeddingOp importing::embed(const Scope &scope, Value ids, StringRef symbol) {
  Value table = scope.weight(symbol);
  auto type = RankedTensorType::get({ShapedType::kDynamic, cast<RankedTensorType>(table.getType()).getDimSize(1)},
                                    scope.builder.getF32Type());
  return attn::EmbeddingOp::create(scope.builder, scope.at(symbol), type, ids, table);
}

Value importing::normalize(const Scope &scope, Value x, StringRef part, const NormSpec &norm) {
  OpBuilder &builder = scope.builder;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(x.getType()).getShape().take_back();
  auto operand = [&](bool isStored, const char *name, float otherwise) -> Value {
    if (isStored)
      return scope.weight((part + name).str());
    auto type = RankedTensorType::get(shape, builder.getF32Type());
    return arith::ConstantOp::create(builder, scope.at(part), DenseElementsAttr::get(type, otherwise));
  };
  Value weight = operand(norm.hasWeight, ".weight", 1);
  shape = cast<RankedTensorType>(weight.getType()).getShape();
  FloatAttr epsilon = builder.getF64FloatAttr(norm.epsilon);
  if (norm.kind == NormSpec::RMS)
    return attn::RMSNormOp::create(builder, scope.at(part), x, weight, epsilon, /*columns=*/nullptr);
  Value bias = operand(norm.hasBias, ".bias", 0);
  return attn::LayerNormOp::create(builder, scope.at(part), x, weight, bias, epsilon, /*columns=*/nullptr);
}

/// x times the weight, which is [out, in] when `transposed`, plus the bias where there is one. With `groups` the weight
/// is several matrices of `columns` columns.
static Value matmul(const Scope &scope, Location loc, Value x, Value weight, ArrayRef<Value> summands, bool transposed,
                    Value groups = {}, int64_t columns = 0) {
  OpBuilder &builder = scope.builder;
  if (!groups)
    columns = cast<RankedTensorType>(weight.getType()).getDimSize(transposed ? 0 : 1);
  auto matmul = attn::LinearOp::create(builder, loc, withColumns(x, columns), x, weight, summands, groups, transposed,
                                       /*layout=*/attn::WeightLayoutInterface());
  if (!summands.empty()) {
    Block *epilogue = matmul.ensureEpilogue(builder);
    Operation *yield = epilogue->getTerminator();
    OpBuilder inner(yield);
    Value sum = epilogue->getArgument(0);
    for (Value summand : epilogue->getArguments().drop_front())
      sum = arith::AddFOp::create(inner, loc, sum, summand);
    yield->setOperand(0, sum);
  }
  return matmul;
}

/// x in the order of its rows' adapters, which all matmuls of x share.
static Value orderByAdapter(const Scope &scope, Location loc, Value x) {
  Value tokens = scope.adapters->tokens;
  for (Operation *user : x.getUsers())
    if (auto select = dyn_cast<attn::SelectRowsOp>(user);
        select && select.getRows() == tokens && select->getBlock() == scope.builder.getInsertionBlock())
      return select;
  return attn::SelectRowsOp::create(scope.builder, loc, x.getType(), x, /*layer=*/Value(), tokens);
}

/// (x A^T) B^T with the narrow matrices of each row's adapter.
static Value changeOfAdapters(const Scope &scope, Value x, StringRef part, int64_t columns) {
  const AdapterRows &adapters = *scope.adapters;
  const int64_t matrices = cast<RankedTensorType>(adapters.groups.getType()).getDimSize(0) - 1;
  Location loc = scope.at((part + ".lora").str());
  Value first = scope.weight((part + ".lora_A").str()), second = scope.weight((part + ".lora_B").str());
  const int64_t rank = cast<RankedTensorType>(first.getType()).getDimSize(0) / matrices;
  Value narrow =
      matmul(scope, loc, orderByAdapter(scope, loc, x), first, {}, /*transposed=*/true, adapters.groups, rank);
  Value wide = matmul(scope, loc, narrow, second, {}, /*transposed=*/true, adapters.groups, columns);
  return attn::SelectRowsOp::create(scope.builder, loc, wide.getType(), wide, /*layer=*/Value(), adapters.order);
}

static Value namedMatmul(const Scope &scope, Value x, StringRef part, bool transposed, Value groups = {},
                         int64_t columns = 0) {
  std::string bias = (part + ".bias").str();
  Value weight = scope.weight((part + ".weight").str());
  SmallVector<Value, 2> summands;
  if (scope.has(bias))
    summands.push_back(scope.weight(bias));
  if (scope.adapters && scope.has((part + ".lora_A").str()))
    summands.push_back(
        changeOfAdapters(scope, x, part, cast<RankedTensorType>(weight.getType()).getDimSize(transposed ? 0 : 1)));
  return matmul(scope, scope.at(part), x, weight, summands, transposed, groups, columns);
}

Value importing::linear(const Scope &scope, Value x, StringRef part) { return namedMatmul(scope, x, part, false); }

Value importing::dense(const Scope &scope, Value x, StringRef part) { return namedMatmul(scope, x, part, true); }

Value importing::groupedDense(const Scope &scope, Value x, StringRef part, int64_t columns, Value groups) {
  return namedMatmul(scope, x, part, /*transposed=*/true, groups, columns);
}

Value importing::project(const Scope &scope, Value x, Value weight, StringRef part, Value bias) {
  return matmul(scope, scope.at(part), x, weight, bias ? ArrayRef<Value>(bias) : ArrayRef<Value>(),
                /*transposed=*/true);
}

void importing::mapResult(const Scope &scope, Value result,
                          llvm::function_ref<Value(const Scope &, Location, Value)> f) {
  Operation *yield = result.getDefiningOp<attn::LinearOp>().ensureEpilogue(scope.builder)->getTerminator();
  OpBuilder inner(yield);
  yield->setOperand(0, f(Scope{inner, scope.parameters}, result.getLoc(), yield->getOperand(0)));
}

void importing::scaleResult(const Scope &scope, Value result, double factor) {
  if (factor != 1)
    mapResult(scope, result, [&](const Scope &inner, Location loc, Value element) -> Value {
      return arith::MulFOp::create(inner.builder, loc, element, constant(inner, loc, factor));
    });
}

void importing::scaleColumns(const Scope &scope, Value result, StringRef symbol) {
  auto op = result.getDefiningOp<attn::LinearOp>();
  OpBuilder::InsertionGuard guard(scope.builder);
  scope.builder.setInsertionPoint(op);
  Value factors = scope.weight(symbol);
  Block *epilogue = op.ensureEpilogue(scope.builder);
  op.getExtrasMutable().append(factors);
  Value factor = epilogue->addArgument(scope.builder.getF32Type(), op.getLoc());
  mapResult(scope, result, [&](const Scope &inner, Location loc, Value element) -> Value {
    return arith::MulFOp::create(inner.builder, loc, element, factor);
  });
}

Value importing::splitHeads(const Scope &scope, Location loc, Value x, int64_t heads) {
  auto type = cast<RankedTensorType>(x.getType());
  auto split = RankedTensorType::get({type.getDimSize(0), heads, type.getDimSize(1) / heads}, type.getElementType());
  return attn::SplitHeadsOp::create(scope.builder, loc, TypeRange{split}, x).getResult(0);
}

Value importing::mergeHeads(const Scope &scope, Location loc, Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  int64_t columns = llvm::product_of(type.getShape().drop_front());
  auto merged = RankedTensorType::get({type.getDimSize(0), columns}, type.getElementType());
  return attn::MergeHeadsOp::create(scope.builder, loc, merged, x);
}

/// A map of attention to some of its dims.
static AffineMap attentionMap(OpBuilder &builder, Dims dims) {
  SmallVector<AffineExpr> results;
  for (unsigned dim : dims)
    results.push_back(builder.getAffineDimExpr(dim));
  return AffineMap::get(attn::AttentionOp::NumDims, 0, results, builder.getContext());
}

/// [tokens, heads, channels] as [tokens, groups, heads / groups, channels].
static Value groupHeads(const Scope &scope, Location loc, Value x, int64_t groups) {
  auto type = cast<RankedTensorType>(x.getType());
  auto grouped = RankedTensorType::get({type.getDimSize(0), groups, type.getDimSize(1) / groups, type.getDimSize(2)},
                                       type.getElementType());
  return attn::SplitHeadsOp::create(scope.builder, loc, TypeRange{grouped}, mergeHeads(scope, loc, x)).getResult(0);
}

Value importing::flatHeads(const Scope &scope, Location loc, Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  return type.getRank() == 3
             ? x
             : splitHeads(scope, loc, mergeHeads(scope, loc, x), type.getDimSize(1) * type.getDimSize(2));
}

attn::AttentionOp importing::rowAttention(const Scope &scope, Location loc, std::array<Value, 3> queryKeyValue,
                                          Value scale, Value rowBegin, Value queryBegin) {
  using A = attn::AttentionOp;
  OpBuilder &builder = scope.builder;
  auto [query, key, value] = queryKeyValue;
  auto queryMap = attentionMap(builder, {A::Q, A::HKV, A::DQK}),
       keyMap = attentionMap(builder, {A::KV, A::HKV, A::DQK});
  auto valueMap = attentionMap(builder, {A::KV, A::HKV, A::DV}),
       resultMap = attentionMap(builder, {A::Q, A::HKV, A::DV});
  const int64_t groups = cast<RankedTensorType>(key.getType()).getDimSize(1);
  if (cast<RankedTensorType>(query.getType()).getDimSize(1) != groups) {
    query = groupHeads(scope, loc, query, groups);
    queryMap = attentionMap(builder, {A::Q, A::HKV, A::G, A::DQK});
    resultMap = attentionMap(builder, {A::Q, A::HKV, A::G, A::DV});
  }
  SmallVector<int64_t> shape(cast<RankedTensorType>(query.getType()).getShape());
  shape.back() = cast<RankedTensorType>(value.getType()).getShape().back();
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(query));
  return A::create(builder, loc, type, query, key, value, scale,
                   /*q_begin=*/queryBegin ? queryBegin : rowBegin, /*q_offset=*/nullptr, /*kv_begin=*/rowBegin,
                   /*kv_length=*/nullptr, /*extras=*/ValueRange(),
                   builder.getAffineMapArrayAttr({queryMap, keyMap, valueMap, resultMap}));
}

ArrayAttr importing::cachedMaps(OpBuilder &builder, bool grouped) {
  using A = attn::AttentionOp;
  AffineMap query = attentionMap(builder, {A::Q, A::HKV, A::DQK}),
            result = attentionMap(builder, {A::Q, A::HKV, A::DV});
  if (grouped) {
    query = attentionMap(builder, {A::Q, A::HKV, A::G, A::DQK});
    result = attentionMap(builder, {A::Q, A::HKV, A::G, A::DV});
  }
  return builder.getAffineMapArrayAttr({query, attentionMap(builder, {A::B, A::KV, A::HKV, A::DQK}),
                                        attentionMap(builder, {A::B, A::KV, A::HKV, A::DV}), result});
}

/// kv <= q, or kv < the query's element of `seenEnd`, and q - kv < window where there is one.
void importing::keepCausal(attn::AttentionOp attention, std::optional<int64_t> window, Value seenEnd) {
  OpBuilder builder(attention.getContext());
  Location loc = attention.getLoc();
  SmallVector<Type> types(4, builder.getIndexType()); // b, h, q, kv
  Block *mask = builder.createBlock(&attention.getMask(), {}, types, SmallVector<Location>(4, loc));
  Value query = mask->getArgument(2), key = mask->getArgument(3);
  Value keep;
  if (seenEnd) {
    addExtra(attention, seenEnd,
             AffineMap::get(attn::AttentionOp::NumDims, 0, builder.getAffineDimExpr(attn::AttentionOp::Q)));
    Value end = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), mask->getArguments().back());
    keep = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, key, end);
  } else {
    keep = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, key, query);
  }
  if (window) {
    Value distance = arith::SubIOp::create(builder, loc, query, key);
    Value near = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, distance,
                                       arith::ConstantIndexOp::create(builder, loc, *window));
    keep = arith::AndIOp::create(builder, loc, keep, near);
  }
  attn::YieldOp::create(builder, loc, keep);
}

Value importing::poolRows(const Scope &scope, Location loc, attn::PoolingKind kind, Value x, Value rowBegin,
                          int64_t skip) {
  const int64_t columns = cast<RankedTensorType>(x.getType()).getDimSize(1);
  auto type = RankedTensorType::get({ShapedType::kDynamic, columns}, scope.builder.getF32Type());
  return attn::PoolRowsOp::create(scope.builder, loc, type, kind, x, rowBegin, skip);
}

Value importing::unitLength(const Scope &scope, Location loc, Value x, double epsilon) {
  // x / |x| is an RMS norm whose gains undo the mean.
  const int64_t width = cast<RankedTensorType>(x.getType()).getShape().back();
  OpBuilder &builder = scope.builder;
  const float gain = static_cast<float>(1 / std::sqrt(double(width)));
  auto type = RankedTensorType::get({width}, builder.getF32Type());
  Value gains = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, gain));
  return attn::RMSNormOp::create(builder, loc, x, gains, builder.getF64FloatAttr(epsilon / double(width)),
                                 /*columns=*/nullptr);
}

static const attn::KVSegment &segmentOf(Value cache) {
  return cast<attn::KVCacheType>(cache.getType()).getSegments()[0];
}

/// The layer's keys and values in the cache, with those of the step where it has some.
static attn::KVViewOp appendAndView(const Scope &scope, Location loc, Value key, Value value, Value cache,
                                    const Rows &rows) {
  OpBuilder &builder = scope.builder;
  Value number = scope.layer->number;
  if (key)
    cache = attn::KVAppendOp::create(builder, loc, cache, number, key, value, rows.rowBegin, rows.past, rows.table)
                .getResult();
  const attn::KVSegment &segment = segmentOf(cache);
  auto viewOf = [&](const attn::KVPart &part) {
    return RankedTensorType::get({ShapedType::kDynamic, ShapedType::kDynamic, segment.heads, part.channels},
                                 part.element);
  };
  return attn::KVViewOp::create(builder, loc, viewOf(segment.keys), viewOf(segment.values), cache, number, rows.table);
}

/// Latent attention to latents and rotated keys [tokens, 1, channels], or [rows, positions, 1, channels] of a cache,
/// which have a query's offset.
static attn::AttentionOp attendLatents(const Scope &scope, Location loc, const LatentHeads &heads, Value scale,
                                       Value rowBegin, Value past) {
  using A = attn::AttentionOp;
  OpBuilder &builder = scope.builder;
  const bool isCached = cast<RankedTensorType>(heads.latent.getType()).getRank() == 4;
  // All heads are one group, whose key is the latent.
  auto ofKeys = [&](unsigned channels) {
    return isCached ? attentionMap(builder, {A::B, A::KV, A::HKV, channels})
                    : attentionMap(builder, {A::KV, A::HKV, channels});
  };
  AffineMap query = attentionMap(builder, {A::Q, A::G, A::DQK}),
            result = attentionMap(builder, {A::Q, A::HKV, A::G, A::DV}), key = ofKeys(A::DQK);
  ArrayAttr maps = builder.getAffineMapArrayAttr({query, key, ofKeys(A::DV), result, query, key});
  auto type = cast<RankedTensorType>(heads.query.getType());
  auto grouped =
      RankedTensorType::get({type.getDimSize(0), 1, type.getDimSize(1), type.getDimSize(2)}, type.getElementType());
  return A::create(builder, loc, grouped, /*lse=*/Type(), /*new_weights=*/Type(), heads.query, heads.latent,
                   heads.latent, scale, /*q_begin=*/rowBegin, /*q_offset=*/past,
                   /*kv_begin=*/isCached ? Value() : rowBegin, /*kv_length=*/Value(), /*extras=*/ValueRange(),
                   /*additive=*/Value(), /*sink=*/Value(), heads.rotatedQuery, heads.rotatedKey, /*weights=*/Value(),
                   /*layer=*/Value(), /*heads=*/nullptr, maps, /*lse_map=*/nullptr);
}

attn::AttentionOp importing::rowLatentAttention(const Scope &scope, Location loc, const LatentHeads &heads, Value scale,
                                                Value rowBegin) {
  return attendLatents(scope, loc, heads, scale, rowBegin, /*past=*/Value());
}

CausalAttention importing::latentAttention(const Scope &scope, Location loc, const LatentHeads &heads, Value scale,
                                           Value cache, const Rows &rows, std::optional<int64_t> window) {
  attn::KVViewOp view = appendAndView(scope, loc, heads.rotatedKey, heads.latent, cache, rows);
  LatentHeads cached = heads;
  cached.latent = view.getValues();
  cached.rotatedKey = view.getKeys();
  attn::AttentionOp attention = attendLatents(scope, loc, cached, scale, rows.rowBegin, rows.past);
  keepCausal(attention, window);
  return {flatHeads(scope, loc, attention.getResult()), view.getCache(), attention};
}

CausalAttention importing::causalAttention(const Scope &scope, Location loc, std::array<Value, 3> queryKeyValue,
                                           Value scale, Value cache, const Rows &rows, std::optional<int64_t> window) {
  OpBuilder &builder = scope.builder;
  auto [query, key, value] = queryKeyValue;
  attn::KVViewOp view = appendAndView(scope, loc, key, value, cache, rows);
  const int64_t groups = segmentOf(cache).heads;
  const bool grouped = cast<RankedTensorType>(query.getType()).getDimSize(1) != groups;
  if (grouped)
    query = groupHeads(scope, loc, query, groups);
  auto attention = attn::AttentionOp::create(builder, loc, query.getType(), query, view.getKeys(), view.getValues(),
                                             scale, /*q_begin=*/rows.rowBegin, /*q_offset=*/rows.past,
                                             /*kv_begin=*/nullptr, /*kv_length=*/nullptr, /*extras=*/ValueRange(),
                                             cachedMaps(builder, grouped));
  keepCausal(attention, window, window ? rows.seenEnd : Value());
  return {flatHeads(scope, loc, attention.getResult()), view.getCache(), attention};
}

void importing::addExtra(attn::AttentionOp attention, Value operand, AffineMap map) {
  attention.getExtrasMutable().append(operand);
  SmallVector<Attribute> maps(attention.getMaps().begin(), attention.getMaps().end());
  maps.push_back(AffineMapAttr::get(map));
  attention.setMapsAttr(ArrayAttr::get(attention.getContext(), maps));
  Type type = map.getNumResults() == 0 ? operand.getType() : getElementTypeOrSelf(operand);
  for (Region *region : {&attention.getScore(), &attention.getMask()})
    if (!region->empty())
      region->front().addArgument(type, attention.getLoc());
}

void importing::mapScores(const Scope &scope, attn::AttentionOp attention,
                          llvm::function_ref<Value(const Scope &, Location, ValueRange)> f) {
  OpBuilder &builder = scope.builder;
  OpBuilder::InsertionGuard guard(builder);
  Location loc = attention.getLoc();
  Type index = builder.getIndexType();
  SmallVector<Type> types{builder.getF32Type(), index, index, index, index};
  for (auto [extra, map] : llvm::zip_equal(attention.getExtras(), attention.getMaps().getValue().drop_front(4)))
    types.push_back(cast<AffineMapAttr>(map).getAffineMap().getNumResults() == 0 ? extra.getType()
                                                                                 : getElementTypeOrSelf(extra));
  Block *score = builder.createBlock(&attention.getScore(), {}, types, SmallVector<Location>(types.size(), loc));
  attn::YieldOp::create(builder, loc, f(Scope{builder, scope.parameters}, loc, score->getArguments()));
}

constexpr std::string_view leaky = "leaky_relu";

Activation importing::readActivation(huggingface::ConfigReader &reader, const char *fallback) {
  std::vector<std::string_view> names(activationNames().begin(), activationNames().end());
  names.push_back(leaky);
  const std::string name = reader.getEnum("activation", names, fallback);
  if (name != leaky)
    return {activationNamed(name)};
  return {attn::ActivationKind::relu, reader.getFloat("negative_slope", 0, 1, 0.01)}; // PyTorch's default
}

Value importing::activate(const Scope &scope, Location loc, Value result, const Activation &activation) {
  if (!activation.slope)
    return attn::ActivationOp::create(scope.builder, loc, activation.kind, result);
  mapResult(scope, result, [&](const Scope &inner, Location at, Value x) -> Value {
    Value less = arith::MulFOp::create(inner.builder, at, x, constant(inner, at, *activation.slope));
    return arith::MaximumFOp::create(inner.builder, at, x, less); // as the slope is at most 1
  });
  return result;
}
