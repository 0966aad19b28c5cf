//===- Memory.cpp - Memory, streams, graphs and events ------------------------===//
#include "test/Simulator/Cuda/State.h"
#include <cstdlib>
#include <cstring>
using namespace rapt;
using namespace rapt::runtime::cuda;

#define EXPORT extern "C" __attribute__((visibility("default"))) Result

namespace {

std::span<const std::byte> bytesAt(const void *memory, size_t bytes) {
  return {static_cast<const std::byte *>(memory), bytes};
}

Result resultOf(bool isInside) { return isInside ? Success : InvalidValue; }

} // namespace

EXPORT cuMemAlloc_v2(Address *address, size_t bytes) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (state.current.empty())
    return InvalidContext;
  if (state.forbidsInCapture())
    return CaptureUnsupported;
  if (bytes == 0)
    return InvalidValue;
  if (bytes > state.memory || state.simulator.global().allocatedBytes() > state.memory - bytes)
    return OutOfMemory;
  *address = state.simulator.global().allocate(bytes);
  return Success;
}
EXPORT cuMemFree_v2(Address address) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (state.forbidsInCapture())
    return CaptureUnsupported;
  state.finishAllCopies();
  return resultOf(address == 0 || state.simulator.global().free(address));
}
EXPORT cuMemGetInfo_v2(size_t *free, size_t *total) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  *total = state.memory;
  *free = state.memory - state.simulator.global().allocatedBytes();
  return Success;
}
EXPORT cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (state.forbidsInCapture())
    return CaptureUnsupported;
  *memory = bytes <= state.mostPinned ? malloc(bytes) : nullptr;
  if (!*memory)
    return OutOfMemory;
  state.mostPinned -= bytes;
  state.pinned[static_cast<std::byte *>(*memory)] = bytes;
  return Success;
}
EXPORT cuMemFreeHost(void *memory) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  auto found = state.pinned.find(static_cast<std::byte *>(memory));
  if (found == state.pinned.end())
    return InvalidValue;
  state.finishAllCopies();
  state.mostPinned += found->second;
  state.pinned.erase(found);
  free(memory);
  return Success;
}

EXPORT cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Stream stream) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  return state.issueCopy(stream, from, [&state, to, from, bytes] {
    return resultOf(state.simulator.global().write(to, bytesAt(from, bytes)));
  });
}
EXPORT cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream stream) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  state.counts.hostBytes += bytes;
  return state.issue(stream, [&state, to, from, bytes] {
    return resultOf(state.simulator.global().read(from, {static_cast<std::byte *>(to), bytes}));
  });
}
EXPORT cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream stream) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  return state.issue(stream, [&state, to, from, bytes] {
    std::vector<std::byte> copy(bytes);
    return resultOf(state.simulator.global().read(from, copy) && state.simulator.global().write(to, copy));
  });
}
EXPORT cuMemsetD8Async(Address to, unsigned char value, size_t bytes, Stream stream) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  return state.issue(stream, [&state, to, value, bytes] {
    return resultOf(state.simulator.global().write(to, std::vector<std::byte>(bytes, std::byte(value))));
  });
}

//===- Streams, graphs, events --------------------------------------------------===//

EXPORT cuStreamCreate(Stream *stream, unsigned) {
  *stream = new StreamHandle;
  return Success;
}
EXPORT cuStreamDestroy_v2(Stream stream) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  state.captured.erase(stream);
  state.finishCopies(*stream);
  delete stream;
  return Success;
}
EXPORT cuStreamSynchronize(Stream stream) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  StreamHandle &target = stream ? *stream : state.defaultStream;
  if (target.isCapturing()) {
    target.isInvalid = true;
    return CaptureUnsupported;
  }
  state.finishCopies(target);
  return target.failure;
}
EXPORT cuStreamBeginCapture_v2(Stream stream, int) {
  if (!stream || stream->isCapturing())
    return InvalidValue;
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  stream->captor = std::this_thread::get_id();
  stream->isInvalid = false;
  state.captured.insert(stream);
  return Success;
}
EXPORT cuStreamEndCapture(Stream stream, Graph *graph) {
  if (!stream || !stream->isCapturing())
    return InvalidValue;
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  std::vector<Work> work = std::move(stream->captured);
  stream->captured.clear();
  stream->captor = {};
  state.captured.erase(stream);
  *graph = nullptr;
  if (stream->isInvalid)
    return CaptureInvalidated;
  *graph = new GraphHandle{std::move(work)};
  ++state.counts.liveGraphs;
  return Success;
}
EXPORT cuGraphInstantiateWithFlags(GraphExec *executable, Graph graph, uint64_t) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (state.counts.recordedGraphs >= state.mostGraphs)
    return OutOfMemory;
  *executable = new GraphExecHandle{graph->work};
  ++state.counts.recordedGraphs;
  ++state.counts.liveGraphs;
  return Success;
}
EXPORT cuGraphLaunch(GraphExec executable, Stream stream) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  Result result = Success;
  ++state.counts.graphs;
  for (const Work &work : executable->work)
    result = state.issue(stream, work);
  return result;
}
EXPORT cuGraphDestroy(Graph graph) {
  --State::get().counts.liveGraphs;
  delete graph;
  return Success;
}
EXPORT cuGraphExecDestroy(GraphExec executable) {
  --State::get().counts.liveGraphs;
  delete executable;
  return Success;
}
EXPORT cuEventCreate(Event *event, unsigned flags) {
  *event = new EventHandle{.hasTime = !(flags & withoutTime)};
  return Success;
}
EXPORT cuEventDestroy_v2(Event event) {
  delete event;
  return Success;
}
EXPORT cuEventRecord(Event event, Stream stream) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  StreamHandle &target = stream ? *stream : state.defaultStream;
  if (target.isCapturing()) // it orders the graph's kernels, and has no time
    return Success;
  if (event->hasTime) // which is that behind the work before
    state.finishCopies(target);
  event->time = state.clock;
  event->stream = &target;
  event->copies = target.copiesDone + target.copies.size();
  return target.failure;
}
EXPORT cuEventSynchronize(Event event) {
  State &state = State::get();
  std::lock_guard lock(state.mutex);
  if (!state.copying.contains(event->stream)) // all of its copies are done, or it ended
    return Success;
  state.finishCopies(*event->stream, event->copies);
  return event->stream->failure;
}
EXPORT cuEventElapsedTime(float *milliseconds, Event begin, Event end) {
  if (!begin->hasTime || !end->hasTime || begin->time < 0 || end->time < 0)
    return InvalidHandle;
  *milliseconds = 1e-3f * float(end->time - begin->time);
  return Success;
}
