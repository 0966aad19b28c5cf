// Workloads of kernels: C functions of a library without a model.
#include "lib/Bench/Workload.h"
#include "lib/Runtime/Cost.h"
#include "lib/Runtime/Cpu.h"
#include "lib/Support/Json.h"
#include "lib/Support/Spelling.h"
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <random>

namespace rapt::bench {
namespace {

using runtime::Manifest;
using runtime::ManifestBuffer;
using runtime::ManifestEntry;

Outcome wrong(const std::string &message) { return {RAPT_INVALID, message}; }

constexpr size_t mostArguments = 32;
constexpr uint64_t mostBytes = uint64_t(1) << 36; // of an array

template <size_t... i> int32_t callWith(void *function, void *const *arguments, std::index_sequence<i...>) {
  using Type = int32_t (*)(decltype(static_cast<void>(i), static_cast<void *>(nullptr))...);
  return reinterpret_cast<Type>(function)(arguments[i]...);
}

/// Calls a C function of `count` pointers.
template <size_t count = 1> int32_t call(void *function, void *const *arguments, size_t wanted) {
  if constexpr (count < mostArguments)
    if (count < wanted)
      return call<count + 1>(function, arguments, wanted);
  return callWith(function, arguments, std::make_index_sequence<count>());
}

int32_t runInPool(void *user, rapt_task_fn body, void *closure, int64_t count) {
  auto *executor = static_cast<rapt_executor *>(user);
  executor->parallel_for(executor->user, body, closure, count);
  return 0;
}

struct Free {
  void operator()(void *memory) const { free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

Outcome allocate(uint64_t bytes, const std::string &what, Memory &memory) {
  memory.reset(bytes <= mostBytes ? aligned_alloc(64, (bytes + 64) / 64 * 64) : nullptr);
  return memory ? Outcome{} : Outcome{RAPT_NOMEM, "no memory for " + std::to_string(bytes) + " bytes of " + what};
}

unsigned bytesOf(const std::string &dtype) {
  return dtype == "i64" ? 8 : dtype == "f32" || dtype == "i32" ? 4 : dtype == "i8" || dtype == "u8" ? 1 : 2;
}

/// One kernel with arrays of one shape. On a GPU the runs of a repetition are started one behind the other.
class KernelWorkload : public Workload {
public:
  KernelWorkload(const ManifestEntry &entry, void *function, rapt_executor executor)
      : entry(entry), function(function), executor(executor),
        env{&this->executor, runInPool, this->executor.workers(this->executor.user)} {}
  /// On a GPU, which outlives the workload.
  KernelWorkload(const ManifestEntry &entry, void *function, const Device &device)
      : entry(entry), function(function), env(*device.env()), device(&device) {
    isOnGpu = true;
  }

  Outcome make(const KernelShape &shape, int64_t (*scratchBytes)(const int64_t *, int64_t)) {
    for (const runtime::ManifestDim &dim : entry.dims) {
      auto given = std::find_if(shape.begin(), shape.end(), [&](auto &size) { return size.first == dim.name; });
      if (given == shape.end() && dim.least != dim.most)
        return wrong(entry.name + " has a dim " + dim.name + ", which --shape must tell: " + dim.name + "=SIZE");
      dims.push_back(given == shape.end() ? dim.least : given->second);
      if (dims.back() < dim.least || dims.back() > dim.most)
        return wrong(dim.name + " is " + std::to_string(dims.back()) + "; " + entry.name + " is made for " +
                     std::to_string(dim.least) + " to " + std::to_string(dim.most));
    }
    arguments.push_back(device ? const_cast<rapt_env *>(device->env()) : &env);
    for (const ManifestBuffer &buffer : entry.buffers)
      RAPT_RETURN_IF_ERROR(addArray(buffer));
    const int64_t bytes = scratchBytes(dims.data(), env.workers);
    if (bytes < 0)
      return wrong(entry.name + " refuses these dims");
    if (device) {
      RAPT_RETURN_IF_ERROR(DeviceMemory::allocate(*device, size_t(bytes) + 1, deviceScratch));
    } else {
      RAPT_RETURN_IF_ERROR(allocate(uint64_t(bytes), "scratch of " + entry.name, scratch));
    }
    arguments.insert(arguments.end(), {dims.data(), device ? deviceScratch.as<void>() : scratch.get()});
    if (arguments.size() > mostArguments)
      return wrong(entry.name + " has more than " + std::to_string(mostArguments - 3) + " arrays");
    return {};
  }

  Outcome run() override {
    const int32_t status = call(function, arguments.data(), arguments.size());
    if (status && device) // which knows why
      RAPT_RETURN_IF_ERROR(device->synchronize());
    return status ? wrong(entry.name + " returned " + std::to_string(status)) : Outcome{};
  }
  Outcome finish() override { return device ? device->synchronize() : Outcome{}; }
  Outcome measureCost(WorkloadCost &cost) override {
    std::vector<double> counts(entry.counts.size());
    runtime::countLengths(entry, arrays.data(), dims.data(), counts.data());
    double most = 0;
    for (const runtime::ManifestOp &op : entry.ops) {
      const runtime::Cost own = runtime::evaluateCost(op, dims.data(), counts.data());
      cost.flops += own.flops;
      cost.bytes += own.weights + own.cache + own.activations;
      if (own.flops > most)
        most = own.flops, cost.dtype = op.dtype;
    }
    cost.span = std::min(cost.bytes, bytesOfArrays);
    return run();
  }

private:
  int64_t extentOf(const runtime::ManifestExtent &extent) const {
    return (extent.dim < 0 ? 0 : dims[size_t(extent.dim)]) + extent.plus;
  }

  /// Fills floats with numbers between -1 and 1. Integers are offsets of equally long sequences where an array has one
  /// element more than a dim, else 0. A buffer that is read and written is one array.
  Outcome addArray(const ManifestBuffer &buffer) {
    arrays.push_back(nullptr);
    if (buffer.dtype.empty())
      return {};
    uint64_t count = 1;
    for (const runtime::ManifestExtent &extent : buffer.shape)
      if (__builtin_mul_overflow(count, uint64_t(extentOf(extent)), &count) || count > mostBytes)
        return wrong(buffer.name + " is larger than any memory");
    Memory memory;
    RAPT_RETURN_IF_ERROR(allocate(count * bytesOf(buffer.dtype), buffer.name, memory));
    const bool isOffsets =
        buffer.dtype == "i32" && buffer.shape.size() == 1 && buffer.shape[0].dim >= 0 && buffer.shape[0].plus == 1;
    std::mt19937 random(uint32_t(arrays.size()));
    for (uint64_t i = 0; i < count; ++i) {
      const float value = float(random() % 2048) / 1024 - 1;
      uint32_t bits;
      memcpy(&bits, &value, sizeof bits);
      if (buffer.dtype == "f32")
        static_cast<float *>(memory.get())[i] = value;
      else if (buffer.dtype == "bf16")
        static_cast<uint16_t *>(memory.get())[i] = uint16_t(bits >> 16);
      else if (buffer.dtype == "f16") // the sign and six bits of the fraction of a number between 1 and 2
        static_cast<uint16_t *>(memory.get())[i] = uint16_t(0x3c00 | (bits >> 16 & 0x8000) | (random() & 0x3f0));
      else if (buffer.dtype == "i32")
        static_cast<int32_t *>(memory.get())[i] =
            isOffsets && count > 1 ? int32_t(packed() * int64_t(i) / int64_t(count - 1)) : 0;
      else if (buffer.dtype == "i64")
        static_cast<int64_t *>(memory.get())[i] = 0;
      else
        static_cast<uint8_t *>(memory.get())[i] = uint8_t(random() % 16);
    }
    bytesOfArrays += double(count * bytesOf(buffer.dtype));
    arrays.back() = memory.get();
    if (device) {
      DeviceMemory copy;
      RAPT_RETURN_IF_ERROR(DeviceMemory::allocate(*device, size_t(count * bytesOf(buffer.dtype)) + 1, copy));
      RAPT_RETURN_IF_ERROR(copy.copyIn(memory.get(), size_t(count * bytesOf(buffer.dtype))));
      arguments.push_back(copy.as<void>());
      onDevice.push_back(std::move(copy));
    } else
      arguments.push_back(memory.get());
    owned.push_back(std::move(memory));
    return {};
  }

  /// Rows packed in the first dim of the first array of numbers.
  int64_t packed() const {
    for (const ManifestBuffer &buffer : entry.buffers)
      if (buffer.dtype == "f32" && !buffer.shape.empty())
        return extentOf(buffer.shape[0]);
    return 0;
  }

  const ManifestEntry &entry;
  void *function;
  rapt_executor executor;
  rapt_env env;
  std::vector<int64_t> dims;
  std::vector<void *> arguments, arrays; ///< of the call; of the manifest's buffers
  std::vector<Memory> owned;
  double bytesOfArrays = 0;
  Memory scratch;
  const Device *device = nullptr; ///< none: the processors
  std::vector<DeviceMemory> onDevice;
  DeviceMemory deviceScratch;
};

std::string_view nearestDim(const ManifestEntry &entry, const std::string &name) {
  std::vector<std::string_view> known;
  for (const auto &dim : entry.dims)
    known.emplace_back(dim.name);
  return findNearest(name, known);
}

class Kernels : public KernelLibrary {
public:
  ~Kernels() override {
    device = Device(); // which has the library's code
    if (library)
      dlclose(library);
  }
  bool isOnGpu() const override { return device.get(); }
  std::vector<std::string> features() const override { return manifest->variants.front().features; }
  Outcome makeWorkloads(const Options &options, const Pool &pool, Workloads &workloads) override {
    if (!options.prefill.empty() || !options.decode.empty() || !options.tokens.empty() || !options.imageSizes.empty() ||
        !options.weights.empty())
      return wrong(options.library + " has kernels and no model: give their dims with --shape");
    std::vector<KernelShape> shapes = options.shapes;
    if (shapes.empty())
      shapes.emplace_back();
    for (const ManifestEntry &entry : manifest->entries)
      for (const KernelShape &shape : shapes)
        RAPT_RETURN_IF_ERROR(add(entry, shape, pool, workloads));
    return {};
  }

  std::unique_ptr<Manifest> manifest;
  void *library = nullptr;
  Device device; ///< of code for GPUs

private:
  Outcome add(const ManifestEntry &entry, const KernelShape &shape, const Pool &pool, Workloads &workloads) {
    void *function = dlsym(library, entry.name.c_str()), *scratch = dlsym(library, (entry.name + "_scratch").c_str());
    if (!function || !scratch)
      return wrong("the library does not export " + entry.name + " and " + entry.name + "_scratch");
    std::string name = entry.name;
    for (const auto &[dim, size] : shape) {
      if (entry.findDim(dim) < 0)
        return wrong(entry.name + " has no dim " + json::printable(dim) + didYouMean(nearestDim(entry, dim)));
      name += " " + dim + "=" + std::to_string(size);
    }
    auto made = device.get() ? std::make_unique<KernelWorkload>(entry, function, device)
                             : std::make_unique<KernelWorkload>(entry, function, rapt_pool_executor(pool.get()));
    RAPT_RETURN_IF_ERROR(made->make(shape, reinterpret_cast<int64_t (*)(const int64_t *, int64_t)>(scratch)));
    made->name = std::move(name);
    workloads.push_back(std::move(made));
    return {};
  }
};

Outcome readManifest(const std::string &path, std::unique_ptr<Manifest> &manifest) {
  return Outcome::of([&](char *message, size_t size) {
    const runtime::Report report(message, size);
    char *text = nullptr;
    size_t bytes = 0;
    if (rapt_status status = runtime::readManifestSection(path.c_str(), &text, &bytes, report))
      return status;
    Manifest *parsed = nullptr;
    const rapt_status status = runtime::parseManifest(text, bytes, path.c_str(), &parsed, report);
    free(text);
    manifest.reset(parsed);
    return status;
  });
}

} // namespace

Outcome inspect(const std::string &path, bool &isModel) {
  std::unique_ptr<Manifest> manifest;
  Outcome outcome = readManifest(path, manifest);
  isModel = outcome && !manifest->family.empty();
  return outcome;
}

Outcome KernelLibrary::open(const std::string &path, std::unique_ptr<KernelLibrary> &library) {
  auto made = std::make_unique<Kernels>();
  RAPT_RETURN_IF_ERROR(readManifest(path, made->manifest));
  if (made->manifest->isForDevice())
    RAPT_RETURN_IF_ERROR(Device::open(made->device));
  RAPT_RETURN_IF_ERROR(Outcome::of([&](char *message, size_t size) {
    int variant = 0; // kernels have one
    return runtime::chooseVariant(*made->manifest, path.c_str(), nullptr, nullptr, variant,
                                  runtime::Report(message, size));
  }));
  char real[PATH_MAX];
  made->library = realpath(path.c_str(), real) ? dlopen(real, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!made->library)
    return {RAPT_BAD_FILE, json::printable(path) + ": cannot be loaded"};
  library = std::move(made);
  return {};
}

} // namespace rapt::bench
