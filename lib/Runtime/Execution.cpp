#include "lib/Runtime/Execution.h"
#include "lib/Runtime/CallerStruct.h"
#include "lib/Runtime/Cpu.h"
#include "lib/Runtime/DeviceArguments.h"
#include "lib/Runtime/DeviceGraphs.h"
#include "lib/Runtime/DeviceTimes.h"
#include "lib/Runtime/Manifest.h"
#include "lib/Runtime/Profile.h"
#include <cstring>

namespace rapt::runtime {

/// Whether infinities or NaN are among the numbers. The bits are joined, as a branch for each would not vectorize.
static bool areFinite(const float *numbers, int64_t count) {
  constexpr uint32_t exponent = 0x7f800000;
  uint32_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, numbers + i, sizeof bits);
    found |= uint32_t((bits & exponent) == exponent);
  }
  return !found;
}

static constexpr int64_t maxWorkers = 4096;
static constexpr int32_t stopped = 1; // what parallel_for and launch return to compiled code that has to stop

struct Execution::Dispatch {
  Execution *execution;
  rapt_task_fn body;
  void *closure;
};

/// An overflow in f16 ends in infinities or NaN, with which every later number is wrong. Buffers that stay on a GPU are
/// null here; log-sum-exps of rows without keys are infinite by themselves.
rapt_status Execution::checkOutputs(const ManifestEntry &entry, void *const *buffers, const int64_t *dims,
                                    const Report &report) const {
  for (size_t i = 0; narrow && i < entry.buffers.size(); ++i) {
    const ManifestBuffer &buffer = entry.buffers[i];
    if (buffer.kind != BufferKind::Output || buffer.dtype != "f32" || !buffers[i] ||
        buffer.name.ends_with("log_sum_exp"))
      continue;
    int64_t count = 1;
    for (const ManifestExtent &extent : buffer.shape)
      count *= extentOf(extent, dims);
    if (!areFinite(static_cast<const float *>(buffers[i]), count))
      return report.fail(RAPT_UNSUPPORTED,
                         "%s has numbers that are not finite: %s are f16, which holds numbers up to 65504; compile the "
                         "model with bf16 or f32 instead",
                         buffer.name.c_str(), narrow);
  }
  return RAPT_OK;
}

rapt_status Execution::choose(rapt_pool *pool, const rapt_executor *given, bool isForDevice, const Report &report) {
  if (pool && given)
    return report.fail(RAPT_INVALID, "both a pool and an executor are given");
  if (pool)
    executor = rapt_pool_executor(pool);
  else if (given) {
    if (rapt_status status = readStruct(given, sizeof(rapt_executor), "rapt_executor", executor, report))
      return status;
    if (!executor.workers || !executor.parallel_for)
      return report.fail(RAPT_INVALID, "the executor's workers or parallel_for is NULL");
  }
  if (isForDevice) {
    executor = {};
    workerCount = RAPT_DEVICE_WORKERS;
  }
  if (!executor.workers)
    return RAPT_OK;
  workerCount = executor.workers(executor.user);
  if (workerCount < 1 || workerCount > maxWorkers)
    return report.fail(RAPT_INVALID, "the executor has %lld workers, not 1 to %lld", (long long)workerCount,
                       (long long)maxWorkers);
  return RAPT_OK;
}

void Execution::guardedTask(void *closure, int64_t begin, int64_t end, int64_t worker) {
  const Dispatch &dispatch = *static_cast<Dispatch *>(closure);
  Execution &execution = *dispatch.execution;
  if (worker < 0 || worker >= execution.workerCount) { // its scratch memory would be another's
    execution.badWorker.store(worker < 0 ? execution.workerCount : worker, std::memory_order_relaxed);
    return;
  }
  if (execution.isCanceled())
    return;
  DefaultFloatingPoint scope;
  dispatch.body(dispatch.closure, begin, end, worker);
}

int32_t Execution::parallelFor(void *user, rapt_task_fn body, void *closure, int64_t count) {
  auto &self = *static_cast<Execution *>(user);
  if (self.isCanceled())
    return stopped;
  if (count <= 0)
    return 0;
  double begin = self.profile ? Profile::now() : 0;
  if (!self.executor.parallel_for)
    body(closure, 0, count, 0);
  else {
    Dispatch dispatch{&self, body, closure};
    self.executor.parallel_for(self.executor.user, guardedTask, &dispatch, count);
  }
  if (self.profile)
    self.profile->addDispatch(self.profile->numberOf(closure), Profile::now() - begin);
  return self.isCanceled() || self.badWorker.load(std::memory_order_relaxed) >= 0 ? stopped : 0;
}

int32_t Execution::launch(void *user, const rapt_kernel *kernel, const void *arguments, int64_t blocks) {
  auto &self = *static_cast<Execution *>(user);
  if (self.isCanceled())
    return stopped;
  if (self.profile && kernel && blocks > 0)
    self.times->launch(*kernel, arguments, blocks);
  else
    self.stream->launch(kernel, arguments, blocks, self.readsFlags && kernel && (kernel->flags & RAPT_KERNEL_OVERLAPS));
  return self.stream->hasFailed() ? stopped : 0;
}

int32_t Execution::tensorMap(void *user, const rapt_boxes *tensor, void *map) {
  return static_cast<Execution *>(user)->stream->device.makeTensorMap(*tensor, map);
}

/// Each kernel is started by itself: a graph has no times of its kernels.
int32_t Execution::runTimed(rapt_entry_fn code, const rapt_env &env, void *const *buffers, const int64_t *dims) {
  times->clear();
  const int32_t result = code(&env, buffers, dims);
  times->addTo(*profile);
  return result;
}

rapt_status Execution::runOnDevice(const ManifestEntry &entry, rapt_entry_fn code, void *const *buffers,
                                   const int64_t *dims, const Report &report, DeviceArguments &with) {
  DeviceScope scope(stream->device);
  rapt_env env{this, parallelFor, workerCount, launch, tensorMap};
  rapt_status status = RAPT_OK;
  int32_t result = stopped;
  const double begin = profile ? profile->enter(code, dims) : 0;
  if (void *const *sent = with.send(entry, buffers, dims, status, report))
    result = isCanceled() ? stopped
             : profile    ? runTimed(code, env, sent, dims)
                          : graphs->run(entry, code, env, sent, dims);
  if (result == 0)
    with.receive(entry, buffers);
  if (profile)
    profile->leave(Profile::now() - begin, buffers, dims);
  if (status)
    return status;
  if (stream->hasFailed())
    return stream->reportTo(report);
  if ((status = checkCancel(report)))
    return status;
  return result ? report.fail(RAPT_BUG, "the compiled entry returned %d", result)
                : checkOutputs(entry, buffers, dims, report);
}

rapt_status Execution::wait(const Report &report) {
  if (!stream)
    return RAPT_OK;
  stream->wait();
  return stream->reportTo(report);
}

rapt_status Execution::cause(rapt_status status, const Report &report) {
  return status && stream && stream->hasFailed() ? stream->reportTo(report) : status;
}

rapt_status Execution::run(const ManifestEntry &entry, rapt_entry_fn code, void *const *buffers, const int64_t *dims,
                           const Report &report, DeviceArguments *with) {
  if (stream)
    return runOnDevice(entry, code, buffers, dims, report, with ? *with : *arguments);
  rapt_env env{this, parallelFor, workerCount, nullptr, nullptr};
  int32_t result;
  {
    DefaultFloatingPoint scope;
    double begin = profile ? profile->enter(code, dims) : 0;
    result = code(&env, buffers, dims);
    if (profile)
      profile->leave(Profile::now() - begin, buffers, dims);
  }
  int64_t bad = badWorker.exchange(-1);
  if (bad >= 0)
    return report.fail(RAPT_INVALID, "the executor used worker id %lld; it said it has %lld workers", (long long)bad,
                       (long long)workerCount);
  if (rapt_status status = checkCancel(report))
    return status;
  if (result)
    return report.fail(RAPT_BUG, "the compiled entry returned %d", result);
  return checkOutputs(entry, buffers, dims, report);
}

} // namespace rapt::runtime
