//===- PrettyPrinting.cpp - Python's pprint.pformat --------------------------===//
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Text.h"
#include <list>

namespace rapt::chat {
namespace {

constexpr int64_t lineWidth = 80;

/// Writes a value on one line if it fits there, and else each item on a line.
class PrettyPrinter {
public:
  explicit PrettyPrinter(Run &run) : run(run) {}
  void append(const Value &value, int64_t indent, int64_t allowance, bool isOutermost);
  Text take() { return run.failed() ? Text() : std::move(out); }

private:
  Text oneLine(const Value &value);
  std::list<Dict::Entry> sortedMembers(const Dict &dict);
  void appendItems(const List &items, int64_t indent, int64_t allowance);
  void appendMembers(const Dict &dict, int64_t indent, int64_t allowance);
  void appendText(const Text &text, int64_t indent, int64_t allowance, bool isOutermost);
  void appendWords(const Text &line, int64_t width, int64_t lastWidth, std::vector<Text> &chunks);
  Text quoted(const Text &text) { return representation(run, Value::of(text)); }
  void startLine(int64_t indent) { out += U"\n" + Text(size_t(indent), U' '); }

  Run &run;
  Text out;
};

/// Keys of types that have no order stand in that of the names of their types.
std::list<Dict::Entry> PrettyPrinter::sortedMembers(const Dict &dict) {
  std::list<Dict::Entry> members(dict.begin(), dict.end());
  auto typeOf = [](const Value &key) { return std::string_view(key.is(Kind::None) ? "NoneType" : typeName(key)); };
  members.sort([&](const Dict::Entry &a, const Dict::Entry &b) {
    bool areOrdered =
        (a.first.isNumber() && b.first.isNumber()) || (a.first.is(Kind::String) && b.first.is(Kind::String));
    return areOrdered ? less(run, a.first, b.first) : typeOf(a.first) < typeOf(b.first);
  });
  return members;
}

Text PrettyPrinter::oneLine(const Value &value) {
  if (run.failed() || (!value.isList() && !value.is(Kind::Dict)))
    return representation(run, value);
  Text text;
  if (value.is(Kind::Dict)) {
    for (const auto &[key, member] : sortedMembers(value.dict()))
      text += (text.empty() ? U"" : U", ") + oneLine(key) + U": " + oneLine(member);
    return U"{" + text + U"}";
  }
  for (size_t i = 0; i < value.list().size() && run.hasRoomFor(text.size()); ++i)
    text += (i ? U", " : U"") + oneLine(value.list()[i]);
  if (value.is(Kind::List))
    return U"[" + text + U"]";
  return U"(" + text + (value.list().size() == 1 ? U",)" : U")");
}

void PrettyPrinter::append(const Value &value, int64_t indent, int64_t allowance, bool isOutermost) {
  Text line = oneLine(value);
  if (!run.hasRoomFor(out.size() + line.size()))
    return;
  bool fits = int64_t(line.size()) <= lineWidth - indent - allowance;
  if (!fits && value.is(Kind::Dict)) {
    out += U'{';
    appendMembers(value.dict(), indent + 1, allowance + 1);
    out += U'}';
  } else if (!fits && value.isList() && !value.isGroup()) {
    const Text end = value.is(Kind::List) ? U"]" : value.list().size() == 1 ? U",)" : U")";
    out += value.is(Kind::List) ? U'[' : U'(';
    appendItems(value.list(), indent + 1, allowance + int64_t(end.size()));
    out += end;
  } else if (!fits && value.is(Kind::String) && !value.isMarkup()) {
    appendText(value.text(), indent, allowance, isOutermost);
  } else {
    out += line;
  }
}

void PrettyPrinter::appendItems(const List &items, int64_t indent, int64_t allowance) {
  for (size_t i = 0; i < items.size() && !run.failed(); ++i) {
    append(items[i], indent, i + 1 == items.size() ? allowance : 1, false);
    if (i + 1 < items.size()) {
      out += U',';
      startLine(indent);
    }
  }
}

void PrettyPrinter::appendMembers(const Dict &dict, int64_t indent, int64_t allowance) {
  size_t left = dict.size();
  for (const auto &[key, member] : sortedMembers(dict)) {
    if (run.failed())
      return;
    --left;
    Text name = oneLine(key);
    out += name + U": ";
    append(member, indent + int64_t(name.size()) + 2, left == 0 ? allowance : 1, false);
    if (left > 0) {
      out += U',';
      startLine(indent);
    }
  }
}

/// The words of a line, each with the blanks behind it, as many in one string as fit.
void PrettyPrinter::appendWords(const Text &line, int64_t width, int64_t lastWidth, std::vector<Text> &chunks) {
  Text current;
  for (size_t begin = 0, end; begin < line.size() && run.spend(1); begin = end) {
    for (end = begin; end < line.size() && !isSpace(line[end]);)
      ++end;
    while (end < line.size() && isSpace(line[end]))
      ++end;
    Text part = line.substr(begin, end - begin), candidate = current + part;
    if (int64_t(quoted(candidate).size()) > (end == line.size() ? lastWidth : width)) {
      if (!current.empty())
        chunks.push_back(quoted(current));
      current = part;
    } else {
      current = candidate;
    }
  }
  if (!current.empty())
    chunks.push_back(quoted(current));
}

/// A text that is too long stands as several, a line for each, which Python puts together.
void PrettyPrinter::appendText(const Text &text, int64_t indent, int64_t allowance, bool isOutermost) {
  indent += isOutermost;
  allowance += isOutermost;
  const std::vector<Text> lines = linesOf(text, true);
  const int64_t width = lineWidth - indent;
  std::vector<Text> chunks;
  for (size_t i = 0; i < lines.size(); ++i) {
    const int64_t lastWidth = i + 1 == lines.size() ? width - allowance : width;
    Text line = quoted(lines[i]);
    if (int64_t(line.size()) <= lastWidth)
      chunks.push_back(std::move(line));
    else
      appendWords(lines[i], width, lastWidth, chunks);
  }
  const bool hasBrackets = isOutermost && chunks.size() > 1;
  out += hasBrackets ? U"(" : U"";
  for (size_t i = 0; i < chunks.size() && run.hasRoomFor(out.size()); ++i) {
    if (i > 0)
      startLine(indent);
    out += chunks[i];
  }
  out += hasBrackets ? U")" : U"";
}

} // namespace

Text prettyPrinted(Run &run, const Value &value) {
  PrettyPrinter printer(run);
  printer.append(value, 0, 0, true);
  return printer.take();
}

} // namespace rapt::chat
