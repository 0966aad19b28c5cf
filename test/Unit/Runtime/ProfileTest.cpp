// Times and costs of ops, as the fake model's manifest tells them.
#include "FakeModel.h"
#include "rapt/rapt_profile.h"
#include <algorithm>

using namespace rapt::test;

namespace {

std::vector<rapt_profile_row> readAllRows(rapt_context *context) {
  size_t count = 0;
  EXPECT_EQ(rapt_profile_read(context, nullptr, &count, nullptr, 0), RAPT_OK);
  rapt_profile_row empty{};
  empty.size = sizeof empty;
  std::vector<rapt_profile_row> rows(count, empty);
  EXPECT_EQ(rapt_profile_read(context, rows.data(), &count, nullptr, 0), RAPT_OK);
  return rows;
}

/// Pairs that the mask of the manifest keeps: of a query and the five positions before it.
double pairsOf(int64_t past, int64_t count) {
  double pairs = 0;
  for (int64_t i = 0; i < count; ++i)
    pairs += double(std::min<int64_t>(past + i + 1, 6));
  return pairs;
}

TEST(Profile, CostsOfOpsByLayer) {
  Context context;
  rapt_sequence s = context.sequence();
  ASSERT_EQ(context.append(s, someText(3, 1)), RAPT_OK); // before it starts: not counted
  ASSERT_EQ(rapt_profile_start(context, nullptr, 0), RAPT_OK);
  ASSERT_EQ(context.append(s, someText(9, 2)), RAPT_OK);
  std::vector<rapt_profile_row> rows = readAllRows(context);
  ASSERT_EQ(rows.size(), 6u);
  for (int layer = 0; layer < 3; ++layer) {
    const rapt_profile_row &row = rows[layer];
    EXPECT_STREQ(row.entry, "step");
    EXPECT_STREQ(row.op, "insert");
    EXPECT_STREQ(row.name, "h.{layer}.w");
    EXPECT_STREQ(row.dtype, "f32");
    EXPECT_EQ(row.layer, 4 + 2 * layer);
    EXPECT_EQ(row.calls, layer < 2 ? 1u : 7u); // dispatches beyond the layers belong to the last
    EXPECT_EQ(row.flops, 2 * 9 * 9 + 7);
    EXPECT_EQ(row.weight_bytes, 3 * 9); // one tile, nine steps
    EXPECT_EQ(row.cache_bytes, 12 - 0); // keys 0 to 11: the first query, at 3, sees from 0 on
    EXPECT_EQ(row.activation_bytes, 9 / 2);
    EXPECT_EQ(row.one_token, 0);
  }
  EXPECT_STREQ(rows[3].op, "project");
  EXPECT_EQ(rows[3].name, nullptr);
  EXPECT_EQ(rows[3].dtype, nullptr);
  EXPECT_EQ(rows[3].layer, -1);
  EXPECT_EQ(rows[3].flops, 10 * pairsOf(3, 9));
  EXPECT_STREQ(rows[4].entry, "step");
  EXPECT_EQ(rows[4].op, nullptr);
  EXPECT_EQ(rows[5].entry, nullptr);
  EXPECT_EQ(rows[5].calls, 1u);
}

TEST(Profile, SingleTokensApartAndSecondsOfAll) {
  Context context;
  rapt_sequence s = context.sequence();
  ASSERT_EQ(rapt_profile_start(context, nullptr, 0), RAPT_OK);
  ASSERT_EQ(context.append(s, someText(20, 1)), RAPT_OK);
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(context.append(s, someText(1, 10 + i)), RAPT_OK);
  double flops[2] = {}, seconds = 0;
  for (const rapt_profile_row &row : readAllRows(context)) {
    EXPECT_GE(row.seconds, 0);
    seconds += row.seconds;
    if (row.op && std::string(row.op) == "project")
      flops[row.one_token] += row.flops;
  }
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(flops[0], 10 * pairsOf(0, 20));
  EXPECT_EQ(flops[1], 10 * 4 * 6);
  ASSERT_EQ(rapt_profile_stop(context, nullptr, 0), RAPT_OK);
  const size_t before = readAllRows(context).size();
  ASSERT_EQ(context.append(s, someText(7, 3)), RAPT_OK);
  EXPECT_EQ(readAllRows(context).size(), before);
  ASSERT_EQ(rapt_profile_start(context, nullptr, 0), RAPT_OK);
  EXPECT_TRUE(readAllRows(context).empty());
}

TEST(Profile, Refusals) {
  Context context;
  Message &m = context.message;
  size_t count = 0;
  EXPECT_EQ(rapt_profile_read(context, nullptr, &count, m.text, m.size), RAPT_INVALID);
  EXPECT_NE(std::string(m.text).find("rapt_profile_start was not called"), std::string::npos) << m.text;
  EXPECT_EQ(rapt_profile_start(nullptr, m.text, m.size), RAPT_INVALID);
  ASSERT_EQ(rapt_profile_start(context, m.text, m.size), RAPT_OK);
  EXPECT_EQ(rapt_profile_read(context, nullptr, nullptr, m.text, m.size), RAPT_INVALID);
  ASSERT_EQ(context.append(context.sequence(), someText(2, 1)), RAPT_OK);
  rapt_profile_row row{};
  row.size = sizeof row;
  count = 1;
  EXPECT_EQ(rapt_profile_read(context, &row, &count, m.text, m.size), RAPT_FULL);
  EXPECT_STREQ(row.op, "insert");
  EXPECT_STREQ(m.text, "the profile has 5 rows, the buffer holds 1");
}

// Artifacts of older compilers name dispatches "regions".
TEST(Profile, AnOlderArtifact) {
  FakeCopy copy;
  patch(copy.library(), "\"dispatches\"", "\"regions\"   ");
  rapt_module *module = nullptr;
  Message m;
  ASSERT_EQ(rapt_module_open(copy.library().c_str(), nullptr, &module, m.text, m.size), RAPT_OK) << m.text;
  {
    Context context({}, module);
    EXPECT_EQ(rapt_profile_start(context, m.text, m.size), RAPT_OK) << m.text;
  }
  rapt_module_release(module);
}

TEST(Profile, AnArtifactWithoutOps) {
  FakeCopy copy;
  patch(copy.library(), "\"dispatches\"", "\"dispatchez\"");
  rapt_module *module = nullptr;
  Message m;
  ASSERT_EQ(rapt_module_open(copy.library().c_str(), nullptr, &module, m.text, m.size), RAPT_OK) << m.text;
  {
    Context context({}, module);
    EXPECT_EQ(rapt_profile_start(context, m.text, m.size), RAPT_UNSUPPORTED);
    EXPECT_STREQ(m.text, "fake does not tell its ops: compile it again");
    EXPECT_EQ(context.append(context.sequence(), someText(2, 1)), RAPT_OK);
  }
  rapt_module_release(module);
}

} // namespace
