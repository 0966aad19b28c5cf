// The default thread pool. Threads sleep between steps and spin for a short while between the dispatches of one, since
// the next dispatch of a step follows within microseconds.
//
// Rapt has a pool of its own for two reasons (docs/Decisions/0003). The runtime may need nothing but libc, libm and
// pthread, and Debian has pthreadpool as a shared library only. And a dispatch must not wait for a thread that was
// never scheduled: threads join an open dispatch, and the caller closes it when all indices are taken and waits only
// for the threads that joined.
//
// Each thread has an equal range of consecutive indices and takes them from the front, so that it reads consecutive
// memory, mostly the same part in every dispatch. A thread whose range is empty steals the back half of another's
// range, or all of it where the other thread has not joined yet.
//
// On machines with two processors Linux was seen to wake a thread on the processor where it fell asleep, although the
// caller ran there and the other one was idle. The thread then waits until the next timer tick, milliseconds later. The
// caller therefore removes its processor from the affinity of threads that sleep on it.
#include "lib/Runtime/Message.h"
#include "rapt/rapt.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

using rapt::runtime::Report;

namespace {

constexpr int64_t maxThreads = 1024;
constexpr size_t stackBytes = size_t(1) << 20; // generated code keeps at most 16 KiB on it
constexpr int spins = 4000;                    // some tens of microseconds

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("yield");
#endif
}

/// A range of a dispatch's indices, which are below 2^32.
struct Run {
  uint64_t first, end;

  bool isEmpty() const { return first >= end; }
  /// Takes the front of the range, which the caller runs at once.
  Run front() const { return {first, first + (end - first < 16 ? 1 : (end - first) / 8)}; }
};

/// The range of a thread: first << 32 | end. Compare-and-swap has no ABA problem: an equal word is an equal range, of
/// which nothing has been taken.
struct alignas(64) Share {
  std::atomic<uint64_t> word{0};

  static constexpr uint64_t of(Run run) { return run.first << 32 | run.end; }
  static constexpr Run in(uint64_t word) { return {word >> 32, word & UINT32_MAX}; }
  void set(Run run) { word.store(of(run), std::memory_order_relaxed); }
};
constexpr int64_t mostIndices = UINT32_MAX;

struct Worker {
  rapt_pool *pool;
  pthread_t thread;
  int64_t index;
  std::atomic<int> processor{-1}; ///< where it sleeps; -1 while it does not
};

// The word that dispatches are opened, joined and closed with: dispatch number << 32 | open << 31 | threads inside.
constexpr uint64_t openBit = uint64_t(1) << 31;
constexpr uint64_t insideMask = openBit - 1;
constexpr uint64_t oneDispatch = uint64_t(1) << 32;

} // namespace

struct rapt_pool {
  int64_t threads = 1;  ///< the caller included
  int64_t started = 0;  ///< threads of our own that run
  bool crowded = false; ///< more threads than processors: spinning would keep others from working
  cpu_set_t processors; ///< that the pool's threads may be scheduled on; empty where there are more than it can say
  pid_t owner = getpid();
  std::unique_ptr<Worker[]> workers;

  std::unique_ptr<Share[]> shares; ///< of each thread

  alignas(64) std::atomic<uint64_t> dispatch{0};
  rapt_task_fn body = nullptr;
  void *closure = nullptr;
  int64_t base = 0, count = 0; ///< of the dispatch's indices

  alignas(64) std::atomic<int64_t> sleepers{0};
  std::atomic<bool> stop{false};
  pthread_mutex_t dispatching = PTHREAD_MUTEX_INITIALIZER; ///< one dispatch at a time
  pthread_mutex_t sleep = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

  void run(rapt_task_fn task, void *taskClosure, int64_t taskCount);
  void runDispatch(int64_t first, int64_t taskCount);
  Run dealt(int64_t worker) const;
  void work(int64_t worker);
  bool takeOwn(int64_t worker, Run &taken);
  bool steal(int64_t worker, Run &taken);
  void serve(int64_t worker);
  void clearProcessor();
  void shutDown();
};

/// A worker's share at first.
Run rapt_pool::dealt(int64_t worker) const {
  const uint64_t each = uint64_t(count / threads), more = uint64_t(count % threads), i = uint64_t(worker);
  const uint64_t first = i * each + (i < more ? i : more);
  return {first, first + each + (i < more)};
}

/// Calls the body with the worker's indices, and then with those of others, until there are none.
void rapt_pool::work(int64_t worker) {
  const rapt_task_fn task = body;
  void *const taskClosure = closure;
  const int64_t first = base;
  for (Run taken; takeOwn(worker, taken) || steal(worker, taken);)
    task(taskClosure, first + int64_t(taken.first), first + int64_t(taken.end), worker);
}

bool rapt_pool::takeOwn(int64_t worker, Run &taken) {
  std::atomic<uint64_t> &mine = shares[worker].word;
  uint64_t word = mine.load(std::memory_order_relaxed);
  for (Run own = Share::in(word); !own.isEmpty(); own = Share::in(word)) {
    taken = own.front();
    if (mine.compare_exchange_weak(word, Share::of({taken.end, own.end}), std::memory_order_relaxed))
      return true;
  }
  return false;
}

/// The worker takes the front of what it steals, and the rest becomes its share.
bool rapt_pool::steal(int64_t worker, Run &taken) {
  for (int64_t i = 1, other = worker; i < threads; ++i) {
    other = other + 1 < threads ? other + 1 : 0;
    if (other >= count) // has none, and whoever takes a single index has none to share
      continue;
    const Run all = dealt(other);
    std::atomic<uint64_t> &theirs = shares[other].word;
    uint64_t word = theirs.load(std::memory_order_relaxed);
    for (Run left = Share::in(word); !left.isEmpty(); left = Share::in(word)) {
      const bool hasBegun = left.first != all.first || left.end != all.end;
      const uint64_t from = hasBegun ? left.first + (left.end - left.first) / 2 : left.first;
      if (!theirs.compare_exchange_weak(word, Share::of({left.first, from}), std::memory_order_relaxed))
        continue;
      taken = Run{from, left.end}.front();
      if (taken.end < left.end)
        shares[worker].set({taken.end, left.end});
      return true;
    }
  }
  return false;
}

/// Moves threads that sleep on the caller's processor to the others.
void rapt_pool::clearProcessor() {
  const int here = sched_getcpu();
  cpu_set_t others = processors;
  if (here < 0 || here >= CPU_SETSIZE)
    return;
  CPU_CLR(here, &others);
  if (CPU_COUNT(&others) == 0)
    return;
  for (int64_t i = 0; i < started; ++i) {
    int sleeps = here;
    if (workers[i].processor.compare_exchange_strong(sleeps, -1)) // refused where processors were taken away since
      pthread_setaffinity_np(workers[i].thread, sizeof others, &others);
  }
}

void rapt_pool::run(rapt_task_fn task, void *taskClosure, int64_t taskCount) {
  if (taskCount <= 0)
    return;
  if (started == 0 || taskCount == 1 || owner != getpid()) // threads do not survive fork
    return task(taskClosure, 0, taskCount, 0);
  pthread_mutex_lock(&dispatching);
  body = task;
  closure = taskClosure;
  for (int64_t first = 0; first < taskCount;) {
    const int64_t some = taskCount - first < mostIndices ? taskCount - first : mostIndices;
    runDispatch(first, some);
    first += some;
  }
  pthread_mutex_unlock(&dispatching);
}

void rapt_pool::runDispatch(int64_t first, int64_t taskCount) {
  base = first;
  count = taskCount;
  for (int64_t i = 0; i < threads && i < count; ++i) // the others' are empty since the dispatch before
    shares[i].set(dealt(i));
  uint64_t closed = dispatch.load(std::memory_order_relaxed);
  dispatch.store(closed + oneDispatch + openBit); // sequentially consistent with `sleepers`
  if (sleepers.load() > 0) {
    if (!crowded)
      clearProcessor();
    pthread_mutex_lock(&sleep);
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&sleep);
  }
  work(0);
  dispatch.fetch_and(~openBit, std::memory_order_acq_rel);
  for (int i = 0; dispatch.load(std::memory_order_acquire) & insideMask; ++i)
    if (crowded || i > spins)
      sched_yield();
    else
      relax();
}

void rapt_pool::serve(int64_t worker) {
  uint64_t seen = 0; // number of the last dispatch that the thread joined or missed
  while (!stop.load(std::memory_order_acquire)) {
    uint64_t word = dispatch.load();
    if (word >> 32 != seen && word & openBit) {
      if (!dispatch.compare_exchange_weak(word, word + 1, std::memory_order_acquire))
        continue;
      seen = word >> 32;
      work(worker);
      dispatch.fetch_sub(1, std::memory_order_release);
    }
    seen = word >> 32;
    for (int i = crowded ? spins : 0; i < spins && dispatch.load(std::memory_order_relaxed) >> 32 == seen; ++i)
      relax();
    if (dispatch.load(std::memory_order_relaxed) >> 32 != seen)
      continue;
    pthread_mutex_lock(&sleep);
    workers[worker - 1].processor.store(sched_getcpu());
    sleepers.fetch_add(1);
    while (dispatch.load() >> 32 == seen && !stop.load(std::memory_order_acquire))
      pthread_cond_wait(&wake, &sleep);
    sleepers.fetch_sub(1);
    workers[worker - 1].processor.store(-1);
    pthread_mutex_unlock(&sleep);
  }
}

void rapt_pool::shutDown() {
  pthread_mutex_lock(&sleep);
  stop.store(true, std::memory_order_release);
  pthread_cond_broadcast(&wake);
  pthread_mutex_unlock(&sleep);
  for (int64_t i = 0; i < started; ++i)
    pthread_join(workers[i].thread, nullptr);
}

static void *threadMain(void *argument) {
  auto *worker = static_cast<Worker *>(argument);
  worker->pool->serve(worker->index);
  return nullptr;
}

/// Starts the pool's threads with signals blocked: the application's handlers run on the application's threads.
static int startThreads(rapt_pool &pool) {
  pthread_attr_t attributes;
  if (int error = pthread_attr_init(&attributes))
    return error;
  int error = pthread_attr_setstacksize(&attributes, stackBytes);
  sigset_t all, before;
  sigfillset(&all);
  for (int fault : {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGABRT}) // a blocked one could not be handled at all
    sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (!error && pool.started < pool.threads - 1) {
    Worker &worker = pool.workers[pool.started];
    worker.pool = &pool;
    worker.index = pool.started + 1;
    if (!(error = pthread_create(&worker.thread, &attributes, threadMain, &worker)))
      ++pool.started;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error;
}

extern "C" {

rapt_status rapt_pool_new(int64_t threads, rapt_pool **pool, char *message, size_t message_size) {
  Report report(message, message_size);
  if (!pool)
    return report.fail(RAPT_INVALID, "the pointer to the pool is NULL");
  *pool = nullptr;
  if (threads < 0 || threads > maxThreads)
    return report.fail(RAPT_INVALID, "%lld threads; a pool has 1 to %lld (0: one for each processor)",
                       (long long)threads, (long long)maxThreads);
  int64_t processors = rapt_default_threads();
  if (threads == 0)
    threads = processors < maxThreads ? processors : maxThreads;
  std::unique_ptr<rapt_pool> made(new (std::nothrow) rapt_pool);
  if (made && threads > 1) {
    made->workers.reset(new (std::nothrow) Worker[threads - 1]);
    made->shares.reset(new (std::nothrow) Share[threads]);
  }
  if (!made || (threads > 1 && (!made->workers || !made->shares)))
    return report.fail(RAPT_NOMEM, "no memory for a pool of %lld threads", (long long)threads);
  made->threads = threads;
  made->crowded = threads > processors;
  if (sched_getaffinity(0, sizeof made->processors, &made->processors))
    CPU_ZERO(&made->processors);
  if (int error = startThreads(*made)) {
    made->shutDown();
    return report.fail(RAPT_NOMEM, "only %lld of %lld threads could be started: %s", (long long)made->started + 1,
                       (long long)threads, strerror(error));
  }
  *pool = made.release();
  return RAPT_OK;
}

void rapt_pool_free(rapt_pool *pool) {
  if (pool && pool->owner == getpid())
    pool->shutDown();
  delete pool;
}

int64_t rapt_pool_threads(const rapt_pool *pool) { return pool ? pool->threads : 0; }

rapt_executor rapt_pool_executor(rapt_pool *pool) {
  rapt_executor executor{};
  executor.size = sizeof executor;
  executor.user = pool;
  executor.workers = [](void *user) { return user ? static_cast<rapt_pool *>(user)->threads : 1; };
  executor.parallel_for = [](void *user, rapt_task_fn body, void *closure, int64_t count) {
    if (user)
      static_cast<rapt_pool *>(user)->run(body, closure, count);
    else if (count > 0)
      body(closure, 0, count, 0);
  };
  return executor;
}
}
