//===- RecurrentEncoderDecoder.cpp - Recurrent sequence to sequence models -----===//
//
// Sutskever et al. 2014 (the last state alone, the source reversed), Bahdanau et al.
// 2015 (additive attention, which the decoder's state asks before each step) and
// Luong et al. 2015 (dot and general attention after each step, with or without input
// feeding), by the schema of docs/Recurrent.md.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Specs/RecurrentEntries.h"

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

/// The projections that make the states of the decoder, where the encoder's are not copied.
FirstStates firstStates(const Config &config) { return {{"bridge.h", "bridge.c"}, "bridge", config.memory()}; }

/// What the table of roles leaves to such a model.
SequenceFacts sequenceFactsOf(MLIRContext &context, const Config &config, const ImportOptions &options) {
  SequenceFacts facts{.parts = part::Always | part::Recurrent | part::Words,
                      .isSerial = config.isSerial(),
                      .longestSource = config.positions};
  facts.buffers[EntryRole::State].numbers = {config.keptParts(), config.decoder.hidden};
  facts.buffers[EntryRole::InputIds].limit = config.vocabularies.read();
  facts.buffers[EntryRole::Hidden].numbers = {config.memory()};
  facts.buffers[EntryRole::Logits].numbers = {config.vocabularies.target};
  if (config.attends()) {
    const attn::KVPart part{config.memory() / config.cacheLayers(), Float32Type::get(&context)};
    const attn::KVSegment memory{config.cacheLayers(), /*heads=*/1, part, part};
    facts.parts |= part::Source;
    facts.buffers[EntryRole::Cache].layout = attn::KVCacheType::get(&context, memory, options.cacheBlock);
  }
  return facts;
}

class Entries : RecurrentEntries {
public:
  Entries(MLIRContext &context, const Walk &walk, ModelModule *module, const Config &config,
          const ImportOptions &options)
      : RecurrentEntries(context, walk, module, sequenceFactsOf(context, config, options), options), config(config),
        isAdditive(config.attention == Attention::Bahdanau) {}

  /// Both entries.
  Status walkAll() {
    RAPT_RETURN_IF_ERROR(walkEncode());
    return walkStep();
  }

private:
  Status walkEncode();
  Status walkStep();
  Value appendMemory(const RecurrentEncoding &encoding);
  Value attendAll(Value query);
  Value embedded(EntryRole ids, const std::string &table, int64_t words) {
    return walk.table(argument(ids), table + ".weight", words, config.embedding);
  }

  const Config &config;
  bool isAdditive;
};

/// The cache with keys and values of the sources.
Value Entries::appendMemory(const RecurrentEncoding &encoding) {
  Value rowBegin = argument(EntryRole::RowBegin), cache = argument(EntryRole::Cache), keys = encoding.output;
  if (isAdditive)
    keys = matmul(keys, "attention.key", config.attentionSize, config.memory());
  keys = walk.splitHeads(keys, "attention", 1);
  for (int64_t i = 0; i < config.cacheLayers() && !walk.declares(); ++i) {
    Value values = config.cacheLayers() == 1 ? encoding.output : encoding.directions[i];
    cache = append(cache, i, keys, values, rowBegin);
  }
  return cache;
}

Status Entries::walkEncode() {
  beginEncode();
  Value x = embedded(EntryRole::InputIds, "encoder_embedding", config.vocabularies.read());
  KeptStates kept = keptStatesOf(*this);
  RAPT_ASSIGN_OR_RETURN(RecurrentEncoding encoding, encodeLayers(walk, config.encoder, x, argument(EntryRole::RowBegin),
                                                                 config.copies ? &kept : nullptr));
  if (!config.copies) { // of h of the encoder's last layer
    Value last = walk.declares() ? Value() : encoding.states.front();
    RAPT_RETURN_IF_ERROR(firstStates(config).walk(walk, config.decoder, last, kept));
  }
  Value cache = config.attends() ? appendMemory(encoding) : Value();
  end({{EntryRole::State, kept.state}, {EntryRole::Cache, cache}, {EntryRole::Hidden, encoding.output}});
  return {};
}

/// The attention of each token's query to its sequence's source.
Value Entries::attendAll(Value query) {
  Value scale = walk.emit([&](const Scope &top) { return constant(top, top.at("attention"), 1); });
  Value additive = isAdditive ? score(config.attentionSize, config.isScoreMatrix) : Value();
  SmallVector<Value, 2> parts;
  for (int64_t i = 0; i < config.cacheLayers(); ++i)
    parts.push_back(attend(query, scale, i, additive));
  return parts.size() == 1 ? parts[0] : concat(parts);
}

Status Entries::walkStep() {
  const int64_t words = config.vocabularies.target, hidden = config.decoder.hidden, memory = config.memory();
  beginStep();
  KeptStates kept = keptStatesOf(*this);
  Value token = embedded(EntryRole::Tokens, config.decoderEmbedding(), words), x = token, context;
  if (isAdditive) {
    const int64_t last = (config.decoder.layers - 1) * config.decoder.states();
    context = attendAll(matmul(read(kept, "attention.query", last), "attention.query", config.attentionSize, hidden));
    x = concat({token, context});
  } else if (config.feeds) {
    x = concat({token, read(kept, "attention", config.keptParts() - 1)});
  }
  RAPT_ASSIGN_OR_RETURN(x, stepLayers(walk, config.decoder, x, argument(EntryRole::RowBegin), kept));
  if (isAdditive) {
    x = concat({x, context, token});
  } else if (config.isLuong()) {
    Value query = x;
    if (config.attention == Attention::LuongGeneral) {
      walk.declare([&](const ParameterScope &weights) {
        weights.add("attention.key.weight", {hidden, memory}, Init::weight(memory));
      });
      query = walk.emit([&](const Scope &top) { return linear(top, x, "attention.key"); });
    }
    context = attendAll(query);
    x = matmul(concat({context, x}), "attention.combine", hidden, memory + hidden);
    x = walk.activate(x, "attention.combine", attn::ActivationKind::tanh);
    if (config.feeds)
      walk.emit([&](const Scope &top) { kept.write(top, top.at("attention"), config.keptParts() - 1, x); });
  }
  endStep(kept, x, config.tied ? config.decoderEmbedding() + ".weight" : "", words, config.headInputs());
  return {};
}

} // namespace

ImportedModule importing::importRecurrentEncoderDecoder(MLIRContext &context, huggingface::ModelDescription &model,
                                                        const ImportOptions &options) {
  Config config = readConfig(model);
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens,
                        readEndTokens(context, model, config.vocabularies.target, /*fallback=*/std::nullopt));
  RAPT_RETURN_IF_ERROR(model.config().finish({"dropout", "is_encoder_decoder"}));
  if (options.maxSequenceLength)
    config.positions = options.maxSequenceLength;
  config.isScoreMatrix = model.tensors().find("attention.score.weight");
  auto declare = [&](const Walk &walk) { (void)Entries(context, walk, /*module=*/nullptr, config, options).walkAll(); };
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, /*prefix=*/"", {}, declare, /*isFixed=*/true));
  ModelFacts facts{.family = "recurrent-encoder-decoder",
                   .task = "text2text-generation",
                   .layers = config.decoder.layers,
                   .hidden = config.memory(),
                   .heads = config.attends() ? 1 : 0,
                   .kvHeads = config.attends() ? 1 : 0,
                   .headDim = config.attends() ? config.memory() / config.cacheLayers() : 0,
                   .vocabulary = config.vocabularies.target,
                   .positions = config.positions,
                   .endTokens = endTokens,
                   .startToken = config.startToken,
                   .sourceVocabulary = config.vocabularies.source};
  ModelModule module(context, facts, model, parameters);
  const Walk walk(module.scope());
  RAPT_RETURN_IF_ERROR(Entries(context, walk, &module, config, options).walkAll());
  return module.take();
}
