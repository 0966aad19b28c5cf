//===- MergeCosts.cpp - Costs of ops that one dispatch computes --------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/Cost.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace rapt;
using attn::AttnDialect;
using attn::Polynomial;

namespace {

/// The value that `value` is a view of: views are the ops without costs.
Value behindViews(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && !isa<attn::CostOpInterface>(op) && op->getNumOperands() == 1) {
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  return value;
}

/// A value that an op moves, and the bytes.
struct Move {
  Value value;
  Polynomial bytes;
};

SmallVector<Move> movesOf(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::append_range(values, op->getResults());
  auto bytes = op->getAttrOfType<ArrayAttr>(AttnDialect::movesAttr);
  const bool fits = bytes && bytes.size() == values.size();
  SmallVector<Move> moves;
  for (auto [i, value] : llvm::enumerate(values))
    moves.push_back({behindViews(value), fits ? Polynomial::fromAttribute(bytes[i]) : Polynomial::unknown()});
  return moves;
}

/// The bytes that two ops count and their dispatch does not move: a value that both read it reads once, and one that
/// either makes for the other stays in tiles.
Polynomial bytesInside(Operation *op, Operation *root) {
  Polynomial inside;
  const SmallVector<Move> ofRoot = movesOf(root);
  for (const Move &move : movesOf(op)) {
    auto same = llvm::find_if(ofRoot, [&](const Move &other) { return other.value == move.value; });
    if (same == ofRoot.end())
      continue;
    inside = inside + move.bytes;
    Operation *maker = move.value.getDefiningOp();
    if (maker && (maker == op || maker == root))
      inside = inside + same->bytes;
  }
  return inside;
}

/// Adds the costs of `op` to those of `root`.
void merge(NamedAttrList &to, Operation *root, const NamedAttrList &from, Operation *op) {
  MLIRContext *context = root->getContext();
  auto get = [&](const NamedAttrList &costs, StringRef name) {
    return costs.get(name) ? Polynomial::fromAttribute(costs.get(name)) : Polynomial();
  };
  auto set = [&](StringRef name, const Polynomial &sum) {
    to.erase(name);
    if (Attribute value = sum.asAttribute(context); value && !cast<ArrayAttr>(value).empty())
      to.set(name, value);
  };
  for (StringRef name : {"flops", "weights", "cache"})
    set(name, get(to, name) + get(from, name));
  const bool isKnown = to.get("activations") && from.get("activations");
  set("activations",
      isKnown ? get(to, "activations") + get(from, "activations") - bytesInside(op, root) : Polynomial::unknown());
  auto name = dyn_cast_or_null<StringAttr>(to.get("name")), other = dyn_cast_or_null<StringAttr>(from.get("name"));
  if (name && other) {
    StringRef last = other.getValue().rsplit('.').second;
    to.set("name", StringAttr::get(context, name.getValue() + "+" + (last.empty() ? other.getValue() : last)));
  }
}

} // namespace

void rapt::mergeCosts(FunctionOpInterface entry, ArrayRef<FusedOp> fused) {
  auto facts = entry->getAttrOfType<DictionaryAttr>(AttnDialect::costsAttr);
  auto list = facts ? facts.getAs<ArrayAttr>("ops") : ArrayAttr();
  if (!list || !llvm::all_of(list, llvm::IsaPred<DictionaryAttr>))
    return;
  SmallVector<NamedAttrList> costs;
  for (auto element : list.getAsRange<DictionaryAttr>())
    costs.emplace_back(element);
  auto numberOf = [&](Operation *op) -> std::optional<size_t> {
    auto number = op->getAttrOfType<IntegerAttr>(AttnDialect::opAttr);
    return number && number.getValue().ult(costs.size()) ? std::optional<size_t>(number.getInt()) : std::nullopt;
  };
  SmallVector<size_t> roots = llvm::to_vector(llvm::seq<size_t>(0, costs.size()));
  for (auto [op, root] : fused) {
    const std::optional<size_t> from = numberOf(op), to = numberOf(root);
    if (!from || !to || roots[*from] != *from || roots[*to] != *to || from == to)
      continue;
    merge(costs[*to], root, costs[*from], op);
    roots[*from] = *to;
  }
  Builder b(entry.getContext());
  SmallVector<Attribute> ops;
  SmallVector<size_t> numbers(costs.size());
  for (auto [i, root] : llvm::enumerate(roots))
    if (root == i) {
      numbers[i] = ops.size();
      ops.push_back(costs[i].getDictionary(b.getContext()));
    }
  auto rootOf = [&](size_t i) {
    while (roots[i] != i)
      i = roots[i];
    return i;
  };
  entry->walk([&](Operation *op) {
    op->removeAttr(AttnDialect::movesAttr);
    if (std::optional<size_t> number = numberOf(op))
      op->setAttr(AttnDialect::opAttr, b.getI64IntegerAttr(numbers[rootOf(*number)]));
  });
  NamedAttrList all(facts);
  all.set("ops", b.getArrayAttr(ops));
  entry->setAttr(AttnDialect::costsAttr, all.getDictionary(b.getContext()));
}
