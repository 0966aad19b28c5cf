//===- ContainerMethods.cpp - Methods of all but str ------------------------===//
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Frame.h"
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Library.h"
#include <algorithm>
#include <cmath>

namespace rapt::chat {

static Value countItem(Call &call) {
  std::optional<List> items = itemsOf(call.run, call.self);
  if (!items)
    return {};
  return Value::of(int64_t(std::count_if(items->begin(), items->end(), [&](const Value &item) {
    return item.isSame(call[0]) || equal(call.run, item, call[0]);
  })));
}

static Value indexItem(Call &call) {
  std::optional<List> items = itemsOf(call.run, call.self);
  int64_t length = items ? int64_t(items->size()) : 0;
  auto limit = [&](size_t parameter, int64_t otherwise) {
    int64_t position = call.integer(parameter, otherwise);
    return std::clamp<int64_t>(position < 0 ? std::max(position, -length) + length : position, 0, length);
  };
  int64_t end = limit(2, length);
  for (int64_t at = limit(1, 0); at < end && !call.run.failed(); ++at)
    if ((*items)[size_t(at)].isSame(call[0]) || equal(call.run, (*items)[size_t(at)], call[0]))
      return Value::of(at);
  return call.fail("does not find the item");
}

static Value copy(Call &call) { return call.self; }

template <View::Part part> static Value view(Call &call) { return Value::of(View{call.self, part}); }

static Value get(Call &call) {
  if (!hashOf(call.run, call[0]))
    return call.fail("takes no " + std::string(typeName(call[0])) + ", which is no key of a dict");
  const Value *found = call.self.dict().find(call.run, call[0]);
  return found ? *found : call.has(1) ? call[1] : Value::none();
}

static Value fromKeys(Call &call) {
  std::optional<List> keys = itemsOf(call.run, call[0]);
  Dict dict;
  for (const Value &key : keys ? *keys : List())
    dict.set(call.run, key, call.has(1) ? call[1] : Value::none());
  return call.run.dict(std::move(dict));
}

static Value next(Call &call) {
  Cycle &cycle = call.self.cycle();
  Value item = cycle.items[cycle.next];
  cycle.next = (cycle.next + 1) % cycle.items.size();
  return item;
}

static Value reset(Call &call) {
  call.self.cycle().next = 0;
  return Value::none();
}

static Value cycle(Call &call) {
  const List &items = call.given.values;
  if (items.empty() || !call.given.named.empty())
    return call.fail("needs items");
  return items[size_t(call.self.loop().index) % items.size()];
}

static Value changed(Call &call) {
  Value now = call.run.list(call.given.values, true);
  std::optional<Value> &before = call.self.loop().changed;
  if (before && equal(call.run, *before, now))
    return Value::of(false);
  before = now;
  return Value::of(true);
}

static Value bitLength(Call &call) {
  std::string bits = call.self.big().isZero() ? "" : call.self.big().text(2);
  return Value::of(int64_t(bits.size() - bits.starts_with('-')));
}

static Value bitCount(Call &call) {
  std::string bits = call.self.big().text(2);
  return Value::of(int64_t(std::count(bits.begin(), bits.end(), '1')));
}

static Value integerRatio(Call &call) {
  if (call.self.isWhole())
    return call.run.list({Value::of(call.self.big()), Value::of(int64_t(1))}, true);
  double number = call.self.real();
  if (!std::isfinite(number))
    return call.fail("of a number that is not finite");
  BigInteger below(1);
  while (number != std::trunc(number)) {
    number *= 2;
    below = below + below;
  }
  return call.run.list({Value::of(BigInteger::ofReal(number)), Value::of(below)}, true);
}

static Value isInteger(Call &call) {
  return Value::of(std::isfinite(call.self.real()) && call.self.real() == std::trunc(call.self.real()));
}

static Value conjugate(Call &call) { return call.self.isWhole() ? Value::of(call.self.big()) : call.self; }

static constexpr Routine ofLists[] = {
    {"copy", "", copy}, {"count", "/value", countItem}, {"index", "/value /start? /stop?", indexItem}};
static constexpr Routine ofTuples[] = {{"count", "/value", countItem}, {"index", "/value /start? /stop?", indexItem}};
static constexpr Routine ofRanges[] = {{"count", "/value", countItem}, {"index", "/value", indexItem}};
static constexpr Routine ofDicts[] = {
    {"copy", "", copy},
    {"fromkeys", "/iterable /value?", fromKeys},
    {"get", "/key /default?", get},
    {"items", "", view<View::Part::Items>},
    {"keys", "", view<View::Part::Keys>},
    {"values", "", view<View::Part::Values>},
};
static constexpr Routine ofCyclers[] = {{"next", "", next}, {"reset", "", reset}};
static constexpr Routine ofLoops[] = {{"changed", "*", changed}, {"cycle", "*", cycle}};
static constexpr Routine ofIntegers[] = {{"as_integer_ratio", "", integerRatio},
                                         {"bit_count", "", bitCount},
                                         {"bit_length", "", bitLength},
                                         {"conjugate", "", conjugate}};
static constexpr Routine ofFloats[] = {
    {"as_integer_ratio", "", integerRatio}, {"conjugate", "", conjugate}, {"is_integer", "", isInteger}};

static Table methodsOf(Kind kind) {
  switch (kind) {
  case Kind::Bool:
  case Kind::Integer:
    return ofIntegers;
  case Kind::Float:
    return ofFloats;
  case Kind::List:
    return ofLists;
  case Kind::Tuple:
    return ofTuples;
  case Kind::Range:
    return ofRanges;
  case Kind::Dict:
    return ofDicts;
  case Kind::Cycler:
    return ofCyclers;
  case Kind::Loop:
    return ofLoops;
  default:
    return {};
  }
}

const Routine *findMethod(const Value &object, std::string_view name) {
  // The class of dicts, which has one method that needs no dict.
  if (object.is(Kind::Function) && object.function().name == "dict")
    return name == "fromkeys" ? find(ofDicts, name) : nullptr;
  if (!object.is(Kind::String))
    return find(methodsOf(object.kind()), name);
  const Routine *found = find(textMethods(), name);
  return found ? found : find(characterMethods(), name);
}

} // namespace rapt::chat
