//===- Evaluator.h - Runs the tree of a chat template ----------------------===//
#pragma once
#include "lib/Generation/Chat/Syntax.h"
#include "lib/Support/Expected.h"
#include <ctime>
#include <deque>
#include <optional>

namespace rapt::chat {

/// Arguments of a call, a filter or a test.
struct Arguments {
  List values;
  Dict named;
  /// The argument at `position`, or the one of this name; null where it was left out.
  const Value *get(size_t position, std::string_view name = {}) const;
};

/// Bounds of one run: a template is a program that came with a model.
struct Bounds {
  int64_t steps = 10'000'000;  ///< Nodes evaluated, and characters made.
  size_t characters = 4 << 20; ///< Limit of one string, and of the whole output.
  int depth = 200;             ///< Macros within macros, and the nodes around them.
};

/// The first error ends a run: what is evaluated after it is undefined.
class Evaluator {
public:
  Evaluator(Dict globals, std::time_t now, Bounds bounds = {});
  /// Errors: raise_exception of the template, what Python would refuse, what is not supported, and a bound; with the
  /// line.
  Expected<Text> render(const Node &root);

private:
  enum class Flow { Next, Break, Continue };
  using Scope = Dict;

  Value fail(const Node &node, const std::string &message);
  bool spend(const Node &node, size_t amount);
  void write(const Node &node, const Text &text);
  Value *lookUp(std::string_view name);
  void assign(const std::string &name, Value value);
  Value string(const Node &node, Text text);

  Flow run(const Node &node);
  Flow runLoop(const Node &node);
  Flow runItems(const Node &node, const List &items);
  Flow runWith(const Node &node);
  /// `node` in a scope of its own.
  Flow runInside(const Node &node);
  void setMember(const Node &node);
  void setNames(const Node &node, const Value &value);
  Text captured(const Node &block);
  std::optional<List> itemsOf(const Node &node, const Value &value);

  Value evaluate(const Node &node);
  Value evaluateInner(const Node &node);
  Value evaluateCollection(const Node &node);
  Value evaluateBinary(const Node &node);
  Value arithmetic(const Node &node, const std::string &sign, const Value &left, const Value &right);
  Value integers(const Node &node, const std::string &sign, int64_t left, int64_t right);
  Value repeat(const Node &node, const Value &what, int64_t times);
  Value evaluateComparison(const Node &node);
  bool contains(const Node &node, const Value &container, const Value &item);
  Value memberOf(const Node &node, const Value &object, const std::string &name);
  Value itemOf(const Node &node, const Value &object, const Value &key);
  /// The attribute that a filter names: members and indices with dots between them.
  Value attributeOf(const Node &node, const Value &object, const Value &path);
  Value slice(const Node &node);
  Arguments evaluateArguments(const Node &node);
  /// `caller`: the macro of a 'call' block around it.
  Value call(const Node &node, const Macro *caller = nullptr);
  Value callMacro(const Node &node, const Macro &macro, const Arguments &arguments);
  const Macro *makeMacro(const Node &node);

  // Functions.cpp
  Value callFunction(const Node &node, const std::string &name, const Arguments &arguments);
  Value callMethod(const Node &node, const Value &object, const std::string &name, const Arguments &arguments);
  Value callTextMethod(const Node &node, const Value &object, const std::string &name, const Arguments &arguments);
  bool test(const Node &node, const std::string &name, const Value &value, const Arguments &arguments);
  // Filters.cpp
  Value filter(const Node &node, const std::string &name, const Value &value, const Arguments &arguments);
  Value toJson(const Node &node, const Value &value, const Arguments &arguments);
  Value sorted(const Node &node, const std::string &name, const Value &value, const Arguments &arguments);
  Value filterText(const Node &node, const std::string &name, const Value &value, const Arguments &arguments);
  Value filterList(const Node &node, const std::string &name, const Value &value, const Arguments &arguments);
  Value select(const Node &node, const std::string &name, const List &items, const Arguments &arguments);
  Value map(const Node &node, const List &items, const Arguments &arguments);
  Value join(const Node &node, const List &items, const Text &separator);

  std::vector<Scope> scopes;
  std::deque<Macro> macros;
  std::time_t now;
  Bounds bounds;
  int64_t steps = 0;
  int depth = 0;
  Text out;
  std::optional<Error> failure;
};

/// Parts of strings that filters and methods share.
Text trimmed(const Text &text, const Text *characters, bool left, bool right);
Text replaced(const Text &text, const Text &from, const Text &to, int64_t most);
/// Python's str.upper, lower, title and capitalize; Words is Jinja's filter 'title'.
enum class Case { Upper, Lower, Title, Words, Capital };
Text inCase(const Text &text, Case how);

} // namespace rapt::chat
