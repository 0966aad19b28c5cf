//===- DeviceStream.h - Operations on a GPU in their order -----------------------===//
#pragma once
#include "lib/Runtime/Device.h"
#include "lib/Runtime/Memory.h"
#include <cstring>

namespace rapt::runtime {

/// A stream: operations run one after the other, while the host goes on. The first failure is kept, and until it is
/// told the operations after it do nothing. Used by the thread that holds the context alone.
class DeviceStream {
public:
  static constexpr size_t textBytes = 1024; ///< of a message
  /// A stream of its own, or one `of` the caller's, which outlives it.
  static rapt_status make(const Device &device, std::unique_ptr<DeviceStream> &stream, const Report &report,
                          cuda::Stream of = nullptr);
  DeviceStream(const DeviceStream &) = delete;
  DeviceStream &operator=(const DeviceStream &) = delete;
  ~DeviceStream();

  /// 0 when there is no memory; `what` is what it is for.
  cuda::Address allocate(uint64_t bytes, const char *what);
  /// Waits for operations that may use the memory.
  void release(cuda::Address memory);
  /// Pinned memory of the host, which the GPU copies without help of the processor.
  void *allocatePinned(uint64_t bytes);
  void releasePinned(void *memory);

  void clear(cuda::Address to, uint64_t bytes) { fill(to, bytes, 0); }
  void fill(cuda::Address to, uint64_t bytes, unsigned char byte);
  void copy(cuda::Address to, cuda::Address from, uint64_t bytes);
  /// `from` may change once `mark` is reached or after `wait`.
  void copyIn(cuda::Address to, const void *from, uint64_t bytes);
  void copyOut(void *to, cuda::Address from, uint64_t bytes);
  /// With events, `before` and `behind` it. A kernel that `overlaps` may start before the one in front of it ends.
  void launch(const rapt_kernel *kernel, const void *arguments, int64_t blocks, bool overlaps = false,
              cuda::Event before = nullptr, cuda::Event behind = nullptr);

  /// An event that has a time; null with a failure.
  cuda::Event makeEvent();
  void destroy(cuda::Event event);
  /// The time between two events that the stream has reached; 0 with a failure.
  double secondsBetween(cuda::Event begin, cuda::Event end);

  /// Until the end, launches are recorded and not run; no other operation is allowed.
  void beginCapture();
  /// The launches as a graph, which `destroy` ends. Null with a failure, or with a `problem` where the driver records
  /// them but makes no graph, as without memory.
  cuda::GraphExec endCapture(char (&problem)[textBytes]);
  void launch(cuda::GraphExec graph);
  /// Waits for operations that may use the graph.
  void destroy(cuda::GraphExec graph);

  /// Notes how far the stream is, in mark 0 or 1.
  void mark(int which = 0);
  void waitForMark(int which = 0);
  /// Waits for all operations.
  void wait();

  bool hasFailed() const { return failure != RAPT_OK; }
  rapt_status status() const { return failure; }
  /// Keeps a failure that another part has found.
  void fail(rapt_status status, const char *message);
  /// Reports the failure and forgets it.
  rapt_status reportTo(const Report &report);

  const Device &device;

private:
  DeviceStream(const Device &device, cuda::Stream stream) : device(device), stream(stream), isBorrowed(stream) {}
  /// Keeps a failure; `what` says what was to be done.
  [[gnu::format(printf, 3, 4)]] void check(cuda::Result result, const char *what, ...);
  /// Runs an operation inside the device's context unless one failed before.
  template <typename Operation> void attempt(const char *what, Operation operation) {
    if (failure)
      return;
    DeviceScope scope(device);
    check(scope.result ? scope.result : operation(), "%s", what);
  }

  cuda::Stream stream;
  const bool isBorrowed;
  cuda::Event marks[2] = {};
  bool isMarked[2] = {};
  bool isCapturing = false;
  rapt_status failure = RAPT_OK;
  char text[textBytes] = "";
};

/// Memory that compiled code works on: the host's, or that of a stream's GPU, of which the host knows the address
/// alone.
class CodeMemory {
public:
  CodeMemory() = default;
  CodeMemory(const CodeMemory &) = delete;
  CodeMemory &operator=(const CodeMemory &) = delete;
  ~CodeMemory() { release(); }

  /// Replaces the content. Without a stream the memory is the host's. False when there is no memory; a stream tells
  /// why.
  [[nodiscard]] bool allocate(const Allocator &from, DeviceStream *stream, uint64_t bytes, const char *what,
                              bool zeroed = false);
  void swap(CodeMemory &other);
  uint64_t size() const { return stream ? bytes : host.size(); }
  void *data() { return stream ? reinterpret_cast<void *>(address) : host.data(); }

  void clear(uint64_t offset, uint64_t count) { fill(offset, count, 0); }
  void fill(uint64_t offset, uint64_t count, unsigned char byte) {
    if (stream)
      return stream->fill(address + offset, count, byte);
    memset(host.data() + offset, byte, count);
  }
  /// Copies `count` bytes at `offset` of `from` to offset `to`.
  void copyFrom(CodeMemory &from, uint64_t to, uint64_t offset, uint64_t count) {
    if (stream)
      return stream->copy(address + to, from.address + offset, count);
    memcpy(host.data() + to, from.host.data() + offset, count);
  }
  void write(uint64_t offset, const void *from, uint64_t count) {
    if (stream)
      return stream->copyIn(address + offset, from, count);
    memcpy(host.data() + offset, from, count);
  }
  void read(void *to, uint64_t offset, uint64_t count) {
    if (stream)
      return stream->copyOut(to, address + offset, count);
    memcpy(to, host.data() + offset, count);
  }

private:
  void release();
  Array<char> host;
  DeviceStream *stream = nullptr;
  cuda::Address address = 0;
  uint64_t bytes = 0;
};

} // namespace rapt::runtime
