//===- Scopes.cpp ----------------------------------------------------------===//
#include "lib/Generation/Chat/Scopes.h"
#include <algorithm>
#include <map>
#include <set>

namespace rapt::chat {
namespace {

using Start = Scope::Variable::Start;

/// The names of a scope while they are found. A branch of an 'if' lies over the names before it.
class Names {
public:
  explicit Names(Names *outer) : outer(outer) {}
  static Names branchOf(const Names &before) {
    Names branch(before.outer);
    branch.before = &before;
    return branch;
  }

  void give(const std::string &name) {
    stored.insert(name);
    define(name, Start::Given);
  }
  void store(const std::string &name) {
    stored.insert(name);
    if (!has(name))
      define(name, outer && outer->knows(name) ? Start::Outer : Start::Unset);
  }
  void load(const std::string &name) {
    if (!knows(name))
      define(name, Start::Context);
  }
  /// Takes over what the branches of an 'if' define. A name that not all of them set keeps what it was before.
  void merge(const std::vector<Names> &branches);
  /// Where a name is, from a scope inside of this one: `hops` scopes out.
  void bind(const std::string &name, int &hops, int &slot);
  std::unique_ptr<Scope> take();

private:
  bool has(const std::string &name) const { return slots.contains(name) || (before && before->has(name)); }
  bool sets(const std::string &name) const { return stored.contains(name) || (before && before->sets(name)); }
  bool knows(const std::string &name) const { return has(name) || (outer && outer->knows(name)); }
  void define(const std::string &name, Start start) {
    auto [place, isNew] = slots.emplace(name, variables.size());
    if (isNew)
      variables.push_back({name, start});
    else
      variables[place->second].start = start;
  }

  Names *outer;
  const Names *before = nullptr;
  std::map<std::string, size_t> slots;
  std::vector<Scope::Variable> variables;
  std::set<std::string> stored;
};

void Names::merge(const std::vector<Names> &branches) {
  std::map<std::string, size_t> counts;
  for (const Names &branch : branches)
    for (const std::string &name : branch.stored)
      if (!sets(name))
        ++counts[name];
  for (const Names &branch : branches) {
    for (const Scope::Variable &variable : branch.variables)
      define(variable.name, variable.start);
    stored.insert(branch.stored.begin(), branch.stored.end());
  }
  for (const auto &[name, count] : counts)
    if (count < branches.size())
      define(name, outer && outer->knows(name) ? Start::Outer : Start::Context);
}

void Names::bind(const std::string &name, int &hops, int &slot) {
  hops = 0;
  for (Names *names = this; names; names = names->outer, ++hops)
    if (auto found = names->slots.find(name); found != names->slots.end()) {
      slot = int(found->second);
      return;
    }
  load(name);
  hops = 0;
  slot = int(slots.at(name));
}

std::unique_ptr<Scope> Names::take() {
  for (Scope::Variable &variable : variables)
    if (variable.start == Start::Outer)
      outer->bind(variable.name, variable.hops, variable.slot);
  return std::make_unique<Scope>(Scope{std::move(variables)});
}

/// Whether a body reads `name` before it sets it.
class Reads {
public:
  explicit Reads(std::string name) : name(std::move(name)) {}
  bool in(const Node &node);

private:
  void visit(const Node &node);
  void visitTarget(const Node &node);
  std::string name;
  bool found = false, isSet = false;
};

bool Reads::in(const Node &node) {
  visit(node);
  return found;
}

void Reads::visitTarget(const Node &node) {
  if (node.kind == NodeKind::Name)
    isSet |= node.names[0] == name;
  else
    for (const NodePtr &child : node.children)
      visitTarget(*child);
}

void Reads::visit(const Node &node) {
  if (found || isSet || node.kind == NodeKind::NamedBlock)
    return;
  if (node.kind == NodeKind::Name)
    found = node.names[0] == name;
  if (node.kind == NodeKind::MacroDefinition)
    isSet |= std::find(node.names.begin() + 1, node.names.end(), name) != node.names.end();
  bool hasTarget =
      node.kind == NodeKind::For || (node.kind == NodeKind::Set && node.children[0]->kind != NodeKind::Member);
  for (size_t i = 0; i < node.children.size(); ++i) {
    bool isTarget =
        (hasTarget && i == 0) || (node.kind == NodeKind::With && i % 2 == 0 && i + 1 < node.children.size());
    if (node.children[i])
      isTarget ? visitTarget(*node.children[i]) : visit(*node.children[i]);
  }
  for (const NodePtr *part : {&node.condition, &node.otherwise})
    if (*part)
      visit(**part);
}

// The names that a scope itself sets and reads, in the order in which that happens: scopes inside of it have their own.

void collect(const Node &node, Names &names);

void collectTarget(const Node &node, Names &names, bool asGiven = false) {
  if (node.kind == NodeKind::Name)
    asGiven ? names.give(node.names[0]) : names.store(node.names[0]);
  else if (node.kind == NodeKind::Member)
    collect(*node.children[0], names);
  else
    for (const NodePtr &child : node.children)
      collectTarget(*child, names, asGiven);
}

void collectIf(const Node &node, Names &names) {
  collect(*node.children[0], names);
  // The branches of all 'elif' are one.
  std::vector<Names> branches(3, Names::branchOf(names));
  const size_t pairs = node.children.size() / 2 * 2;
  collect(*node.children[1], branches[0]);
  for (size_t i = 2; i < pairs; i += 2) {
    collect(*node.children[i], branches[1]);
    std::vector<Names> inner(3, Names::branchOf(branches[1]));
    collect(*node.children[i + 1], inner[0]);
    branches[1].merge(inner);
  }
  if (pairs < node.children.size())
    collect(*node.children.back(), branches[2]);
  names.merge(branches);
}

void collect(const Node &node, Names &names) {
  switch (node.kind) {
  case NodeKind::Name:
    return names.load(node.names[0]);
  case NodeKind::If:
    return collectIf(node, names);
  case NodeKind::For:
    return collect(*node.children[1], names);
  case NodeKind::Set:
    collect(*node.children[1], names);
    return collectTarget(*node.children[0], names);
  case NodeKind::With:
    for (size_t i = 1; i + 1 < node.children.size(); i += 2)
      collect(*node.children[i], names);
    return;
  case NodeKind::MacroDefinition:
    return names.store(node.names[0]);
  case NodeKind::CallBlock:
    return collect(*node.children[0], names);
  case NodeKind::Captured:
  case NodeKind::Autoescape:
  case NodeKind::NamedBlock:
    return;
  default:
    for (const NodePtr &child : node.children)
      if (child)
        collect(*child, names);
  }
}

void bind(Node &node, Names &names);

void bindChildren(Node &node, Names &names, size_t begin = 0) {
  for (size_t i = begin; i < node.children.size(); ++i)
    if (node.children[i])
      bind(*node.children[i], names);
}

bool hasScopedBlock(const Node &node) {
  if (node.kind == NodeKind::NamedBlock && node.isScoped)
    return true;
  auto has = [](const NodePtr &part) { return part && hasScopedBlock(*part); };
  return std::any_of(node.children.begin(), node.children.end(), has) || has(node.otherwise);
}

void bindFor(Node &node, Names &names) {
  bind(*node.children[1], names);
  Names body(&names);
  collectTarget(*node.children[0], body, true);
  if (node.isRecursive || Reads("loop").in(*node.children[2]) || hasScopedBlock(node)) {
    body.give("loop");
    int hops;
    body.bind("loop", hops, node.slot);
  }
  collect(*node.children[2], body);
  bind(*node.children[0], body);
  bind(*node.children[2], body);
  node.scope = body.take();
  if (node.condition) { // its targets have the places that they have in the body
    Names condition(&names);
    collectTarget(*node.children[0], condition, true);
    collect(*node.condition, condition);
    bind(*node.condition, condition);
    node.conditionScope = condition.take();
  }
  if (node.otherwise) {
    Names otherwise(&names);
    collect(*node.otherwise, otherwise);
    bind(*node.otherwise, otherwise);
    node.otherwiseScope = otherwise.take();
  }
}

void bindMacro(Node &node, Names &names) {
  Names inside(&names);
  int hops;
  node.parameters.slots.resize(node.names.size() - 1);
  for (size_t i = 1; i < node.names.size(); ++i)
    inside.give(node.names[i]);
  for (size_t i = 1; i < node.children.size(); ++i)
    collect(*node.children[i], inside);
  collect(*node.children[0], inside);
  const std::pair<const char *, int *> extra[] = {
      {"caller", &node.parameters.caller}, {"kwargs", &node.parameters.kwargs}, {"varargs", &node.parameters.varargs}};
  for (const auto &[name, slot] : extra) {
    bool isParameter = std::find(node.names.begin() + 1, node.names.end(), name) != node.names.end();
    if (!isParameter && Reads(name).in(*node.children[0])) {
      inside.give(name);
      inside.bind(name, hops, *slot);
    }
  }
  for (size_t i = 1; i < node.names.size(); ++i)
    inside.bind(node.names[i], hops, node.parameters.slots[i - 1]);
  bindChildren(node, inside);
  node.scope = inside.take();
}

void bindWith(Node &node, Names &names) {
  Names inside(&names);
  for (size_t i = 0; i + 1 < node.children.size(); i += 2)
    collectTarget(*node.children[i], inside, true);
  collect(*node.children.back(), inside);
  for (size_t i = 0; i < node.children.size(); ++i) {
    bool isValue = i % 2 == 1 && i + 1 < node.children.size();
    bind(*node.children[i], isValue ? names : inside);
  }
  node.scope = inside.take();
}

void bindInside(Node &node, Names *outer) {
  Names inside(outer);
  for (const NodePtr &child : node.children)
    collect(*child, inside);
  bindChildren(node, inside);
  node.scope = inside.take();
}

void bind(Node &node, Names &names) {
  switch (node.kind) {
  case NodeKind::Name:
    return names.bind(node.names[0], node.hops, node.slot);
  case NodeKind::For:
    return bindFor(node, names);
  case NodeKind::With:
    return bindWith(node, names);
  case NodeKind::MacroDefinition:
    names.bind(node.names[0], node.hops, node.slot);
    return bindMacro(node, names);
  case NodeKind::CallBlock:
    bind(*node.children[0], names);
    return bindMacro(*node.children[1], names);
  case NodeKind::Captured:
  case NodeKind::Autoescape:
    return bindInside(node, &names);
  case NodeKind::NamedBlock:
    return bindInside(node, node.isScoped ? &names : nullptr);
  default:
    bindChildren(node, names);
  }
}

} // namespace

bool readsFirst(const Node &statements, const std::string &name) { return Reads(name).in(statements); }

void findScopes(Syntax &syntax) { bindInside(*syntax.root, nullptr); }

} // namespace rapt::chat
