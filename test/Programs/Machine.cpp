#include "test/Programs/Machine.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace rapt::programs;

Model::Model(const std::string &library) {
  Message message;
  if (rapt_module_open(library.c_str(), nullptr, &module, message.data(), message.bytes()))
    fail("%s", message.data());
  info.size = sizeof info;
  rapt_module_get_info(module, &info);
  takesSource = info.start_token >= 0;
  const std::string cache = info.cache_dtype;
  tolerance = cache == "i32" ? 0 : cache == "f32" || cache.empty() ? 1e-4 : 0.05;
}

Machine::Machine(Model &model, uint64_t seed, rapt_pool *pool) : model(model) {
  std::mt19937_64 random(seed * 7919 + 1);
  executor = {sizeof executor, this, workersOf, runBackwards};
  rapt_allocator allocator = memory.hooks();
  rapt_context_options options{};
  options.size = sizeof options;
  options.allocator = &allocator;
  options.progress = progress;
  options.user = this;
  options.cache_tokens = int64_t(1 + random() % 6) * std::max<int64_t>(model.info.cache_block, 1);
  options.max_step_tokens = random() % 2 ? 1 + int64_t(random() % 40) : 0;
  options.max_step_rows = random() % 3 ? 0 : 1 + int64_t(random() % 3);
  options.keep_states_every = keepEvery = random() % 2 ? 1 + int64_t(random() % 20) : 0;
  if (pool)
    options.pool = pool;
  else if (random() % 2)
    options.executor = &executor;
  Message message;
  Buffer<rapt_context_options> given({options});
  if (rapt_context_new(model.module, given.readOnly(), &context, message.data(), message.bytes()))
    fail("no context: %s", message.data());
  if (rapt_context_new(model.module, nullptr, &fresh, message.data(), message.bytes()))
    fail("no context to recompute in: %s", message.data());
  capacity = rapt_context_available(context);
}

Machine::~Machine() {
  rapt_context_free(context);
  rapt_context_free(fresh);
  if (memory.live())
    fail("%zu blocks are left when the context is freed", memory.live());
}

/// One index at a time, the last first, on all workers in turn.
void Machine::runBackwards(void *, rapt_task_fn body, void *closure, int64_t count) {
  for (int64_t i = count - 1; i >= 0; --i)
    body(closure, i, i + 1, i % 3);
}

int Machine::progress(void *user, int64_t done, int64_t total) {
  if (done < 0 || done > total)
    fail("progress tells %lld of %lld tokens", (long long)done, (long long)total);
  return static_cast<Machine *>(user)->cancelsNext;
}

Tokens Machine::someTokens(uint32_t number, size_t count, int64_t vocabulary) const {
  std::minstd_rand random(number | 1);
  Tokens tokens;
  while (tokens.size() < count)
    tokens.push_back(int32_t(random() % uint64_t(vocabulary)));
  return tokens;
}

int64_t Machine::blocksOf(int64_t tokens) const {
  int64_t block = std::max<int64_t>(model.info.cache_block, 1);
  return (tokens + block - 1) / block;
}

void Machine::checkStatus(rapt_status status, const std::vector<rapt_status> &allowed, const char *call,
                          Message &message) {
  if (std::find(allowed.begin(), allowed.end(), status) == allowed.end())
    fail("%s gives %s: %s", call, rapt_status_name(status), message.data());
  if (bool(status) != bool(message[0]))
    fail("%s gives %s and the message '%s'", call, rapt_status_name(status), message.data());
}

void Machine::checkLengths() {
  for (const auto &shadow : live)
    if (rapt_sequence_length(context, shadow->name) != int64_t(shadow->tokens.size()))
      fail("a sequence has %lld tokens, not %zu", (long long)rapt_sequence_length(context, shadow->name),
           shadow->tokens.size());
}

void Machine::dropShadow(const Shadow &shadow) {
  live.erase(std::find_if(live.begin(), live.end(), [&](const auto &each) { return each.get() == &shadow; }));
}

std::vector<float> Machine::recompute(const Shadow &shadow, size_t rows) {
  Message message;
  rapt_sequence sequence = 0;
  checkStatus(rapt_sequence_new(fresh, &sequence, message.data(), message.bytes()), {RAPT_OK}, "a fresh sequence",
              message);
  if (shadow.hasSource) {
    rapt_source source{sizeof source, sequence, shadow.source.data(), int64_t(shadow.source.size()), nullptr, 0};
    checkStatus(rapt_encode(fresh, &source, 1, message.data(), message.bytes()), {RAPT_OK}, "a fresh source", message);
  }
  rapt_chunk chunk{
      sizeof chunk, sequence, shadow.tokens.data(), int64_t(shadow.tokens.size()), RAPT_LOGITS_ALL, nullptr, 0,
      nullptr};
  checkStatus(rapt_step(fresh, &chunk, 1, message.data(), message.bytes()), {RAPT_OK}, "a fresh step", message);
  const float *end = chunk.logits + shadow.tokens.size() * size_t(model.info.vocabulary);
  std::vector<float> logits(end - rows * size_t(model.info.vocabulary), end);
  rapt_sequence_free(fresh, sequence, nullptr, 0);
  return logits;
}

void Machine::compare(const Shadow &shadow, const float *logits, size_t rows) {
  std::vector<float> expected = recompute(shadow, rows);
  double error = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += (double(logits[i]) - expected[i]) * (double(logits[i]) - expected[i]);
    norm += double(expected[i]) * expected[i];
  }
  double relative = std::sqrt(error / (norm ? norm : 1));
  if (!(relative <= model.tolerance)) // NaN is not
    fail("logits of the last %zu of %zu tokens differ by %g from those of a fresh sequence, allowed %g", rows,
         shadow.tokens.size(), relative, model.tolerance);
}

rapt_status Machine::append(const Shadow &shadow, const Tokens &tokens, int32_t want, std::vector<float> &logits) {
  const size_t rows = want == RAPT_LOGITS_ALL ? tokens.size() : want == RAPT_LOGITS_LAST ? 1 : 0;
  Buffer<int32_t> ids(tokens);
  Buffer<float> output(rows * size_t(model.info.vocabulary));
  Buffer<rapt_chunk> chunk({{sizeof(rapt_chunk), shadow.name, ids.readOnly(), int64_t(tokens.size()), want,
                             rows ? output.data() : nullptr, output.bytes(), nullptr}});
  Message message;
  rapt_status status = rapt_step(context, chunk.data(), 1, message.data(), message.bytes());
  checkStatus(status, {RAPT_OK, RAPT_FULL, RAPT_TOO_LONG, RAPT_CANCELLED, RAPT_NOMEM, RAPT_INVALID}, "rapt_step",
              message);
  logits.assign(output.data(), output.data() + (status ? 0 : rows * size_t(model.info.vocabulary)));
  return status;
}

/// A cache is full only where the tokens, and copies of shared blocks, can need more blocks than are free.
void Machine::checkFull(const std::vector<std::pair<Shadow *, size_t>> &grown) {
  int64_t most = 0;
  for (auto [shadow, count] : grown)
    most += blocksOf(int64_t(shadow->tokens.size() + count)) - blocksOf(int64_t(shadow->tokens.size())) + 1;
  int64_t available = blocksOf(rapt_context_available(context));
  if (most <= available)
    fail("the cache is full for at most %lld blocks, but %lld are free", (long long)most, (long long)available);
}

void Machine::finish() {
  while (!live.empty())
    freeSequence(*live.back());
  if (rapt_context_available(context) != capacity)
    fail("%lld of %lld tokens are free without sequences", (long long)rapt_context_available(context),
         (long long)capacity);
}
