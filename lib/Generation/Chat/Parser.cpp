//===- Parser.cpp ----------------------------------------------------------===//
#include "lib/Generation/Chat/Parser.h"
#include "lib/Generation/Chat/Lexer.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <charconv>

namespace rapt::chat {
namespace {

constexpr int deepest = 100;

/// Recursive descent over the grammar of Jinja's own parser. The first error ends it: later calls return null.
class Parser {
public:
  explicit Parser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}
  Expected<NodePtr> run();

private:
  const Token &token(size_t ahead = 0) const { return tokens[std::min(at + ahead, tokens.size() - 1)]; }
  bool isOperator(std::string_view text) const { return token().kind == TokenKind::Operator && token().text == text; }
  bool isName(std::string_view text) const { return token().kind == TokenKind::Name && token().text == text; }
  bool takeOperator(std::string_view text) { return isOperator(text) && ++at; }
  bool takeName(std::string_view text) { return isName(text) && ++at; }
  NodePtr fail(const std::string &message);
  NodePtr unexpected();
  bool expectOperator(std::string_view text) { return takeOperator(text) || (unexpected(), false); }
  std::string expectName();
  bool expectEnd() { return (token().kind == TokenKind::BlockEnd && ++at) || (unexpected(), false); }
  NodePtr make(NodeKind kind, NodePtr first = nullptr, NodePtr second = nullptr);

  NodePtr parseBlock(std::initializer_list<std::string_view> ends);
  NodePtr parseStatement(const std::string &name);
  NodePtr parseIf();
  NodePtr parseFor();
  NodePtr parseSet();
  NodePtr parseWith();
  NodePtr parseGeneration();
  std::vector<NodePtr> parseParameters(Node &macro);
  NodePtr parseMacro();
  NodePtr parseMacroBody(NodePtr macro, std::vector<NodePtr> defaults, std::string_view end);
  NodePtr parseCallBlock();
  NodePtr parseCaptured(std::string_view end, bool filtered);
  std::vector<std::string> parseTargets();

  using Part = NodePtr (Parser::*)();
  NodePtr parseExpression();
  NodePtr parseTuple(bool withChoice = true);
  NodePtr parseOr();
  NodePtr parseAnd();
  NodePtr parseNot();
  NodePtr parseComparison();
  NodePtr parseLeft(Part part, std::initializer_list<std::string_view> operators);
  NodePtr parseSum() { return parseLeft(&Parser::parseConcatenation, {"+", "-"}); }
  NodePtr parseConcatenation() { return parseLeft(&Parser::parseProduct, {"~"}); }
  NodePtr parseProduct() { return parseLeft(&Parser::parsePower, {"*", "/", "//", "%"}); }
  NodePtr parsePower() { return parseLeft(&Parser::parseFiltered, {"**"}); }
  NodePtr parseFiltered();
  NodePtr parseUnary();
  NodePtr parsePrimary();
  NodePtr parseNumber();
  NodePtr parsePostfix(NodePtr node);
  NodePtr parseSubscript(NodePtr object);
  NodePtr parseFilter(NodePtr input);
  NodePtr parseTest(NodePtr input);
  NodePtr parseList();
  NodePtr parseDict();
  void parseArguments(Node &call);

  std::vector<Token> tokens;
  size_t at = 0;
  int depth = 0, loops = 0;
  std::optional<Error> failure;
};

NodePtr Parser::fail(const std::string &message) {
  if (!failure)
    failure = templateError(token().line, message);
  at = tokens.size() - 1;
  return nullptr;
}

NodePtr Parser::unexpected() {
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

std::string Parser::expectName() {
  if (token().kind == TokenKind::Name)
    return tokens[at++].text;
  unexpected();
  return {};
}

NodePtr Parser::make(NodeKind kind, NodePtr first, NodePtr second) {
  auto node = std::make_unique<Node>(Node{kind, token().line});
  if (first)
    node->children.push_back(std::move(first));
  if (second)
    node->children.push_back(std::move(second));
  return node;
}

/// Statements up to a tag with one of the names `ends`, which is not taken but for its beginning.
NodePtr Parser::parseBlock(std::initializer_list<std::string_view> ends) {
  if (++depth > deepest)
    return fail("the template is nested too deeply");
  NodePtr block = make(NodeKind::Block);
  while (!failure) {
    if (token().kind == TokenKind::End) {
      if (ends.size() == 0)
        break;
      return unexpected();
    }
    if (token().kind == TokenKind::Data) {
      NodePtr data = make(NodeKind::Data);
      data->value = Value::of(tokens[at++].text);
      block->children.push_back(std::move(data));
      continue;
    }
    bool output = tokens[at++].kind == TokenKind::VariableBegin;
    if (output) {
      NodePtr expression = parseTuple();
      if (!failure && token().kind != TokenKind::VariableEnd)
        return unexpected();
      ++at;
      block->children.push_back(make(NodeKind::Output, std::move(expression)));
      continue;
    }
    if (token().kind == TokenKind::Name && std::find(ends.begin(), ends.end(), token().text) != ends.end())
      break;
    if (NodePtr statement = parseStatement(expectName()))
      block->children.push_back(std::move(statement));
  }
  --depth;
  return failure ? nullptr : std::move(block);
}

NodePtr Parser::parseStatement(const std::string &name) {
  if (name == "if")
    return parseIf();
  if (name == "for")
    return parseFor();
  if (name == "set")
    return parseSet();
  if (name == "macro")
    return parseMacro();
  if (name == "with")
    return parseWith();
  if (name == "call")
    return parseCallBlock();
  if (name == "filter") {
    NodePtr text = parseCaptured("endfilter", true);
    return failure ? nullptr : make(NodeKind::Output, std::move(text));
  }
  if (name == "generation")
    return parseGeneration();
  if (name == "break" || name == "continue") {
    if (loops == 0)
      return fail("'" + name + "' outside of a loop");
    NodePtr node = make(name == "break" ? NodeKind::Break : NodeKind::Continue);
    return expectEnd() ? std::move(node) : nullptr;
  }
  return failure ? nullptr : fail("the tag '" + json::printable(name, 40) + "' is not supported");
}

NodePtr Parser::parseIf() {
  NodePtr condition = parseTuple(), node = make(NodeKind::If, std::move(condition));
  if (!expectEnd())
    return nullptr;
  node->children.push_back(parseBlock({"elif", "else", "endif"}));
  if (failure)
    return nullptr;
  std::string end = expectName();
  if (end == "elif") {
    if (++depth > deepest)
      return fail("the template is nested too deeply");
    node->children.push_back(parseIf());
    --depth;
    return node;
  }
  if (end == "else") {
    if (!expectEnd())
      return nullptr;
    node->children.push_back(parseBlock({"endif"}));
    ++at;
  }
  return expectEnd() ? std::move(node) : nullptr;
}

std::vector<std::string> Parser::parseTargets() {
  bool bracket = takeOperator("(");
  std::vector<std::string> names = {expectName()};
  while (takeOperator(","))
    names.push_back(expectName());
  if (bracket)
    expectOperator(")");
  return names;
}

NodePtr Parser::parseFor() {
  NodePtr node = make(NodeKind::For);
  node->names = parseTargets();
  if (!takeName("in"))
    return unexpected();
  node->children.push_back(parseTuple(false));
  if (takeName("if"))
    node->condition = parseExpression();
  if (isName("recursive"))
    return fail("'recursive' loops are not supported");
  if (!expectEnd())
    return nullptr;
  ++loops;
  node->children.push_back(parseBlock({"else", "endfor"}));
  --loops;
  if (!failure && takeName("else")) {
    expectEnd();
    node->otherwise = parseBlock({"endfor"});
  }
  ++at;
  return !failure && expectEnd() ? std::move(node) : nullptr;
}

NodePtr Parser::parseSet() {
  NodePtr node = make(NodeKind::Set);
  node->names = parseTargets();
  if (takeOperator(".")) {
    node->kind = NodeKind::SetMember;
    node->names.push_back(expectName());
  }
  if (takeOperator("=")) {
    node->children.push_back(parseTuple());
  } else if (node->kind == NodeKind::Set && node->names.size() == 1) {
    node->children.push_back(parseCaptured("endset", false));
    return failure ? nullptr : std::move(node);
  } else {
    return unexpected();
  }
  return !failure && expectEnd() ? std::move(node) : nullptr;
}

NodePtr Parser::parseWith() {
  NodePtr node = make(NodeKind::With);
  while (!failure && token().kind != TokenKind::BlockEnd) {
    if (!node->names.empty())
      expectOperator(",");
    node->names.push_back(expectName());
    expectOperator("=");
    node->children.push_back(parseExpression());
  }
  if (failure || !expectEnd())
    return nullptr;
  node->children.push_back(parseBlock({"endwith"}));
  ++at;
  return !failure && expectEnd() ? std::move(node) : nullptr;
}

/// Marks the assistant's text for training. Hugging Face renders it as a call, so that names set in it end with it.
NodePtr Parser::parseGeneration() {
  if (!expectEnd())
    return nullptr;
  int outside = std::exchange(loops, 0);
  NodePtr node = make(NodeKind::With, parseBlock({"endgeneration"}));
  loops = outside;
  ++at;
  return !failure && expectEnd() ? std::move(node) : nullptr;
}

/// Appends the names in brackets to those of the macro; the result is the defaults of the last of them.
std::vector<NodePtr> Parser::parseParameters(Node &macro) {
  std::vector<NodePtr> defaults;
  expectOperator("(");
  while (!failure && !isOperator(")")) {
    if (macro.names.size() > 1)
      expectOperator(",");
    macro.names.push_back(expectName());
    if (takeOperator("="))
      defaults.push_back(parseExpression());
    else if (!defaults.empty())
      fail("a parameter without a default follows one with");
  }
  ++at;
  return defaults;
}

NodePtr Parser::parseMacroBody(NodePtr macro, std::vector<NodePtr> defaults, std::string_view end) {
  if (failure || !expectEnd())
    return nullptr;
  int outside = std::exchange(loops, 0);
  macro->children.push_back(parseBlock({end}));
  loops = outside;
  ++at;
  std::move(defaults.begin(), defaults.end(), std::back_inserter(macro->children));
  return !failure && expectEnd() ? std::move(macro) : nullptr;
}

NodePtr Parser::parseMacro() {
  NodePtr macro = make(NodeKind::MacroDefinition);
  macro->names = {expectName()};
  std::vector<NodePtr> defaults = parseParameters(*macro);
  return parseMacroBody(std::move(macro), std::move(defaults), "endmacro");
}

NodePtr Parser::parseCallBlock() {
  NodePtr caller = make(NodeKind::MacroDefinition);
  caller->names = {"caller"};
  std::vector<NodePtr> defaults;
  if (isOperator("("))
    defaults = parseParameters(*caller);
  NodePtr callee = parseExpression();
  if (!failure && callee->kind != NodeKind::Call)
    return fail("the tag 'call' needs the call of a macro");
  caller = parseMacroBody(std::move(caller), std::move(defaults), "endcall");
  return failure ? nullptr : make(NodeKind::CallBlock, std::move(callee), std::move(caller));
}

/// The output of a block up to the tag `end`, through the filters that its first tag names. `filtered`: the first
/// filter stands there without a bar.
NodePtr Parser::parseCaptured(std::string_view end, bool filtered) {
  NodePtr value = make(NodeKind::Captured);
  Node &captured = *value;
  while (!failure && (filtered || takeOperator("|"))) {
    value = parseFilter(std::move(value));
    filtered = false;
  }
  if (failure || !expectEnd())
    return nullptr;
  captured.children.push_back(parseBlock({end}));
  ++at;
  return !failure && expectEnd() ? std::move(value) : nullptr;
}

NodePtr Parser::parseExpression() {
  if (++depth > deepest)
    return fail("an expression is nested too deeply");
  NodePtr value = parseOr();
  while (!failure && takeName("if")) {
    NodePtr condition = parseOr(), choice = make(NodeKind::Choice, std::move(value), std::move(condition));
    if (takeName("else"))
      choice->otherwise = parseExpression();
    value = std::move(choice);
  }
  --depth;
  return value;
}

/// Expressions with commas between them are a tuple.
NodePtr Parser::parseTuple(bool withChoice) {
  NodePtr first = withChoice ? parseExpression() : parseOr();
  if (!isOperator(","))
    return first;
  NodePtr list = make(NodeKind::ListLiteral, std::move(first));
  list->names = {"tuple"};
  auto ends = [&] {
    return token().kind == TokenKind::BlockEnd || token().kind == TokenKind::VariableEnd || isOperator(")");
  };
  while (!failure && takeOperator(",") && !ends())
    list->children.push_back(withChoice ? parseExpression() : parseOr());
  return list;
}

NodePtr Parser::parseOr() {
  NodePtr left = parseAnd();
  while (!failure && takeName("or")) {
    NodePtr right = parseAnd();
    left = make(NodeKind::Or, std::move(left), std::move(right));
  }
  return left;
}

NodePtr Parser::parseAnd() {
  NodePtr left = parseNot();
  while (!failure && takeName("and")) {
    NodePtr right = parseNot();
    left = make(NodeKind::And, std::move(left), std::move(right));
  }
  return left;
}

NodePtr Parser::parseNot() {
  if (!takeName("not"))
    return parseComparison();
  if (++depth > deepest)
    return fail("an expression is nested too deeply");
  NodePtr node = make(NodeKind::Not, parseNot());
  --depth;
  return node;
}

NodePtr Parser::parseComparison() {
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
    comparison->children.push_back(parseSum());
  }
  return failure ? nullptr : comparison->names.empty() ? std::move(comparison->children[0]) : std::move(comparison);
}

NodePtr Parser::parseLeft(Part part, std::initializer_list<std::string_view> operators) {
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
NodePtr Parser::parseFiltered() {
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

NodePtr Parser::parseUnary() {
  bool minus = isOperator("-");
  if (!minus && !isOperator("+"))
    return parsePostfix(parsePrimary());
  ++at;
  if (++depth > deepest)
    return fail("an expression is nested too deeply");
  NodePtr node = make(minus ? NodeKind::Negative : NodeKind::Positive, parseUnary());
  --depth;
  return node;
}

NodePtr Parser::parseNumber() {
  NodePtr node = make(NodeKind::Constant);
  const std::string &text = tokens[at++].text;
  int64_t integer = 0;
  double real = 0;
  bool whole = tokens[at - 1].kind == TokenKind::Integer;
  auto read = whole ? std::from_chars(text.data(), text.data() + text.size(), integer)
                    : std::from_chars(text.data(), text.data() + text.size(), real);
  if (read.ec != std::errc())
    return fail("the number " + json::printable(text, 40) + " is too large");
  node->value = whole ? Value::of(integer) : Value::of(real);
  return node;
}

NodePtr Parser::parsePrimary() {
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
  if (token().kind == TokenKind::String) {
    NodePtr node = make(NodeKind::Constant);
    std::string text;
    while (token().kind == TokenKind::String)
      text += tokens[at++].text;
    node->value = Value::of(text);
    return node;
  }
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

NodePtr Parser::parseList() {
  ++at;
  NodePtr list = make(NodeKind::ListLiteral);
  while (!failure && !takeOperator("]")) {
    if (!list->children.empty() && expectOperator(",") && takeOperator("]"))
      break;
    list->children.push_back(parseExpression());
  }
  return failure ? nullptr : std::move(list);
}

NodePtr Parser::parseDict() {
  ++at;
  NodePtr dict = make(NodeKind::DictLiteral);
  while (!failure && !takeOperator("}")) {
    if (!dict->children.empty() && expectOperator(",") && takeOperator("}"))
      break;
    dict->children.push_back(parseExpression());
    expectOperator(":");
    dict->children.push_back(parseExpression());
  }
  return failure ? nullptr : std::move(dict);
}

NodePtr Parser::parsePostfix(NodePtr node) {
  while (!failure)
    if (takeOperator(".")) {
      NodePtr member = make(NodeKind::Member, std::move(node));
      if (token().kind == TokenKind::Integer) {
        member->kind = NodeKind::Item;
        member->children.push_back(parseNumber());
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

NodePtr Parser::parseSubscript(NodePtr object) {
  NodePtr parts[3];
  int count = 0;
  bool slices = false;
  while (!failure && !isOperator("]")) {
    if (takeOperator(":")) {
      slices = true;
      if (++count > 2)
        return unexpected();
    } else {
      parts[count] = parseExpression();
    }
  }
  if (!expectOperator("]"))
    return nullptr;
  if (!slices && !parts[0])
    return fail("an index is missing");
  if (!slices)
    return make(NodeKind::Item, std::move(object), std::move(parts[0]));
  NodePtr node = make(NodeKind::Slice, std::move(object));
  for (NodePtr &part : parts)
    node->children.push_back(std::move(part));
  return node;
}

void Parser::parseArguments(Node &call) {
  expectOperator("(");
  bool first = true, named = false;
  while (!failure && !takeOperator(")")) {
    if (!first && expectOperator(",") && takeOperator(")"))
      break;
    first = false;
    if (isOperator("**")) {
      fail("arguments unpacked with '**' are not supported");
    } else if (!named && takeOperator("*")) {
      call.children.push_back(make(NodeKind::Unpack, parseExpression()));
      continue;
    } else if (token().kind == TokenKind::Name && token(1).kind == TokenKind::Operator && token(1).text == "=") {
      call.names.push_back(expectName());
      ++at;
      named = true;
    } else if (named) {
      unexpected();
    }
    call.children.push_back(parseExpression());
  }
}

NodePtr Parser::parseFilter(NodePtr input) {
  NodePtr node = make(NodeKind::Filter, std::move(input));
  node->names = {expectName()};
  if (isOperator("("))
    parseArguments(*node);
  return failure ? nullptr : std::move(node);
}

NodePtr Parser::parseTest(NodePtr input) {
  bool negated = takeName("not");
  NodePtr node = make(NodeKind::Test, std::move(input));
  node->names = {expectName()};
  bool value = token().kind == TokenKind::Name || token().kind == TokenKind::String ||
               token().kind == TokenKind::Integer || token().kind == TokenKind::Float || isOperator("[") ||
               isOperator("{");
  if (isOperator("("))
    parseArguments(*node);
  else if (value && !isName("else") && !isName("or") && !isName("and") && !isName("if") && !isName("is"))
    node->children.push_back(parsePostfix(parsePrimary()));
  if (failure)
    return nullptr;
  return negated ? make(NodeKind::Not, std::move(node)) : std::move(node);
}

Expected<NodePtr> Parser::run() {
  NodePtr root = parseBlock({});
  if (failure)
    return *failure;
  return root;
}

} // namespace

Expected<NodePtr> parseTemplate(std::string_view source) {
  Expected<std::vector<Token>> tokens = tokenize(source);
  if (!tokens)
    return tokens.error();
  return Parser(std::move(*tokens)).run();
}

} // namespace rapt::chat
