//===- EncoderLayers.cpp - The layers of an encoder of texts ------------------===//
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Parts/RelativePositions.h"
#include "lib/Import/Parts/TokenConvolution.h"
#include "lib/Import/Specs/EncoderSpec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

/// Keeps keys at most `window` positions ahead of a query or behind it.
void keepNear(attn::AttentionOp attention, int64_t window) {
  OpBuilder builder(attention.getContext());
  Location loc = attention.getLoc();
  SmallVector<Type> types(4, builder.getIndexType()); // b, h, q, kv
  Block *mask = builder.createBlock(&attention.getMask(), {}, types, SmallVector<Location>(4, loc));
  Value query = mask->getArgument(2), key = mask->getArgument(3);
  Value most = arith::ConstantIndexOp::create(builder, loc, window);
  auto isNear = [&](Value from, Value to) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, arith::SubIOp::create(builder, loc, from, to),
                                 most);
  };
  Value behind = isNear(query, key), ahead = isNear(key, query);
  attn::YieldOp::create(builder, loc, arith::AndIOp::create(builder, loc, behind, ahead).getResult());
}

/// The layers whose keys and values others read, ascending.
LayerNumbers listSources(const StackSpec &spec) {
  LayerNumbers sources;
  for (int64_t source : spec.keysOf)
    if (llvm::count(spec.keysOf, source) > 1 && !llvm::is_contained(sources, source))
      sources.push_back(source);
  llvm::sort(sources);
  return sources;
}

/// What stands for keys, or values, of a layer until it has made them: [tokens, heads, channels] of the tokens x.
Value noKeys(const Scope &top, const AttentionSpec &attention, Value x) {
  OpBuilder &builder = top.builder;
  Location loc = top.at(attention.location);
  auto type = RankedTensorType::get({ShapedType::kDynamic, attention.kvHeads, attention.headDim}, builder.getF32Type());
  Value tokens = tensor::DimOp::create(builder, loc, x, 0), empty = tensor::EmptyOp::create(builder, loc, type, tokens);
  return linalg::FillOp::create(builder, loc, constant(top, loc, 0), empty).getResult(0);
}

/// Values that all layers read besides their weights.
struct SharedValues {
  Value rowBegin;
  Value ids;               ///< of the tokens; null: no convolution reads some that are behind its token
  OwnInputs own;           ///< where layers have inputs of their own
  ValueRange rotation;     ///< tables of rotary embedding
  Value relativePositions; ///< embeddings of distances; null: none
  Value convolved;         ///< what the first layer adds; null: nothing
};

/// Walks the layers of texts of `longest` tokens at most.
class BlockWalk {
public:
  BlockWalk(const EncoderSpec &spec, int64_t longest) : spec(spec), longest(longest), sources(listSources(spec)) {}

  /// Numbers that are equal for layers of one function.
  std::vector<unsigned> kinds() const {
    std::vector<unsigned> kinds = numberKinds(spec);
    LayerNumbers alone = sources; // what no other layer is
    if (spec.tokenConvolution)
      alone.push_back(0);
    for (auto [place, layer] : llvm::enumerate(alone))
      kinds[size_t(layer)] = unsigned(spec.layers + int64_t(place));
    return kinds;
  }

  /// The state ahead of the first layer: x [tokens, width], and keys and values of each layer that others read.
  SmallVector<Value> first(const Walk &walk, Value x) const {
    SmallVector<Value> state{x};
    for (int64_t source : sources) {
      const AttentionSpec &attention = spec.hasWholeAttention(source) ? *spec.wholeAttention : spec.attention;
      state.append(2, walk.emit([&](const Scope &top) { return noKeys(top, attention, x); }));
    }
    return state;
  }

  /// One layer: the state to that after it.
  SmallVector<Value> layer(const Walk &layer, ValueRange state, ValueRange all) const {
    const SharedValues shared = takeShared(all);
    SmallVector<Value> next(state);
    if (spec.disentangled)
      layer.declare([&](const ParameterScope &weights) { addDisentangled(weights, spec, *spec.disentangled); });
    auto attend = [&](const Scope &scope, Location loc, std::array<Value, 3> queryKeyValue, Value scale,
                      std::optional<int64_t> window) {
      passKeys(scope.layer->example, queryKeyValue, next);
      return attention(scope, loc, queryKeyValue, scale, window, shared);
    };
    auto attendLatents = [&](const Scope &scope, Location loc, const LatentHeads &heads, Value scale,
                             std::optional<int64_t> window) -> Attended {
      attn::AttentionOp op = rowLatentAttention(scope, loc, heads, scale, shared.rowBegin);
      keepSeen(op, window);
      return {flatHeads(scope, loc, op.getResult()), op};
    };
    MixerStates states{.rowBegin = shared.rowBegin, .ids = shared.ids}; // every text begins with zeros and leaves none
    next[0] = walkLayer(layer, spec, state[0],
                        {.rotation = shared.rotation,
                         .attend = attend,
                         .attendLatents = attendLatents,
                         .states = &states,
                         .own = shared.own});
    layer.emit([&](const Scope &scope) {
      if (shared.convolved && scope.layer->example == 0)
        next[0] = addConvolved(scope, spec, *spec.tokenConvolution, next[0], shared.convolved);
    });
    return next;
  }

private:
  /// The values in the order of walkEncoderLayers.
  SharedValues takeShared(ValueRange all) const {
    SharedValues shared;
    auto take = [&](bool exists) {
      Value value = exists ? all.front() : Value();
      all = all.drop_front(exists ? 1 : 0);
      return value;
    };
    auto takeLast = [&](bool exists) {
      Value value = exists ? all.back() : Value();
      all = all.drop_back(exists ? 1 : 0);
      return value;
    };
    shared.rowBegin = take(true);
    shared.ids = take(spec.ahead() != 0);
    const bool hasOwn = spec.ownInputs.has_value();
    shared.own = {.columns = take(hasOwn), .rows = take(hasOwn)};
    shared.convolved = takeLast(spec.tokenConvolution.has_value());
    shared.relativePositions = takeLast(spec.disentangled.has_value());
    shared.rotation = all;
    return shared;
  }

  /// Keeps a layer's keys and values in the state for the layers that read them, or takes those that it reads.
  void passKeys(int64_t layer, std::array<Value, 3> &queryKeyValue, SmallVector<Value> &state) const {
    const auto source = llvm::find(sources, spec.keysOfLayer(layer));
    if (source == sources.end())
      return;
    const size_t place = 1 + 2 * size_t(source - sources.begin());
    for (size_t which = 0; which < 2; ++which) {
      Value &own = queryKeyValue[1 + which], &kept = state[place + which];
      if (spec.hasOwnKeys(layer))
        kept = own;
      else
        own = kept;
    }
  }

  /// Keeps the keys that a query sees.
  void keepSeen(attn::AttentionOp op, std::optional<int64_t> window) const {
    if (spec.isCausal)
      keepCausal(op, window);
    else if (window)
      keepNear(op, *window);
  }

  Attended attention(const Scope &scope, Location loc, std::array<Value, 3> queryKeyValue, Value scale,
                     std::optional<int64_t> window, const SharedValues &shared) const {
    const std::optional<RelativeBiasSpec> &bias = spec.relativeBias;
    Value table = bias ? scope.weight(bias->table) : Value();
    DisentangledTables tables;
    if (spec.disentangled)
      tables = buildDisentangledTables(scope, spec, *spec.disentangled, shared.relativePositions, queryKeyValue[0],
                                       queryKeyValue[1]);
    attn::AttentionOp op = rowAttention(scope, loc, queryKeyValue, scale, shared.rowBegin);
    keepSeen(op, window);
    if (bias)
      addRelativeBias(scope, {bias->buckets, bias->maxDistance}, op, table);
    if (spec.disentangled)
      addDisentangledScores(scope, *spec.disentangled, longest, op, tables, shared.rowBegin);
    return {flatHeads(scope, loc, op.getResult()), op};
  }

  const EncoderSpec &spec;
  int64_t longest;
  LayerNumbers sources;
};

} // namespace

Expected<SmallVector<Value>> importing::walkEncoderLayers(const Walk &walk, const EncoderSpec &spec,
                                                          const TextTokens &tokens, int64_t longest) {
  Value positions = walkPositions(walk, spec, tokens), words = walkWords(walk, spec, tokens.ids),
        x = walkEmbedding(walk, spec, words, positions, tokens);
  const OwnInputs own = spec.ownInputs ? walkOwnInputs(walk, spec, tokens.ids, x) : OwnInputs();
  if (const std::optional<RelativeBiasSpec> &bias = spec.relativeBias)
    walk.declare([&](const ParameterScope &top) {
      top.parameters.addTable(bias->table, top.tensors + bias->table + ".weight", {bias->buckets, spec.attention.heads},
                              Init::embedding());
    });
  const BlockWalk block(spec, longest);
  WalkedLayers layers{.loop = {.stack = {spec.layers, spec.stack}, .kinds = block.kinds()},
                      .path = spec.layer,
                      .state = block.first(walk, x),
                      .shared = {tokens.rowBegin},
                      .adapters = tokens.adapters,
                      .haveOneWeight = spec.sharesLayers};
  if (spec.ahead())
    layers.shared.push_back(tokens.ids);
  if (spec.ownInputs)
    layers.shared.append({own.columns, own.rows});
  layers.further = walk.emit(
      [&](const Scope &top) { return buildRotation(top, spec.attention, tokens.ids, tokens.rowBegin, /*past=*/{}); });
  if (spec.disentangled)
    layers.further.push_back(walkRelativePositions(walk, spec, *spec.disentangled, longest));
  if (const std::optional<TokenConvolutionSpec> &convolution = spec.tokenConvolution)
    layers.further.push_back(walkTokenConvolution(walk, spec, *convolution, x, tokens.ids, tokens.rowBegin));
  return walkLayers(walk, layers, [&](const Walk &layer, ValueRange state, ValueRange shared) {
    return block.layer(layer, state, shared);
  });
}
