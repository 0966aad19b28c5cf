//===- ChoosingFilters.cpp - Filters that pick items and members ------------===//
#include "lib/Generation/Chat/Access.h"
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Text.h"

namespace rapt::chat {

static Value orDefault(Call &call) {
  bool takes = call.self.is(Kind::Undefined) || (call.flag(1) && !isTrue(call.self));
  return !takes ? call.self : call.has(0) ? call[0] : Value::of("");
}

static Value attribute(Call &call) { return ownAttributeOf(call.run, call.self, call[0]); }

/// The items that an iterator yields: one after the other, until one fails, which is told to who gets so far.
template <typename Visit> static Value iterate(Call &call, Visit visit) {
  Iterator iterator;
  if (isTrue(call.self)) {
    std::optional<List> items = itemsOf(call.run, call.self);
    for (const Value &item : items ? *items : List())
      if (!call.run.spend(1) || !visit(item, iterator.items))
        break;
  }
  return yielding(call.run, std::move(iterator));
}

/// The arguments behind the first `count`.
static Arguments behind(const Arguments &given, size_t count) {
  Arguments rest = given;
  rest.values.erase(rest.values.begin(), rest.values.begin() + ptrdiff_t(std::min(count, given.values.size())));
  return rest;
}

/// select, reject, selectattr and rejectattr: the last two test a member of each item.
template <bool keeps, bool byMember> static Value select(Call &call) {
  const List &values = call.given.values;
  const size_t at = byMember ? 1 : 0;
  const Arguments rest = behind(call.given, at + 1);
  return iterate(call, [&](const Value &item, List &kept) {
    if (values.size() < at)
      return call.fail("needs the name of a member"), false;
    Value tested = byMember ? memberByPath(call.run, item, values[0]) : item;
    if (values.size() > at && !values[at].is(Kind::String))
      return call.fail("needs the name of a test"), false;
    if (call.run.failed())
      return false;
    bool holds = values.size() > at ? applyTest(call.run, bytesOf(values[at].text()), tested, rest) : isTrue(tested);
    if (holds == keeps && !call.run.failed())
      kept.push_back(item);
    return !call.run.failed();
  });
}

static Value mapMember(Call &call) {
  Value path, otherwise = Value::none();
  for (const auto &[name, value] : call.given.named)
    if (name == "attribute")
      path = value;
    else if (name == "default")
      otherwise = value;
    else
      return call.fail("has no parameter '" + name + "'");
  return iterate(call, [&](const Value &item, List &mapped) {
    Value member = memberByPath(call.run, item, path, otherwise);
    if (!call.run.failed())
      mapped.push_back(std::move(member));
    return !call.run.failed();
  });
}

static Value map(Call &call) {
  const List &values = call.given.values;
  bool byMember = false;
  for (const auto &[name, value] : call.given.named)
    byMember |= name == "attribute";
  if (values.empty() && byMember)
    return mapMember(call);
  const Arguments rest = behind(call.given, 1);
  return iterate(call, [&](const Value &item, List &mapped) {
    if (values.empty() || !values[0].is(Kind::String))
      return call.fail("needs the name of a filter"), false;
    Value result = applyFilter(call.run, bytesOf(values[0].text()), item, rest);
    if (!call.run.failed())
      mapped.push_back(std::move(result));
    return !call.run.failed();
  });
}

Table choosingFilters() {
  static constexpr Routine all[] = {
      {"attr", "name", attribute},
      {"d", "default_value? boolean?", orDefault},
      {"default", "default_value? boolean?", orDefault},
      {"map", "*", map},
      {"reject", "*", select<false, false>},
      {"rejectattr", "*", select<false, true>},
      {"select", "*", select<true, false>},
      {"selectattr", "*", select<true, true>},
  };
  return all;
}

} // namespace rapt::chat
