//===- Globals.cpp - The functions of the environment -----------------------===//
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Support/Json.h"
#include <algorithm>

namespace rapt::chat {

/// dict(): of another, or of pairs, and of the arguments with names.
static std::optional<Dict> dictOf(Call &call) {
  const Arguments &given = call.given;
  if (given.values.size() > 1)
    return call.fail("takes at most 1 argument without a name"), std::nullopt;
  Dict members;
  if (!given.values.empty() && given.values[0].is(Kind::Undefined))
    return call.run.fail(given.values[0].why()), std::nullopt;
  if (!given.values.empty() && given.values[0].is(Kind::Dict)) {
    members = given.values[0].dict();
    call.run.spend(members.size());
  } else if (!given.values.empty()) {
    std::optional<List> pairs = itemsOf(call.run, given.values[0]);
    for (const Value &pair : pairs ? *pairs : List()) {
      std::optional<List> parts = itemsOf(call.run, pair);
      if (!parts || parts->size() != 2)
        return call.fail("of a list needs pairs"), std::nullopt;
      members.set(call.run, (*parts)[0], (*parts)[1]);
    }
  }
  for (const auto &[name, value] : given.named)
    members.set(call.run, Value::of(name), value);
  return call.run.failed() ? std::nullopt : std::optional(std::move(members));
}

static Value dict(Call &call) {
  std::optional<Dict> members = dictOf(call);
  return members ? call.run.dict(std::move(*members)) : Value();
}

static Value makeNamespace(Call &call) {
  std::optional<Dict> members = dictOf(call);
  return members ? call.run.makeNamespace(std::move(*members)) : Value();
}

static Value cycler(Call &call) {
  const Arguments &given = call.given;
  if (given.values.empty() || !given.named.empty())
    return call.fail("needs items, and takes no names");
  return Value::of(Cycle{given.values});
}

static Value joiner(Call &call) { return Value::joiner({{call.has(0) ? call[0] : Value::of(", ")}}); }

static Value raise(Call &call) {
  return call.run.fail(refusedByTemplate + json::printable(bytesOf(shown(call.run, call[0])), 1000));
}

/// As Hugging Face's, of the local time: it has no zone, and no parts of a second here.
static Value strftimeNow(Call &call) {
  const Text *given = call.text(0);
  if (!given || given->size() > 200)
    return call.fail("needs a format of at most 200 characters");
  std::string format = bytesOf(*given);
  for (size_t at = format.find('%'); at != format.npos && at + 1 < format.size(); at = format.find('%', at)) {
    char letter = format[at + 1];
    std::string replacement = letter == 'f' ? "000000" : "";
    bool isReplaced = letter == 'f' || letter == 'z' || letter == 'Z';
    if (isReplaced)
      format.replace(at, 2, replacement);
    at += isReplaced ? replacement.size() : 2;
  }
  std::tm parts{};
  localtime_r(&call.run.now, &parts);
  char text[4096];
  size_t bytes = std::strftime(text, sizeof text, format.c_str(), &parts);
  return Value::of(std::string_view(text, bytes));
}

static Value range(Call &call) {
  const List &values = call.given.values;
  int64_t limits[3] = {0, 0, 1};
  if (values.empty() || values.size() > 3 || !call.given.named.empty())
    return call.fail("needs 1 to 3 numbers");
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].isWhole() || !values[i].isSmall())
      return values[i].is(Kind::Undefined) ? call.run.fail(values[i].why()) : call.fail("needs whole numbers");
    limits[values.size() == 1 ? 1 : i] = values[i].integer();
  }
  const auto [begin, end, step] = limits;
  if (step == 0)
    return call.fail("has a step of 0");
  // As Jinja's sandbox bounds it.
  constexpr int64_t most = 100000;
  __int128 distance = step > 0 ? __int128(end) - begin : __int128(begin) - end,
           size = step > 0 ? step : -__int128(step);
  __int128 count = distance > 0 ? (distance - 1) / size + 1 : 0;
  if (count > most)
    return call.fail("has more than " + std::to_string(most) + " numbers");
  return Value::of(SpacedRange{begin, end, step, int64_t(count)});
}

Table globals() {
  static constexpr Routine all[] = {
      {"cycler", "*", cycler},
      {"dict", "*", dict},
      {"joiner", "sep?", joiner},
      {"namespace", "*", makeNamespace},
      {"raise_exception", "message", raise},
      {"range", "*", range},
      {"strftime_now", "format", strftimeNow},
  };
  return all;
}

} // namespace rapt::chat
