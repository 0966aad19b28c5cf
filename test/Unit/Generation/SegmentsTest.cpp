#include "lib/Generation/Segments.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "test/Unit/Folders.h"
#include <gtest/gtest.h>
#include <random>

using namespace rapt;

namespace {

using Ids = std::vector<int32_t>;

Ids idsOf(const json::Value &list) {
  Ids ids;
  for (const json::Value &id : *list.asArray())
    ids.push_back(int32_t(*id.asInteger()));
  return ids;
}

SpeechSegment segmentOf(const json::Value &list) {
  const json::Array &parts = *list.asArray();
  return {*parts[0].asInteger(), *parts[1].asInteger(), idsOf(parts[2])};
}

} // namespace

TEST(Segments, EqualWhisperOnTables) {
  Expected<std::string> content = readFile(test::inSource("/test/Unit/Generation/segments.json"), 1 << 24);
  ASSERT_TRUE(bool(content)) << content.error().message;
  Expected<json::Value> cases = json::parse(*content);
  ASSERT_TRUE(bool(cases));
  ASSERT_GE(cases->asArray()->size(), 100u);
  for (const json::Value &entry : *cases->asArray()) {
    SCOPED_TRACE(json::write(entry));
    const Ids window = idsOf(*entry.find("window"));
    const CutWindow cut =
        cutWindow(idsOf(*entry.find("tokens")), {*entry.find("begin")->asInteger(), *entry.find("stride")->asInteger()},
                  {window[0], window[1]});
    std::vector<SpeechSegment> segments;
    for (const json::Value &segment : *entry.find("segments")->asArray())
      segments.push_back(segmentOf(segment));
    EXPECT_EQ(cut.segments, segments);
    EXPECT_EQ(cut.advance, *entry.find("advance")->asInteger());
  }
}

TEST(Segments, EveryWindowAdvances) {
  std::mt19937 random(5);
  for (int round = 0; round < 20000; ++round) {
    Ids ids(random() % 12);
    for (int32_t &id : ids)
      id = random() % 8 ? int32_t(random() % 12) : INT32_MAX;
    const TimestampUnit unit = {int64_t(random() % 12), int64_t(random() % 3 + 1)};
    const SoundWindow window = {int64_t(random() % 100), int64_t(random() % 60 + 1)};
    const CutWindow cut = cutWindow(ids, unit, window);
    ASSERT_GE(cut.advance, 1);
    for (const SpeechSegment &segment : cut.segments) {
      ASSERT_GE(segment.begin, window.begin);
      ASSERT_GT(segment.end, segment.begin);
    }
  }
}

TEST(Segments, WithoutTimestampsAWindowIsOne) {
  const CutWindow cut = cutWindow(Ids{1, INT32_MAX, 3}, {}, {50, 20});
  EXPECT_EQ(cut.segments, (std::vector<SpeechSegment>{{50, 70, {1, INT32_MAX, 3}}}));
  EXPECT_EQ(cut.advance, 20);
}
