#include "lib/Bench/Limits.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>

using namespace rapt::bench;

namespace {

TEST(Limits, EveryKernelThatTheMachineHasComputes) {
  float seed[64];
  for (int i = 0; i < 64; ++i)
    seed[i] = 0.1f + float(i) / 100;
  int available = 0;
  for (const RateKernel &kernel : rateKernels()) {
    if (!kernel.isAvailable())
      continue;
    ++available;
    float one = 0, two = 0;
    double operations = kernel.run(10, seed, &one);
    EXPECT_EQ(kernel.run(20, seed, &two), 2 * operations) << kernel.name;
    EXPECT_NE(one, 0) << kernel.name;
    EXPECT_NE(one, two) << kernel.name; // what is not used is not computed
  }
  EXPECT_GT(available, 0);
}

TEST(Limits, SumsAllThatIsRead) {
  const size_t count = 128 * 9;
  std::unique_ptr<float, void (*)(void *)> memory(static_cast<float *>(aligned_alloc(64, count * sizeof(float))), free);
  for (size_t i = 0; i < count; ++i)
    memory.get()[i] = float(i % 5);
  double expected = 0;
  for (size_t i = 0; i < count; ++i)
    expected += double(i % 5);
  for (const ReadKernel &kernel : readKernels())
    if (kernel.isAvailable()) {
      EXPECT_EQ(kernel.run(memory.get(), count), expected) << kernel.name;
      EXPECT_EQ(kernel.run(memory.get(), 0), 0) << kernel.name;
    }
}

/// Instructions that code was not compiled for are no limit of it.
TEST(Limits, AreOfTheInstructionsThatCodeHas) {
  Limits portable(nullptr, {"sse2"});
  for (const char *dtype : {"f32", "bf16", "i8", "i4"})
    EXPECT_TRUE(portable.instructionFor(dtype).features.empty()) << portable.instructionFor(dtype).name;
  EXPECT_TRUE(portable.readerFor(1 << 14).features.empty());
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "no AVX2 here";
  Limits narrow(nullptr, {"avx", "avx2", "fma"}), whole(nullptr);
  EXPECT_STREQ(narrow.instructionFor("f32").name, "f32 FMA, 256 bit");
  EXPECT_STREQ(narrow.instructionFor("bf16").name, "f32 FMA, 256 bit");
  EXPECT_STREQ(narrow.instructionFor("i8").name, "int8 pairs, 256 bit");
  EXPECT_STREQ(narrow.instructionFor("i4").name, "int4 groups of 32, 256 bit");
  for (const char *dtype : {"i8", "i4"}) // more, unless another thread has half of the core
    EXPECT_GT(narrow.rate(dtype), 0.8 * narrow.rate("f32")) << dtype;
  for (const char *dtype : {"f32", "bf16", "i8", "i4"})
    EXPECT_GT(whole.rate(dtype), 0.5 * narrow.rate(dtype)) << dtype;
}

TEST(Limits, FeaturesOfAVariant) {
  const char *manifest = R"({"target": {"variants": [{"cpu": "x86-64-v4", "features": ["avx2", "avx512f"]},
                                                     {"cpu": "x86-64-v3", "features": ["avx2", "fma"]}]}})";
  EXPECT_EQ(featuresOf(manifest, "x86-64-v3"), (std::vector<std::string>{"avx2", "fma"}));
  EXPECT_EQ(featuresOf(manifest, "x86-64-v4"), (std::vector<std::string>{"avx2", "avx512f"}));
  EXPECT_TRUE(featuresOf(manifest, "haswell").empty());
  EXPECT_EQ(featuresOf(R"({"target": {"cpu": "native", "features": ["avx"]}})", "native"),
            (std::vector<std::string>{"avx"}));
  EXPECT_TRUE(featuresOf("{}", "haswell").empty());
  EXPECT_TRUE(featuresOf("{", "haswell").empty());
}

TEST(Limits, RatesOfOneAndTwoThreads) {
  rapt_pool *pool = nullptr;
  ASSERT_EQ(rapt_pool_new(2, &pool, nullptr, 0), RAPT_OK);
  {
    Limits alone(nullptr), both(pool);
    EXPECT_STREQ(alone.instructionFor("f32").dtype, "f32");
    EXPECT_GT(alone.rate("f32"), 1e8);
    EXPECT_GT(alone.rate("float8"), 1e8); // no such instruction: widened to f32
    EXPECT_GT(both.rate("f32"), 1e8);
    for (size_t bytes : {size_t(1), size_t(1) << 14, size_t(1) << 20}) {
      EXPECT_GT(alone.read(bytes), 1e8) << bytes;
      EXPECT_GT(both.read(bytes), 1e8) << bytes;
    }
  }
  rapt_pool_free(pool);
}

} // namespace
