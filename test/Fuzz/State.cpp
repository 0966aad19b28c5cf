// Saved states of sequences, loaded into contexts of compiled models: damaged ones are refused and leave nothing
// behind, accepted ones work.
//
// The models are compiled by test/Fuzz/run (RAPT_FUZZ_MODELS is their folder). An input is a program that edits a state
// which was saved just before, mends its checksum, loads it and goes on.
#include "rapt/rapt.h"
#include "test/Fuzz/Fuzz.h"
#include <algorithm>
#include <cstring>
#include <fuzzer/FuzzedDataProvider.h>
#include <memory>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace rapt::fuzz;

namespace {

constexpr size_t headerBytes = 144, checksumOffset = 136; // lib/Runtime/State.cpp
constexpr size_t fieldOffsets[] = {0, 8, 12, 16, 32, 48, 80, 88, 96, 104, 112, 120, 128, 136};
constexpr int64_t tokensOfSeed = 70; // more than a block

struct Model {
  Model() = default;
  Model(const Model &) = delete;
  ~Model() {
    rapt_context_free(context);
    rapt_module_release(module);
  }
  std::string name;
  rapt_module *module = nullptr;
  rapt_context *context = nullptr;
  rapt_module_info info{};
  bool hasSource = false;
  std::vector<std::string> states; ///< that the model saved itself
  int64_t capacity = 0;
};

struct Message {
  char text[512] = "";
};

std::vector<int32_t> someTokens(size_t count, int64_t vocabulary, uint32_t seed) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < count; ++i)
    tokens.push_back(int32_t(((seed = seed * 1664525u + 1013904223u) >> 8) % uint32_t(vocabulary)));
  return tokens;
}

std::string save(Model &m, rapt_sequence sequence) {
  size_t bytes = 0;
  require(rapt_sequence_save(m.context, sequence, nullptr, 0, &bytes, nullptr, 0) == RAPT_OK, "a sequence has a size");
  std::string state(bytes, '\0');
  require(rapt_sequence_save(m.context, sequence, state.data(), bytes, &bytes, nullptr, 0) == RAPT_OK,
          "a sequence is saved");
  return state;
}

rapt_status encode(Model &m, rapt_sequence sequence, size_t count, uint32_t seed) {
  int64_t vocabulary = m.info.source_vocabulary ? m.info.source_vocabulary : m.info.vocabulary;
  std::vector<int32_t> tokens = someTokens(count, vocabulary, seed);
  rapt_source source{sizeof(rapt_source), sequence, tokens.data(), int64_t(count), nullptr, 0};
  Message message;
  rapt_status status = rapt_encode(m.context, &source, 1, message.text, sizeof message.text);
  if (status)
    requireMessage(message.text);
  return status;
}

rapt_status step(Model &m, rapt_sequence sequence, size_t count, uint32_t seed, int32_t want = RAPT_LOGITS_LAST) {
  std::vector<int32_t> tokens = someTokens(count, m.info.vocabulary, seed);
  rapt_chunk chunk{sizeof(rapt_chunk), sequence, tokens.data(), int64_t(count), want, nullptr, 0, nullptr};
  Message message;
  rapt_status status = rapt_step(m.context, &chunk, 1, message.text, sizeof message.text);
  if (status)
    requireMessage(message.text);
  else if (want != RAPT_LOGITS_NONE)
    readAll(chunk.logits, size_t(want == RAPT_LOGITS_ALL ? count : 1) * size_t(m.info.vocabulary) * sizeof(float));
  return status;
}

std::unique_ptr<Model> open(const std::string &path, std::string name) {
  auto m = std::make_unique<Model>();
  m->name = std::move(name);
  Message message;
  if (rapt_module_open(path.c_str(), nullptr, &m->module, message.text, sizeof message.text)) {
    fprintf(stderr, "%s\n", message.text);
    return nullptr;
  }
  rapt_context_options options{};
  options.size = sizeof options;
  options.cache_tokens = 6 * 64;
  if (rapt_context_new(m->module, &options, &m->context, message.text, sizeof message.text)) {
    fprintf(stderr, "%s: %s\n", path.c_str(), message.text);
    return nullptr;
  }
  m->info.size = sizeof m->info;
  rapt_module_get_info(m->module, &m->info);
  m->hasSource = m->info.start_token >= 0;
  m->capacity = rapt_context_available(m->context);
  for (int64_t length : {int64_t(0), int64_t(1), int64_t(5), tokensOfSeed}) {
    rapt_sequence sequence = 0;
    rapt_sequence_new(m->context, &sequence, nullptr, 0);
    m->states.push_back(save(*m, sequence)); // of a sequence without a source
    if (m->hasSource)
      require(encode(*m, sequence, size_t(length + 1), 5) == RAPT_OK, "a source is encoded");
    if (length)
      require(step(*m, sequence, size_t(length), 7) == RAPT_OK, "a seed is made");
    m->states.push_back(save(*m, sequence));
    rapt_sequence_free(m->context, sequence, nullptr, 0);
  }
  return m;
}

/// Corpora name models by their index in this list.
std::vector<std::unique_ptr<Model>> &models() {
  static std::vector<std::unique_ptr<Model>> opened = [] {
    std::vector<std::unique_ptr<Model>> list;
    const char *folder = getenv("RAPT_FUZZ_MODELS");
    for (const char *name : {"decoder", "decoder-bf16", "decoder-i8", "encoder-decoder", "recurrent",
                             "recurrent-encoder-decoder", "looks", "windows", "all-windows"})
      if (folder)
        list.push_back(open(std::string(folder) + "/" + name + ".so", name));
    list.erase(std::remove(list.begin(), list.end(), nullptr), list.end());
    require(!list.empty(), "RAPT_FUZZ_MODELS names a folder of compiled models");
    return list;
  }();
  return opened;
}

void edit(std::string &state, FuzzedDataProvider &input) {
  for (int edits = input.ConsumeIntegralInRange(0, 6); edits > 0; --edits) {
    if (input.ConsumeProbability<float>() < 0.1f) {
      state.resize(input.ConsumeIntegralInRange<size_t>(0, state.size() + 70000));
      continue;
    }
    size_t field = input.PickValueInArray(fieldOffsets);
    size_t at = input.ConsumeBool() ? field : input.ConsumeIntegralInRange<size_t>(0, state.size());
    std::string bytes = input.ConsumeBytesAsString(input.PickValueInArray({1, 4, 8, 16}));
    for (size_t i = 0; i < bytes.size() && at + i < state.size(); ++i)
      state[at + i] = bytes[i];
  }
}

void mendChecksum(std::string &state) {
  if (state.size() < headerBytes)
    return;
  memset(&state[checksumOffset], 0, 8);
  uint64_t seed = XXH3_64bits(state.data(), headerBytes);
  uint64_t checksum = XXH3_64bits_withSeed(&state[headerBytes], state.size() - headerBytes, seed);
  memcpy(&state[checksumOffset], &checksum, 8);
}

/// Some calls on a loaded sequence; all are refused with a message or work.
void use(Model &m, rapt_sequence sequence, FuzzedDataProvider &input) {
  std::vector<rapt_sequence> live = {sequence};
  for (int calls = input.ConsumeIntegralInRange(0, 6); calls > 0 && input.remaining_bytes(); --calls) {
    rapt_sequence chosen = live[input.ConsumeIntegralInRange<size_t>(0, live.size() - 1)], made = 0;
    Message message;
    switch (input.ConsumeIntegralInRange(0, 5)) {
    case 0:
      step(m, chosen, input.ConsumeIntegralInRange<size_t>(1, 80), 3,
           input.PickValueInArray({RAPT_LOGITS_NONE, RAPT_LOGITS_LAST, RAPT_LOGITS_ALL}));
      break;
    case 1:
      if (!rapt_sequence_fork(m.context, chosen, &made, message.text, sizeof message.text))
        live.push_back(made);
      break;
    case 2:
      if (rapt_sequence_truncate(m.context, chosen, input.ConsumeIntegralInRange<int64_t>(-1, 300), message.text,
                                 sizeof message.text))
        requireMessage(message.text);
      break;
    case 3: {
      std::string saved = save(m, chosen);
      if (!rapt_sequence_load(m.context, saved.data(), saved.size(), &made, message.text, sizeof message.text)) {
        require(save(m, made) == saved, "a state survives load and save");
        live.push_back(made);
      }
      break;
    }
    case 4:
      if (m.hasSource)
        encode(m, chosen, input.ConsumeIntegralInRange<size_t>(0, 70), 11);
      break;
    default:
      require(rapt_sequence_length(m.context, chosen) >= 0, "a live sequence has a length");
    }
  }
  for (rapt_sequence each : live)
    require(rapt_sequence_free(m.context, each, nullptr, 0) == RAPT_OK, "a live sequence is freed");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  FuzzedDataProvider input(data, size);
  Model &m = *models()[input.ConsumeIntegral<uint8_t>() % models().size()];
  const size_t seed = input.ConsumeIntegral<uint8_t>();
  const bool isRaw = seed == 255, mends = input.ConsumeIntegral<uint8_t>() < 240;
  std::string state = isRaw ? input.ConsumeRemainingBytesAsString() : m.states[seed % m.states.size()];
  if (!isRaw)
    edit(state, input);
  if (mends)
    mendChecksum(state);
  ExactBytes bytes(state, 1);
  rapt_sequence sequence = 0;
  Message message;
  if (rapt_sequence_load(m.context, bytes.data(), bytes.size, &sequence, message.text, sizeof message.text)) {
    requireMessage(message.text);
    require(sequence == 0, "a failed load gives no sequence");
  } else {
    require(save(m, sequence) == state, "what was loaded is saved as it was");
    use(m, sequence, input);
  }
  require(rapt_context_available(m.context) == m.capacity, "all blocks come back");
  return 0;
}
