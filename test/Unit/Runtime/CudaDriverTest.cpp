// The CUDA driver's table, on the simulated driver: kernels, graphs, and what a driver may refuse.
#include "lib/Runtime/CudaDriver.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>
#include <vector>
using namespace rapt::runtime;
using namespace rapt::runtime::cuda;

namespace {

/// y[i] += a * x[i] for i < n.
constexpr const char *axpy = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n)
{
  .reg .b32 %i, %n, %b, %t; .reg .f32 %a, %u, %v; .reg .b64 %x, %y, %o; .reg .pred %p;
  ld.param.b32 %n, [n]; mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x; mad.lo.s32 %i, %b, 32, %t;
  setp.ge.u32 %p, %i, %n; @%p ret;
  ld.param.b64 %x, [x]; ld.param.b64 %y, [y]; ld.param.f32 %a, [a]; mul.wide.u32 %o, %i, 4; add.s64 %x, %x, %o; add.s64 %y, %y, %o;
  ld.global.f32 %u, [%x]; ld.global.f32 %v, [%y]; fma.rn.f32 %v, %a, %u, %v; st.global.f32 [%y], %v;
  ret;
}
)";

class CudaDriver : public testing::Test {
protected:
  void SetUp() override {
    char text[256];
    ASSERT_EQ(openDriver(driver, Report(text, sizeof(text))), RAPT_OK) << text;
    ASSERT_EQ(driver->deviceGet(&device, 0), Success);
    ASSERT_EQ(driver->contextRetain(&context, device), Success);
    ASSERT_EQ(driver->contextPush(context), Success);
    ASSERT_EQ(driver->streamCreate(&stream, nonBlocking), Success);
  }
  void TearDown() override {
    EXPECT_EQ(driver->streamDestroy(stream), Success);
    EXPECT_EQ(driver->contextPop(nullptr), Success);
    EXPECT_EQ(driver->contextRelease(device), Success);
  }

  Function load(const char *text, const char *name) {
    Module module = nullptr;
    Function function = nullptr;
    EXPECT_EQ(driver->moduleLoad(&module, text, 0, nullptr, nullptr), Success);
    EXPECT_EQ(driver->moduleFunction(&function, module, name), Success);
    return function;
  }

  Address upload(const std::vector<float> &values) {
    Address address = 0;
    EXPECT_EQ(driver->memoryAllocate(&address, values.size() * sizeof(float)), Success);
    EXPECT_EQ(driver->copyToDevice(address, values.data(), values.size() * sizeof(float), stream), Success);
    return address;
  }

  std::vector<float> download(Address address, size_t count) {
    std::vector<float> values(count);
    EXPECT_EQ(driver->copyToHost(values.data(), address, count * sizeof(float), stream), Success);
    EXPECT_EQ(driver->streamSynchronize(stream), Success);
    return values;
  }

  Result launch(Function function, Address y, Address x, float a, uint32_t n, unsigned blocks) {
    void *parameters[] = {&y, &x, &a, &n};
    const LaunchConfig config{blocks, 1, 1, 32, 1, 1, 0, stream, nullptr, 0};
    return driver->launch(&config, function, parameters, nullptr);
  }

  /// The graph of y += x for three elements.
  GraphExec recordSum(Address y, Address x) {
    Function function = load(axpy, "axpy");
    Graph graph = nullptr;
    GraphExec executable = nullptr;
    EXPECT_EQ(driver->captureBegin(stream, captureOfThread), Success);
    EXPECT_EQ(launch(function, y, x, 1, 3, 1), Success);
    EXPECT_EQ(driver->captureEnd(stream, &graph), Success);
    EXPECT_EQ(driver->graphInstantiate(&executable, graph, 0), Success);
    EXPECT_EQ(driver->graphDestroy(graph), Success);
    return executable;
  }

  const Driver *driver = nullptr;
  Device device = 0;
  Context context = nullptr;
  Stream stream = nullptr;
};

TEST_F(CudaDriver, RunsAKernel) {
  Function function = load(axpy, "axpy");
  Address x = upload(std::vector<float>(50, 3)), y = upload(std::vector<float>(50, 1));
  EXPECT_EQ(launch(function, y, x, 2, 50, 2), Success);
  EXPECT_EQ(download(y, 50), std::vector<float>(50, 7));
  EXPECT_EQ(driver->memoryFree(x), Success);
  EXPECT_EQ(driver->memoryFree(y), Success);
  EXPECT_NE(driver->memoryFree(y), Success);
}

TEST_F(CudaDriver, ReplaysAGraph) {
  Address x = upload({1, 2, 3}), y = upload({0, 0, 0});
  GraphExec executable = recordSum(y, x);
  EXPECT_EQ(download(y, 3), (std::vector<float>{0, 0, 0})) << "capturing runs nothing";
  for (int run = 0; run < 3; ++run)
    EXPECT_EQ(driver->graphLaunch(executable, stream), Success);
  EXPECT_EQ(download(y, 3), (std::vector<float>{3, 6, 9}));
  EXPECT_EQ(driver->graphExecDestroy(executable), Success);
}

TEST_F(CudaDriver, ACaptureForbidsToAllocateLoadAndWait) {
  Address memory = 0;
  Module module = nullptr;
  void *pinned = nullptr;
  Graph graph = nullptr;
  auto inCapture = [&](auto operation) {
    EXPECT_EQ(driver->captureBegin(stream, captureOfThread), Success);
    EXPECT_EQ(operation(), CaptureUnsupported);
    EXPECT_EQ(driver->captureEnd(stream, &graph), CaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  };
  inCapture([&] { return driver->memoryAllocate(&memory, 4); });
  inCapture([&] { return driver->memoryFree(memory); });
  inCapture([&] { return driver->hostAllocate(&pinned, 4, 0); });
  inCapture([&] { return driver->moduleLoad(&module, axpy, 0, nullptr, nullptr); });
  inCapture([&] { return driver->streamSynchronize(stream); });
  EXPECT_EQ(driver->captureBegin(stream, captureOfThread), Success);
  std::thread other([&] { // which has no context
    EXPECT_EQ(driver->contextPush(context), Success);
    EXPECT_EQ(driver->memoryAllocate(&memory, 4), Success);
    EXPECT_EQ(driver->contextPop(nullptr), Success);
  });
  other.join();
  EXPECT_EQ(driver->captureEnd(stream, &graph), Success);
  EXPECT_EQ(driver->graphDestroy(graph), Success);
  EXPECT_EQ(driver->memoryFree(memory), Success);
}

TEST_F(CudaDriver, AGraphKeepsItsArguments) {
  Address x = upload({1, 2, 3}), y = upload({0, 0, 0});
  GraphExec executable = recordSum(y, x);
  EXPECT_EQ(driver->memoryFree(x), Success);
  upload({1, 2, 3}); // where nobody looks
  testing::internal::CaptureStderr();
  EXPECT_EQ(driver->graphLaunch(executable, stream), LaunchFailed);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("kernel axpy"), std::string::npos);
  EXPECT_EQ(driver->graphExecDestroy(executable), Success);
}

/// The clock goes on by a microsecond for each thread block, and events that forbid times have none.
TEST_F(CudaDriver, EventsHaveTheTimeOfKernels) {
  Function function = load(axpy, "axpy");
  Address x = upload({1, 2, 3}), y = upload({0, 0, 0});
  Event begin = nullptr, end = nullptr, plain = nullptr;
  ASSERT_EQ(driver->eventCreate(&begin, 0), Success);
  ASSERT_EQ(driver->eventCreate(&end, 0), Success);
  ASSERT_EQ(driver->eventCreate(&plain, withoutTime), Success);
  float milliseconds = 0;
  EXPECT_EQ(driver->eventElapsed(&milliseconds, begin, end), InvalidHandle) << "they are not recorded";
  EXPECT_EQ(driver->eventRecord(begin, stream), Success);
  EXPECT_EQ(launch(function, y, x, 1, 3, 5), Success);
  EXPECT_EQ(driver->eventRecord(end, stream), Success);
  EXPECT_EQ(driver->eventRecord(plain, stream), Success);
  EXPECT_EQ(driver->eventElapsed(&milliseconds, begin, end), Success);
  EXPECT_FLOAT_EQ(milliseconds, 5e-3f);
  EXPECT_EQ(driver->eventElapsed(&milliseconds, begin, plain), InvalidHandle);
  for (Event event : {begin, end, plain})
    EXPECT_EQ(driver->eventDestroy(event), Success);
}

/// The latest that hardware may be: so memory that a program changes too early is seen.
TEST_F(CudaDriver, CopiesFromPinnedMemoryAreDoneWhenSomethingWaits) {
  void *memory = nullptr;
  Event event = nullptr;
  ASSERT_EQ(driver->hostAllocate(&memory, sizeof(float), 0), Success);
  ASSERT_EQ(driver->eventCreate(&event, withoutTime), Success);
  Address x = upload({0, 0, 0});
  auto *pinned = static_cast<float *>(memory);
  auto copy = [&](float value, int at) {
    *pinned = value;
    EXPECT_EQ(driver->copyToDevice(x + sizeof(float) * unsigned(at), pinned, sizeof(float), stream), Success);
  };
  copy(1, 0);
  EXPECT_EQ(driver->eventRecord(event, stream), Success);
  EXPECT_EQ(driver->eventSynchronize(event), Success);
  copy(2, 1);
  EXPECT_EQ(driver->eventSynchronize(event), Success) << "it was recorded before the second copy";
  copy(3, 2);
  EXPECT_EQ(download(x, 3), (std::vector<float>{1, 3, 3})) << "the second copy was not waited for";
  EXPECT_EQ(driver->eventDestroy(event), Success);
  EXPECT_EQ(driver->hostFree(memory), Success);
  EXPECT_EQ(driver->hostFree(memory), InvalidValue);
}

TEST_F(CudaDriver, AFaultFailsTheStream) {
  Function function = load(axpy, "axpy");
  Address x = upload({1, 2, 3}), y = upload({0, 0, 0});
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch(function, y, x, 1, 4, 1), LaunchFailed) << "there is no fourth element";
  EXPECT_NE(testing::internal::GetCapturedStderr().find("out of bounds: kernel axpy: line "), std::string::npos);
  EXPECT_EQ(driver->streamSynchronize(stream), LaunchFailed);
  EXPECT_STREQ(driver->text(LaunchFailed), "unspecified launch failure");
}

TEST_F(CudaDriver, RefusesImagesOfOtherArchitectures) {
  Module module = nullptr;
  Function function = nullptr;
  EXPECT_EQ(driver->moduleLoad(&module,
                               "\x7f"
                               "ELF",
                               0, nullptr, nullptr),
            NoBinaryForGpu);
  EXPECT_EQ(driver->moduleLoad(&module, ".version 8.6\n.target sm_100\n.address_size 64\n", 0, nullptr, nullptr),
            NoBinaryForGpu);
  EXPECT_EQ(driver->moduleLoad(&module, ".version 8.6\n.target sm_80a\n.address_size 64\n", 0, nullptr, nullptr),
            NoBinaryForGpu);
  EXPECT_EQ(driver->moduleLoad(&module, "no PTX", 0, nullptr, nullptr), InvalidPtx);
  ASSERT_EQ(driver->moduleLoad(&module, axpy, 0, nullptr, nullptr), Success);
  EXPECT_EQ(driver->moduleFunction(&function, module, "other"), NotFound);
  EXPECT_EQ(driver->moduleUnload(module), Success);
}

TEST_F(CudaDriver, MemoryIsLimited) {
  size_t free = 0, total = 0;
  ASSERT_EQ(driver->memoryInfo(&free, &total), Success);
  Address address = 0;
  EXPECT_EQ(driver->memoryAllocate(&address, free + 1), OutOfMemory);
  EXPECT_EQ(driver->memoryAllocate(&address, 4096), Success);
  size_t less = 0;
  ASSERT_EQ(driver->memoryInfo(&less, &total), Success);
  EXPECT_EQ(less, free - 4096);
  EXPECT_EQ(driver->memoryFree(address), Success);
}

/// Opens the driver in a process of its own and leaves with its status and message.
[[noreturn]] void openWith(const char *name, const char *value) {
  setenv(name, value, 1);
  const Driver *driver = nullptr;
  char text[256] = "";
  rapt_status status = openDriver(driver, Report(text, sizeof(text)));
  fprintf(stderr, "%s\n", text);
  _exit(status);
}

TEST(CudaDriverDeathTest, TellsWhatIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(openWith("RAPT_SIMULATED_DEVICES", "0"), testing::ExitedWithCode(RAPT_UNSUPPORTED),
              "the CUDA driver finds no GPU");
  EXPECT_EXIT(openWith("RAPT_SIMULATED_DRIVER", "11080"), testing::ExitedWithCode(RAPT_UNSUPPORTED),
              "the CUDA driver is for CUDA 11.8; 12.0 or newer is needed");
  EXPECT_EXIT(openWith("RAPT_SIMULATED_DRIVER", "12000"), testing::ExitedWithCode(RAPT_OK), "");
}

} // namespace
