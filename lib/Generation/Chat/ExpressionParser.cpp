//===- ExpressionParser.cpp ------------------------------------------------===//
#include "lib/Generation/Chat/ExpressionParser.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Support/Json.h"
#include <algorithm>

namespace rapt::chat {

NodePtr ExpressionParser::fail(const std::string &message) {
  if (!failure)
    failure = templateError(token().line, message);
  at = tokens.size() - 1;
  return nullptr;
}

NodePtr ExpressionParser::unexpected() {
  switch (token().kind) {
  case TokenKind::End:
    return fail("the template ends too early");
  case TokenKind::BlockEnd:
  case TokenKind::VariableEnd:
    return fail("the tag ends too early");
  default:
    return fail("unexpected '" + json::printable(token().text, 40) + "'");
  }
}

std::string ExpressionParser::expectName() {
  if (token().kind == TokenKind::Name)
    return tokens[at++].text;
  unexpected();
  return {};
}

void ExpressionParser::adopt(Node &parent, NodePtr child) {
  if (child)
    parent.height = std::max(parent.height, child->height + 1);
  parent.children.push_back(std::move(child));
  if (parent.height > highest)
    fail("more than " + std::to_string(highest) + " operators, filters or statements stand in each other");
}

NodePtr ExpressionParser::make(NodeKind kind, NodePtr first, NodePtr second) {
  NodePtr node(new Node{kind, token().line});
  if (first)
    adopt(*node, std::move(first));
  if (second)
    adopt(*node, std::move(second));
  return node;
}

NodePtr ExpressionParser::parseExpression(bool withChoice) {
  Nesting nesting(*this);
  const auto known = ptrdiff_t(unknown.size());
  NodePtr value = parseOr();
  while (withChoice && !failure && takeName("if")) {
    unknown.erase(unknown.begin() + known, unknown.end()); // the value may never be reached
    ++branches;
    NodePtr condition = parseOr(), choice = make(NodeKind::Choice, std::move(value), std::move(condition));
    adopt(*choice, takeName("else") ? parseExpression() : nullptr);
    --branches;
    value = std::move(choice);
  }
  return failure ? nullptr : std::move(value);
}

/// Expressions with commas between them are a tuple.
NodePtr ExpressionParser::parseTuple(bool withChoice) {
  NodePtr first = parseExpression(withChoice);
  if (failure || !isOperator(","))
    return first;
  NodePtr list = make(NodeKind::ListLiteral, std::move(first));
  list->names = {"tuple"};
  auto ends = [&] {
    return token().kind == TokenKind::BlockEnd || token().kind == TokenKind::VariableEnd || isOperator(")");
  };
  while (!failure && takeOperator(",") && !ends())
    adopt(*list, parseExpression(withChoice));
  return list;
}

NodePtr ExpressionParser::parseOr() {
  NodePtr left = parseAnd();
  if (failure || !isName("or"))
    return left;
  NodePtr node = make(NodeKind::Or, std::move(left));
  while (!failure && takeName("or"))
    adopt(*node, parseAnd());
  return node;
}

NodePtr ExpressionParser::parseAnd() {
  NodePtr left = parseNot();
  if (failure || !isName("and"))
    return left;
  NodePtr node = make(NodeKind::And, std::move(left));
  while (!failure && takeName("and"))
    adopt(*node, parseNot());
  return node;
}

NodePtr ExpressionParser::parseConcatenation() {
  NodePtr left = parseProduct();
  if (failure || !isOperator("~"))
    return left;
  NodePtr node = make(NodeKind::Concatenation, std::move(left));
  while (!failure && takeOperator("~"))
    adopt(*node, parseProduct());
  return node;
}

NodePtr ExpressionParser::parseNot() {
  if (!takeName("not"))
    return parseComparison();
  Nesting nesting(*this);
  return failure ? nullptr : make(NodeKind::Not, parseNot());
}

NodePtr ExpressionParser::parseComparison() {
  NodePtr node = parseSum();
  if (failure)
    return nullptr;
  NodePtr comparison = make(NodeKind::Comparison, std::move(node));
  while (!failure) {
    static const std::string_view signs[] = {"==", "!=", "<", "<=", ">", ">="};
    bool isNot = isName("not") && token(1).kind == TokenKind::Name && token(1).text == "in";
    if (isNot || isName("in"))
      comparison->names.push_back(isNot ? "not in" : "in");
    else if (token().kind == TokenKind::Operator &&
             std::find(std::begin(signs), std::end(signs), token().text) != std::end(signs))
      comparison->names.push_back(token().text);
    else
      break;
    at += isNot ? 2 : 1;
    adopt(*comparison, parseSum());
  }
  return failure ? nullptr : comparison->names.empty() ? std::move(comparison->children[0]) : std::move(comparison);
}

NodePtr ExpressionParser::parseLeft(Part part, std::initializer_list<std::string_view> operators) {
  NodePtr left = (this->*part)();
  while (!failure && token().kind == TokenKind::Operator &&
         std::find(operators.begin(), operators.end(), token().text) != operators.end()) {
    std::string sign = tokens[at++].text;
    NodePtr right = (this->*part)();
    left = make(NodeKind::Binary, std::move(left), std::move(right));
    left->names = {sign};
  }
  return left;
}

/// Filters, tests and calls bind to all of a signed expression.
NodePtr ExpressionParser::parseFiltered() {
  NodePtr node = parseUnary();
  while (!failure)
    if (takeOperator("|"))
      node = parseFilter(std::move(node));
    else if (takeName("is"))
      node = parseTest(std::move(node));
    else if (isOperator("("))
      node = parsePostfix(std::move(node));
    else
      break;
  return node;
}

NodePtr ExpressionParser::parseUnary() {
  bool minus = isOperator("-");
  if (!minus && !isOperator("+"))
    return parsePostfix(parsePrimary());
  ++at;
  Nesting nesting(*this);
  return failure ? nullptr : make(minus ? NodeKind::Negative : NodeKind::Positive, parseUnary());
}

NodePtr ExpressionParser::parseNumber() {
  NodePtr node = make(NodeKind::Constant);
  bool whole = token().kind == TokenKind::Integer;
  const std::string &text = tokens[at++].text;
  constexpr size_t most = 4300; // digits, as Python has it
  if (text.size() > most)
    return fail("a number has more than " + std::to_string(most) + " digits");
  if (whole)
    node->value = Value::of(readInteger(textOf(text), text.starts_with("0") ? 0 : 10).value_or(BigInteger()));
  else
    node->value = Value::of(readReal(textOf(text)).value_or(0));
  return node;
}

NodePtr ExpressionParser::parseString() {
  NodePtr node = make(NodeKind::Constant);
  std::string text;
  while (token().kind == TokenKind::String)
    text += tokens[at++].text;
  node->value = Value::of(std::string_view(text));
  return node;
}

NodePtr ExpressionParser::parsePrimary() {
  if (failure)
    return nullptr;
  if (token().kind == TokenKind::Name) {
    NodePtr node = make(NodeKind::Name);
    std::string name = tokens[at++].text;
    bool isTrue = name == "true" || name == "True", isFalse = name == "false" || name == "False";
    if (isTrue || isFalse || name == "none" || name == "None") {
      node->kind = NodeKind::Constant;
      node->value = isTrue || isFalse ? Value::of(isTrue) : Value::none();
    }
    node->names = {std::move(name)};
    return node;
  }
  if (token().kind == TokenKind::String)
    return parseString();
  if (token().kind == TokenKind::Integer || token().kind == TokenKind::Float)
    return parseNumber();
  if (isOperator("["))
    return parseList();
  if (isOperator("{"))
    return parseDict();
  if (!takeOperator("("))
    return unexpected();
  if (takeOperator(")")) {
    NodePtr empty = make(NodeKind::ListLiteral);
    empty->names = {"tuple"};
    return empty;
  }
  NodePtr node = parseTuple();
  return expectOperator(")") ? std::move(node) : nullptr;
}

NodePtr ExpressionParser::parseList() {
  ++at;
  NodePtr list = make(NodeKind::ListLiteral);
  while (!failure && !takeOperator("]")) {
    if (!list->children.empty() && expectOperator(",") && takeOperator("]"))
      break;
    adopt(*list, parseExpression());
  }
  return failure ? nullptr : std::move(list);
}

NodePtr ExpressionParser::parseDict() {
  ++at;
  NodePtr dict = make(NodeKind::DictLiteral);
  while (!failure && !takeOperator("}")) {
    if (!dict->children.empty() && expectOperator(",") && takeOperator("}"))
      break;
    adopt(*dict, parseExpression());
    expectOperator(":");
    adopt(*dict, parseExpression());
  }
  return failure ? nullptr : std::move(dict);
}

NodePtr ExpressionParser::parsePostfix(NodePtr node) {
  while (!failure)
    if (takeOperator(".")) {
      NodePtr member = make(NodeKind::Member, std::move(node));
      if (token().kind == TokenKind::Integer) {
        member->kind = NodeKind::Item;
        adopt(*member, parseNumber());
      } else {
        member->names = {expectName()};
      }
      node = std::move(member);
    } else if (takeOperator("[")) {
      node = parseSubscript(std::move(node));
    } else if (isOperator("(")) {
      NodePtr call = make(NodeKind::Call, std::move(node));
      parseArguments(*call);
      node = std::move(call);
    } else {
      break;
    }
  return node;
}

/// An expression, or a Slice without its object.
NodePtr ExpressionParser::parseIndex() {
  auto ends = [&] { return isOperator(":") || isOperator("]") || isOperator(","); };
  NodePtr first = isOperator(":") ? nullptr : parseExpression();
  if (!takeOperator(":"))
    return first;
  NodePtr slice = make(NodeKind::Slice);
  slice->children.emplace_back();
  adopt(*slice, std::move(first));
  adopt(*slice, ends() ? nullptr : parseExpression());
  adopt(*slice, takeOperator(":") && !ends() ? parseExpression() : nullptr);
  return failure ? nullptr : std::move(slice);
}

/// Several indices are a tuple, and so is none.
NodePtr ExpressionParser::parseSubscript(NodePtr object) {
  NodePtr key = make(NodeKind::ListLiteral);
  key->names = {"tuple"};
  auto isBare = [](const Node &index) { return index.kind == NodeKind::Slice && !index.children[0]; };
  while (!failure && !takeOperator("]")) {
    if (!key->children.empty())
      expectOperator(",");
    NodePtr index = parseIndex();
    if (!failure && isBare(*index) && (isOperator(",") || !key->children.empty()))
      return unexpected();
    adopt(*key, std::move(index));
  }
  if (failure)
    return nullptr;
  if (key->children.size() != 1)
    return make(NodeKind::Item, std::move(object), std::move(key));
  NodePtr index = std::move(key->children[0]);
  if (!isBare(*index))
    return make(NodeKind::Item, std::move(object), std::move(index));
  NodePtr slice = make(NodeKind::Slice, std::move(object));
  for (size_t i = 1; i < index->children.size(); ++i)
    adopt(*slice, std::move(index->children[i]));
  return slice;
}

/// As Jinja orders them: arguments, then names and items of a list, then members of a dict.
NodePtr ExpressionParser::parseArgument(bool &hasNames, bool &hasItems, bool &hasMembers) {
  if (hasMembers)
    return unexpected();
  if (takeOperator("**")) {
    hasMembers = true;
    return make(NodeKind::UnpackNamed, parseExpression());
  }
  if (takeOperator("*")) {
    if (hasItems)
      return fail("a call has two lists of arguments");
    hasItems = true;
    return make(NodeKind::Unpack, parseExpression());
  }
  if (token().kind == TokenKind::Name && token(1).kind == TokenKind::Operator && token(1).text == "=") {
    std::string name = expectName();
    ++at;
    hasNames = true;
    NodePtr keyword = make(NodeKind::Keyword, parseExpression());
    keyword->names = {std::move(name)};
    return keyword;
  }
  return hasNames || hasItems ? unexpected() : parseExpression();
}

void ExpressionParser::parseArguments(Node &call) {
  bool isFirst = true, hasNames = false, hasItems = false, hasMembers = false;
  expectOperator("(");
  while (!failure && !takeOperator(")")) {
    if (!isFirst && expectOperator(",") && takeOperator(")"))
      break;
    isFirst = false;
    adopt(call, parseArgument(hasNames, hasItems, hasMembers));
  }
}

/// A name that Jinja lacks is an error of the template, wherever it stands but in a condition or what depends on it.
void ExpressionParser::checkKnown(std::string_view kind, const std::string &name) {
  bool isKnown = kind == "filter" ? findFilter(name) : findTest(name);
  if (!failure && !isKnown && branches == 0)
    unknown.push_back(templateError(token().line, unknownMessage(kind, name)));
}

NodePtr ExpressionParser::parseFilter(NodePtr input) {
  NodePtr node = make(NodeKind::Filter, std::move(input));
  node->names = {expectName()};
  checkKnown("filter", node->names[0]);
  if (isOperator("("))
    parseArguments(*node);
  return failure ? nullptr : std::move(node);
}

NodePtr ExpressionParser::parseTest(NodePtr input) {
  bool negated = takeName("not");
  NodePtr node = make(NodeKind::Test, std::move(input));
  node->names = {expectName()};
  checkKnown("test", node->names[0]);
  bool value = token().kind == TokenKind::Name || token().kind == TokenKind::String ||
               token().kind == TokenKind::Integer || token().kind == TokenKind::Float || isOperator("[") ||
               isOperator("{");
  if (isName("is"))
    return fail("a test follows a test");
  if (isOperator("("))
    parseArguments(*node);
  else if (value && !isName("else") && !isName("or") && !isName("and") && !isName("if"))
    adopt(*node, parsePostfix(parsePrimary()));
  if (failure)
    return nullptr;
  return negated ? make(NodeKind::Not, std::move(node)) : std::move(node);
}

} // namespace rapt::chat
