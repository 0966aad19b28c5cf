//===- rapt.hpp - rapt.h and rapt_device.h for C++ --------------------------===//
//
// Classes that free what they own, and nothing more. Header only, C++17, without
// exceptions: calls return an Outcome, which is true on success.
//
//===----------------------------------------------------------------------===//
#ifndef RAPT_RAPT_HPP
#define RAPT_RAPT_HPP
#include "rapt.h"
#include "rapt_device.h"
#include "rapt_top.h"
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rapt {

/// A status and, unless it is RAPT_OK, one line that says why.
struct [[nodiscard]] Outcome {
  rapt_status status = RAPT_OK;
  std::string message;
  explicit operator bool() const { return status == RAPT_OK; }

  /// Runs `call(message, message_size)` and keeps what it says.
  template <typename Call> static Outcome of(Call &&call) {
    char text[1024];
    Outcome outcome;
    if ((outcome.status = call(text, sizeof text)) != RAPT_OK)
      outcome.message = text;
    return outcome;
  }
};

/// Input structs of rapt.h with their size set and the rest zero.
template <typename T> T sized() {
  T value{};
  value.size = sizeof(T);
  return value;
}

/// A counted module; copies share it.
class Module {
public:
  static Outcome open(const char *path, Module &module, const rapt_module_options *options = nullptr) {
    rapt_module *opened = nullptr;
    Outcome outcome =
        Outcome::of([&](char *text, size_t size) { return rapt_module_open(path, options, &opened, text, size); });
    module.handle.reset(opened, rapt_module_release);
    return outcome;
  }
  static Outcome open(const rapt_artifact &artifact, Module &module, const rapt_module_options *options = nullptr) {
    rapt_module *opened = nullptr;
    Outcome outcome = Outcome::of(
        [&](char *text, size_t size) { return rapt_module_from_artifact(&artifact, options, &opened, text, size); });
    module.handle.reset(opened, rapt_module_release);
    return outcome;
  }
  rapt_module *get() const { return handle.get(); }
  rapt_module_info info() const {
    auto info = sized<rapt_module_info>();
    rapt_module_get_info(get(), &info);
    return info;
  }
  /// JSON, which lives as long as the module.
  std::string_view manifest() const {
    size_t bytes = 0;
    const char *text = rapt_module_manifest(get(), &bytes);
    return {text, bytes};
  }

private:
  std::shared_ptr<rapt_module> handle;
};

/// A thread pool; must outlive the contexts that use it.
class Pool {
public:
  static Outcome make(int64_t threads, Pool &pool) {
    rapt_pool *made = nullptr;
    Outcome outcome = Outcome::of([&](char *text, size_t size) { return rapt_pool_new(threads, &made, text, size); });
    pool.handle.reset(made);
    return outcome;
  }
  rapt_pool *get() const { return handle.get(); }
  int64_t threads() const { return rapt_pool_threads(get()); }

private:
  struct Free {
    void operator()(rapt_pool *pool) const { rapt_pool_free(pool); }
  };
  std::unique_ptr<rapt_pool, Free> handle;
};

/// A context with its sequences.
class Context {
public:
  static Outcome make(const Module &module, const rapt_context_options &options, Context &context) {
    rapt_context *made = nullptr;
    Outcome outcome = Outcome::of(
        [&](char *text, size_t size) { return rapt_context_new(module.get(), &options, &made, text, size); });
    context.handle.reset(made);
    return outcome;
  }
  rapt_context *get() const { return handle.get(); }
  int64_t capacity() const { return rapt_context_capacity(get()); }
  int64_t available() const { return rapt_context_available(get()); }
  void cancel() const { rapt_cancel(get()); }
  Outcome step(std::vector<rapt_chunk> &chunks) const {
    return Outcome::of(
        [&](char *text, size_t size) { return rapt_step(get(), chunks.data(), chunks.size(), text, size); });
  }
  /// The most likely tokens of each chunk, one rapt_top a chunk.
  Outcome step(std::vector<rapt_chunk> &chunks, const std::vector<rapt_top> &tops) const {
    return tops.size() != chunks.size()
               ? Outcome{RAPT_INVALID, "there are not as many tops as chunks"}
               : Outcome::of([&](char *message, size_t size) {
                   return rapt_step_top(get(), chunks.data(), tops.data(), chunks.size(), message, size);
                 });
  }
  Outcome step(rapt_chunk &chunk) const {
    return Outcome::of([&](char *text, size_t size) { return rapt_step(get(), &chunk, 1, text, size); });
  }

private:
  struct Free {
    void operator()(rapt_context *context) const { rapt_context_free(context); }
  };
  std::unique_ptr<rapt_context, Free> handle;
};

/// A sequence of a context, which must outlive it.
class Sequence {
public:
  Sequence() = default;
  Sequence(Sequence &&other) noexcept : context(other.context), id(std::exchange(other.id, 0)) {}
  Sequence &operator=(Sequence &&other) noexcept {
    std::swap(context, other.context);
    std::swap(id, other.id);
    return *this;
  }
  ~Sequence() {
    if (id)
      rapt_sequence_free(context, id, nullptr, 0);
  }
  static Outcome make(const Context &context, Sequence &sequence) {
    Sequence made;
    made.context = context.get();
    Outcome outcome =
        Outcome::of([&](char *text, size_t size) { return rapt_sequence_new(context.get(), &made.id, text, size); });
    sequence = std::move(made);
    return outcome;
  }
  static Outcome load(const Context &context, const std::vector<char> &state, Sequence &sequence) {
    Sequence made;
    made.context = context.get();
    Outcome outcome = Outcome::of([&](char *text, size_t size) {
      return rapt_sequence_load(context.get(), state.data(), state.size(), &made.id, text, size);
    });
    sequence = std::move(made);
    return outcome;
  }
  Outcome fork(Sequence &to) const {
    Sequence made;
    made.context = context;
    Outcome outcome =
        Outcome::of([&](char *text, size_t size) { return rapt_sequence_fork(context, id, &made.id, text, size); });
    to = std::move(made);
    return outcome;
  }
  /// Runs the encoder on `tokens`, which the sequence is made from.
  Outcome encode(const std::vector<int32_t> &tokens) const {
    auto source = sized<rapt_source>();
    source.sequence = id;
    source.tokens = tokens.data();
    source.count = int64_t(tokens.size());
    return Outcome::of([&](char *text, size_t size) { return rapt_encode(context, &source, 1, text, size); });
  }
  /// The same on features of sound, or on an image.
  Outcome encode(const std::vector<float> &features) const {
    auto source = sized<rapt_source>();
    source.sequence = id;
    source.features = features.data();
    source.feature_bytes = features.size() * sizeof(float);
    return Outcome::of([&](char *text, size_t size) { return rapt_encode(context, &source, 1, text, size); });
  }
  /// The sequence has no tokens; NULL: no adapter.
  Outcome setAdapter(const char *name) const {
    return Outcome::of(
        [&](char *text, size_t size) { return rapt_sequence_set_adapter(context, id, name, text, size); });
  }
  const char *adapter() const { return rapt_sequence_adapter(context, id); }
  Outcome truncate(int64_t length) const {
    return Outcome::of(
        [&](char *text, size_t size) { return rapt_sequence_truncate(context, id, length, text, size); });
  }
  Outcome save(std::vector<char> &state) const {
    size_t bytes = 0;
    Outcome outcome = Outcome::of(
        [&](char *text, size_t size) { return rapt_sequence_save(context, id, nullptr, 0, &bytes, text, size); });
    if (!outcome)
      return outcome;
    state.resize(bytes);
    return Outcome::of([&](char *text, size_t size) {
      return rapt_sequence_save(context, id, state.data(), state.size(), &bytes, text, size);
    });
  }
  int64_t length() const { return rapt_sequence_length(context, id); }
  rapt_sequence get() const { return id; }
  /// New tokens for this sequence; `tokens` is borrowed.
  rapt_chunk chunk(const std::vector<int32_t> &tokens, rapt_logits want = RAPT_LOGITS_LAST) const {
    auto chunk = sized<rapt_chunk>();
    chunk.sequence = id;
    chunk.tokens = tokens.data();
    chunk.count = int64_t(tokens.size());
    chunk.want = want;
    return chunk;
  }

private:
  rapt_context *context = nullptr;
  rapt_sequence id = 0;
};

/// A GPU that kernels run on.
class Device {
public:
  static Outcome open(Device &device, const rapt_device_options *options = nullptr) {
    rapt_device *opened = nullptr;
    Outcome outcome =
        Outcome::of([&](char *text, size_t size) { return rapt_device_open(options, &opened, text, size); });
    device.handle.reset(opened);
    return outcome;
  }
  rapt_device *get() const { return handle.get(); }
  const rapt_env *env() const { return rapt_device_env(get()); }
  Outcome synchronize() const {
    return Outcome::of([&](char *text, size_t size) { return rapt_device_synchronize(get(), text, size); });
  }

private:
  struct Close {
    void operator()(rapt_device *device) const { rapt_device_close(device); }
  };
  std::unique_ptr<rapt_device, Close> handle;
};

/// Memory of a device, which must outlive it.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory &&other) noexcept : device(other.device), address(std::exchange(other.address, nullptr)) {}
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(device, other.device);
    std::swap(address, other.address);
    return *this;
  }
  ~DeviceMemory() {
    if (address)
      rapt_device_free(device, address);
  }
  static Outcome allocate(const Device &device, size_t bytes, DeviceMemory &memory) {
    DeviceMemory made;
    made.device = device.get();
    Outcome outcome = Outcome::of(
        [&](char *text, size_t size) { return rapt_device_allocate(device.get(), bytes, &made.address, text, size); });
    memory = std::move(made);
    return outcome;
  }
  /// Copies the first `bytes`.
  Outcome copyIn(const void *from, size_t bytes) const {
    return Outcome::of(
        [&](char *text, size_t size) { return rapt_device_copy_in(device, address, from, bytes, text, size); });
  }
  Outcome copyOut(void *to, size_t bytes) const {
    return Outcome::of(
        [&](char *text, size_t size) { return rapt_device_copy_out(device, to, address, bytes, text, size); });
  }
  /// Its address, as kernels take it.
  template <typename T> T *as() const { return static_cast<T *>(address); }

private:
  rapt_device *device = nullptr;
  void *address = nullptr;
};

} // namespace rapt
#endif
