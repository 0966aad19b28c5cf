//===- Syntax.h - The tree of a chat template ------------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"
#include <memory>
#include <string>
#include <vector>

namespace rapt::chat {

struct Node;

/// Frees a tree without recursion, however high it is.
struct TreeDeleter {
  void operator()(Node *root) const;
};
using NodePtr = std::unique_ptr<Node, TreeDeleter>;

/// The kinds of nodes; the comment of each tells what its fields hold. A target is a Name, a ListLiteral of targets, or
/// a Member of a namespace.
enum class NodeKind {
  // Statements
  Block,           ///< children: statements
  Data,            ///< value: text
  Output,          ///< children: expressions
  FilterBlock,     ///< children: expression, which must be a text
  If,              ///< children: condition, Block, condition, Block ..., and the Block of else where there is one
  For,             ///< children: target, iterable, Block; condition and otherwise may be null
  Set,             ///< children: target, expression
  With,            ///< children: target, expression, target, expression ..., and the Block that sees them
  MacroDefinition, ///< names: its own, then parameters; children: Block, then defaults of the last parameters
  CallBlock,       ///< children: Call of a macro, MacroDefinition of what that macro calls "caller"
  NamedBlock,      ///< names[0]: its own; children: Block
  Autoescape,      ///< children: expression, Block
  Refused,         ///< names[0]: the tag, which cannot be carried out
  Break,
  Continue,
  // Expressions
  Constant,    ///< value
  Name,        ///< names[0]
  Member,      ///< children: object; names[0]
  Item,        ///< children: object, key
  Slice,       ///< children: object, begin, end, step, null where left out
  Call,        ///< children: callee, arguments
  Unpack,      ///< children: expression whose items are arguments of the call around it
  UnpackNamed, ///< children: expression whose members are arguments of the call around it
  Keyword,     ///< names[0]; children: the argument of this name
  Captured,    ///< children: Block whose output is the value
  Filter,      ///< names[0]; children: input, arguments
  Test,        ///< as Filter
  Not,
  Negative,
  Positive,
  Binary,        ///< names[0]: operator; children: left, right
  Concatenation, ///< children: the parts between '~'
  Comparison,    ///< names: operators; children: one more than operators
  And,           ///< children: all operands
  Or,
  Choice,      ///< children: value, condition, otherwise (may be null)
  ListLiteral, ///< children; with a name a tuple
  DictLiteral  ///< children: key, value, key, value ...
};

/// The names of a scope, which begin anew each time that it is entered.
struct Scope {
  struct Variable {
    std::string name;
    enum class Start { Unset, Given, Context, Outer } start = Start::Unset;
    int hops = 0, slot = 0; ///< Outer: where its first value is, from the scope around this one.
  };
  std::vector<Variable> variables;
};

struct Node {
  NodeKind kind;
  int line;
  std::vector<NodePtr> children = {};
  std::vector<std::string> names = {};
  Value value = {};
  NodePtr condition = nullptr, otherwise = nullptr;
  int height = 1; ///< The levels of the tree below: walks of it are bounded.
  bool isRecursive = false, isScoped = false;

  // Added by findScopes.
  std::unique_ptr<Scope> scope = nullptr, conditionScope = nullptr, otherwiseScope = nullptr;
  int hops = 0, slot = -1; ///< The place of a Name; the slot of "loop" of a For that uses it.
  /// The slots of a macro's parameters, and of what it uses besides.
  struct Parameters {
    std::vector<int> slots;
    int caller = -1, kwargs = -1, varargs = -1;
  } parameters = {};
};

inline void TreeDeleter::operator()(Node *root) const {
  std::vector<Node *> pending = {root};
  auto take = [&](NodePtr &tree) {
    if (tree)
      pending.push_back(tree.release());
  };
  while (!pending.empty()) {
    std::unique_ptr<Node> node(pending.back());
    pending.pop_back();
    for (NodePtr &child : node->children)
      take(child);
    take(node->condition);
    take(node->otherwise);
  }
}

/// A parsed template.
struct Syntax {
  NodePtr root;                     ///< A Block with the template's own scope.
  std::vector<const Node *> blocks; ///< Its named ones.
};

} // namespace rapt::chat
