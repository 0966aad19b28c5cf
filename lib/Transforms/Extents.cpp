//===- Extents.cpp - Extents of tensors that follow from others --------------------===//
#include "lib/Transforms/Extents.h"
#include "lib/Analysis/DimRelations.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rapt;

Extents::Extents(ModuleOp module) {
  module.walk([&](Operation *op) {
    current = op;
    attn::DimRelations dims(op->getContext());
    relateDims(op, dims);
    take(dims);
  });
}

unsigned Extents::idOf(Value tensor, unsigned i) {
  auto [it, isNew] = ids.insert({{tensor, i}, static_cast<unsigned>(sets.size())});
  if (isNew) {
    auto type = cast<RankedTensorType>(tensor.getType());
    sets.push_back({it->second});
    if (!type.isDynamicDim(i))
      sets.back().number = type.getDimSize(i);
  }
  return it->second;
}

/// The root of a member's group, and how much more than it the member is.
Extents::Place Extents::find(unsigned id) {
  unsigned root = id;
  int64_t more = 0;
  for (; sets[root].parent != root; root = sets[root].parent)
    more += sets[root].more;
  Place result{root, more};
  while (id != root) { // the next search is short
    Set &set = sets[id];
    unsigned next = set.parent;
    int64_t own = set.more;
    set.parent = root;
    set.more = more;
    more -= own;
    id = next;
  }
  return result;
}

Extents::Place Extents::placeOf(Value tensor, unsigned i) {
  Place place = find(idOf(tensor, i));
  return {place.group, place.more - sets[place.group].lowest};
}

std::optional<int64_t> Extents::leastOf(unsigned group) const {
  const Set &root = sets[group];
  return root.number ? std::optional(*root.number + root.lowest) : std::nullopt;
}

/// Extent `i` of `a` is extent `j` of `b` plus `more`.
void Extents::equal(Value a, unsigned i, Value b, unsigned j, int64_t more) {
  unsigned first = idOf(a, i), second = idOf(b, j);
  auto [root, above] = find(first);
  auto [other, otherAbove] = find(second);
  int64_t difference = otherAbove + more - above; // of the first's root to the other
  if (root == other)
    return demand(difference == 0);
  Set &from = sets[root], &to = sets[other];
  from.parent = other;
  from.more = difference;
  to.lowest = std::min(to.lowest, from.lowest + difference);
  if (int64_t number; from.number) {
    demand(!llvm::SubOverflow(*from.number, difference, number) && (!to.number || *to.number == number));
    to.number = number;
  }
  demand(leastOf(other).value_or(0) >= 0);
}

/// Extent `i` of `tensor` is `number`, whatever its type says.
void Extents::fix(Value tensor, unsigned i, int64_t number) {
  auto [root, more] = find(idOf(tensor, i));
  Set &set = sets[root];
  demand(!set.number || *set.number == number - more);
  set.number = number - more;
  demand(*leastOf(root) >= 0);
}

/// Extent `i` of `tensor` is at least `least`.
void Extents::bound(Value tensor, unsigned i, int64_t least) {
  auto [root, more] = find(idOf(tensor, i));
  sets[root].lowest = std::min(sets[root].lowest, more - least);
  demand(leastOf(root).value_or(0) >= 0);
}

void Extents::demand(bool isPossible) {
  if (!isPossible && !contradiction)
    contradiction = current;
}

void Extents::equalAll(Value a, Value b) {
  attn::DimRelations dims(a.getContext());
  dims.equal(a, b);
  take(dims);
}

namespace {
/// An extent, or 0 without a tensor, plus a number; none for any other expression.
struct Offset {
  Value tensor;
  unsigned dim = 0;
  int64_t more = 0;
};

/// The algebra of extents that differ by a number.
struct Offsets {
  using T = std::optional<Offset>;

  T dim(Value tensor, unsigned i) {
    auto type = dyn_cast<RankedTensorType>(tensor.getType());
    return type && i < type.getRank() ? T(Offset{tensor, i}) : T();
  }
  T index(Value value) { return evaluateIndex<T>(value, *this); }
  T number(int64_t number) { return Offset{{}, 0, number}; }
  T opaque(Value) { return {}; }
  T combine(AffineExprKind kind, T lhs, T rhs) {
    if (!lhs || !rhs)
      return {};
    Offset sum{lhs->tensor ? lhs->tensor : rhs->tensor, lhs->tensor ? lhs->dim : rhs->dim};
    bool isSum = kind == AffineExprKind::Add && !(lhs->tensor && rhs->tensor);
    return isSum && !llvm::AddOverflow(lhs->more, rhs->more, sum.more) ? T(sum) : T();
  }
};
} // namespace

void Extents::take(const attn::DimRelations &dims) {
  for (const auto &[tensor, i, least] : dims.getLowerBounds())
    bound(tensor, i, least);
  Offsets offsets;
  for (const auto &[tensor, i, extent] : dims.getEquations()) {
    std::optional<Offset> other = dims.evaluate<std::optional<Offset>>(extent, offsets);
    if (other && other->tensor)
      equal(tensor, i, other->tensor, other->dim, other->more);
    else if (other)
      fix(tensor, i, other->more);
  }
}
