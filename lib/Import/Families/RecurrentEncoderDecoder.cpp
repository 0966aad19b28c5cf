//===- RecurrentEncoderDecoder.cpp - Recurrent sequence to sequence models -----===//
//
// Sutskever et al. 2014 (the last state alone, the source reversed), Bahdanau et al.
// 2015 (additive attention, which the decoder's state asks before each step) and
// Luong et al. 2015 (dot and general attention after each step, with or without input
// feeding), by the schema of docs/Recurrent.md.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/EncoderDecoder.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Heads.h"
#include "lib/Import/Recurrent.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

enum class Head { ConditionalGeneration };
constexpr HeadName<Head> heads[] = {{"RecurrentForConditionalGeneration", Head::ConditionalGeneration}};

enum class Attention { None, Bahdanau, LuongDot, LuongGeneral };

struct Config {
  RecurrentStack encoder, decoder;
  Attention attention;
  Vocabularies vocabularies;
  int64_t positions, startToken, embedding, attentionSize = 0;
  bool copies, feeds, shared, tied;
  bool isScoreMatrix = false; ///< the checkpoint has attention.score as the weight of a Linear with one output

  bool attends() const { return attention != Attention::None; }
  bool isLuong() const { return attention == Attention::LuongDot || attention == Attention::LuongGeneral; }
  /// A token's input needs what the step before gave, so that a step has one token of each row.
  bool isSerial() const { return attention == Attention::Bahdanau || feeds; }
  int64_t memory() const { return encoder.outputs(); }
  /// Keys and values have one size in the cache: narrower keys are kept once for each direction, beside its outputs.
  int64_t cacheLayers() const { return attentionSize == memory() ? 1 : encoder.directions(); }
  /// Columns that the head reads.
  int64_t headInputs() const {
    return attention == Attention::Bahdanau ? decoder.hidden + memory() + embedding : decoder.hidden;
  }
  int64_t keptParts() const { return decoder.layers * decoder.states() + (feeds ? 1 : 0); }
  std::string decoderEmbedding() const { return shared ? "encoder_embedding" : "decoder_embedding"; }
};

Attention readAttention(huggingface::ConfigReader &reader) {
  std::string name = reader.getEnum("attention", {"none", "bahdanau", "luong_dot", "luong_general"}, "none");
  return name == "bahdanau"        ? Attention::Bahdanau
         : name == "luong_dot"     ? Attention::LuongDot
         : name == "luong_general" ? Attention::LuongGeneral
                                   : Attention::None;
}

/// Reports sizes that do not fit together.
void checkSizes(huggingface::ConfigReader &reader, const Config &config) {
  auto number = [](int64_t value) { return std::to_string(value); };
  const std::string memory = "the encoder's output of " + number(config.memory()) + " columns";
  if (config.copies && (config.encoder.layers != config.decoder.layers || config.memory() != config.decoder.hidden))
    reader.fail("bridge \"copy\" needs as many decoder_layers " + number(config.decoder.layers) +
                " as encoder_layers " + number(config.encoder.layers) + ", and hidden_size " +
                number(config.decoder.hidden) + " equal to " + memory);
  if (config.attention == Attention::LuongDot && config.memory() != config.decoder.hidden)
    reader.fail("attention \"luong_dot\" needs hidden_size " + number(config.decoder.hidden) + " equal to " + memory);
  if (config.attention == Attention::Bahdanau && config.attentionSize != config.memory() &&
      config.attentionSize != config.encoder.hidden)
    reader.fail("attention_size " + number(config.attentionSize) + " is neither encoder_hidden_size " +
                number(config.encoder.hidden) + " nor that of " + memory);
  if (config.tied && config.headInputs() != config.embedding)
    reader.fail("tie_word_embeddings needs embedding_size " + number(config.embedding) + " equal to the " +
                number(config.headInputs()) + " columns that the head reads");
  config.vocabularies.check(reader, config.startToken, config.shared);
}

Config readConfig(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  readHead<Head>(model, heads, Head::ConditionalGeneration);
  Config config;
  attn::RecurrenceKind cell = readCell(reader);
  bool bias = reader.getBool("bias", true), bidirectional = reader.getBool("bidirectional", false);
  int64_t hidden = readHiddenSize(reader, "hidden_size");
  config.vocabularies = readVocabularies(reader);
  config.embedding = readHiddenSize(reader, "embedding_size", hidden);
  config.encoder = {cell,
                    "encoder",
                    config.embedding,
                    readHiddenSize(reader, "encoder_hidden_size", hidden),
                    readLayerCount(reader, "encoder_layers", 1),
                    bidirectional,
                    bias,
                    /*reversed=*/reader.getBool("reverse_source", false)};
  config.decoder = {cell,
                    "decoder",
                    config.embedding,
                    hidden,
                    readLayerCount(reader, "decoder_layers", config.encoder.layers),
                    /*bidirectional=*/false,
                    bias};
  config.attention = readAttention(reader);
  config.feeds = config.isLuong() && reader.getBool("input_feeding", true);
  config.copies = reader.getEnum("bridge", {"copy", "dense"}, bidirectional ? "dense" : "copy") == "copy";
  if (config.attention == Attention::Bahdanau)
    config.attentionSize = readHiddenSize(reader, "attention_size", config.encoder.hidden);
  else if (config.attends())
    config.attentionSize = config.memory();
  config.decoder.inputs += config.attention == Attention::Bahdanau ? config.memory() : config.feeds ? hidden : 0;
  config.positions = reader.getInt("max_length", 1, 1 << 24, 1024);
  config.startToken = reader.getInt("decoder_start_token_id", 0, INT32_MAX);
  config.shared = reader.getBool("share_embeddings", false);
  config.tied = reader.getBool("tie_word_embeddings", false);
  if (reader.errors())
    checkSizes(reader, config);
  return config;
}

/// The projections that make a state of each layer of the decoder, where the encoder's are not copied.
Stack bridgeOf(const Config &config) { return {config.decoder.layers, "bridge"}; }
std::string bridgePart(int64_t state) { return state ? "bridge.c" : "bridge.h"; }

ParameterSet listParameters(const Config &config) {
  ParameterSet parameters;
  auto matrix = [&](const std::string &name, int64_t out, int64_t in) {
    parameters.add(name, name, {out, in}, Init::weight(in));
  };
  auto bias = [&](const std::string &part, int64_t out) {
    parameters.add(part + ".bias", part + ".bias", {out}, Init::bias());
  };
  int64_t words = config.vocabularies.target;
  auto table = [&](const std::string &name, int64_t rows) {
    parameters.add(name, name, {rows, config.embedding}, Init::embedding());
  };
  table("encoder_embedding.weight", config.vocabularies.read());
  if (!config.shared)
    table("decoder_embedding.weight", words);
  config.encoder.addTo(parameters);
  config.decoder.addTo(parameters);
  int64_t hidden = config.decoder.hidden, memory = config.memory();
  for (int64_t state = 0; state < config.decoder.states() && !config.copies; ++state) {
    std::string part = bridgePart(state), tensor = part + "_l" + layerPlaceholder.str();
    parameters.addStacked(bridgeOf(config), part + ".weight", tensor + ".weight", {hidden, memory},
                          Init::weight(memory));
    parameters.addStacked(bridgeOf(config), part + ".bias", tensor + ".bias", {hidden}, Init::bias());
  }
  if (config.attention == Attention::Bahdanau) {
    matrix("attention.query.weight", config.attentionSize, hidden);
    matrix("attention.key.weight", config.attentionSize, memory);
    const bool isMatrix = config.isScoreMatrix;
    artifact::Source score{isMatrix ? "attention.score.weight" : "attention.score", {config.attentionSize}};
    score.transforms = {artifact::Reshape{score.shape}};
    if (isMatrix)
      score.shape.insert(score.shape.begin(), 1);
    parameters.addTransformed("attention.score", score, Init::weight(config.attentionSize));
  }
  if (config.attention == Attention::LuongGeneral)
    matrix("attention.key.weight", hidden, memory);
  if (config.isLuong())
    matrix("attention.combine.weight", hidden, memory + hidden);
  if (!config.tied)
    matrix("lm_head.weight", words, config.headInputs());
  bias("lm_head", words);
  return parameters;
}

/// Ops on one layer of the cache.
struct CacheLayer {
  CacheLayer(const Scope &top, int64_t number)
      : ref{arith::ConstantIndexOp::create(top.builder, top.at("attention"), number), number},
        scope{top.builder, top.parameters, {}, &ref} {}
  LayerRef ref;
  Scope scope;
};

/// The module under construction with what its entries share.
class Entries {
public:
  Entries(ModelModule &module, const Config &config, const ParameterSet &parameters, const ImportOptions &options);
  Status buildEncode();
  Status buildStep();

private:
  Value argument(StringRef name);
  /// Entries whose buffers begin with what sequences keep.
  func::FuncOp begin(StringRef name, ArrayRef<EntryBuffer> inputs, EntryBuffer output);
  void end(Value state, Value cache, Value output);
  Status bridge(Value last, KeptStates &kept);
  Value appendMemory(const RecurrentEncoding &encoding);
  Value attend(Value query);
  Value concat(ValueRange parts) { return attn::ConcatOp::create(builder, top.at("decoder"), parts); }

  ModelModule &module;
  const Config &config;
  OpBuilder &builder;
  Scope top;
  Type list, table, cacheType;
  RankedTensorType stateType;
  func::FuncOp entry;
};

Entries::Entries(ModelModule &module, const Config &config, const ParameterSet &parameters,
                 const ImportOptions &options)
    : module(module), config(config), builder(module.builder()), top{builder, parameters} {
  int64_t any = ShapedType::kDynamic, blocks = (config.positions + options.cacheBlock - 1) / options.cacheBlock;
  module.dim("tokens", 0, options.maxTokens);
  module.dim("rows", 1, options.maxBatch);
  module.dim("wanted", 0, options.maxTokens);
  module.dim("slots", 1, int64_t(1) << 20);
  if (config.attends()) {
    module.dim("blocks", 1, std::max<int64_t>(int64_t(1) << 20, blocks * options.maxBatch));
    module.dim("source_blocks", 1, blocks);
    int64_t width = config.memory() / config.cacheLayers();
    cacheType = attn::KVCacheType::get(builder.getContext(), config.cacheLayers(), /*heads=*/1, width,
                                       options.cacheBlock, builder.getF32Type());
  }
  module.declareParameters();
  list = tensorOf({any}, builder.getI32Type());
  table = tensorOf({any, any}, builder.getI32Type());
  stateType = keptType(builder, config.keptParts(), config.decoder.hidden);
}

Value Entries::argument(StringRef name) {
  for (BlockArgument argument : entry.getArguments())
    if (entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attn::AttnDialect::nameAttr) == name)
      return argument;
  llvm_unreachable("the entry has no such argument");
}

func::FuncOp Entries::begin(StringRef name, ArrayRef<EntryBuffer> inputs, EntryBuffer output) {
  SmallVector<EntryBuffer> all{{"state", stateType, {"slots"}}}, outputs{{"state", stateType, {}}};
  if (config.attends()) {
    all.push_back({"cache", cacheType, {"blocks"}});
    outputs.push_back({"cache", cacheType, {}});
  }
  all.append(inputs.begin(), inputs.end());
  outputs.push_back(std::move(output));
  return module.beginEntry(name, all, outputs);
}

void Entries::end(Value state, Value cache, Value output) {
  if (cache)
    module.endEntry({state, cache, output});
  else
    module.endEntry({state, output});
}

/// The decoder's first states from `last`, h of the encoder's last layer.
Status Entries::bridge(Value last, KeptStates &kept) {
  Value state[] = {kept.state}, shared[] = {last, kept.target};
  auto body = [&](OpBuilder &inner, const LayerRef &layer, ValueRange before, ValueRange others) {
    Scope scope{inner, top.parameters, {}, &layer};
    KeptStates own{before[0], Value(), others[1]};
    for (int64_t number = 0; number < config.decoder.states(); ++number) {
      std::string part = bridgePart(number);
      Value projected = dense(scope, others[0], part);
      Value first = attn::ActivationOp::create(inner, scope.at(part), attn::ActivationKind::tanh, projected);
      own.write(scope, scope.at(part), config.decoder.partOf(scope, layer.number, number), first);
    }
    return SmallVector<Value>{own.state};
  };
  Expected<SmallVector<Value>> filled = buildLayerStack(
      builder, entry, top.parameters, {.stack = bridgeOf(config), .state = state, .shared = shared}, body);
  if (!filled)
    return filled.error();
  kept.state = filled->front();
  return {};
}

/// The cache with keys and values of the sources.
Value Entries::appendMemory(const RecurrentEncoding &encoding) {
  Rows rows{argument("row_begin"), argument("past"), argument("source_table")};
  Value cache = argument("cache");
  Location loc = top.at("attention");
  bool isAdditive = config.attention == Attention::Bahdanau;
  Value keys = splitHeads(top, loc, isAdditive ? dense(top, encoding.output, "attention.key") : encoding.output, 1);
  for (int64_t i = 0; i < config.cacheLayers(); ++i) {
    Value values = config.cacheLayers() == 1 ? encoding.output : encoding.directions[i];
    cache = appendSource(CacheLayer(top, i).scope, loc, cache, keys, splitHeads(top, loc, values, 1), rows);
  }
  return cache;
}

Status Entries::buildEncode() {
  Type hidden = tensorOf({ShapedType::kDynamic, config.memory()}, builder.getF32Type());
  SmallVector<EntryBuffer> inputs{{"input_ids", list, {"tokens"}, config.vocabularies.read()},
                                  {"row_begin", list, {"rows+1"}},
                                  {"state_target", list, {"rows"}}};
  if (config.attends())
    inputs.append({{"past", list, {"rows"}}, {"source_table", table, {"rows", "source_blocks"}}});
  entry = begin("encode", inputs, {"encoder_last_hidden_state", hidden, {"tokens"}});
  Value x = embed(top, argument("input_ids"), "encoder_embedding.weight");
  KeptStates kept{argument("state"), Value(), argument("state_target")};
  Expected<RecurrentEncoding> encoding =
      encodeLayers(top, entry, config.encoder, x, argument("row_begin"), config.copies ? &kept : nullptr);
  if (!encoding)
    return encoding.error();
  if (!config.copies)
    if (Status status = bridge(encoding->states.front(), kept); !status)
      return status.error();
  end(kept.state, config.attends() ? appendMemory(*encoding) : Value(), encoding->output);
  return {};
}

/// The attention of each token's query to its sequence's source.
Value Entries::attend(Value query) {
  Location loc = top.at("attention");
  Sources sources{argument("source_length"), argument("source_table")};
  Value scale = constant(top, loc, 1), heads = splitHeads(top, loc, query, 1);
  Value additive = config.attention == Attention::Bahdanau ? top.weight("attention.score") : Value();
  SmallVector<Value, 2> parts;
  for (int64_t i = 0; i < config.cacheLayers(); ++i) {
    Value seen =
        crossAttention(CacheLayer(top, i).scope, loc, heads, scale, argument("cache"), argument("row_begin"), sources);
    if (additive)
      seen.getDefiningOp<attn::AttentionOp>().getAdditiveMutable().assign(additive);
    parts.push_back(mergeHeads(top, loc, seen));
  }
  return parts.size() == 1 ? parts[0] : concat(parts);
}

Status Entries::buildStep() {
  SmallVector<EntryBuffer> inputs{{"tokens", list, {config.isSerial() ? "rows" : "tokens"}},
                                  {"row_begin", list, {"rows+1"}},
                                  {"state_slot", list, {"rows"}},
                                  {"state_target", list, {"rows"}},
                                  {"want", list, {"wanted"}}};
  if (config.attends())
    inputs.append({{"source_length", list, {"rows"}}, {"source_table", table, {"rows", "source_blocks"}}});
  Type logits = tensorOf({ShapedType::kDynamic, config.vocabularies.target}, builder.getF32Type());
  entry = begin("step", inputs, {"logits", logits, {"wanted"}});

  KeptStates kept{argument("state"), argument("state_slot"), argument("state_target")};
  Value embedded = embed(top, argument("tokens"), config.decoderEmbedding() + ".weight"), x = embedded;
  Value context;
  if (config.attention == Attention::Bahdanau) {
    int64_t last = (config.decoder.layers - 1) * config.decoder.states();
    context = attend(dense(top, kept.read(top, top.at("attention.query"), last), "attention.query"));
    x = concat({embedded, context});
  } else if (config.feeds) {
    x = concat({embedded, kept.read(top, top.at("attention"), config.keptParts() - 1)});
  }
  Expected<Value> output = stepLayers(top, entry, config.decoder, x, argument("row_begin"), kept);
  if (!output)
    return output.error();
  x = *output;
  if (config.attention == Attention::Bahdanau) {
    x = concat({x, context, embedded});
  } else if (config.isLuong()) {
    bool isGeneral = config.attention == Attention::LuongGeneral;
    context = attend(isGeneral ? linear(top, x, "attention.key") : x);
    x = dense(top, concat({context, x}), "attention.combine");
    x = attn::ActivationOp::create(builder, top.at("attention.combine"), attn::ActivationKind::tanh, x);
    if (config.feeds)
      kept.write(top, top.at("attention"), config.keptParts() - 1, x);
  }
  Value wanted = attn::SelectRowsOp::create(builder, top.at("lm_head"), x.getType(), x, argument("want"));
  Value head = top.weight(config.tied ? config.decoderEmbedding() + ".weight" : "lm_head.weight");
  end(kept.state, config.attends() ? argument("cache") : Value(),
      project(top, wanted, head, "lm_head", top.weight("lm_head.bias")));
  return {};
}

} // namespace

Expected<OwningOpRef<ModuleOp>> importing::importRecurrentEncoderDecoder(MLIRContext &context,
                                                                         huggingface::ModelDescription &model,
                                                                         const ImportOptions &options) {
  Config config = readConfig(model);
  Expected<std::vector<int64_t>> endTokens =
      readEndTokens(context, model, config.vocabularies.target, /*fallback=*/std::nullopt);
  if (!endTokens)
    return endTokens.error();
  if (Status status = model.config().finish({"dropout", "is_encoder_decoder"}); !status)
    return status.error();
  if (options.maxSequenceLength)
    config.positions = options.maxSequenceLength;
  config.isScoreMatrix = model.tensors().find("attention.score.weight");
  ParameterSet parameters = listParameters(config);
  if (Status status = parameters.resolve(model, {}); !status)
    return status.error();
  ModelFacts facts{.family = "recurrent-encoder-decoder",
                   .task = "text2text-generation",
                   .layers = config.decoder.layers,
                   .hidden = config.memory(),
                   .heads = config.attends() ? 1 : 0,
                   .kvHeads = config.attends() ? 1 : 0,
                   .headDim = config.attends() ? config.memory() / config.cacheLayers() : 0,
                   .vocabulary = config.vocabularies.target,
                   .positions = config.positions,
                   .endTokens = *endTokens,
                   .startToken = config.startToken,
                   .sourceVocabulary = config.vocabularies.source};
  ModelModule module(context, facts, model, parameters);
  Entries entries(module, config, parameters, options);
  if (Status status = entries.buildEncode(); !status)
    return status.error();
  if (Status status = entries.buildStep(); !status)
    return status.error();
  return module.take();
}
