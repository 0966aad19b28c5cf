#include "lib/Tokenizer/Regex.h"
#include "lib/Tokenizer/CharacterClass.h"
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/WordScanner.h"
#include <chrono>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace rapt;
using Matches = std::vector<std::pair<size_t, size_t>>;

static Matches matchesOf(const Regex &regex, std::string_view text) {
  Matches matches;
  Status status = regex.forEachMatch(text, [&](size_t begin, size_t end) {
    matches.push_back({begin, end});
    return Status();
  });
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
  return matches;
}

static Matches scannedWords(std::string_view text) {
  Matches matches;
  EXPECT_TRUE(scanWords(text, [&](size_t begin, size_t end) {
    matches.push_back({begin, end});
    return Status();
  }));
  return matches;
}

TEST(Regex, FindsMatchesLeftToRight) {
  EXPECT_EQ(matchesOf(*Regex::compile("[0-9][0-9]"), "a123456b7"), (Matches{{1, 3}, {3, 5}, {5, 7}}));
  EXPECT_EQ(matchesOf(*Regex::compile("x*"), "axxb"), (Matches{{0, 0}, {1, 3}, {4, 4}}));
  EXPECT_EQ(matchesOf(*Regex::compile("(a)(b)(c)"), "abcabc"), (Matches{{0, 3}, {3, 6}}));
  EXPECT_EQ(matchesOf(*Regex::compile("é"), "aéé"), (Matches{{1, 3}, {3, 5}}));
  EXPECT_EQ(matchesOf(*Regex::compile("."), ""), Matches());
}

TEST(Regex, RefusesBadPatterns) {
  auto broken = Regex::compile("(ab");
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find("'(ab' is refused: end pattern with unmatched parenthesis"), std::string::npos)
      << broken.error().message;
  auto large = Regex::compile(std::string(70'000, 'a'));
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().message.find("70000 bytes; the limit is 65536"), std::string::npos);
  std::string groups;
  for (int index = 0; index < 40; ++index)
    groups += "(a)";
  EXPECT_NE(Regex::compile(groups).error().message.find("has 40 capturing groups; the limit is 31"), std::string::npos);
  EXPECT_FALSE(Regex::compile(std::string(20'000, '(') + std::string(20'000, ')')));
}

// Fault 38: a pathological pattern is an error, soon, and never a hang.
TEST(Regex, GivesUpOnPathologicalPatterns) {
  auto start = std::chrono::steady_clock::now();
  for (const char *pattern : {"(a+)+$", "^(a|a)*$", "^(a?)*(a|aa)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x+x+)+y"}) {
    Regex regex = *Regex::compile(pattern);
    std::string text(40, pattern[1] == 'x' ? 'x' : 'a');
    Status status = regex.forEachMatch(text + "!", [](size_t, size_t) { return Status(); });
    ASSERT_FALSE(status) << pattern;
    EXPECT_NE(status.error().message.find("gave up at byte 0 of 41"), std::string::npos) << status.error().message;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

// The limits leave long ordinary text alone: walking over it is not going back.
TEST(Regex, WalksOverLongTextWithoutMatches) {
  std::string text(size_t(12) << 20, 'a');
  EXPECT_EQ(matchesOf(*Regex::compile("[\\p{P}$+]+"), text + "!"), (Matches{{text.size(), text.size() + 1}}));
  EXPECT_EQ(matchesOf(*Regex::compile("\\p{L}{1,3}"), text).size(), text.size() / 3);
}

TEST(WordScanner, ClassesEqualOnigurumasForEveryCharacter) {
  Regex letter = *Regex::compile("\\p{L}"), number = *Regex::compile("\\p{N}"), space = *Regex::compile("\\s");
  std::string text;
  for (char32_t character = 0; character < 0x110000; ++character)
    if (character < 0xD800 || character >= 0xE000)
      unicode::append(text, character);
  std::vector<CharacterClass> expected(text.size(), CharacterClass::Other);
  for (auto [begin, end] : matchesOf(letter, text))
    expected[begin] = CharacterClass::Letter;
  for (auto [begin, end] : matchesOf(number, text))
    expected[begin] = CharacterClass::Number;
  for (auto [begin, end] : matchesOf(space, text))
    expected[begin] = CharacterClass::Space;
  for (size_t offset = 0; offset < text.size(); offset += unicode::lengthOf(static_cast<unsigned char>(text[offset])))
    ASSERT_EQ(classOf(text, offset), expected[offset]) << "U+" << std::hex << uint32_t(unicode::decode(text, offset));
}

TEST(WordScanner, EqualsOnigurumaOnRandomText) {
  Regex regex = *Regex::compile(wordPattern);
  const char32_t alphabet[] = {'a',  's', 't', 'l',  'r',   'e',   '\'', '\'',   ' ',    ' ',     ' ',  '\n', '\t', '1',
                               U'½', '!', '-', U'é', U'日', 0x301, 0xA0, 0x3000, 0x180E, 0x1F999, U'Ж', 0x85, 0};
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (unsigned length = random() % 24; length > 0; --length)
      unicode::append(text, alphabet[random() % std::size(alphabet)]);
    ASSERT_EQ(scannedWords(text), matchesOf(regex, text)) << text;
  }
}
