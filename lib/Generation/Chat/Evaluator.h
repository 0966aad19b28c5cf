//===- Evaluator.h - Runs the tree of a chat template ----------------------===//
#pragma once
#include "lib/Generation/Chat/Frame.h"
#include "lib/Generation/Chat/Run.h"
#include "lib/Generation/Chat/Syntax.h"
#include <span>

namespace rapt::chat {

class Evaluator : Run {
public:
  Evaluator(const Syntax &syntax, std::time_t now, Bounds bounds = {}) : Run(now, bounds), syntax(syntax) {}
  ~Evaluator();
  /// `context`: an object with the template's variables; what a user wrote is in those of the names `fromUser`.
  /// Errors: raise_exception of the template, what Python would refuse, what is not supported, and a bound; with the
  /// line.
  Expected<Text> render(const json::Value &context, std::span<const std::string_view> fromUser);

private:
  enum class Flow { Next, Break, Continue };

  void write(const Text &text);
  void writeValue(const Value &value);
  /// Whether one more node may be entered, which counts `weight` levels.
  bool enter(const Node &node, int weight);

  // Statements
  Flow run(const Node &node);
  Flow runInner(const Node &node);
  Flow runBlock(const Node &node);
  Flow runIf(const Node &node);
  Flow runWith(const Node &node);
  Flow runAutoescape(const Node &node);
  void runCallBlock(const Node &node);
  void runNamedBlock(const Node &node);
  /// The output of a node's first child.
  Text captured(const Node &node);
  Value makeSelf();

  // Loops
  Flow runFor(const Node &node);
  /// Whether all items were reached.
  bool runLoop(const Node &node, List items, int loopDepth, Flow &flow);
  bool keeps(const Node &node, Frame &inside, const Value &item);
  Value unpacked(const Node &target, const Value &item);
  Value callLoop(const Value &loop, const Arguments &arguments);

  // Names
  std::shared_ptr<Frame> makeFrame(const Scope &scope, std::shared_ptr<Frame> outer);
  /// Variables as they are where a scope begins; those that are given stay.
  void begin(const Scope &scope, Frame &entered);
  Value fromContext(const std::string &name);
  Value &slotOf(int hops, int slot);
  void assign(const Node &target, const Value &value);
  void setMember(const Node &target, const Value &value);

  // Macros
  Value makeMacro(const Node &node);
  Value callMacro(const Macro &macro, const Arguments &arguments);
  bool bindParameters(const Macro &macro, const Arguments &arguments, Frame &inside);
  void bindDefaults(const Node &definition, Frame &inside, const std::vector<bool> &isGiven);

  // Expressions
  Value evaluate(const Node &node);
  Value evaluateInner(const Node &node);
  Value evaluateCollection(const Node &node);
  Value evaluateOperator(const Node &node);
  Value evaluateComparison(const Node &node);
  Value evaluateLogic(const Node &node);
  Value evaluateSlice(const Node &node);
  Value evaluateName(const Node &node);
  Arguments evaluateArguments(const Node &node);
  Value call(const Node &node, const Value *caller = nullptr);

  const Syntax &syntax;
  Dict context;
  std::shared_ptr<Frame> frame, rootFrame;
  std::vector<std::shared_ptr<Frame>> kept; // those that a macro sees
  Text out;
  Flow pending = Flow::Next; ///< 'break' or 'continue' in a text that is an expression's value.
  int depth = 0;
};

} // namespace rapt::chat
