//===- DecoderBuilder.cpp - The module of a decoder from its specification -===//
#include "lib/Import/Specs/DecoderBuilder.h"
#include "lib/Import/Module/LayerStack.h"
#include "lib/Import/Module/TextModule.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <bit>
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

std::vector<float> importing::alibiSlopes(int64_t heads, double bias) {
  const int64_t all = std::bit_ceil(uint64_t(heads));
  std::vector<float> slopes;
  auto take = [&](int64_t first, int64_t step) {
    for (int64_t i = first; i <= all && int64_t(slopes.size()) < heads; i += step)
      slopes.push_back(float(std::exp2(-bias * double(i) / double(all))));
  };
  if (all == heads) {
    take(1, 1);
  } else {
    take(2, 2);
    take(1, 2);
  }
  return slopes;
}

namespace {

/// Tokens and their sequences; null where weights are declared.
struct EmbeddingInputs {
  Value tokens, rowBegin, past;
};

/// Token and learned position embeddings: [tokens, width].
Value walkEmbedding(const Walk &walk, const DecoderSpec &spec, const EmbeddingInputs &inputs = {},
                    MapEmbeddings map = {}) {
  const EmbeddingSpec &e = spec.embedding;
  const std::string part = e.positions.empty() ? "positions" : e.positions;
  const bool hasPositions = !e.positions.empty() || !e.sinusoids.empty();
  Value x, positions = walk.emit([&](const Scope &top) -> Value {
    if (!hasPositions)
      return {};
    return attn::PositionsOp::create(top.builder, top.at(part), inputs.tokens, inputs.rowBegin, inputs.past);
  });
  walk.declareLast(e.projection, [&] {
    Value tokens = walk.embed(inputs.tokens, e.table, spec.vocabulary, embeddingWidth(spec));
    x = walk.emit([&](const Scope &top) -> Value {
      if (e.scale != 1)
        tokens.getDefiningOp<attn::EmbeddingOp>().setScaleAttr(top.builder.getF32FloatAttr(float(e.scale)));
      return map ? map(top, tokens) : tokens;
    });
    if (!e.projection.empty())
      x = walk.matmul(x, {.part = e.projection, .out = spec.width, .in = e.width, .hasBias = false});
    Value learned;
    if (!e.positions.empty())
      learned = walk.embed(positions, e.positions, spec.positions + e.firstPosition, spec.width, e.firstPosition);
    x = walk.emit([&](const Scope &top) -> Value {
      Location loc = top.at(part);
      if (!e.sinusoids.empty())
        learned = attn::SinusoidsOp::create(top.builder, loc, x.getType(), positions, e.sinusoids, /*halves=*/false,
                                            /*first=*/IntegerAttr());
      return learned ? arith::AddFOp::create(top.builder, loc, x, learned).getResult() : x;
    });
    x = walk.norm(x, e.norm, spec.norm, spec.width);
  });
  return x;
}

/// For each layer its number in its cache; empty where all are in one.
std::vector<int64_t> numberSlots(const DecoderSpec &spec, size_t caches) {
  std::vector<int64_t> slots, next(caches);
  for (int64_t layer = 0; caches > 1 && layer < spec.layers; ++layer)
    slots.push_back(next[spec.attention.windowOf(layer) ? 1 : 0]++);
  return slots;
}

/// One layer: x [tokens, width] and the caches to those after it. Where there are two, the layer's number in its own is
/// the first of `shared`. The rows, the block table of each cache, those of adapters and tables of rotation follow.
SmallVector<Value> buildBlock(Scope scope, const DecoderSpec &spec, bool hasAdapters, ValueRange state,
                              ValueRange shared) {
  SmallVector<Value> next(state);
  const size_t caches = next.size() - 1, which = caches > 1 && spec.attention.windowOf(scope.layer->example) ? 1 : 0;
  Value &cache = next[1 + which];
  LayerRef inCache = *scope.layer;
  if (caches > 1) {
    inCache.number = shared.front();
    shared = shared.drop_front();
  }
  const Rows rows{shared[0], shared[1], shared[2 + which]};
  shared = shared.drop_front(2 + caches);
  const std::optional<AdapterRows> adapters = takeAdapters(hasAdapters, shared);
  scope.adapters = adapters ? &*adapters : nullptr;
  Scope ofCache = scope;
  ofCache.layer = &inCache;
  auto keep = [&](const CausalAttention &attention) -> Mixed {
    cache = attention.cache;
    return {attention.result, attention.op};
  };
  auto mix = [&](Location loc, std::array<Value, 3> queryKeyValue, Value scale, std::optional<int64_t> window) {
    return keep(causalAttention(ofCache, loc, queryKeyValue, scale, cache, rows, window));
  };
  auto latentMix = [&](Location loc, const LatentHeads &heads, Value scale, std::optional<int64_t> window) {
    return keep(latentAttention(ofCache, loc, heads, scale, cache, rows, window));
  };
  next[0] = buildLayer(scope, spec, state[0], shared, mix, /*crossMix=*/{}, latentMix);
  return next;
}

/// Logits of the wanted tokens, from what the last layer gives of all.
Value walkHead(const Walk &walk, const DecoderSpec &spec, Value x = {}, Value want = {}) {
  const HeadSpec &head = spec.head;
  const int64_t width = embeddingWidth(spec);
  x = walk.emit([&](const Scope &top) -> Value {
    Location loc = top.at(head.norm.empty() ? head.weight : head.norm);
    return attn::SelectRowsOp::create(top.builder, loc, x.getType(), x, want);
  });
  x = walk.norm(x, head.norm, spec.norm, spec.width);
  if (!head.projection.empty())
    x = walk.matmul(x, {.part = head.projection, .out = width, .in = spec.width, .hasBias = false});
  walk.declare([&](const ParameterScope &weights) {
    const std::string tensor = spec.headPrefix + head.weight;
    weights.parameters.addHead(head.weight, tensor + ".weight", {spec.vocabulary, width}, Init::weight(width),
                               head.isTied, spec.embedding.table);
    if (head.hasBias)
      weights.parameters.add(head.weight + ".bias", tensor + ".bias", {spec.vocabulary}, Init::bias());
  });
  return walk.emit([&](const Scope &top) {
    Value bias = head.hasBias ? top.weight(head.weight + ".bias") : Value();
    Value logits = project(top, x, top.weight(top.parameters.head()), head.weight, bias);
    if (head.scale != 1 || head.softCap != 0)
      mapResult(top, logits, [&](const Scope &inner, Location loc, Value logit) {
        if (head.scale != 1)
          logit = arith::MulFOp::create(inner.builder, loc, logit, constant(inner, loc, head.scale));
        return head.softCap != 0 ? softCapped(inner, loc, logit, head.softCap) : logit;
      });
    return logits;
  });
}

} // namespace

/// The length of each row's text, up to one more than that of the longest short text.
constexpr const char *textLengthName = "text_length";

MoreOfEntry importing::moreOfStep(MLIRContext &context, const DecoderSpec &spec, const ModelFacts &facts,
                                  const ImportOptions &options) {
  MoreOfEntry more = adapterInputs(context, facts, options);
  int64_t original = 0;
  for (const RotaryFrequencies &rotary : spec.attention.rotary)
    if (rotary.longer)
      original = std::max(original, rotary.longer->original);
  if (original)
    more.inputs.push_back({.name = textLengthName,
                           .type = tensorOf({ShapedType::kDynamic}, IntegerType::get(&context, 32)),
                           .dims = {"rows"},
                           .limit = original + 2});
  return more;
}

Status importing::buildDecoderStep(DecoderModule &decoder, const DecoderSpec &spec, const ParameterSet &parameters,
                                   MapEmbeddings map) {
  OpBuilder &builder = decoder.builder();
  Scope top{builder, parameters};
  Rows rows = decoder.rows();
  SmallVector<Value> state{walkEmbedding(Walk(top), spec, {decoder.tokens(), rows.rowBegin, rows.past}, map)},
      caches = decoder.caches();
  llvm::append_range(state, caches);
  SmallVector<Value> shared{rows.rowBegin, rows.past, rows.table};
  if (Value table = decoder.windowTable())
    shared.push_back(table);
  const bool hasAdapters = !decoder.facts().adapters.empty();
  for (size_t i = 0; hasAdapters && i < adapterValues; ++i)
    shared.push_back(decoder.more(i));
  Value textLength = spec.attention.hasLongerTexts() ? decoder.argument(textLengthName) : Value();
  llvm::append_range(shared,
                     buildRotation(top, spec.attention, decoder.tokens(), rows.rowBegin, rows.past, textLength));
  LayerStack stack{.stack = {spec.layers},
                   .kinds = numberKinds(spec),
                   .slots = numberSlots(spec, caches.size()),
                   .state = state,
                   .shared = shared};
  auto body = [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) {
    const Scope scope{inner, parameters, spec.layer, &layer};
    return buildBlock(scope, spec, hasAdapters, carried, others);
  };
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, buildLayerStack(builder, decoder.entry(), parameters, stack, body));
  decoder.endStep(ValueRange(last).drop_front(), walkHead(Walk(top), spec, last[0], decoder.want()));
  return {};
}

ParameterSet importing::listDecoderParameters(const DecoderSpec &spec, const std::string &prefix) {
  ParameterSet parameters;
  const ParameterScope top{parameters, prefix};
  const Walk walk(top);
  walkEmbedding(walk, spec);
  addLayers(spec, {parameters, prefix + spec.layer, {}, Stack{spec.layers}});
  walkHead(walk, spec);
  return parameters;
}

WindowedLayers importing::windowedLayersOf(const DecoderSpec &spec, int64_t positions) {
  WindowedLayers windowed;
  for (const std::optional<int64_t> &window : spec.attention.windows)
    if (window) {
      ++windowed.count;
      windowed.window = std::max(windowed.window, *window);
    }
  return windowed.window < positions ? windowed : WindowedLayers(); // a window of all positions forgets nothing
}

ModelFacts importing::decoderFacts(const DecoderSpec &spec, const huggingface::ModelDescription &model,
                                   int64_t positions, std::vector<int64_t> endTokens) {
  return {.family = model.modelType(),
          .task = {},
          .layers = spec.layers,
          .hidden = spec.width,
          .heads = spec.attention.heads,
          .kvHeads = spec.attention.kvHeads,
          .headDim = spec.attention.headDim,
          .vocabulary = spec.vocabulary,
          .positions = positions,
          .endTokens = std::move(endTokens)};
}

/// Whether a transformer alone is no language model: its embedding is no head, and the checkpoint has none.
static bool isWithoutHead(const huggingface::ModelDescription &model, const DecoderSpec &spec) {
  const huggingface::TensorTable &tensors = model.tensors();
  return spec.isBase && !spec.head.isTied && !tensors.tensors().empty() &&
         !tensors.find(spec.headPrefix + spec.head.weight + ".weight");
}

/// Whether the model's class, or the modules beside it, read whole texts. Sets the head where the class does not.
static Expected<bool> readsWholeTexts(huggingface::ModelDescription &model, DecoderSpec &spec) {
  if (!spec.wholeHead) {
    RAPT_ASSIGN_OR_RETURN(bool pools, huggingface::poolsTexts(model.path()));
    if (pools || (spec.isBase && spec.isBidirectional) || isWithoutHead(model, spec))
      spec.wholeHead = EncoderHead::None;
    else if (spec.isBidirectional)
      model.config().fail("is_causal is false or use_bidirectional_attention is true, but a language model reads texts "
                          "from their start; supported with classes of whole texts, and with the modules of "
                          "sentence-transformers");
  }
  return spec.wholeHead.has_value();
}

ImportedModule importing::importDecoder(MLIRContext &context, huggingface::ModelDescription &model,
                                        const ImportOptions &options, const DecoderFamily &family) {
  DecoderSpec spec = family.read({model, model.config(), options});
  RAPT_ASSIGN_OR_RETURN(bool isWhole, readsWholeTexts(model, spec));
  if (isWhole) {
    for (const char *part : {".weight", ".bias"})
      spec.ignoredTensors.push_back(spec.headPrefix + spec.head.weight + part);
    RAPT_ASSIGN_OR_RETURN(EncoderSpec encoder, asEncoder(spec, family, model));
    return importEncoder(context, model, options, encoder);
  }
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens, readEndTokens(context, model, spec.vocabulary, spec.endToken));
  RAPT_RETURN_IF_ERROR(model.config().finish(family.harmlessKeys));
  RAPT_ASSIGN_OR_RETURN(int64_t positions, boundPositions(options, spec.positions, spec.positionsKey));

  std::string prefix = model.choosePrefix({spec.prefixes[0], spec.prefixes[1]}, spec.embedding.table + ".weight");
  ParameterSet parameters = listDecoderParameters(spec, prefix);
  // A head that is also the embedding is in some checkpoints.
  std::vector<std::string_view> ignored = family.ignoredTensors;
  const std::string head = spec.head.weight + ".weight";
  ignored.push_back(head);
  ignored.insert(ignored.end(), spec.ignoredTensors.begin(), spec.ignoredTensors.end());
  RAPT_RETURN_IF_ERROR(parameters.resolve(model, ignored));
  RAPT_RETURN_IF_ERROR(parameters.addAdapters(model));

  ModelFacts facts = decoderFacts(spec, model, positions, endTokens);
  facts.adapters = adapterNames(model);
  DecoderModule decoder(context, facts, spec.attention.cacheChannels(), model, parameters, options,
                        windowedLayersOf(spec, positions), moreOfStep(context, spec, facts, options));
  RAPT_RETURN_IF_ERROR(buildDecoderStep(decoder, spec, parameters));
  return decoder.take();
}
