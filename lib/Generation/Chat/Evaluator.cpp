//===- Evaluator.cpp - Statements and expressions --------------------------===//
#include "lib/Generation/Chat/Evaluator.h"
#include "lib/Generation/Chat/Lexer.h"
#include <algorithm>
#include <cmath>

namespace rapt::chat {

constexpr int mostNesting = 100;

const Value *Arguments::get(size_t position, std::string_view name) const {
  if (position < values.size())
    return &values[position];
  for (const auto &[key, value] : named)
    if (!name.empty() && key == name)
      return &value;
  return nullptr;
}

Evaluator::Evaluator(Dict globals, std::time_t now, Bounds bounds) : now(now), bounds(bounds) {
  for (const char *name : {"namespace", "range", "dict", "raise_exception", "strftime_now"})
    globals.emplace_back(name, Value::function(name));
  scopes.push_back(std::move(globals));
}

Value Evaluator::fail(const Node &node, const std::string &message) {
  if (!failure)
    failure = templateError(node.line, message);
  return {};
}

bool Evaluator::spend(const Node &node, size_t amount) {
  steps += int64_t(std::min<size_t>(amount, size_t(bounds.steps) + 1));
  if (steps > bounds.steps)
    fail(node, "takes more than " + std::to_string(bounds.steps) + " steps");
  return !failure;
}

Value Evaluator::string(const Node &node, Text text) {
  if (text.size() > bounds.characters)
    return fail(node, "makes a string of more than " + std::to_string(bounds.characters) + " characters");
  return spend(node, text.size() / 8) ? Value::of(std::move(text)) : Value();
}

void Evaluator::write(const Node &node, const Text &text) {
  if (out.size() + text.size() > bounds.characters)
    fail(node, "writes more than " + std::to_string(bounds.characters) + " characters");
  else
    out += text;
}

Value *Evaluator::lookUp(std::string_view name) {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    for (auto &[key, value] : *scope)
      if (key == name)
        return &value;
  return nullptr;
}

void Evaluator::assign(const std::string &name, Value value) {
  for (auto &[key, old] : scopes.back())
    if (key == name) {
      old = std::move(value);
      return;
    }
  scopes.back().emplace_back(name, std::move(value));
}

Expected<Text> Evaluator::render(const Node &root) {
  run(root);
  if (failure)
    return *failure;
  return std::move(out);
}

Text Evaluator::captured(const Node &block) {
  Text outside = std::move(out);
  out.clear();
  runInside(block);
  std::swap(out, outside);
  return outside;
}

void Evaluator::setNames(const Node &node, const Value &value) {
  if (node.names.size() == 1)
    return assign(node.names[0], value);
  std::optional<List> parts = itemsOf(node, value);
  if (!parts || parts->size() != node.names.size()) {
    fail(node,
         "cannot unpack " + std::string(typeName(value)) + " into " + std::to_string(node.names.size()) + " names");
    return;
  }
  for (size_t i = 0; i < parts->size(); ++i)
    assign(node.names[i], (*parts)[i]);
}

Evaluator::Flow Evaluator::run(const Node &node) {
  if (!spend(node, 1))
    return Flow::Next;
  switch (node.kind) {
  case NodeKind::Block:
    for (const NodePtr &statement : node.children)
      if (Flow flow = run(*statement); flow != Flow::Next || failure)
        return flow;
    break;
  case NodeKind::Data:
    write(node, node.value.text());
    break;
  case NodeKind::Output:
    write(node, shown(evaluate(*node.children[0])));
    break;
  case NodeKind::If:
    if (evaluate(*node.children[0]).truth())
      return failure ? Flow::Next : run(*node.children[1]);
    return node.children.size() > 2 && !failure ? run(*node.children[2]) : Flow::Next;
  case NodeKind::For:
    return runLoop(node);
  case NodeKind::Set:
    setNames(node, evaluate(*node.children[0]));
    break;
  case NodeKind::SetMember:
    setMember(node);
    break;
  case NodeKind::With:
    return runWith(node);
  case NodeKind::MacroDefinition:
    assign(node.names[0], Value::of(makeMacro(node)));
    break;
  case NodeKind::CallBlock:
    write(node, shown(call(*node.children[0], makeMacro(*node.children[1]))));
    break;
  case NodeKind::Break:
    return Flow::Break;
  case NodeKind::Continue:
    return Flow::Continue;
  default:
    fail(node, "is no statement");
  }
  return Flow::Next;
}

void Evaluator::setMember(const Node &node) {
  Value value = evaluate(*node.children[0]), *space = lookUp(node.names[0]);
  if (!space || !space->is(Kind::Namespace)) {
    fail(node, "'" + node.names[0] + "' is no namespace, whose members could be set");
    return;
  }
  if (value.is(Kind::Namespace)) {
    fail(node, "a namespace inside of one is not supported");
    return;
  }
  auto &members = space->members();
  auto found = std::find_if(members.begin(), members.end(), [&](auto &entry) { return entry.first == node.names[1]; });
  if (found != members.end())
    found->second = std::move(value);
  else
    members.emplace_back(node.names[1], std::move(value));
}

Evaluator::Flow Evaluator::runInside(const Node &node) {
  scopes.emplace_back();
  Flow flow = run(node);
  scopes.pop_back();
  return flow;
}

Evaluator::Flow Evaluator::runWith(const Node &node) {
  Scope inside;
  for (size_t i = 0; i < node.names.size(); ++i)
    inside.emplace_back(node.names[i], evaluate(*node.children[i]));
  if (failure)
    return Flow::Next;
  scopes.push_back(std::move(inside));
  Flow flow = run(*node.children.back());
  scopes.pop_back();
  return flow;
}

/// A macro sees the names around its definition. Copies of them count, since a loop may define it often.
const Macro *Evaluator::makeMacro(const Node &node) {
  Macro macro = {&node, {}};
  for (size_t i = 1; i < scopes.size(); ++i)
    if (spend(node, 8 * scopes[i].size()))
      macro.scopes.push_back(scopes[i]);
  return &macros.emplace_back(std::move(macro));
}

/// The items of a loop over `value`; none where Python could not loop.
std::optional<List> Evaluator::itemsOf(const Node &node, const Value &value) {
  List items;
  if (value.is(Kind::List))
    return value.list();
  if (value.isMapping())
    for (const auto &[key, member] : value.dict())
      items.push_back(Value::of(key));
  else if (value.is(Kind::String))
    for (char32_t character : value.text())
      items.push_back(Value::of(Text(1, character)));
  else if (!value.is(Kind::Undefined)) {
    fail(node, std::string(typeName(value)) + " is not iterable");
    return std::nullopt;
  }
  spend(node, items.size());
  return items;
}

Evaluator::Flow Evaluator::runLoop(const Node &node) {
  std::optional<List> items = itemsOf(node, evaluate(*node.children[0]));
  if (!items || failure)
    return Flow::Next;
  if (node.condition) {
    List kept;
    for (const Value &item : *items) {
      scopes.emplace_back();
      setNames(node, item);
      if (evaluate(*node.condition).truth())
        kept.push_back(item);
      scopes.pop_back();
    }
    items = std::move(kept);
  }
  if (items->empty() && node.otherwise)
    return runInside(*node.otherwise);
  return runItems(node, *items);
}

Evaluator::Flow Evaluator::runItems(const Node &node, const List &items) {
  int64_t count = int64_t(items.size());
  for (int64_t i = 0; i < count && !failure; ++i) {
    scopes.emplace_back();
    Dict loop = {{"index", Value::of(i + 1)},
                 {"index0", Value::of(i)},
                 {"revindex", Value::of(count - i)},
                 {"revindex0", Value::of(count - i - 1)},
                 {"first", Value::of(i == 0)},
                 {"last", Value::of(i + 1 == count)},
                 {"length", Value::of(count)},
                 {"depth", Value::of(int64_t(1))},
                 {"depth0", Value::of(int64_t(0))},
                 {"previtem", i ? items[i - 1] : Value()},
                 {"nextitem", i + 1 < count ? items[i + 1] : Value()}};
    assign("loop", Value::of(std::move(loop)));
    setNames(node, items[i]);
    Flow flow = failure ? Flow::Break : run(*node.children[1]);
    scopes.pop_back();
    if (flow == Flow::Break)
      break;
  }
  return Flow::Next;
}

Value Evaluator::evaluate(const Node &node) {
  if (!spend(node, 1))
    return {};
  if (depth >= bounds.depth)
    return fail(node, "is nested deeper than " + std::to_string(bounds.depth));
  ++depth;
  Value value = evaluateInner(node);
  --depth;
  // Printing and destroying a value recurse into its items.
  if (value.nesting() > (value.is(Kind::Namespace) ? Value::namespaceNesting : mostNesting))
    return fail(node, "nests values deeper than " + std::to_string(mostNesting) + ", or holds a namespace in one");
  return failure ? Value() : value;
}

Value Evaluator::evaluateInner(const Node &node) {
  auto child = [&](size_t index) { return evaluate(*node.children[index]); };
  switch (node.kind) {
  case NodeKind::Constant:
    return node.value;
  case NodeKind::Name: {
    Value *found = lookUp(node.names[0]);
    if (!found && (node.names[0] == "varargs" || node.names[0] == "kwargs"))
      return fail(node, "'" + node.names[0] + "' of a macro is not supported");
    return found ? *found : Value::undefined(node.names[0]);
  }
  case NodeKind::Member:
    return memberOf(node, child(0), node.names[0]);
  case NodeKind::Item: {
    Value object = child(0);
    return itemOf(node, object, child(1));
  }
  case NodeKind::Slice:
    return slice(node);
  case NodeKind::Call:
    return call(node);
  case NodeKind::Captured:
    return string(node, captured(*node.children[0]));
  case NodeKind::Filter: {
    Value input = child(0);
    Arguments arguments = evaluateArguments(node);
    return failure ? Value() : filter(node, node.names[0], input, arguments);
  }
  case NodeKind::Test: {
    Value input = child(0);
    Arguments arguments = evaluateArguments(node);
    return failure ? Value() : Value::of(test(node, node.names[0], input, arguments));
  }
  case NodeKind::Not:
    return Value::of(!child(0).truth());
  case NodeKind::Negative:
  case NodeKind::Positive: {
    Value value = child(0);
    if (!value.isNumber())
      return fail(node, "a sign before " + std::string(typeName(value)));
    if (node.kind == NodeKind::Positive)
      return value;
    return value.is(Kind::Float) ? Value::of(-value.real()) : integers(node, "-", 0, value.integer());
  }
  case NodeKind::Binary:
    return evaluateBinary(node);
  case NodeKind::Comparison:
    return evaluateComparison(node);
  case NodeKind::And: {
    Value left = child(0);
    return left.truth() ? child(1) : left;
  }
  case NodeKind::Or: {
    Value left = child(0);
    return left.truth() ? left : child(1);
  }
  case NodeKind::Choice:
    if (child(1).truth())
      return child(0);
    return node.otherwise ? evaluate(*node.otherwise) : Value();
  default:
    return evaluateCollection(node);
  }
}

Value Evaluator::evaluateCollection(const Node &node) {
  if (node.kind == NodeKind::ListLiteral) {
    List list;
    for (const NodePtr &entry : node.children)
      list.push_back(evaluate(*entry));
    return node.names.empty() ? Value::of(std::move(list)) : Value::tuple(std::move(list));
  }
  Dict dict;
  for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
    Value key = evaluate(*node.children[i]);
    if (!key.is(Kind::String))
      return fail(node, "keys that are no strings are not supported");
    std::string name = bytesOf(key.text());
    Value value = evaluate(*node.children[i + 1]);
    auto found = std::find_if(dict.begin(), dict.end(), [&](auto &entry) { return entry.first == name; });
    if (found != dict.end())
      found->second = std::move(value);
    else
      dict.emplace_back(std::move(name), std::move(value));
  }
  return Value::of(std::move(dict));
}

Value Evaluator::evaluateBinary(const Node &node) {
  Value left = evaluate(*node.children[0]), right = evaluate(*node.children[1]);
  if (failure)
    return {};
  const std::string &sign = node.names[0];
  if (sign == "~")
    return string(node, shown(left) + shown(right));
  for (const Value *side : {&left, &right})
    if (side->is(Kind::Undefined))
      return fail(node, "an undefined value beside '" + sign + "'");
  if (sign == "+" && left.is(Kind::String) && right.is(Kind::String))
    return string(node, left.text() + right.text());
  if (sign == "+" && left.is(Kind::List) && right.is(Kind::List)) {
    List list = left.list();
    list.insert(list.end(), right.list().begin(), right.list().end());
    return spend(node, list.size()) ? Value::of(std::move(list)) : Value();
  }
  if (sign == "*" && (left.is(Kind::String) || left.is(Kind::List)) && right.is(Kind::Integer))
    return repeat(node, left, right.integer());
  if (sign == "*" && left.is(Kind::Integer) && (right.is(Kind::String) || right.is(Kind::List)))
    return repeat(node, right, left.integer());
  return arithmetic(node, sign, left, right);
}

Value Evaluator::repeat(const Node &node, const Value &what, int64_t times) {
  size_t length = what.is(Kind::String) ? what.text().size() : what.list().size();
  if (times > 0 && length > bounds.characters / size_t(times))
    return fail(node, "repeats something " + std::to_string(times) + " times, which makes it too long");
  Text text;
  List list;
  for (int64_t i = 0; i < times && length > 0; ++i)
    if (what.is(Kind::String))
      text += what.text();
    else
      list.insert(list.end(), what.list().begin(), what.list().end());
  if (what.is(Kind::String))
    return string(node, std::move(text));
  return spend(node, list.size()) ? Value::of(std::move(list)) : Value();
}

Value Evaluator::arithmetic(const Node &node, const std::string &sign, const Value &left, const Value &right) {
  if (!left.isNumber() || !right.isNumber())
    return fail(node, "'" + sign + "' between " + typeName(left) + " and " + typeName(right) + " is not supported");
  double a = left.real(), b = right.real();
  if ((sign == "/" || sign == "//" || sign == "%") && b == 0)
    return fail(node, "a division by zero");
  if (sign == "/")
    return Value::of(a / b);
  if (!left.is(Kind::Float) && !right.is(Kind::Float))
    return integers(node, sign, left.integer(), right.integer());
  double remainder = sign == "%" ? std::fmod(a, b) : 0;
  return Value::of(sign == "+"    ? a + b
                   : sign == "-"  ? a - b
                   : sign == "*"  ? a * b
                   : sign == "//" ? std::floor(a / b)
                   : sign == "%"  ? (remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder)
                                  : std::pow(a, b));
}

Value Evaluator::integers(const Node &node, const std::string &sign, int64_t left, int64_t right) {
  int64_t result = 0;
  bool overflow = false;
  if (sign == "+")
    overflow = __builtin_add_overflow(left, right, &result);
  else if (sign == "-")
    overflow = __builtin_sub_overflow(left, right, &result);
  else if (sign == "*")
    overflow = __builtin_mul_overflow(left, right, &result);
  else if (sign == "**") {
    if (right < 0)
      return Value::of(std::pow(double(left), double(right)));
    result = 1;
    for (int64_t i = 0; i < right && !overflow && i < 64; ++i)
      overflow = __builtin_mul_overflow(result, left, &result);
    overflow |= right > 64 && (left > 1 || left < -1);
    if (right > 64 && left == -1)
      result = right % 2 ? -1 : 1;
  } else if (left == INT64_MIN && right == -1) {
    overflow = true;
  } else {
    bool down = left % right != 0 && (left < 0) != (right < 0); // Python rounds down
    result = sign == "//" ? left / right - down : left % right + (down ? right : 0);
  }
  return overflow ? fail(node, "a number is too large") : Value::of(result);
}

bool Evaluator::contains(const Node &node, const Value &container, const Value &item) {
  if (container.is(Kind::String)) {
    if (!item.is(Kind::String))
      return fail(node, "'in' a string needs a string, not " + std::string(typeName(item))), false;
    return findText(container.text(), item.text()) != Text::npos;
  }
  if (container.isMapping())
    return item.is(Kind::String) && container.find(bytesOf(item.text()));
  std::optional<List> items = itemsOf(node, container);
  return items && std::any_of(items->begin(), items->end(), [&](const Value &one) { return equal(one, item); });
}

Value Evaluator::evaluateComparison(const Node &node) {
  Value left = evaluate(*node.children[0]);
  for (size_t i = 0; i < node.names.size() && !failure; ++i) {
    Value right = evaluate(*node.children[i + 1]);
    const std::string &sign = node.names[i];
    bool holds, comparable = true;
    if (sign == "in" || sign == "not in")
      holds = contains(node, right, left) == (sign == "in");
    else if (sign == "==" || sign == "!=")
      holds = equal(left, right) == (sign == "==");
    else {
      bool swapped = sign == ">" || sign == "<=";
      bool below = swapped ? less(right, left, comparable) : less(left, right, comparable);
      holds = below == (sign.size() == 1);
    }
    if (!comparable)
      return fail(node, "'" + sign + "' between " + typeName(left) + " and " + typeName(right));
    if (!holds)
      return Value::of(false);
    left = std::move(right);
  }
  return Value::of(true);
}

Value Evaluator::memberOf(const Node &node, const Value &object, const std::string &name) {
  if (object.is(Kind::Undefined))
    return fail(node, "'" + name + "' of an undefined value");
  // Jinja's x.name is an attribute first, so that a dict's method hides its member.
  DictMethod method = object.is(Kind::Dict) ? dictMethod(name) : DictMethod::None;
  bool hidden = node.kind == NodeKind::Member && method != DictMethod::None;
  const Value *found = object.isMapping() && !hidden ? object.find(name) : nullptr;
  if (!found && method == DictMethod::Reading)
    return Value::function(name);
  return found ? *found : Value::undefined(name);
}

Value Evaluator::itemOf(const Node &node, const Value &object, const Value &key) {
  if (key.is(Kind::String))
    return memberOf(node, object, bytesOf(key.text()));
  if (object.is(Kind::Undefined))
    return fail(node, "an item of an undefined value");
  bool text = object.is(Kind::String);
  if (!key.is(Kind::Integer) || (!text && !object.is(Kind::List)))
    return {};
  int64_t length = int64_t(text ? object.text().size() : object.list().size());
  int64_t index = key.integer() < 0 ? key.integer() + length : key.integer();
  if (index < 0 || index >= length)
    return {};
  return text ? Value::of(Text(1, object.text()[size_t(index)])) : object.list()[size_t(index)];
}

Value Evaluator::attributeOf(const Node &node, const Value &object, const Value &path) {
  if (!path.is(Kind::String))
    return itemOf(node, object, path);
  Value found = object;
  std::string names = bytesOf(path.text());
  for (size_t begin = 0; begin <= names.size() && !failure;) {
    size_t end = std::min(names.find('.', begin), names.size());
    std::string name = names.substr(begin, end - begin);
    bool isIndex = !name.empty() && name.size() < 10 && name.find_first_not_of("0123456789") == std::string::npos;
    found = itemOf(node, found, isIndex ? Value::of(int64_t(std::stol(name))) : Value::of(name));
    begin = end + 1;
  }
  return found;
}

Value Evaluator::slice(const Node &node) {
  Value object = evaluate(*node.children[0]);
  bool text = object.is(Kind::String);
  if (!text && !object.is(Kind::List))
    return fail(node, "a slice of " + std::string(typeName(object)));
  int64_t length = int64_t(text ? object.text().size() : object.list().size());
  auto part = [&](size_t child, int64_t otherwise) {
    Value value = node.children[child] ? evaluate(*node.children[child]) : Value::none();
    if (!value.is(Kind::None) && !value.is(Kind::Integer))
      fail(node, "a slice needs whole numbers");
    return value.is(Kind::Integer) ? value.integer() : otherwise;
  };
  int64_t step = part(3, 1);
  if (step == 0)
    return fail(node, "a slice whose step is 0");
  // As Python: limits beyond the ends are cut to them, and a step back starts from the end.
  int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? length : length - 1;
  auto limit = [&](int64_t position) {
    return std::clamp(position < 0 ? std::max(position, -length - 1) + length : position, lowest, highest);
  };
  bool hasBegin = bool(node.children[1]), hasEnd = bool(node.children[2]);
  int64_t begin = hasBegin ? limit(part(1, step > 0 ? 0 : length - 1)) : step > 0 ? lowest : highest;
  int64_t end = hasEnd ? limit(part(2, step > 0 ? length : -length - 1)) : step > 0 ? highest : lowest;
  Text characters;
  List entries;
  step = std::clamp(step, -length - 1, length + 1);
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step)
    if (text)
      characters += object.text()[size_t(i)];
    else
      entries.push_back(object.list()[size_t(i)]);
  if (text)
    return string(node, std::move(characters));
  if (!spend(node, entries.size()))
    return {};
  return object.isTuple() ? Value::tuple(std::move(entries)) : Value::of(std::move(entries));
}

/// All children behind the first are arguments.
Arguments Evaluator::evaluateArguments(const Node &node) {
  Arguments arguments;
  size_t names = node.names.size() - (node.kind == NodeKind::Call ? 0 : 1);
  size_t firstNamed = node.children.size() - names;
  for (size_t i = 1; i < node.children.size(); ++i) {
    if (node.children[i]->kind == NodeKind::Unpack) {
      if (std::optional<List> items = itemsOf(node, evaluate(*node.children[i]->children[0])))
        arguments.values.insert(arguments.values.end(), items->begin(), items->end());
      continue;
    }
    Value value = evaluate(*node.children[i]);
    if (i < firstNamed)
      arguments.values.push_back(std::move(value));
    else
      arguments.named.emplace_back(node.names[node.names.size() - names + i - firstNamed], std::move(value));
  }
  return arguments;
}

Value Evaluator::call(const Node &node, const Macro *caller) {
  const Node &callee = *node.children[0];
  if (callee.kind == NodeKind::Member && !caller) {
    Value object = evaluate(*callee.children[0]);
    const Value *member = object.isMapping() ? object.find(callee.names[0]) : nullptr;
    Arguments arguments = evaluateArguments(node);
    if (failure)
      return {};
    if (member && member->is(Kind::Macro))
      return callMacro(node, *member->macro(), arguments);
    return callMethod(node, object, callee.names[0], arguments);
  }
  Value function = evaluate(callee);
  Arguments arguments = evaluateArguments(node);
  if (failure)
    return {};
  if (caller && !function.is(Kind::Macro))
    return fail(node, "the tag 'call' needs the call of a macro");
  if (caller)
    arguments.named.emplace_back("caller", Value::of(caller));
  if (function.is(Kind::Macro))
    return callMacro(node, *function.macro(), arguments);
  if (function.is(Kind::Function))
    return callFunction(node, function.name(), arguments);
  return fail(node, callee.kind == NodeKind::Name ? "the function '" + callee.names[0] + "' is not supported"
                                                  : std::string(typeName(function)) + " cannot be called");
}

/// A macro sees the names around its definition, not those around its call.
Value Evaluator::callMacro(const Node &node, const Macro &callee, const Arguments &arguments) {
  const Node &macro = *callee.definition;
  size_t parameters = macro.names.size() - 1, defaults = macro.children.size() - 1;
  if (arguments.values.size() > parameters)
    return fail(node, "too many arguments for the macro '" + macro.names[0] + "'");
  for (const auto &[name, value] : arguments.named)
    if (name != "caller" && std::find(macro.names.begin() + 1, macro.names.end(), name) == macro.names.end())
      return fail(node, "the macro '" + macro.names[0] + "' has no parameter '" + name + "'");
  if (depth + 10 > bounds.depth)
    return fail(node, "is nested deeper than " + std::to_string(bounds.depth));
  std::vector<Scope> outside(std::make_move_iterator(scopes.begin() + 1), std::make_move_iterator(scopes.end()));
  scopes.resize(1);
  scopes.insert(scopes.end(), callee.scopes.begin(), callee.scopes.end());
  scopes.emplace_back();
  if (!callee.scopes.empty() && macro.names[0] != "caller") // it may call itself
    assign(macro.names[0], Value::of(&callee));
  depth += 10; // its frames are larger than an expression's
  if (const Value *caller = arguments.get(SIZE_MAX, "caller"))
    assign("caller", *caller);
  for (size_t i = 0; i < parameters; ++i) {
    const Value *given = arguments.get(i, macro.names[i + 1]);
    bool hasDefault = i + defaults >= parameters;
    assign(macro.names[i + 1], given        ? *given
                               : hasDefault ? evaluate(*macro.children[1 + i + defaults - parameters])
                                            : Value());
  }
  Text text = captured(*macro.children[0]);
  depth -= 10;
  scopes.resize(1);
  std::move(outside.begin(), outside.end(), std::back_inserter(scopes));
  return string(node, std::move(text));
}

} // namespace rapt::chat
