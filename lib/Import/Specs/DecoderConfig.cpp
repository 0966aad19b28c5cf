//===- DecoderConfig.cpp - Keys that many decoders' configs have ----------===//
#include "lib/Import/Specs/DecoderConfig.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Support/Float16.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cmath>

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

/// Heads of queries and of keys, and their channels.
static void readHeadSizes(ConfigReader &config, const DecoderDefaults &defaults, DecoderSpec &spec) {
  const DecoderKeys &keys = defaults.keys;
  AttentionSpec &attention = spec.attention;
  attention.heads = config.getSize(keys.heads, 1, 1 << 12, defaults.heads);
  attention.kvHeads = attention.heads;
  if (!keys.kvHeads.empty()) {
    std::optional<int64_t> groups = config.getOptionalInt(keys.kvHeads.c_str(), 1, 1 << 12);
    if (!groups && !config.names(keys.kvHeads))
      groups = defaults.kvHeads;
    attention.kvHeads = groups.value_or(attention.heads);
  }
  std::optional<int64_t> headDim;
  if (!keys.headDim.empty()) {
    headDim = config.getOptionalInt(keys.headDim.c_str(), 1, 1 << 12);
    if (!headDim && !config.names(keys.headDim))
      headDim = defaults.headDim;
  }
  attention.headDim = headDim.value_or(std::max<int64_t>(1, spec.width / attention.heads));
  attention.scale = 1 / std::sqrt(double(attention.headDim));
  const std::string width = keys.width.names.front(), heads = keys.heads.names.front();
  if (keys.headDim.empty())
    config.requireMultiple(width, spec.width, heads, attention.heads);
  if (!config.errors())
    return;
  if (!headDim && spec.width % attention.heads != 0)
    config.fail(width + " " + std::to_string(spec.width) + " is not a multiple of " + heads + " " +
                std::to_string(attention.heads) + ", and there is no " + keys.headDim);
  if (attention.heads % attention.kvHeads != 0)
    config.fail(heads + " " + std::to_string(attention.heads) + " is not a multiple of " + keys.kvHeads + " " +
                std::to_string(attention.kvHeads));
}

static bool isNamed(const huggingface::Keys &keys) { return !keys.names.front().empty(); }

void importing::readWholeHead(const DecoderSource &source, const DecoderDefaults &defaults, DecoderSpec &spec) {
  using Head = std::optional<EncoderHead>;
  ConfigReader &config = source.config;
  const std::string &own = defaults.architecture, whole = defaults.wholeClass.empty() ? own : defaults.wholeClass;
  const std::string causal = own + defaults.headClass, base = own + "Model", wholeBase = whole + "Model";
  const std::string classes[] = {whole + "ForSequenceClassification", whole + "ForTokenClassification",
                                 whole + "ForQuestionAnswering"};
  std::vector<HeadName<Head>> heads = {{causal, std::nullopt},
                                       {base, std::nullopt},
                                       {classes[0], EncoderHead::SequenceClassification},
                                       {classes[1], EncoderHead::TokenClassification},
                                       {classes[2], EncoderHead::QuestionAnswering}};
  if (wholeBase != base)
    heads.push_back({wholeBase, std::nullopt});
  spec.wholeHead = readHead<Head>(source.model, heads, std::nullopt);
  for (const std::string &architecture : source.model.architectures())
    spec.isBase |= architecture == base || architecture == wholeBase;
  if (spec.wholeHead == EncoderHead::SequenceClassification || spec.wholeHead == EncoderHead::TokenClassification)
    spec.labels = readLabelCount(config);
  if (spec.wholeHead != EncoderHead::SequenceClassification)
    return;
  if (!spec.padding)
    spec.padding = config.getOptionalInt("pad_token_id", INT32_MIN, INT32_MAX);
  if (!spec.padding && !config.names("pad_token_id"))
    spec.padding = defaults.padding;
}

DecoderSpec importing::readDecoder(const DecoderSource &source, const DecoderDefaults &defaults) {
  ConfigReader &config = source.config;
  const DecoderKeys &keys = defaults.keys;
  DecoderSpec spec;
  if (!source.isPart)
    readWholeHead(source, defaults, spec);
  spec.isBidirectional = !config.getBool("is_causal", true);
  spec.width = config.getSize(keys.width, 1, 1 << 16, defaults.width);
  spec.layers = config.getSize(keys.layers, 1, 1 << 17, defaults.layers);
  constexpr int64_t mostInner = 1 << 20;
  spec.feedForward.inner = defaults.inner ? config.getSize(keys.inner, 1, mostInner, defaults.inner)
                                          : config.getInt(keys.inner, 1, mostInner, 4 * spec.width);
  constexpr int64_t mostPositions = 1 << 24;
  spec.positions = defaults.hasAnyPositions ? config.getInt(keys.positions, 1, mostPositions, defaults.positions)
                                            : config.getSize(keys.positions, 1, mostPositions, defaults.positions);
  spec.positionsKey = keys.positions.names.front();
  spec.vocabulary = config.getSize("vocab_size", 1, 1 << 24, defaults.vocabulary);
  spec.norm.epsilon = defaults.epsilon;
  if (isNamed(keys.epsilon))
    spec.norm.epsilon = config.getPositive(keys.epsilon, 1, defaults.epsilon);
  std::string activation(defaults.activation);
  if (isNamed(keys.activation))
    activation = config.getEnum(keys.activation, activationNames(), defaults.activation);
  spec.feedForward.activation = activationNamed(activation);
  spec.head.isTied = config.getBool("tie_word_embeddings", defaults.isTied);
  readHeadSizes(config, defaults, spec);
  return spec;
}

DecoderKeys importing::gpt2Keys() {
  return {.width = {"n_embd", "hidden_size"},
          .layers = {"n_layer", "num_hidden_layers"},
          .inner = "n_inner",
          .heads = {"n_head", "num_attention_heads"},
          .positions = {"n_positions", "max_position_embeddings"},
          .activation = "activation_function",
          .epsilon = "layer_norm_epsilon",
          .kvHeads = "",
          .headDim = ""};
}

void importing::setGPT2Parts(DecoderSpec &spec) {
  spec.prefixes = {"", "transformer."};
  spec.layer = "h.{layer}.";
  spec.embedding.words = "wte";
  spec.embedding.positions.table = "wpe";
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  AttentionSpec &attention = spec.attention;
  attention.packing = Packing::Rows;
  attention.packed = "attn.c_attn";
  attention.out = "attn.c_proj";
  attention.location = "attn";
  attention.hasBias = attention.hasOutBias = true;
  FeedForwardSpec &feedForward = spec.feedForward;
  feedForward.isGated = false;
  feedForward.up = "mlp.c_fc";
  feedForward.down = "mlp.c_proj";
  feedForward.hasBias = feedForward.hasDownBias = true;
  spec.residual.beforeAttention = "ln_1";
  spec.residual.beforeFeedForward = "ln_2";
  spec.finalNorm = "ln_f";
}

void importing::setPlainFeedForward(DecoderSpec &spec, const std::string &up, const std::string &down) {
  spec.feedForward.isGated = false;
  spec.feedForward.up = up;
  spec.feedForward.down = down;
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = true;
}

double importing::readClip(ConfigReader &config, const char *key) {
  return config.getRaw(key) ? config.getPositive(key, 1e30) : 0;
}

double importing::readSoftCap(ConfigReader &config, const char *key, double fallback) {
  return config.names(key) ? config.getFloat(key, 0, 1e6, 0) : fallback;
}

float importing::roundedToWeights(const DecoderSource &source, double factor) {
  switch (source.options.storage.value_or(source.model.dtype())) {
  case artifact::DType::F32:
    return float(factor);
  case artifact::DType::BF16:
    return bf16ToF32(f32ToBf16(float(factor)));
  case artifact::DType::F16:
    return f16ToF32(f32ToF16(float(factor)));
  }
  llvm_unreachable("every type is handled");
}

void importing::readRotary(const DecoderSource &source, DecoderSpec &spec, const RotaryKeys &keys) {
  // Hugging Face's classes ignore the key; a checkpoint that really has interleaved channels needs other code.
  if (!spec.attention.isInterleaved && source.config.getBool("rope_interleaved", false))
    source.config.fail("rope_interleaved is true: rotary embedding of neighboring channels is not supported by the " +
                       source.model.modelType() + " family");
  spec.attention.rotary.push_back(readRotaryFrequencies(source.config, spec.attention.headDim,
                                                        {spec.positions, source.longest(spec.positions)}, keys));
  spec.attention.growth = spec.attention.rotary.back().growth;
}

void importing::readRotaryByLayer(const DecoderSource &source, StackSpec &spec, int64_t positions,
                                  const std::vector<bool> &windowed, const std::array<RotaryKeys, 2> &keys) {
  AttentionSpec &attention = spec.attention;
  for (RotaryFrequencies &table :
       readRotaryByLayerType(source.config, attention.headDim, {positions, source.longest(positions)}, keys))
    attention.rotary.push_back(std::move(table));
  for (bool isWindowed : windowed)
    attention.rotaryOfLayer.push_back(isWindowed ? 1 : 0);
}

std::optional<std::vector<bool>> importing::readLayerTypes(ConfigReader &config, int64_t layers) {
  const json::Value *types = config.getRaw("layer_types");
  if (!types)
    return std::nullopt;
  std::vector<bool> windowed(layers);
  const json::Array *list = types->asArray();
  if (!list || static_cast<int64_t>(list->size()) != layers) {
    config.fail("layer_types must be a list of " + std::to_string(layers) + " names, one for each layer");
    return windowed;
  }
  for (int64_t layer = 0; layer < layers; ++layer) {
    const std::string *name = (*list)[layer].asString();
    if (!name || (*name != "full_attention" && *name != "sliding_attention"))
      config.fail("layer_types of layer " + std::to_string(layer) + " is " +
                  json::printable(json::write((*list)[layer]), 60) + ", must be full_attention or sliding_attention");
    windowed[layer] = name && *name == "sliding_attention";
  }
  return windowed;
}

static bool any(const std::vector<bool> &layers) {
  return std::find(layers.begin(), layers.end(), true) != layers.end();
}

void importing::setWindows(StackSpec &spec, int64_t positions, const std::vector<bool> &windowed,
                           std::optional<int64_t> window) {
  if (!window || *window >= positions || !any(windowed))
    return;
  spec.attention.windows.resize(spec.layers);
  for (int64_t layer = 0; layer < spec.layers; ++layer)
    if (windowed[layer])
      spec.attention.windows[layer] = window;
}

std::optional<int64_t> importing::readWindow(ConfigReader &config, std::optional<int64_t> fallback) {
  constexpr const char *key = "sliding_window";
  std::optional<int64_t> window = config.getOptionalInt(key, 1, int64_t(1) << 30);
  return window || config.names(key) ? window : fallback;
}

void importing::readWindowOfAll(const DecoderSource &source, DecoderSpec &spec, std::optional<int64_t> fallback) {
  const std::optional<int64_t> window = readWindow(source.config, fallback);
  const std::vector<bool> windowed(spec.layers, window.has_value());
  if (std::optional<std::vector<bool>> types = readLayerTypes(source.config, spec.layers); types && *types != windowed)
    source.config.fail(std::string("layer_types must be ") + (window ? "sliding_attention" : "full_attention") +
                       " for every layer, as sliding_window is " + (window ? std::to_string(*window) : "null"));
  setWindows(spec, spec.positions, windowed, window);
}

void importing::readWindowByLayer(const DecoderSource &source, DecoderSpec &spec) {
  ConfigReader &config = source.config;
  const bool isUsed = config.getBool("use_sliding_window", false);
  std::optional<int64_t> window;
  if (isUsed)
    window = readWindow(config, 4096);
  else
    config.getOptionalInt("sliding_window", 0, int64_t(1) << 30); // where it is not used some classes write 0
  const int64_t first = config.getInt("max_window_layers", 0, 1 << 20, 28);
  std::optional<std::vector<bool>> types = readLayerTypes(config, spec.layers);
  std::vector<bool> windowed = types.value_or(std::vector<bool>(spec.layers));
  for (int64_t layer = first; layer < spec.layers && !types; ++layer)
    windowed[layer] = true;
  if (types && any(windowed) && !(isUsed && window))
    config.fail("layer_types has sliding_attention, but use_sliding_window is false or sliding_window is null");
  if (isUsed)
    setWindows(spec, spec.positions, windowed, window);
}

void importing::refuseWindows(const DecoderSource &source, const DecoderSpec &spec) {
  // Keys of relatives, which converted checkpoints keep.
  source.config.getRaw("max_window_layers");
  std::optional<std::vector<bool>> types = readLayerTypes(source.config, spec.layers);
  if (types && any(*types))
    source.config.fail("layer_types has sliding_attention, but the " + source.model.modelType() +
                       " family has no windows");
}

/// More experts than any model has; the dialect's bound.
static constexpr int64_t kMostExperts = 4096;

bool importing::hasTensor(const huggingface::ModelDescription &model, llvm::StringRef end) {
  return llvm::any_of(model.tensors().tensors(),
                      [&](const auto &tensor) { return llvm::StringRef(tensor.first).ends_with(end); });
}

bool importing::hasExpertsApart(const huggingface::ModelDescription &model) {
  return hasTensor(model, ".experts.0.gate_proj.weight");
}

ExpertsSpec importing::readExperts(const DecoderSource &source, const DecoderSpec &spec,
                                   const ExpertsDefaults &defaults) {
  huggingface::ConfigReader &config = source.config;
  ExpertsSpec experts;
  experts.number = config.getSize(defaults.number, 1, kMostExperts, defaults.ofAll);
  experts.ofToken = config.getSize(defaults.chosen, 1, kMostExperts, defaults.ofToken);
  if (experts.ofToken > experts.number)
    config.fail(defaults.chosen.names.front() + " " + std::to_string(experts.ofToken) + " is more than " +
                defaults.number.names.front() + " " + std::to_string(experts.number));
  experts.each = spec.feedForward;
  experts.each.inner = config.getSize(defaults.inner, 1, 1 << 20, defaults.width);
  experts.each.hasBias = experts.each.hasDownBias = false;
  // Files of transformers 5 may have them as it does in memory.
  const bool isStacked = hasTensor(source.model, ".mlp.experts.gate_up_proj");
  const std::string part = isStacked ? "mlp.experts." : "mlp.experts.{expert}.";
  experts.stacking = isStacked ? Stacking::Rows : Stacking::None;
  experts.each.gate = part + "gate_proj";
  experts.each.up = part + "up_proj";
  experts.each.down = part + "down_proj";
  experts.each.packed = isStacked ? "mlp.experts.gate_up_proj" : "";
  return experts;
}

std::vector<bool> importing::readKinds(huggingface::ConfigReader &config, const huggingface::Keys &keys, int64_t layers,
                                       const KindNames &names) {
  std::vector<bool> kinds;
  const json::Value *value = config.getRaw(keys);
  const json::Array *list = value ? value->asArray() : nullptr;
  const std::string key = keys.names.front();
  if (value && (!list || int64_t(list->size()) != layers))
    config.fail(key + " must be a list of the kinds of " + std::to_string(layers) + " layers" +
                (list ? ", found " + std::to_string(list->size()) : ""));
  for (size_t i = 0; list && i < list->size(); ++i) {
    const std::string *name = (*list)[i].asString();
    const bool isFirst = name && llvm::is_contained(names[0], *name),
               isSecond = name && llvm::is_contained(names[1], *name);
    if (!isFirst && !isSecond)
      config.fail(key + " has " + json::printable(json::write((*list)[i]), 60) +
                  (names[1].empty() ? ", supported is \"" : ", supported are \"") + std::string(names[0].front()) +
                  (names[1].empty() ? "" : "\" and \"" + std::string(names[1].front())) + "\"");
    kinds.push_back(isSecond);
  }
  kinds.resize(value ? size_t(layers) : 0);
  return kinds;
}

std::vector<bool> importing::readLayerNumbers(huggingface::ConfigReader &config, const char *key, int64_t layers,
                                              int64_t first) {
  std::vector<bool> has(size_t(layers), false);
  const json::Value *value = config.getRaw(key);
  const json::Array *list = value ? value->asArray() : nullptr;
  if (value && !list)
    config.fail(config.nameOf(key) + " must be a list of layers");
  for (size_t i = 0; list && i < list->size(); ++i) {
    std::optional<int64_t> layer = (*list)[i].asInteger();
    if (!layer || *layer < first || *layer >= first + layers)
      config.fail(config.nameOf(key) + " has " + json::printable(json::write((*list)[i]), 60) +
                  ", must be numbers of layers from " + std::to_string(first) + " to " +
                  std::to_string(first + layers - 1));
    else
      has[size_t(*layer - first)] = true;
  }
  return has;
}

void importing::setMixers(StackSpec &spec, Mixer mixer, const std::vector<bool> &attends) {
  for (int64_t layer = 0; layer < spec.layers; ++layer)
    spec.mixers.push_back(attends[size_t(layer)] ? Mixer::Attention : mixer);
}

void importing::readSparseLayers(const DecoderSource &source, DecoderSpec &spec) {
  huggingface::ConfigReader &config = source.config;
  const int64_t step = config.getInt("decoder_sparse_step", 1, 1 << 20, 1);
  std::vector<bool> &ofLayer = spec.experts->ofLayer;
  for (int64_t layer = 0; layer < spec.layers; ++layer)
    ofLayer.push_back((layer + 1) % step == 0);
  const json::Value *dense = config.getRaw("mlp_only_layers");
  const json::Array *list = dense ? dense->asArray() : nullptr;
  if (dense && !list)
    config.fail("mlp_only_layers must be a list of layers");
  for (size_t i = 0; list && i < list->size(); ++i) {
    std::optional<int64_t> layer = (*list)[i].asInteger();
    if (!layer || *layer < 0)
      config.fail("mlp_only_layers has " + json::printable(json::write((*list)[i]), 60) +
                  ", must be numbers of layers");
    else if (*layer < spec.layers)
      ofLayer[*layer] = false;
  }
  if (llvm::all_of(ofLayer, [](bool has) { return has; }))
    ofLayer.clear();
}
