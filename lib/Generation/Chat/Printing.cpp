//===- Printing.cpp --------------------------------------------------------===//
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Frame.h"
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace rapt::chat {

/// repr of a float: the shortest digits that read back the same, with an exponent below 1e-4 and from 1e16 on.
std::string shownReal(double number) {
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

namespace {

/// Appends to one text, within the bounds of the run.
class Printer {
public:
  explicit Printer(Run &run) : run(run) {}
  void append(const Value &value);
  Text take() { return run.failed() ? Text() : std::move(out); }

private:
  void appendQuoted(const Text &text);
  void appendItems(const List &items);
  void appendMembers(const Dict &members);
  void appendInteger(const Value &value);
  void appendNamespace(const Dict &members);
  void appendOther(const Value &value);
  /// Whether there is more to do behind what was appended.
  bool goesOn() { return run.hasRoomFor(out.size()); }

  Run &run;
  Text out;
  std::vector<const Dict *> around; // namespaces: one may hold itself
};

void Printer::appendQuoted(const Text &text) {
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

void Printer::appendItems(const List &items) {
  for (size_t i = 0; i < items.size() && goesOn(); ++i) {
    if (i > 0)
      out += U", ";
    append(items[i]);
  }
}

void Printer::appendMembers(const Dict &members) {
  const char32_t *separator = U"";
  out += U'{';
  for (const auto &[key, member] : members) {
    if (!goesOn())
      return;
    out += std::exchange(separator, U", ");
    append(key);
    out += U": ";
    append(member);
  }
  out += U'}';
}

void Printer::appendInteger(const Value &value) {
  if (value.isSmall()) {
    out += textOf(std::to_string(value.integer()));
    return;
  }
  const BigInteger number = value.big();
  if (!run.spendNumber(number.bits()))
    return;
  const std::string digits = number.text();
  if (digits.size() - number.isNegative() > run.bounds.digits)
    run.fail("shows a number of more than " + std::to_string(run.bounds.digits) + " digits");
  out += textOf(digits);
}

void Printer::appendNamespace(const Dict &members) {
  if (std::find(around.begin(), around.end(), &members) != around.end()) {
    out += U"{...}";
  } else if (around.size() > size_t(run.bounds.nesting)) {
    run.fail("nests values deeper than " + std::to_string(run.bounds.nesting));
  } else {
    around.push_back(&members);
    appendMembers(members);
    around.pop_back();
  }
}

void Printer::appendOther(const Value &value) {
  switch (value.kind()) {
  case Kind::Range: {
    const SpacedRange &range = value.range();
    out += textOf("range(" + std::to_string(range.begin) + ", " + std::to_string(range.end) +
                  (range.step == 1 ? "" : ", " + std::to_string(range.step)) + ")");
    return;
  }
  case Kind::View: {
    static const char32_t *const names[] = {U"dict_keys([", U"dict_values([", U"dict_items(["};
    out += names[size_t(value.view().part)];
    if (std::optional<List> items = itemsOf(run, value))
      appendItems(*items);
    out += U"])";
    return;
  }
  case Kind::Loop:
    out += textOf("<LoopContext " + std::to_string(value.loop().index + 1) + "/" +
                  std::to_string(value.loop().items.size()) + ">");
    return;
  case Kind::Macro:
    out += U"<Macro ";
    if (value.macro().definition->slot < 0) // of the tag 'call'
      out += U"anonymous";
    else
      appendQuoted(textOf(value.macro().definition->names[0]));
    out += U'>';
    return;
  default: // Python shows an address here, which is another one each time
    out += textOf("<" + std::string(typeName(value)) + ">");
  }
}

void Printer::append(const Value &value) {
  if (!run.spend(1) || !goesOn())
    return;
  switch (value.kind()) {
  case Kind::Undefined:
    out += U"Undefined";
    return;
  case Kind::None:
    out += U"None";
    return;
  case Kind::Bool:
    out += value.integer() ? U"True" : U"False";
    return;
  case Kind::Integer:
    appendInteger(value);
    return;
  case Kind::Float:
    out += textOf(shownReal(value.real()));
    return;
  case Kind::String:
    run.spendText(value.text().size());
    if (value.isMarkup())
      out += U"Markup(";
    appendQuoted(value.text());
    if (value.isMarkup())
      out += U')';
    return;
  case Kind::List:
  case Kind::Tuple:
    out += value.is(Kind::Tuple) ? U'(' : U'[';
    appendItems(value.list());
    if (value.is(Kind::Tuple) && value.list().size() == 1)
      out += U',';
    out += value.is(Kind::Tuple) ? U')' : U']';
    return;
  case Kind::Dict:
    appendMembers(value.dict());
    return;
  case Kind::Namespace:
    out += U"<Namespace ";
    appendNamespace(value.members());
    out += U'>';
    return;
  default:
    appendOther(value);
  }
}

} // namespace

Text representation(Run &run, const Value &value) {
  Printer printer(run);
  printer.append(value);
  return printer.take();
}

Text shown(Run &run, const Value &value) {
  if (value.is(Kind::Undefined))
    return {};
  if (!value.is(Kind::String))
    return representation(run, value);
  return run.spendText(value.text().size()) ? value.text() : Text();
}

} // namespace rapt::chat
