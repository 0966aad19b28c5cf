//===- Parser.cpp - Statements ---------------------------------------------===//
#include "lib/Generation/Chat/Parser.h"
#include "lib/Generation/Chat/ExpressionParser.h"
#include "lib/Generation/Chat/Scopes.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <set>

namespace rapt::chat {
namespace {

class Parser : ExpressionParser {
public:
  using ExpressionParser::ExpressionParser;
  Expected<Syntax> run();

private:
  bool expectEnd() { return (token().kind == TokenKind::BlockEnd && ++at) || (unexpected(), false); }
  /// The statements up to a tag of these names, which is taken but for its end; the result is its name.
  std::string parseBody(Node &parent, std::initializer_list<std::string_view> ends);
  /// The same in a scope of its own, where Jinja forgets the conditions around it.
  std::string parseScope(Node &parent, std::initializer_list<std::string_view> ends);
  /// The same outside of all loops around it, whose 'break' cannot stand in it.
  void parseOwnBody(Node &parent, std::string_view end);
  NodePtr parseBlock(std::initializer_list<std::string_view> ends);
  NodePtr parseOutput();
  NodePtr parseStatement(const std::string &name);
  NodePtr parsePrint();
  NodePtr parseIf();
  NodePtr parseFor();
  NodePtr parseSet();
  NodePtr parseWith();
  NodePtr parseAutoescape();
  NodePtr parseGeneration();
  NodePtr parseNamedBlock();
  NodePtr parseRefused(const std::string &name);
  NodePtr parseLoopControl(const std::string &name);
  void parseParameters(Node &macro, std::vector<NodePtr> &defaults);
  NodePtr parseMacro();
  void parseMacroBody(Node &macro, std::vector<NodePtr> defaults, std::string_view end);
  NodePtr parseCallBlock();
  NodePtr parseCaptured(std::string_view end, bool filtered);
  /// Fails where a loop around it has the name "loop" for itself.
  void checkTarget(const Node &target);
  NodePtr parseTarget();
  NodePtr parseTargets(bool allowsMember = false);
  std::string parseAssigned();

  int loops = 0;       // that 'break' ends
  int loopsAround = 0; // beyond macros and blocks too
  std::vector<const Node *> blocks;
  std::set<std::string> blockNames;
};

NodePtr Parser::parseOutput() {
  NodePtr node = make(NodeKind::Output, parseTuple());
  if (!failure && token().kind != TokenKind::VariableEnd)
    return unexpected();
  ++at;
  return node;
}

/// Statements up to a tag with one of the names `ends`, which is not taken but for its beginning.
NodePtr Parser::parseBlock(std::initializer_list<std::string_view> ends) {
  Nesting nesting(*this);
  NodePtr block = make(NodeKind::Block);
  while (!failure) {
    if (token().kind == TokenKind::End) {
      if (ends.size() == 0)
        break;
      return unexpected();
    }
    if (token().kind == TokenKind::Data) {
      NodePtr data = make(NodeKind::Data);
      data->value = Value::of(std::string_view(tokens[at++].text));
      adopt(*block, std::move(data));
      continue;
    }
    if (tokens[at++].kind == TokenKind::VariableBegin) {
      adopt(*block, parseOutput());
      continue;
    }
    if (token().kind == TokenKind::Name && std::find(ends.begin(), ends.end(), token().text) != ends.end())
      break;
    if (NodePtr statement = parseStatement(expectName()); statement && expectEnd())
      adopt(*block, std::move(statement));
  }
  return failure ? nullptr : std::move(block);
}

std::string Parser::parseBody(Node &parent, std::initializer_list<std::string_view> ends) {
  takeOperator(":");
  if (failure || !expectEnd())
    return {};
  adopt(parent, parseBlock(ends));
  return failure ? std::string() : expectName();
}

std::string Parser::parseScope(Node &parent, std::initializer_list<std::string_view> ends) {
  const int outside = std::exchange(branches, 0);
  std::string end = parseBody(parent, ends);
  branches = outside;
  return end;
}

void Parser::parseOwnBody(Node &parent, std::string_view end) {
  int outside = std::exchange(loops, 0);
  parseScope(parent, {end});
  loops = outside;
}

NodePtr Parser::parseStatement(const std::string &name) {
  using Parse = NodePtr (Parser::*)();
  static const std::pair<std::string_view, Parse> statements[] = {
      {"if", &Parser::parseIf},
      {"for", &Parser::parseFor},
      {"set", &Parser::parseSet},
      {"macro", &Parser::parseMacro},
      {"with", &Parser::parseWith},
      {"call", &Parser::parseCallBlock},
      {"print", &Parser::parsePrint},
      {"block", &Parser::parseNamedBlock},
      {"autoescape", &Parser::parseAutoescape},
      {"generation", &Parser::parseGeneration},
  };
  if (failure)
    return nullptr;
  for (const auto &[known, parse] : statements)
    if (known == name)
      return (this->*parse)();
  if (name == "filter") {
    NodePtr text = parseCaptured("endfilter", true);
    return failure ? nullptr : make(NodeKind::FilterBlock, std::move(text));
  }
  if (name == "break" || name == "continue")
    return parseLoopControl(name);
  if (name == "include" || name == "import" || name == "from" || name == "extends")
    return parseRefused(name);
  return fail("the tag '" + json::printable(name, 40) + "' is none of Jinja's");
}

NodePtr Parser::parseLoopControl(const std::string &name) {
  if (loops == 0)
    return fail("'" + name + "' outside of a loop");
  return make(name == "break" ? NodeKind::Break : NodeKind::Continue);
}

/// These need other templates, which a chat template does not have: an error where they are reached.
NodePtr Parser::parseRefused(const std::string &name) {
  while (!failure && token().kind != TokenKind::BlockEnd && token().kind != TokenKind::End)
    ++at;
  NodePtr node = make(NodeKind::Refused);
  node->names = {name};
  return node;
}

NodePtr Parser::parsePrint() {
  NodePtr node = make(NodeKind::Output);
  while (!failure && token().kind != TokenKind::BlockEnd) {
    if (!node->children.empty())
      expectOperator(",");
    adopt(*node, parseExpression());
  }
  return node;
}

NodePtr Parser::parseIf() {
  NodePtr node = make(NodeKind::If);
  ++branches;
  std::string end = "elif";
  while (!failure && end == "elif") {
    adopt(*node, parseTuple(false));
    end = parseBody(*node, {"elif", "else", "endif"});
  }
  if (end == "else")
    parseBody(*node, {"endif"});
  --branches;
  return failure ? nullptr : std::move(node);
}

std::string Parser::parseAssigned() {
  std::string name = expectName();
  for (const char *constant : {"true", "false", "none", "True", "False", "None"})
    if (name == constant)
      fail("'" + name + "' cannot be set");
  return name;
}

/// A name, or targets in brackets.
NodePtr Parser::parseTarget() {
  Nesting nesting(*this);
  if (failure || !takeOperator("(")) {
    NodePtr name = make(NodeKind::Name);
    name->names = {parseAssigned()};
    return name;
  }
  NodePtr targets = parseTargets();
  return expectOperator(")") ? std::move(targets) : nullptr;
}

void Parser::checkTarget(const Node &target) {
  if (loopsAround > 0 && target.kind == NodeKind::Name && target.names[0] == "loop")
    fail("'loop' cannot be set in a loop");
  else if (target.kind == NodeKind::ListLiteral)
    for (const NodePtr &part : target.children)
      if (part)
        checkTarget(*part);
}

NodePtr Parser::parseTargets(bool allowsMember) {
  NodePtr first = parseTarget();
  if (!failure && allowsMember && first->kind == NodeKind::Name && takeOperator(".")) {
    NodePtr member = make(NodeKind::Member, std::move(first));
    member->names = {expectName()};
    return member;
  }
  if (failure || !isOperator(","))
    return first;
  NodePtr list = make(NodeKind::ListLiteral, std::move(first));
  list->names = {"tuple"};
  while (!failure && takeOperator(",") && !isOperator(")") && token().kind != TokenKind::BlockEnd)
    adopt(*list, parseTarget());
  return list;
}

NodePtr Parser::parseFor() {
  NodePtr node = make(NodeKind::For, parseTargets());
  if (!takeName("in"))
    return unexpected();
  ++loopsAround;
  if (!failure)
    checkTarget(*node->children[0]);
  adopt(*node, parseTuple(false));
  if (takeName("if")) {
    const int outside = std::exchange(branches, 0);
    node->condition = parseExpression();
    branches = outside;
  }
  node->isRecursive = takeName("recursive");
  ++loops;
  std::string end = parseScope(*node, {"else", "endfor"});
  --loops;
  if (end == "else")
    parseScope(*node, {"endfor"});
  --loopsAround;
  if (end == "else") {
    if (!failure) {
      node->otherwise = std::move(node->children.back());
      node->children.pop_back();
    }
  }
  return failure ? nullptr : std::move(node);
}

NodePtr Parser::parseSet() {
  NodePtr node = make(NodeKind::Set, parseTargets(true));
  if (!failure)
    checkTarget(*node->children[0]);
  adopt(*node, takeOperator("=") ? parseTuple() : parseCaptured("endset", false));
  return failure ? nullptr : std::move(node);
}

NodePtr Parser::parseWith() {
  NodePtr node = make(NodeKind::With);
  while (!failure && token().kind != TokenKind::BlockEnd) {
    if (!node->children.empty())
      expectOperator(",");
    adopt(*node, parseTarget());
    expectOperator("=");
    adopt(*node, parseExpression());
  }
  parseScope(*node, {"endwith"});
  return node;
}

NodePtr Parser::parseAutoescape() {
  const int outside = std::exchange(branches, 0);
  NodePtr node = make(NodeKind::Autoescape, parseExpression());
  branches = outside;
  parseScope(*node, {"endautoescape"});
  return node;
}

/// Marks the assistant's text for training. Hugging Face renders it as a call, so that names set in it end with it.
NodePtr Parser::parseGeneration() {
  NodePtr node = make(NodeKind::With);
  parseOwnBody(*node, "endgeneration");
  return node;
}

NodePtr Parser::parseNamedBlock() {
  NodePtr node = make(NodeKind::NamedBlock);
  node->names = {expectName()};
  node->isScoped = takeName("scoped");
  const bool isRequired = takeName("required");
  parseOwnBody(*node, "endblock");
  takeName(node->names[0]);
  if (!blockNames.insert(node->names[0]).second)
    return fail("the block '" + node->names[0] + "' stands here twice");
  if (isRequired && !failure)
    return fail("the block '" + node->names[0] + "' is required from another template, and there is none");
  blocks.push_back(node.get());
  return node;
}

/// Appends the names in brackets to those of the macro.
void Parser::parseParameters(Node &macro, std::vector<NodePtr> &defaults) {
  expectOperator("(");
  const int outside = std::exchange(branches, 0);
  std::set<std::string> names;
  while (!failure && !isOperator(")")) {
    if (macro.names.size() > 1)
      expectOperator(",");
    std::string name = parseAssigned();
    if (!names.insert(name).second)
      fail("two parameters have the name '" + name + "'");
    macro.names.push_back(std::move(name));
    if (takeOperator("="))
      defaults.push_back(parseExpression());
    else if (!defaults.empty())
      fail("a parameter without a default follows one with");
  }
  branches = outside;
  ++at;
}

void Parser::parseMacroBody(Node &macro, std::vector<NodePtr> defaults, std::string_view end) {
  parseOwnBody(macro, end);
  const auto withoutDefault = macro.names.end() - ptrdiff_t(defaults.size());
  if (!failure && std::find(macro.names.begin() + 1, withoutDefault, "caller") != withoutDefault &&
      readsFirst(*macro.children[0], "caller"))
    fail("the parameter 'caller' has no default");
  for (NodePtr &one : defaults)
    adopt(macro, std::move(one));
}

NodePtr Parser::parseMacro() {
  NodePtr macro = make(NodeKind::MacroDefinition);
  macro->names = {parseAssigned()};
  std::vector<NodePtr> defaults;
  parseParameters(*macro, defaults);
  parseMacroBody(*macro, std::move(defaults), "endmacro");
  return macro;
}

NodePtr Parser::parseCallBlock() {
  NodePtr caller = make(NodeKind::MacroDefinition);
  caller->names = {"caller"};
  std::vector<NodePtr> defaults;
  if (isOperator("("))
    parseParameters(*caller, defaults);
  NodePtr callee = parseExpression();
  if (!failure && callee->kind != NodeKind::Call)
    return fail("the tag 'call' needs a call");
  parseMacroBody(*caller, std::move(defaults), "endcall");
  return failure ? nullptr : make(NodeKind::CallBlock, std::move(callee), std::move(caller));
}

/// The output of a block up to the tag `end`, through the filters that its first tag names. `filtered`: the first
/// filter stands there without a bar.
NodePtr Parser::parseCaptured(std::string_view end, bool filtered) {
  NodePtr value = make(NodeKind::Captured);
  Node &captured = *value;
  const int outside = std::exchange(branches, 0);
  while (!failure && (filtered || takeOperator("|"))) {
    value = parseFilter(std::move(value));
    filtered = false;
  }
  branches = outside;
  parseScope(captured, {end});
  if (!failure && value.get() != &captured)
    value->height += captured.height; // the filters around it were made before
  return failure ? nullptr : std::move(value);
}

Expected<Syntax> Parser::run() {
  Syntax syntax = {parseBlock({}), std::move(blocks)};
  if (failure)
    return *failure;
  if (!unknown.empty())
    return unknown.front();
  findScopes(syntax);
  return syntax;
}

} // namespace

Expected<Syntax> parseTemplate(std::string_view source) {
  RAPT_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

} // namespace rapt::chat
