#include "lib/Support/EntryRoles.h"
#include <gtest/gtest.h>
#include <set>
#include <tuple>

using namespace rapt;

namespace {

TEST(EntryRoles, ABufferHasOneRole) {
  std::set<std::tuple<std::string_view, BufferKind, std::string_view>> buffers;
  for (const RoleRow &row : part::rows)
    EXPECT_TRUE(buffers.emplace(row.name, row.kind, row.type).second) << row.name;
  EXPECT_STREQ(nameOf(EntryRole::Logits), nameOf(EntryRole::GivenLogits));
}

TEST(EntryRoles, ShapesAreRead) {
  const RoleShape table = rowOf(EntryRole::SourceTable).shape, offsets = rowOf(EntryRole::RowBegin).shape,
                  logits = rowOf(EntryRole::Logits).shape, groups = rowOf(EntryRole::AdapterGroups).shape;
  EXPECT_EQ(table.count, 2);
  EXPECT_EQ(table.dims[0], EntryDim::Rows);
  EXPECT_STREQ(nameOf(table.dims[1]), "source_blocks");
  EXPECT_FALSE(table.hasNumbers || table.plus);
  EXPECT_EQ(offsets.count, 1);
  EXPECT_EQ(offsets.plus, 1);
  EXPECT_EQ(logits.count, 1);
  EXPECT_EQ(logits.dims[0], EntryDim::Wanted);
  EXPECT_TRUE(logits.hasNumbers && groups.hasNumbers);
  EXPECT_EQ(groups.count, 0);
  EXPECT_EQ(rowOf(EntryRole::Weights).shape.count, 0);
}

TEST(EntryRoles, CachesAndStatesAreKept) {
  EXPECT_TRUE(isCacheName("cache") && isCacheName("window_cache"));
  for (const char *state : {"state", "conv_state"})
    EXPECT_TRUE(findKept(state) && !isCacheName(state)) << state;
  EXPECT_FALSE(findKept("tokens") || isCacheName("tokens"));
}

} // namespace
