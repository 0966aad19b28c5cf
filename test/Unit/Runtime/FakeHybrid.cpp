#include "FakeHybrid.h"
#include "rapt/artifact.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace rapt::test {

thread_local int callsUntilFault = -1;

namespace {

constexpr int64_t inputs = 3;             // of the convolution
using Hash = std::array<uint32_t, 2>;     // of the tokens, and how many there are
using Inputs = std::array<float, inputs>; // one more than each token's id, the oldest first
static_assert(sizeof(Hash) == hashBytes && sizeof(Inputs) == inputBytes);

void add(Hash &hash, int32_t token) { hash = {hash[0] * 31u + uint32_t(token) + 1, hash[1] + 1}; }
void add(Inputs &last, int32_t token) { last = {last[1], last[2], float(token + 1)}; }

int32_t cached(int32_t token, int64_t position) { return int32_t(uint32_t(token) * 1000003u + uint32_t(position)); }

/// The hash of all that a model has behind a token.
struct Answer {
  uint32_t hash = 42;
  void add(uint32_t value) { hash = hash * 31u + value; }
  void add(const Hash &state) { add(state[0]), add(state[1]); }
  void add(const Inputs &last) {
    for (float input : last)
      add(uint32_t(input));
  }
  float logit(int v) const { return float(((hash ^ uint32_t(v) * 2654435761u) * 2246822519u) >> 8) / 1048576.0f; }
};

template <typename T> T *next(void *const *&buffers) { return static_cast<T *>(*buffers++); }

/// The slots that a row reads and writes. False where they are not as an entry may expect them.
template <typename T> bool takeSlots(T *states, int32_t from, int32_t to, T &state) {
  const T zeros{};
  state = states[from];
  return to > 0 && states[0] == zeros && (to == from || states[to] == zeros);
}

template <Hybrid model> int32_t runStep(const rapt_env *, void *const *buffers, const int64_t *dims) {
  if (callsUntilFault >= 0 && callsUntilFault-- == 0)
    return 5;
  buffers += 2; // weights and workspace
  auto *const states = model.hasState ? next<Hash>(buffers) : nullptr;
  auto *const convolved = model.hasInputs ? next<Inputs>(buffers) : nullptr;
  auto *const cache = model.hasCache ? next<int32_t>(buffers) : nullptr;
  const auto *tokens = next<const int32_t>(buffers), *rowBegin = next<const int32_t>(buffers),
             *slot = next<const int32_t>(buffers), *target = next<const int32_t>(buffers),
             *past = model.hasCache ? next<const int32_t>(buffers) : nullptr,
             *table = model.hasCache ? next<const int32_t>(buffers) : nullptr, *want = next<const int32_t>(buffers);
  auto *logits = next<float>(buffers);
  const int64_t rows = dims[0], wanted = dims[1], width = dims[3];
  for (int64_t row = 0; row < rows; ++row) {
    Hash hash{};
    Inputs last{};
    if ((states && !takeSlots(states, slot[row], target[row], hash)) ||
        (convolved && !takeSlots(convolved, slot[row], target[row], last)))
      return 7;
    for (int32_t t = rowBegin[row]; t < rowBegin[row + 1]; ++t) {
      add(hash, tokens[t]);
      add(last, tokens[t]);
      auto place = [&](int64_t position) {
        return cache + (int64_t(table[row * width + position / block]) * block + position % block) * 2;
      };
      const int64_t position = model.hasCache ? past[row] + t - rowBegin[row] : 0;
      if (cache)
        *place(position) = cached(tokens[t], position);
      const auto *const end = want + wanted, *const found = std::find(want, end, t);
      if (found == end)
        continue;
      Answer answer;
      for (int64_t p = model.window ? std::max<int64_t>(position - model.window + 1, 0) : 0; cache && p <= position;
           ++p)
        answer.add(uint32_t(*place(p)));
      if (states)
        answer.add(hash);
      if (convolved)
        answer.add(last);
      for (int v = 0; v < vocabulary; ++v)
        logits[(found - want) * vocabulary + v] = answer.logit(v);
    }
    if (states)
      states[target[row]] = hash;
    if (convolved)
      convolved[target[row]] = last;
  }
  return 0;
}

int32_t runEncode(const rapt_env *, void *const *buffers, const int64_t *dims) {
  buffers += 2;
  auto *const states = next<Hash>(buffers);
  const auto *ids = next<const int32_t>(buffers), *rowBegin = next<const int32_t>(buffers),
             *target = next<const int32_t>(buffers);
  memset(next<float>(buffers), 0, size_t(dims[2]) * 2 * sizeof(float));
  for (int64_t row = 0; row < dims[0]; ++row) {
    Hash hash{};
    std::for_each(ids + rowBegin[row], ids + rowBegin[row + 1], [&](int32_t id) { add(hash, id); });
    states[target[row]] = hash;
  }
  return 0;
}

int64_t workspaceOf(const int64_t *, int64_t) { return 64; }

std::string tensor(const std::string &name, const char *kind, const char *type, const std::string &shape) {
  return R"(, {"name": ")" + name + R"(", "kind": ")" + kind + R"(", "dtype": ")" + type + R"(", "shape": [)" + shape +
         "]}";
}
std::string integers(const char *name, const char *shape) { return tensor(name, "input", "i32", shape); }

std::string entry(const char *name, const std::string &dims, const std::string &bounds, const std::string &buffers) {
  return std::string(R"({"name": ")") + name + R"(", "dims": [)" + dims + R"(], "bounds": [)" + bounds +
         R"(], "buffers": [{"name": "weights", "kind": "weights"}, {"name": "workspace", "kind": "workspace"})" +
         buffers + "]}";
}

std::string stepOf(const Hybrid &model) {
  const char *const tokens = model.isSerial ? R"("rows")" : R"("tokens")", *const rows = R"("rows")";
  const std::string state = tensor("state", "cache", "f32", R"("slots", 2)"),
                    conv = tensor("conv_state", "cache", "f32", R"("slots", 1, 3)");
  return entry("step",
               std::string(R"("rows", "wanted", "slots")") + (model.hasCache ? R"(, "table", "blocks")" : "") +
                   (model.isSerial ? "" : R"(, "tokens")"),
               std::string("[1, 8], [0, 64], [1, 1048576]") + (model.hasCache ? ", [1, 32], [1, 1048576]" : "") +
                   (model.isSerial ? "" : ", [0, 64]"),
               (model.hasState ? state : "") + (model.hasInputs ? conv : "") +
                   (model.hasCache ? R"(, {"name": "cache", "kind": "cache"})" : "") + integers("tokens", tokens) +
                   integers("row_begin", R"("rows+1")") + integers("state_slot", rows) +
                   integers("state_target", rows) +
                   (model.hasCache ? integers("past", rows) + integers("block_table", R"("rows", "table")") : "") +
                   integers("want", R"("wanted")") + tensor("logits", "output", "f32", R"("wanted", 257)"));
}

std::string manifestOf(const Hybrid &model) {
  const std::string zeros(32, '0');
#if defined(__x86_64__)
  const std::string target = R"({"arch": "x86_64", "cpu": "x86-64", "features": ["sse2"]})";
#else
  const std::string target = R"({"arch": "aarch64", "cpu": "generic", "features": ["neon"]})";
#endif
  const std::string cache = R"("cache": {"layout": "hybrid-block8", "dtype": "i32", "block": 8, "block_bytes": 64, )"
                            R"("bytes_per_token": 8)" +
                            (model.window ? R"(, "window": )" + std::to_string(model.window) : "") + "}, ";
  const std::string encode =
      entry("encode", R"("rows", "slots", "tokens")", "[1, 8], [1, 1048576], [0, 64]",
            tensor("state", "cache", "f32", R"("slots", 2)") + integers("input_ids", R"("tokens")") +
                integers("row_begin", R"("rows+1")") + integers("state_target", R"("rows")") +
                tensor("encoder_last_hidden_state", "output", "f32", R"("tokens", 2)"));
  return R"({"rapt": {"version": "0.1.0", "abi": [1, 0]}, "name": "hybrid", "model": {"family": "hybrid", )"
         R"("task": "decoder", "hidden": 2, "vocab": 257, "positions": 256}, "bounds": {"tokens": 64, "rows": 8, )"
         R"("positions": 256}, "interface_id": ")" +
         zeros + R"(", "content_id": ")" + zeros + R"(", "target": )" + target + ", " + (model.hasCache ? cache : "") +
         R"("parameters": [], "entries": [)" + stepOf(model) + (model.hasSource ? ", " + encode : "") + "]}";
}

struct Artifact {
  std::string manifest;
  rapt_artifact_entry entries[2];
  rapt_artifact table;
};

rapt_artifact tableOf(const Artifact &artifact, uint32_t entries) {
  return {RAPT_ARTIFACT_MAGIC,
          RAPT_ABI_MAJOR,
          0,
          artifact.manifest.c_str(),
          artifact.manifest.size(),
          artifact.entries,
          entries,
          nullptr,
          0,
          nullptr,
          nullptr};
}

template <Hybrid model> rapt_module *openOnce() {
  static Artifact artifact{
      manifestOf(model), {{"step", runStep<model>, workspaceOf}, {"encode", runEncode, workspaceOf}}, {}};
  static rapt_module *module = [] {
    artifact.table = tableOf(artifact, model.hasSource ? 2 : 1);
    rapt_module *opened = nullptr;
    Message message;
    EXPECT_EQ(rapt_module_from_artifact(&artifact.table, nullptr, &opened, message.text, message.size), RAPT_OK)
        << message.text;
    return opened;
  }();
  return module;
}

} // namespace

rapt_status makeDamaged(const std::string &from, const std::string &to, Message &message) {
  Artifact artifact{manifestOf(hybrid), {{"step", runStep<hybrid>, workspaceOf}}, {}};
  artifact.manifest.replace(artifact.manifest.find(from), from.size(), to);
  artifact.table = tableOf(artifact, 1);
  rapt_module *module = nullptr;
  rapt_context *context = nullptr;
  rapt_status status = rapt_module_from_artifact(&artifact.table, nullptr, &module, message.text, message.size);
  if (!status)
    status = rapt_context_new(module, nullptr, &context, message.text, message.size);
  rapt_context_free(context);
  rapt_module_release(module);
  return status;
}

rapt_module *Hybrid::open() const {
  if (hasSource)
    return openOnce<withSource>();
  if (window)
    return openOnce<windowed>();
  if (isSerial)
    return openOnce<serial>();
  if (hasCache)
    return hasState ? openOnce<hybrid>() : openOnce<convolvedAndPaged>();
  return hasState ? openOnce<linearOnly>() : openOnce<convolvedOnly>();
}

testing::AssertionResult Hybrid::isAnswer(const float *logits, const Text &text, const Text &source) const {
  if (!logits)
    return testing::AssertionFailure() << "no logits";
  Hash hash{};
  Inputs last{};
  for (int32_t id : source)
    add(hash, id);
  for (int32_t token : text) {
    add(hash, token);
    add(last, token);
  }
  Answer answer;
  const auto length = int64_t(text.size());
  for (int64_t p = window ? std::max<int64_t>(length - window, 0) : 0; hasCache && p < length; ++p)
    answer.add(uint32_t(cached(text[size_t(p)], p)));
  if (hasState)
    answer.add(hash);
  if (hasInputs)
    answer.add(last);
  for (int v = 0; v < vocabulary; ++v)
    if (logits[v] != answer.logit(v))
      return testing::AssertionFailure() << "logit " << v << " of position " << length - 1 << " is " << logits[v]
                                         << ", not " << answer.logit(v);
  return testing::AssertionSuccess();
}

} // namespace rapt::test
