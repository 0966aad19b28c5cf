//===- ExpressionParser.h - Expressions of a template ------------------------===//
#pragma once
#include "lib/Generation/Chat/Lexer.h"
#include "lib/Generation/Chat/Syntax.h"
#include <initializer_list>
#include <optional>

namespace rapt::chat {

/// Recursive descent over the grammar of Jinja's own parser. The first error ends it: later calls return null.
class ExpressionParser {
public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

protected:
  const Token &token(size_t ahead = 0) const { return tokens[std::min(at + ahead, tokens.size() - 1)]; }
  bool isOperator(std::string_view text) const { return token().kind == TokenKind::Operator && token().text == text; }
  bool isName(std::string_view text) const { return token().kind == TokenKind::Name && token().text == text; }
  bool takeOperator(std::string_view text) { return isOperator(text) && ++at; }
  bool takeName(std::string_view text) { return isName(text) && ++at; }
  NodePtr fail(const std::string &message);
  NodePtr unexpected();
  bool expectOperator(std::string_view text) { return takeOperator(text) || (unexpected(), false); }
  std::string expectName();
  NodePtr make(NodeKind kind, NodePtr first = nullptr, NodePtr second = nullptr);
  /// Makes `child`, which may be null, the last child of `parent`.
  void adopt(Node &parent, NodePtr child);
  /// Counts what is nested while it lives; fails beyond the limit.
  class Nesting {
  public:
    explicit Nesting(ExpressionParser &parser) : parser(parser) {
      if (++parser.depth > deepest)
        parser.fail("the template is nested deeper than " + std::to_string(deepest));
    }
    ~Nesting() { --parser.depth; }

  private:
    ExpressionParser &parser;
  };

  NodePtr parseExpression(bool withChoice = true);
  NodePtr parseTuple(bool withChoice = true);
  NodePtr parseFilter(NodePtr input);

  static constexpr int deepest = 100, highest = 400;
  std::vector<Token> tokens;
  size_t at = 0;
  int depth = 0;
  int branches = 0;           ///< Conditions around what is parsed, which may never be reached.
  std::vector<Error> unknown; ///< Filters and tests that Jinja lacks, outside of conditions.
  std::optional<Error> failure;

private:
  using Part = NodePtr (ExpressionParser::*)();
  NodePtr parseOr();
  NodePtr parseAnd();
  NodePtr parseNot();
  NodePtr parseComparison();
  NodePtr parseLeft(Part part, std::initializer_list<std::string_view> operators);
  NodePtr parseSum() { return parseLeft(&ExpressionParser::parseConcatenation, {"+", "-"}); }
  NodePtr parseConcatenation();
  NodePtr parseProduct() { return parseLeft(&ExpressionParser::parsePower, {"*", "/", "//", "%"}); }
  NodePtr parsePower() { return parseLeft(&ExpressionParser::parseFiltered, {"**"}); }
  NodePtr parseFiltered();
  NodePtr parseUnary();
  NodePtr parsePrimary();
  NodePtr parseNumber();
  NodePtr parseString();
  NodePtr parsePostfix(NodePtr node);
  NodePtr parseIndex();
  NodePtr parseSubscript(NodePtr object);
  NodePtr parseTest(NodePtr input);
  NodePtr parseList();
  NodePtr parseDict();
  void parseArguments(Node &call);
  NodePtr parseArgument(bool &hasNames, bool &hasItems, bool &hasMembers);
  void checkKnown(std::string_view kind, const std::string &name);
};

} // namespace rapt::chat
