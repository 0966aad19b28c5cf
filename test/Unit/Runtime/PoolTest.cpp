// Every index once, no worker id twice at a time, for any number of threads and callers.
#include "rapt/rapt.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace {

struct Dispatch {
  std::vector<std::atomic<int>> hits;
  std::vector<std::atomic<int>> inside;
  std::atomic<int> errors{0};
  Dispatch(size_t count, size_t workers) : hits(count), inside(workers) {}
  static void body(void *closure, int64_t begin, int64_t end, int64_t worker) {
    auto &self = *static_cast<Dispatch *>(closure);
    if (worker < 0 || worker >= int64_t(self.inside.size()) || self.inside[size_t(worker)]++ != 0)
      ++self.errors;
    for (int64_t i = begin; i < end; ++i)
      ++self.hits[size_t(i)];
    --self.inside[size_t(worker)];
  }
};

void runDispatches(rapt_pool *pool, int rounds) {
  rapt_executor executor = rapt_pool_executor(pool);
  for (int round = 0; round < rounds; ++round) {
    size_t count = size_t(round % 40);
    Dispatch dispatch(count, size_t(executor.workers(executor.user)));
    executor.parallel_for(executor.user, Dispatch::body, &dispatch, int64_t(count));
    EXPECT_EQ(dispatch.errors, 0);
    for (auto &hits : dispatch.hits)
      ASSERT_EQ(hits, 1);
    if (round % 100 == 99) // let the threads fall asleep
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Pool, CoversEachIndexOnce) {
  for (int64_t threads : {1, 2, 3, 7, 16}) {
    rapt_pool *pool = nullptr;
    ASSERT_EQ(rapt_pool_new(threads, &pool, nullptr, 0), RAPT_OK);
    EXPECT_EQ(rapt_pool_threads(pool), threads);
    runDispatches(pool, 1000);
    rapt_pool_free(pool);
  }
}

// The thread that has the first index does not end before all that it has not taken yet are done, which takes another.
TEST(Pool, IndicesOfABusyThreadAreTakenByOthers) {
  struct Places {
    std::vector<std::atomic<int>> hits = std::vector<std::atomic<int>>(64);
    bool areDone(int64_t from) const {
      return std::all_of(hits.begin() + from, hits.end(), [](const std::atomic<int> &hits) { return hits == 1; });
    }
  } places;
  auto body = [](void *closure, int64_t begin, int64_t end, int64_t) {
    auto &places = *static_cast<Places *>(closure);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (begin == 0 && !places.areDone(end) && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_TRUE(begin != 0 || places.areDone(end));
    for (int64_t i = begin; i < end; ++i)
      ++places.hits[size_t(i)];
  };
  for (int64_t threads : {2, 5}) {
    rapt_pool *pool = nullptr;
    ASSERT_EQ(rapt_pool_new(threads, &pool, nullptr, 0), RAPT_OK);
    rapt_executor executor = rapt_pool_executor(pool);
    std::fill(places.hits.begin(), places.hits.end(), 0);
    executor.parallel_for(executor.user, body, &places, int64_t(places.hits.size()));
    EXPECT_TRUE(places.areDone(0));
    rapt_pool_free(pool);
  }
}

// Both threads are in their first calls at once, at the beginnings of their halves.
TEST(Pool, ThreadsHaveNeighboringIndices) {
  struct Calls {
    std::atomic<int> inside{0};
    std::atomic<int64_t> firsts[2]{-1, -1};
  } calls;
  auto body = [](void *closure, int64_t begin, int64_t, int64_t worker) {
    auto &calls = *static_cast<Calls *>(closure);
    int64_t none = -1;
    if (!calls.firsts[worker].compare_exchange_strong(none, begin))
      return;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (++calls.inside; calls.inside < 2 && std::chrono::steady_clock::now() < deadline;)
      std::this_thread::yield();
  };
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(2, &pool, nullptr, 0), RAPT_OK);
  rapt_executor executor = rapt_pool_executor(pool);
  executor.parallel_for(executor.user, body, &calls, 100);
  EXPECT_EQ(calls.firsts[0], 0);
  EXPECT_EQ(calls.firsts[1], 50);
  rapt_pool_free(pool);
}

// A thread that is kept from coming leaves its indices to the others in order.
TEST(Pool, IndicesOfAnAbsentThreadAreTakenInOrder) {
  struct Calls {
    std::vector<int64_t> begins;
    static void body(void *closure, int64_t begin, int64_t, int64_t worker) {
      if (worker == 0)
        static_cast<Calls *>(closure)->begins.push_back(begin);
    }
  };
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(2, &pool, nullptr, 0), RAPT_OK);
  rapt_executor executor = rapt_pool_executor(pool);
  Calls calls;
  // The other one comes at times, even if it has to be woken; 1000 dispatches without one that it misses are not seen.
  for (int round = 0; round < 1000; ++round) {
    calls.begins.clear();
    executor.parallel_for(executor.user, Calls::body, &calls, 100);
    if (std::is_sorted(calls.begins.begin(), calls.begins.end()) && calls.begins.back() == 99)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(std::is_sorted(calls.begins.begin(), calls.begins.end()));
  EXPECT_EQ(calls.begins.back(), 99);
  rapt_pool_free(pool);
}

TEST(Pool, CoversMoreIndicesThanAWordHas) {
  struct Sums {
    std::atomic<uint64_t> count{0}, squares{0};
  } sums;
  auto body = [](void *closure, int64_t begin, int64_t end, int64_t) {
    auto &sums = *static_cast<Sums *>(closure);
    sums.count += uint64_t(end - begin);
    sums.squares += uint64_t(end) * uint64_t(end) - uint64_t(begin) * uint64_t(begin);
  };
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(3, &pool, nullptr, 0), RAPT_OK);
  rapt_executor executor = rapt_pool_executor(pool);
  const uint64_t count = (uint64_t(5) << 32) + 7;
  executor.parallel_for(executor.user, body, &sums, int64_t(count));
  EXPECT_EQ(sums.count, count);
  EXPECT_EQ(sums.squares, count * count);
  rapt_pool_free(pool);
}

TEST(Pool, ManyCallersTakeTurns) {
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(4, &pool, nullptr, 0), RAPT_OK);
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] { runDispatches(pool, 300); });
  for (auto &caller : callers)
    caller.join();
  rapt_pool_free(pool);
}

TEST(Pool, StartsAndStops) {
  for (int i = 0; i < 50; ++i) {
    rapt_pool *pool = nullptr;
    ASSERT_EQ(rapt_pool_new(4, &pool, nullptr, 0), RAPT_OK);
    rapt_pool_free(pool);
  }
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(0, &pool, nullptr, 0), RAPT_OK);
  EXPECT_EQ(rapt_pool_threads(pool), rapt_default_threads());
  rapt_pool_free(pool);
  rapt_pool_free(nullptr);
}

// It would wait there for the clock's next tick.
TEST(Pool, AThreadIsNotWokenOnTheCallersProcessor) {
  if (rapt_default_threads() < 2)
    GTEST_SKIP() << "needs two processors";
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(2, &pool, nullptr, 0), RAPT_OK);
  cpu_set_t before, here;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  ASSERT_EQ(sched_setaffinity(0, sizeof here, &here), 0);
  struct Places {
    cpu_set_t caller;
    std::atomic<int> rounds{0}, beside{0};
  } places{here};
  auto body = [](void *closure, int64_t, int64_t, int64_t worker) {
    auto &places = *static_cast<Places *>(closure);
    if (worker == 0) { // leaves the other one time to come
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return;
    }
    if (places.rounds++ == 0)
      EXPECT_EQ(sched_setaffinity(0, sizeof places.caller, &places.caller), 0);
    else
      places.beside += !CPU_ISSET(sched_getcpu(), &places.caller);
  };
  // The thread has bound itself to the caller's processor, so that only the pool can move it away. On a busy machine
  // it may still spin there when the next round begins, hence the number of rounds.
  rapt_executor executor = rapt_pool_executor(pool);
  for (int round = 0; round < 1000 && places.beside < 2; ++round) {
    executor.parallel_for(executor.user, body, &places, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(2)); // it falls asleep
  }
  EXPECT_GE(places.beside, 2);
  sched_setaffinity(0, sizeof before, &before);
  rapt_pool_free(pool);
}

TEST(Pool, RefusesAbsurdNumbers) {
  rapt_pool *pool = nullptr;
  char message[256];
  for (int64_t threads : {int64_t(-1), int64_t(1000000), INT64_MAX}) {
    EXPECT_EQ(rapt_pool_new(threads, &pool, message, sizeof message), RAPT_INVALID);
    EXPECT_NE(strstr(message, "1 to 1024"), nullptr) << message;
  }
  EXPECT_EQ(rapt_pool_new(1, nullptr, message, sizeof message), RAPT_INVALID);
}

} // namespace
