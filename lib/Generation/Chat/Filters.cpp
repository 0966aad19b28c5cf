//===- Filters.cpp - Filters of templates ----------------------------------===//
#include "lib/Generation/Chat/Evaluator.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <list>

namespace rapt::chat {

Value Evaluator::filter(const Node &node, const std::string &name, const Value &value, const Arguments &arguments) {
  const Value *first = arguments.get(0);
  if (name == "default" || name == "d") {
    const Value *otherwise = arguments.get(0, "default_value"), *whenFalse = arguments.get(1, "boolean");
    bool takes = value.is(Kind::Undefined) || (whenFalse && whenFalse->truth() && !value.truth());
    return !takes ? value : otherwise ? *otherwise : Value::of("");
  }
  if (name == "length" || name == "count") {
    if (value.is(Kind::String))
      return Value::of(int64_t(value.text().size()));
    if (value.isMapping())
      return Value::of(int64_t(value.dict().size()));
    std::optional<List> items = itemsOf(node, value);
    return items ? Value::of(int64_t(items->size())) : Value();
  }
  if (name == "tojson")
    return toJson(node, value, arguments);
  if (name == "dictsort" || name == "sort")
    return sorted(node, name, value, arguments);
  if (name == "string")
    return string(node, shown(value));
  if (name == "safe")
    return value;
  if (name == "int" && arguments.get(1, "base"))
    return fail(node, "'int' with a base is not supported");
  if (name == "int" || name == "float") {
    double number = 0;
    bool good = value.isNumber();
    if (good)
      number = value.real();
    else if (value.is(Kind::String)) {
      std::string text = bytesOf(trimmed(value.text(), nullptr, true, true));
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      good = error == std::errc() && end == text.data() + text.size();
    }
    if (!good && first)
      return *first;
    if (name == "float")
      return Value::of(good ? number : 0.0);
    return value.is(Kind::Integer) ? value : Value::of(int64_t(std::fabs(number) < 9e18 ? number : 0));
  }
  if (name == "abs" && value.isNumber())
    return value.is(Kind::Float)
               ? Value::of(std::fabs(value.real()))
               : integers(node, value.integer() < 0 ? "*" : "+", value.integer(), value.integer() < 0 ? -1 : 0);
  if (name == "trim" || name == "upper" || name == "lower" || name == "title" || name == "capitalize" ||
      name == "replace" || name == "indent")
    return filterText(node, name, value, arguments);
  return filterList(node, name, value, arguments);
}

/// As Hugging Face's filter, whose arguments are those of json.dumps.
Value Evaluator::toJson(const Node &node, const Value &value, const Arguments &arguments) {
  const Value *ascii = arguments.get(0, "ensure_ascii"), *indent = arguments.get(1, "indent");
  const Value *separators = arguments.get(2, "separators"), *sortKeys = arguments.get(3, "sort_keys");
  JsonStyle style;
  style.ascii = ascii && ascii->truth();
  style.sortKeys = sortKeys && sortKeys->truth();
  bool good = true;
  if (indent && !indent->is(Kind::None)) {
    good = indent->is(Kind::Integer) && indent->integer() >= 0 && indent->integer() <= 16;
    style.indent = indent->integer();
    style.itemSeparator = U",";
  }
  if (separators && !separators->is(Kind::None)) {
    good &= separators->is(Kind::List) && separators->list().size() == 2 && separators->list()[0].is(Kind::String) &&
            separators->list()[1].is(Kind::String);
    if (good) {
      style.itemSeparator = separators->list()[0].text();
      style.keySeparator = separators->list()[1].text();
    }
  }
  Text text;
  if (!good || !writeJson(value, style, text))
    return fail(node, "'tojson' of " + std::string(typeName(value)) + " with these arguments is not supported");
  return string(node, std::move(text));
}

/// dictsort(case_sensitive, by, reverse) gives pairs, sort(reverse, case_sensitive, attribute) items.
Value Evaluator::sorted(const Node &node, const std::string &name, const Value &value, const Arguments &arguments) {
  bool pairs = name == "dictsort";
  const Value *cased = arguments.get(pairs ? 0 : 1, "case_sensitive");
  const Value *reverse = arguments.get(pairs ? 2 : 0, "reverse");
  const Value *by = pairs ? arguments.get(1, "by") : nullptr, *member = pairs ? nullptr : arguments.get(2, "attribute");
  std::optional<List> items = itemsOf(node, pairs ? callMethod(node, value, "items", {}) : value);
  if (!items || failure)
    return {};
  bool byValue = by && by->is(Kind::String) && sameText(by->text(), U"value");
  std::list<std::pair<Value, Value>> keyed; // what is compared, and the item
  for (const Value &item : *items) {
    Value key = pairs ? item.list()[byValue] : member ? attributeOf(node, item, *member) : item;
    if (key.is(Kind::String) && !(cased && cased->truth()))
      key = Value::of(inCase(key.text(), Case::Lower));
    keyed.emplace_back(std::move(key), item);
  }
  bool comparable = true, down = reverse && reverse->truth();
  spend(node, keyed.size() * 16);
  // A list's sort is stable, and stays inside of the list where the values have no order.
  keyed.sort([&](const auto &a, const auto &b) {
    return down ? less(b.first, a.first, comparable) : less(a.first, b.first, comparable);
  });
  if (!comparable)
    return fail(node, "'" + name + "' of values that cannot be compared");
  List list;
  for (auto &[key, item] : keyed)
    list.push_back(std::move(item));
  return Value::of(std::move(list));
}

Value Evaluator::filterText(const Node &node, const std::string &name, const Value &value, const Arguments &arguments) {
  Text text = shown(value);
  const Value *first = arguments.get(0), *second = arguments.get(1);
  if (name == "trim") {
    const Value *characters = arguments.get(0, "chars");
    bool given = characters && characters->is(Kind::String);
    return string(node, trimmed(text, given ? &characters->text() : nullptr, true, true));
  }
  if (name == "replace" && first && second)
    return callTextMethod(node, Value::of(text), "replace", arguments);
  if (name == "indent") {
    const Value *width = arguments.get(0, "width"), *firstToo = arguments.get(1, "first");
    const Value *blank = arguments.get(2, "blank");
    int64_t count = width && width->is(Kind::Integer) ? width->integer() : 4;
    if (count < 0 || count > 64 || (width && !width->is(Kind::Integer)) || (blank && blank->truth()))
      return fail(node, "'indent' with these arguments is not supported");
    Text result, margin(size_t(count), U' ');
    for (size_t at = 0; at <= text.size();) {
      size_t end = std::min(findText(text, U"\n", at), text.size());
      bool isFirst = at == 0;
      result += (isFirst ? firstToo && firstToo->truth() : end > at) ? margin : Text();
      result.append(text, at, end - at + 1);
      at = end + 1;
    }
    return string(node, std::move(result));
  }
  if (name == "replace")
    return fail(node, "'replace' needs two strings");
  return string(node, inCase(text, name == "upper"   ? Case::Upper
                                   : name == "lower" ? Case::Lower
                                   : name == "title" ? Case::Words
                                                     : Case::Capital));
}

Value Evaluator::filterList(const Node &node, const std::string &name, const Value &value, const Arguments &arguments) {
  static const std::string_view known[] = {"first",  "last",       "join",       "list",    "map",   "select",
                                           "reject", "selectattr", "rejectattr", "reverse", "items", "unique"};
  if (std::find(std::begin(known), std::end(known), name) == std::end(known))
    return fail(node, "the filter '" + name + "' is not supported");
  if (name == "items")
    return value.is(Kind::Undefined) ? Value::of(List()) : callMethod(node, value, "items", {});
  std::optional<List> items = itemsOf(node, value);
  if (!items || failure)
    return {};
  if (name == "list")
    return Value::of(std::move(*items));
  if (name == "first" || name == "last")
    return items->empty() ? Value() : name == "first" ? items->front() : items->back();
  if (name == "reverse") {
    std::reverse(items->begin(), items->end());
    if (!value.is(Kind::String))
      return Value::of(std::move(*items));
    return join(node, *items, {});
  }
  if (name == "join") {
    const Value *separator = arguments.get(0, "d"), *attribute = arguments.get(1, "attribute");
    if (attribute)
      for (Value &item : *items)
        item = attributeOf(node, item, *attribute);
    return join(node, *items, separator ? shown(*separator) : Text());
  }
  if (name == "unique") {
    List kept;
    for (const Value &item : *items)
      if (spend(node, kept.size()) &&
          std::none_of(kept.begin(), kept.end(), [&](const Value &other) { return equal(item, other); }))
        kept.push_back(item);
    return Value::of(std::move(kept));
  }
  return name == "map" ? map(node, *items, arguments) : select(node, name, *items, arguments);
}

Value Evaluator::join(const Node &node, const List &items, const Text &separator) {
  Text text;
  for (size_t i = 0; i < items.size() && !failure; ++i) {
    text += (i ? separator : Text()) + shown(items[i]);
    if (text.size() > bounds.characters)
      return fail(node, "makes a string of more than " + std::to_string(bounds.characters) + " characters");
  }
  return string(node, std::move(text));
}

/// select, reject, selectattr and rejectattr: the last two test a member of each item.
Value Evaluator::select(const Node &node, const std::string &name, const List &items, const Arguments &arguments) {
  bool byMember = name.ends_with("attr"), keeps = name.starts_with("select");
  size_t at = byMember ? 1 : 0;
  const Value *test = arguments.get(at), *member = byMember ? arguments.get(0) : nullptr;
  if ((byMember && (!member || !member->is(Kind::String))) || (test && !test->is(Kind::String)))
    return fail(node, "'" + name + "' with these arguments is not supported");
  Arguments rest;
  if (arguments.values.size() > at + 1)
    rest.values.assign(arguments.values.begin() + ptrdiff_t(at) + 1, arguments.values.end());
  List kept;
  for (const Value &item : items) {
    Value tested = byMember ? attributeOf(node, item, *member) : item;
    bool holds = test ? this->test(node, bytesOf(test->text()), tested, rest) : tested.truth();
    if (failure)
      return {};
    if (holds == keeps)
      kept.push_back(item);
  }
  return Value::of(std::move(kept));
}

Value Evaluator::map(const Node &node, const List &items, const Arguments &arguments) {
  const Value *member = arguments.get(1, "attribute"), *name = arguments.get(0), *otherwise = nullptr;
  for (const auto &[key, value] : arguments.named)
    if (key == "default")
      otherwise = &value;
  if (name ? !name->is(Kind::String) : !member)
    return fail(node, "'map' with these arguments is not supported");
  Arguments rest;
  if (name)
    rest.values.assign(arguments.values.begin() + 1, arguments.values.end());
  List mapped;
  for (const Value &item : items) {
    Value result = name ? filter(node, bytesOf(name->text()), item, rest) : attributeOf(node, item, *member);
    if (failure)
      return {};
    mapped.push_back(result.is(Kind::Undefined) && otherwise ? *otherwise : result);
  }
  return Value::of(std::move(mapped));
}

} // namespace rapt::chat
