//===- Expressions.cpp -----------------------------------------------------===//
#include "lib/Generation/Chat/Access.h"
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Evaluator.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Operators.h"

namespace rapt::chat {

Value Evaluator::evaluate(const Node &node) {
  if (!enter(node, 1))
    return {};
  ++depth;
  Value value = evaluateInner(node);
  --depth;
  // Printing, comparing and freeing a value recurse into its items.
  if (value.nesting() > bounds.nesting)
    return fail("nests values deeper than " + std::to_string(bounds.nesting));
  return failed() ? Value() : value;
}

Value Evaluator::evaluateName(const Node &node) {
  const Value &found = slotOf(node.hops, node.slot);
  if (!found.is(Kind::Undefined) || !found.why().empty())
    return found;
  std::string unknown = node.names[0] == "lipsum" ? unknownMessage("function", "lipsum") : "";
  return Value::undefined(unknown.empty() ? "'" + node.names[0] + "' is undefined" : unknown);
}

Value Evaluator::evaluateInner(const Node &node) {
  switch (node.kind) {
  case NodeKind::Constant:
    return node.value;
  case NodeKind::Name:
    return evaluateName(node);
  case NodeKind::Member: {
    Value object = evaluate(*node.children[0]);
    return failed() ? Value() : attributeOf(*this, object, Value::of(std::string_view(node.names[0])));
  }
  case NodeKind::Item: {
    Value object = evaluate(*node.children[0]), key = failed() ? Value() : evaluate(*node.children[1]);
    return failed() ? Value() : itemOf(*this, object, key);
  }
  case NodeKind::Slice:
    return evaluateSlice(node);
  case NodeKind::Call:
    return call(node);
  case NodeKind::Captured:
    return string(captured(node), escapes);
  case NodeKind::Filter:
  case NodeKind::Test: {
    Value input = evaluate(*node.children[0]);
    Arguments arguments = failed() ? Arguments() : evaluateArguments(node);
    line = node.line;
    if (failed())
      return {};
    return node.kind == NodeKind::Filter ? applyFilter(*this, node.names[0], input, arguments)
                                         : Value::of(applyTest(*this, node.names[0], input, arguments));
  }
  case NodeKind::ListLiteral:
  case NodeKind::DictLiteral:
    return evaluateCollection(node);
  case NodeKind::And:
  case NodeKind::Or:
  case NodeKind::Not:
  case NodeKind::Choice:
    return evaluateLogic(node);
  default:
    return evaluateOperator(node);
  }
}

Value Evaluator::evaluateSlice(const Node &node) {
  Value object = evaluate(*node.children[0]), limits[3];
  for (size_t i = 0; i < 3 && !failed(); ++i)
    limits[i] = node.children[i + 1] ? evaluate(*node.children[i + 1]) : Value::none();
  return failed() ? Value() : sliceOf(*this, object, limits[0], limits[1], limits[2]);
}

Value Evaluator::evaluateCollection(const Node &node) {
  if (node.kind == NodeKind::ListLiteral) {
    List items;
    for (const NodePtr &entry : node.children)
      items.push_back(evaluate(*entry));
    return list(std::move(items), !node.names.empty());
  }
  Dict members;
  for (size_t i = 0; i + 1 < node.children.size() && !failed(); i += 2) {
    Value key = evaluate(*node.children[i]), value = failed() ? Value() : evaluate(*node.children[i + 1]);
    if (!failed())
      members.set(*this, std::move(key), std::move(value));
  }
  return failed() ? Value() : dict(std::move(members));
}

Value Evaluator::evaluateLogic(const Node &node) {
  switch (node.kind) {
  case NodeKind::Not: {
    Value value = evaluate(*node.children[0]);
    return Value::of(!isTrue(value));
  }
  case NodeKind::Choice:
    if (isTrue(evaluate(*node.children[1])))
      return evaluate(*node.children[0]);
    if (node.children[2] && !failed())
      return evaluate(*node.children[2]);
    return Value::undefined("the condition does not hold, and there is no 'else'");
  default: {
    Value value;
    for (const NodePtr &operand : node.children) {
      value = evaluate(*operand);
      if (failed() || isTrue(value) == (node.kind == NodeKind::Or))
        break;
    }
    return value;
  }
  }
}

Value Evaluator::evaluateOperator(const Node &node) {
  if (node.kind == NodeKind::Comparison)
    return evaluateComparison(node);
  List operands;
  for (const NodePtr &child : node.children) {
    operands.push_back(evaluate(*child));
    if (failed())
      return {};
  }
  line = node.line;
  switch (node.kind) {
  case NodeKind::Concatenation:
    return concatenated(*this, operands);
  case NodeKind::Negative:
    return negated(*this, operands[0]);
  case NodeKind::Positive:
    if (operands[0].is(Kind::Undefined))
      return fail(operands[0].why());
    if (!operands[0].isNumber())
      return fail("a sign before " + std::string(typeName(operands[0])));
    return operands[0].is(Kind::Bool) ? Value::of(operands[0].integer()) : operands[0];
  default:
    return arithmetic(*this, node.names[0], operands[0], operands[1]);
  }
}

Value Evaluator::evaluateComparison(const Node &node) {
  Value left = evaluate(*node.children[0]);
  for (size_t i = 0; i < node.names.size() && !failed(); ++i) {
    Value right = evaluate(*node.children[i + 1]);
    if (failed() || !compares(*this, node.names[i], left, right))
      return Value::of(false);
    left = std::move(right);
  }
  return Value::of(true);
}

} // namespace rapt::chat
