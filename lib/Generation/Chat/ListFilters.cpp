//===- ListFilters.cpp - Filters that order, group and join items -----------===//
#include "lib/Generation/Chat/Access.h"
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Operators.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>
#include <list>

namespace rapt::chat {

namespace {

/// The key that items are compared by: themselves or a member, strings in lower case unless case counts.
struct Key {
  Value path = Value::none(), otherwise = Value::none();
  bool cased = false;
};

Value keyOf(Run &run, const Value &item, const Key &how) {
  Value key = memberByPath(run, item, how.path, how.otherwise);
  return key.is(Kind::String) && !how.cased && !run.failed() ? applyTextMethod(run, "lower", key) : key;
}

using Keyed = std::pair<Value, Value>; ///< The key, and the item.

/// A list's sort is stable, and stays inside of the list where the values have no order.
List sorted(Run &run, std::list<Keyed> keyed, bool down) {
  keyed.sort([&](const Keyed &a, const Keyed &b) {
    return !run.failed() && (down ? less(run, b.first, a.first) : less(run, a.first, b.first));
  });
  List items;
  for (Keyed &one : keyed)
    items.push_back(std::move(one.second));
  return items;
}

Value attributeArgument(const Call &call, size_t parameter) {
  return call.has(parameter) ? call[parameter] : Value::none();
}

} // namespace

static Value first(Call &call) {
  if (call.self.is(Kind::Iterator)) { // the rest stays for others
    Iterator &iterator = call.self.iterator();
    if (iterator.next < iterator.items.size())
      return iterator.items[iterator.next++];
  }
  std::optional<List> items = itemsOf(call.run, call.self);
  return items && !items->empty() ? items->front() : Value::undefined("there is no first item: the list is empty");
}

static Value last(Call &call) {
  if (call.self.is(Kind::Iterator))
    return call.fail("of an iterator, which goes one way");
  std::optional<List> items = itemsOf(call.run, call.self);
  return items && !items->empty() ? items->back() : Value::undefined("there is no last item: the list is empty");
}

static Value length(Call &call) {
  std::optional<int64_t> length = lengthOf(call.run, call.self);
  return length ? Value::of(*length) : Value();
}

static Value list(Call &call) {
  std::optional<List> items = itemsOf(call.run, call.self);
  return items ? call.run.list(std::move(*items)) : Value();
}

static Value reverse(Call &call) {
  if (call.self.is(Kind::String))
    return call.run.string(Text(call.self.text().rbegin(), call.self.text().rend()), call.self.isMarkup());
  std::optional<List> items = itemsOf(call.run, call.self);
  if (!items)
    return {};
  std::reverse(items->begin(), items->end());
  return call.self.is(Kind::Iterator) ? call.run.list(std::move(*items)) : Value::of(Iterator{std::move(*items)});
}

static Value items(Call &call) {
  if (call.self.is(Kind::Undefined))
    return Value::of(Iterator{});
  Value pairs = pairsOf(call.run, call.self);
  return yielding(call.run, call.run.failed() ? Iterator() : Iterator{pairs.list()});
}

static Value sort(Call &call) {
  call.integer(0, 0); // a truth is not enough for Python
  std::optional<List> items = itemsOf(call.run, call.self);
  // Several members, with commas between them, are compared one after the other.
  std::vector<Value> paths = {attributeArgument(call, 2)};
  const Text comma = U",";
  if (paths[0].is(Kind::String)) {
    std::vector<Text> parts = split(paths[0].text(), &comma, -1);
    paths.clear();
    for (const Text &part : parts)
      paths.push_back(Value::of(part));
  }
  std::list<Keyed> keyed;
  for (const Value &item : items ? *items : List()) {
    List keys;
    for (const Value &path : paths)
      keys.push_back(keyOf(call.run, item, {path, Value::none(), call.flag(1)}));
    keyed.emplace_back(Value::tuple(std::move(keys)), item);
    if (!call.run.spend(1))
      return {};
  }
  return call.run.list(sorted(call.run, std::move(keyed), call.flag(0)));
}

static Value dictSort(Call &call) {
  Value pairs = pairsOf(call.run, call.self);
  bool byValue = call.has(1) && call.text(1) && sameText(*call.text(1), U"value");
  if (call.run.failed() || (call.has(1) && !byValue && !sameText(*call.text(1), U"key")))
    return call.fail("sorts by key or value");
  std::list<Keyed> keyed;
  for (const Value &pair : pairs.list())
    keyed.emplace_back(keyOf(call.run, pair.list()[byValue], {Value::none(), Value::none(), call.flag(0)}), pair);
  return call.run.list(sorted(call.run, std::move(keyed), call.flag(2)));
}

static Value groupBy(Call &call) {
  std::optional<List> items = itemsOf(call.run, call.self);
  const Key key = {call[0], attributeArgument(call, 1), call.flag(2)};
  std::list<Keyed> keyed;
  for (const Value &item : items ? *items : List())
    keyed.emplace_back(keyOf(call.run, item, key), item);
  List groups, group;
  Value grouper;
  auto finish = [&] { // the name of a group is that of its first item as it is
    if (!group.empty())
      groups.push_back(Value::group(keyOf(call.run, group[0], {key.path, key.otherwise, true}),
                                    call.run.list(std::exchange(group, {}))));
  };
  for (const Value &item : sorted(call.run, std::move(keyed), false)) {
    Value next = keyOf(call.run, item, key);
    if (!group.empty() && !equal(call.run, next, grouper))
      finish();
    grouper = next;
    group.push_back(item);
  }
  finish();
  return call.run.list(std::move(groups));
}

static Value unique(Call &call) {
  std::optional<List> items = itemsOf(call.run, call.self);
  Dict seen;
  Iterator kept;
  for (const Value &item : items ? *items : List()) {
    Value key = keyOf(call.run, item, {attributeArgument(call, 1), Value::none(), call.flag(0)});
    size_t before = seen.size();
    seen.set(call.run, key, Value());
    if (call.run.failed())
      break;
    if (seen.size() > before)
      kept.items.push_back(item);
  }
  return yielding(call.run, std::move(kept));
}

template <bool largest> static Value extreme(Call &call) {
  std::optional<List> items = itemsOf(call.run, call.self);
  if (!items || items->empty())
    return Value::undefined("there is nothing to compare: the list is empty");
  const Key how = {attributeArgument(call, 1), Value::none(), call.flag(0)};
  Value best = items->front(), key = keyOf(call.run, best, how);
  for (size_t i = 1; i < items->size() && !call.run.failed(); ++i) {
    Value next = keyOf(call.run, (*items)[i], how);
    if (largest ? less(call.run, key, next, ">") : less(call.run, next, key)) {
      best = (*items)[i];
      key = next;
    }
  }
  return best;
}

static Value sum(Call &call) {
  std::optional<List> items = itemsOf(call.run, call.self);
  Value total = call.has(1) ? call[1] : Value::of(int64_t(0));
  if (total.is(Kind::String))
    return call.fail("adds no strings: 'join' does");
  for (const Value &item : items ? *items : List()) {
    total = arithmetic(call.run, "+", total, memberByPath(call.run, item, attributeArgument(call, 0)));
    if (call.run.failed())
      return {};
  }
  return total;
}

static Value batch(Call &call) {
  std::optional<List> items = itemsOf(call.run, call.self);
  int64_t count = call.integer(0, 1);
  Iterator lines;
  List line;
  for (const Value &item : items ? *items : List()) {
    if (int64_t(line.size()) == count)
      lines.items.push_back(call.run.list(std::exchange(line, {})));
    line.push_back(item);
  }
  if (!line.empty() && !call.isNone(1) && count > int64_t(line.size()) && call.run.spend(size_t(count)))
    line.resize(size_t(count), call[1]);
  if (!line.empty())
    lines.items.push_back(call.run.list(std::move(line)));
  return yielding(call.run, std::move(lines));
}

static Value slice(Call &call) {
  std::optional<List> items = itemsOf(call.run, call.self);
  int64_t count = call.integer(0, 1), length = items ? int64_t(items->size()) : 0;
  Iterator slices;
  if (count == 0)
    call.fail("makes no slices");
  if (call.run.failed())
    return yielding(call.run, std::move(slices));
  auto place = items ? items->begin() : List::iterator();
  for (int64_t i = 0; i < count && call.run.spend(1); ++i) {
    auto end = place + ptrdiff_t(length / count + (i < length % count));
    List part(place, end);
    if (!call.isNone(1) && i >= length % count)
      part.push_back(call[1]);
    slices.items.push_back(call.run.list(std::move(part)));
    place = end;
  }
  return yielding(call.run, std::move(slices));
}

static Value join(Call &call) {
  std::optional<List> items = itemsOf(call.run, call.self);
  List parts;
  for (const Value &item : items ? *items : List())
    parts.push_back(memberByPath(call.run, item, attributeArgument(call, 1)));
  Value between = call.has(0) ? call[0] : Value::of("");
  bool isMarkup = call.run.escapes && (between.isMarkup() || std::any_of(parts.begin(), parts.end(),
                                                                         [](auto &one) { return one.isMarkup(); }));
  auto text = [&](const Value &value) { return isMarkup ? besideMarkup(call.run, value) : shown(call.run, value); };
  Text joined, separator = text(between);
  for (size_t i = 0; i < parts.size() && call.run.hasRoomFor(joined.size()); ++i)
    joined += (i ? separator : Text()) + text(parts[i]);
  return call.run.string(std::move(joined), isMarkup);
}

Table listFilters() {
  static constexpr Routine all[] = {
      {"batch", "linecount fill_with?", batch},
      {"count", "", length},
      {"dictsort", "case_sensitive? by? reverse?", dictSort},
      {"first", "", first},
      {"groupby", "attribute default? case_sensitive?", groupBy},
      {"items", "", items},
      {"join", "d? attribute?", join},
      {"last", "", last},
      {"length", "", length},
      {"list", "", list},
      {"max", "case_sensitive? attribute?", extreme<true>},
      {"min", "case_sensitive? attribute?", extreme<false>},
      {"reverse", "", reverse},
      {"slice", "slices fill_with?", slice},
      {"sort", "reverse? case_sensitive? attribute?", sort},
      {"sum", "attribute? start?", sum},
      {"unique", "case_sensitive? attribute?", unique},
  };
  return all;
}

} // namespace rapt::chat
