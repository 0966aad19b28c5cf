//===- Translation.cpp - Keys of a GGUF file as those of config.json ------===//
#include "lib/Import/Families/GGUF/Translation.h"
#include <algorithm>
#include <functional>

using namespace rapt;
using namespace rapt::importing;

static constexpr int64_t mostWidth = 1 << 16;

Translation::Translation(const gguf::File &file, std::string_view architecture, const GivenMembers &given)
    : source(file), given(given), prefix(std::string(architecture) + ".") {
  readSizes();
}

void Translation::record(Error error) {
  if (failure)
    failure = std::move(error);
}

void Translation::fail(std::string_view key, const std::string &what) {
  record(source.metadata().fail(fullName(key), what));
}

void Translation::failOfTensor(std::string_view name, const std::string &what) {
  const gguf::Tensor *tensor = source.find(name);
  record(Error{shownPath(tensor ? tensor->file->path() : source.path()) + ": tensor \"" + std::string(name) +
               "\": " + what});
}

void Translation::warn(const std::string &line) { warnings.push_back(shownPath(source.path()) + ": " + line); }

void Translation::assume(std::string_view member, const std::string &line) {
  if (std::ranges::none_of(given, [&](const auto &own) { return own.first == member; }))
    warn("assuming " + line);
}

template <typename T> std::optional<T> Translation::take(Expected<std::optional<T>> value) {
  if (value)
    return std::move(*value);
  record(value.error());
  return std::nullopt;
}

std::optional<int64_t> Translation::within(std::string_view key, std::optional<int64_t> value, int64_t least,
                                           int64_t most) {
  if (!value || (*value >= least && *value <= most))
    return value;
  fail(key, "its value is " + std::to_string(*value) + ", but must be an integer from " + std::to_string(least) +
                " to " + std::to_string(most));
  return std::nullopt;
}

bool Translation::hasInSomeLayer(std::string_view tensor) const {
  for (int64_t layer = 0; layer < sizes().layers; ++layer)
    if (has("blk." + std::to_string(layer) + "." + std::string(tensor)))
      return true;
  return false;
}

std::optional<int64_t> Translation::integer(std::string_view key, int64_t least, int64_t most) {
  pass(key);
  return within(key, take(source.metadata().integer(fullName(key))), least, most);
}

std::optional<double> Translation::number(std::string_view key) {
  pass(key);
  return take(source.metadata().number(fullName(key)));
}

bool Translation::boolean(std::string_view key, bool fallback) {
  pass(key);
  return take(source.metadata().boolean(fullName(key))).value_or(fallback);
}

std::string Translation::text(std::string_view key) {
  pass(key);
  return take(source.metadata().text(fullName(key))).value_or("");
}

std::optional<std::vector<int64_t>> Translation::list(std::string_view key) {
  pass(key);
  const gguf::Value *value = source.metadata().find(fullName(key));
  return value && value->isArray() ? ofLayers(key, INT64_MIN, INT64_MAX) : std::nullopt;
}

std::optional<std::vector<int64_t>> Translation::ofLayers(std::string_view key, int64_t least, int64_t most) {
  pass(key);
  std::optional<std::vector<int64_t>> all =
      take(source.metadata().integersOfLayers(fullName(key), size_t(sizes().allLayers)));
  if (!all)
    return all;
  all->resize(size_t(sizes().layers)); // without those that predict further tokens
  for (int64_t value : *all)
    within(key, value, least, most);
  return all;
}

std::optional<int64_t> Translation::integerOfLayers(std::string_view key, int64_t least, int64_t most) {
  pass(key);
  const gguf::Value *value = source.metadata().find(fullName(key));
  if (!value || !value->isArray())
    return integer(key, least, most);
  std::optional<std::vector<int64_t>> all = take(source.metadata().integers(fullName(key)));
  if (!all || all->empty())
    return std::nullopt;
  if (std::ranges::any_of(*all, [&](int64_t one) { return one != all->front(); })) {
    fail(key, "its values differ; layers of different sizes are not supported");
    return std::nullopt;
  }
  return within(key, all->front(), least, most);
}

int64_t Translation::required(std::string_view key, int64_t least, int64_t most) {
  const std::optional<int64_t> value = integerOfLayers(key, least, most);
  if (!value)
    fail(key, "the file does not have it");
  return value.value_or(least);
}

/// Layers of 0 heads of keys have something else in place of attention.
void Translation::readKeyHeads() {
  constexpr const char *key = "attention.head_count_kv";
  DecoderSizes &s = sizesOfDecoder;
  const std::optional<std::vector<int64_t>> all = ofLayers(key, 0, mostHeads);
  if (!all) {
    s.keyHeads = s.heads;
    return;
  }
  const auto first = std::ranges::find_if(*all, std::identity());
  s.keyHeads = first == all->end() ? 1 : *first;
  if (first == all->end())
    fail(key, "its value is 0, but must be an integer from 1 to " + std::to_string(mostHeads));
  if (std::ranges::count(*all, 0) > 0)
    std::ranges::transform(*all, std::back_inserter(s.attends), [](int64_t heads) { return heads != 0; });
  if (std::ranges::any_of(*all, [&](int64_t heads) { return heads != 0 && heads != s.keyHeads; }))
    s.keyHeadsOfLayers = *all;
}

void Translation::readSizes() {
  DecoderSizes &s = sizesOfDecoder;
  s.layers = s.allLayers = required("block_count", 1, mostLayers);
  // Blocks that predict further tokens are behind the others.
  const int64_t further = integer("nextn_predict_layers", 0, mostLayers).value_or(0);
  if (further >= s.layers)
    fail("nextn_predict_layers", std::to_string(further) + " of " + std::to_string(s.layers) + " blocks");
  s.layers = std::max<int64_t>(1, s.layers - further);
  s.width = required("embedding_length", 1, mostWidth);
  s.heads = required("attention.head_count", 1, mostHeads);
  readKeyHeads();
  if (s.heads % s.keyHeads != 0 || std::ranges::any_of(s.keyHeadsOfLayers, [&](int64_t n) { return n && s.heads % n; }))
    fail("attention.head_count",
         std::to_string(s.heads) + " is not a multiple of attention.head_count_kv, " + std::to_string(s.keyHeads));
  // Latent attention has both: of its heads, and of the latent that they share.
  const std::string ofHeads = source.metadata().find(fullName("attention.key_length_mla")) ? "_mla" : "";
  if (!ofHeads.empty()) {
    integer("attention.key_length", 1, 2 * mostRank);
    integer("attention.value_length", 1, mostRank);
  }
  const std::optional<int64_t> channels = integer("attention.key_length" + ofHeads, 1, mostChannels);
  if (!channels && s.width % s.heads != 0)
    fail("embedding_length", std::to_string(s.width) + " is not a multiple of attention.head_count, " +
                                 std::to_string(s.heads) + ", and there is no attention.key_length");
  s.channels = channels.value_or(std::max<int64_t>(1, s.width / s.heads));
  s.valueChannels = integer("attention.value_length" + ofHeads, 1, mostChannels).value_or(s.channels);
  const gguf::Tensor *words = source.find("token_embd.weight");
  if (!words || words->dims.size() != 2)
    record(Error{shownPath(source.path()) + ": tensor \"token_embd.weight\" " +
                 (words ? "is not a matrix" : "is missing, so this is not a whole model")});
  else
    s.vocabulary = words->dims.back();
  pass("vocab_size"); // of the embedding, which some writers cut
  pass("tensor_data_layout");
}

std::vector<double> Translation::takeVector(std::string_view name, int64_t count) {
  taken.insert(std::string(name));
  const gguf::Tensor *tensor = source.find(name);
  std::vector<float> numbers(size_t(count), 1.0f);
  if (!tensor) {
    record(Error{shownPath(source.path()) + ": tensor \"" + std::string(name) + "\" is missing"});
  } else if (tensor->type->name != "F32" || tensor->bytes != numbers.size() * sizeof(float)) {
    record(Error{shownPath(tensor->file->path()) + ": tensor \"" + std::string(name) + "\" must be " +
                 std::to_string(count) + " numbers of type F32"});
  } else if (Status got = tensor->file->read(tensor->offset, std::as_writable_bytes(std::span(numbers))); !got) {
    record(got.error());
  }
  return {numbers.begin(), numbers.end()};
}

/// Ids of tokens with a role, which config.json has, too.
void Translation::setRoles() {
  for (const auto &[key, member] :
       {std::pair("bos", "bos_token_id"), {"eos", "eos_token_id"}, {"padding", "pad_token_id"}})
    if (std::optional<int64_t> id = take(source.metadata().integer("tokenizer.ggml." + std::string(key) + "_token_id"));
        id && *id >= 0 && *id < sizes().vocabulary)
      set(member, *id);
}

bool Translation::setInRotaryScaling(std::string_view member, json::Value value) {
  const auto found = std::ranges::find(members, "rope_scaling", &std::pair<std::string, json::Value>::first);
  if (found == members.end())
    return false;
  json::Object scaling = *found->second.asObject();
  const json::Value *type = found->second.find("rope_type");
  if (!type || !type->asString() || *type->asString() != "yarn")
    return false;
  json::setMember(scaling, member, std::move(value));
  found->second = json::Value(std::move(scaling));
  return true;
}

void Translation::setModel(const char *modelType, const MemberNames &names) {
  const DecoderSizes &s = sizes();
  set("model_type", modelType);
  set("hidden_size", s.width);
  set("num_hidden_layers", s.layers);
  set("num_attention_heads", s.heads);
  set("vocab_size", s.vocabulary);
  if (!names.inner.empty())
    set(names.inner, required("feed_forward_length", 1, mostInner));
  set(names.positions, required("context_length", 1, mostPositions));
  if (!names.keyHeads.empty())
    set(names.keyHeads, s.keyHeads);
  if (!names.headDim.empty())
    set(names.headDim, s.channels);
  else if (s.channels * s.heads != s.width)
    fail("attention.key_length", std::to_string(s.channels) + " is not embedding_length / attention.head_count");
  if (s.valueChannels != s.channels && !names.haveOwnValues)
    fail("attention.value_length", std::to_string(s.valueChannels) + " differs from attention.key_length, " +
                                       std::to_string(s.channels) + ", which is not supported");
  if (!s.attends.empty() && !names.hasOtherLayers)
    fail("attention.head_count_kv", "0: layers without attention are not supported for this architecture");
  if (!s.keyHeadsOfLayers.empty() && !names.haveOwnKeyHeads)
    fail("attention.head_count_kv", "its values differ; layers of different sizes are not supported");
  for (const char *key : {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"})
    pass(key); // a file may have both, of which the architecture obeys one
  if (!names.epsilon.empty()) {
    const char *key = names.hasRmsNorms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
    const std::optional<double> epsilon = number(key);
    if (!epsilon)
      fail(key, "the file does not have it");
    set(names.epsilon, epsilon.value_or(1));
  }
  setRoles();
}

void Translation::setDecoder(const char *modelType, const MemberNames &names) {
  setModel(modelType, names);
  set("tie_word_embeddings", !has("output.weight"));
  if (!boolean("attention.causal", true))
    set("is_causal", false);
}

void Translation::setEncoder(const char *modelType, const char *classes, const MemberNames &names) {
  setModel(modelType, names);
  if (boolean("attention.causal", false))
    fail("attention.causal", "true, but an encoder sees all tokens");
  hasClasses = has("cls.output.weight");
  set("architectures",
      json::Array{json::Value(classes + std::string(hasClasses ? "ForSequenceClassification" : "Model"))});
  if (hasClasses)
    setLabels();
}

/// The classes, one for each row of cls.output, with their names where the file has them.
void Translation::setLabels() {
  constexpr const char *key = "classifier.output_labels";
  const gguf::Tensor *output = source.find("cls.output.weight");
  const int64_t count = output->dims.size() > 1 ? int64_t(output->dims.back()) : 1;
  pass(key);
  if (!source.metadata().find(fullName(key)))
    return set("num_labels", count);
  Expected<const gguf::Value::Texts *> names = source.metadata().texts(fullName(key));
  if (!names)
    return record(names.error());
  if (int64_t((*names)->size()) != count)
    fail(key, std::to_string((*names)->size()) + " names, but tensor \"cls.output.weight\" has " +
                  std::to_string(count) + " rows");
  json::Object labels;
  for (const std::string &name : **names)
    labels.emplace_back(std::to_string(labels.size()), name);
  set("id2label", std::move(labels));
}

json::Object Translation::takeConfig() {
  for (const auto &[key, value] : source.metadata().values()) {
    if (!key.starts_with(prefix) || read.contains(key))
      continue;
    json::Value shown; // its value says in messages what it is
    if (value.asNumber())
      shown = json::Value(*value.asNumber());
    else if (value.asText())
      shown = json::Value(*value.asText());
    else if (value.type() == gguf::ValueType::Bool && value.asInteger())
      shown = json::Value(*value.asInteger() != 0);
    else if (value.asInteger())
      shown = json::Value(*value.asInteger());
    else
      shown = json::Value(json::Array(std::min<size_t>(value.size(), 1), json::Value(value.describeType())));
    json::setMember(members, key, shown);
  }
  return std::move(members);
}
