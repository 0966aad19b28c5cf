// Bare kernels on a GPU: an environment that runs kernels of several libraries, and one clear line for each failure.
#include "FakeDevice.h"
#include "lib/Runtime/CudaDriver.h"
#include "rapt/rapt.hpp"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace rapt::test;
using rapt::runtime::Report;

namespace {

const rapt::runtime::cuda::Driver &driver() {
  const rapt::runtime::cuda::Driver *opened = nullptr;
  EXPECT_EQ(rapt::runtime::cuda::openDriver(opened, Report(nullptr, 0)), RAPT_OK);
  return *opened;
}

/// The code of a library with the kernel "add".
struct Library {
  Library() : artifact(adderOnDevice()) { artifact.code.images = artifact.images.data(); }
  Library(const Library &) = delete;
  int32_t add(const rapt_env *env, const float *x, const float *y, float *sum, int64_t count) const {
    return startAdder(env, &artifact.code, x, y, sum, count);
  }
  DeviceArtifact artifact;
};

/// Arrays of a device for the kernel "add".
struct Arrays {
  Arrays(const rapt::Device &device, int64_t count) : count(count), bytes(size_t(count) * sizeof(float)) {
    for (rapt::DeviceMemory *memory : {&x, &y, &sum})
      EXPECT_TRUE(rapt::DeviceMemory::allocate(device, bytes, *memory));
    std::vector<float> numbers(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      numbers[size_t(i)] = float(i);
    EXPECT_TRUE(x.copyIn(numbers.data(), bytes));
    EXPECT_TRUE(y.copyIn(numbers.data(), bytes));
  }
  int32_t start(const rapt::Device &device, const Library &library) const {
    return library.add(device.env(), x.as<float>(), y.as<float>(), sum.as<float>(), count);
  }
  void expectSum() const {
    std::vector<float> numbers(static_cast<size_t>(count));
    const rapt::Outcome outcome = sum.copyOut(numbers.data(), bytes);
    ASSERT_TRUE(outcome) << outcome.message;
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(numbers[size_t(i)], 2 * float(i)) << i;
  }
  int64_t count;
  size_t bytes;
  rapt::DeviceMemory x, y, sum;
};

size_t freeBytes() {
  size_t free = 0, total = 0;
  driver().memoryInfo(&free, &total);
  return free;
}

TEST(DeviceEnvironment, KernelsOfSeveralLibraries) {
  Library first, second;
  const size_t before = freeBytes();
  {
    rapt::Device device;
    ASSERT_TRUE(rapt::Device::open(device));
    EXPECT_EQ(device.env()->workers, RAPT_DEVICE_WORKERS);
    for (int64_t count : {1, 100, 101})
      for (const Library *library : {&first, &second, &first}) {
        Arrays arrays(device, count);
        ASSERT_EQ(arrays.start(device, *library), 0);
        arrays.expectSum();
      }
    Arrays none(device, 0);
    EXPECT_EQ(none.start(device, first), 0);
    EXPECT_TRUE(device.synchronize());
  }
  EXPECT_EQ(freeBytes(), before);
  EXPECT_NE(driver().contextPop(nullptr), rapt::runtime::cuda::Success) << "a context was left in the thread";
}

/// An array of 3 rows of 64 elements of two bytes has a tensor map; others are refused without asking the driver.
TEST(DeviceEnvironment, TensorMaps) {
  rapt::Device device;
  ASSERT_TRUE(rapt::Device::open(device));
  rapt::DeviceMemory memory;
  ASSERT_TRUE(rapt::DeviceMemory::allocate(device, 3 * 64 * 2, memory));
  const rapt_env *env = device.env();
  alignas(64) char map[128];
  const rapt_boxes good{memory.as<void>(), {64, 3}, {1, 64}, {64, 2}, 2, 2, 128};
  EXPECT_EQ(env->tensor_map(env->user, &good, map), 1);
  const auto made = [&](auto change) {
    rapt_boxes boxes = good;
    change(boxes);
    return env->tensor_map(env->user, &boxes, map);
  };
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.extents[1] = 1, boxes.strides[1] = 7; }), 1) << "no row follows";
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.data = static_cast<char *>(boxes.data) + 2; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.strides[1] = 65; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.strides[1] = -64; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.strides[1] = INT64_MAX; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.strides[1] = int64_t(1) << 39; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.strides[0] = 2; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.extents[1] = 0; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.extents[1] = (int64_t(1) << 32) + 1; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.rank = 0; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.rank = 6; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.element_bytes = 8; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.swizzle_bytes = 16; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.swizzle_bytes = 64; }), 0) << "rows of a box are longer";
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.box[1] = 257; }), 0);
  EXPECT_EQ(made([](rapt_boxes &boxes) { boxes.box[0] = -1; }), 0);
}

TEST(DeviceEnvironment, DevicesAreIndependent) {
  Library library;
  rapt::Device devices[2];
  for (rapt::Device &device : devices)
    ASSERT_TRUE(rapt::Device::open(device));
  Arrays a(devices[0], 33), b(devices[1], 65);
  EXPECT_EQ(a.start(devices[0], library), 0);
  EXPECT_EQ(b.start(devices[1], library), 0);
  a.expectSum();
  a.x = {}, a.y = {}, a.sum = {};
  devices[0] = {};
  EXPECT_EQ(b.start(devices[1], library), 0);
  b.expectSum();
}

TEST(DeviceEnvironment, AStreamOfTheCaller) {
  Library library;
  rapt::Device first;
  ASSERT_TRUE(rapt::Device::open(first));
  rapt::runtime::cuda::Stream stream = nullptr;
  ASSERT_EQ(driver().streamCreate(&stream, 0), rapt::runtime::cuda::Success);
  {
    auto options = rapt::sized<rapt_device_options>();
    options.stream = stream;
    rapt::Device device;
    ASSERT_TRUE(rapt::Device::open(device, &options));
    Arrays arrays(device, 50);
    ASSERT_EQ(arrays.start(device, library), 0); // loads the code, which a captured stream would refuse
    arrays.expectSum();
    const std::vector<char> zeros(arrays.bytes);
    ASSERT_TRUE(arrays.sum.copyIn(zeros.data(), zeros.size()));
    // Work is in the caller's stream: captured, it runs with the graph and not before.
    rapt::runtime::cuda::Graph graph = nullptr;
    rapt::runtime::cuda::GraphExec executable = nullptr;
    ASSERT_EQ(driver().captureBegin(stream, 1), rapt::runtime::cuda::Success);
    ASSERT_EQ(arrays.start(device, library), 0);
    ASSERT_EQ(driver().captureEnd(stream, &graph), rapt::runtime::cuda::Success);
    std::vector<float> numbers(50, -1.0f);
    ASSERT_TRUE(arrays.sum.copyOut(numbers.data(), arrays.bytes));
    EXPECT_EQ(numbers[49], 0.0f);
    ASSERT_EQ(driver().graphInstantiate(&executable, graph, 0), rapt::runtime::cuda::Success);
    ASSERT_EQ(driver().graphLaunch(executable, stream), rapt::runtime::cuda::Success);
    arrays.expectSum();
    driver().graphExecDestroy(executable);
    driver().graphDestroy(graph);
  }
  EXPECT_EQ(driver().streamSynchronize(stream), rapt::runtime::cuda::Success) << "the caller's stream was ended";
  driver().streamDestroy(stream);
}

//===- Failures -----------------------------------------------------------------------===//

TEST(DeviceEnvironment, ArgumentsAreChecked) {
  Message message;
  rapt_device *device = nullptr;
  rapt_device_options options{};
  void *memory = nullptr;
  char *text = message.text;
  const size_t size = message.size;
  EXPECT_FAILS(rapt_device_open(nullptr, nullptr, text, size), RAPT_INVALID, message,
               "the pointer to the device is NULL");
  EXPECT_FAILS(rapt_device_open(&options, &device, text, size), RAPT_INVALID, message, "rapt_device_options");
  options.size = sizeof options;
  options.device = -1;
  EXPECT_FAILS(rapt_device_open(&options, &device, text, size), RAPT_INVALID, message, "device is -1; the first is 0");
  options.device = 1;
  EXPECT_FAILS(rapt_device_open(&options, &device, text, size), RAPT_INVALID, message,
               "there is no GPU 1: the CUDA driver finds 1, and the first is 0");
  EXPECT_EQ(device, nullptr);
  EXPECT_FAILS(rapt_device_synchronize(nullptr, text, size), RAPT_INVALID, message, "the device is NULL");
  EXPECT_FAILS(rapt_device_allocate(nullptr, 4, &memory, text, size), RAPT_INVALID, message, "the device is NULL");
  EXPECT_EQ(rapt_device_env(nullptr), nullptr);
  rapt_device_free(nullptr, nullptr);
  rapt_device_close(nullptr);
  ASSERT_EQ(rapt_device_open(nullptr, &device, text, size), RAPT_OK) << text;
  EXPECT_FAILS(rapt_device_allocate(device, 4, nullptr, text, size), RAPT_INVALID, message,
               "the pointer to the memory is NULL");
  EXPECT_FAILS(rapt_device_copy_in(device, nullptr, text, 1, text, size), RAPT_INVALID, message, "to is NULL");
  EXPECT_FAILS(rapt_device_copy_out(device, text, nullptr, 1, text, size), RAPT_INVALID, message, "from is NULL");
  EXPECT_EQ(rapt_device_copy_in(device, nullptr, nullptr, 0, text, size), RAPT_OK);
  EXPECT_FAILS(rapt_device_copy_out(device, text, &options, 1, text, size), RAPT_BUG, message,
               "copying from the GPU failed: invalid argument");
  rapt_device_free(device, nullptr);
  rapt_device_close(device);
}

/// A failed launch is the kernel's result, and the next call tells why. Then the device goes on.
TEST(DeviceEnvironment, LaunchesThatFail) {
  Library good, bad, empty;
  bad.artifact.images[0].bytes = "no PTX";
  bad.artifact.images[0].size = 7;
  empty.artifact.code.image_count = 0;
  rapt::Device device;
  ASSERT_TRUE(rapt::Device::open(device));
  Arrays arrays(device, 10);
  testing::internal::CaptureStderr(); // the simulated driver's
  EXPECT_EQ(arrays.start(device, bad), RAPT_UNSUPPORTED);
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(arrays.start(device, good), RAPT_UNSUPPORTED) << "no kernel starts before the failure is told";
  rapt::Outcome outcome = device.synchronize();
  EXPECT_EQ(outcome.status, RAPT_UNSUPPORTED);
  EXPECT_NE(outcome.message.find("the driver of GPU 0 (simulated GPU, sm_90) does not load the code for sm_80: a PTX "
                                 "JIT compilation failed"),
            std::string::npos)
      << outcome.message;
  EXPECT_EQ(arrays.start(device, empty), RAPT_BAD_FILE);
  outcome = device.synchronize();
  EXPECT_NE(outcome.message.find("its code for GPUs has 0 images"), std::string::npos) << outcome.message;
  deviceFaults.startsMissingKernel = true;
  EXPECT_EQ(arrays.start(device, good), RAPT_BUG);
  deviceFaults = {};
  outcome = device.synchronize();
  EXPECT_NE(outcome.message.find("kernel missing cannot have 0 bytes of shared memory or is missing"),
            std::string::npos)
      << outcome.message;
  EXPECT_EQ(device.env()->launch(device.env()->user, nullptr, nullptr, 1), RAPT_BUG);
  EXPECT_EQ(device.synchronize().status, RAPT_BUG);
  EXPECT_EQ(arrays.start(device, good), 0);
  arrays.expectSum();
}

/// Threads may take turns; one that comes while another is inside a call is refused.
TEST(DeviceEnvironment, OneThreadAtATime) {
  Library library;
  rapt::Device device;
  ASSERT_TRUE(rapt::Device::open(device));
  Arrays arrays(device, 20000);
  std::atomic<bool> isDone = false;
  std::thread other([&] {
    while (!isDone) { // the simulated driver returns when the kernel is done
      const int32_t result = arrays.start(device, library);
      EXPECT_TRUE(result == 0 || result == RAPT_BUSY) << result;
    }
  });
  rapt::Outcome outcome;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (outcome && std::chrono::steady_clock::now() < end)
    outcome = device.synchronize();
  isDone = true;
  other.join();
  EXPECT_EQ(outcome.status, RAPT_BUSY);
  EXPECT_EQ(outcome.message, "another thread is using the device");
  EXPECT_EQ(arrays.start(device, library), 0);
  arrays.expectSum();
}

TEST(DeviceEnvironment, AForkedChildClosesOnly) {
  rapt_device *device = nullptr;
  ASSERT_EQ(rapt_device_open(nullptr, &device, nullptr, 0), RAPT_OK);
  const pid_t child = fork();
  if (child == 0) {
    const rapt_status status = rapt_device_synchronize(device, nullptr, 0);
    const int32_t launched = device ? rapt_device_env(device)->launch(device, nullptr, nullptr, 1) : 0;
    rapt_device_close(device);
    _exit(status == RAPT_FORKED && launched == RAPT_FORKED ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(rapt_device_synchronize(device, nullptr, 0), RAPT_OK);
  rapt_device_close(device);
}

/// Runs the kernel in a process of its own whose driver is told of by an environment variable, and leaves with the
/// first failure and its message.
[[noreturn]] void runWith(const char *name, const char *value) {
  setenv(name, value, 1);
  Library library;
  rapt::Device device;
  rapt::DeviceMemory memory;
  rapt::Outcome outcome = rapt::Device::open(device);
  if (outcome)
    outcome = rapt::DeviceMemory::allocate(device, 4096, memory);
  if (outcome && library.add(device.env(), memory.as<float>(), memory.as<float>(), memory.as<float>(), 4) != 0)
    outcome = device.synchronize();
  fprintf(stderr, "%s\n", outcome.message.c_str());
  _exit(outcome.status);
}

TEST(DeviceEnvironmentDeathTest, Machines) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto ends = [](rapt_status status) { return testing::ExitedWithCode(status); };
  EXPECT_EXIT(runWith("RAPT_SIMULATED_DEVICES", "0"), ends(RAPT_UNSUPPORTED), "the CUDA driver finds no GPU");
  EXPECT_EXIT(runWith("RAPT_SIMULATED_DRIVER", "11080"), ends(RAPT_UNSUPPORTED), "the CUDA driver is for CUDA 11.8");
  EXPECT_EXIT(runWith("RAPT_SIMULATED_ARCH", "75"), ends(RAPT_UNSUPPORTED),
              "the library has code for sm_80 or newer; GPU 0 is sm_75 .simulated GPU.: compile with "
              "--gpu-arch=sm_75, or --target=cpu");
  EXPECT_EXIT(runWith("RAPT_SIMULATED_MEMORY", "4000"), ends(RAPT_NOMEM),
              "GPU 0 .simulated GPU. has no memory for an array: 4096 bytes wanted, 4000 of 4000 free");
}

} // namespace
