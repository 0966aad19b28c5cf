//===- CharacterMethods.cpp - Methods of str that find and tell -------------===//
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/UnicodeCases.h"
#include <algorithm>

namespace rapt::chat {

namespace {

/// Where a search begins and ends, as the limits of a slice.
struct Stretch {
  size_t begin, end;
  bool isNone; ///< The beginning is behind the end.
};

Stretch stretchOf(Call &call) {
  int64_t length = int64_t(call.self.text().size());
  auto limit = [&](size_t parameter, int64_t otherwise) {
    int64_t position = call.isNone(parameter) ? otherwise : call.integer(parameter, otherwise);
    return position < 0 ? std::max<int64_t>(std::max(position, -length) + length, 0) : position;
  };
  int64_t begin = limit(1, 0), end = std::min(limit(2, length), length);
  return {size_t(std::min(begin, length)), size_t(end), begin > end};
}

} // namespace

template <bool fromEnd, bool mustFind> static Value findPart(Call &call) {
  const Text *part = call.text(0);
  Stretch stretch = stretchOf(call);
  if (call.run.failed() || !call.run.spendText(call.self.text().size()))
    return {};
  size_t found = stretch.isNone ? Text::npos
                 : fromEnd      ? findLast(call.self.text(), *part, stretch.begin, stretch.end)
                                : findText(call.self.text(), *part, stretch.begin, stretch.end);
  if (found == Text::npos)
    return mustFind ? call.fail("does not find the string") : Value::of(int64_t(-1));
  return Value::of(int64_t(found));
}

static Value count(Call &call) {
  const Text *part = call.text(0);
  Stretch stretch = stretchOf(call);
  if (call.run.failed() || !call.run.spendText(call.self.text().size()))
    return {};
  if (stretch.isNone || part->empty())
    return Value::of(stretch.isNone ? int64_t(0) : int64_t(stretch.end - stretch.begin + 1));
  int64_t times = 0;
  for (size_t at = stretch.begin; (at = findText(call.self.text(), *part, at, stretch.end)) != Text::npos;) {
    if (!call.run.spendText(part->size()))
      return {};
    ++times;
    at += part->size();
  }
  return Value::of(times);
}

template <bool front> static Value hasAffix(Call &call) {
  Stretch stretch = stretchOf(call);
  const List choices = call[0].is(Kind::Tuple) ? call[0].list() : List{call[0]};
  bool any = false;
  for (const Value &choice : choices) {
    if (!choice.is(Kind::String))
      return call.fail("takes a string or a tuple of strings");
    const Text &affix = choice.text();
    bool fits = !stretch.isNone && affix.size() <= stretch.end - stretch.begin && call.run.spendText(affix.size());
    any |= fits && standsAt(call.self.text(), front ? stretch.begin : stretch.end - affix.size(), affix);
  }
  return Value::of(any);
}

/// Whether all characters of a text that is not empty are such.
template <bool (*isSuch)(char32_t)> static Value areAll(Call &call) {
  const Text &text = call.self.text();
  if (!call.run.spendText(text.size()))
    return {};
  return Value::of(!text.empty() &&
                   std::all_of(text.begin(), text.end(), [](char32_t marked) { return isSuch(pointOf(marked)); }));
}

static bool isAlphanumeric(char32_t c) {
  return unicode::isLetter(c) || unicode::isDecimal(c) || unicode::isDigit(c) || unicode::isNumeral(c);
}
static bool isBlank(char32_t c) { return isSpace(c); }

static Value isAscii(Call &call) {
  const Text &text = call.self.text();
  return Value::of(std::all_of(text.begin(), text.end(), [](char32_t c) { return pointOf(c) < 0x80; }));
}

static Value isPrintable(Call &call) {
  const Text &text = call.self.text();
  return Value::of(std::all_of(text.begin(), text.end(), [](char32_t c) { return unicode::isPrintable(pointOf(c)); }));
}

static Value isIdentifier(Call &call) {
  const Text &text = call.self.text();
  return Value::of(
      !text.empty() && unicode::isIdentifierStart(pointOf(text[0])) &&
      std::all_of(text.begin(), text.end(), [](char32_t c) { return unicode::isIdentifierPart(pointOf(c)); }));
}

/// Whether there are letters with a case, and all are lower, or upper.
bool isOfCase(const Text &text, bool lower) {
  bool any = false;
  for (char32_t marked : text) {
    char32_t c = pointOf(marked);
    bool isLower = unicode::isLower(c), isUpper = unicode::isUpper(c) || unicode::isTitle(c);
    if ((lower ? isUpper : isLower) || unicode::isTitle(c))
      return false;
    any |= isLower || isUpper;
  }
  return any;
}

template <bool lower> static Value isCase(Call &call) {
  return call.run.spendText(call.self.text().size()) ? Value::of(isOfCase(call.self.text(), lower)) : Value();
}

/// Whether capitals begin words, and stand nowhere else.
static Value isTitle(Call &call) {
  bool any = false, inWord = false;
  for (char32_t marked : call.self.text()) {
    char32_t c = pointOf(marked);
    bool isLower = unicode::isLower(c), isUpper = unicode::isUpper(c) || unicode::isTitle(c);
    if ((isUpper && inWord) || (isLower && !inWord))
      return Value::of(false);
    inWord = isLower || isUpper;
    any |= inWord;
  }
  return Value::of(any);
}

Table characterMethods() {
  static constexpr Routine all[] = {
      {"count", "/sub /start? /end?", count},
      {"endswith", "/suffix /start? /end?", hasAffix<false>},
      {"find", "/sub /start? /end?", findPart<false, false>},
      {"index", "/sub /start? /end?", findPart<false, true>},
      {"isalnum", "", areAll<isAlphanumeric>},
      {"isalpha", "", areAll<unicode::isLetter>},
      {"isascii", "", isAscii},
      {"isdecimal", "", areAll<unicode::isDecimal>},
      {"isdigit", "", areAll<unicode::isDigit>},
      {"isidentifier", "", isIdentifier},
      {"islower", "", isCase<true>},
      {"isnumeric", "", areAll<unicode::isNumeral>},
      {"isprintable", "", isPrintable},
      {"isspace", "", areAll<isBlank>},
      {"istitle", "", isTitle},
      {"isupper", "", isCase<false>},
      {"rfind", "/sub /start? /end?", findPart<true, false>},
      {"rindex", "/sub /start? /end?", findPart<true, true>},
      {"startswith", "/prefix /start? /end?", hasAffix<true>},
  };
  return all;
}

} // namespace rapt::chat
