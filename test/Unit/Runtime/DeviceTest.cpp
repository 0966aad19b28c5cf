// Code for GPUs on the simulated driver: answers, sequences and states are those of a CPU.
#include "FakeDevice.h"
#include "lib/Runtime/Context.h"
#include "rapt/rapt_top.h"
#include <cstring>
#include <random>
#include <thread>

using namespace rapt::test;
using rapt::runtime::Report;

namespace {

const rapt::runtime::cuda::Driver &driver() {
  const rapt::runtime::cuda::Driver *opened = nullptr;
  EXPECT_EQ(rapt::runtime::cuda::openDriver(opened, Report(nullptr, 0)), RAPT_OK);
  return *opened;
}

/// No call may leave the device's context behind in the caller's thread, or keep the GPU's memory.
class Device : public testing::Test {
protected:
  void SetUp() override {
    deviceModule();
    counterModule();
    before = freeBytes();
  }
  void TearDown() override {
    EXPECT_EQ(freeBytes(), before);
    EXPECT_NE(driver().contextPop(nullptr), rapt::runtime::cuda::Success);
  }
  static size_t freeBytes() {
    size_t free = 0, total = 0;
    driver().memoryInfo(&free, &total);
    return free;
  }
  size_t before = 0;
};

/// Random use of sequences, against plain copies of their texts.
void useAtRandom(Context &context, uint32_t seed, int rounds) {
  std::mt19937 random(seed);
  auto below = [&](size_t n) { return random() % n; };
  std::vector<std::pair<rapt_sequence, Text>> live = {{context.sequence(), {}}};
  int stepped = 0;
  for (int i = 0; i < rounds; ++i) {
    auto &[sequence, text] = live[below(live.size())];
    const size_t action = below(6);
    if (action == 0 && live.size() < 6) {
      rapt_sequence fork = 0;
      ASSERT_EQ(rapt_sequence_fork(context, sequence, &fork, nullptr, 0), RAPT_OK);
      live.emplace_back(fork, Text(text));
    } else if (action == 1 || text.size() > 60) {
      const size_t length = below(text.size() + 1);
      ASSERT_EQ(rapt_sequence_truncate(context, sequence, int64_t(length), nullptr, 0), RAPT_OK);
      text.resize(length);
    } else {
      ASSERT_TRUE(context.appendAndCheck(sequence, text, someText(int64_t(1 + below(20)), random()))) << i;
      ++stepped;
    }
  }
  EXPECT_GT(stepped, rounds / 4);
}

TEST_F(Device, SequencesAreIndependent) {
  rapt_context_options options{};
  options.cache_tokens = 60 * block;
  Context context(options, deviceModule());
  useAtRandom(context, 3, 120);
}

TEST_F(Device, TheCpuAnswersTheSame) {
  Context cpu, gpu({}, deviceModule());
  rapt_sequence a = cpu.sequence(), b = gpu.sequence();
  Text textA, textB;
  for (int64_t count : {1, 7, 64, 3, 120}) { // the last one runs in parts
    ASSERT_TRUE(cpu.appendAndCheck(a, textA, someText(count, uint32_t(count))));
    ASSERT_TRUE(gpu.appendAndCheck(b, textB, someText(count, uint32_t(count))));
  }
}

TEST_F(Device, ChunksRunTogether) {
  Context context({}, deviceModule());
  rapt_sequence sequences[2] = {context.sequence(), context.sequence()};
  Text texts[2] = {someText(11, 1), someText(5, 2)};
  std::vector<float> all(size_t(5) * vocabulary);
  rapt_chunk chunks[2] = {makeChunk(sequences[0], texts[0]), makeChunk(sequences[1], texts[1], RAPT_LOGITS_ALL)};
  chunks[1].output = all.data();
  chunks[1].output_bytes = all.size() * sizeof(float);
  ASSERT_EQ(rapt_step(context, chunks, 2, context.message.text, context.message.size), RAPT_OK) << context.message.text;
  EXPECT_TRUE(isAnswer(chunks[0].logits, texts[0], 10));
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_TRUE(isAnswer(&all[size_t(i) * vocabulary], texts[1], i));
}

TEST_F(Device, NoLogitsAreAsked) {
  Context context({}, deviceModule());
  rapt_sequence s = context.sequence();
  Text text;
  for (uint32_t i = 0; i < 4; ++i) { // inputs of a step may not overwrite those of the one before
    Text more = someText(30, i);
    rapt_chunk chunk = makeChunk(s, more, RAPT_LOGITS_NONE);
    ASSERT_EQ(rapt_step(context, &chunk, 1, nullptr, 0), RAPT_OK);
    text.insert(text.end(), more.begin(), more.end());
  }
  EXPECT_TRUE(context.appendAndCheck(s, text, {5}));
}

TEST_F(Device, ForwardOfWholeTexts) {
  Context context({}, deviceModule());
  constexpr int64_t rows = 3, length = 40;
  std::vector<int32_t> ids;
  for (int64_t row = 0; row < rows; ++row)
    for (int32_t token : someText(length, uint32_t(row)))
      ids.push_back(token);
  std::vector<float> logits(size_t(rows * length) * vocabulary);
  const int64_t shapes[2][3] = {{rows, length}, {rows, length, vocabulary}};
  rapt_tensor tensors[2]{};
  for (int i = 0; i < 2; ++i)
    tensors[i] = {sizeof(rapt_tensor),
                  i ? static_cast<void *>(logits.data()) : ids.data(),
                  RAPT_DEVICE_CPU,
                  0,
                  uint8_t(i ? RAPT_DTYPE_FLOAT : RAPT_DTYPE_INT),
                  32,
                  1,
                  2 + i,
                  shapes[i],
                  nullptr};
  const char *names[2] = {"input_ids", "logits"};
  ASSERT_EQ(rapt_run(context, "forward", 2, names, tensors, context.message.text, context.message.size), RAPT_OK)
      << context.message.text;
  for (int64_t row = 0; row < rows; ++row)
    EXPECT_TRUE(
        isAnswer(&logits[size_t(row * length + length - 1) * vocabulary], someText(length, uint32_t(row)), length - 1));
}

TEST_F(Device, TwoContextsAtOnce) {
  std::thread threads[2];
  for (uint32_t i = 0; i < 2; ++i)
    threads[i] = std::thread([i] {
      Context context({}, deviceModule());
      useAtRandom(context, 10 + i, 40);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// A state saved in `from` goes on in `to`.
void move(Context &from, Context &to) {
  rapt_sequence a = from.sequence(), b = 0;
  Text text;
  ASSERT_TRUE(from.appendAndCheck(a, text, someText(29, 4)));
  size_t bytes = 0;
  ASSERT_EQ(rapt_sequence_save(from, a, nullptr, 0, &bytes, nullptr, 0), RAPT_OK);
  std::vector<char> state(bytes);
  ASSERT_EQ(rapt_sequence_save(from, a, state.data(), bytes, &bytes, nullptr, 0), RAPT_OK);
  ASSERT_EQ(rapt_sequence_load(to, state.data(), bytes, &b, to.message.text, to.message.size), RAPT_OK)
      << to.message.text;
  EXPECT_TRUE(to.appendAndCheck(b, text, someText(3, 5)));
}

TEST_F(Device, StatesMoveBetweenCpuAndGpu) {
  Context cpu, gpu({}, deviceModule()), other({}, deviceModule());
  move(gpu, other);
  move(cpu, gpu);
  move(gpu, cpu);
}

TEST_F(Device, RecurrentStates) {
  Context context({}, counterModule());
  std::vector<std::pair<rapt_sequence, float>> sequences = {{context.sequence(), 0.0f}};
  auto add = [&](size_t i, const Text &text) {
    ASSERT_EQ(context.append(sequences[i].first, text), RAPT_OK) << context.message.text;
    for (int32_t token : text)
      sequences[i].second = 2 * sequences[i].second + float(token);
    for (int v = 0; v < counterVocabulary; ++v)
      ASSERT_EQ(context.logits[v], sequences[i].second + float(v)) << i;
  };
  add(0, {1, 2, 3});
  for (int i = 0; i < 40; ++i) { // more states than the pool begins with
    rapt_sequence fork = 0;
    ASSERT_EQ(rapt_sequence_fork(context, sequences[0].first, &fork, nullptr, 0), RAPT_OK);
    sequences.emplace_back(fork, sequences[0].second);
    add(sequences.size() - 1, {i % 4});
  }
  for (size_t i = 0; i < sequences.size(); ++i)
    add(i, {1});
  ASSERT_EQ(rapt_sequence_truncate(context, sequences[2].first, 0, nullptr, 0), RAPT_OK);
  sequences[2].second = 0;
  add(2, {3, 1});
  std::vector<char> state(4096);
  size_t bytes = 0;
  ASSERT_EQ(rapt_sequence_save(context, sequences[3].first, state.data(), state.size(), &bytes, nullptr, 0), RAPT_OK);
  ASSERT_EQ(rapt_sequence_load(context, state.data(), bytes, &sequences[4].first, nullptr, 0), RAPT_OK);
  sequences[4].second = sequences[3].second;
  add(4, {2});
  add(3, {1});
}

/// Runs the adder on n elements.
rapt_status runAdder(Context &context, int64_t n, std::vector<float> &sum) {
  std::vector<float> x(static_cast<size_t>(n)), y(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    x[size_t(i)] = float(i), y[size_t(i)] = float(i % 7);
  sum.assign(size_t(n), -1.0f);
  void *data[3] = {x.data(), y.data(), sum.data()};
  rapt_tensor tensors[3];
  for (int i = 0; i < 3; ++i)
    tensors[i] = {sizeof(rapt_tensor), data[i], RAPT_DEVICE_CPU, 0, RAPT_DTYPE_FLOAT, 32, 1, 1, &n, nullptr};
  const char *names[3] = {"x", "y", "sum"};
  return rapt_run(context, "add", 3, names, tensors, context.message.text, context.message.size);
}

TEST_F(Device, EntriesOnTensors) {
  DeviceArtifact artifact = adderOnDevice();
  rapt_module *module = nullptr;
  Message message;
  ASSERT_EQ(artifact.open(&module, message), RAPT_OK) << message.text;
  {
    Context context({}, module);
    std::vector<float> sum;
    for (int64_t n : {1, 33, 5, 1100000, 64}) { // the large ones are copied from where they are
      ASSERT_EQ(runAdder(context, n, sum), RAPT_OK) << context.message.text;
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(sum[size_t(i)], float(i) + float(i % 7)) << n;
    }
  }
  rapt_module_release(module);
}

TEST_F(Device, WeightsOfSeveralPieces) {
  Message message;
  const Report report(message.text, message.size);
  std::unique_ptr<rapt::runtime::Device> device;
  ASSERT_EQ(rapt::runtime::Device::open(0, device, report), RAPT_OK) << message.text;
  std::vector<uint32_t> weights((20 << 20) / 4 + 5), back(weights.size());
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = uint32_t(i * 2654435761u);
  const size_t bytes = weights.size() * sizeof weights[0];
  ASSERT_EQ(device->upload(weights.data(), bytes, report), RAPT_OK) << message.text;
  std::unique_ptr<rapt::runtime::DeviceStream> stream;
  ASSERT_EQ(rapt::runtime::DeviceStream::make(*device, stream, report), RAPT_OK);
  stream->copyOut(back.data(), device->weights(), bytes);
  stream->wait();
  EXPECT_EQ(stream->reportTo(report), RAPT_OK) << message.text;
  EXPECT_EQ(weights, back);
}

TEST_F(Device, PartsOfABlockHaveOneNumber) {
  Message message;
  std::unique_ptr<rapt::runtime::DeviceStream> stream;
  ASSERT_EQ(rapt::runtime::DeviceStream::make(*deviceModule()->device, stream, Report(message.text, message.size)),
            RAPT_OK);
  for (rapt::runtime::DeviceStream *on : {stream.get(), static_cast<rapt::runtime::DeviceStream *>(nullptr)}) {
    rapt::runtime::BlockPool pool;
    rapt::runtime::Allocator memory;
    ASSERT_TRUE(pool.allocate(memory, on, 3, {64, 32}, "states"));
    int64_t values[12], found[12];
    for (int64_t i = 0; i < 12; ++i)
      values[i] = i + 1;
    const int32_t a = pool.allocate(), b = pool.allocate();
    pool.write(a, values);
    pool.copy(b, a);
    pool.drop(a);
    ASSERT_TRUE(pool.reserve(memory, 9));
    pool.read(found, b);
    stream->wait();
    EXPECT_TRUE(std::equal(found, found + 12, values));
    EXPECT_EQ(pool.allocate(), a);
    pool.read(found, a);
    stream->wait();
    EXPECT_TRUE(std::all_of(found, found + 12, [](int64_t value) { return value == 0; }));
  }
}

TEST_F(Device, BlocksAreZeroedCopiedAndKept) {
  Message message;
  std::unique_ptr<rapt::runtime::DeviceStream> stream;
  ASSERT_EQ(rapt::runtime::DeviceStream::make(*deviceModule()->device, stream, Report(message.text, message.size)),
            RAPT_OK);
  rapt::runtime::BlockPool pool;
  rapt::runtime::Allocator memory;
  ASSERT_TRUE(pool.allocate(memory, stream.get(), 3, {64}, "blocks"));
  auto first = [&](int32_t block) {
    int64_t values[8] = {-1};
    pool.read(values, block);
    stream->wait();
    return values[0];
  };
  const int64_t sevens[8] = {7};
  const int32_t a = pool.allocate(), b = pool.allocate();
  EXPECT_EQ(first(a), 0);
  pool.write(a, sevens);
  pool.copy(b, a);
  EXPECT_EQ(first(b), 7);
  pool.drop(a);
#ifdef NDEBUG
  EXPECT_EQ(first(pool.allocate(/*isFilled=*/true)), 7) << "a block that is filled next is left as it is";
#else
  EXPECT_EQ(first(a), -1) << "a block that nobody holds is NaN";
  EXPECT_EQ(first(pool.allocate(/*isFilled=*/true)), 0);
#endif
  pool.drop(a);
  EXPECT_EQ(first(pool.allocate()), 0);
  ASSERT_TRUE(pool.reserve(memory, 9));
  EXPECT_EQ(first(b), 7);
  EXPECT_FALSE(stream->hasFailed());
}

TEST_F(Device, APoolIsOfNoUse) {
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(2, &pool, nullptr, 0), RAPT_OK);
  rapt_context_options options{};
  options.size = sizeof options;
  rapt_memory memory{sizeof(rapt_memory)}, withPool{sizeof(rapt_memory)};
  EXPECT_EQ(rapt_context_memory(deviceModule(), &options, &memory, nullptr, 0), RAPT_OK);
  options.pool = pool;
  EXPECT_EQ(rapt_context_memory(deviceModule(), &options, &withPool, nullptr, 0), RAPT_OK);
  EXPECT_EQ(memcmp(&memory, &withPool, sizeof memory), 0);
  EXPECT_GE(memory.workspace, 4096u) << "the slices of scratch memory, a byte each";
  EXPECT_EQ(memory.cache, uint64_t(positions / block * 64));
  {
    Context context(options, deviceModule());
    Text text;
    EXPECT_TRUE(context.appendAndCheck(context.sequence(), text, {1, 2, 3}));
  }
  rapt_pool_free(pool);
}

TEST_F(Device, ACancelIsSeenAtALaunch) {
  Context context({}, deviceModule());
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(9, 1)));
  static int launches;
  launches = 0;
  deviceFaults.user = static_cast<rapt_context *>(context);
  deviceFaults.atLaunch = [](void *user) { ++launches, rapt_cancel(static_cast<rapt_context *>(user)); };
  EXPECT_EQ(context.append(s, someText(4, 2)), RAPT_CANCELLED) << context.message.text;
  deviceFaults = {};
  EXPECT_EQ(launches, 2) << "the second launch tells the entry to stop";
  EXPECT_EQ(rapt_sequence_length(context, s), 9);
  EXPECT_TRUE(context.appendAndCheck(s, text, someText(4, 3)));
}

/// Code of before has no entries that choose: the host does.
TEST_F(Device, MostLikelyTokensWithoutEntries) {
  Context context({}, deviceModule());
  const Text text = someText(9, 1);
  rapt_chunk chunk = makeChunk(context.sequence(), text);
  int32_t ids[3];
  float logits[3];
  const rapt_top top{sizeof top, 3, 0, ids, logits};
  ASSERT_EQ(rapt_step_top(context, &chunk, &top, 1, context.message.text, context.message.size), RAPT_OK)
      << context.message.text;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(logits[i], expectedLogit(text, 8, ids[i]));
  EXPECT_GE(logits[0], logits[1]);
  EXPECT_GE(logits[1], logits[2]);
}

} // namespace
