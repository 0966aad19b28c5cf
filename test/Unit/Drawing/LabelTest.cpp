#include "lib/Drawing/Label.h"
#include <gtest/gtest.h>

using namespace rapt::drawing;

TEST(Label, NothingIsInvisible) {
  EXPECT_EQ(label("word"), "word");
  EXPECT_EQ(label(" a\tb\n"), "\u2423a\u21E5b\u21B5");
  EXPECT_EQ(label("a\u00A0\u3000b\u2009"), "a\\u00a0\\u3000b\\u2009");
  EXPECT_EQ(label("\r\x01\x7F"), "\\x0d\\x01\\x7f");
  EXPECT_EQ(label("\u200B\uFEFF"), "\\xe2\\x80\\x8b\\xef\\xbb\\xbf");
  EXPECT_EQ(label("\u2581caf\u00E9 \U0001F600"), "\u2581caf\u00E9\u2423\U0001F600");
  EXPECT_EQ(label(""), "");
}

TEST(Label, BytesThatAreNoTextAreShown) { EXPECT_EQ(label("a\xC3\xFF\x80z"), "a\\xc3\\xff\\x80z"); }

TEST(Label, LongTextEndsInAnEllipsis) {
  const std::string fits(mostCharacters, 'x');
  EXPECT_EQ(label(fits), fits);
  EXPECT_EQ(label(fits + "y"), fits.substr(1) + "\u2026");
  std::string letters;
  for (size_t i = 0; i <= mostCharacters; ++i)
    letters += "\u00E9";
  EXPECT_EQ(countCharacters(label(letters)), mostCharacters);
  EXPECT_EQ(label(letters), letters.substr(0, 2 * (mostCharacters - 1)) + "\u2026");
  EXPECT_EQ(countCharacters(label(std::string(1 << 20, '\0'))), mostCharacters);
}

TEST(Label, CharactersAreTakenOneByOne) {
  std::string_view text = "a\u00E9\u2026\U0001F600";
  for (char32_t wanted : {U'a', U'\u00E9', U'\u2026', U'\U0001F600'})
    EXPECT_EQ(takeCharacter(text), wanted);
  EXPECT_TRUE(text.empty());
}
