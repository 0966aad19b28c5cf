//===- Formatting.cpp - format(value, specification) ------------------------===//
#include "lib/Generation/Chat/Formatting.h"
#include "lib/Generation/Chat/FormatSpecification.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace rapt::chat {

static std::string digitsOf(double number, std::chars_format form, int digits) {
  std::string text(size_t(digits) + 350, 0);
  auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number, form, digits);
  text.resize(size_t(end - text.data()));
  return text;
}

std::string fixed(double number, int digits) {
  return std::isfinite(number) ? digitsOf(number, std::chars_format::fixed, digits) : shownReal(number);
}

/// As "%g", or as str() would write it with so many digits.
static std::string general(double number, int digits, bool asStr) {
  digits = std::max(digits, 1);
  std::string text = digitsOf(number, std::chars_format::scientific, digits - 1);
  int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  bool hasExponent = exponent < -4 || exponent >= digits || (asStr && exponent + 1 == digits);
  std::string tail = hasExponent ? text.substr(text.find('e')) : "";
  text =
      hasExponent ? text.substr(0, text.find('e')) : digitsOf(number, std::chars_format::fixed, digits - 1 - exponent);
  if (text.find('.') != text.npos)
    text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.'))
    text.pop_back();
  return text + (asStr && !hasExponent && text.find('.') == text.npos ? ".0" : "") + tail;
}

std::string realDigits(double number, char type, int digits) {
  char form = type >= 'A' && type <= 'Z' ? char(type | 32) : type;
  std::string text;
  if (!std::isfinite(number))
    text = shownReal(std::fabs(number));
  else if (!type && digits < 0)
    text = shownReal(std::fabs(number));
  else if (form == 'f' || form == '%')
    text = fixed(std::fabs(number) * (form == '%' ? 100 : 1), digits < 0 ? 6 : digits);
  else if (form == 'e')
    text = digitsOf(std::fabs(number), std::chars_format::scientific, digits < 0 ? 6 : digits);
  else
    text = general(std::fabs(number), digits < 0 ? 6 : digits, !type);
  if (form != type)
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
  return text + (form == '%' ? "%" : "");
}

std::string wholeDigits(const BigInteger &number, char type, bool hasPrefix) {
  unsigned base = type == 'b' ? 2 : type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10;
  std::string text = (number.isNegative() ? -number : number).text(base);
  if (type == 'X')
    std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'a' ? char(c - 32) : c; });
  return (hasPrefix && base != 10 ? std::string("0") + type : "") + text;
}

Text padded(const Text &text, const FormatSpecification &how, char32_t otherwise) {
  if (int64_t(text.size()) >= how.width)
    return text;
  size_t padding = size_t(how.width) - text.size();
  char32_t align = how.align ? how.align : otherwise;
  size_t left = align == '<' ? 0 : align == '^' ? padding / 2 : padding;
  return Text(left, how.fill) + text + Text(padding - left, how.fill);
}

/// The whole part of a number with a sign between groups of digits, and at least `width` characters by zeros ahead.
static std::string grouped(std::string digits, char32_t sign, size_t group, size_t width) {
  auto size = [&] { return digits.size() + (sign ? (digits.size() - 1) / group : 0); };
  while (size() < width)
    digits.insert(0, "0");
  if (sign)
    for (size_t at = digits.size(); at > group;)
      digits.insert(at -= group, 1, char(sign));
  return digits;
}

Text numberText(std::string digits, bool isNegative, const FormatSpecification &how) {
  std::string sign = isNegative ? "-" : how.sign == '-' ? "" : std::string(1, char(how.sign)), prefix;
  if (digits.size() > 2 && digits[0] == '0' && std::string_view("bxoX").find(digits[1]) != std::string_view::npos) {
    prefix = digits.substr(0, 2);
    digits.erase(0, 2);
  }
  bool isHex = std::string_view("boxX").find(char(how.type)) != std::string_view::npos && how.type;
  size_t whole = isHex ? digits.size() : std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string tail = digits.substr(whole);
  bool zeros = how.fill == '0' && how.align == '=';
  size_t taken = sign.size() + prefix.size() + tail.size();
  size_t width = zeros && how.width > int64_t(taken) ? size_t(how.width) - taken : 0;
  if (whole > 0 && (zeros || how.group))
    digits = grouped(digits.substr(0, whole), how.group, isHex ? 4 : 3, width) + tail;
  Text text = textOf(sign + prefix + digits);
  if (how.align == '=' && how.width > int64_t(text.size())) {
    size_t front = sign.size() + prefix.size();
    return text.substr(0, front) + Text(size_t(how.width) - text.size(), how.fill) + text.substr(front);
  }
  return padded(text, how, '>');
}

/// [[fill]align][sign][#][0][width][group][.precision][type]
std::optional<FormatSpecification> FormatSpecification::parse(const Text &text) {
  FormatSpecification how;
  size_t at = 0;
  auto peek = [&](size_t ahead = 0) { return at + ahead < text.size() ? pointOf(text[at + ahead]) : 0; };
  auto isAlign = [](char32_t c) { return c == '<' || c == '>' || c == '=' || c == '^'; };
  auto number = [&](int64_t &value) {
    bool any = peek() >= '0' && peek() <= '9';
    for (value = 0; peek() >= '0' && peek() <= '9' && value < most; ++at)
      value = value * 10 + int64_t(peek() - '0');
    return any;
  };
  bool hasFill = isAlign(peek(1)) && peek();
  if (hasFill)
    how.fill = text[at++];
  if (isAlign(peek()))
    how.align = pointOf(text[at++]);
  if (peek() == '+' || peek() == '-' || peek() == ' ')
    how.sign = pointOf(text[at++]);
  if (peek() == '#')
    how.alternate = ++at;
  if (peek() == '0' && ++at && !hasFill) {
    how.fill = '0';
    how.zero = !how.align;
  }
  number(how.width);
  if (peek() == ',' || peek() == '_')
    how.group = pointOf(text[at++]);
  if (peek() == '.' && ++at && !number(how.precision))
    return std::nullopt;
  if (at < text.size())
    how.type = pointOf(text[at++]);
  if (at < text.size() || how.width >= most || how.precision >= most)
    return std::nullopt;
  return how;
}

static Text formattedNumber(const Value &value, FormatSpecification how, bool &good) {
  if (how.zero)
    how.align = '=';
  static const std::u32string_view whole = U"bcdoxXn", real = U"eEfFgGn%";
  bool isReal = value.is(Kind::Float) || (how.type && real.find(how.type) != real.npos && how.type != 'n');
  if (!isReal && (!how.type || whole.find(how.type) != whole.npos)) {
    good = how.precision < 0;
    if (how.type == 'c') {
      good &= value.isSmall() && value.integer() >= 0 && value.integer() < 0x110000;
      return good ? padded(Text(1, char32_t(value.integer())), how, '<') : Text();
    }
    return numberText(wholeDigits(value.big(), char(how.type), how.alternate), value.big().isNegative(), how);
  }
  good = isReal && (!how.type || real.find(how.type) != real.npos);
  double number = good ? value.real() : 0;
  char type = how.type == 'n' ? 'g' : char(how.type);
  return numberText(realDigits(number, type, int(how.precision)), std::signbit(number), how);
}

Text formatted(Run &run, const Value &value, const Text &specification) {
  if (specification.empty())
    return shown(run, value);
  std::optional<FormatSpecification> how = FormatSpecification::parse(specification);
  bool good = how.has_value();
  if (good && !run.hasRoomFor(size_t(std::max(how->width, how->precision))))
    return {};
  Text result;
  if (good && value.is(Kind::String)) {
    good = (!how->type || how->type == 's') && how->align != '=' && how->sign == '-' && !how->group && !how->alternate;
    Text text = how->precision < 0 ? value.text() : value.text().substr(0, size_t(how->precision));
    result = good ? padded(text, *how, '<') : Text();
  } else if (good && value.isNumber()) {
    if (value.isWhole() && !run.spendNumber(value.big().bits()))
      return {};
    result = formattedNumber(value, *how, good);
  } else {
    good = false;
  }
  if (!good)
    run.fail("no format of " + std::string(typeName(value)) + ": '" + bytesOf(specification) + "'");
  run.spendText(result.size());
  return result;
}

} // namespace rapt::chat
