//===- LinearAttention.cpp - Tiles attn.linear_attention --------------------------------===//
//
// A task has a slice of value channels of one state of a sequence, [key channels, columns],
// which stays in L1 for all tokens of the sequence. A token passes over it twice: for what
// the state knows of its key, and for the change and the outputs.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Conversion/Slots.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Fields.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

using Values = SmallVector<Value>;

/// Rows of a task that fills outputs of tokens of no sequence.
constexpr int64_t kRestRows = 64;

Value times(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::MulFOp::create(b, x, y); }
Value sum(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::AddFOp::create(b, x, y); }
Value zeros(ImplicitLocOpBuilder &b) {
  return arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({kPanel}, b.getF32Type())));
}

/// A float element of a tensor as f32 in 32 lanes.
Value readSplat(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices) {
  Value element = tensor::ExtractOp::create(b, tensor, indices);
  if (!element.getType().isF32())
    element = arith::ExtFOp::create(b, b.getF32Type(), element);
  return splat(b, element);
}

class Task {
public:
  Task(ImplicitLocOpBuilder &b, attn::LinearAttentionOp op, const cpu::LinearAttentionSchedule &schedule, Value row,
       Value state, Value slice)
      : op(op), schedule(schedule), row(row), state(state), group(op.getOutputs() / op.getStates()),
        panels(schedule.columns / kPanel) {
    begin = readIndex(b, op.getRowBegin(), row);
    length = arith::SubIOp::create(b, readIndex(b, op.getRowBegin(), plus(b, row, 1)), begin);
    column = arith::MulIOp::create(b, slice, index(b, schedule.columns));
    firstOutput = arith::MulIOp::create(b, state, index(b, group));
    keyHead = headOf(b, op.getKey());
    valueHead = headOf(b, op.getValue());
    for (int64_t i = 0; i < group; ++i) // outputs that share a state have a query each
      queryHeads.push_back(group == 1 ? headOf(b, op.getQuery()) : plus(b, firstOutput, i));
  }

  /// Where the task's part of the output is, and of the states of the slots.
  Insertion outputPlace(ImplicitLocOpBuilder &b) const {
    return {{}, {begin, firstOutput, column}, {length, b.getIndexAttr(group), b.getIndexAttr(schedule.columns)}};
  }
  Insertion statePlace(ImplicitLocOpBuilder &b, Value slots) const {
    const OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    return placeOfSlot(b, op, slots, row,
                       {{OpFoldResult(state), one},
                        {zero, b.getIndexAttr(keys())},
                        {OpFoldResult(column), b.getIndexAttr(schedule.columns)}});
  }

  /// The state before the first token; `states` has those of all slots.
  Value first(ImplicitLocOpBuilder &b, Value states) const;
  /// The state and the outputs behind all tokens.
  std::pair<Value, Value> overTokens(ImplicitLocOpBuilder &b, Value matrix, Value output) const;

private:
  int64_t keys() const { return op.getKeyChannels(); }
  Value headOf(ImplicitLocOpBuilder &b, Value tensor) {
    const int64_t heads = cast<RankedTensorType>(tensor.getType()).getDimSize(1);
    AffineExpr d0 = b.getAffineDimExpr(0);
    const bool isRemainder = op.getPairing() == attn::HeadPairing::remainder;
    return asValue(b, affineOf(b, isRemainder ? d0 % heads : d0.floorDiv(op.getStates() / heads), {state}));
  }
  Value at(ImplicitLocOpBuilder &b, Value from, int64_t panel) const { return plus(b, from, panel * kPanel); }
  /// Steps over `keys` key channels at a time with carried values; `body` gets one channel at a time and its number
  /// among these.
  Values overKeys(ImplicitLocOpBuilder &b, ValueRange init,
                  function_ref<void(ImplicitLocOpBuilder &, Value key, int64_t nth, Values &carried)> body) const {
    return loop(b, index(b, 0), index(b, keys()), schedule.keys, init,
                [&](ImplicitLocOpBuilder &b, Value key, ValueRange carried) {
                  Values next(carried);
                  for (int64_t nth = 0; nth < schedule.keys; ++nth)
                    body(b, plus(b, key, nth), nth, next);
                  return next;
                });
  }
  /// The sums of `count` panels that `sums` has for each of the unrolled key channels.
  Values added(ImplicitLocOpBuilder &b, ValueRange sums, int64_t count) const {
    Values totals(sums.take_front(count));
    for (int64_t i = count; i < int64_t(sums.size()); ++i)
      totals[i % count] = sum(b, totals[i % count], sums[i]);
    return totals;
  }
  Value decays(ImplicitLocOpBuilder &b, Value token) const;
  Value decayOf(ImplicitLocOpBuilder &b, Value decay, Value key) const;
  Values changeOf(ImplicitLocOpBuilder &b, Value token, Value matrix, Value decay) const;
  std::pair<Value, Value> step(ImplicitLocOpBuilder &b, Value i, Value matrix, Value output) const;

  mutable attn::LinearAttentionOp op; ///< a handle, whose getters are not const
  const cpu::LinearAttentionSchedule &schedule;
  Value row, state;
  int64_t group;  ///< outputs that read a state
  int64_t panels; ///< of a row of the slice
  Value begin, length, column, firstOutput, keyHead, valueHead;
  Values queryHeads;
};

Value Task::first(ImplicitLocOpBuilder &b, Value states) const {
  Value empty = tensor::EmptyOp::create(b, ArrayRef<int64_t>{keys(), schedule.columns}, b.getF32Type());
  Value kept;
  if (states) {
    Insertion from = statePlace(b, op.getFrom());
    kept = extract(b, states, from.offsets, from.sizes, {keys(), schedule.columns});
  }
  return loop(b, index(b, 0), index(b, keys()), 1, empty, [&](ImplicitLocOpBuilder &b, Value key, Value carried) {
    for (int64_t panel = 0; panel < panels; ++panel) {
      Value column = index(b, panel * kPanel);
      carried = writePanel(b, kept ? readPanel(b, kept, {key, column}) : zeros(b), carried, {key, column});
    }
    return carried;
  });
}

/// The decays of the token: of the head in 32 lanes, or of all key channels, [key channels]; null without.
Value Task::decays(ImplicitLocOpBuilder &b, Value token) const {
  if (!op.getDecay())
    return {};
  if (op.getDecay().getType().getRank() == 2)
    return math::ExpOp::create(b, readSplat(b, op.getDecay(), {token, state}));
  Value row = rowOf(b, op.getDecay(), {token, state});
  return forPanels(b, keys(), tensor::EmptyOp::create(b, ArrayRef<int64_t>{keys()}, b.getF32Type()),
                   [&](ImplicitLocOpBuilder &b, Value column, Value) -> Value {
                     return math::ExpOp::create(b, readPanel(b, row, column));
                   });
}

/// The decay of a key channel in 32 lanes.
Value Task::decayOf(ImplicitLocOpBuilder &b, Value decay, Value key) const {
  return isa<VectorType>(decay.getType()) ? decay : readSplat(b, decay, key);
}

/// What the token adds to each value channel by its key.
Values Task::changeOf(ImplicitLocOpBuilder &b, Value token, Value matrix, Value decay) const {
  Values values;
  for (int64_t panel = 0; panel < panels; ++panel)
    values.push_back(readPanel(b, op.getValue(), {token, valueHead, at(b, column, panel)}));
  if (!op.getBeta())
    return values;
  const bool isByChannel = decay && !isa<VectorType>(decay.getType());
  Values sums = overKeys(b, Values(size_t(schedule.keys * panels), zeros(b)),
                         [&](ImplicitLocOpBuilder &b, Value key, int64_t nth, Values &carried) {
                           Value factor = readSplat(b, op.getKey(), {token, keyHead, key});
                           if (isByChannel)
                             factor = times(b, factor, decayOf(b, decay, key));
                           for (int64_t panel = 0; panel < panels; ++panel) {
                             Value &known = carried[size_t(nth * panels + panel)];
                             Value kept = readPanel(b, matrix, {key, index(b, panel * kPanel)});
                             known = vector::FMAOp::create(b, factor, kept, known);
                           }
                         });
  Value beta = readSplat(b, op.getBeta(), {token, state});
  for (auto [value, known] : llvm::zip_equal(values, added(b, sums, panels))) {
    if (decay && !isByChannel)
      known = times(b, known, decay);
    value = times(b, beta, arith::SubFOp::create(b, value, known));
  }
  return values;
}

/// The state and the outputs behind token i of the row.
std::pair<Value, Value> Task::step(ImplicitLocOpBuilder &b, Value i, Value matrix, Value output) const {
  Value token = arith::AddIOp::create(b, begin, i), decay = decays(b, token);
  const Values change = changeOf(b, token, matrix, decay);
  const int64_t sums = group * panels;
  Values carried(output ? size_t(schedule.keys * sums) : 0, zeros(b));
  carried.push_back(matrix);
  carried = overKeys(b, carried, [&](ImplicitLocOpBuilder &b, Value key, int64_t nth, Values &carried) {
    Value factor = readSplat(b, op.getKey(), {token, keyHead, key}), kept = decay ? decayOf(b, decay, key) : Value();
    Values queries;
    for (int64_t g = 0; g < group && output; ++g)
      queries.push_back(readSplat(b, op.getQuery(), {token, queryHeads[g], key}));
    for (int64_t panel = 0; panel < panels; ++panel) {
      Value place = index(b, panel * kPanel), old = readPanel(b, carried.back(), {key, place});
      Value next = vector::FMAOp::create(b, factor, change[panel], kept ? times(b, old, kept) : old);
      carried.back() = writePanel(b, next, carried.back(), {key, place});
      for (auto [g, query] : llvm::enumerate(queries)) {
        Value &read = carried[size_t(nth * sums + int64_t(g) * panels + panel)];
        read = vector::FMAOp::create(b, query, next, read);
      }
    }
  });
  if (output) {
    Value scale = splat(b, arith::ConstantOp::create(b, b.getF32FloatAttr(op.getScale().convertToDouble())));
    for (auto [number, total] : llvm::enumerate(added(b, ValueRange(carried).drop_back(), sums)))
      output = writePanel(b, times(b, total, scale), output,
                          {i, index(b, int64_t(number) / panels), index(b, int64_t(number) % panels * kPanel)});
  }
  return {carried.back(), output};
}

std::pair<Value, Value> Task::overTokens(ImplicitLocOpBuilder &b, Value matrix, Value output) const {
  Values carried{matrix};
  if (output)
    carried.push_back(output);
  carried = loop(b, index(b, 0), length, 1, carried, [&](ImplicitLocOpBuilder &b, Value i, ValueRange before) {
    auto [matrix, output] = step(b, i, before[0], before.size() > 1 ? before[1] : Value());
    return output ? Values{matrix, output} : Values{matrix};
  });
  return {carried[0], output ? carried[1] : Value()};
}

struct TileLinearAttention : OpRewritePattern<attn::LinearAttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::LinearAttentionOp op, PatternRewriter &rewriter) const override {
    if (std::string reason = cpu::whyNotTiled(op); !reason.empty())
      return rewriter.notifyMatchFailure(op, reason);
    const auto schedule = cpu::scheduleOf<cpu::LinearAttentionSchedule>(op);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    // A result without users has no destination.
    const bool hasOutput = !op.getOutput().use_empty(), leavesState = op.getNewState() && !op.getNewState().use_empty();
    Values dests;
    if (hasOutput) {
      OpFoldResult extents[] = {extent(b, op.getQuery(), 0), b.getIndexAttr(op.getOutputs()),
                                b.getIndexAttr(op.getValueChannels())};
      dests.push_back(empty(b, op.getOutput().getType(), extents));
      if (!coverAllRows(op.getRowBegin()))
        dests.back() = fillRest(b, op.getRowBegin(), 0, kRestRows, dests.back());
    }
    if (leavesState)
      dests.push_back(op.getState());
    OpFoldResult rows = affineOf(b, b.getAffineDimExpr(0) - 1, {extent(b, op.getRowBegin(), 0)}),
                 states = b.getIndexAttr(op.getStates()),
                 slices = b.getIndexAttr(op.getValueChannels() / schedule.columns);
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange out) {
      const Task task(b, op, schedule, ids[0], ids[1], ids[2]);
      SmallVector<Insertion> insertions;
      Value output;
      if (hasOutput) {
        insertions.push_back(task.outputPlace(b));
        output = extract(b, out[0], insertions[0].offsets, insertions[0].sizes,
                         {ShapedType::kDynamic, op.getOutputs() / op.getStates(), schedule.columns});
      }
      // Read where it is written, so that states are updated in place: no row writes what another one reads.
      Value before = task.first(b, leavesState ? out.back() : op.getState());
      auto [last, outputs] = task.overTokens(b, before, output);
      if (hasOutput)
        insertions[0].tile = outputs;
      if (leavesState) {
        insertions.push_back(task.statePlace(b, op.getTo()));
        insertions.back().tile = last;
      }
      return insertions;
    };
    Values results = dests.empty() ? Values() : grid(b, {rows, states, slices}, dests, body);
    if (hasOutput)
      rewriter.replaceAllUsesWith(op.getOutput(), results.front());
    if (leavesState)
      rewriter.replaceAllUsesWith(op.getNewState(), results.back());
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void rapt::populateLinearAttentionTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileLinearAttention>(patterns.getContext());
}
