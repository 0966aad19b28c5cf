//===- MarkupFilters.cpp - Filters that write HTML, JSON and addresses -------===//
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Operators.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>

namespace rapt::chat {

static Value escape(Call &call) { return call.run.string(besideMarkup(call.run, call.self), true); }
static Value forceEscape(Call &call) { return call.run.string(escaped(shown(call.run, call.self)), true); }
static Value safe(Call &call) { return call.run.string(shown(call.run, call.self), true); }

static Value prettyPrint(Call &call) { return call.run.string(prettyPrinted(call.run, call.self)); }

/// As Hugging Face's filter, whose arguments are those of json.dumps.
static Value toJson(Call &call) {
  JsonStyle style;
  style.ascii = call.flag(0);
  style.sortKeys = call.flag(3);
  if (!call.isNone(1)) {
    if (call[1].is(Kind::String))
      style.indent = call[1].text();
    else if (int64_t width = std::max<int64_t>(call.integer(1, 0), 0); call.run.hasRoomFor(size_t(width)))
      style.indent = Text(size_t(width), U' ');
    style.itemSeparator = U",";
  }
  if (!call.isNone(2)) {
    if (!call[2].isList() || call[2].list().size() != 2 || !call[2].list()[0].is(Kind::String) ||
        !call[2].list()[1].is(Kind::String))
      return call.fail("needs two strings for separators");
    style.itemSeparator = call[2].list()[0].text();
    style.keySeparator = call[2].list()[1].text();
  }
  if (call.run.failed())
    return {};
  return call.run.string(writeJson(call.run, call.self, style));
}

/// The bytes of a text but for letters, digits and some signs as %XX.
static Text quoted(Run &run, const Value &value, bool forQuery) {
  static const std::string_view kept = "_.-~";
  Text result;
  for (char32_t marked : shown(run, value)) {
    char32_t mark = marked & userMark;
    for (unsigned char byte : bytesOf(Text(1, marked))) {
      bool isPlain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                     kept.find(char(byte)) != kept.npos || (byte == '/' && !forQuery);
      char code[4];
      snprintf(code, sizeof code, "%%%02X", unsigned(byte));
      if (isPlain)
        result += byte | mark;
      else if (byte == ' ' && forQuery)
        result += U'+' | mark;
      else
        for (const char *c = code; *c; ++c)
          result += char32_t(*c) | mark;
    }
  }
  return result;
}

static Value urlEncode(Call &call) {
  const Value &value = call.self;
  if (value.is(Kind::String) || !isIterable(value))
    return call.run.string(quoted(call.run, value, false));
  std::optional<List> pairs = itemsOf(call.run, value.is(Kind::Dict) ? pairsOf(call.run, value) : value);
  Text result;
  for (const Value &pair : pairs ? *pairs : List()) {
    std::optional<List> parts = itemsOf(call.run, pair);
    if (!parts || parts->size() != 2)
      return call.fail("needs pairs");
    result += (result.empty() ? U"" : U"&") + quoted(call.run, (*parts)[0], true) + U"=" +
              quoted(call.run, (*parts)[1], true);
    if (!call.run.hasRoomFor(result.size()))
      return {};
  }
  return call.run.string(std::move(result));
}

static Value xmlAttr(Call &call) {
  const Dict *members = membersOf(call.run, call.self, "xmlattr");
  Text result;
  if (!members)
    return {};
  for (const auto &[key, value] : *members) {
    if (!call.run.spend(1))
      return {};
    if (value.is(Kind::None) || value.is(Kind::Undefined))
      continue;
    if (!key.is(Kind::String))
      return call.fail("needs strings for keys");
    for (char32_t marked : key.text())
      if (char32_t c = pointOf(marked); (c >= 9 && c <= 13) || c == ' ' || c == '/' || c == '>' || c == '=')
        return call.fail("finds a character that no attribute's name has");
    result +=
        (result.empty() ? U"" : U" ") + besideMarkup(call.run, key) + U"=\"" + besideMarkup(call.run, value) + U"\"";
    if (!call.run.hasRoomFor(result.size()))
      return {};
  }
  if (!result.empty() && call.flag(0, true))
    result.insert(0, 1, U' ');
  return call.run.string(std::move(result), call.run.escapes);
}

Table markupFilters() {
  static constexpr Routine all[] = {
      {"e", "", escape},
      {"escape", "", escape},
      {"forceescape", "", forceEscape},
      {"pprint", "", prettyPrint},
      {"safe", "", safe},
      {"tojson", "ensure_ascii? indent? separators? sort_keys?", toJson},
      {"urlencode", "", urlEncode},
      {"xmlattr", "autospace?", xmlAttr},
  };
  return all;
}

} // namespace rapt::chat
