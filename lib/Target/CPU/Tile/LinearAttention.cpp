//===- LinearAttention.cpp - Tiles attn.linear_attention --------------------------------===//
//
// A task has a slice of value channels of one state S of a sequence, [key channels,
// columns], which stays in L1 for all tokens of the sequence. It takes some tokens at a
// time. With A(i, j) for the product of the decays behind token j up to token i, and from
// the first one for j = -1:
//
//   known_i = A(i, -1) S^T k_i + sum over j < i of A(i, j) (k_j . k_i) u_j
//   u_i     = beta_i (v_i - known_i), of the delta rule; else v_i
//   o_i     = A(i, -1) S^T q_i + sum over j <= i of A(i, j) (k_j . q_i) u_j
//   S       = A(last, -1) S + sum over j of A(last, j) k_j u_j^T
//
// So S is read once for all their keys and queries, and once more to be written. Decays are
// only multiplied: their products never exceed 1 where the decays do not.
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

class Tokens;

class Task {
  friend class Tokens;

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
  bool decaysByChannel() const { return op.getDecay() && op.decaysByChannel(); }
  Value after(ImplicitLocOpBuilder &b, Value i, int64_t count, Value &matrix, Value output) const;

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

/// Some tokens that a task takes at once.
class Tokens {
public:
  Tokens(ImplicitLocOpBuilder &b, const Task &task, Value first, int64_t count);

  /// S^T k_i and S^T q_i of the state `matrix`.
  void readState(ImplicitLocOpBuilder &b, Value matrix);
  /// What tokens add to the value channels by their keys.
  void solve(ImplicitLocOpBuilder &b);
  /// The state behind the tokens.
  Value advance(ImplicitLocOpBuilder &b, Value matrix) const;
  /// Panel `panel` of the output of token i to query `g` of the state, without the scale.
  Value output(ImplicitLocOpBuilder &b, int64_t i, int64_t g, int64_t panel) const;

private:
  /// Rows of the scratch that passes over the state read, [rows, key channels] in f32: keys and queries with the decays
  /// from the first token on, and where channels have decays of their own the keys with those up to the last token, and
  /// the decays of all tokens.
  int64_t readKey(int64_t i) const { return i; }
  int64_t readQuery(int64_t i, int64_t g) const { return count * (1 + g) + i; }
  int64_t writtenKey(int64_t i) const { return isByChannel ? count * (1 + task.group) + i : i; }
  int64_t keptRow() const { return count * (2 + task.group); }
  int64_t rows() const { return isByChannel ? keptRow() + 1 : count * (1 + task.group); }
  /// The numbers of the products of keys, j < i, and behind them of a query and a key, j <= i.
  int64_t ofKeys(int64_t i, int64_t j) const { return i * (i - 1) / 2 + j; }
  int64_t ofQuery(int64_t i, int64_t g, int64_t j) const {
    return count * (count - 1) / 2 + g * count * (count + 1) / 2 + i * (i + 1) / 2 + j;
  }
  int64_t products() const { return ofQuery(0, task.group, 0); }

  void prepare(ImplicitLocOpBuilder &b);
  /// The product of `decays` behind token j up to token i, null where there is none.
  static Value between(ImplicitLocOpBuilder &b, ArrayRef<Value> decays, int64_t j, int64_t i);
  static Value scaled(ImplicitLocOpBuilder &b, Value x, Value factor) { return factor ? times(b, x, factor) : x; }
  Value splatOf(ImplicitLocOpBuilder &b, int64_t row, Value key) const {
    return readSplat(b, scratch, {index(b, row), key});
  }
  bool isDelta() const { return task.op.getBeta() != nullptr; }

  const Task &task;
  int64_t count;
  bool isByChannel;
  Values tokens, decays; ///< decays of the head, in 32 lanes
  Value scratch;
  Values dots;    ///< in 32 lanes each
  Values reads;   ///< of the keys if `isDelta`, then of the queries: `panels` each
  Values changes; ///< of each token, `panels` each
};

Tokens::Tokens(ImplicitLocOpBuilder &b, const Task &task, Value first, int64_t count)
    : task(task), count(count), isByChannel(task.decaysByChannel()) {
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(plus(b, first, i));
    if (task.op.getDecay() && !isByChannel)
      decays.push_back(math::ExpOp::create(b, readSplat(b, task.op.getDecay(), {tokens[i], task.state})));
  }
  prepare(b);
}

Value Tokens::between(ImplicitLocOpBuilder &b, ArrayRef<Value> decays, int64_t j, int64_t i) {
  Value product;
  for (int64_t token = j + 1; token <= i && !decays.empty(); ++token)
    product = product ? times(b, product, decays[token]) : decays[token];
  return product;
}

/// Fills the scratch, and multiplies keys and queries with the keys before.
void Tokens::prepare(ImplicitLocOpBuilder &b) {
  const int64_t width = llvm::alignTo(task.keys(), kPanel);
  scratch = tensor::EmptyOp::create(b, ArrayRef<int64_t>{rows(), width}, b.getF32Type());
  Values carried(size_t(products()), zeros(b));
  carried.push_back(scratch);
  carried = loop(b, index(b, 0), index(b, width), kPanel, carried,
                 [&](ImplicitLocOpBuilder &b, Value channel, ValueRange before) {
                   Values next(before), keys, queries, own; // decays of the channels
                   for (int64_t i = 0; i < count; ++i) {
                     keys.push_back(readPanel(b, task.op.getKey(), {tokens[i], task.keyHead, channel}));
                     for (Value head : task.queryHeads)
                       queries.push_back(readPanel(b, task.op.getQuery(), {tokens[i], head, channel}));
                     if (isByChannel)
                       own.push_back(math::ExpOp::create(
                           b, readPanel(b, task.op.getDecay(), {tokens[i], task.state, channel})));
                   }
                   auto put = [&](int64_t row, Value panel) {
                     next.back() = writePanel(b, panel, next.back(), {index(b, row), channel});
                   };
                   auto add = [&](int64_t number, Value x, int64_t j) {
                     next[number] = vector::FMAOp::create(b, x, keys[j], next[number]);
                   };
                   for (int64_t i = 0; i < count; ++i) {
                     put(readKey(i), scaled(b, keys[i], between(b, own, -1, i)));
                     for (int64_t j = 0; j < i && isDelta(); ++j)
                       add(ofKeys(i, j), scaled(b, keys[i], between(b, own, j, i)), j);
                     for (int64_t g = 0; g < task.group; ++g) {
                       Value query = queries[i * task.group + g];
                       put(readQuery(i, g), scaled(b, query, between(b, own, -1, i)));
                       for (int64_t j = 0; j <= i; ++j)
                         add(ofQuery(i, g, j), scaled(b, query, between(b, own, j, i)), j);
                     }
                     if (isByChannel)
                       put(writtenKey(i), scaled(b, keys[i], between(b, own, i, count - 1)));
                   }
                   if (isByChannel)
                     put(keptRow(), between(b, own, -1, count - 1));
                   return next;
                 });
  scratch = carried.pop_back_val();
  for (Value sums : carried)
    dots.push_back(splat(b, vector::ReductionOp::create(b, vector::CombiningKind::ADD, sums,
                                                      arith::FastMathFlags::reassoc)));
}

void Tokens::readState(ImplicitLocOpBuilder &b, Value matrix) {
  SmallVector<int64_t> rows;
  for (int64_t i = 0; i < count && isDelta(); ++i)
    rows.push_back(readKey(i));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t g = 0; g < task.group; ++g)
      rows.push_back(readQuery(i, g));
  // A single token has too few sums to hide the latency of their additions: several key channels have sums of their own.
  const int64_t sums = int64_t(rows.size()) * task.panels, unroll = count > 1 ? 1 : task.schedule.keys;
  Values carried = loop(b, index(b, 0), index(b, task.keys()), unroll, Values(size_t(unroll * sums), zeros(b)),
                        [&](ImplicitLocOpBuilder &b, Value first, ValueRange before) {
                          Values next(before);
                          for (int64_t nth = 0; nth < unroll; ++nth) {
                            Value key = plus(b, first, nth);
                            Values state;
                            for (int64_t panel = 0; panel < task.panels; ++panel)
                              state.push_back(readPanel(b, matrix, {key, index(b, panel * kPanel)}));
                            for (auto [number, row] : llvm::enumerate(rows)) {
                              Value factor = splatOf(b, row, key);
                              for (int64_t panel = 0; panel < task.panels; ++panel) {
                                Value &read = next[size_t(nth * sums + int64_t(number) * task.panels + panel)];
                                read = vector::FMAOp::create(b, factor, state[panel], read);
                              }
                            }
                          }
                          return next;
                        });
  reads.assign(carried.begin(), carried.begin() + sums);
  for (int64_t i = sums; i < int64_t(carried.size()); ++i)
    reads[i % sums] = sum(b, reads[i % sums], carried[i]);
}

void Tokens::solve(ImplicitLocOpBuilder &b) {
  for (int64_t i = 0; i < count; ++i) {
    Value beta = isDelta() ? readSplat(b, task.op.getBeta(), {tokens[i], task.state}) : Value();
    for (int64_t panel = 0; panel < task.panels; ++panel) {
      Value change = readPanel(b, task.op.getValue(), {tokens[i], task.valueHead, task.at(b, task.column, panel)});
      if (isDelta()) {
        Value known = scaled(b, reads[i * task.panels + panel], between(b, decays, -1, i));
        for (int64_t j = 0; j < i; ++j)
          known = vector::FMAOp::create(b, scaled(b, dots[ofKeys(i, j)], between(b, decays, j, i)),
                                        changes[j * task.panels + panel], known);
        change = times(b, beta, arith::SubFOp::create(b, change, known));
      }
      changes.push_back(change);
    }
  }
}

Value Tokens::output(ImplicitLocOpBuilder &b, int64_t i, int64_t g, int64_t panel) const {
  const int64_t number = (isDelta() ? count : 0) + i * task.group + g;
  Value result = scaled(b, reads[number * task.panels + panel], between(b, decays, -1, i));
  for (int64_t j = 0; j <= i; ++j)
    result = vector::FMAOp::create(b, scaled(b, dots[ofQuery(i, g, j)], between(b, decays, j, i)),
                                   changes[j * task.panels + panel], result);
  return result;
}

Value Tokens::advance(ImplicitLocOpBuilder &b, Value matrix) const {
  // Decays of the head are in the changes; those of channels are in the keys.
  Values added;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t panel = 0; panel < task.panels; ++panel)
      added.push_back(scaled(b, changes[i * task.panels + panel], between(b, decays, i, count - 1)));
  Value ofHead = between(b, decays, -1, count - 1);
  return loop(b, index(b, 0), index(b, task.keys()), 1, matrix, [&](ImplicitLocOpBuilder &b, Value key, Value carried) {
    Value decay = isByChannel ? splatOf(b, keptRow(), key) : ofHead;
    Values keys;
    for (int64_t i = 0; i < count; ++i)
      keys.push_back(splatOf(b, writtenKey(i), key));
    for (int64_t panel = 0; panel < task.panels; ++panel) {
      Value place = index(b, panel * kPanel), next = scaled(b, readPanel(b, carried, {key, place}), decay);
      for (int64_t i = 0; i < count; ++i)
        next = vector::FMAOp::create(b, keys[i], added[i * task.panels + panel], next);
      carried = writePanel(b, next, carried, {key, place});
    }
    return carried;
  });
}

/// `output` with those of the `count` tokens from i of the row on, behind which `matrix` is the state.
Value Task::after(ImplicitLocOpBuilder &b, Value i, int64_t count, Value &matrix, Value output) const {
  Tokens tokens(b, *this, arith::AddIOp::create(b, begin, i), count);
  tokens.readState(b, matrix);
  tokens.solve(b);
  matrix = tokens.advance(b, matrix);
  Value scale = splat(b, arith::ConstantOp::create(b, b.getF32FloatAttr(op.getScale().convertToDouble())));
  for (int64_t token = 0; token < count && output; ++token)
    for (int64_t g = 0; g < group; ++g)
      for (int64_t panel = 0; panel < panels; ++panel)
        output = writePanel(b, times(b, tokens.output(b, token, g, panel), scale), output,
                            {plus(b, i, token), index(b, g), index(b, panel * kPanel)});
  return output;
}

std::pair<Value, Value> Task::overTokens(ImplicitLocOpBuilder &b, Value matrix, Value output) const {
  Values carried{matrix};
  if (output)
    carried.push_back(output);
  auto over = [&](Value lower, Value upper, int64_t count) {
    carried = loop(b, lower, upper, count, carried, [&](ImplicitLocOpBuilder &b, Value i, ValueRange before) {
      Value state = before[0], outputs = after(b, i, count, state, output ? before[1] : Value());
      return output ? Values{state, outputs} : Values{state};
    });
  };
  AffineExpr d0 = b.getAffineDimExpr(0);
  const int64_t most = schedule.tokens;
  Value whole = asValue(b, affineOf(b, d0 - d0 % most, {OpFoldResult(length)}));
  if (most > 1)
    over(index(b, 0), whole, most);
  over(most > 1 ? whole : index(b, 0), length, 1);
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
