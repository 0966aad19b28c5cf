//===- Calls.cpp - Loops, macros and calls ---------------------------------===//
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Evaluator.h"
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>
#include <set>

namespace rapt::chat {

constexpr int callWeight = 4; ///< A call takes more of the stack than an expression.

bool Evaluator::keeps(const Node &node, Frame &inside, const Value &item) {
  begin(*node.conditionScope, inside);
  assign(*node.children[0], item);
  return !failed() && isTrue(evaluate(*node.condition));
}

/// As Jinja yields what a condition keeps: an item that has several targets is a tuple of what they were given.
Value Evaluator::unpacked(const Node &target, const Value &item) {
  if (target.kind == NodeKind::Name)
    return item;
  List parts;
  for (const NodePtr &part : target.children)
    parts.push_back(unpacked(*part, part->kind == NodeKind::Name ? slotOf(part->hops, part->slot) : Value()));
  return list(std::move(parts), true);
}

/// An iterator may fail behind items that the loop has done with, or does not reach.
Evaluator::Flow Evaluator::runFor(const Node &node) {
  Value iterable = evaluate(*node.children[1]);
  std::optional<Error> later;
  if (iterable.is(Kind::Iterator))
    later = std::exchange(iterable.iterator().failure, std::nullopt);
  std::optional<List> items = failed() ? std::nullopt : itemsOf(*this, iterable);
  Flow flow = Flow::Next;
  if (items && !failed() && runLoop(node, std::move(*items), 0, flow) && later && !failed())
    restore(*later);
  return flow;
}

bool Evaluator::runLoop(const Node &node, List items, int loopDepth, Flow &flow) {
  std::shared_ptr<Frame> outside = frame;
  if (node.condition) {
    List chosen;
    frame = makeFrame(*node.conditionScope, outside);
    for (const Value &item : items)
      if (keeps(node, *frame, item))
        chosen.push_back(unpacked(*node.children[0], item));
      else if (failed())
        break;
    items = std::move(chosen);
  }
  const Value variable = Value::of(Loop{std::move(items), 0, loopDepth, node.isRecursive ? &node : nullptr, outside});
  Loop &loop = variable.loop();
  frame = makeFrame(*node.scope, outside);
  std::shared_ptr<Frame> inside = frame;
  bool isBroken = false;
  bool isFinished = false; // as Jinja has it: 'else' is for loops of which no round came to its end
  for (size_t i = 0; i < loop.items.size() && spend(1 + node.scope->variables.size()); ++i) {
    loop.index = int64_t(i);
    begin(*node.scope, *inside);
    if (node.slot >= 0)
      inside->slots[size_t(node.slot)] = variable;
    assign(*node.children[0], loop.items[i]);
    Flow round = failed() ? Flow::Break : run(*node.children[2]);
    isFinished |= round == Flow::Next;
    isBroken = round == Flow::Break;
    if (isBroken)
      break;
  }
  if (!inside->isKept)
    inside->slots.clear();
  frame = outside;
  if (!isFinished && node.otherwise && !failed()) {
    frame = makeFrame(*node.otherwiseScope, outside);
    flow = run(*node.otherwise);
    frame = outside;
  }
  return !isBroken;
}

Value Evaluator::callLoop(const Value &value, const Arguments &arguments) {
  const Loop &loop = value.loop();
  if (!loop.recursive)
    return fail("the loop is called, but is not marked 'recursive'");
  if (arguments.values.size() != 1 || !arguments.named.empty())
    return fail("a recursive loop is called with its items");
  std::optional<List> items = itemsOf(*this, arguments.values[0]);
  if (!items || !enter(*loop.recursive, callWeight))
    return {};
  depth += callWeight;
  std::shared_ptr<Frame> outside = std::exchange(frame, loop.outer);
  Text before = std::exchange(out, {});
  Flow flow = Flow::Next;
  runLoop(*loop.recursive, std::move(*items), loop.depth + 1, flow);
  std::swap(out, before);
  frame = outside;
  depth -= callWeight;
  return string(std::move(before), escapes);
}

Value Evaluator::makeMacro(const Node &node) {
  for (std::shared_ptr<Frame> seen = frame; seen && !seen->isKept; seen = seen->outer) {
    seen->isKept = true;
    kept.push_back(seen);
    ledger.bytes += sizeof(Frame) + seen->slots.size() * sizeof(Value);
  }
  return Value::of(Macro{&node, frame, escapes});
}

void Evaluator::runCallBlock(const Node &node) {
  Value caller = makeMacro(*node.children[1]);
  if (!failed())
    writeValue(call(*node.children[0], &caller));
}

void Evaluator::bindDefaults(const Node &definition, Frame &inside, const std::vector<bool> &isGiven) {
  const std::vector<int> &slots = definition.parameters.slots;
  const size_t defaults = definition.children.size() - 1;
  for (size_t i = 0; i < slots.size() && !failed(); ++i)
    if (!isGiven[i])
      inside.slots[size_t(slots[i])] =
          i + defaults >= slots.size()
              ? evaluate(*definition.children[1 + i + defaults - slots.size()])
              : Value::undefined("the parameter '" + definition.names[i + 1] + "' was not given");
}

/// As Jinja's Macro does: parameters by position, by name and by default; what is left over goes to varargs and kwargs
/// if the macro reads them.
bool Evaluator::bindParameters(const Macro &macro, const Arguments &arguments, Frame &inside) {
  const Node &definition = *macro.definition;
  const Node::Parameters &parameters = definition.parameters;
  std::vector<bool> isGiven(parameters.slots.size());
  Dict kwargs;
  List varargs;
  Value caller = Value::undefined("there is no caller");
  for (size_t i = 0; i < arguments.values.size(); ++i)
    if (i < isGiven.size()) {
      inside.slots[size_t(parameters.slots[i])] = arguments.values[i];
      isGiven[i] = true;
    } else {
      varargs.push_back(arguments.values[i]);
    }
  for (const auto &[name, value] : arguments.named) {
    if (!spend(definition.names.size()))
      return false;
    auto found = std::find(definition.names.begin() + 1, definition.names.end(), name);
    size_t at = size_t(found - definition.names.begin()) - 1;
    if (found != definition.names.end() && !isGiven[at]) {
      inside.slots[size_t(parameters.slots[at])] = value;
      isGiven[at] = true;
    } else if (name == "caller" && parameters.caller >= 0) {
      caller = value;
    } else if (parameters.kwargs >= 0) {
      kwargs.set(*this, Value::of(std::string_view(name)), value);
    } else {
      fail("the macro '" + definition.names[0] + "' has no parameter '" + name + "'");
    }
  }
  if (!varargs.empty() && parameters.varargs < 0)
    fail("too many arguments for the macro '" + definition.names[0] + "'");
  auto give = [&](int slot, Value value) {
    if (slot >= 0)
      inside.slots[size_t(slot)] = std::move(value);
  };
  give(parameters.caller, caller);
  give(parameters.varargs, list(std::move(varargs), true));
  give(parameters.kwargs, dict(std::move(kwargs)));
  bindDefaults(definition, inside, isGiven);
  return !failed();
}

/// A macro sees the names around its definition, not those around its call.
Value Evaluator::callMacro(const Macro &macro, const Arguments &arguments) {
  const int callLine = line;
  if (!enter(*macro.definition, callWeight))
    return {};
  line = callLine; // of what is wrong with the arguments
  depth += callWeight;
  std::shared_ptr<Frame> outside = frame;
  bool isMarkup = escapes;
  frame = makeFrame(*macro.definition->scope, macro.frame);
  escapes = macro.escapes;
  Text text;
  if (bindParameters(macro, arguments, *frame))
    text = captured(*macro.definition);
  frame = outside;
  escapes = isMarkup;
  depth -= callWeight;
  return string(std::move(text), isMarkup);
}

/// All children behind the first are arguments.
Arguments Evaluator::evaluateArguments(const Node &node) {
  Arguments arguments;
  std::set<std::string> names;
  auto name = [&](const std::string &key, Value value) {
    if (!names.insert(key).second)
      fail("the argument '" + key + "' is given twice");
    arguments.named.emplace_back(key, std::move(value));
  };
  for (size_t i = 1; i < node.children.size() && !failed(); ++i) {
    const Node &child = *node.children[i];
    if (child.kind == NodeKind::Unpack) {
      if (std::optional<List> items = itemsOf(*this, evaluate(*child.children[0])))
        arguments.values.insert(arguments.values.end(), items->begin(), items->end());
    } else if (child.kind == NodeKind::UnpackNamed) {
      Value members = evaluate(*child.children[0]);
      const Dict *dict = failed() ? nullptr : membersOf(*this, members, "**");
      for (const auto &[key, value] : dict ? *dict : Dict())
        if (key.is(Kind::String) && spend(1))
          name(bytesOf(key.text()), value);
        else
          fail("'**' needs strings for keys");
    } else if (child.kind == NodeKind::Keyword) {
      name(child.names[0], evaluate(*child.children[0]));
    } else {
      arguments.values.push_back(evaluate(child));
    }
  }
  return arguments;
}

Value Evaluator::call(const Node &node, const Value *caller) {
  Value callee = evaluate(*node.children[0]);
  Arguments arguments = failed() ? Arguments() : evaluateArguments(node);
  if (failed())
    return {};
  if (caller)
    arguments.named.emplace_back("caller", *caller);
  line = node.line;
  switch (callee.kind()) {
  case Kind::Macro:
    return callMacro(callee.macro(), arguments);
  case Kind::Function:
    return apply(*this, callee.function(), Value::none(), arguments);
  case Kind::Method:
    return apply(*this, *callee.method().routine, callee.method().self, arguments);
  case Kind::Loop:
    return callLoop(callee, arguments);
  case Kind::Joiner:
    return callee.cycle().next++ ? callee.cycle().items[0] : Value::of("");
  case Kind::Undefined:
    return fail(callee.why());
  default:
    return fail(std::string(typeName(callee)) + " cannot be called");
  }
}

} // namespace rapt::chat
