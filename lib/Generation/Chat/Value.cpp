//===- Value.cpp -----------------------------------------------------------===//
#include "lib/Generation/Chat/Value.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace rapt::chat {

Text textOf(std::string_view utf8, bool fromUser) {
  Text text;
  for (size_t at = 0; at < utf8.size(); at += unicode::lengthOf(static_cast<unsigned char>(utf8[at])))
    text += char32_t(unicode::decode(utf8, at)) | (fromUser ? userMark : 0);
  return text;
}

std::string bytesOf(const Text &text) {
  std::string bytes;
  for (char32_t marked : text)
    unicode::append(bytes, pointOf(marked));
  return bytes;
}

bool sameText(const Text &a, const Text &b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char32_t x, char32_t y) { return pointOf(x) == pointOf(y); });
}

size_t findText(const Text &text, const Text &part, size_t begin) {
  if (begin > text.size())
    return Text::npos;
  auto found = std::search(text.begin() + ptrdiff_t(begin), text.end(), part.begin(), part.end(),
                           [](char32_t x, char32_t y) { return pointOf(x) == pointOf(y); });
  return found == text.end() && !part.empty() ? Text::npos : size_t(found - text.begin());
}

bool isSpace(char32_t marked) {
  char32_t c = pointOf(marked);
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

Value Value::undefined(std::string name) {
  Value value;
  value.heap = std::make_shared<std::string>(std::move(name));
  return value;
}

Value Value::of(bool boolean) {
  Value value(Kind::Bool);
  value.number = boolean;
  return value;
}

Value Value::of(int64_t integer) {
  Value value(Kind::Integer);
  value.number = integer;
  return value;
}

Value Value::of(double real) {
  Value value(Kind::Float);
  value.floating = real;
  return value;
}

Value Value::of(Text text) {
  Value value(Kind::String);
  value.heap = std::make_shared<Text>(std::move(text));
  return value;
}

Value Value::of(List list) {
  Value value(Kind::List);
  for (const Value &entry : list)
    value.levels = std::max(value.levels, entry.levels);
  ++value.levels;
  value.heap = std::make_shared<List>(std::move(list));
  return value;
}

Value Value::tuple(List list) {
  Value value = of(std::move(list));
  value.tupled = true;
  return value;
}

Value Value::of(Dict dict, Kind kind) {
  Value value(kind);
  for (const auto &[key, member] : dict)
    value.levels = std::max(value.levels, member.levels);
  value.levels = std::max(value.levels + 1, kind == Kind::Namespace ? namespaceNesting : 0);
  value.heap = std::make_shared<Dict>(std::move(dict));
  return value;
}

Value Value::of(const Macro *macro) {
  Value value(Kind::Macro);
  value.callee = macro;
  return value;
}

Value Value::function(std::string name) {
  Value value(Kind::Function);
  value.heap = std::make_shared<std::string>(std::move(name));
  return value;
}

Value Value::of(const json::Value &json, bool fromUser) {
  if (json.isNull())
    return none();
  if (std::optional<bool> boolean = json.asBool())
    return of(*boolean);
  if (json.kind() == json::Kind::Integer)
    return of(*json.asInteger());
  if (std::optional<double> number = json.asNumber())
    return of(*number);
  if (const std::string *text = json.asString())
    return of(textOf(*text, fromUser));
  if (const json::Array *array = json.asArray()) {
    List list;
    for (const json::Value &entry : *array)
      list.push_back(of(entry, fromUser));
    return of(std::move(list));
  }
  Dict dict;
  for (const auto &[key, member] : *json.asObject())
    dict.emplace_back(key, of(member, fromUser && key != "role" && key != "type"));
  return of(std::move(dict));
}

bool Value::truth() const {
  switch (type) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
  case Kind::Integer:
    return number != 0;
  case Kind::Float:
    return floating != 0;
  case Kind::String:
    return !text().empty();
  case Kind::List:
    return !list().empty();
  case Kind::Dict:
    return !dict().empty();
  case Kind::Namespace:
  case Kind::Macro:
  case Kind::Function:
    break;
  }
  return true;
}

const Value *Value::find(std::string_view key) const {
  for (const auto &[name, member] : dict())
    if (name == key)
      return &member;
  return nullptr;
}

const char *typeName(const Value &value) {
  static const char *const names[] = {"undefined", "None", "bool",      "int",   "float",   "str",
                                      "list",      "dict", "namespace", "macro", "function"};
  return names[size_t(value.kind())];
}

/// repr of a float: the shortest digits that read back the same, with an exponent below 1e-4 and from 1e16 on.
static std::string shownFloat(double number) {
  if (std::isnan(number))
    return "nan";
  if (std::isinf(number))
    return number < 0 ? "-inf" : "inf";
  char digits[64];
  double size = std::fabs(number);
  bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, number,
                                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(digits, end);
  return plain && text.find('.') == std::string::npos ? text + ".0" : text;
}

static void appendQuoted(const Text &text, Text &out) {
  bool single = text.find(U'\'') != Text::npos || text.find(U'\'' | userMark) != Text::npos;
  bool twofold = text.find(U'"') != Text::npos || text.find(U'"' | userMark) != Text::npos;
  char32_t quote = single && !twofold ? U'"' : U'\'';
  out += quote;
  for (char32_t marked : text) {
    char32_t point = pointOf(marked);
    if (point == quote || point == U'\\')
      (out += U'\\') += marked;
    else if (point == U'\n' || point == U'\r' || point == U'\t')
      (out += U'\\') += point == U'\n' ? U'n' : point == U'\r' ? U'r' : U't';
    else if (!unicode::isPrintable(point)) {
      char code[12];
      snprintf(code, sizeof code, point < 0x100 ? "\\x%02x" : point < 0x10000 ? "\\u%04x" : "\\U%08x", unsigned(point));
      out += textOf(code);
    } else {
      out += marked;
    }
  }
  out += quote;
}

Text representation(const Value &value) {
  Text out;
  if (value.is(Kind::String)) {
    appendQuoted(value.text(), out);
  } else if (value.is(Kind::List)) {
    out += value.isTuple() ? U'(' : U'[';
    for (const Value &entry : value.list())
      out += (out.size() > 1 ? U", " : U"") + representation(entry);
    out += value.isTuple() && value.list().size() == 1 ? U"," : U"";
    out += value.isTuple() ? U')' : U']';
  } else if (value.isMapping()) {
    const char32_t *separator = U"";
    out += value.is(Kind::Namespace) ? U"<Namespace {" : U"{";
    for (const auto &[key, member] : value.dict()) {
      out += std::exchange(separator, U", ");
      appendQuoted(textOf(key), out);
      out += U": " + representation(member);
    }
    out += value.is(Kind::Namespace) ? U"}>" : U"}";
  } else {
    return shown(value);
  }
  return out;
}

Text shown(const Value &value) {
  switch (value.kind()) {
  case Kind::Undefined:
    return {};
  case Kind::None:
    return U"None";
  case Kind::Bool:
    return value.integer() ? U"True" : U"False";
  case Kind::Integer:
    return textOf(std::to_string(value.integer()));
  case Kind::Float:
    return textOf(shownFloat(value.real()));
  case Kind::String:
    return value.text();
  case Kind::Macro:
  case Kind::Function:
    return U"<function>";
  default:
    return representation(value);
  }
}

static void appendCodeUnit(char32_t unit, Text &out) {
  char code[8];
  snprintf(code, sizeof code, "\\u%04x", unsigned(unit));
  out += textOf(code);
}

static void appendJsonString(const Text &text, bool ascii, Text &out) {
  static const std::u32string special = U"\"\\\n\r\t\b\f", letters = U"\"\\nrtbf";
  out += U'"';
  for (char32_t marked : text) {
    char32_t point = pointOf(marked);
    size_t at = special.find(point);
    if (at != Text::npos) {
      (out += U'\\') += letters[at] | (marked & userMark);
    } else if (point >= 0x10000 && ascii) {
      appendCodeUnit(0xD800 + ((point - 0x10000) >> 10), out);
      appendCodeUnit(0xDC00 + ((point - 0x10000) & 0x3FF), out);
    } else if (point < 32 || (ascii && point > 126)) {
      appendCodeUnit(point, out);
    } else {
      out += marked;
    }
  }
  out += U'"';
}

/// The members of `dict`, by name where `sorted`.
static Dict membersOf(const Dict &dict, bool sorted) {
  Dict members = dict;
  if (sorted)
    std::sort(members.begin(), members.end(), [](auto &a, auto &b) { return a.first < b.first; });
  return members;
}

static bool writeJsonItems(const Value &value, const JsonStyle &style, Text &out, int64_t depth) {
  auto lineOf = [&](int64_t level) {
    return style.indent ? U"\n" + Text(size_t(*style.indent * level), U' ') : Text();
  };
  bool first = true;
  auto separate = [&] {
    out += (first ? Text() : style.itemSeparator) + lineOf(depth + 1);
    first = false;
  };
  out += value.is(Kind::List) ? U'[' : U'{';
  if (value.is(Kind::List)) {
    for (const Value &entry : value.list()) {
      separate();
      if (!writeJson(entry, style, out, depth + 1))
        return false;
    }
  } else {
    for (const auto &[key, member] : membersOf(value.dict(), style.sortKeys)) {
      separate();
      appendJsonString(textOf(key), style.ascii, out);
      out += style.keySeparator;
      if (!writeJson(member, style, out, depth + 1))
        return false;
    }
  }
  out += (first ? Text() : lineOf(depth)) + (value.is(Kind::List) ? U"]" : U"}");
  return true;
}

bool writeJson(const Value &value, const JsonStyle &style, Text &out, int64_t depth) {
  switch (value.kind()) {
  case Kind::None:
    out += U"null";
    return true;
  case Kind::Bool:
    out += value.integer() ? U"true" : U"false";
    return true;
  case Kind::Integer:
  case Kind::Float:
    out += std::isfinite(value.real()) ? shown(value)
           : std::isnan(value.real())  ? U"NaN"
           : value.real() < 0          ? U"-Infinity"
                                       : U"Infinity";
    return true;
  case Kind::String:
    appendJsonString(value.text(), style.ascii, out);
    return true;
  case Kind::List:
  case Kind::Dict:
    return writeJsonItems(value, style, out, depth);
  default:
    return false;
  }
}

DictMethod dictMethod(std::string_view name) {
  static const std::string_view reading[] = {"copy", "fromkeys", "get", "items", "keys", "values"};
  static const std::string_view changing[] = {"clear", "pop", "popitem", "setdefault", "update"};
  auto has = [&](const auto &names) { return std::find(std::begin(names), std::end(names), name) != std::end(names); };
  return has(reading) ? DictMethod::Reading : has(changing) ? DictMethod::Changing : DictMethod::None;
}

bool equal(const Value &a, const Value &b) {
  if (a.isNumber() && b.isNumber())
    return a.is(Kind::Float) || b.is(Kind::Float) ? a.real() == b.real() : a.integer() == b.integer();
  if (a.kind() != b.kind())
    return false;
  switch (a.kind()) {
  case Kind::String:
    return sameText(a.text(), b.text());
  case Kind::List:
    return a.isTuple() == b.isTuple() &&
           std::equal(a.list().begin(), a.list().end(), b.list().begin(), b.list().end(), equal);
  case Kind::Dict:
    return a.dict().size() == b.dict().size() && std::all_of(a.dict().begin(), a.dict().end(), [&](const auto &member) {
             const Value *other = b.find(member.first);
             return other && equal(member.second, *other);
           });
  case Kind::Namespace:
    return &a.dict() == &b.dict();
  case Kind::Macro:
    return a.macro() == b.macro();
  case Kind::Function:
    return a.name() == b.name();
  default:
    return true; // undefined, None
  }
}

bool less(const Value &a, const Value &b, bool &comparable) {
  if (a.isNumber() && b.isNumber())
    return a.is(Kind::Float) || b.is(Kind::Float) ? a.real() < b.real() : a.integer() < b.integer();
  if (a.is(Kind::String) && b.is(Kind::String))
    return std::lexicographical_compare(a.text().begin(), a.text().end(), b.text().begin(), b.text().end(),
                                        [](char32_t x, char32_t y) { return pointOf(x) < pointOf(y); });
  if (a.is(Kind::List) && b.is(Kind::List)) {
    size_t shared = std::min(a.list().size(), b.list().size());
    for (size_t i = 0; i < shared; ++i)
      if (!equal(a.list()[i], b.list()[i]))
        return less(a.list()[i], b.list()[i], comparable);
    return a.list().size() < b.list().size();
  }
  comparable = false;
  return false;
}

} // namespace rapt::chat
