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

/// Lists of layers that have a place of their own in a tensor that the step updates.
struct StatefulLayers {
  std::vector<LayerNumbers> caches;
  LayerNumbers matrices, inputs;
};

StatefulLayers statefulLayersOf(const DecoderSpec &spec, bool hasTwoCaches) {
  StatefulLayers lists{.caches = std::vector<LayerNumbers>(hasTwoCaches ? 2 : 1)};
  for (int64_t layer = 0; layer < spec.layers; ++layer) {
    const Mixer mixer = spec.mixerOf(layer);
    const int64_t number = spec.firstLayer + layer;
    if (attends(mixer) && spec.hasOwnKeys(layer))
      lists.caches[hasTwoCaches && spec.attention.windowOf(layer) ? 1 : 0].push_back(number);
    if (recurs(mixer))
      lists.matrices.push_back(number);
    if (recurs(mixer) || mixer == Mixer::GatedConvolution)
      lists.inputs.push_back(number);
  }
  return lists;
}

/// x [tokens, width] plus the part of the images' vectors that is for the layer, behind their embeddings.
Value addImages(const Scope &scope, Value x, const ImageVectors &images) {
  Location loc = scope.at("image_embeddings");
  Value part = arith::AddIOp::create(scope.builder, loc, scope.layer->number,
                                     arith::ConstantIndexOp::create(scope.builder, loc, 1));
  return attn::WriteRowsOp::create(scope.builder, loc, attn::RowWrite::add, x, images.vectors, part, images.tokens);
}

/// One layer: x [tokens, width], the caches and the states of sequences to those after it. `shared` are the rows, the
/// block table of each cache, slots of states and tables of rotation.
class BlockWalk {
public:
  BlockWalk(const DecoderSpec &spec, const DecoderInputs &inputs)
      : spec(spec), caches(inputs.caches.size()), hasMatrices(inputs.matrices), hasInputs(inputs.lastInputs),
        hasSeenEnd(inputs.seenEnd), lists(statefulLayersOf(spec, caches > 1)) {}

  std::vector<LayerNumbers> places() const {
    std::vector<LayerNumbers> all = lists.caches;
    all.push_back(lists.matrices);
    all.push_back(lists.inputs);
    llvm::erase_if(all, [](const LayerNumbers &list) { return list.empty(); });
    return all;
  }

  SmallVector<Value> layer(const Walk &layer, ValueRange state, ValueRange shared) const {
    SmallVector<Value> next(state);
    if (layer.declares()) {
      walkLayer(layer, spec, /*x=*/{}, {});
      return next;
    }
    auto take = [&](bool exists) {
      Value value = exists ? shared.front() : Value();
      shared = shared.drop_front(exists ? 1 : 0);
      return value;
    };
    Rows rows{take(true), take(caches > 0), take(caches > 0)};
    Value windowTable = take(caches > 1);
    rows.seenEnd = take(hasSeenEnd);
    size_t which = 0;
    LayerRef inCache;
    layer.emit([&](const Scope &scope) {
      if (!attends(spec.mixerOf(scope.layer->example)))
        return;
      inCache = *scope.layer;
      which = caches > 1 && spec.attention.windowOf(inCache.example) ? 1 : 0;
      const LayerNumbers &list = lists.caches[which];
      if (spec.hasOwnKeys(inCache.example))
        inCache.number = inCache.placeAmong(list);
      else
        inCache.number =
            arith::ConstantIndexOp::create(scope.builder, scope.at(spec.attention.location),
                                           llvm::find(list, spec.keysOfLayer(inCache.example)) - list.begin());
    });
    if (which == 1)
      rows.table = windowTable;
    auto ofCache = [&](Scope scope) {
      scope.layer = &inCache;
      return scope;
    };
    auto keep = [&](const CausalAttention &attention) -> Attended {
      next[1 + which] = attention.cache;
      return {attention.result, attention.op};
    };
    auto attend = [&](const Scope &scope, Location loc, std::array<Value, 3> queryKeyValue, Value scale,
                      std::optional<int64_t> window) {
      return keep(causalAttention(ofCache(scope), loc, queryKeyValue, scale, next[1 + which], rows, window));
    };
    auto attendLatents = [&](const Scope &scope, Location loc, const LatentHeads &heads, Value scale,
                             std::optional<int64_t> window) {
      return keep(latentAttention(ofCache(scope), loc, heads, scale, next[1 + which], rows, window));
    };
    const bool hasOwn = spec.ownInputs.has_value();
    OwnInputs own{.columns = take(hasOwn), .rows = take(hasOwn)};
    const bool hasStates = hasMatrices || hasInputs;
    MixerStates states{.rowBegin = rows.rowBegin,
                       .from = take(hasStates),
                       .to = take(hasStates),
                       .matrices = hasMatrices ? next[1 + caches] : Value(),
                       .inputs = hasInputs ? next.back() : Value(),
                       .matrixLayers = lists.matrices,
                       .inputLayers = lists.inputs};
    const bool hasImages = spec.imageLayers > 0;
    const ImageVectors images{.vectors = take(hasImages), .tokens = take(hasImages)};
    next[0] = walkLayer(
        layer, spec, state[0],
        {.rotation = shared, .attend = attend, .attendLatents = attendLatents, .states = &states, .own = own});
    layer.emit([&](const Scope &scope) {
      if (scope.layer->example < spec.imageLayers)
        next[0] = addImages(scope, next[0], images);
    });
    if (hasMatrices)
      next[1 + caches] = states.matrices;
    if (hasInputs)
      next.back() = states.inputs;
    return next;
  }

private:
  const DecoderSpec &spec;
  size_t caches;
  bool hasMatrices, hasInputs, hasSeenEnd;
  StatefulLayers lists;
};

} // namespace

int64_t importing::longestShortText(const DecoderSpec &spec) {
  int64_t longest = 0;
  for (const RotaryFrequencies &rotary : spec.attention.rotary)
    if (rotary.longer)
      longest = std::max(longest, rotary.longer->original);
  return longest;
}

Expected<SmallVector<Value>> importing::walkDecoder(const Walk &walk, const DecoderSpec &spec,
                                                    const DecoderInputs &inputs, MapEmbeddings map) {
  const Rows &rows = inputs.rows;
  const TextTokens tokens{inputs.tokens, rows.rowBegin, rows.past};
  Value positions = walkPositions(walk, spec, tokens), x = walkWords(walk, spec, inputs.tokens);
  walk.emit([&](const Scope &top) { x = map ? map(top, x) : x; });
  x = walkEmbedding(walk, spec, x, positions, tokens);
  OwnInputs own = spec.ownInputs ? walkOwnInputs(walk, spec, inputs.tokens, x) : OwnInputs();
  const BlockWalk block(spec, inputs);
  WalkedLayers layers{.loop = {.stack = {.layers = spec.layers, .first = spec.firstLayer},
                               .kinds = numberKinds(spec),
                               .among = block.places()},
                      .path = spec.layer,
                      .state = {x},
                      .shared = {rows.rowBegin},
                      .adapters = inputs.adapters};
  llvm::append_range(layers.state, inputs.caches);
  for (Value states : {inputs.matrices, inputs.lastInputs})
    if (states)
      layers.state.push_back(states);
  const ImageVectors images = spec.imageLayers ? inputs.images : ImageVectors();
  for (Value shared : {rows.past, rows.table, inputs.windowTable, inputs.seenEnd, own.columns, own.rows,
                       inputs.stateSlot, inputs.stateTarget, images.vectors, images.tokens})
    if (shared)
      layers.shared.push_back(shared);
  layers.further = walk.emit([&](const Scope &top) {
    return buildRotation(top, spec.attention, inputs.tokens, rows.rowBegin, rows.past, inputs.textLength,
                         inputs.rotaryPositions);
  });
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last,
                        walkLayers(walk, layers, [&](const Walk &layer, ValueRange state, ValueRange shared) {
                          return block.layer(layer, state, shared);
                        }));
  last[0] = walkHead(walk, walk, spec, spec.head, last[0], inputs.want);
  return last;
}

Status importing::buildDecoderStep(DecoderModule &decoder, const DecoderSpec &spec, MapEmbeddings map) {
  const DecoderInputs inputs{
      .tokens = decoder.argument(EntryRole::Tokens),
      .want = decoder.argument(EntryRole::Want),
      .rows = decoder.rows(),
      .caches = decoder.caches(),
      .windowTable = decoder.argument(EntryRole::WindowTable),
      .adapters = decoder.adapters(),
      .textLength = decoder.argument(EntryRole::TextLength),
      .rotaryPositions = decoder.argument(EntryRole::RotaryPositions),
      .images = {decoder.argument(EntryRole::Embeddings), decoder.argument(EntryRole::EmbeddingTokens)},
      .seenEnd = decoder.argument(EntryRole::SeenEnd),
      .matrices = decoder.argument(EntryRole::State),
      .lastInputs = decoder.argument(EntryRole::ConvState),
      .stateSlot = decoder.argument(EntryRole::StateSlot),
      .stateTarget = decoder.argument(EntryRole::StateTarget)};
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, walkDecoder(Walk(decoder.scope()), spec, inputs, map));
  ValueRange kept = ValueRange(last).drop_front();
  decoder.endStep(kept.take_front(inputs.caches.size()), last[0], kept.drop_front(inputs.caches.size()));
  return {};
}

StateLayers importing::stateLayersOf(const DecoderSpec &spec) {
  const StatefulLayers lists = statefulLayersOf(spec, /*hasTwoCaches=*/false);
  StateLayers states{.count = spec.layers - int64_t(lists.caches[0].size())};
  const auto matrices = int64_t(lists.matrices.size()), inputs = int64_t(lists.inputs.size());
  auto convolved = [&](const ShortConvSpec &convolution, int64_t channels) {
    states.inputs = {inputs, convolution.taps - 1, channels};
  };
  if (const std::optional<StateSpaceSpec> &s = spec.stateSpace; s && matrices) {
    states.matrices = {matrices, s->heads, s->stateSize, s->headDim};
    convolved(s->convolution, s->convolved());
  } else if (const std::optional<DeltaRuleSpec> &d = spec.delta; d && matrices) {
    states.matrices = {matrices, d->valueHeads, d->keyDim, d->valueDim};
    convolved(d->convolution, d->convolved());
  } else if (spec.convolution && inputs) {
    convolved(spec.convolution->convolution, spec.width);
  }
  return states;
}

static WindowedLayers windowedLayersOf(const DecoderSpec &spec, int64_t positions) {
  WindowedLayers windowed;
  for (int64_t layer = 0; layer < spec.layers; ++layer)
    if (std::optional<int64_t> window = spec.attention.windowOf(layer)) {
      windowed.count += spec.hasOwnKeys(layer) ? 1 : 0;
      windowed.window = std::max(windowed.window, *window);
    }
  // A window of all positions forgets nothing, but may be of layers with other heads.
  return windowed.window < positions || spec.wholeAttention ? windowed : WindowedLayers();
}

CachesOfLayers importing::cachesOf(const DecoderSpec &spec, int64_t positions) {
  auto headsOf = [](const AttentionSpec &attention) {
    return CachedHeads{attention.kvHeads, attention.cacheChannels()};
  };
  return {.whole = headsOf(spec.wholeAttention ? *spec.wholeAttention : spec.attention),
          .windowed = headsOf(spec.attention),
          .windows = windowedLayersOf(spec, positions)};
}

ModelFacts importing::decoderFacts(const DecoderSpec &spec, const huggingface::ModelDescription &model,
                                   int64_t positions, std::vector<int64_t> endTokens) {
  ModelFacts facts = factsOf(model, spec);
  facts.task = "decoder";
  facts.vocabulary = spec.vocabulary;
  facts.positions = positions;
  facts.endTokens = std::move(endTokens);
  return facts;
}

/// Whether a transformer alone is no language model: its embedding is no head, and the checkpoint has none.
static bool isWithoutHead(const huggingface::ModelDescription &model, const DecoderSpec &spec) {
  const huggingface::TensorTable &tensors = model.tensors();
  return spec.isBase && !spec.head.isTied && !tensors.tensors().empty() &&
         !tensors.find(spec.head.prefix + spec.head.weight + ".weight");
}

/// Whether the model's class, or the modules beside it, read whole texts. Sets the head where the class does not.
static Expected<bool> readsWholeTexts(huggingface::ModelDescription &model, DecoderSpec &spec) {
  if (!spec.wholeHead) {
    RAPT_ASSIGN_OR_RETURN(bool pools, huggingface::poolsTexts(model.moduleFiles()));
    if (pools || (spec.isBase && spec.isBidirectional) || isWithoutHead(model, spec))
      spec.wholeHead = EncoderHead::None;
    else if (spec.isBidirectional)
      model.config().fail("is_causal is false, or use_bidirectional_attention is true or \"all\", but a language model "
                          "reads texts from their start; supported with classes of whole texts, and with the modules "
                          "of sentence-transformers");
  }
  return spec.wholeHead.has_value();
}

/// A part of the specification that no encoder has; empty: none.
static std::string unsupportedPart(const DecoderSpec &spec) {
  if (!spec.embedding.projection.empty())
    return "an embedding that is narrower than its layers";
  const bool isCentered = spec.convolution && spec.convolution->convolution.isCentered;
  if (spec.isBidirectional && !spec.mixers.empty() && !isCentered)
    return "recurrences or causal convolutions of tokens that see those behind them";
  if (spec.isBidirectional && !spec.attention.slopes.empty())
    return "biases by distance between tokens that see those behind them";
  if (spec.isBidirectional && !spec.isWindowAround && !spec.attention.windows.empty())
    return "windows of tokens that see those behind them";
  return {};
}

/// The decoder as an encoder of whole texts, without a cache, whose tokens see none behind them: models of
/// sentence-transformers, rewards, rerankers. It refers to the strings of both.
static Expected<EncoderSpec> asEncoder(const DecoderSpec &spec, const DecoderFamily &family,
                                       const huggingface::ModelDescription &model) {
  if (const std::string part = unsupportedPart(spec); !part.empty())
    return Error{shownPath(model.path()) + ": programs of family \"" + model.modelType() +
                 "\" that read whole texts cannot have " + part + "; supported is its language model"};
  EncoderSpec encoder;
  static_cast<TextSpec &>(encoder) = spec;
  encoder.embedding.location = encoder.embedding.positions.location = embeddingsLocation;
  encoder.labels = spec.labels;
  encoder.prefix = spec.prefixes[0];
  encoder.furtherPrefixes = {spec.prefixes[1], spec.prefixOfTexts};
  encoder.isCausal = !spec.isBidirectional;
  encoder.head = *spec.wholeHead;
  encoder.isTied = spec.head.isTied;
  encoder.masked = {.path = spec.head.prefix, .transform = {}, .bias = "", .weight = spec.head.weight + ".weight"};
  encoder.classifier = {.transform = {},
                        .projection = "score",
                        .isPooler = false,
                        .pooling = attn::PoolingKind::last,
                        .hasBias = false,
                        .padding = spec.padding};
  encoder.tokens.projection = model.tensors().find("classifier.weight") ? "classifier" : "score";
  encoder.harmlessKeys = family.harmlessKeys;
  encoder.ignoredTensors = family.ignoredTensors;
  encoder.ignoredTensors.insert(encoder.ignoredTensors.end(), spec.ignoredTensors.begin(), spec.ignoredTensors.end());
  return encoder;
}

ImportedModule importing::importDecoder(MLIRContext &context, huggingface::ModelDescription &model,
                                        const ImportOptions &options, const DecoderFamily &family) {
  DecoderSpec spec = family.read({model, model.config(), options});
  RAPT_ASSIGN_OR_RETURN(bool isWhole, readsWholeTexts(model, spec));
  if (isWhole) {
    for (const char *part : {".weight", ".bias"})
      spec.ignoredTensors.push_back(spec.head.prefix + spec.head.weight + part);
    RAPT_ASSIGN_OR_RETURN(EncoderSpec encoder, asEncoder(spec, family, model));
    return importEncoder(context, model, options, encoder);
  }
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens, readEndTokens(context, model, spec.vocabulary, spec.endToken));
  RAPT_RETURN_IF_ERROR(model.config().finish(family.harmlessKeys));
  RAPT_ASSIGN_OR_RETURN(int64_t positions, boundPositions(options, spec.positions, spec.positionsKey));

  std::string prefix = model.choosePrefix({spec.prefixes[0], spec.prefixes[1]}, spec.embedding.words + ".weight");
  // A head that is also the embedding is in some checkpoints.
  std::vector<std::string_view> ignored = family.ignoredTensors;
  const std::string head = spec.head.weight + ".weight";
  ignored.push_back(head);
  ignored.insert(ignored.end(), spec.ignoredTensors.begin(), spec.ignoredTensors.end());
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters,
                        findWeights(model, prefix, ignored, [&](const Walk &walk) { (void)walkDecoder(walk, spec); }));
  ModelFacts facts = decoderFacts(spec, model, positions, endTokens);
  DecoderModule decoder(context, facts, cachesOf(spec, positions), model, parameters, options,
                        {.longestShortText = longestShortText(spec), .states = stateLayersOf(spec)});
  RAPT_RETURN_IF_ERROR(buildDecoderStep(decoder, spec));
  return decoder.take();
}
