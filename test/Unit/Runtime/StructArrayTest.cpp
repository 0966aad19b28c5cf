// Sources of sequences, which the model in C has none of (fault 60).
#include "lib/Runtime/CallerStruct.h"
#include "test/Unit/GuardedStruct.h"

using namespace rapt::runtime;
using namespace rapt::test;

namespace {

TEST(StructArray, SizesOfSources) {
  checkStructSizes(sizeof(rapt_source), rapt_source{}, [](const rapt_source *source) {
    StructArray<const rapt_source> list;
    return list.take(source, 1, "rapt_source", Report(nullptr, 0));
  });
}

TEST(StructArray, NothingIsReadOfAnEmptyOne) {
  StructArray<const rapt_source> list;
  EXPECT_EQ(list.take(nullptr, 0, "rapt_source", Report(nullptr, 0)), RAPT_OK);
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
