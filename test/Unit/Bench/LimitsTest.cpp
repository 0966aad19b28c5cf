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
  EXPECT_EQ(sumFloats(memory.get(), count), expected);
  EXPECT_EQ(sumFloats(memory.get(), 0), 0);
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
