//===- Syntax.h - The tree of a chat template ------------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"
#include <memory>
#include <string>
#include <vector>

namespace rapt::chat {

struct Node;
using NodePtr = std::unique_ptr<Node>;

/// The kinds of nodes; the comment of each tells what its fields hold.
enum class NodeKind {
  // Statements
  Block,           ///< children: statements
  Data,            ///< value: text
  Output,          ///< children: expression
  If,              ///< children: condition, Block, then (optional) the Block or If of else
  For,             ///< names; children: iterable, Block; condition and otherwise may be null
  Set,             ///< names, children: expression
  SetMember,       ///< names: namespace, member; children: expression
  With,            ///< names; children: the expression of each, then the Block that sees them
  MacroDefinition, ///< names: its own, then parameters; children: Block, then defaults of the last parameters
  CallBlock,       ///< children: Call of a macro, MacroDefinition of what that macro calls "caller"
  Break,
  Continue,
  // Expressions
  Constant, ///< value
  Name,     ///< names[0]
  Member,   ///< children: object; names[0]
  Item,     ///< children: object, key
  Slice,    ///< children: object, begin, end, step, null where left out
  Call,     ///< children: callee, arguments; the last names.size() of them have these names
  Unpack,   ///< children: expression whose items are arguments of the call around it
  Captured, ///< children: Block whose output is the value
  Filter,   ///< names[0]: its own, further: of the last arguments; children: input, arguments
  Test,     ///< as Filter
  Not,
  Negative,
  Positive,
  Binary,     ///< names[0]: operator; children: left, right
  Comparison, ///< names: operators; children: one more than operators
  And,
  Or,
  Choice,      ///< children: value, condition, otherwise (may be null)
  ListLiteral, ///< children; with a name a tuple
  DictLiteral  ///< children: key, value, key, value ...
};

struct Node {
  NodeKind kind;
  int line;
  std::vector<NodePtr> children = {};
  std::vector<std::string> names = {};
  Value value = {};
  NodePtr condition = nullptr, otherwise = nullptr;
};

/// A macro as a value.
struct Macro {
  const Node *definition;
  std::vector<Dict> scopes; ///< The names around its definition, but for the template's own.
};

} // namespace rapt::chat
