//===- JsonPrinting.cpp - json.dumps() -------------------------------------===//
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>
#include <cmath>

namespace rapt::chat {
namespace {

class JsonPrinter {
public:
  JsonPrinter(Run &run, const JsonStyle &style) : run(run), style(style) {}
  void append(const Value &value, int depth);
  Text take() { return run.failed() ? Text() : std::move(out); }

private:
  void appendString(const Text &text);
  void appendCodeUnit(char32_t unit);
  void appendItems(const List &items, int depth);
  void appendMembers(const Dict &dict, int depth);
  bool appendScalar(const Value &value);
  void appendKey(const Value &key);
  void separate(bool isFirst, int depth);

  Run &run;
  const JsonStyle &style;
  Text out;
};

void JsonPrinter::appendCodeUnit(char32_t unit) {
  char code[8];
  snprintf(code, sizeof code, "\\u%04x", unsigned(unit));
  out += textOf(code);
}

void JsonPrinter::appendString(const Text &text) {
  static const std::u32string special = U"\"\\\n\r\t\b\f", letters = U"\"\\nrtbf";
  run.spendText(text.size());
  out += U'"';
  for (char32_t marked : text) {
    char32_t point = pointOf(marked);
    size_t at = special.find(point);
    if (at != Text::npos) {
      (out += U'\\') += letters[at] | (marked & userMark);
    } else if (point >= 0x10000 && style.ascii) {
      appendCodeUnit(0xD800 + ((point - 0x10000) >> 10));
      appendCodeUnit(0xDC00 + ((point - 0x10000) & 0x3FF));
    } else if (point < 32 || (style.ascii && point > 126)) {
      appendCodeUnit(point);
    } else {
      out += marked;
    }
  }
  out += U'"';
}

void JsonPrinter::separate(bool isFirst, int depth) {
  if (!isFirst)
    out += style.itemSeparator;
  if (!style.indent)
    return;
  if (!run.hasRoomFor(out.size() + style.indent->size() * size_t(depth)))
    return;
  out += U'\n';
  for (int i = 0; i < depth; ++i)
    out += *style.indent;
}

void JsonPrinter::appendItems(const List &items, int depth) {
  out += U'[';
  for (size_t i = 0; i < items.size() && run.hasRoomFor(out.size()); ++i) {
    separate(i == 0, depth + 1);
    append(items[i], depth + 1);
  }
  if (!items.empty())
    separate(true, depth);
  out += U']';
}

void JsonPrinter::appendKey(const Value &key) {
  out += key.is(Kind::String) ? U"" : U"\"";
  if (!appendScalar(key))
    run.fail("'tojson' takes no " + std::string(typeName(key)) + " for a key");
  out += key.is(Kind::String) ? U"" : U"\"";
}

void JsonPrinter::appendMembers(const Dict &dict, int depth) {
  std::vector<const Dict::Entry *> members;
  for (const Dict::Entry &member : dict)
    members.push_back(&member);
  if (style.sortKeys) // a heap stays inside of the list where the keys have no order
    std::make_heap(members.begin(), members.end(), [&](auto *a, auto *b) { return less(run, a->first, b->first); });
  if (style.sortKeys)
    std::sort_heap(members.begin(), members.end(), [&](auto *a, auto *b) { return less(run, a->first, b->first); });
  out += U'{';
  for (size_t i = 0; i < members.size() && run.hasRoomFor(out.size()); ++i) {
    separate(i == 0, depth + 1);
    appendKey(members[i]->first);
    out += style.keySeparator;
    append(members[i]->second, depth + 1);
  }
  if (!members.empty())
    separate(true, depth);
  out += U'}';
}

bool JsonPrinter::appendScalar(const Value &value) {
  switch (value.kind()) {
  case Kind::None:
    out += U"null";
    return true;
  case Kind::Bool:
    out += value.integer() ? U"true" : U"false";
    return true;
  case Kind::Integer:
    out += shown(run, value);
    return true;
  case Kind::Float:
    out += std::isfinite(value.real()) ? textOf(shownReal(value.real()))
           : std::isnan(value.real())  ? U"NaN"
           : value.real() < 0          ? U"-Infinity"
                                       : U"Infinity";
    return true;
  case Kind::String:
    appendString(value.text());
    return true;
  default:
    return false;
  }
}

void JsonPrinter::append(const Value &value, int depth) {
  if (!run.spend(1))
    return;
  if (value.isList())
    appendItems(value.list(), depth);
  else if (value.is(Kind::Dict))
    appendMembers(value.dict(), depth);
  else if (!appendScalar(value))
    run.fail("'tojson' of " + std::string(typeName(value)) + ", which JSON lacks");
}

} // namespace

Text writeJson(Run &run, const Value &value, const JsonStyle &style) {
  JsonPrinter printer(run, style);
  printer.append(value, 0);
  return printer.take();
}

} // namespace rapt::chat
