#include "lib/Tokenizer/Unicode.h"
#include <gtest/gtest.h>

using namespace rapt;

TEST(Unicode, FindsTheFirstInvalidByte) {
  EXPECT_EQ(unicode::findInvalid(""), std::nullopt);
  EXPECT_EQ(unicode::findInvalid("aé日🦙\U0010FFFF\uD7FF\uE000"), std::nullopt);
  EXPECT_EQ(unicode::findInvalid("ab\x80"), 2u);           // a continuation alone
  EXPECT_EQ(unicode::findInvalid("a\xC0\x80"), 1u);        // overlong
  EXPECT_EQ(unicode::findInvalid("\xE0\x9F\xBF"), 0u);     // overlong
  EXPECT_EQ(unicode::findInvalid("abc\xED\xA0\x80"), 3u);  // a surrogate
  EXPECT_EQ(unicode::findInvalid("\xF4\x90\x80\x80"), 0u); // above U+10FFFF
  EXPECT_EQ(unicode::findInvalid("é\xF0\x9F\xA6"), 2u);    // cut off
  EXPECT_EQ(unicode::findInvalid(std::string("\0\xFF", 2)), 1u);
}

TEST(Unicode, DecodesWhatItAppends) {
  for (char32_t character = 0; character < 0x110000; ++character) {
    if (character >= 0xD800 && character < 0xE000)
      continue;
    std::string text;
    unicode::append(text, character);
    ASSERT_EQ(unicode::lengthOf(static_cast<unsigned char>(text[0])), text.size());
    ASSERT_EQ(unicode::decode(text, 0), character);
    ASSERT_EQ(unicode::previous("x" + text, 1 + text.size()), 1u);
    ASSERT_EQ(unicode::findInvalid(text), std::nullopt);
  }
}

TEST(Unicode, NormalizesInPiecesAsInOneGo) {
  auto normal = [](std::string_view text, unicode::Form form) { return *unicode::normalize(text, form); };
  EXPECT_EQ(normal("e\u0301", unicode::Form::NFC), "\u00e9");
  EXPECT_EQ(normal("plain e\u0301e\u0301 plain", unicode::Form::NFC), "plain \u00e9\u00e9 plain");
  EXPECT_EQ(normal("\u00e9x", unicode::Form::NFD), "e\u0301x");
  EXPECT_EQ(normal("\u1100\u1161\u11a8", unicode::Form::NFC), "\uac01"); // Hangul
  EXPECT_EQ(normal("a\u0323\u0307", unicode::Form::NFC), "\u1ea1\u0307");
  EXPECT_EQ(normal("a\u0307\u0323", unicode::Form::NFC), "\u1ea1\u0307"); // marks are put in order
  EXPECT_EQ(normal("x\ufb01\u2460", unicode::Form::NFKC), "xfi1");
  EXPECT_EQ(normal("\ufb01", unicode::Form::NFC), "\ufb01");
  EXPECT_EQ(normal("", unicode::Form::NFKD), "");
}

TEST(Unicode, KnowsTheClassesOfHuggingFace) {
  EXPECT_TRUE(unicode::isPunctuation('$') && unicode::isPunctuation(U'¿') && !unicode::isPunctuation(U'€'));
  EXPECT_TRUE(unicode::isNumeric(U'½') && unicode::isNumeric(U'Ⅷ') && unicode::isNumeric(U'٣') &&
              !unicode::isNumeric('a'));
  EXPECT_TRUE(unicode::isWord(U'é') && unicode::isWord('_') && unicode::isWord(0x301) && !unicode::isWord('-'));
  EXPECT_TRUE(unicode::isWhitespace(0x3000) && unicode::isWhitespace(0x85) && !unicode::isWhitespace(0x180E));
  EXPECT_EQ(unicode::toLower("ÀÉ İ Я"), "àé i\u0307 я");
}
