//===- AttentionState.cpp - Attention by tiles and by parts -----------------------===//
#include "lib/Reference/Ops.h"
#include "lib/Reference/Similarity.h"
#include <cmath>
#include <limits>

using namespace mlir;
namespace rapt::reference {

/// Element of extra i at query q and key kv of the tile, or the table. None where the extra has no such element.
template <typename S>
static std::optional<Slot<S>> extraAt(attn::AttentionStateOp op, unsigned i, const Tensor<S> &extra, int64_t q,
                                      int64_t kv) {
  Slot<S> slot{};
  if (op.isTable(i)) {
    slot.table = &extra;
    return slot;
  }
  int64_t at = 0;
  for (auto [expr, size] : llvm::zip(op.getExtraMap(i).getResults(), extra.shape)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    int64_t index = !dim ? 0 : dim.getPosition() == 0 ? q : kv;
    if (index >= size)
      return std::nullopt;
    at = at * size + index;
  }
  if (extra.floats.empty())
    slot.i = extra.ints[at];
  else
    slot.f = extra.floats[at];
  return slot;
}

namespace {

/// The keys that one query of attention_state sees, and their scores (A8).
template <typename S> class StateRow {
public:
  StateRow(attn::AttentionStateOp op, const AttentionStateOperands<S> &o) : op(op), o(o) {
    kept.resize(o.key->dim(0)), scores.resize(o.key->dim(0));
  }

  std::vector<S> scores;
  std::vector<bool> kept;

  LogicalResult run(int64_t m) {
    const int64_t channels = o.query->dim(1);
    for (size_t j = 0; j < kept.size(); ++j) {
      if (failed(bind(m, int64_t(j))))
        return failure();
      kept[j] = !o.mask || o.mask->run().i != 0;
      if (!kept[j])
        continue;
      scores[j] = o.scale * similarity(o.additive, channels, o.query->floats.data() + m * channels, 1,
                                       o.key->floats.data() + int64_t(j) * channels, 1);
      if (!o.score)
        continue;
      o.score->argument(0).f = scores[j];
      scores[j] = o.score->run().f;
    }
    return success();
  }

private:
  LogicalResult bind(int64_t m, int64_t j) {
    int64_t indices[] = {o.b, o.h, o.q + m, o.kv + j};
    for (unsigned i = 0; i < 4; ++i) {
      if (o.mask)
        o.mask->argument(i).i = indices[i];
      if (o.score)
        o.score->argument(1 + i).i = indices[i];
    }
    for (auto [i, extra] : llvm::enumerate(o.extras)) {
      std::optional<Slot<S>> slot = extraAt(op, i, *extra, m, j);
      if (!slot)
        return op.emitOpError() << "extra operand " << i << " has no element at query " << m << " and key " << j;
      if (o.mask)
        o.mask->argument(4 + i) = *slot;
      if (o.score)
        o.score->argument(5 + i) = *slot;
    }
    return success();
  }

  attn::AttentionStateOp op;
  const AttentionStateOperands<S> &o;
};

} // namespace

template <typename S>
static LogicalResult verifyExtents(attn::AttentionStateOp op, const AttentionStateOperands<S> &o,
                                   const AttentionState<S> &state) {
  if (o.key->dim(0) != o.value->dim(0))
    return op.emitOpError() << "has " << o.key->dim(0) << " keys for " << o.value->dim(0) << " values";
  if (o.key->dim(1) != o.query->dim(1) || (o.additive && o.additive->dim(0) != o.query->dim(1)))
    return op.emitOpError() << "has keys or an additive vector of other channels than the " << o.query->dim(1)
                            << " of its query";
  for (const Tensor<S> *rows : {&state.acc, &state.max, &state.sum})
    if (rows->dim(0) != o.query->dim(0))
      return op.emitOpError() << "has a state of " << rows->dim(0) << " queries for " << o.query->dim(0);
  if (state.acc.dim(1) != o.value->dim(1))
    return op.emitOpError() << "has a state of " << state.acc.dim(1) << " channels for values of " << o.value->dim(1);
  return success();
}

/// Gives the sums of query `m` the maximum `max`, which is no less than theirs (A35, A37).
template <typename S> static void raise(AttentionState<S> &state, int64_t m, S max) {
  S alpha = std::exp(std::max(std::numeric_limits<S>::lowest(), state.max.floats[m]) - max);
  state.max.floats[m] = max;
  state.sum.floats[m] *= alpha;
  for (int64_t d = 0, width = state.acc.dim(1); d < width; ++d)
    state.acc.floats[m * width + d] *= alpha;
}

template <typename S>
FailureOr<AttentionState<S>> evaluate(attn::AttentionStateOp op, const AttentionStateOperands<S> &o,
                                      AttentionState<S> state) {
  if (failed(verifyExtents(op, o, state)))
    return failure();
  const int64_t width = state.acc.dim(1), keys = o.key->dim(0);
  StateRow<S> row(op, o);
  for (int64_t m = 0; m < o.query->dim(0); ++m) {
    if (failed(row.run(m)))
      return failure();
    S max = std::max(std::numeric_limits<S>::lowest(), state.max.floats[m]);
    for (int64_t j = 0; j < keys; ++j)
      if (row.kept[j])
        max = std::max(max, row.scores[j]);
    raise(state, m, max);
    for (int64_t j = 0; j < keys; ++j) {
      if (!row.kept[j])
        continue;
      S p = std::exp(row.scores[j] - max);
      state.sum.floats[m] += p;
      for (int64_t d = 0; d < width; ++d)
        state.acc.floats[m * width + d] += p * o.value->floats[j * width + d];
    }
  }
  return state;
}

template <typename S>
FailureOr<AttentionState<S>> evaluate(attn::AttentionMergeOp op, const AttentionState<S> &parts,
                                      AttentionState<S> state) {
  int64_t count = parts.acc.dim(0), queries = state.acc.dim(0), width = state.acc.dim(1);
  if (parts.acc.dim(1) != queries || parts.acc.dim(2) != width)
    return op.emitOpError("has parts of other extents than its state");
  for (const Tensor<S> *rows : {&parts.max, &parts.sum})
    if (rows->dim(0) != count || rows->dim(1) != queries)
      return op.emitOpError("has not one max and one sum for each part and query");
  if (state.max.dim(0) != queries || state.sum.dim(0) != queries)
    return op.emitOpError("has not one max and one sum for each query");
  for (int64_t m = 0; m < queries; ++m) {
    S max = std::max(std::numeric_limits<S>::lowest(), state.max.floats[m]);
    for (int64_t p = 0; p < count; ++p)
      max = std::max(max, parts.max.floats[p * queries + m]);
    raise(state, m, max);
    for (int64_t p = 0; p < count; ++p) {
      S factor = std::exp(parts.max.floats[p * queries + m] - max);
      state.sum.floats[m] += factor * parts.sum.floats[p * queries + m];
      for (int64_t d = 0; d < width; ++d)
        state.acc.floats[m * width + d] += factor * parts.acc.floats[(p * queries + m) * width + d];
    }
  }
  return state;
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<AttentionState<S>> evaluate(attn::AttentionStateOp, const AttentionStateOperands<S> &,            \
                                                 AttentionState<S>);                                                   \
  template FailureOr<AttentionState<S>> evaluate(attn::AttentionMergeOp, const AttentionState<S> &, AttentionState<S>);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
