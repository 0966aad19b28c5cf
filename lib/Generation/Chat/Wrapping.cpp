//===- Wrapping.cpp --------------------------------------------------------===//
#include "lib/Generation/Chat/Wrapping.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Tokenizer/UnicodeCases.h"
#include <algorithm>

namespace rapt::chat {
namespace {

bool isBlank(char32_t c) { return (c >= 9 && c <= 13) || c == ' '; }
bool isWord(char32_t c) { return c == '_' || unicode::isLetter(c) || unicode::isDigit(c) || unicode::isNumeral(c); }
bool isLetter(char32_t c) { return isWord(c) && !unicode::isDecimal(c); }
bool endsWord(char32_t c) { return isWord(c) || std::u32string_view(U"!\"'&.,?").find(c) != std::u32string_view::npos; }

/// Cuts a line into blanks, dashes between words, and words, these also behind a hyphen within them.
class Chunks {
public:
  Chunks(const Text &line, bool atHyphens);
  std::vector<Text> run();

private:
  char32_t at(size_t place) const { return place < text.size() ? text[place] : 0; }
  char32_t before(size_t place, size_t count) const { return place >= count ? text[place - count] : 0; }
  bool dashBegins(size_t place) const;
  bool hyphenEnds(size_t place) const;
  size_t endOf(size_t begin) const;

  const Text &line;
  Text text; // without marks
  bool atHyphens;
  std::vector<size_t> dashEnd; // where the dashes that stand here end
};

Chunks::Chunks(const Text &line, bool atHyphens) : line(line), atHyphens(atHyphens), dashEnd(line.size() + 1) {
  std::transform(line.begin(), line.end(), std::back_inserter(text), pointOf);
  dashEnd[text.size()] = text.size();
  for (size_t i = text.size(); i-- > 0;)
    dashEnd[i] = text[i] == '-' ? std::max(dashEnd[i + 1], i + 1) : i;
}

/// Two dashes or more between words.
bool Chunks::dashBegins(size_t place) const {
  return dashEnd[place] >= place + 2 && isWord(at(dashEnd[place])) && place > 0 && endsWord(text[place - 1]);
}

/// A hyphen between two letters before it, and two behind it.
bool Chunks::hyphenEnds(size_t place) const {
  if (at(place) != '-' || !isLetter(before(place, 1)))
    return false;
  bool behindLetters = isLetter(before(place, 2)) || (before(place, 2) == '-' && isLetter(before(place, 3)));
  return behindLetters && isLetter(at(place + 1)) &&
         (isLetter(at(place + 2)) || (at(place + 2) == '-' && isLetter(at(place + 3))));
}

size_t Chunks::endOf(size_t begin) const {
  size_t end = begin + 1;
  if (isBlank(text[begin])) {
    while (end < text.size() && isBlank(text[end]))
      ++end;
    return end;
  }
  if (atHyphens && dashBegins(begin))
    return dashEnd[begin];
  for (; end < text.size() && !isBlank(text[end]); ++end) {
    if (atHyphens && hyphenEnds(end))
      return end + 1;
    if (atHyphens && dashBegins(end))
      return end;
  }
  return end;
}

std::vector<Text> Chunks::run() {
  std::vector<Text> chunks;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = endOf(begin);
    chunks.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return chunks;
}

bool isBlankText(const Text &text) { return std::all_of(text.begin(), text.end(), isSpace); }

/// How much of a word that is too long goes into what is left of a line.
size_t frontOf(const Text &word, size_t left, bool atHyphens) {
  if (!atHyphens || word.size() <= left)
    return left;
  size_t hyphen = findLast(word, U"-", 0, left);
  bool isInside =
      hyphen != Text::npos && hyphen > 0 &&
      std::any_of(word.begin(), word.begin() + ptrdiff_t(hyphen), [](char32_t c) { return pointOf(c) != '-'; });
  return isInside ? hyphen + 1 : left;
}

} // namespace

std::vector<Text> wrapped(const Text &line, size_t width, bool breaksLongWords, bool breaksAtHyphens) {
  std::vector<Text> chunks = Chunks(line, breaksAtHyphens).run(), lines;
  std::reverse(chunks.begin(), chunks.end());
  while (!chunks.empty()) {
    std::vector<Text> current;
    size_t length = 0;
    if (!lines.empty() && isBlankText(chunks.back()))
      chunks.pop_back();
    for (; !chunks.empty() && length + chunks.back().size() <= width; chunks.pop_back()) {
      length += chunks.back().size();
      current.push_back(chunks.back());
    }
    if (!chunks.empty() && chunks.back().size() > width) {
      if (breaksLongWords) {
        size_t front = frontOf(chunks.back(), width - length, breaksAtHyphens);
        current.push_back(chunks.back().substr(0, front));
        chunks.back().erase(0, front);
      } else if (current.empty()) {
        current.push_back(chunks.back());
        chunks.pop_back();
      }
    }
    if (!current.empty() && isBlankText(current.back()))
      current.pop_back();
    Text whole;
    for (const Text &part : current)
      whole += part;
    if (!current.empty())
      lines.push_back(std::move(whole));
  }
  return lines;
}

} // namespace rapt::chat
