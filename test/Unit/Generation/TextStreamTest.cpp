#include "lib/Generation/TextStream.h"
#include <gtest/gtest.h>

using namespace rapt;

/// A byte-level tokenizer whose ids are the bytes, with "ab" = 256 and a special "<end>" = 257.
static std::unique_ptr<Tokenizer> byteTokenizer() {
  std::string vocabulary;
  for (unsigned byte = 0, next = 0x100; byte < 256; ++byte) {
    bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    char name[16];
    snprintf(name, sizeof name, "\"\\u%04x\": %u, ", itself ? byte : next++, byte);
    vocabulary += name;
  }
  std::string json =
      R"({"added_tokens": [{"id": 257, "content": "<end>", "special": true}], "decoder": {"type": "ByteLevel"},
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "model": {"type": "BPE", "vocab": {)" +
      vocabulary + R"("ab": 256}, "merges": ["a b"]}})";
  TokenizerFiles files;
  files.tokenizerJson = json;
  auto tokenizer = Tokenizer::create(files);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

/// The text of each of the ids, and at last of finish, each followed by '|'.
static std::string stream(const std::vector<int32_t> &ids, std::vector<std::string> stops, bool *stopped = nullptr) {
  auto tokenizer = byteTokenizer();
  auto text = TextStream::create(*tokenizer, std::move(stops));
  EXPECT_TRUE(text) << (text ? "" : text.error().message);
  std::string pieces;
  for (int32_t id : ids)
    pieces += *text->feed(id) + "|";
  if (stopped)
    *stopped = text->stopped();
  return pieces + text->finish() + "|";
}

TEST(TextStream, NeverSplitsACharacter) {
  EXPECT_EQ(stream({'x', 0xC3, 0xA9, 'y'}, {}), "x||é|y||");
  EXPECT_EQ(stream({0xF0, 0x9F, 0xA6, 0x99}, {}), "|||🦙||");
  EXPECT_EQ(stream({'x', 0xF0, 0x9F}, {}), "x|||\uFFFD|");
  EXPECT_EQ(stream({0xF0, 'a'}, {}), "|\uFFFDa||");
  EXPECT_EQ(stream({'a', 257, 'b'}, {}), "a||b||");
}

TEST(TextStream, HoldsBackWhatMayBecomeAStopString) {
  bool stopped;
  EXPECT_EQ(stream({'x', 'S', 'T', 'a', 'S'}, {"STOP"}, &stopped), "x|||STa||S|");
  EXPECT_FALSE(stopped);
  EXPECT_EQ(stream({'x', 'S', 'T', 'O', 'P', 'y'}, {"STOP"}, &stopped), "x||||||"
                                                                        "|");
  EXPECT_TRUE(stopped);
  EXPECT_EQ(stream({'a', 'a', 'b', 'c'}, {"aab", "c"}, &stopped), "|||||");
  EXPECT_TRUE(stopped);
  EXPECT_EQ(stream({'a', 'a', 'a', 'b'}, {"aab"}, &stopped), "||a|||");
  EXPECT_TRUE(stopped);
}

TEST(TextStream, StopsInsideATokenAndAcrossTokens) {
  bool stopped;
  EXPECT_EQ(stream({'x', 256, 'y'}, {"b"}, &stopped), "x|a|||");
  EXPECT_TRUE(stopped);
  EXPECT_EQ(stream({0xC3, 0xA9}, {"é"}, &stopped), "|||");
  EXPECT_TRUE(stopped);
  // The earliest of several stops wins, whatever their order.
  EXPECT_EQ(stream({'x', 'y', 256}, {"ab", "y"}, &stopped), "x||||");
}

TEST(TextStream, RefusesBadStopsAndIds) {
  auto tokenizer = byteTokenizer();
  EXPECT_EQ(TextStream::create(*tokenizer, {""}).error().message, "a stop string is empty");
  EXPECT_EQ(TextStream::create(*tokenizer, {"a\xFF"}).error().message,
            "the stop string 'a\\xff' is not valid UTF-8 at byte 1");
  auto text = TextStream::create(*tokenizer, {});
  EXPECT_EQ(text->feed(258).error().message, "id 258 has no token; the vocabulary ends at 257");
  EXPECT_EQ(text->feed(-1).error().message, "id -1 has no token; the vocabulary ends at 257");
}
