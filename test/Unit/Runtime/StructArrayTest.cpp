// Sources of sequences, which the model in C has none of (fault 60).
#include "lib/Runtime/CallerStruct.h"
#include "test/Unit/GuardedStruct.h"

using namespace rapt::runtime;
using namespace rapt::test;

namespace {

TEST(StructArray, MembersThatAnOlderVersionLacksAreZero) {
  constexpr size_t old = offsetof(rapt_source, features);
  const float feature = 1;
  alignas(rapt_source) char bytes[2 * old + sizeof(rapt_source)] = {};
  for (size_t i = 0; i < 2; ++i) {
    rapt_source source{};
    source.size = old;
    source.count = int64_t(i);
    memcpy(bytes + i * old, &source, old);
  }
  StructArray<const rapt_source> list;
  ASSERT_EQ(list.adopt(reinterpret_cast<rapt_source *>(bytes), 2, "rapt_source", Report(nullptr, 0), old), RAPT_OK);
  EXPECT_EQ(list[1].count, 1);
  EXPECT_EQ(list.get(0, &rapt_source::features), nullptr); // the size of the next one is there
  EXPECT_EQ(list.get(1, &rapt_source::feature_bytes), 0u);
  rapt_source own{};
  own.size = sizeof own;
  own.features = &feature;
  ASSERT_EQ(list.adopt(&own, 1, "rapt_source", Report(nullptr, 0), old), RAPT_OK);
  EXPECT_EQ(list.get(0, &rapt_source::features), &feature);
}

TEST(StructArray, SizesOfSources) {
  checkStructSizes(offsetof(rapt_source, features), rapt_source{}, [](const rapt_source *source) {
    StructArray<const rapt_source> list;
    return list.adopt(source, 1, "rapt_source", Report(nullptr, 0), offsetof(rapt_source, features));
  });
}

TEST(StructArray, NothingIsReadOfAnEmptyOne) {
  StructArray<const rapt_source> list;
  EXPECT_EQ(list.adopt(nullptr, 0, "rapt_source", Report(nullptr, 0)), RAPT_OK);
}

TEST(StructArray, MembersThatTheCallerLacksAreZero) {
  struct Grown {
    size_t size;
    int64_t first, added;
  };
  GuardedStruct<Grown> given(16, {16, 7, 8});
  Grown read;
  ASSERT_EQ(readStruct(given.get(), 16, "Grown", read, Report(nullptr, 0)), RAPT_OK);
  EXPECT_EQ(read.size, sizeof read);
  EXPECT_EQ(read.first, 7);
  EXPECT_EQ(read.added, 0);
}

} // namespace
