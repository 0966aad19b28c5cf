//===- StringFormatting.cpp - str.format and the operator % ------------------===//
#include "lib/Generation/Chat/Access.h"
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/FormatSpecification.h"
#include "lib/Generation/Chat/Formatting.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>
#include <cmath>

namespace rapt::chat {
namespace {

/// repr() in ASCII.
Text asciiOf(const Text &text) {
  Text result;
  for (char32_t marked : text) {
    char32_t point = pointOf(marked);
    if (point < 0x80) {
      result += marked;
      continue;
    }
    char code[12];
    snprintf(code, sizeof code, point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x", unsigned(point));
    result += textOf(code);
  }
  return result;
}

class PercentFormat {
public:
  PercentFormat(Run &run, const Value &format, const Value &values)
      : run(run), format(format.text()), values(values), isMarkup(format.isMarkup()) {}
  Value result();

private:
  char32_t peek() const { return at < format.size() ? pointOf(format[at]) : 0; }
  bool readName();
  bool readNumber(int64_t &number);
  bool readSpecification();
  const Value *next();
  Text converted(const Value &value);
  Text convertedText(const Value &value);
  Text convertedNumber(const Value &value);

  Run &run;
  const Text &format;
  const Value &values;
  bool isMarkup, hasNames = false;
  size_t at = 0, used = 0;
  FormatSpecification how;
  const Value *named = nullptr;
};

bool PercentFormat::readName() {
  named = nullptr;
  if (peek() != '(')
    return true;
  size_t begin = ++at;
  for (int open = 1; open > 0; ++at) {
    if (at == format.size())
      return run.fail("'%' has a key that is not closed"), false;
    open += peek() == '(' ? 1 : peek() == ')' ? -1 : 0;
  }
  if (!values.is(Kind::Dict))
    return run.fail("'%' with a key needs a dict"), false;
  hasNames = true;
  named = values.dict().find(run, Value::of(format.substr(begin, at - 1 - begin)));
  return named || (run.fail("'%' finds no key '" + bytesOf(format.substr(begin, at - 1 - begin)) + "'"), false);
}

bool PercentFormat::readNumber(int64_t &number) {
  if (peek() == '*') {
    ++at;
    const Value *value = next();
    if (!value || !value->isWhole() || !value->isSmall())
      return run.fail("'%' needs a whole number for '*'"), false;
    number = std::clamp<int64_t>(value->integer(), -FormatSpecification::most, FormatSpecification::most);
  }
  for (; peek() >= '0' && peek() <= '9' && number < FormatSpecification::most; ++at)
    number = number * 10 + int64_t(peek() - '0');
  return run.hasRoomFor(size_t(std::max<int64_t>(number, 0)));
}

bool PercentFormat::readSpecification() {
  how = {};
  if (!readName())
    return false;
  for (; peek() && std::u32string_view(U"-+ #0").find(peek()) != std::u32string_view::npos; ++at) {
    if (peek() == '-')
      how.align = '<';
    else if (peek() == '#')
      how.alternate = true;
    else if (peek() == '0')
      how.zero = true;
    else if (how.sign != '+')
      how.sign = peek();
  }
  if (!readNumber(how.width))
    return false;
  if (how.width < 0) {
    how.align = '<';
    how.width = -how.width;
  }
  if (peek() == '.') {
    ++at;
    how.precision = 0;
    if (!readNumber(how.precision))
      return false;
  }
  if (peek() == 'h' || peek() == 'l' || peek() == 'L')
    ++at;
  how.type = peek();
  ++at;
  return how.type || (run.fail("'%' stands at the end of a format"), false);
}

const Value *PercentFormat::next() {
  if (named)
    return named;
  const size_t count = values.is(Kind::Tuple) ? values.list().size() : 1;
  if (used >= count)
    return run.fail("'%' has too few values for its format"), nullptr;
  const Value *value = values.is(Kind::Tuple) ? &values.list()[used] : &values;
  ++used;
  return value;
}

Text PercentFormat::convertedText(const Value &value) {
  Text text = how.type == 's' ? shown(run, value) : representation(run, value);
  if (how.type == 'a')
    text = asciiOf(text);
  if (isMarkup && !(how.type == 's' && value.isMarkup()))
    text = escaped(text);
  return padded(how.precision < 0 ? text : text.substr(0, size_t(how.precision)), how, '>');
}

Text PercentFormat::convertedNumber(const Value &value) {
  if (value.is(Kind::Undefined))
    return run.fail(value.why()), Text();
  const bool isWhole = std::u32string_view(U"diuoxX").find(how.type) != std::u32string_view::npos;
  const bool takesReals = std::u32string_view(U"oxX").find(how.type) == std::u32string_view::npos;
  if (!value.isNumber() || (value.is(Kind::Float) && !takesReals) ||
      (isWhole && !std::isfinite(value.real()) && !value.isWhole()))
    return run.fail("'%" + bytesOf(Text(1, how.type)) + "' of " + typeName(value)), Text();
  std::string digits;
  bool isNegative;
  if (isWhole) {
    BigInteger number = value.isWhole() ? value.big() : BigInteger::ofReal(value.real());
    isNegative = number.isNegative();
    if (!run.spendNumber(number.bits()))
      return {};
    digits = wholeDigits(number, char(how.type), false);
    if (int64_t(digits.size()) < how.precision)
      digits.insert(0, size_t(how.precision) - digits.size(), '0');
    if (how.alternate && !takesReals)
      digits.insert(0, {'0', char(how.type)});
  } else {
    isNegative = std::signbit(value.real());
    digits = realDigits(value.real(), char(how.type), how.precision < 0 ? 6 : int(how.precision));
  }
  if (how.zero && !how.align) {
    how.fill = '0';
    how.align = '=';
  }
  return numberText(digits, isNegative, how);
}

Text PercentFormat::converted(const Value &value) {
  switch (how.type) {
  case 's':
  case 'r':
  case 'a':
    return convertedText(value);
  case 'c':
    if (value.is(Kind::String) && value.text().size() == 1)
      return padded(value.text(), how, '>');
    if (value.isWhole() && value.isSmall() && value.integer() >= 0 && value.integer() < 0x110000)
      return padded(Text(1, char32_t(value.integer())), how, '>');
    return run.fail("'%c' needs one character"), Text();
  default:
    if (std::u32string_view(U"diuoxXeEfFgG").find(how.type) != std::u32string_view::npos)
      return convertedNumber(value);
    return run.fail("'%' has no conversion '" + bytesOf(Text(1, how.type)) + "'"), Text();
  }
}

Value PercentFormat::result() {
  Text out;
  while (at < format.size() && run.spend(1) && run.hasRoomFor(out.size())) {
    size_t end = std::min(findText(format, U"%", at), format.size());
    out.append(format, at, end - at);
    at = end + 1;
    if (end == format.size() || !readSpecification())
      break;
    if (how.type == '%')
      out += U'%';
    else if (const Value *value = next())
      out += converted(*value);
  }
  // As Python, which takes anything with items but a tuple or a string for a mapping.
  bool mayHaveMore = hasNames || values.is(Kind::List) || values.is(Kind::Dict) || values.is(Kind::Range) ||
                     values.is(Kind::Undefined);
  if (!mayHaveMore && used < (values.is(Kind::Tuple) ? values.list().size() : 1))
    return run.fail("'%' has more values than its format takes");
  return run.string(std::move(out), isMarkup);
}

/// A format of replacement fields in braces.
class BraceFormat {
public:
  BraceFormat(Run &run, const List &positional, const Value &named, bool isMarkup)
      : run(run), positional(positional), named(named), isMarkup(isMarkup) {}
  Text format(const Text &text, int depth);

private:
  Value first(const Text &name, bool isAlone);
  Value field(const Text &name);
  Text replacement(const Text &inside, int depth);

  Run &run;
  const List &positional;
  const Value &named;
  bool isMarkup;
  int64_t automatic = 0; // the next position, -1 once positions are named
};

bool isNumber(const Text &text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](char32_t c) { return pointOf(c) >= '0' && pointOf(c) <= '9'; });
}

/// `isAlone`: nothing of the value is asked for. As Python's Formatter has it, only such a field can lack a position.
Value BraceFormat::first(const Text &name, bool isAlone) {
  if (!isNumber(name) && !(name.empty() && isAlone)) {
    const Value *found = named.is(Kind::Dict) ? named.dict().find(run, Value::of(name)) : nullptr;
    return found ? *found : run.fail("'format' finds no '" + bytesOf(name) + "'");
  }
  if (isAlone && (name.empty() ? automatic < 0 : automatic > 0))
    return run.fail("'format' has fields with a position and fields without");
  size_t position = name.empty() ? size_t(automatic++) : size_t(std::stol(bytesOf(name)));
  if (!name.empty() && isAlone)
    automatic = -1;
  return position < positional.size() ? positional[position] : run.fail("'format' has too few values");
}

Value BraceFormat::field(const Text &name) {
  size_t at = 0;
  auto ends = [&](std::u32string_view signs) {
    while (at < name.size() && signs.find(pointOf(name[at])) == signs.npos)
      ++at;
  };
  ends(U".[");
  Value value = first(name.substr(0, at), at == name.size());
  while (at < name.size() && !run.failed()) {
    size_t begin = ++at;
    bool isItem = pointOf(name[begin - 1]) == '[';
    ends(isItem ? U"]" : U".[");
    Text part = name.substr(begin, at - begin);
    if (part.empty() || (isItem && at == name.size()) || (!isItem && pointOf(name[begin - 1]) != '.'))
      return run.fail("'format' has the field '" + bytesOf(name) + "'");
    value = !isItem          ? attributeOf(run, value, Value::of(part))
            : isNumber(part) ? itemOf(run, value, Value::of(int64_t(std::stol(bytesOf(part)))))
                             : itemOf(run, value, Value::of(part));
    at += isItem;
  }
  return value;
}

Text BraceFormat::replacement(const Text &inside, int depth) {
  size_t bracket = 0, colon = 0;
  for (; colon < inside.size(); ++colon) {
    char32_t c = pointOf(inside[colon]);
    bracket = c == '[' ? 1 : c == ']' ? 0 : bracket;
    if (!bracket && (c == ':' || c == '!'))
      break;
  }
  if (findText(inside, U"{", 0, colon) != Text::npos)
    return run.fail("'format' has a '{' in the name of a field"), Text();
  Value value = field(inside.substr(0, colon));
  if (run.failed())
    return {};
  if (colon < inside.size() && pointOf(inside[colon]) == '!') {
    char32_t how = colon + 1 < inside.size() ? pointOf(inside[colon + 1]) : 0;
    if ((how != 's' && how != 'r' && how != 'a') || (colon + 2 < inside.size() && pointOf(inside[colon + 2]) != ':'))
      return run.fail("'format' has the conversion '" + bytesOf(inside.substr(colon)) + "'"), Text();
    Text text = how == 's' ? shown(run, value) : representation(run, value);
    value = run.string(how == 'a' ? asciiOf(text) : text, how == 's' && value.isMarkup());
    colon += 2;
  }
  Text specification = colon < inside.size() ? format(inside.substr(colon + 1), depth + 1) : Text();
  if (isMarkup && value.isMarkup() && !specification.empty())
    return run.fail("'format' of markup takes no format of markup"), Text();
  Text text = formatted(run, value, specification);
  return isMarkup && !value.isMarkup() ? escaped(text) : text;
}

Text BraceFormat::format(const Text &text, int depth) {
  Text out;
  if (depth > 1)
    return run.fail("'format' has fields in the formats of formats"), out;
  for (size_t at = 0; at < text.size() && run.spend(1) && run.hasRoomFor(out.size()); ++at) {
    char32_t c = pointOf(text[at]);
    bool twice = at + 1 < text.size() && pointOf(text[at + 1]) == c && depth == 0;
    if (c != '{' && c != '}') {
      out += text[at];
    } else if (twice) {
      out += text[at++];
    } else if (c == '}') {
      return run.fail("'format' has a '}' without its '{'"), out;
    } else {
      size_t end = at + 1;
      for (int open = 1; end < text.size(); ++end)
        if ((open += pointOf(text[end]) == '{' ? 1 : pointOf(text[end]) == '}' ? -1 : 0) == 0)
          break;
      if (end >= text.size())
        return run.fail("'format' has a '{' without its '}'"), out;
      out += replacement(text.substr(at + 1, end - at - 1), depth);
      at = end;
    }
  }
  return out;
}

} // namespace

Value formatPercent(Run &run, const Value &format, const Value &values) {
  return PercentFormat(run, format, values).result();
}

Value formatBraces(Run &run, const Value &format, const List &positional, const Value &named) {
  Text text = BraceFormat(run, positional, named, format.isMarkup()).format(format.text(), 0);
  return run.string(std::move(text), format.isMarkup());
}

} // namespace rapt::chat
