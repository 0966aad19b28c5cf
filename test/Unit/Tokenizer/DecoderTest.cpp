#include "lib/Tokenizer/Decoder.h"
#include "lib/Tokenizer/CleanUp.h"
#include "test/Unit/Tokenizer/Samples.h"

using namespace rapt;
using namespace rapt::test;
using Tokens = std::vector<std::string>;

static Expected<Decoder> decoderOf(const std::string &json) { return readDecoder(*json::parse(json), "decoder"); }

static std::string decode(const std::string &json, const Tokens &tokens) {
  auto decoder = decoderOf(json);
  EXPECT_TRUE(decoder) << (decoder ? "" : decoder.error().message);
  if (!decoder)
    return "";
  Decoding decoding(*decoder);
  std::string text;
  for (const std::string &token : tokens)
    decoding.push(token, false, text);
  decoding.finish(text);
  return text;
}

static const std::string kSentence =
    R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";

TEST(Decoder, KnowsTheKinds) {
  EXPECT_EQ(decode("null", {"a", "b"}), "a b");
  EXPECT_EQ(decode(R"({"type": "ByteLevel"})", {"Ġa", "Ã", "©"}), " aé");
  EXPECT_EQ(decode(R"({"type": "Fuse"})", {"a", "b"}), "ab");
  EXPECT_EQ(decode(kSentence, {"▁", "▁a", "▁b"}), " a b");
  EXPECT_EQ(decode(kSentence, {"▁a", "<0xC3>", "<0xA9>", "b"}), "aéb");
  EXPECT_EQ(decode(R"({"type": "Metaspace"})", {"▁a", "▁b"}), "a b");
  EXPECT_EQ(decode(R"({"type": "WordPiece"})", {"##un", "##able", "is", "n't", "it", "?", "##"}), "##unable isn't it?");
  EXPECT_EQ(decode(R"({"type": "WordPiece", "cleanup": false})", {"a", ",", "##b"}), "a ,b");
  EXPECT_EQ(decode(R"({"type": "WordPiece", "prefix": "@"})", {"a", "@b", "##c"}), "ab ##c");
  EXPECT_EQ(decode(R"({"type": "Metaspace", "prepend_scheme": "never"})", {"▁a", "▁b"}), " a b");
  EXPECT_EQ(decode(R"({"type": "Strip", "content": "_", "start": 1, "stop": 1})", {"__a__", "_"}), "_a_");
}

// Strip behind Fuse concerns the ends of the whole text only.
TEST(Decoder, StripsTheEndsOfFusedText) {
  const std::string strip =
      R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": "_", "start": 2, "stop": 2}]})";
  EXPECT_EQ(decode(strip, {"_", "__a_", "b__", "_c", "_", "__"}), "_a_b___c_");
  EXPECT_EQ(decode(strip, {"_", "_"}), "");
  EXPECT_EQ(decode(strip, {"a"}), "a");
}

/// Rule by rule over the whole text, as clean_up_tokenization of transformers 5; from Python's str.replace.
TEST(Decoder, CleansTheWholeTextUp) {
  static constexpr const char *texts[][2] = {
      {"it ' s fine .", "it's fine."},
      {"a , b ! c ? d .", "a, b! c? d."},
      {"do n't , I 'm we 've they 're she 's", "don't, I'm we've they're she's"},
      {"I do not know", "I do not know"}, // " do not" is the token decoder's alone
      {"  . .. ' ' '", " ...'' '"},
      {"x  ' m y", "x'm y"},
      {" . ' n't", ".'n't"},
      {"end ", "end "},
      {"an n' n't ' ", "an n'n't'"},
      {" '", " '"},
      {"", ""},
  };
  for (const auto &[text, expected] : texts)
    for (size_t length : {1, 2, 3, 100}) {
      auto decoder = decoderOf(R"({"type": "Fuse"})");
      addCleanUp(*decoder);
      Decoding decoding(*decoder);
      std::string written;
      for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(std::min(length, rest.size())))
        decoding.push(rest.substr(0, length), false, written);
      decoding.finish(written);
      EXPECT_EQ(written, expected) << text << ", parts of " << length;
    }
}

TEST(Decoder, ShowsBrokenBytesAsReplacementCharacters) {
  EXPECT_EQ(decode(R"({"type": "ByteLevel"})", {"Ã", "a"}), "\uFFFDa");
  EXPECT_EQ(decode(R"({"type": "ByteLevel"})", {"a", "ð", "Ł"}), "a\uFFFD");
  EXPECT_EQ(decode(kSentence, {"a", "<0xFF>", "<0xFE>", "b"}), "a\uFFFD\uFFFDb");
  EXPECT_EQ(decode(kSentence, {"<0xF0>", "<0x9F>"}), "\uFFFD\uFFFD");
}

TEST(Decoder, HoldsBackAtMostThreeBytes) {
  auto decoder = decoderOf(R"({"type": "ByteLevel"})");
  Decoding decoding(*decoder);
  std::string text;
  for (const char *byte : {"ð", "Ł", "¦"}) { // F0 9F A6 of a llama
    decoding.push(byte, false, text);
    EXPECT_EQ(text, "");
  }
  decoding.push("Ļ", false, text);
  EXPECT_EQ(text, "🦙");
}

TEST(Decoder, AddedTokensThatSpellNoTextAreMeantAsWritten) {
  auto decoder = decoderOf(R"({"type": "ByteLevel"})");
  Decoding decoding(*decoder);
  std::string text;
  decoding.push("né", true, text);
  decoding.push("Ã", false, text);
  decoding.push("<s>", true, text);
  decoding.push("ĠÃ©", true, text);
  decoding.finish(text);
  EXPECT_EQ(text, "né\uFFFD<s> é"); // but for characters that spell the bytes of a text
}

TEST(Decoder, TellsTheBytesOfTokens) {
  EXPECT_EQ(decoderOf(R"({"type": "ByteLevel"})")->bytesOf("Ġð"), " \xF0");
  EXPECT_EQ(decoderOf(kSentence)->bytesOf("▁a"), " a");
  EXPECT_EQ(decoderOf(kSentence)->bytesOf("<0xF0>"), "\xF0");
}

// No file makes a short text fill the memory.
TEST(Decoder, BoundsWhatReplacementsMake) {
  auto replace = [](const std::string &pattern, size_t times) {
    return R"({"type": "Replace", "pattern": {)" + pattern + R"(}, "content": ")" + std::string(times, 'a') + "\"}";
  };
  auto sequence = [](const std::string &parts) { return R"({"type": "Sequence", "decoders": [)" + parts + "]}"; };
  EXPECT_EQ(decode(sequence(replace(R"("String": "a")", 16) + ", " + replace(R"("String": "aa")", 8)), {"a"}),
            std::string(64, 'a'));
  auto error = [](const std::string &json) {
    auto decoder = decoderOf(json);
    return decoder ? std::string() : decoder.error().message;
  };
  EXPECT_EQ(error(sequence(replace(R"("String": "a")", 16) + ", " + replace(R"("String": "aa")", 9))),
            "decoder.decoders[1]: the replacements up to here can make a text 80 times as long; the limit is 64");
  EXPECT_EQ(error(replace(R"("Regex": "b*")", 64)),
            "decoder: the replacements up to here can make a text 65 times as long; the limit is 64");
  EXPECT_EQ(error(replace(R"("Regex": "b*")", 63)), "");
}

TEST(Decoder, RefusesWhatItCannotStream) {
  auto late = decoderOf(
      R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "ab"}, "content": ""}]})");
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("decoder.decoders[1]: a Replace of more than one character after a Fuse"),
            std::string::npos);
  EXPECT_NE(decoderOf(R"({"type": "CTC"})").error().message.find("the decoder 'CTC' is not supported"),
            std::string::npos);
}
