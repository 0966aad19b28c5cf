// The effect of each kind of call, and the conditions that hold after it.
#include "rapt/rapt_profile.h"
#include "test/Programs/Machine.h"
#include <algorithm>
#include <cstdio>
#include <thread>

using namespace rapt::programs;

void Machine::run(const Call &call) {
  const uint32_t *n = call.numbers;
  if (call.kind == Kind::New || (live.empty() && call.kind != Kind::Forward))
    return makeSequence();
  if (call.kind == Kind::Forward)
    return forward(n[1]);
  Shadow &shadow = *live[n[0] % live.size()];
  switch (call.kind) {
  case Kind::Free:
    return freeSequence(shadow);
  case Kind::Fork:
    return fork(shadow);
  case Kind::Truncate:
    return truncate(shadow, n[1]);
  case Kind::Step:
    return step(call);
  case Kind::WrongStep:
    return wrongStep(shadow, n[1]);
  case Kind::Save:
    return saveAndLoad(shadow, n[1]);
  case Kind::Cancel:
    return cancel(shadow, n[1]);
  case Kind::Encode:
    return encode(shadow, n[1]);
  case Kind::NoMemory:
    return noMemory(shadow, n[1]);
  default:
    return profile(n[1]);
  }
}

void Machine::makeSequence() {
  Buffer<rapt_sequence> made(1);
  Message message;
  checkStatus(rapt_sequence_new(context, made.data(), message.data(), message.bytes()), {RAPT_OK}, "rapt_sequence_new",
              message);
  for (const auto &shadow : live)
    if (shadow->name == made[0])
      fail("two sequences have one name");
  live.push_back(std::make_unique<Shadow>());
  live.back()->name = made[0];
}

void Machine::freeSequence(Shadow &shadow) {
  Message message;
  checkStatus(rapt_sequence_free(context, shadow.name, message.data(), message.bytes()), {RAPT_OK},
              "rapt_sequence_free", message);
  checkStatus(rapt_sequence_free(context, shadow.name, message.data(), message.bytes()), {RAPT_INVALID},
              "freeing twice", message);
  dropShadow(shadow);
}

void Machine::fork(const Shadow &from) {
  Buffer<rapt_sequence> made(1);
  Message message;
  checkStatus(rapt_sequence_fork(context, from.name, made.data(), message.data(), message.bytes()), {RAPT_OK},
              "rapt_sequence_fork", message);
  auto copy = std::make_unique<Shadow>(from);
  copy->name = made[0];
  live.push_back(std::move(copy));
}

void Machine::truncate(Shadow &shadow, uint32_t number) {
  const size_t size = shadow.tokens.size();
  const int64_t length = number % 8 == 0 ? int64_t(size) + 1 : int64_t(number / 8 % (size + 1));
  Message message;
  rapt_status status = rapt_sequence_truncate(context, shadow.name, length, message.data(), message.bytes());
  const bool needsState = model.info.state_bytes && length < int64_t(size) && (length > 0 || shadow.hasSource),
             isKept = keepEvery && length % keepEvery == 0;
  std::vector<rapt_status> expected{length > int64_t(size) ? RAPT_INVALID : needsState ? RAPT_UNSUPPORTED : RAPT_OK};
  if (needsState && isKept)
    expected.push_back(RAPT_OK); // where the sequence was not loaded behind it
  if (model.info.cache_window && length > 0 && length < int64_t(size))
    expected.push_back(RAPT_UNSUPPORTED); // the window before that length may be gone
  checkStatus(status, expected, "rapt_sequence_truncate", message);
  if (!status)
    shadow.tokens.resize(size_t(length));
}

/// Up to four sequences at once, each with another number of tokens and of logits.
void Machine::step(const Call &call) {
  std::minstd_rand random(call.numbers[1] | 1);
  std::vector<std::pair<Shadow *, size_t>> grown;
  std::vector<rapt_chunk> chunks;
  std::vector<std::unique_ptr<Buffer<int32_t>>> ids;
  std::vector<std::unique_ptr<Buffer<float>>> outputs;
  bool isTooLong = false, lacksSource = false;
  for (size_t i = 0, wanted = 1 + call.numbers[2] % 4; i < wanted && i < live.size(); ++i) {
    Shadow &shadow = *live[(call.numbers[0] + i) % live.size()];
    size_t count = 1 + random() % (random() % 4 ? 9 : 80);
    int32_t want = int32_t(random() % 3);
    ids.push_back(std::make_unique<Buffer<int32_t>>(someTokens(random(), count, model.info.vocabulary), random() % 2));
    size_t rows = want == RAPT_LOGITS_ALL ? count : size_t(want);
    outputs.push_back(std::make_unique<Buffer<float>>(rows * size_t(model.info.vocabulary), random() % 2));
    bool own = random() % 2 && rows;
    grown.emplace_back(&shadow, count);
    chunks.push_back({sizeof(rapt_chunk), shadow.name, ids.back()->readOnly(), int64_t(count), want,
                      own ? outputs.back()->data() : nullptr, own ? outputs.back()->bytes() : 0, nullptr});
    isTooLong |= int64_t(shadow.tokens.size() + count) > model.info.max_positions;
    lacksSource |= model.takesSource && !shadow.hasSource;
  }
  Buffer<rapt_chunk> given(chunks);
  Message message;
  rapt_status status = rapt_step(context, given.data(), chunks.size(), message.data(), message.bytes());
  checkStatus(status,
              lacksSource ? std::vector{RAPT_INVALID, RAPT_TOO_LONG}
              : isTooLong ? std::vector{RAPT_TOO_LONG}
                          : std::vector{RAPT_OK, RAPT_FULL},
              "rapt_step", message);
  if (status == RAPT_FULL)
    checkFull(grown);
  for (size_t i = 0; i < chunks.size() && !status; ++i) {
    Shadow &shadow = *grown[i].first;
    const int32_t *tokens = chunks[i].tokens;
    shadow.tokens.insert(shadow.tokens.end(), tokens, tokens + chunks[i].count);
    if (chunks[i].want != RAPT_LOGITS_NONE)
      compare(shadow, given[i].logits, chunks[i].want == RAPT_LOGITS_ALL ? size_t(chunks[i].count) : 1);
  }
}

void Machine::wrongStep(Shadow &shadow, uint32_t which) {
  Tokens tokens = someTokens(which, 3, model.info.vocabulary);
  rapt_chunk chunk{sizeof chunk, shadow.name, tokens.data(), 3, RAPT_LOGITS_LAST, nullptr, 0, nullptr};
  std::vector<rapt_chunk> chunks(1, chunk);
  switch (which % 7) {
  case 0:
    tokens[2] = int32_t(model.info.vocabulary);
    break;
  case 1:
    tokens[0] = -1;
    break;
  case 2:
    chunks[0].count = 0;
    break;
  case 3:
    chunks.push_back(chunk);
    break;
  case 4:
    chunks[0].size -= 1;
    break;
  case 5:
    chunks[0].sequence += uint64_t(1) << 40;
    break;
  default:
    chunks[0].want = 3;
  }
  Buffer<rapt_chunk> given(chunks);
  Message message;
  checkStatus(rapt_step(context, given.data(), chunks.size(), message.data(), message.bytes()),
              {RAPT_INVALID, RAPT_TOO_LONG}, "a wrong step", message);
}

void Machine::saveAndLoad(const Shadow &shadow, uint32_t how) {
  Message message;
  Buffer<size_t> bytes(1);
  checkStatus(rapt_sequence_save(context, shadow.name, nullptr, 0, bytes.data(), message.data(), message.bytes()),
              {RAPT_OK}, "the size of a state", message);
  Buffer<char> state(bytes[0], how % 2);
  checkStatus(rapt_sequence_save(context, shadow.name, state.data(), bytes[0] - 1, bytes.data(), message.data(),
                                 message.bytes()),
              {RAPT_FULL}, "a short buffer", message);
  checkStatus(rapt_sequence_save(context, shadow.name, state.data(), state.bytes(), bytes.data(), message.data(),
                                 message.bytes()),
              {RAPT_OK}, "rapt_sequence_save", message);
  Buffer<rapt_sequence> made(1);
  if (how / 2 % 4 == 0) { // damaged
    state[how / 8 % state.bytes()] ^= char(1 + how % 255);
    rapt_status status =
        rapt_sequence_load(context, state.readOnly(), state.bytes(), made.data(), message.data(), message.bytes());
    checkStatus(status, {RAPT_BAD_FILE, RAPT_MISMATCH, RAPT_TOO_LONG}, "loading a damaged state", message);
    return;
  }
  rapt_status status =
      rapt_sequence_load(context, state.readOnly(), state.bytes(), made.data(), message.data(), message.bytes());
  checkStatus(status, {RAPT_OK, RAPT_FULL}, "rapt_sequence_load", message);
  if (status)
    return;
  auto copy = std::make_unique<Shadow>(shadow);
  copy->name = made[0];
  live.push_back(std::move(copy));
}

/// A canceled step leaves the sequence as it was; the next one runs.
void Machine::cancel(Shadow &shadow, uint32_t how) {
  if (int64_t(shadow.tokens.size()) + 5 > model.info.max_positions || (model.takesSource && !shadow.hasSource))
    return;
  std::vector<float> logits;
  Tokens tokens = someTokens(how, 5, model.info.vocabulary);
  how % 2 ? rapt_cancel(context) : void(cancelsNext = true);
  rapt_status status = append(shadow, tokens, RAPT_LOGITS_LAST, logits);
  cancelsNext = false;
  if (status != RAPT_CANCELLED && status != RAPT_FULL)
    fail("a canceled step gives %s", rapt_status_name(status));
  status = append(shadow, tokens, RAPT_LOGITS_LAST, logits);
  if (status == RAPT_FULL)
    return checkFull({{&shadow, tokens.size()}});
  if (status)
    fail("a step after a canceled one gives %s", rapt_status_name(status));
  shadow.tokens.insert(shadow.tokens.end(), tokens.begin(), tokens.end());
  compare(shadow, logits.data(), 1);
}

void Machine::encode(Shadow &shadow, uint32_t number) {
  Tokens tokens = someTokens(number, number / 3 % 4 ? number / 12 % 12 : number / 12 % 80, model.sourceVocabulary());
  Buffer<int32_t> ids(tokens);
  Buffer<float> hidden(tokens.size() * size_t(model.info.hidden));
  const bool wants = number % 3 == 0 && !tokens.empty();
  Buffer<rapt_source> source({{sizeof(rapt_source), shadow.name, ids.readOnly(), int64_t(tokens.size()),
                               wants ? hidden.data() : nullptr, wants ? hidden.bytes() : 0}});
  Message message;
  rapt_status status = rapt_encode(context, source.readOnly(), 1, message.data(), message.bytes());
  if (!model.takesSource)
    return checkStatus(status, {RAPT_UNSUPPORTED}, "rapt_encode without an encoder", message);
  if (shadow.hasSource || !shadow.tokens.empty())
    return checkStatus(status, {RAPT_INVALID}, "a second rapt_encode", message);
  checkStatus(status, {RAPT_OK, RAPT_FULL}, "rapt_encode", message);
  if (status)
    return;
  shadow.source = tokens;
  shadow.hasSource = true;
}

/// The first or second allocation of a step fails, where it makes any.
void Machine::noMemory(Shadow &shadow, uint32_t number) {
  const size_t count = 1 + number / 4 % 40;
  if (int64_t(shadow.tokens.size() + count) > model.info.max_positions || (model.takesSource && !shadow.hasSource))
    return;
  Tokens tokens = someTokens(number, count, model.info.vocabulary);
  std::vector<float> logits;
  memory.failAfter(1 + int(number % 2));
  rapt_status status = append(shadow, tokens, RAPT_LOGITS_ALL, logits);
  const bool hasFailed = memory.hasFailed();
  memory.forget();
  if (status == RAPT_NOMEM ? !hasFailed : status && status != RAPT_FULL)
    fail("a step whose allocation %s gives %s", hasFailed ? "fails" : "succeeds", rapt_status_name(status));
  if (status)
    return;
  shadow.tokens.insert(shadow.tokens.end(), tokens.begin(), tokens.end());
  compare(shadow, logits.data(), count);
}

/// A decoder's forward on padded rows; the second row has one token less.
void Machine::forward(uint32_t number) {
  if (model.takesSource)
    return;
  const size_t length = 2 + number % 12, vocabulary = size_t(model.info.vocabulary);
  Shadow rows[2];
  std::vector<int64_t> ids, mask(2 * length, 1);
  for (size_t r = 0; r < 2; ++r) {
    rows[r].tokens = someTokens(number + uint32_t(r), length - r, model.info.vocabulary);
    ids.insert(ids.end(), rows[r].tokens.begin(), rows[r].tokens.end());
  }
  ids.push_back(0);
  mask.back() = 0;
  Buffer<int64_t> givenIds(ids), givenMask(mask);
  Buffer<float> logits(2 * length * vocabulary);
  const int64_t shape[] = {2, int64_t(length), model.info.vocabulary};
  auto tensor = [&](const void *data, int32_t rank, uint8_t code, uint8_t bits) {
    return rapt_tensor{
        sizeof(rapt_tensor), const_cast<void *>(data), RAPT_DEVICE_CPU, 0, code, bits, 1, rank, shape, nullptr};
  };
  Buffer<rapt_tensor> tensors({tensor(givenIds.readOnly(), 2, RAPT_DTYPE_INT, 64),
                               tensor(givenMask.readOnly(), 2, RAPT_DTYPE_INT, 64),
                               tensor(logits.data(), 3, RAPT_DTYPE_FLOAT, 32)});
  const char *const names[] = {"input_ids", "attention_mask", "logits"};
  Message message;
  rapt_status status = rapt_run(context, "forward", 3, names, tensors.readOnly(), message.data(), message.bytes());
  checkStatus(status, {RAPT_OK, RAPT_FULL}, "forward", message);
  for (size_t r = 0; r < 2 && !status; ++r)
    compare(rows[r], &logits[r * length * vocabulary], length - r);
}

void Machine::profile(uint32_t number) {
  Message message;
  if (number % 2 || rapt_profile_start(context, message.data(), message.bytes()))
    return;
  Buffer<size_t> count(1);
  checkStatus(rapt_profile_read(context, nullptr, count.data(), message.data(), message.bytes()), {RAPT_OK},
              "rapt_profile_read", message);
  checkStatus(rapt_profile_stop(context, message.data(), message.bytes()), {RAPT_OK}, "rapt_profile_stop", message);
}

static void runAll(Model &model, const Program &program, rapt_pool *pool, bool verbose) {
  Machine machine(model, program.seed, pool);
  for (const Call &call : program.calls) {
    if (verbose)
      fputs(show({0, {call}}).c_str(), stderr);
    machine.run(call);
    machine.checkLengths();
  }
  machine.finish();
}

void rapt::programs::execute(const std::string &library, const Program &program, bool verbose) {
  Model model(library);
  rapt_pool *pool = nullptr;
  if (program.seed % 4 == 0 && rapt_pool_new(3, &pool, nullptr, 0))
    fail("no pool");
  runAll(model, program, pool, verbose);
  rapt_pool_free(pool);
}

void rapt::programs::executeTogether(const std::string &library, const std::vector<Program> &programs) {
  Model model(library);
  rapt_pool *pool = nullptr;
  if (rapt_pool_new(3, &pool, nullptr, 0))
    fail("no pool");
  std::vector<std::thread> threads;
  for (const Program &program : programs)
    threads.emplace_back([&] { runAll(model, program, pool, false); });
  for (std::thread &thread : threads)
    thread.join();
  rapt_pool_free(pool);
}
