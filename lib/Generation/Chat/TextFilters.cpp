//===- TextFilters.cpp - Filters of texts ----------------------------------===//
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Formatting.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Operators.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Generation/Chat/Wrapping.h"
#include "lib/Tokenizer/UnicodeCases.h"
#include <algorithm>

namespace rapt::chat {

static Value capitalize(Call &call) { return applyTextMethod(call.run, "capitalize", call.self); }
static Value lower(Call &call) { return applyTextMethod(call.run, "lower", call.self); }
static Value upper(Call &call) { return applyTextMethod(call.run, "upper", call.self); }
static Value trim(Call &call) {
  return applyTextMethod(call.run, "strip", call.self, call.isNone(0) ? List() : List{call[0]});
}
static Value center(Call &call) {
  return applyTextMethod(call.run, "center", call.self, {call.has(0) ? call[0] : Value::of(int64_t(80))});
}
static Value string(Call &call) {
  return call.self.is(Kind::String) ? call.self : call.run.string(shown(call.run, call.self));
}
static Value title(Call &call) {
  Text text = shown(call.run, call.self);
  return call.run.spendText(4 * text.size()) ? call.run.string(inCase(text, Case::Words)) : Value();
}

static Value format(Call &call) {
  const Arguments &given = call.given;
  if (!given.values.empty() && !given.named.empty())
    return call.fail("takes either positions or names");
  Dict named;
  for (const auto &[name, value] : given.named)
    named.set(call.run, Value::of(name), value);
  Value text = string(call);
  if (call.run.failed())
    return {};
  return formatPercent(call.run, text, named.empty() ? Value::tuple(given.values) : Value::of(std::move(named)));
}

static Value replace(Call &call) {
  bool marks = call.run.escapes;
  Value text = marks && call.self.is(Kind::String) ? call.self : call.run.string(shown(call.run, call.self));
  if (marks && !text.isMarkup() && (call[0].isMarkup() || call[1].isMarkup()))
    text = call.run.string(escaped(text.text()), true);
  auto plain = [&](size_t i) {
    return marks && call[i].is(Kind::String) ? call[i] : call.run.string(shown(call.run, call[i]));
  };
  return call.run.failed() ? Value()
                           : applyTextMethod(call.run, "replace", text,
                                             {plain(0), plain(1), call.isNone(2) ? Value::of(int64_t(-1)) : call[2]});
}

/// The lines of the text, whatever ended them, come out with line feeds between them.
static Value indent(Call &call) {
  if (!call.self.is(Kind::String))
    return call.self.is(Kind::Undefined) ? call.run.fail(call.self.why())
                                         : call.fail("needs a string, not " + std::string(typeName(call.self)));
  bool blank = call.flag(2), isMarkup = call.self.isMarkup();
  int64_t width = call[0].is(Kind::String) ? 0 : call.integer(0, 4);
  if (call.run.failed() || !call.run.hasRoomFor(size_t(std::max<int64_t>(width, 0))))
    return {};
  Text margin = call[0].is(Kind::String) ? call[0].text() : Text(size_t(std::max<int64_t>(width, 0)), U' ');
  if (isMarkup && call[0].is(Kind::String) && !call[0].isMarkup())
    margin = call[0].text(); // Markup(width), which escapes nothing
  Text result = call.flag(1) ? margin : Text();
  bool isFirst = true;
  for (const Text &line : linesOf(call.self.text() + U"\n")) {
    if (!call.run.hasRoomFor(result.size() + margin.size()))
      return {};
    if (!std::exchange(isFirst, false))
      result += blank || !line.empty() ? U"\n" + margin : Text(U"\n");
    result += line;
  }
  return call.run.string(std::move(result), isMarkup);
}

static Value truncate(Call &call) {
  const Text dots = U"...", &end = call.has(2) && call.text(2) ? *call.text(2) : dots;
  int64_t most = call.integer(0, 255), leeway = call.isNone(3) ? 5 : call.integer(3, 5);
  if (call.run.failed() || most < int64_t(end.size()) || leeway < 0)
    return call.fail("needs a length of no less than its end, and a leeway of no less than 0");
  std::optional<int64_t> length = lengthOf(call.run, call.self);
  if (!length || *length - leeway <= most)
    return call.self;
  if (!call.self.is(Kind::String))
    return call.fail("needs a string, not " + std::string(typeName(call.self)));
  const Text &text = call.self.text();
  Text kept = text.substr(0, size_t(most) - end.size());
  size_t blank = call.flag(1) ? Text::npos : findLast(kept, U" ");
  Value front = call.run.string(blank == Text::npos ? kept : kept.substr(0, blank), call.self.isMarkup());
  return call.run.failed() ? Value() : arithmetic(call.run, "+", front, call.has(2) ? call[2] : Value::of(dots));
}

static Value wordcount(Call &call) {
  Text text = shown(call.run, call.self);
  int64_t words = 0;
  bool inWord = false;
  for (char32_t marked : text) {
    char32_t c = pointOf(marked);
    bool isPart = c == '_' || unicode::isLetter(c) || unicode::isDigit(c) || unicode::isNumeral(c);
    words += isPart && !inWord;
    inWord = isPart;
  }
  return Value::of(words);
}

static Value wordwrap(Call &call) {
  if (!call.self.is(Kind::String))
    return call.fail("needs a string, not " + std::string(typeName(call.self)));
  int64_t width = call.integer(0, 79);
  const Text newline = U"\n", *between = call.isNone(2) ? &newline : call.text(2);
  if (call.run.failed() || width <= 0)
    return call.fail("needs a width above 0");
  Text result;
  bool isFirst = true;
  for (const Text &line : linesOf(call.self.text())) {
    if (!call.run.spendText(8 * line.size()) || !call.run.hasRoomFor(result.size()))
      return {};
    if (!std::exchange(isFirst, false))
      result += *between;
    bool firstPart = true;
    for (const Text &part : wrapped(line, size_t(width), call.flag(1, true), call.flag(3, true)))
      result += (std::exchange(firstPart, false) ? Text() : *between) + part;
  }
  return call.run.string(std::move(result));
}

Table textFilters() {
  static constexpr Routine all[] = {
      {"capitalize", "", capitalize},
      {"center", "width?", center},
      {"format", "*", format},
      {"indent", "width? first? blank?", indent},
      {"lower", "", lower},
      {"replace", "old new count?", replace},
      {"string", "", string},
      {"title", "", title},
      {"trim", "chars?", trim},
      {"truncate", "length? killwords? end? leeway?", truncate},
      {"upper", "", upper},
      {"wordcount", "", wordcount},
      {"wordwrap", "width? break_long_words? wrapstring? break_on_hyphens?", wordwrap},
  };
  return all;
}

} // namespace rapt::chat
