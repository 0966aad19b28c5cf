// Hooks, threads, canceling and memory (faults 66, 67, 70, 71, 72, 74, 76).
#include "FakeModel.h"
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <csignal>
#include <cstring>
#include <numeric>
#include <pthread.h>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace rapt::test;

namespace {

/// Runs a dispatch's indices one by one in random order under random worker ids, and can do things on the way.
struct RandomExecutor {
  rapt_executor hook{};
  std::mt19937 random{1};
  int64_t workers = 7, dispatches = 0, cancelAt = -1;
  rapt_context *cancels = nullptr;
  int64_t wrongWorker = 0;

  RandomExecutor() {
    hook.size = sizeof hook;
    hook.user = this;
    hook.workers = [](void *user) { return static_cast<RandomExecutor *>(user)->workers; };
    hook.parallel_for = [](void *user, rapt_task_fn body, void *closure, int64_t count) {
      auto &self = *static_cast<RandomExecutor *>(user);
      if (self.dispatches++ == self.cancelAt)
        rapt_cancel(self.cancels);
      std::vector<int64_t> order(size_t(count), 0);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), self.random);
      for (int64_t i : order)
        body(closure, i, i + 1, self.wrongWorker ? self.wrongWorker : int64_t(self.random() % uint64_t(self.workers)));
    };
  }
};

rapt_context_options withExecutor(const RandomExecutor &executor) {
  rapt_context_options options{};
  options.executor = &executor.hook;
  return options;
}

TEST(Context, AnExecutorInRandomOrder) {
  RandomExecutor executor;
  Context context(withExecutor(executor));
  Text text;
  rapt_sequence s = context.sequence();
  EXPECT_TRUE(context.appendAndCheck(s, text, someText(90, 1)));
  EXPECT_TRUE(context.appendAndCheck(s, text, someText(1, 2)));
  EXPECT_GE(executor.dispatches, 93);
}

TEST(Context, AnExecutorWithAWrongWorkerId) {
  RandomExecutor executor;
  Context context(withExecutor(executor));
  Text text;
  rapt_sequence s = context.sequence();
  for (int64_t wrong : {7, -1, 1000}) {
    executor.wrongWorker = wrong;
    EXPECT_FAILS(context.append(s, someText(5, 1)), RAPT_INVALID, context.message, "worker id", "7 workers");
  }
  executor.wrongWorker = 0;
  EXPECT_TRUE(context.appendAndCheck(s, text, someText(5, 1)));
}

TEST(Context, CanceledAnywhereLeavesSequencesAsTheyWere) {
  RandomExecutor executor;
  Context context(withExecutor(executor));
  executor.cancels = context;
  rapt_sequence a = context.sequence(), b = 0;
  Text text;
  ASSERT_TRUE(context.appendAndCheck(a, text, someText(13, 1)));
  ASSERT_EQ(rapt_sequence_fork(context, a, &b, nullptr, 0), RAPT_OK);
  int64_t available = rapt_context_available(context);
  Text more = someText(100, 2);
  for (int64_t dispatch = 0; dispatch < 101; dispatch += 7) { // in the first and in the second part of the step
    executor.cancelAt = executor.dispatches + dispatch;
    ASSERT_EQ(context.append(b, more), RAPT_CANCELLED) << dispatch;
    EXPECT_EQ(context.logits, nullptr);
    ASSERT_EQ(rapt_sequence_length(context, b), 13);
    ASSERT_EQ(rapt_context_available(context), available);
  }
  executor.cancelAt = -1;
  Text copy = text;
  EXPECT_TRUE(context.appendAndCheck(b, copy, more));
  EXPECT_TRUE(context.appendAndCheck(a, text, {1, 2}));
}

TEST(Context, CancelBetweenStepsStopsTheNextOnly) {
  Context context;
  rapt_sequence s = context.sequence();
  Text text;
  rapt_cancel(nullptr);
  rapt_cancel(context);
  EXPECT_FAILS(context.append(s, {1, 2, 3}), RAPT_CANCELLED, context.message, "canceled");
  EXPECT_TRUE(context.appendAndCheck(s, text, {1, 2, 3}));
}

rapt_context *canceledBySignal;

TEST(Context, CancelFromASignalHandler) {
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(2, &pool, nullptr, 0), RAPT_OK);
  {
    rapt_context_options options{};
    options.pool = pool;
    options.progress = [](void *, int64_t, int64_t) { return raise(SIGUSR1); };
    Context context(options);
    canceledBySignal = context;
    signal(SIGUSR1, [](int) { rapt_cancel(canceledBySignal); });
    rapt_sequence s = context.sequence();
    EXPECT_EQ(context.append(s, someText(200, 1)), RAPT_CANCELLED);
    EXPECT_EQ(rapt_sequence_length(context, s), 0);
    signal(SIGUSR1, SIG_DFL);
  }
  rapt_pool_free(pool);
}

TEST(Context, ProgressTellsAndCancels) {
  struct Seen {
    std::vector<int64_t> done;
    int64_t total = 0, stopAt = INT64_MAX;
  } seen;
  rapt_context_options options{};
  options.user = &seen;
  options.progress = [](void *user, int64_t done, int64_t total) -> int {
    auto &seen = *static_cast<Seen *>(user);
    seen.done.push_back(done);
    seen.total = total;
    return done >= seen.stopAt;
  };
  Context context(options);
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(150, 1)));
  EXPECT_EQ(seen.done, (std::vector<int64_t>{64, 128, 150}));
  EXPECT_EQ(seen.total, 150);
  seen.stopAt = 64;
  EXPECT_FAILS(context.append(s, someText(70, 1)), RAPT_CANCELLED, context.message, "64 of 70");
  EXPECT_EQ(rapt_sequence_length(context, s), 150);
}

/// Counts, and can refuse the k-th request.
struct CountingAllocator {
  rapt_allocator hook{};
  int64_t calls = 0, live = 0, failAt = -1;
  CountingAllocator() {
    hook.size = sizeof hook;
    hook.user = this;
    hook.alloc = [](void *user, size_t bytes, size_t alignment, int32_t device) -> void * {
      auto &self = *static_cast<CountingAllocator *>(user);
      EXPECT_EQ(device, 0);
      if (self.calls++ == self.failAt)
        return nullptr;
      self.live += int64_t(bytes);
      void *memory = nullptr;
      if (posix_memalign(&memory, alignment, bytes))
        return nullptr;
      return memset(memory, 0xA5, bytes); // what is expected to be zero must be made so
    };
    hook.free = [](void *user, void *memory, size_t bytes, int32_t) {
      static_cast<CountingAllocator *>(user)->live -= int64_t(bytes);
      free(memory);
    };
  }
};

TEST(Context, NoAllocationOnceWarm) {
  CountingAllocator allocator;
  {
    rapt_context_options options{};
    options.allocator = &allocator.hook;
    Context context(options);
    rapt_sequence s = context.sequence();
    Text text;
    ASSERT_TRUE(context.appendAndCheck(s, text, someText(3, 1)));
    int64_t calls = allocator.calls;
    for (int64_t count : {1, 64, 100, 1, 1, 1, 60})
      ASSERT_TRUE(context.appendAndCheck(s, text, someText(count, 1)));
    EXPECT_EQ(allocator.calls, calls);
    EXPECT_GT(allocator.live, positions * 8);
  }
  EXPECT_EQ(allocator.live, 0);
}

TEST(Context, SurvivesEveryFailingAllocation) {
  for (int64_t k = 0;; ++k) {
    ASSERT_LT(k, 100);
    CountingAllocator allocator;
    allocator.failAt = k;
    Message message;
    rapt_context *context = nullptr;
    rapt_context_options options{};
    options.size = sizeof options;
    options.allocator = &allocator.hook;
    rapt_status status = rapt_context_new(fakeModule(), &options, &context, message.text, message.size);
    rapt_sequence s = 0, fork = 0;
    Text text = someText(20, 1);
    rapt_chunk chunks[2];
    if (!status)
      status = rapt_sequence_new(context, &s, message.text, message.size);
    if (!status) {
      chunks[0] = makeChunk(s, text, RAPT_LOGITS_ALL);
      status = rapt_step(context, chunks, 1, message.text, message.size);
      EXPECT_EQ(rapt_sequence_length(context, s), status ? 0 : 20);
    }
    if (!status)
      status = rapt_sequence_fork(context, s, &fork, message.text, message.size);
    if (!status) {
      std::vector<float> memory(40 * vocabulary + 1);
      for (int i = 0; i < 2; ++i) {
        chunks[i] = makeChunk(i ? fork : s, text, RAPT_LOGITS_ALL);
        chunks[i].output = memory.data() + i * (20 * vocabulary + 1); // scattered
        chunks[i].output_bytes = 20 * vocabulary * sizeof(float);
      }
      status = rapt_step(context, chunks, 2, message.text, message.size);
      EXPECT_EQ(rapt_sequence_length(context, fork), status ? 20 : 40);
    }
    rapt_context_free(context);
    EXPECT_EQ(allocator.live, 0) << k;
    if (allocator.calls <= k) {
      EXPECT_EQ(status, RAPT_OK) << message.text;
      break;
    }
    EXPECT_EQ(status, RAPT_NOMEM) << k;
    EXPECT_NE(strstr(message.text, "no memory"), nullptr) << message.text;
  }
}

TEST(Context, MemoryIsToldBeforeItIsTaken) {
  CountingAllocator allocator;
  rapt_context_options options{};
  options.size = sizeof options;
  options.cache_tokens = 10 * block - 3;
  options.allocator = &allocator.hook;
  rapt_memory memory{};
  memory.size = sizeof memory;
  ASSERT_EQ(rapt_context_memory(fakeModule(), &options, &memory, nullptr, 0), RAPT_OK);
  EXPECT_EQ(memory.cache, 10u * 64);
  EXPECT_EQ(memory.workspace, 128u);
  EXPECT_EQ(memory.per_worker, 64u);
  EXPECT_EQ(allocator.calls, 0);
  Context context(options);
  EXPECT_EQ(uint64_t(allocator.live), memory.cache + memory.workspace + memory.other);
}

TEST(Context, WrongOptions) {
  Message message;
  rapt_context *context = nullptr;
  auto expect = [&](rapt_context_options options, const char *part) {
    EXPECT_FAILS(rapt_context_new(fakeModule(), &options, &context, message.text, message.size), RAPT_INVALID, message,
                 part);
    EXPECT_EQ(context, nullptr);
  };
  rapt_context_options good{}, bad{};
  expect(bad, "size 0");
  good.size = sizeof good;
  (bad = good).cache_tokens = -1;
  expect(bad, "-1");
  (bad = good).cache_tokens = INT64_MAX;
  expect(bad, "9223372036854775807");
  (bad = good).max_step_tokens = 65;
  expect(bad, "65; the model is compiled for at most 64");
  (bad = good).max_step_rows = 9;
  expect(bad, "9; the model is compiled for at most 8");
  RandomExecutor executor;
  executor.workers = 0;
  (bad = good).executor = &executor.hook;
  expect(bad, "0 workers");
  rapt_allocator allocator{};
  (bad = good).allocator = &allocator;
  expect(bad, "allocator");
  EXPECT_EQ(rapt_context_new(nullptr, nullptr, &context, nullptr, 0), RAPT_INVALID);
  EXPECT_EQ(rapt_context_new(fakeModule(), nullptr, nullptr, nullptr, 0), RAPT_INVALID);
  rapt_context_free(nullptr);
}

#if !__has_feature(address_sanitizer) // which reserves more address space than the limit
TEST(Context, ACacheLargerThanMemoryIsRefused) {
  rlimit before, small;
  getrlimit(RLIMIT_AS, &before);
  small = before;
  small.rlim_cur = rlim_t(64) << 30;
  setrlimit(RLIMIT_AS, &small);
  Message message;
  rapt_context *context = nullptr;
  rapt_context_options options{};
  options.size = sizeof options;
  options.cache_tokens = int64_t(1) << 33; // 64 GiB
  EXPECT_FAILS(rapt_context_new(fakeModule(), &options, &context, message.text, message.size), RAPT_NOMEM, message,
               "68719476736 bytes", "8589934592 tokens");
  setrlimit(RLIMIT_AS, &before);
}
#endif

TEST(Context, ASecondThreadIsBusy) {
  struct State {
    Context *context = nullptr;
    rapt_sequence sequence = 0;
    rapt_status seen = RAPT_OK;
    int64_t length = 0, available = 0;
  } state;
  rapt_context_options options{};
  options.user = &state;
  options.progress = [](void *user, int64_t, int64_t) {
    auto &state = *static_cast<State *>(user);
    std::thread([&] { // while the step runs
      Message message;
      Text text = {1};
      rapt_chunk chunk = makeChunk(state.sequence, text);
      state.seen = rapt_step(*state.context, &chunk, 1, message.text, message.size);
      state.length = rapt_sequence_length(*state.context, state.sequence);
      state.available = rapt_context_available(*state.context);
    })
        .join();
    return 0;
  };
  Context context(options);
  state.context = &context;
  state.sequence = context.sequence();
  Text text;
  EXPECT_TRUE(context.appendAndCheck(state.sequence, text, someText(5, 1)));
  EXPECT_EQ(state.seen, RAPT_BUSY);
  EXPECT_EQ(state.length, -1);
  EXPECT_EQ(state.available, -1);
  EXPECT_TRUE(context.appendAndCheck(state.sequence, text, {1}));
}

TEST(Context, AChildProcessMayOnlyFreeIt) {
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(3, &pool, nullptr, 0), RAPT_OK);
  rapt_context_options options{};
  options.size = sizeof options;
  options.pool = pool;
  rapt_context *context = nullptr;
  ASSERT_EQ(rapt_context_new(fakeModule(), &options, &context, nullptr, 0), RAPT_OK);
  rapt_sequence s = 0;
  ASSERT_EQ(rapt_sequence_new(context, &s, nullptr, 0), RAPT_OK);
  pid_t child = fork();
  if (child == 0) {
    Text text = {1};
    rapt_chunk chunk = makeChunk(s, text);
    Message message;
    rapt_status status = rapt_step(context, &chunk, 1, message.text, message.size);
    bool good = status == RAPT_FORKED && strstr(message.text, "process");
    rapt_context_free(context);
    rapt_pool_free(pool); // does not wait for threads that this process does not have
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  rapt_context_free(context);
  rapt_pool_free(pool);
}

TEST(Context, ManyContextsInManyThreads) {
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(4, &pool, nullptr, 0), RAPT_OK);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t)
    threads.emplace_back([&, t] {
      rapt_context_options options{};
      options.pool = t % 2 ? pool : nullptr;
      Context context(options);
      rapt_sequence s = context.sequence();
      Text text;
      bool all = true;
      for (int i = 0; i < 10; ++i)
        all &= bool(context.appendAndCheck(s, text, someText(1 + i, uint32_t(t * 100 + i))));
      good += all;
    });
  for (auto &thread : threads)
    thread.join();
  EXPECT_EQ(good, 64);
  rapt_pool_free(pool);
}

TEST(Context, RunsOnASmallStack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 128 << 10);
  pthread_t thread;
  bool good = false;
  auto body = [](void *result) -> void * {
    rapt_module *module = nullptr;
    if (rapt_module_open(inBuild("/test/fake/fake.so").c_str(), nullptr, &module, nullptr, 0) == RAPT_OK) {
      Context context({}, module);
      Text text;
      *static_cast<bool *>(result) = bool(context.appendAndCheck(context.sequence(), text, someText(100, 1)));
    }
    rapt_module_release(module);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, &good), 0);
  pthread_join(thread, nullptr);
  EXPECT_TRUE(good);
  pthread_attr_destroy(&attributes);
}

#if defined(__x86_64__)
/// An executor whose threads compute with other rounding, as a game engine's might.
TEST(Context, FloatingPointStateIsDefaultInsideAndTheCallersOutside) {
  static unsigned seen;
  static rapt_task_fn inner;
  rapt_executor executor{};
  executor.size = sizeof executor;
  executor.workers = [](void *) -> int64_t { return 1; };
  executor.parallel_for = [](void *, rapt_task_fn body, void *closure, int64_t count) {
    _mm_setcsr(0xFFC0); // flush to zero, round towards zero, as this pool likes it
    body(closure, 0, count, 0);
    seen = _mm_getcsr();
    _mm_setcsr(0x1F80);
  };
  (void)inner;
  rapt_context_options options{};
  options.executor = &executor;
  Context context(options);
  Text text;
  unsigned before = _mm_getcsr();
  _mm_setcsr(0x9FC0); // the caller flushes denormals
  rapt_sequence s = context.sequence();
  rapt_status status = context.append(s, text = someText(9, 1));
  unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(status, RAPT_OK);
  EXPECT_EQ(seen & 0xFFC0, 0xFFC0u);
  EXPECT_EQ(after & 0xFFC0, 0x9FC0u);
  EXPECT_TRUE(isAnswer(context.logits, text, 8)); // exact only when int -> float rounds to nearest
}
#endif

/// The runtime fills and sizes buffers by their roles, so a manifest that says another shape is refused.
TEST(Context, OfBuffersOfOtherShapes) {
  const std::pair<const char *, const char *> changes[] = {
      {"\"shape\": [\"wanted\", 257]", "\"shape\": [\"wanted\", 258]"},
      {"[\"rows\", \"table\"]", "[\"table\", \"rows\"]"},
      {"[\"rows+1\"]", "[\"rows+2\"]"},
      {"[\"wanted\", 257]", "[\"tokens\", 257]"}};
  for (auto [from, to] : changes) {
    FakeCopy copy;
    patch(copy.library(), from, to);
    rapt_module *module = nullptr;
    Message m;
    ASSERT_EQ(rapt_module_open(copy.library().c_str(), nullptr, &module, m.text, m.size), RAPT_OK) << m.text;
    rapt_context *context = nullptr;
    EXPECT_FAILS(rapt_context_new(module, nullptr, &context, m.text, m.size), RAPT_UNSUPPORTED, m,
                 "entry step of fake");
    rapt_module_release(module);
  }
}

} // namespace
