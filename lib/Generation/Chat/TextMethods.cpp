//===- TextMethods.cpp - Methods of str that make other strings -------------===//
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/FormatSpecification.h"
#include "lib/Generation/Chat/Formatting.h"
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Operators.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>

namespace rapt::chat {

static const Text &textOf(const Call &call) { return call.self.text(); }

template <Case how> static Value changeCase(Call &call) {
  return call.run.spendText(4 * textOf(call).size()) ? call.run.string(inCase(textOf(call), how)) : Value();
}

template <bool left, bool right> static Value strip(Call &call) {
  const Text *characters = call.isNone(0) ? nullptr : call.text(0);
  if (call.run.failed() || !call.run.spendText(textOf(call).size() + (characters ? characters->size() : 0)))
    return {};
  return call.run.string(trimmed(textOf(call), characters, left, right));
}

static Value replace(Call &call) {
  const Text &text = textOf(call);
  const Text *from = call.text(0), *to = call.text(1);
  int64_t most = call.integer(2, -1);
  if (call.run.failed())
    return {};
  Text result;
  size_t at = 0;
  for (; most != 0; --most) {
    size_t found = findText(text, *from, at);
    if (found == Text::npos || !call.run.spendText(found - at + to->size()) || !call.run.hasRoomFor(result.size()))
      break;
    result.append(text, at, found - at).append(*to);
    at = found + from->size();
    if (from->empty()) { // between all characters
      if (at >= text.size())
        break;
      result += text[at++];
    }
  }
  if (at < text.size())
    result.append(text, at);
  return call.run.string(std::move(result));
}

/// 'l', 'r' or 'c': where the text stands in a width.
template <char place> static Value justify(Call &call) {
  const Text &text = textOf(call);
  int64_t width = call.integer(0, 0);
  const Text blank = U" ", *fill = call.has(1) ? call.text(1) : &blank;
  if (call.run.failed() || fill->size() != 1)
    return call.fail("fills with one character");
  if (width <= int64_t(text.size()))
    return call.run.string(text);
  if (!call.run.hasRoomFor(size_t(width)))
    return {};
  size_t padding = size_t(width) - text.size();
  size_t left = place == 'l' ? 0 : place == 'r' ? padding : padding / 2 + (padding & size_t(width) & 1);
  return call.run.string(Text(left, (*fill)[0]) + text + Text(padding - left, (*fill)[0]));
}

static Value zfill(Call &call) {
  const Text &text = textOf(call);
  int64_t width = call.integer(0, 0);
  if (width <= int64_t(text.size()))
    return call.run.string(text);
  if (!call.run.hasRoomFor(size_t(width)))
    return {};
  bool hasSign = !text.empty() && (pointOf(text[0]) == '+' || pointOf(text[0]) == '-');
  return call.run.string(text.substr(0, hasSign) + Text(size_t(width) - text.size(), U'0') + text.substr(hasSign));
}

static Value expandTabs(Call &call) {
  int64_t size = call.integer(0, 8);
  Text result;
  int64_t column = 0;
  for (char32_t marked : textOf(call)) {
    char32_t c = pointOf(marked);
    if (c == '\t') {
      size_t blanks = size > 0 ? size_t(size - column % size) : 0;
      if (!call.run.hasRoomFor(result.size() + blanks))
        return {};
      result.append(blanks, U' ');
      column += int64_t(blanks);
    } else {
      result += marked;
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return call.run.string(std::move(result));
}

template <bool front> static Value removeAffix(Call &call) {
  const Text &text = textOf(call), *affix = call.text(0);
  if (!affix || !call.run.spendText(affix->size()))
    return {};
  bool stands = affix->size() <= text.size() && standsAt(text, front ? 0 : text.size() - affix->size(), *affix);
  size_t drops = stands ? affix->size() : 0;
  return call.run.string(text.substr(front ? drops : 0, text.size() - drops));
}

static Value listOf(Run &run, const std::vector<Text> &parts, bool isTuple = false) {
  List list;
  for (const Text &part : parts)
    if (!run.spendText(part.size()))
      return {};
    else
      list.push_back(Value::of(part));
  return run.list(std::move(list), isTuple);
}

template <bool fromEnd> static Value splitText(Call &call) {
  const Text *separator = call.isNone(0) ? nullptr : call.text(0);
  int64_t most = call.integer(1, -1);
  if (call.run.failed() || !call.run.spendText(textOf(call).size()))
    return {};
  if (separator && separator->empty())
    return call.fail("has an empty separator");
  return listOf(call.run, fromEnd ? splitBack(textOf(call), separator, most) : split(textOf(call), separator, most));
}

static Value splitLines(Call &call) { return listOf(call.run, linesOf(textOf(call), call.integer(0, 0) != 0)); }

template <bool fromEnd> static Value partition(Call &call) {
  const Text &text = textOf(call), *separator = call.text(0);
  if (!separator || separator->empty())
    return call.fail("has an empty separator");
  size_t found = fromEnd ? findLast(text, *separator) : findText(text, *separator);
  if (found == Text::npos)
    return listOf(call.run, fromEnd ? std::vector<Text>{{}, {}, text} : std::vector<Text>{text, {}, {}}, true);
  return listOf(call.run, {text.substr(0, found), *separator, text.substr(found + separator->size())}, true);
}

static Value join(Call &call) {
  std::optional<List> items = itemsOf(call.run, call[0]);
  Text text;
  for (size_t i = 0; items && i < items->size(); ++i) {
    const Value &item = (*items)[i];
    if (!item.is(Kind::String) && !call.self.isMarkup())
      return call.fail("takes strings, not " + std::string(typeName(item)));
    if (i > 0)
      text += textOf(call);
    text += call.self.isMarkup() ? besideMarkup(call.run, item) : item.text();
    if (!call.run.hasRoomFor(text.size()))
      return {};
  }
  return items ? call.run.string(std::move(text)) : Value();
}

static Value format(Call &call) {
  Dict named;
  for (const auto &[name, value] : call.given.named)
    named.set(call.run, Value::of(name), value);
  return formatBraces(call.run, call.self, call.given.values, Value::of(std::move(named)));
}

static Value formatMap(Call &call) { return formatBraces(call.run, call.self, {}, call[0]); }

static Value translate(Call &call) {
  const Dict *table = membersOf(call.run, call[0], "translate");
  Text result;
  for (char32_t marked : textOf(call)) {
    const Value *found = table && call.run.hasRoomFor(result.size())
                             ? table->find(call.run, Value::of(int64_t(pointOf(marked))))
                             : nullptr;
    if (!found)
      result += marked;
    else if (found->is(Kind::String))
      result += found->text();
    else if (found->isWhole() && found->isSmall() && found->integer() >= 0 && found->integer() < 0x110000)
      result += char32_t(found->integer());
    else if (!found->is(Kind::None))
      return call.fail("maps to " + std::string(typeName(*found)));
  }
  return call.run.string(std::move(result));
}

static Value makeTrans(Call &call) {
  Dict table;
  auto point = [](char32_t c) { return Value::of(int64_t(pointOf(c))); };
  if (!call.has(1)) {
    const Dict *given = membersOf(call.run, call[0], "maketrans");
    for (const auto &[key, value] : given ? *given : Dict()) {
      if (key.is(Kind::String) && key.text().size() != 1)
        return call.fail("takes single characters for keys");
      table.set(call.run, key.is(Kind::String) ? point(key.text()[0]) : key, value);
    }
    return call.run.dict(std::move(table));
  }
  const Text *from = call.text(0), *to = call.text(1), *without = call.has(2) ? call.text(2) : nullptr;
  if (call.run.failed() || from->size() != to->size())
    return call.fail("takes two strings of one length");
  for (size_t i = 0; i < from->size(); ++i)
    table.set(call.run, point((*from)[i]), point((*to)[i]));
  for (char32_t c : without ? *without : Text())
    table.set(call.run, point(c), Value::none());
  return call.run.dict(std::move(table));
}

Table textMethods() {
  constexpr auto keeps = Routine::OnMarkup::Keeps, escapes = Routine::OnMarkup::KeepsAndEscapes;
  static constexpr Routine all[] = {
      {"capitalize", "", changeCase<Case::Capital>, escapes},
      {"casefold", "", changeCase<Case::Folded>, escapes},
      {"center", "/width /fillchar?", justify<'c'>, escapes},
      {"expandtabs", "tabsize?", expandTabs, escapes},
      {"format", "*", format},
      {"format_map", "/mapping", formatMap},
      {"join", "/iterable", join, keeps},
      {"ljust", "/width /fillchar?", justify<'l'>, escapes},
      {"lower", "", changeCase<Case::Lower>, escapes},
      {"lstrip", "/chars?", strip<true, false>, escapes},
      {"maketrans", "/x /y? /z?", makeTrans},
      {"partition", "/sep", partition<false>, escapes},
      {"removeprefix", "/prefix", removeAffix<true>, escapes},
      {"removesuffix", "/suffix", removeAffix<false>, escapes},
      {"replace", "/old /new /count?", replace, escapes},
      {"rjust", "/width /fillchar?", justify<'r'>, escapes},
      {"rpartition", "/sep", partition<true>, escapes},
      {"rsplit", "sep? maxsplit?", splitText<true>, keeps},
      {"rstrip", "/chars?", strip<false, true>, escapes},
      {"split", "sep? maxsplit?", splitText<false>, keeps},
      {"splitlines", "keepends?", splitLines, keeps},
      {"strip", "/chars?", strip<true, true>, escapes},
      {"swapcase", "", changeCase<Case::Swapped>, escapes},
      {"title", "", changeCase<Case::Title>, escapes},
      {"translate", "/table", translate, escapes},
      {"upper", "", changeCase<Case::Upper>, escapes},
      {"zfill", "/width", zfill, escapes},
  };
  return all;
}

} // namespace rapt::chat
