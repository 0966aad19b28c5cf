// Code for GPUs on machines and libraries where something is wrong: one clear line each, and never the CPU instead.
#include "FakeDevice.h"
#include "lib/Runtime/Device.h"
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace rapt::test;
using rapt::runtime::GpuArch;

namespace {

/// Opens an artifact, which is to fail, and returns the message.
std::string refusal(DeviceArtifact artifact, rapt_status wanted, rapt_module_options options = {}) {
  Message message;
  rapt_module *module = nullptr;
  EXPECT_EQ(artifact.open(&module, message, options), wanted) << message.text;
  EXPECT_EQ(module, nullptr);
  return message.text;
}

#define EXPECT_HAS(TEXT, PART) EXPECT_NE((TEXT).find(PART), std::string::npos) << (TEXT)

DeviceArtifact withManifest(const std::string &from, const std::string &to) {
  DeviceArtifact artifact = decoderOnDevice();
  artifact.manifest.replace(artifact.manifest.find(from), from.size(), to);
  return artifact;
}

//===- Manifests and tables --------------------------------------------------------===//

TEST(DeviceError, ManifestsAreChecked) {
  const std::string image = R"({"arch": "sm_80", "form": "ptx"})";
  EXPECT_HAS(refusal(withManifest("\"cuda\"", "\"rocm\""), RAPT_BAD_FILE), "device kind \"rocm\" is unknown");
  EXPECT_HAS(refusal(withManifest("\"kind\": \"cuda\"", "\"kind\": 2"), RAPT_BAD_FILE), "\"kind\" is no text");
  EXPECT_HAS(refusal(withManifest("\"ptx\"", "\"fatbin\""), RAPT_BAD_FILE), "form of code \"fatbin\" is unknown");
  EXPECT_HAS(refusal(withManifest(image, ""), RAPT_BAD_FILE), "has 0 \"images\", not 1 to 64");
  EXPECT_HAS(refusal(withManifest(image, "7"), RAPT_BAD_FILE), "has no \"arch\"");
  EXPECT_HAS(refusal(withManifest(", \"images\"", ", \"image\""), RAPT_BAD_FILE), "has no \"images\"");
  for (const char *arch : {"", "sm_", "sm_8", "sm_8a", "sm_80b", "sm_80aa", "sm_8000", "sm_-80", "SM_80", "compute_80"})
    EXPECT_HAS(refusal(withManifest("\"sm_80\"", "\"" + std::string(arch) + "\""), RAPT_BAD_FILE),
               "GPU architecture \"" + std::string(arch) + "\" is not like \"sm_80\" or \"sm_90a\"");
  std::string many = image;
  for (int i = 0; i < 64; ++i)
    many += ", " + image;
  EXPECT_HAS(refusal(withManifest(image, many), RAPT_BAD_FILE), "has 65 \"images\"");
}

TEST(DeviceError, ManifestAndTableAgree) {
  const char *differ = "the code for GPUs in its manifest and in its table differ";
  const std::string image = R"({"arch": "sm_80", "form": "ptx"})";
  EXPECT_HAS(refusal(withManifest("\"sm_80\"", "\"sm_86\""), RAPT_BAD_FILE), differ);
  EXPECT_HAS(refusal(withManifest("\"ptx\"", "\"cubin\""), RAPT_BAD_FILE), differ);
  EXPECT_HAS(refusal(withManifest(image, image + ", " + image), RAPT_BAD_FILE), differ);
  EXPECT_HAS(refusal(withManifest("\"device\"", "\"unknown\""), RAPT_BAD_FILE), differ);
  DeviceArtifact older = decoderOnDevice();
  older.table.abi_minor = 3; // its table ends before device_code
  EXPECT_HAS(refusal(older, RAPT_BAD_FILE), differ);
}

TEST(DeviceError, TablesAreChecked) {
  auto damaged = [](auto damage) {
    DeviceArtifact artifact = decoderOnDevice();
    damage(artifact);
    return artifact;
  };
  EXPECT_HAS(refusal(damaged([](DeviceArtifact &a) { a.code.device = 10; }), RAPT_UNSUPPORTED),
             "it has code for device 10; this runtime knows 2, CUDA");
  EXPECT_HAS(refusal(damaged([](DeviceArtifact &a) { a.code.kernel_count = UINT64_MAX; }), RAPT_BAD_FILE),
             "has 1 images and 18446744073709551615 kernels");
  const char *bad = "image 0 of its code for GPUs is damaged";
  EXPECT_HAS(refusal(damaged([](DeviceArtifact &a) { a.images[0].bytes = nullptr; }), RAPT_BAD_FILE), bad);
  EXPECT_HAS(refusal(damaged([](DeviceArtifact &a) { a.images[0].size = 0; }), RAPT_BAD_FILE), bad);
  EXPECT_HAS(refusal(damaged([](DeviceArtifact &a) { a.images[0].size = 100; }), RAPT_BAD_FILE), bad); // no NUL
}

TEST(DeviceError, CodeThatTheDriverRefuses) {
  DeviceArtifact artifact = decoderOnDevice();
  artifact.images[0].bytes = "no PTX";
  artifact.images[0].size = 7;
  EXPECT_HAS(refusal(artifact, RAPT_UNSUPPORTED), "the driver of GPU 0 (simulated GPU, sm_90) does not load the code "
                                                  "for sm_80: a PTX JIT compilation failed");
}

TEST(DeviceError, ArchitecturesAndGpus) {
  auto runs = [](const char *name, int gpu, bool isMachineCode) {
    GpuArch arch;
    return GpuArch::parse(name, arch) && arch.runsOn(gpu, isMachineCode);
  };
  for (bool isMachineCode : {false, true}) {
    EXPECT_TRUE(runs("sm_80", 80, isMachineCode));
    EXPECT_TRUE(runs("sm_80", 89, isMachineCode));
    EXPECT_FALSE(runs("sm_86", 80, isMachineCode));
    EXPECT_TRUE(runs("sm_90a", 90, isMachineCode));
    EXPECT_FALSE(runs("sm_90a", 100, isMachineCode));
    EXPECT_FALSE(runs("sm_120", 90, isMachineCode));
  }
  EXPECT_TRUE(runs("sm_80", 120, false));
  EXPECT_FALSE(runs("sm_80", 90, true)) << "machine code is of one major architecture";
}

TEST(DeviceError, DeviceNumbers) {
  rapt_module_options options{};
  options.device = 1;
  EXPECT_HAS(refusal(decoderOnDevice(), RAPT_INVALID, options),
             "there is no GPU 1: the CUDA driver finds 1, and the first is 0");
  options.device = -1;
  EXPECT_HAS(refusal(decoderOnDevice(), RAPT_INVALID, options), "device is -1; the first is 0");
  options.size = sizeof options;
  options.device = 1;
  Message message;
  rapt_module *module = nullptr;
  EXPECT_FAILS(rapt_module_open(inBuild("/test/fake/fake.so").c_str(), &options, &module, message.text, message.size),
               RAPT_INVALID, message, "fake.so: device is 1, but its code is for CPUs");
}

/// Entries that choose tokens are bound when a context is made.
TEST(DeviceError, EntriesThatChooseAreChecked) {
  const std::string buffers =
      R"("buffers": [{"name": "weights", "kind": "weights"}, {"name": "workspace", "kind": "workspace"}, )"
      R"({"name": "logits", "kind": "input", "dtype": "f32", "shape": ["wanted", 257]}, )"
      R"({"name": "among", "kind": "input", "dtype": "i32", "shape": ["wanted"]}, )"
      R"({"name": "top_ids", "kind": "output", "dtype": "i32", "shape": ["wanted", 4]}, )"
      R"({"name": "top_logits", "kind": "output", "dtype": "f32", "shape": ["wanted", 4]}]})";
  auto make = [&](const std::string &from, const std::string &to) {
    DeviceArtifact artifact = decoderOnDevice();
    std::string entry = R"(, {"name": "top_tokens", "dims": ["wanted"], "bounds": [[0, 64]], )" + buffers;
    entry.replace(entry.find(from), from.size(), to);
    artifact.manifest.insert(artifact.manifest.rfind("]}"), entry);
    artifact.entries.push_back(artifact.entries[0]);
    artifact.entries[1].name = "top_tokens";
    artifact.table.entry_count = 2;
    rapt_module *module = nullptr;
    Message message;
    EXPECT_EQ(artifact.open(&module, message), RAPT_OK) << message.text;
    rapt_context *context = nullptr;
    EXPECT_EQ(rapt_context_new(module, nullptr, &context, message.text, message.size),
              from == to ? RAPT_OK : RAPT_UNSUPPORTED)
        << message.text;
    rapt_context_free(context);
    rapt_module_release(module);
    return std::string(message.text);
  };
  make("257", "257");
  const char *none = "entry top_tokens of fake gives no tokens for 257 logits";
  EXPECT_HAS(make("257", "256"), none);
  EXPECT_HAS(make("\"wanted\", 4", "\"wanted\", 3"), none);
  EXPECT_HAS(make("\"wanted\", 4", "\"wanted\""), none);
  EXPECT_HAS(make("among", "below"), "has a buffer below i32 that this runtime does not know");
  EXPECT_HAS(make("\"f32\", \"shape\": [\"wanted\", 4]", "\"i32\", \"shape\": [\"wanted\", 4]"),
             "has a buffer top_logits i32 that this runtime does not know");
}

//===- Machines ------------------------------------------------------------------------===//

/// Does something in a process of its own whose driver is told of by an environment variable, and leaves with its
/// status and message.
template <typename Action> [[noreturn]] void with(const char *name, const char *value, Action action) {
  setenv(name, value, 1);
  Message message;
  rapt_status status = action(message);
  fprintf(stderr, "%s\n", message.text);
  _exit(status);
}

rapt_status openDecoder(Message &message) {
  static DeviceArtifact artifact = decoderOnDevice();
  rapt_module *module = nullptr;
  return artifact.open(&module, message);
}

/// Answers of the decoder and of the recurrent model; RAPT_BUG where one is wrong.
rapt_status runDecoder(Message &) {
  Context context({}, deviceModule());
  Text text;
  const rapt_sequence s = context.sequence();
  for (uint32_t i = 0; i < 5; ++i)
    if (!context.appendAndCheck(s, text, someText(20, i)))
      return RAPT_BUG;
  return RAPT_OK;
}

rapt_status inspect(Message &message) {
  DeviceArtifact artifact = decoderOnDevice();
  rapt_module_options options{};
  options.flags = RAPT_INSPECT;
  rapt_module *module = nullptr;
  if (rapt_status status = artifact.open(&module, message, options))
    return status;
  rapt_module_info info{sizeof(rapt_module_info)};
  rapt_module_get_info(module, &info);
  snprintf(message.text, message.size, "GPUs: %s", info.target_gpus);
  return RAPT_OK;
}

TEST(DeviceErrorDeathTest, Machines) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto ends = [](rapt_status status) { return testing::ExitedWithCode(status); };
  EXPECT_EXIT(with("RAPT_SIMULATED_DEVICES", "0", openDecoder), ends(RAPT_UNSUPPORTED), "the CUDA driver finds no GPU");
  EXPECT_EXIT(with("RAPT_SIMULATED_DRIVER", "11080", openDecoder), ends(RAPT_UNSUPPORTED),
              "the CUDA driver is for CUDA 11.8; 12.0 or newer is needed");
  EXPECT_EXIT(with("RAPT_SIMULATED_ARCH", "75", openDecoder), ends(RAPT_UNSUPPORTED),
              "the linked model: the library has code for sm_80 or newer; GPU 0 is sm_75 .simulated GPU.: compile with "
              "--gpu-arch=sm_75, or --target=cpu");
  EXPECT_EXIT(with("RAPT_SIMULATED_MEMORY", "32", openDecoder), ends(RAPT_NOMEM),
              "GPU 0 .simulated GPU. has no memory for the weights: 64 bytes wanted, 32 of 32 free");
  EXPECT_EXIT(with("RAPT_SIMULATED_COPIES", "0", openDecoder), ends(RAPT_IO),
              "^the weights cannot be copied to GPU 0 .simulated GPU.: the GPU's work failed: uncorrectable ECC error "
              "encountered\n$");
  EXPECT_EXIT(with("RAPT_SIMULATED_PINNED", "64", openDecoder), ends(RAPT_NOMEM),
              "^the weights cannot be copied to GPU 0 .simulated GPU.: pinned memory of the host cannot be had: out of "
              "memory\n$");
  EXPECT_EXIT(with("RAPT_SIMULATED_DEVICES", "0", inspect), ends(RAPT_OK), "GPUs: sm_80 or newer");
}

TEST(DeviceErrorDeathTest, EveryModeOfTheSimulator) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(with("RAPT_SIMULATED_ASYNC", "lazy", runDecoder), testing::ExitedWithCode(RAPT_OK), "");
  EXPECT_EXIT(with("RAPT_SIMULATED_SEED", "7", runDecoder), testing::ExitedWithCode(RAPT_OK), "");
  EXPECT_EXIT(with("RAPT_SIMULATED_ARCH", "80", runDecoder), testing::ExitedWithCode(RAPT_OK), "");
}

/// Makes a context whose cache does not fit.
rapt_status takeMuch(Message &message) {
  rapt_context_options options{};
  options.size = sizeof options;
  options.cache_tokens = 1 << 20;
  rapt_context *context = nullptr;
  return rapt_context_new(deviceModule(), &options, &context, message.text, message.size);
}

/// Runs out of memory in a step, and goes on with a smaller one.
rapt_status growStates(Message &message) {
  Context context({}, counterModule());
  rapt_sequence first = context.sequence(), fork = 0;
  rapt_status status = context.append(first, {1});
  for (int i = 0; i < 5000 && !status; ++i) {
    rapt_sequence_fork(context, first, &fork, nullptr, 0);
    status = context.append(fork, {1});
  }
  memcpy(message.text, context.message.text, message.size);
  rapt_sequence_free(context, fork, nullptr, 0);
  return context.append(first, {3}) ? status : context.logits[0] == 5 ? status : RAPT_BUG;
}

TEST(DeviceErrorDeathTest, OutOfMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(with("RAPT_SIMULATED_MEMORY", "1000000", takeMuch), testing::ExitedWithCode(RAPT_NOMEM),
              "has no memory for the cache: 8388608 bytes wanted, 9[0-9]* of 1000000 free");
  EXPECT_EXIT(with("RAPT_SIMULATED_MEMORY", "120000", growStates), testing::ExitedWithCode(RAPT_NOMEM),
              "has no memory for the states: [0-9]* bytes wanted, [0-9]* of 120000 free");
}

//===- Kernels ---------------------------------------------------------------------------===//

/// A step whose entry does something wrong.
void expectFault(DeviceFaults faults, rapt_status wanted, const char *text) {
  Context context({}, deviceModule());
  Text before;
  rapt_sequence s = context.sequence();
  ASSERT_TRUE(context.appendAndCheck(s, before, {1, 2}));
  testing::internal::CaptureStderr();
  deviceFaults = faults;
  EXPECT_FAILS(context.append(s, {3}), wanted, context.message, text);
  deviceFaults = {};
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(rapt_sequence_length(context, s), 2);
}

TEST(DeviceError, KernelFaults) {
  expectFault({.readsBeyondMemory = true}, RAPT_BUG,
              "kernel insert cannot be started, or one before it failed: unspecified launch failure");
  expectFault({.startsForeignKernel = true}, RAPT_BUG,
              "the compiled code starts 1 blocks of a kernel that it does not have: invalid argument");
  expectFault({.startsMissingKernel = true}, RAPT_BUG,
              "kernel missing cannot have 0 bytes of shared memory or is missing: named symbol not found");
  expectFault({.returnsFive = true}, RAPT_BUG, "the compiled entry returned 5");
  // The GPU goes on for other contexts.
  Context context({}, deviceModule());
  Text text;
  EXPECT_TRUE(context.appendAndCheck(context.sequence(), text, {1, 2, 3}));
}

/// Kernels are started early where the code says so: one that does not wait for the kernel in front of it is a fault.
/// The flags of older code are not read.
TEST(DeviceError, AKernelThatDoesNotWait) {
  for (uint32_t minor : {7, 8}) {
    DeviceArtifact artifact = decoderOnDevice();
    rapt_module *module = nullptr;
    Message message;
    ASSERT_EQ(openTimed(artifact, &module, message, minor), RAPT_OK) << message.text;
    {
      Context context({}, module);
      testing::internal::CaptureStderr();
      deviceFaults.overlaps = true;
      const rapt_status status = context.append(context.sequence(), {1, 2});
      deviceFaults = {};
      const std::string findings = testing::internal::GetCapturedStderr();
      EXPECT_EQ(status, minor < 8 ? RAPT_OK : RAPT_BUG) << context.message.text;
      EXPECT_EQ(findings.find("griddepcontrol.wait has not been executed") != std::string::npos, minor >= 8);
    }
    rapt_module_release(module);
  }
}

TEST(DeviceError, ABrokenStreamStaysBroken) {
  Context context({}, deviceModule());
  rapt_sequence s = context.sequence(), loaded = 0;
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, {1, 2}));
  testing::internal::CaptureStderr();
  deviceFaults.readsBeyondMemory = true;
  EXPECT_EQ(context.append(s, {3}), RAPT_BUG);
  deviceFaults = {};
  testing::internal::GetCapturedStderr();
  EXPECT_FAILS(context.append(s, {3}), RAPT_BUG, context.message, "failed: unspecified launch failure");
  std::vector<char> state(4096);
  size_t bytes = 0;
  EXPECT_FAILS(
      rapt_sequence_save(context, s, state.data(), state.size(), &bytes, context.message.text, context.message.size),
      RAPT_BUG, context.message, "copying from the GPU failed: unspecified launch failure");
  Context other({}, deviceModule());
  Text same;
  rapt_sequence t = other.sequence();
  ASSERT_TRUE(other.appendAndCheck(t, same, {1, 2}));
  ASSERT_EQ(rapt_sequence_save(other, t, state.data(), state.size(), &bytes, nullptr, 0), RAPT_OK);
  const int64_t available = rapt_context_available(context);
  EXPECT_FAILS(rapt_sequence_load(context, state.data(), bytes, &loaded, context.message.text, context.message.size),
               RAPT_BUG, context.message, "copying to the GPU failed: unspecified launch failure");
  EXPECT_EQ(loaded, 0u);
  EXPECT_EQ(rapt_context_available(context), available);
}

/// A child process may only free what the parent made: its copy of the driver must not be called.
TEST(DeviceError, AForkedChildFreesOnly) {
  Context context({}, deviceModule());
  pid_t child = fork();
  if (child == 0) {
    rapt_context *copy = context;
    rapt_status status = rapt_context_memory(deviceModule(), nullptr, nullptr, nullptr, 0); // reads nothing of the GPU
    rapt_context_free(copy);
    _exit(status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == RAPT_INVALID);
  Text text;
  EXPECT_TRUE(context.appendAndCheck(context.sequence(), text, {1}));
}

} // namespace
