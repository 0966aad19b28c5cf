// Libraries with code for several GPUs: the first variant that runs here is taken, and one clear line says why not.
#include "FakeDevice.h"
#include "lib/Runtime/Module.h"
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace rapt::test;

namespace {

/// The recurrent model with a variant for sm_90a and one for sm_80, each with images of its own.
struct TwoVariants {
  TwoVariants() : artifact(counterOnDevice()) {
    const char *archs[2] = {"sm_90a", "sm_80"};
    std::string &text = artifact.manifest, variants;
    const size_t device = text.find("\"device\": "), cpu = text.find("\"cpu\": "), end = text.find("}", cpu);
    for (const char *arch : archs)
      variants += (variants.empty() ? "{" : ", {") + text.substr(cpu, end - cpu) +
                  R"(, "device": {"kind": "cuda", "images": [{"arch": ")" + arch + R"(", "form": "ptx"}]}})";
    text.replace(device, end - device, "\"variants\": [" + variants + "]");
    text.replace(text.find("[1, 4]"), 6, "[1, 5]");
    artifact.table.abi_minor = 5;
    artifact.entries.push_back(artifact.entries[0]);
    artifact.table.entry_count = 2;
    for (size_t i = 0; i < 2; ++i) {
      images[i] = artifact.images[0];
      images[i].arch = archs[i];
      codes[i] = artifact.code;
      codes[i].images = &images[i];
      artifact.variantCode.push_back(&codes[i]);
    }
  }
  TwoVariants(const TwoVariants &) = delete;
  ~TwoVariants() { rapt_module_release(module); }

  rapt_status open(const char *variant = nullptr, uint32_t flags = 0) {
    rapt_module_options options{};
    options.variant = variant;
    options.flags = flags;
    return artifact.open(&module, message, options);
  }
  /// Whether the variant's code, and no other, is loaded, and info tells of it.
  testing::AssertionResult hasTaken(int variant) const {
    rapt_module_info info{};
    info.size = sizeof info;
    rapt_module_get_info(module, &info);
    if (module->variant != variant || strcmp(info.target_gpu, images[variant].arch) != 0 ||
        module->entries != module->artifact->entries + variant)
      return testing::AssertionFailure() << module->variant << " " << info.target_gpu;
    for (int i = 0; i < 2; ++i)
      if (module->device->isLoaded(codes[i]) != (i == variant))
        return testing::AssertionFailure() << "code " << i;
    return testing::AssertionSuccess();
  }

  DeviceArtifact artifact;
  rapt_device_image images[2];
  rapt_device_code codes[2];
  rapt_module *module = nullptr;
  Message message;
};

TEST(DeviceVariant, TheFirstThatRunsIsTaken) {
  TwoVariants best;
  ASSERT_EQ(best.open(), RAPT_OK) << best.message.text; // the simulated GPU is sm_90
  EXPECT_TRUE(best.hasTaken(0));
  TwoVariants asked;
  ASSERT_EQ(asked.open("sm_80"), RAPT_OK) << asked.message.text;
  EXPECT_TRUE(asked.hasTaken(1));
  TwoVariants looked;
  ASSERT_EQ(looked.open(nullptr, RAPT_INSPECT), RAPT_OK) << looked.message.text;
  rapt_module_info info{};
  info.size = sizeof info;
  rapt_module_get_info(looked.module, &info);
  EXPECT_STREQ(info.target_gpus, "sm_90a, sm_80 or newer");
  EXPECT_STREQ(info.target_gpu, "");
}

TEST(DeviceVariant, BrokenTablesAndManifests) {
  const char *differ = "the code for GPUs in its manifest and in its table differ";
  TwoVariants absent;
  EXPECT_FAILS(absent.open("sm_86"), RAPT_INVALID, absent.message, "has no variant sm_86; it has sm_90a, sm_80");
  TwoVariants none;
  none.artifact.variantCode.clear();
  EXPECT_FAILS(none.open(), RAPT_BAD_FILE, none.message, differ);
  TwoVariants half;
  half.artifact.variantCode[0] = nullptr;
  EXPECT_FAILS(half.open(), RAPT_BAD_FILE, half.message, differ);
  TwoVariants exchanged;
  std::swap(exchanged.artifact.variantCode[0], exchanged.artifact.variantCode[1]);
  EXPECT_FAILS(exchanged.open(), RAPT_BAD_FILE, exchanged.message, differ);
  TwoVariants damaged;
  damaged.codes[0].kernel_count = UINT64_MAX;
  EXPECT_FAILS(damaged.open(), RAPT_BAD_FILE, damaged.message, "has 1 images and 18446744073709551615 kernels");
  TwoVariants mixed;
  std::string &text = mixed.artifact.manifest;
  const size_t last = text.rfind(", \"device\": ");
  text.erase(last, text.find("]}", last) + 2 - last);
  EXPECT_FAILS(mixed.open(), RAPT_BAD_FILE, mixed.message,
               "has code for GPUs in some of its \"variants\" and not in others");
}

/// A library of ABI 1.4 for several CPUs, whose target has one device for all of them.
TEST(DeviceVariant, OneDeviceForAllCpus) {
  TwoVariants older;
  std::string &text = older.artifact.manifest;
  for (int i = 0; i < 2; ++i) {
    const size_t at = text.find(", \"device\": ");
    text.erase(at, text.find("]}", at) + 2 - at);
  }
  text.insert(text.find("\"variants\""),
              R"("device": {"kind": "cuda", "images": [{"arch": "sm_80", "form": "ptx"}]}, )");
  text.replace(text.find("[1, 5]"), 6, "[1, 4]");
  older.artifact.table.abi_minor = 4;
  ASSERT_EQ(older.open(), RAPT_OK) << older.message.text;
  EXPECT_EQ(older.module->variant, 0);
  EXPECT_TRUE(older.module->device->isLoaded(older.artifact.code));
}

/// Opens the library on a GPU of another architecture, in a process of its own, and leaves with the status.
[[noreturn]] void openOn(const char *arch, const char *variant, int taken) {
  setenv("RAPT_SIMULATED_ARCH", arch, 1);
  TwoVariants library;
  const rapt_status status = library.open(variant);
  fprintf(stderr, "%s\n", library.message.text);
  _exit(status ? status : library.hasTaken(taken) ? RAPT_OK : RAPT_BUG);
}

TEST(DeviceVariantDeathTest, OtherGpus) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto ends = [](rapt_status status) { return testing::ExitedWithCode(status); };
  EXPECT_EXIT(openOn("80", nullptr, 1), ends(RAPT_OK), "");
  EXPECT_EXIT(openOn("89", nullptr, 1), ends(RAPT_OK), "");
  EXPECT_EXIT(openOn("120", nullptr, 1), ends(RAPT_OK), "");
  EXPECT_EXIT(openOn("75", nullptr, 0), ends(RAPT_UNSUPPORTED),
              "the library has code for sm_90a, sm_80 or newer; GPU 0 is sm_75 .simulated GPU.: compile with "
              "--gpu-arch=sm_75, or --target=cpu");
  EXPECT_EXIT(openOn("80", "sm_90a", 0), ends(RAPT_UNSUPPORTED),
              "the library has code for sm_90a; GPU 0 is sm_80 .simulated GPU.: compile with --gpu-arch=sm_80");
}

} // namespace
