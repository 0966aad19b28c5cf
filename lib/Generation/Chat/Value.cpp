//===- Value.cpp -----------------------------------------------------------===//
#include "lib/Generation/Chat/Value.h"
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Frame.h"
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>

namespace rapt::chat {

thread_local Ledger *Ledger::current = nullptr;

/// An object on the heap; the ledger that it was made under knows its size.
template <typename T> Value Value::made(Kind kind, T object, size_t bytes, int levels) {
  Value value(kind);
  value.levels = levels;
  Ledger *ledger = Ledger::current;
  bytes += sizeof(T) + 48; // what an allocation and a count of owners take
  if (ledger)
    ledger->bytes += bytes;
  value.heap = std::shared_ptr<const T>(new T(std::move(object)), [ledger, bytes](const T *made) {
    delete made;
    if (ledger)
      ledger->bytes -= bytes;
  });
  return value;
}

static int nestingOf(const List &list) {
  int levels = 0;
  for (const Value &entry : list)
    levels = std::max(levels, entry.nesting());
  return levels + 1;
}

static size_t bytesOf(const List &list) { return list.size() * sizeof(Value); }

Value Value::undefined(std::string why) {
  size_t bytes = why.size();
  return made(Kind::Undefined, std::move(why), bytes);
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

Value Value::of(const BigInteger &integer) {
  if (std::optional<int64_t> small = integer.small())
    return of(*small);
  return made(Kind::Integer, integer, integer.bits() / 8);
}

Value Value::of(double real) {
  Value value(Kind::Float);
  value.floating = real;
  return value;
}

Value Value::of(Text text, bool isMarkup) {
  size_t bytes = text.size() * sizeof(char32_t);
  Value value = made(Kind::String, std::move(text), bytes);
  value.special = isMarkup;
  return value;
}

Value Value::of(std::string_view value) { return of(textOf(value)); }

Value Value::of(List list) {
  size_t bytes = bytesOf(list);
  int levels = nestingOf(list);
  return made(Kind::List, std::move(list), bytes, levels);
}

Value Value::tuple(List list) {
  Value value = of(std::move(list));
  value.type = Kind::Tuple;
  return value;
}

Value Value::group(Value grouper, Value list) {
  Value value = tuple({std::move(grouper), std::move(list)});
  value.special = true;
  return value;
}

Value Value::of(Dict dict) {
  size_t bytes = dict.size() * (sizeof(Dict::Entry) + 32);
  int levels = dict.nesting() + 1;
  return made(Kind::Dict, std::move(dict), bytes, levels);
}

Value Value::of(SpacedRange range) { return made(Kind::Range, range, 0); }

Value Value::of(View view) {
  int levels = view.dict.nesting() + 1;
  return made(Kind::View, std::move(view), 0, levels);
}

Value Value::of(Iterator iterator) {
  size_t bytes = bytesOf(iterator.items);
  int levels = nestingOf(iterator.items);
  return made(Kind::Iterator, std::move(iterator), bytes, levels);
}

Value Value::of(Cycle cycle) {
  size_t bytes = bytesOf(cycle.items);
  int levels = nestingOf(cycle.items);
  return made(Kind::Cycler, std::move(cycle), bytes, levels);
}

Value Value::joiner(Cycle cycle) {
  Value value = of(std::move(cycle));
  value.type = Kind::Joiner;
  return value;
}

Value Value::of(MethodCall method) {
  int levels = method.self.nesting() + 1;
  return made(Kind::Method, std::move(method), 0, levels);
}

Value Value::of(Loop loop) {
  size_t bytes = bytesOf(loop.items);
  int levels = nestingOf(loop.items);
  return made(Kind::Loop, std::move(loop), bytes, levels);
}

Value Value::of(Macro macro) { return made(Kind::Macro, std::move(macro), 0); }

Value Value::of(Dict *members) {
  Value value(Kind::Namespace);
  value.borrowed = members;
  return value;
}

Value Value::of(const Routine *function) {
  Value value(Kind::Function);
  value.borrowed = function;
  return value;
}

Value Value::of(const json::Value &json, bool fromUser, Run &run) {
  switch (json.kind()) {
  case json::Kind::Null:
    return none();
  case json::Kind::Bool:
    return of(*json.asBool());
  case json::Kind::Integer:
    return of(*json.asInteger());
  case json::Kind::Unsigned:
    return of(BigInteger::ofDigits(std::to_string(*json.asUnsigned()), 10));
  case json::Kind::Float:
    return of(*json.asNumber());
  case json::Kind::String:
    return of(textOf(*json.asString(), fromUser));
  case json::Kind::Array: {
    List list;
    for (const json::Value &entry : *json.asArray())
      list.push_back(of(entry, fromUser, run));
    return of(std::move(list));
  }
  case json::Kind::Object:
    break;
  }
  // The names and values that say what an object is are those of the interface, not of a user.
  Dict dict;
  for (const auto &[key, member] : *json.asObject()) {
    bool saysForm = key == "role" || key == "type";
    dict.set(run, of(textOf(key, fromUser && !saysForm && key != "content" && key != "text")),
             of(member, fromUser && !saysForm, run));
  }
  return of(std::move(dict));
}

const std::string &Value::why() const {
  static const std::string nothing;
  return heap ? *get<std::string>() : nothing;
}

bool Value::isSame(const Value &other) const {
  if (type != other.type)
    return false;
  if (heap || other.heap)
    return heap == other.heap;
  return is(Kind::Float) ? floating == other.floating : number == other.number;
}

std::optional<size_t> Dict::place(Run &run, const Value &key, size_t hash) const {
  if (entries.size() <= fewest) {
    for (size_t i = 0; i < entries.size(); ++i)
      if (equal(run, entries[i].first, key))
        return i;
    return std::nullopt;
  }
  auto [begin, end] = index.equal_range(hash);
  for (auto found = begin; found != end; ++found)
    if (equal(run, entries[found->second].first, key))
      return found->second;
  return std::nullopt;
}

const Value *Dict::find(Run &run, const Value &key) const {
  std::optional<size_t> hash = hashOf(run, key);
  std::optional<size_t> found = hash ? place(run, key, *hash) : std::nullopt;
  return found ? &entries[*found].second : nullptr;
}

void Dict::set(Run &run, Value key, Value value) {
  std::optional<size_t> hash = hashOf(run, key);
  if (!hash) {
    run.fail(std::string(typeName(key)) + " is no key of a dict, since it can change");
    return;
  }
  levels = std::max({levels, key.nesting(), value.nesting()});
  if (std::optional<size_t> found = place(run, key, *hash)) {
    entries[*found].second = std::move(value);
    return;
  }
  entries.emplace_back(std::move(key), std::move(value));
  if (entries.size() == fewest + 1)
    for (size_t i = 0; i <= fewest; ++i)
      index.emplace(*hashOf(run, entries[i].first), i);
  else if (entries.size() > fewest)
    index.emplace(*hash, entries.size() - 1);
}

const char *typeName(const Value &value) {
  static const char *const names[] = {"undefined", "None", "bool",  "int",       "float",    "str",       "list",
                                      "tuple",     "dict", "range", "dict view", "iterator", "namespace", "cycler",
                                      "joiner",    "loop", "macro", "function",  "method"};
  return names[size_t(value.kind())];
}

} // namespace rapt::chat
