//===- Evaluator.cpp - Statements ------------------------------------------===//
#include "lib/Generation/Chat/Evaluator.h"
#include "lib/Generation/Chat/Comparison.h"
#include "lib/Generation/Chat/Iteration.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Operators.h"
#include "lib/Generation/Chat/Printing.h"
#include "lib/Generation/Chat/Text.h"
#include <algorithm>

namespace rapt::chat {

/// A frame that is kept may hold the macro that keeps it.
Evaluator::~Evaluator() {
  for (const std::shared_ptr<Frame> &one : kept)
    one->slots.clear();
}

Expected<Text> Evaluator::render(const json::Value &given, std::span<const std::string_view> fromUser) {
  if (const json::Object *object = given.asObject())
    for (const auto &[key, value] : *object) {
      bool isUsers = std::find(fromUser.begin(), fromUser.end(), key) != fromUser.end();
      context.set(*this, Value::of(std::string_view(key)), Value::of(value, isUsers, *this));
    }
  frame = rootFrame = makeFrame(*syntax.root->scope, nullptr);
  run(*syntax.root);
  if (failure)
    return *failure;
  return std::move(out);
}

void Evaluator::write(const Text &text) {
  if (out.size() + text.size() > bounds.characters)
    fail("writes more than " + std::to_string(bounds.characters) + " characters");
  else if (spendText(text.size()))
    out += text;
}

void Evaluator::writeValue(const Value &value) {
  Text text = escapes ? besideMarkup(*this, value) : shown(*this, value);
  if (!failed())
    write(text);
}

bool Evaluator::enter(const Node &node, int weight) {
  line = node.line;
  if (depth + weight > bounds.depth)
    fail("is nested deeper than " + std::to_string(bounds.depth));
  return spend(1);
}

Evaluator::Flow Evaluator::run(const Node &node) {
  if (!enter(node, 1))
    return Flow::Next;
  ++depth;
  Flow flow = runInner(node);
  --depth;
  return flow;
}

Evaluator::Flow Evaluator::runInner(const Node &node) {
  switch (node.kind) {
  case NodeKind::Block:
    return runBlock(node);
  case NodeKind::Data:
    write(node.value.text());
    return Flow::Next;
  case NodeKind::Output:
    for (const NodePtr &child : node.children)
      if (Value value = evaluate(*child); pending == Flow::Next && !failed())
        writeValue(value);
    return std::exchange(pending, Flow::Next);
  case NodeKind::FilterBlock:
    if (Value value = evaluate(*node.children[0]); pending == Flow::Next && !failed()) {
      if (value.is(Kind::String))
        write(value.text());
      else
        fail("the tag 'filter' makes no text, but " + std::string(typeName(value)));
    }
    return std::exchange(pending, Flow::Next);
  case NodeKind::If:
    return runIf(node);
  case NodeKind::For:
    return runFor(node);
  case NodeKind::Set:
    if (Value value = evaluate(*node.children[1]); pending == Flow::Next && !failed())
      assign(*node.children[0], value);
    return std::exchange(pending, Flow::Next);
  case NodeKind::With:
    return runWith(node);
  case NodeKind::MacroDefinition:
    slotOf(node.hops, node.slot) = makeMacro(node);
    return Flow::Next;
  case NodeKind::CallBlock:
    runCallBlock(node);
    return Flow::Next;
  case NodeKind::NamedBlock:
    runNamedBlock(node);
    return Flow::Next;
  case NodeKind::Autoescape:
    return runAutoescape(node);
  case NodeKind::Break:
    return Flow::Break;
  case NodeKind::Continue:
    return Flow::Continue;
  default:
    fail("the tag '" + node.names[0] + "' needs another template, and a chat template stands alone");
    return Flow::Next;
  }
}

Evaluator::Flow Evaluator::runBlock(const Node &node) {
  for (const NodePtr &statement : node.children)
    if (Flow flow = run(*statement); flow != Flow::Next || failed())
      return flow;
  return Flow::Next;
}

Evaluator::Flow Evaluator::runIf(const Node &node) {
  size_t at = 0;
  for (; at + 1 < node.children.size(); at += 2) {
    bool holds = isTrue(evaluate(*node.children[at]));
    if (failed())
      return Flow::Next;
    if (holds)
      return run(*node.children[at + 1]);
  }
  return at < node.children.size() ? run(*node.children[at]) : Flow::Next;
}

Evaluator::Flow Evaluator::runWith(const Node &node) {
  std::shared_ptr<Frame> inside = makeFrame(*node.scope, frame), outside = frame;
  for (size_t i = 0; i + 1 < node.children.size() && !failed(); i += 2) {
    Value value = evaluate(*node.children[i + 1]);
    frame = inside;
    assign(*node.children[i], value);
    frame = outside;
  }
  if (failed())
    return Flow::Next;
  frame = inside;
  Flow flow = run(*node.children.back());
  frame = outside;
  return flow;
}

Evaluator::Flow Evaluator::runAutoescape(const Node &node) {
  std::shared_ptr<Frame> outside = frame;
  frame = makeFrame(*node.scope, outside);
  bool before = escapes, now = isTrue(evaluate(*node.children[0]));
  escapes = now;
  Flow flow = failed() ? Flow::Next : run(*node.children[1]);
  escapes = before;
  frame = outside;
  return flow;
}

Text Evaluator::captured(const Node &node) {
  std::shared_ptr<Frame> outside = frame;
  Text before = std::exchange(out, {});
  if (node.kind == NodeKind::Captured)
    frame = makeFrame(*node.scope, outside);
  if (Flow flow = run(*node.children[0]); flow != Flow::Next)
    pending = flow;
  frame = outside;
  std::swap(out, before);
  return before;
}

void Evaluator::runNamedBlock(const Node &node) {
  std::shared_ptr<Frame> outside = frame;
  frame = makeFrame(*node.scope, node.isScoped ? outside : nullptr);
  run(*node.children[0]);
  frame = outside;
}

// Names

Value Evaluator::fromContext(const std::string &name) {
  const std::vector<Scope::Variable> &own = syntax.root->scope->variables;
  if (rootFrame && !syntax.blocks.empty() && spend(own.size())) // a block sees what the template itself has set
    for (size_t i = 0; i < own.size(); ++i)
      if (own[i].name == name && !rootFrame->slots[i].is(Kind::Undefined))
        return rootFrame->slots[i];
  if (const Value *found = context.find(*this, name))
    return *found;
  if (name == "self")
    return makeSelf();
  const Routine *global = findGlobal(name);
  return global ? Value::of(global) : Value();
}

/// The blocks of the template, to be called.
Value Evaluator::makeSelf() {
  Dict members;
  for (const Node *block : syntax.blocks)
    members.set(*this, Value::of(std::string_view(block->names[0])), Value::of(Macro{block, nullptr, escapes}));
  return makeNamespace(std::move(members));
}

std::shared_ptr<Frame> Evaluator::makeFrame(const Scope &scope, std::shared_ptr<Frame> outer) {
  auto made = std::make_shared<Frame>();
  made->outer = std::move(outer);
  made->slots.resize(scope.variables.size());
  spend(1 + scope.variables.size());
  begin(scope, *made);
  return made;
}

static Value valueAt(const Frame *frame, int hops, int slot) {
  while (hops-- > 0)
    frame = frame->outer.get();
  return frame->slots[size_t(slot)];
}

void Evaluator::begin(const Scope &scope, Frame &entered) {
  for (size_t i = 0; i < scope.variables.size(); ++i) {
    const Scope::Variable &variable = scope.variables[i];
    switch (variable.start) {
    case Scope::Variable::Start::Unset:
      entered.slots[i] = Value();
      break;
    case Scope::Variable::Start::Context:
      entered.slots[i] = fromContext(variable.name);
      break;
    case Scope::Variable::Start::Outer:
      entered.slots[i] = valueAt(entered.outer.get(), variable.hops, variable.slot);
      break;
    case Scope::Variable::Start::Given:
      break;
    }
  }
}

Value &Evaluator::slotOf(int hops, int slot) {
  Frame *found = frame.get();
  while (hops-- > 0)
    found = found->outer.get();
  return found->slots[size_t(slot)];
}

void Evaluator::assign(const Node &target, const Value &value) {
  if (target.kind == NodeKind::Name) {
    slotOf(target.hops, target.slot) = value;
    return;
  }
  if (target.kind == NodeKind::Member)
    return setMember(target, value);
  std::optional<List> parts = itemsOf(*this, value);
  if (failed())
    return;
  if (parts->size() != target.children.size()) {
    fail("cannot unpack " + std::to_string(parts->size()) + " items into " + std::to_string(target.children.size()) +
         " names");
    return;
  }
  for (size_t i = 0; i < parts->size(); ++i)
    assign(*target.children[i], (*parts)[i]);
}

void Evaluator::setMember(const Node &target, const Value &value) {
  Value space = evaluate(*target.children[0]);
  if (!space.is(Kind::Namespace)) {
    fail("'" + target.children[0]->names[0] + "' is no namespace, whose members could be set");
    return;
  }
  Dict &members = space.members();
  size_t before = members.size();
  members.set(*this, Value::of(std::string_view(target.names[0])), value);
  ledger.bytes += (members.size() - before) * (sizeof(Dict::Entry) + 32);
}

} // namespace rapt::chat
