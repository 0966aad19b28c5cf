//===- Access.cpp ----------------------------------------------------------===//
#include "lib/Generation/Chat/Access.h"
#include "lib/Generation/Chat/Frame.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>

namespace rapt::chat {

static Value missing(const Value &object, const std::string &name) {
  return Value::undefined(std::string(typeName(object)) + " has no '" + name + "'");
}

static Value loopAttribute(const Loop &loop, std::string_view name) {
  const int64_t count = int64_t(loop.items.size()), at = loop.index;
  const std::pair<std::string_view, int64_t> numbers[] = {
      {"index", at + 1},        {"index0", at},
      {"revindex", count - at}, {"revindex0", count - at - 1},
      {"length", count},        {"depth", loop.depth + 1},
      {"depth0", loop.depth},
  };
  for (const auto &[known, number] : numbers)
    if (known == name)
      return Value::of(number);
  if (name == "first" || name == "last")
    return Value::of(name == "first" ? at == 0 : at + 1 == count);
  if (name == "previtem")
    return at > 0 ? loop.items[size_t(at) - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem")
    return at + 1 < count ? loop.items[size_t(at) + 1] : Value::undefined("there is no next item");
  return {};
}

static Value macroAttribute(const Macro &macro, std::string_view name) {
  const Node &definition = *macro.definition;
  if (name == "name")
    return Value::of(definition.names[0]);
  if (name == "caller" || name == "catch_kwargs" || name == "catch_varargs")
    return Value::of((name == "caller"         ? definition.parameters.caller
                      : name == "catch_kwargs" ? definition.parameters.kwargs
                                               : definition.parameters.varargs) >= 0);
  if (name != "arguments")
    return {};
  List names;
  for (size_t i = 1; i < definition.names.size(); ++i)
    names.push_back(Value::of(definition.names[i]));
  return Value::tuple(std::move(names));
}

/// A value that an object has besides methods; undefined and nothing known of it where there is none.
static Value dataAttribute(Run &run, const Value &object, std::string_view name) {
  switch (object.kind()) {
  case Kind::Bool:
  case Kind::Integer:
    if (name == "denominator" || name == "imag")
      return Value::of(int64_t(name == "denominator"));
    return name == "real" || name == "numerator" ? Value::of(object.big()) : Value();
  case Kind::Float:
    return name == "real" ? object : name == "imag" ? Value::of(0.0) : Value();
  case Kind::Range:
    return name == "start"  ? Value::of(object.range().begin)
           : name == "stop" ? Value::of(object.range().end)
           : name == "step" ? Value::of(object.range().step)
                            : Value();
  case Kind::Tuple:
    if (!object.isGroup() || (name != "grouper" && name != "list"))
      return {};
    return object.list()[name == "list"];
  case Kind::Namespace: {
    const Value *found = object.members().find(run, name);
    return found ? *found : Value();
  }
  case Kind::Cycler:
    return name == "current" ? object.cycle().items[object.cycle().next]
           : name == "items" ? Value::tuple(object.cycle().items)
           : name == "pos"   ? Value::of(int64_t(object.cycle().next))
                             : Value();
  case Kind::Joiner:
    return name == "sep" ? object.cycle().items[0] : name == "used" ? Value::of(object.cycle().next > 0) : Value();
  case Kind::Loop:
    return loopAttribute(object.loop(), name);
  case Kind::Macro:
    return macroAttribute(object.macro(), name);
  default:
    return {};
  }
}

/// Methods that would change a list or a dict, and what leads out of a template, are not for templates.
static bool isUnsafe(const Value &object, std::string_view name) {
  static constexpr std::string_view ofLists[] = {"append", "clear",  "extend",  "insert",
                                                 "pop",    "remove", "reverse", "sort"};
  static constexpr std::string_view ofDicts[] = {"clear", "pop", "popitem", "setdefault", "update"};
  auto has = [&](const auto &names) { return std::find(std::begin(names), std::end(names), name) != std::end(names); };
  // What Python's objects have, and its containers besides.
  static constexpr std::string_view ofAll[] = {"__class__",
                                               "__delattr__",
                                               "__dir__",
                                               "__doc__",
                                               "__eq__",
                                               "__format__",
                                               "__ge__",
                                               "__getstate__",
                                               "__gt__",
                                               "__hash__",
                                               "__init__",
                                               "__init_subclass__",
                                               "__le__",
                                               "__lt__",
                                               "__ne__",
                                               "__new__",
                                               "__reduce__",
                                               "__reduce_ex__",
                                               "__repr__",
                                               "__setattr__",
                                               "__sizeof__",
                                               "__str__",
                                               "__subclasshook__",
                                               "__getattribute__",
                                               "__contains__",
                                               "__getitem__",
                                               "__iter__",
                                               "__len__",
                                               "__or__",
                                               "__ror__",
                                               "__class_getitem__",
                                               "__delitem__",
                                               "__ior__",
                                               "__reversed__",
                                               "__setitem__"};
  if (object.is(Kind::List) ? has(ofLists) : object.is(Kind::Dict) && has(ofDicts))
    return true;
  return has(ofAll);
}

/// As getattr(); an undefined value of which nothing is known where there is no such attribute.
static Value ownAttribute(Run &run, const Value &object, const std::string &name) {
  if (!run.spend(1))
    return {};
  if (isUnsafe(object, name))
    return Value::undefined("'" + name + "' of " + typeName(object) + " is not for templates");
  if (object.is(Kind::Undefined))
    return run.fail(object.why());
  const bool isOfMarkup = name == "striptags" || name == "unescape" || name == "escape";
  if (object.is(Kind::String) && (name == "encode" || (object.isMarkup() && isOfMarkup)))
    return Value::undefined(unknownMessage("method", name));
  Value found = dataAttribute(run, object, name);
  if (found.is(Kind::Undefined) && found.why().empty())
    if (const Routine *method = findMethod(object, name))
      return Value::of(MethodCall{object, method});
  if (name.starts_with("_") && !(found.is(Kind::Undefined) && found.why().empty()))
    return Value::undefined("'" + name + "' of " + typeName(object) + " is not for templates");
  return found;
}

static bool isFound(const Value &value) { return !value.is(Kind::Undefined) || !value.why().empty(); }

Value ownAttributeOf(Run &run, const Value &object, const Value &name) {
  std::string bytes = bytesOf(shown(run, name));
  Value found = ownAttribute(run, object, bytes);
  return isFound(found) ? found : missing(object, bytes);
}

/// As object[key]; an undefined value of which nothing is known where Python would find none.
static Value ownItem(Run &run, const Value &object, const Value &key) {
  if (object.is(Kind::Undefined))
    return run.fail(object.why());
  if (object.is(Kind::Dict)) {
    const Value *found = object.dict().find(run, key);
    return found ? *found : Value();
  }
  bool isText = object.is(Kind::String);
  if (!key.isWhole() || !key.isSmall() || (!isText && !object.isList() && !object.is(Kind::Range)))
    return {};
  int64_t length = isText                   ? int64_t(object.text().size())
                   : object.is(Kind::Range) ? object.range().count
                                            : int64_t(object.list().size());
  int64_t index = key.integer() < 0 ? key.integer() + length : key.integer();
  if (index < 0 || index >= length)
    return {};
  if (isText)
    return Value::of(Text(1, object.text()[size_t(index)]), object.isMarkup());
  return object.is(Kind::Range) ? Value::of(object.range().begin + index * object.range().step)
                                : object.list()[size_t(index)];
}

Value attributeOf(Run &run, const Value &object, const Value &name) {
  std::string bytes = bytesOf(name.text());
  Value found = ownAttribute(run, object, bytes);
  if (!isFound(found) && !run.failed())
    found = ownItem(run, object, name);
  return isFound(found) ? found : missing(object, bytes);
}

Value itemOf(Run &run, const Value &object, const Value &key) {
  if (!run.spend(1))
    return {};
  Value found = ownItem(run, object, key);
  if (!isFound(found) && !run.failed() && key.is(Kind::String))
    found = ownAttribute(run, object, bytesOf(key.text()));
  if (isFound(found) || run.failed())
    return found;
  return missing(object, key.is(Kind::String) && key.text().size() < 100 ? bytesOf(key.text()) : "item");
}

Value memberByPath(Run &run, const Value &object, const Value &path, const Value &otherwise) {
  if (path.is(Kind::None))
    return object;
  auto step = [&](const Value &from, const Value &key) {
    Value found = itemOf(run, from, key);
    return found.is(Kind::Undefined) && !otherwise.is(Kind::None) ? otherwise : found;
  };
  if (!path.is(Kind::String))
    return step(object, path);
  Value found = object;
  const Text dot = U".";
  for (const Text &part : split(path.text(), &dot, -1)) {
    bool isIndex =
        !part.empty() && part.size() < 10 &&
        std::all_of(part.begin(), part.end(), [](char32_t c) { return pointOf(c) >= '0' && pointOf(c) <= '9'; });
    found = step(found, isIndex ? Value::of(int64_t(std::stol(bytesOf(part)))) : Value::of(part));
    if (run.failed())
      return {};
  }
  return found;
}

/// As Python: limits beyond the ends are cut to them, and a step back starts from the end.
static std::optional<SpacedRange> sliceIndices(Run &run, int64_t length, const Value *const parts[3]) {
  for (int i = 0; i < 3; ++i)
    if (!parts[i]->is(Kind::None) && !parts[i]->isWhole()) {
      run.fail(parts[i]->is(Kind::Undefined) ? parts[i]->why() : "a slice needs whole numbers");
      return std::nullopt;
    }
  auto number = [](const Value &value) {
    return value.isSmall() ? value.integer() : value.big().isNegative() ? INT64_MIN : INT64_MAX;
  };
  int64_t step = parts[2]->is(Kind::None) ? 1 : number(*parts[2]);
  if (step == 0) {
    run.fail("a slice whose step is 0");
    return std::nullopt;
  }
  step = std::clamp(step, -length - 1, length + 1);
  int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? length : length - 1;
  auto limit = [&](const Value &part, int64_t otherwise) {
    if (part.is(Kind::None))
      return otherwise;
    int64_t position = number(part);
    return std::clamp(position < 0 ? std::max(position, -length - 1) + length : position, lowest, highest);
  };
  SpacedRange range = {limit(*parts[0], step > 0 ? lowest : highest), limit(*parts[1], step > 0 ? highest : lowest),
                       step, 0};
  int64_t distance = step > 0 ? range.end - range.begin : range.begin - range.end;
  range.count = distance > 0 ? (distance - 1) / std::abs(step) + 1 : 0;
  return range;
}

Value sliceOf(Run &run, const Value &object, const Value &begin, const Value &end, const Value &step) {
  bool isText = object.is(Kind::String);
  if (object.is(Kind::Undefined))
    return run.fail(object.why());
  if (!isText && !object.isList() && !object.is(Kind::Range))
    return run.fail("a slice of " + std::string(typeName(object)));
  int64_t length = isText                   ? int64_t(object.text().size())
                   : object.is(Kind::Range) ? object.range().count
                                            : int64_t(object.list().size());
  const Value *const parts[] = {&begin, &end, &step};
  std::optional<SpacedRange> range = sliceIndices(run, length, parts);
  if (!range || !run.spend(size_t(range->count) / (isText ? 8 : 1)))
    return {};
  if (object.is(Kind::Range)) {
    const SpacedRange &of = object.range();
    return Value::of(SpacedRange{of.begin + range->begin * of.step, of.begin + range->end * of.step,
                                 of.step * range->step, range->count});
  }
  Text characters;
  List entries;
  for (int64_t i = 0; i < range->count; ++i) {
    size_t at = size_t(range->begin + i * range->step);
    if (isText)
      characters += object.text()[at];
    else
      entries.push_back(object.list()[at]);
  }
  return isText ? run.string(std::move(characters), object.isMarkup())
                : run.list(std::move(entries), object.is(Kind::Tuple));
}

} // namespace rapt::chat
