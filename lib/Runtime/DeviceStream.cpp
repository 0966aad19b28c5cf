#include "lib/Runtime/DeviceStream.h"
#include <climits>
#include <cstdarg>
#include <cstdio>

namespace rapt::runtime {

static constexpr char eventProblem[] = "an event cannot be recorded";

using cuda::Address, cuda::Event, cuda::Function, cuda::Graph, cuda::GraphExec, cuda::Result, cuda::Success;

rapt_status DeviceStream::make(const Device &device, std::unique_ptr<DeviceStream> &stream, const Report &report,
                               cuda::Stream of) {
  stream.reset(new (std::nothrow) DeviceStream(device, of));
  if (!stream)
    return report.fail(RAPT_NOMEM, "no memory for a stream");
  DeviceStream &made = *stream;
  made.attempt("a stream cannot be made", [&] {
    Result result = of ? Success : device.driver.streamCreate(&made.stream, cuda::nonBlocking);
    for (Event &event : made.marks)
      if (result == Success)
        result = device.driver.eventCreate(&event, cuda::withoutTime);
    return result;
  });
  return made.reportTo(report);
}

DeviceStream::~DeviceStream() {
  if (!stream || !device.isOwn())
    return;
  DeviceScope scope(device);
  device.driver.streamSynchronize(stream); // what it uses is freed next
  for (Event event : marks)
    if (event)
      device.driver.eventDestroy(event);
  if (!isBorrowed)
    device.driver.streamDestroy(stream);
}

void DeviceStream::check(Result result, const char *what, ...) {
  if (result == Success || failure)
    return;
  failure = statusOf(result);
  va_list arguments;
  va_start(arguments, what);
  const int used = vsnprintf(text, sizeof text, what, arguments);
  va_end(arguments);
  if (used >= 0 && size_t(used) < sizeof text)
    snprintf(text + used, sizeof text - size_t(used), ": %s", device.driver.text(result));
}

void DeviceStream::fail(rapt_status status, const char *message) {
  if (failure)
    return;
  failure = status;
  snprintf(text, sizeof text, "%s", message);
}

rapt_status DeviceStream::reportTo(const Report &report) {
  const rapt_status status = failure;
  failure = RAPT_OK;
  return status ? report.fail(status, "%s", text) : RAPT_OK;
}

Address DeviceStream::allocate(uint64_t bytes, const char *what) {
  Address memory = 0;
  if (failure)
    return 0;
  DeviceScope scope(device);
  const Result result = scope.result ? scope.result : device.driver.memoryAllocate(&memory, bytes ? bytes : 1);
  if (result == Success)
    return memory;
  check(result, "the GPU's memory for %s cannot be had", what);
  if (result == cuda::OutOfMemory)
    device.describeShortage(text, sizeof text, bytes, what);
  return 0;
}

void DeviceStream::release(Address memory) {
  if (!memory || !device.isOwn())
    return;
  DeviceScope scope(device);
  device.driver.streamSynchronize(stream);
  device.driver.memoryFree(memory);
}

void *DeviceStream::allocatePinned(uint64_t bytes) {
  void *memory = nullptr;
  attempt("pinned memory of the host cannot be had",
          [&] { return device.driver.hostAllocate(&memory, bytes ? bytes : 1, 0); });
  return failure ? nullptr : memory;
}

void DeviceStream::releasePinned(void *memory) {
  if (!memory || !device.isOwn())
    return;
  DeviceScope scope(device);
  device.driver.streamSynchronize(stream);
  device.driver.hostFree(memory);
}

void DeviceStream::fill(Address to, uint64_t bytes, unsigned char byte) {
  if (bytes)
    attempt("clearing the GPU's memory failed", [&] { return device.driver.setBytes(to, byte, bytes, stream); });
}

void DeviceStream::copy(Address to, Address from, uint64_t bytes) {
  if (bytes)
    attempt("copying in the GPU's memory failed", [&] { return device.driver.copyOnDevice(to, from, bytes, stream); });
}

void DeviceStream::copyIn(Address to, const void *from, uint64_t bytes) {
  if (bytes)
    attempt("copying to the GPU failed", [&] { return device.driver.copyToDevice(to, from, bytes, stream); });
}

void DeviceStream::copyOut(void *to, Address from, uint64_t bytes) {
  if (bytes)
    attempt("copying from the GPU failed", [&] { return device.driver.copyToHost(to, from, bytes, stream); });
}

void DeviceStream::launch(const rapt_kernel *kernel, const void *arguments, int64_t blocks, bool overlaps, Event before,
                          Event behind) {
  if (failure || blocks == 0)
    return;
  const DeviceCode *code = kernel ? device.codeOf(*kernel) : nullptr;
  if (!code || blocks < 0 || blocks > INT_MAX)
    return check(cuda::InvalidValue, "the compiled code starts %lld blocks of a kernel that it does not have",
                 static_cast<long long>(blocks));
  Function function = nullptr;
  if (Result result = code->find(*kernel, function))
    return check(result, "kernel %s cannot have %u bytes of shared memory or is missing", kernel->name,
                 kernel->shared_bytes);
  void *parameters[] = {const_cast<void *>(arguments)};
  if (before) // the code was found: loading it is not the kernel's time
    check(device.driver.eventRecord(before, stream), eventProblem);
  cuda::LaunchAttribute attribute{cuda::launchOverlaps, {}, {1}};
  const bool mayOverlap = overlaps && device.driver.version >= cuda::leastOverlapVersion;
  const cuda::LaunchConfig config{unsigned(blocks),     1,      1,          kernel->threads, 1, 1,
                                  kernel->shared_bytes, stream, &attribute, mayOverlap};
  check(device.driver.launch(&config, function, parameters, nullptr),
        "kernel %s cannot be started, or one before it failed", kernel->name);
  if (behind)
    check(device.driver.eventRecord(behind, stream), eventProblem);
}

Event DeviceStream::makeEvent() {
  Event event = nullptr;
  attempt("an event cannot be made", [&] { return device.driver.eventCreate(&event, 0); });
  return failure ? nullptr : event;
}

void DeviceStream::destroy(Event event) {
  if (!event || !device.isOwn())
    return;
  DeviceScope scope(device);
  device.driver.eventDestroy(event);
}

double DeviceStream::secondsBetween(Event begin, Event end) {
  float milliseconds = 0;
  attempt("the time of a kernel cannot be had", [&] { return device.driver.eventElapsed(&milliseconds, begin, end); });
  return failure ? 0 : 1e-3 * double(milliseconds);
}

void DeviceStream::beginCapture() {
  attempt("a graph of kernels cannot be begun",
          [&] { return device.driver.captureBegin(stream, cuda::captureOfThread); });
  isCapturing = !failure;
}

GraphExec DeviceStream::endCapture(char (&problem)[textBytes]) {
  if (!isCapturing)
    return nullptr;
  isCapturing = false;
  DeviceScope scope(device);
  Graph graph = nullptr;
  GraphExec executable = nullptr;
  check(device.driver.captureEnd(stream, &graph), "a graph of kernels cannot be ended");
  if (!graph)
    return nullptr;
  const Result result = device.driver.graphInstantiate(&executable, graph, 0);
  device.driver.graphDestroy(graph);
  if (result == Success)
    return executable;
  snprintf(problem, sizeof problem, "GPU %d (%s) makes no graph of a step, whose kernels are started one by one: %s",
           device.ordinal, device.name(), device.driver.text(result));
  return nullptr;
}

void DeviceStream::launch(GraphExec graph) {
  attempt("a graph of kernels cannot be started, or a kernel before it failed",
          [&] { return device.driver.graphLaunch(graph, stream); });
}

void DeviceStream::destroy(GraphExec graph) {
  if (!device.isOwn())
    return;
  DeviceScope scope(device);
  device.driver.streamSynchronize(stream);
  device.driver.graphExecDestroy(graph);
}

void DeviceStream::mark(int which) {
  attempt(eventProblem, [&] { return device.driver.eventRecord(marks[which], stream); });
  isMarked[which] = true;
}

void DeviceStream::waitForMark(int which) {
  if (isMarked[which])
    attempt("the GPU's work failed", [&] { return device.driver.eventSynchronize(marks[which]); });
}

void DeviceStream::wait() {
  attempt("the GPU's work failed", [&] { return device.driver.streamSynchronize(stream); });
}

bool CodeMemory::allocate(const Allocator &from, DeviceStream *on, uint64_t count, const char *what, bool zeroed) {
  release();
  if (!on)
    return host.allocate(from, count, zeroed);
  address = on->allocate(count, what);
  if (!address)
    return false;
  stream = on;
  bytes = count;
  if (zeroed)
    stream->clear(address, count);
  return true;
}

void CodeMemory::release() {
  host.clear();
  if (stream)
    stream->release(address);
  stream = nullptr;
  address = bytes = 0;
}

void CodeMemory::swap(CodeMemory &other) {
  host.swap(other.host);
  std::swap(stream, other.stream);
  std::swap(address, other.address);
  std::swap(bytes, other.bytes);
}

} // namespace rapt::runtime
