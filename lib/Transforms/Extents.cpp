//===- Extents.cpp - Extents of tensors that follow from others --------------------===//
#include "lib/Transforms/Extents.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rapt;

Extents::Extents(ModuleOp module) {
  module.walk([&](Operation *op) {
    current = op;
    tieOp(op);
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
void Extents::tie(Value a, unsigned i, Value b, unsigned j, int64_t more) {
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

/// `begin` has the offsets of packed rows, one more than there are rows; `perRow` have an extent 0 of the rows.
void Extents::tieOffsets(Value begin, ValueRange perRow) {
  auto [root, more] = find(idOf(begin, 0));
  sets[root].lowest = std::min(sets[root].lowest, more - 1);
  demand(leastOf(root).value_or(0) >= 0);
  for (Value rows : perRow)
    tie(begin, 0, rows, 0, 1);
}

void Extents::demand(bool isPossible) {
  if (!isPossible && !contradiction)
    contradiction = current;
}

void Extents::tieAll(Value a, Value b) {
  auto x = dyn_cast<RankedTensorType>(a.getType()), y = dyn_cast<RankedTensorType>(b.getType());
  if (x && y && x.getRank() == y.getRank())
    for (unsigned i = 0; i < x.getRank(); ++i)
      tie(a, i, b, i);
}

/// `operands`: those that have maps, with the maps' numbers.
template <typename Op> void Extents::tieAttention(Op op, ArrayRef<std::pair<unsigned, Value>> operands) {
  std::optional<std::pair<Value, unsigned>> first[attn::AttentionOp::NumDims];
  auto see = [&](unsigned dim, Value value, unsigned i) {
    if (first[dim])
      tie(value, i, first[dim]->first, first[dim]->second);
    else
      first[dim] = {value, i};
  };
  for (auto [i, operand] : operands) {
    bool hasRows = op.dimOf(i, attn::AttentionOp::B).has_value();
    for (auto [position, expr] : llvm::enumerate(op.getMap(i).getResults())) {
      unsigned dim = cast<AffineDimExpr>(expr).getPosition();
      // Beside its row, a query or key is counted within the row, not in the packed dim.
      bool isWithinRow = hasRows && ((dim == attn::AttentionOp::Q && op.getQBegin()) ||
                                     (dim == attn::AttentionOp::KV && op.getKvBegin()));
      if (!isWithinRow)
        see(dim, operand, position);
    }
  }
  for (Value perRow : {op.getQOffset(), op.getKvLength()})
    if (perRow)
      see(attn::AttentionOp::B, perRow, 0);
  for (Value begin : {op.getQBegin(), op.getKvBegin()}) {
    if (!begin)
      continue;
    tieOffsets(begin, {});
    if (const auto &rows = first[attn::AttentionOp::B])
      tie(begin, 0, rows->first, rows->second, 1);
    else if (op.isSingle(attn::AttentionOp::B))
      fix(begin, 0, 2);
  }
  for (attn::AttentionOp::Dim dim : {attn::AttentionOp::B, attn::AttentionOp::HKV, attn::AttentionOp::G})
    if (first[dim] && op.isSingle(dim))
      fix(first[dim]->first, first[dim]->second, 1);
  if (op.getQBegin() && op.getKvBegin())
    tie(op.getQBegin(), 0, op.getKvBegin(), 0);
}

/// Ops with a tensor of their packed rows' offsets.
void Extents::tieRows(Operation *op) {
  if (auto positions = dyn_cast<attn::PositionsOp>(op)) {
    tieAll(positions.getTokens(), positions.getResult());
    tieOffsets(positions.getRowBegin(), op->getOperands().drop_front(2));
  } else if (auto pool = dyn_cast<attn::PoolRowsOp>(op)) {
    tieOffsets(pool.getRowBegin(), pool.getResult());
  } else if (auto append = dyn_cast<attn::KVAppendOp>(op)) {
    tieAll(append.getKey(), append.getValue());
    tieOffsets(append.getRowBegin(), {append.getPast(), append.getTable()});
  } else if (auto recurrence = dyn_cast<attn::RecurrenceOp>(op)) {
    tie(recurrence.getGates(), 0, recurrence.getOutput(), 0);
    tieOffsets(recurrence.getRowBegin(), recurrence.getInitial());
    tieOffsets(recurrence.getRowBegin(), recurrence.getStates());
  }
}

void Extents::tieControl(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
    auto end = callee && !callee.isDeclaration() ? dyn_cast<func::ReturnOp>(callee.getBody().front().getTerminator())
                                                 : func::ReturnOp();
    if (!end)
      return;
    for (auto [operand, argument] : llvm::zip(call.getOperands(), callee.getArguments()))
      tieAll(operand, argument);
    for (auto [result, value] : llvm::zip(call.getResults(), end.getOperands()))
      tieAll(result, value);
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, argument, result, yielded] :
         llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults(), loop.getYieldedValues())) {
      tieAll(init, argument);
      tieAll(init, result);
      tieAll(init, yielded);
    }
  } else if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    for (unsigned i = 0; i < empty.getType().getRank(); ++i) {
      auto dim = empty.getType().isDynamicDim(i) ? empty.getDynamicSize(i).getDefiningOp<tensor::DimOp>() : nullptr;
      auto source = dim ? dyn_cast<RankedTensorType>(dim.getSource().getType()) : RankedTensorType();
      if (std::optional<int64_t> j = dim ? dim.getConstantIndex() : std::nullopt; source && j && *j < source.getRank())
        tie(empty, i, dim.getSource(), *j);
    }
  }
}

void Extents::tieOp(Operation *op) {
  if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
    SmallVector<std::pair<unsigned, Value>> operands{
        {0, attention.getQuery()}, {1, attention.getKey()}, {2, attention.getValue()}, {3, attention.getResult()}};
    for (auto [i, extra] : llvm::enumerate(attention.getExtras()))
      operands.push_back({4 + i, extra});
    tieAttention(attention, operands);
  } else if (auto weights = dyn_cast<attn::AttentionWeightsOp>(op)) {
    SmallVector<std::pair<unsigned, Value>> operands{{0, weights.getQuery()}, {1, weights.getKey()}};
    for (auto [i, extra] : llvm::enumerate(weights.getExtras()))
      operands.push_back({4 + i, extra});
    tieAttention(weights, operands);
    tieAll(weights.getWeights(), weights.getResult());
    tie(weights.getWeights(), 0, weights.getQuery(), *weights.dimOf(0, attn::AttentionOp::Q));
  } else if (isa<attn::ActivationOp, attn::GLUOp, attn::AddOp>(op)) {
    for (Value operand : op->getOperands())
      tieAll(operand, op->getResult(0));
  } else if (isa<attn::LayerNormOp, attn::RMSNormOp>(op)) {
    tieAll(op->getOperand(0), op->getResult(0));
  } else if (auto rope = dyn_cast<attn::RopeOp>(op)) {
    tieAll(rope.getInput(), rope.getResult());
    for (Value table : {rope.getCosines(), rope.getSines()})
      tie(table, 0, rope.getResult(), 0);
  } else if (auto linear = dyn_cast<attn::LinearOp>(op)) {
    tie(linear.getInput(), 0, linear.getResult(), 0);
    for (Value extra : linear.getExtras())
      tieAll(extra, linear.getResult());
  } else if (isa<attn::SplitHeadsOp, attn::MergeHeadsOp, attn::EmbeddingOp, attn::SinusoidsOp, attn::RotaryTableOp,
                 attn::ColumnOp>(op)) {
    for (Value result : op->getResults())
      tie(op->getOperand(0), 0, result, 0);
  } else if (auto select = dyn_cast<attn::SelectRowsOp>(op)) {
    tie(select.getRows(), 0, select.getResult(), 0);
  } else if (auto update = dyn_cast<attn::UpdateRowsOp>(op)) {
    tieAll(update.getState(), update.getResult());
    tie(update.getRows(), 0, update.getValues(), 0);
  } else if (auto concat = dyn_cast<attn::ConcatOp>(op)) {
    for (Value input : concat.getInputs())
      tie(input, 0, concat.getResult(), 0);
  } else if (auto view = dyn_cast<attn::KVViewOp>(op)) {
    for (Value result : view.getResults())
      tie(view.getTable(), 0, result, 0);
    tieAll(view.getKeys(), view.getValues());
  } else {
    tieRows(op);
    tieControl(op);
  }
}
