//===- Functions.cpp - Functions, methods and tests of templates -----------===//
#include "lib/Generation/Chat/Evaluator.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>

namespace rapt::chat {

Text trimmed(const Text &text, const Text *characters, bool left, bool right) {
  auto drops = [&](char32_t c) { return characters ? findText(*characters, Text(1, c)) != Text::npos : isSpace(c); };
  size_t begin = 0, end = text.size();
  while (left && begin < end && drops(text[begin]))
    ++begin;
  while (right && end > begin && drops(text[end - 1]))
    --end;
  return text.substr(begin, end - begin);
}

Text replaced(const Text &text, const Text &from, const Text &to, int64_t most) {
  Text result;
  size_t at = 0;
  for (; most != 0; --most) {
    size_t found = findText(text, from, at);
    if (found == Text::npos)
      break;
    result.append(text, at, found - at).append(to);
    at = found + from.size();
    if (from.empty()) { // between all characters
      if (at >= text.size())
        break;
      result += text[at++];
    }
  }
  return at < text.size() ? result.append(text, at) : result;
}

Text inCase(const Text &text, Case how) {
  static const Text beginsWord = U"-({[<";
  Text result;
  bool inWord = false;
  for (char32_t marked : text) {
    char32_t point = pointOf(marked), mark = marked & userMark;
    char32_t lower = unicode::toLower(point), upper = unicode::toUpper(point);
    bool wantsUpper = how == Case::Upper || (how != Case::Lower && !inWord);
    bool isSharp = point == 0xDF; // its capital is two letters
    if (isSharp && wantsUpper)
      (result += U'S' | mark) += (how == Case::Upper ? U'S' : U's') | mark;
    else
      result += (wantsUpper ? upper : lower) | mark;
    inWord = how == Case::Capital ||
             (how == Case::Words ? beginsWord.find(point) == Text::npos && !isSpace(point) : isSharp || lower != upper);
  }
  return result;
}

static List splitText(const Text &text, const Text *separator, int64_t most) {
  List parts;
  size_t at = 0;
  if (separator) {
    for (size_t found; most != 0 && (found = findText(text, *separator, at)) != Text::npos; --most) {
      parts.push_back(Value::of(text.substr(at, found - at)));
      at = found + separator->size();
    }
    parts.push_back(Value::of(text.substr(at)));
    return parts;
  }
  while (true) {
    while (at < text.size() && isSpace(text[at]))
      ++at;
    if (at == text.size())
      return parts;
    size_t end = at;
    while (end < text.size() && (most == 0 || !isSpace(text[end])))
      ++end;
    if (most-- == 0)
      return parts.push_back(Value::of(trimmed(text.substr(at), nullptr, false, true))), parts;
    parts.push_back(Value::of(text.substr(at, end - at)));
    at = end;
  }
}

Value Evaluator::callFunction(const Node &node, const std::string &name, const Arguments &arguments) {
  const Value *first = arguments.get(0);
  if (name == "raise_exception")
    return fail(node, "the template refuses these messages: " +
                          json::printable(first ? bytesOf(shown(*first)) : std::string()));
  if (name == "namespace" || name == "dict") {
    Dict members = first && first->isMapping() ? first->dict() : Dict();
    for (const Value &pair : first && first->is(Kind::List) ? first->list() : List()) {
      if (!pair.is(Kind::List) || pair.list().size() != 2 || !pair.list()[0].is(Kind::String))
        return fail(node, "'" + name + "' of a list needs pairs with strings for keys");
      members.emplace_back(bytesOf(pair.list()[0].text()), pair.list()[1]);
    }
    members.insert(members.end(), arguments.named.begin(), arguments.named.end());
    return Value::of(std::move(members), name == "dict" ? Kind::Dict : Kind::Namespace);
  }
  if (name == "strftime_now") {
    if (!first || !first->is(Kind::String) || first->text().size() > 200)
      return fail(node, "strftime_now needs a short format");
    std::tm parts{};
    localtime_r(&now, &parts);
    char text[1024];
    size_t bytes = std::strftime(text, sizeof text, bytesOf(first->text()).c_str(), &parts);
    return Value::of(std::string_view(text, bytes));
  }
  if (name != "range")
    return fail(node, "the method '" + name + "' as a value is not supported");
  int64_t limits[3] = {0, 0, 1};
  if (arguments.values.empty() || arguments.values.size() > 3)
    return fail(node, "range needs 1 to 3 numbers");
  for (size_t i = 0; i < arguments.values.size(); ++i) {
    if (!arguments.values[i].is(Kind::Integer))
      return fail(node, "range needs whole numbers");
    limits[arguments.values.size() == 1 ? 1 : i] = arguments.values[i].integer();
  }
  if (limits[2] == 0)
    return fail(node, "range with a step of 0");
  List list;
  for (__int128 i = limits[0]; limits[2] > 0 ? i < limits[1] : i > limits[1]; i += limits[2]) {
    if (!spend(node, 1))
      return {};
    list.push_back(Value::of(int64_t(i)));
  }
  return Value::of(std::move(list));
}

Value Evaluator::callMethod(const Node &node, const Value &object, const std::string &name,
                            const Arguments &arguments) {
  if (object.is(Kind::String))
    return callTextMethod(node, object, name, arguments);
  const Value *first = arguments.get(0);
  if (object.isMapping() && (name == "items" || name == "keys" || name == "values")) {
    List list;
    for (const auto &[key, value] : object.dict())
      list.push_back(name == "items" ? Value::tuple({Value::of(key), value}) : name == "keys" ? Value::of(key) : value);
    return spend(node, list.size()) ? Value::of(std::move(list)) : Value();
  }
  if (object.isMapping() && name == "get" && first) {
    const Value *found = first->is(Kind::String) ? object.find(bytesOf(first->text())) : nullptr;
    const Value *otherwise = arguments.get(1, "default");
    return found ? *found : otherwise ? *otherwise : Value::none();
  }
  if (object.is(Kind::Undefined))
    return fail(node, "'" + name + "' of an undefined value");
  return fail(node, "the method '" + name + "' of " + typeName(object) + " is not supported");
}

Value Evaluator::callTextMethod(const Node &node, const Value &object, const std::string &name,
                                const Arguments &arguments) {
  const Text &text = object.text();
  const Value *first = arguments.get(0);
  const Text *given = first && first->is(Kind::String) ? &first->text() : nullptr;
  if (!spend(node, text.size() / 8))
    return {};
  if (name == "strip" || name == "lstrip" || name == "rstrip")
    return Value::of(trimmed(text, given, name != "rstrip", name != "lstrip"));
  if (name == "upper" || name == "lower" || name == "title" || name == "capitalize")
    return Value::of(inCase(text, name == "upper"   ? Case::Upper
                                  : name == "lower" ? Case::Lower
                                  : name == "title" ? Case::Title
                                                    : Case::Capital));
  if ((name == "startswith" || name == "endswith") && first) {
    const List choices = first->is(Kind::List) ? first->list() : List{*first};
    return Value::of(std::any_of(choices.begin(), choices.end(), [&](const Value &choice) {
      if (!choice.is(Kind::String) || choice.text().size() > text.size())
        return false;
      size_t length = choice.text().size();
      return sameText(text.substr(name == "startswith" ? 0 : text.size() - length, length), choice.text());
    }));
  }
  const Value *second = arguments.get(1);
  if (name == "replace" && given && second && second->is(Kind::String)) {
    const Value *most = arguments.get(2);
    if (second->text().size() * (text.size() + 1) > 16 * bounds.characters)
      return fail(node, "replace could make a string that is too long");
    return string(node, replaced(text, *given, second->text(), most ? most->integer() : -1));
  }
  if (name == "split" && (given ? !given->empty() : !first || first->is(Kind::None))) {
    const Value *most = arguments.get(1, "maxsplit");
    return Value::of(splitText(text, given, most && most->is(Kind::Integer) ? most->integer() : -1));
  }
  if ((name == "removeprefix" || name == "removesuffix") && given) {
    bool front = name == "removeprefix";
    if (given->size() > text.size() ||
        !sameText(text.substr(front ? 0 : text.size() - given->size(), given->size()), *given))
      return object;
    return Value::of(text.substr(front ? given->size() : 0, text.size() - given->size()));
  }
  if (name == "find" && given && arguments.values.size() == 1) {
    size_t found = findText(text, *given);
    return Value::of(found == Text::npos ? int64_t(-1) : int64_t(found));
  }
  if (name == "join" && first)
    if (std::optional<List> items = itemsOf(node, *first))
      return join(node, *items, text);
  return failure ? Value() : fail(node, "the method '" + name + "' of str with these arguments is not supported");
}

bool Evaluator::test(const Node &node, const std::string &name, const Value &value, const Arguments &arguments) {
  const Value *other = arguments.get(0);
  auto number = [&](auto holds) { return value.is(Kind::Integer) && holds(value.integer()); };
  if (name == "defined" || name == "undefined")
    return value.is(Kind::Undefined) == (name == "undefined");
  if (name == "none")
    return value.is(Kind::None);
  if (name == "string")
    return value.is(Kind::String);
  if (name == "mapping")
    return value.is(Kind::Dict);
  if (name == "iterable" || name == "sequence")
    return value.is(Kind::String) || value.is(Kind::List) || value.is(Kind::Dict) ||
           (name == "iterable" && value.is(Kind::Undefined));
  if (name == "number")
    return value.isNumber();
  if (name == "integer" || name == "float" || name == "boolean")
    return value.is(name == "integer" ? Kind::Integer : name == "float" ? Kind::Float : Kind::Bool);
  if (name == "true" || name == "false")
    return value.is(Kind::Bool) && value.truth() == (name == "true");
  if (name == "callable")
    return value.is(Kind::Macro) || value.is(Kind::Function);
  if (name == "odd" || name == "even")
    return number([&](int64_t n) { return (n % 2 != 0) == (name == "odd"); });
  if (name == "divisibleby" && other && other->is(Kind::Integer) && other->integer() != 0)
    return number([&](int64_t n) { return other->integer() == -1 || n % other->integer() == 0; });
  if ((name == "equalto" || name == "eq" || name == "==" || name == "ne") && other)
    return equal(value, *other) == (name != "ne");
  if ((name == "lt" || name == "le" || name == "gt" || name == "ge") && other) {
    bool comparable = true, swapped = name == "gt" || name == "le";
    bool below = swapped ? less(*other, value, comparable) : less(value, *other, comparable);
    if (!comparable)
      return fail(node, "'" + name + "' between " + typeName(value) + " and " + typeName(*other)), false;
    return below == name.ends_with('t');
  }
  if (name == "in" && other)
    return contains(node, *other, value);
  if (name == "lower" || name == "upper")
    return value.is(Kind::String) &&
           sameText(value.text(), inCase(value.text(), name == "lower" ? Case::Lower : Case::Upper));
  fail(node, "the test '" + name + "' is not supported");
  return false;
}

} // namespace rapt::chat
