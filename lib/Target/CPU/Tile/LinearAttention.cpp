//===- LinearAttention.cpp - Tiles attn.linear_attention --------------------------------===//
//
// A task has one state S of a sequence, [key channels, value channels]. It goes along the
// tokens in chunks: first it computes what does not depend on S, then for each slice of the
// value channels, which stays in L1 meanwhile, all tokens of the chunk, some at a time. With
// A(i, j) for the product of the decays behind token j up to token i, and from the first one
// for j = -1:
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
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Conversion/Slots.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

using Values = SmallVector<Value>;

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

/// A slice of the value channels of a state: where its elements are in a tensor that is read, and in the one that is
/// written.
struct Slice {
  Values from, to; ///< indices ahead of those of a key channel and a value channel
  Value firstKey;  ///< of its key channels in the tensor
  Value place;     ///< of its value channels there
  Value column;    ///< of its value channels in all
  int64_t panels;

  Values indices(ImplicitLocOpBuilder &b, ArrayRef<Value> ahead, Value key, int64_t panel) const {
    Values all(ahead);
    all.append({arith::AddIOp::create(b, firstKey, key), plus(b, place, panel * kPanel)});
    return all;
  }
};

class Task {
  friend class Tokens;

public:
  Task(ImplicitLocOpBuilder &b, attn::LinearAttentionOp op, attn_cpu::LinearAttentionScheduleAttr schedule, Value row,
       Value state)
      : op(op), schedule(schedule), row(row), state(state), tokens(b, op.getRowBegin(), row),
        group(op.getOutputs() / op.getStates()), panels(schedule.getColumns() / kPanel),
        slices(op.getValueChannels() / schedule.getColumns()) {
    firstOutput = arith::MulIOp::create(b, state, index(b, group));
    keyHead = headOf(b, op, op.getKey(), state);
    valueHead = headOf(b, op, op.getValue(), state);
    for (int64_t i = 0; i < group; ++i) // outputs that share a state have a query each
      queryHeads.push_back(group == 1 ? headOf(b, op, op.getQuery(), state) : plus(b, firstOutput, i));
  }

  /// Where the task's part of the output is, and of the states of the slots.
  Insertion outputPlace(ImplicitLocOpBuilder &b) const {
    return {{},
            {tokens.begin, firstOutput, b.getIndexAttr(0)},
            {tokens.length, b.getIndexAttr(group), b.getIndexAttr(values())}};
  }
  Insertion statePlace(ImplicitLocOpBuilder &b, Value slots) const {
    return placeOfSlot(b, op, slots, row, {{OpFoldResult(state), OpFoldResult(b.getIndexAttr(1))}});
  }

  /// The state before the first token, slice by slice, [slices * key channels, columns]; `states` has those of all
  /// slots.
  Value first(ImplicitLocOpBuilder &b, Value states) const;
  /// The state and the outputs behind all tokens.
  std::pair<Value, Value> overTokens(ImplicitLocOpBuilder &b, Value matrix, Value output) const;
  /// `dest`, [key channels, value channels], with that state.
  Value last(ImplicitLocOpBuilder &b, Value matrix, Value dest) const;
  /// The states of all slots and the outputs behind the only token of the row.
  Values overToken(ImplicitLocOpBuilder &b, ValueRange carried) const;
  Value hasOneToken(ImplicitLocOpBuilder &b) const {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, tokens.length, index(b, 1));
  }

private:
  int64_t keys() const { return op.getKeyChannels(); }
  int64_t values() const { return op.getValueChannels(); }
  bool decaysByChannel() const { return op.getDecay() && op.decaysByChannel(); }
  /// Goes on over the panels of all slices: `body` gets where one is in the slices and in a row of all value channels.
  Value
  overPanels(ImplicitLocOpBuilder &b, Value init,
             function_ref<Value(ImplicitLocOpBuilder &, ValueRange ofSlices, ValueRange ofAll, Value)> body) const;
  Values overChunk(ImplicitLocOpBuilder &b, Value from, Value to, int64_t count, ValueRange carried) const;

  mutable attn::LinearAttentionOp op; ///< a handle, whose getters are not const
  attn_cpu::LinearAttentionScheduleAttr schedule;
  Value row, state;
  RowTokens tokens;
  int64_t group;  ///< outputs that read a state
  int64_t panels; ///< of a row of a slice
  int64_t slices;
  Value firstOutput, keyHead, valueHead;
  Values queryHeads;
};

Value Task::overPanels(
    ImplicitLocOpBuilder &b, Value init,
    function_ref<Value(ImplicitLocOpBuilder &, ValueRange ofSlices, ValueRange ofAll, Value)> body) const {
  return loop(b, index(b, 0), index(b, keys()), 1, init, [&](ImplicitLocOpBuilder &b, Value key, Value carried) {
    for (int64_t slice = 0; slice < slices; ++slice)
      for (int64_t panel = 0; panel < panels; ++panel)
        carried = body(b, {plus(b, key, slice * keys()), index(b, panel * kPanel)},
                       {key, index(b, slice * schedule.getColumns() + panel * kPanel)}, carried);
    return carried;
  });
}

Value Task::first(ImplicitLocOpBuilder &b, Value states) const {
  Value kept,
      empty = tensor::EmptyOp::create(b, ArrayRef<int64_t>{slices * keys(), schedule.getColumns()}, b.getF32Type());
  if (states) {
    const Insertion from = statePlace(b, op.getFrom());
    kept = extract(b, states, from.offsets, from.sizes, {keys(), values()});
  }
  return overPanels(b, empty, [&](ImplicitLocOpBuilder &b, ValueRange ofSlices, ValueRange ofAll, Value carried) {
    return writePanel(b, kept ? readPanel(b, kept, ofAll) : zeros(b), carried, ofSlices);
  });
}

Value Task::last(ImplicitLocOpBuilder &b, Value matrix, Value dest) const {
  return overPanels(b, dest, [&](ImplicitLocOpBuilder &b, ValueRange ofSlices, ValueRange ofAll, Value carried) {
    return writePanel(b, readPanel(b, matrix, ofSlices), carried, ofAll);
  });
}

/// Some tokens that a task takes at once, of which a chunk has a number.
class Tokens {
public:
  Tokens(ImplicitLocOpBuilder &b, const Task &task, Value first, int64_t count, Value number);

  /// Tensors for what does not depend on the state, of so many such tokens.
  static Values scratchFor(ImplicitLocOpBuilder &b, const Task &task, int64_t count, int64_t most);
  /// These with what belongs to the tokens.
  Values prepare(ImplicitLocOpBuilder &b, ValueRange scratch) const;
  /// Goes on for a slice, with what is there: `carried` are tensors of the state and of the outputs, if there are any,
  /// of which token i of the row is the first of these. Gives those behind the tokens.
  Values compute(ImplicitLocOpBuilder &b, ValueRange scratch, const Slice &slice, Value i, ValueRange carried);

private:
  /// Rows that passes over the state read, [rows, key channels] in f32: keys and queries with the decays
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

  /// Behind them the decays of the head.
  int64_t ofDecay(int64_t i) const { return products() + i; }

  /// The product of `decays` behind token j up to token i, null where there is none.
  static Value between(ImplicitLocOpBuilder &b, ArrayRef<Value> decays, int64_t j, int64_t i);
  static Value scaled(ImplicitLocOpBuilder &b, Value x, Value factor) { return factor ? times(b, x, factor) : x; }
  Value splatOf(ImplicitLocOpBuilder &b, int64_t row, Value key) const {
    return readSplat(b, keyRows, {plus(b, firstRow, row), key});
  }
  /// S^T k_i and S^T q_i.
  void readState(ImplicitLocOpBuilder &b, const Slice &slice, Value states);
  /// What tokens add to the value channels by their keys.
  void solve(ImplicitLocOpBuilder &b, const Slice &slice);
  /// The states with that behind the tokens.
  Value advance(ImplicitLocOpBuilder &b, const Slice &slice, Value states) const;
  /// Panel `panel` of the output of token i to query `g` of the state, without the scale.
  Value output(ImplicitLocOpBuilder &b, int64_t i, int64_t g, int64_t panel) const;
  bool isDelta() const { return task.op.getBeta() != nullptr; }

  const Task &task;
  int64_t count;
  bool isByChannel, hasDecay; ///< decays of the channels; of the head
  Value number, firstRow;
  Values tokens;
  Value keyRows;
  int64_t panels = 0;  ///< of a slice
  Values dots, decays; ///< in 32 lanes each
  Values reads;        ///< of the keys if `isDelta`, then of the queries: `panels` each
  Values changes;      ///< of each token, `panels` each
};

Tokens::Tokens(ImplicitLocOpBuilder &b, const Task &task, Value first, int64_t count, Value number)
    : task(task), count(count), isByChannel(task.decaysByChannel()), hasDecay(task.op.getDecay() && !isByChannel),
      number(number) {
  firstRow = arith::MulIOp::create(b, number, index(b, rows()));
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back(plus(b, first, i));
}

Values Tokens::scratchFor(ImplicitLocOpBuilder &b, const Task &task, int64_t count, int64_t most) {
  const Tokens one(b, task, index(b, 0), count, index(b, 0));
  auto empty = [&](int64_t rows, int64_t columns) -> Value {
    return tensor::EmptyOp::create(b, ArrayRef<int64_t>{rows, columns}, b.getF32Type());
  };
  return {empty(most * one.rows(), llvm::alignTo(task.keys(), kPanel)), empty(most, one.ofDecay(count))};
}

Value Tokens::between(ImplicitLocOpBuilder &b, ArrayRef<Value> decays, int64_t j, int64_t i) {
  Value product;
  for (int64_t token = j + 1; token <= i && !decays.empty(); ++token)
    product = product ? times(b, product, decays[token]) : decays[token];
  return product;
}

/// Products of keys and queries with the keys before are sums over all key channels.
Values Tokens::prepare(ImplicitLocOpBuilder &b, ValueRange scratch) const {
  const int64_t width = llvm::alignTo(task.keys(), kPanel);
  Values carried(size_t(products()), zeros(b));
  carried.push_back(scratch[0]);
  carried = loop(
      b, index(b, 0), index(b, width), kPanel, carried, [&](ImplicitLocOpBuilder &b, Value channel, ValueRange before) {
        Values next(before), keys, queries, own; // decays of the channels
        for (int64_t i = 0; i < count; ++i) {
          keys.push_back(readPanel(b, task.op.getKey(), {tokens[i], task.keyHead, channel}));
          for (Value head : task.queryHeads)
            queries.push_back(readPanel(b, task.op.getQuery(), {tokens[i], head, channel}));
          if (isByChannel)
            own.push_back(math::ExpOp::create(b, readPanel(b, task.op.getDecay(), {tokens[i], task.state, channel})));
        }
        auto put = [&](int64_t row, Value panel) {
          next.back() = writePanel(b, panel, next.back(), {plus(b, firstRow, row), channel});
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
  Value keyRows = carried.pop_back_val(), numbers = scratch[1];
  auto put = [&](int64_t place, Value x) {
    numbers = tensor::InsertOp::create(b, x, numbers, ValueRange{number, index(b, place)});
  };
  for (auto [place, sums] : llvm::enumerate(carried))
    put(int64_t(place),
        vector::ReductionOp::create(b, vector::CombiningKind::ADD, sums, arith::FastMathFlags::reassoc));
  for (int64_t i = 0; i < count && hasDecay; ++i) {
    Value decay = math::ExpOp::create(b, readSplat(b, task.op.getDecay(), {tokens[i], task.state}));
    put(ofDecay(i), vector::ExtractOp::create(b, decay, 0));
  }
  return {keyRows, numbers};
}

Values Tokens::compute(ImplicitLocOpBuilder &b, ValueRange scratch, const Slice &slice, Value i, ValueRange carried) {
  keyRows = scratch[0];
  panels = slice.panels;
  auto get = [&](int64_t place) { return readSplat(b, scratch[1], {number, index(b, place)}); };
  for (int64_t place = 0; place < products(); ++place)
    dots.push_back(get(place));
  for (int64_t token = 0; token < count && hasDecay; ++token)
    decays.push_back(get(ofDecay(token)));
  readState(b, slice, carried[0]);
  solve(b, slice);
  Values results{advance(b, slice, carried[0])};
  if (carried.size() == 1)
    return results;
  Value output = carried[1];
  Value scale = splat(b, arith::ConstantOp::create(b, b.getF32FloatAttr(task.op.getScale().convertToDouble())));
  for (int64_t token = 0; token < count; ++token)
    for (int64_t g = 0; g < task.group; ++g)
      for (int64_t panel = 0; panel < panels; ++panel)
        output = writePanel(b, times(b, this->output(b, token, g, panel), scale), output,
                            {plus(b, i, token), index(b, g), plus(b, slice.column, panel * kPanel)});
  results.push_back(output);
  return results;
}

void Tokens::readState(ImplicitLocOpBuilder &b, const Slice &slice, Value states) {
  SmallVector<int64_t> rows;
  for (int64_t i = 0; i < count && isDelta(); ++i)
    rows.push_back(readKey(i));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t g = 0; g < task.group; ++g)
      rows.push_back(readQuery(i, g));
  // A single token has too few sums to hide the latency of their additions: several key channels have sums of their
  // own.
  const int64_t sums = int64_t(rows.size()) * panels, unroll = count > 1 ? 1 : task.schedule.getKeys();
  Values carried = loop(b, index(b, 0), index(b, task.keys()), unroll, Values(size_t(unroll * sums), zeros(b)),
                        [&](ImplicitLocOpBuilder &b, Value first, ValueRange before) {
                          Values next(before);
                          for (int64_t nth = 0; nth < unroll; ++nth) {
                            Value key = plus(b, first, nth);
                            Values state;
                            for (int64_t panel = 0; panel < panels; ++panel)
                              state.push_back(readPanel(b, states, slice.indices(b, slice.from, key, panel)));
                            for (auto [number, row] : llvm::enumerate(rows)) {
                              Value factor = splatOf(b, row, key);
                              for (int64_t panel = 0; panel < panels; ++panel) {
                                Value &read = next[size_t(nth * sums + int64_t(number) * panels + panel)];
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

void Tokens::solve(ImplicitLocOpBuilder &b, const Slice &slice) {
  for (int64_t i = 0; i < count; ++i) {
    Value beta = isDelta() ? readSplat(b, task.op.getBeta(), {tokens[i], task.state}) : Value();
    for (int64_t panel = 0; panel < panels; ++panel) {
      Value change =
          readPanel(b, task.op.getValue(), {tokens[i], task.valueHead, plus(b, slice.column, panel * kPanel)});
      if (isDelta()) {
        Value known = scaled(b, reads[i * panels + panel], between(b, decays, -1, i));
        for (int64_t j = 0; j < i; ++j)
          known = vector::FMAOp::create(b, scaled(b, dots[ofKeys(i, j)], between(b, decays, j, i)),
                                        changes[j * panels + panel], known);
        change = times(b, beta, arith::SubFOp::create(b, change, known));
      }
      changes.push_back(change);
    }
  }
}

Value Tokens::output(ImplicitLocOpBuilder &b, int64_t i, int64_t g, int64_t panel) const {
  const int64_t number = (isDelta() ? count : 0) + i * task.group + g;
  Value result = scaled(b, reads[number * panels + panel], between(b, decays, -1, i));
  for (int64_t j = 0; j <= i; ++j)
    result = vector::FMAOp::create(b, scaled(b, dots[ofQuery(i, g, j)], between(b, decays, j, i)),
                                   changes[j * panels + panel], result);
  return result;
}

Value Tokens::advance(ImplicitLocOpBuilder &b, const Slice &slice, Value states) const {
  // Decays of the head are in the changes; those of channels are in the keys.
  Values added;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t panel = 0; panel < panels; ++panel)
      added.push_back(scaled(b, changes[i * panels + panel], between(b, decays, i, count - 1)));
  Value ofHead = between(b, decays, -1, count - 1);
  return loop(b, index(b, 0), index(b, task.keys()), 1, states, [&](ImplicitLocOpBuilder &b, Value key, Value carried) {
    Value decay = isByChannel ? splatOf(b, keptRow(), key) : ofHead;
    Values keys;
    for (int64_t i = 0; i < count; ++i)
      keys.push_back(splatOf(b, writtenKey(i), key));
    for (int64_t panel = 0; panel < panels; ++panel) {
      Value next = scaled(b, readPanel(b, carried, slice.indices(b, slice.from, key, panel)), decay);
      for (int64_t i = 0; i < count; ++i)
        next = vector::FMAOp::create(b, keys[i], added[i * panels + panel], next);
      carried = writePanel(b, next, carried, slice.indices(b, slice.to, key, panel));
    }
    return carried;
  });
}

/// The state and the outputs, if there are any, behind the row's tokens [from, to), `count` at a time.
Values Task::overChunk(ImplicitLocOpBuilder &b, Value from, Value to, int64_t count, ValueRange carried) const {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  auto tokensFrom = [&](ImplicitLocOpBuilder &b, Value i) {
    Value number = asValue(b, affineOf(b, (d0 - d1).floorDiv(count), {OpFoldResult(i), OpFoldResult(from)}));
    return Tokens(b, *this, arith::AddIOp::create(b, tokens.begin, i), count, number);
  };
  const Values scratch =
      loop(b, from, to, count, Tokens::scratchFor(b, *this, count, schedule.getChunk() / count),
           [&](ImplicitLocOpBuilder &b, Value i, ValueRange scratch) { return tokensFrom(b, i).prepare(b, scratch); });
  return loop(b, index(b, 0), index(b, slices), 1, carried,
              [&](ImplicitLocOpBuilder &b, Value slice, ValueRange carried) {
                return loop(b, from, to, count, carried, [&](ImplicitLocOpBuilder &b, Value i, ValueRange before) {
                  const Slice own{.firstKey = arith::MulIOp::create(b, slice, index(b, keys())),
                                  .place = index(b, 0),
                                  .column = arith::MulIOp::create(b, slice, index(b, schedule.getColumns())),
                                  .panels = panels};
                  return tokensFrom(b, i).compute(b, scratch, own, i, before);
                });
              });
}

Values Task::overToken(ImplicitLocOpBuilder &b, ValueRange carried) const {
  const int64_t columns = schedule.getSingle();
  const Tokens prototype(b, *this, tokens.begin, 1, index(b, 0));
  const Values scratch = prototype.prepare(b, Tokens::scratchFor(b, *this, 1, 1));
  auto ahead = [&](Value slots) {
    Values indices{slots ? readIndex(b, slots, row) : row};
    if (op.getLayer())
      indices.push_back(op.getLayer());
    indices.push_back(state);
    return indices;
  };
  const Values from = ahead(op.getFrom()), to = ahead(op.getTo());
  return loop(b, index(b, 0), index(b, values()), columns, carried,
              [&](ImplicitLocOpBuilder &b, Value column, ValueRange before) {
                const Slice own{from, to, index(b, 0), column, column, columns / kPanel};
                return Tokens(prototype).compute(b, scratch, own, index(b, 0), before);
              });
}

std::pair<Value, Value> Task::overTokens(ImplicitLocOpBuilder &b, Value matrix, Value output) const {
  Values carried{matrix};
  if (output)
    carried.push_back(output);
  auto over = [&](Value lower, Value upper, int64_t count) {
    const int64_t chunk = schedule.getChunk() / count * count;
    carried = loop(b, lower, upper, chunk, carried, [&](ImplicitLocOpBuilder &b, Value from, ValueRange before) {
      Value to = arith::MinSIOp::create(b, upper, plus(b, from, chunk));
      return overChunk(b, from, to, count, before);
    });
  };
  const int64_t most = schedule.getTokens();
  AffineExpr d0 = b.getAffineDimExpr(0);
  Value whole = asValue(b, affineOf(b, d0 - d0 % most, {OpFoldResult(tokens.length)}));
  if (most > 1)
    over(index(b, 0), whole, most);
  over(most > 1 ? whole : index(b, 0), tokens.length, 1);
  return {carried[0], output ? carried[1] : Value()};
}

/// `body` where the condition holds, else `inits`: a loop of at most one iteration. Unlike scf.if, its results
/// bufferize to the buffers of its operands.
Values when(ImplicitLocOpBuilder &b, Value condition, ValueRange inits,
            function_ref<Values(ImplicitLocOpBuilder &, ValueRange carried)> body) {
  Value trips = arith::IndexCastUIOp::create(b, b.getIndexType(), condition);
  return loop(b, index(b, 0), trips, 1, inits,
              [&](ImplicitLocOpBuilder &b, Value, ValueRange carried) { return body(b, carried); });
}

struct TileLinearAttention : OpRewritePattern<attn::LinearAttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::LinearAttentionOp op, PatternRewriter &rewriter) const override {
    if (std::string reason = cpu::whyNotTiled(op); !reason.empty())
      return rewriter.notifyMatchFailure(op, reason);
    const auto schedule = attn::scheduleOf<attn_cpu::LinearAttentionScheduleAttr>(op);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    // A result without users has no destination.
    const bool hasOutput = isUsed(op.getOutput()), leavesState = isUsed(op.getNewState());
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
                 states = b.getIndexAttr(op.getStates());
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange out) {
      const Task task(b, op, schedule, ids[0], ids[1]);
      SmallVector<Insertion> insertions;
      Value output;
      if (hasOutput) {
        insertions.push_back(task.outputPlace(b));
        output = extract(b, out[0], insertions[0].offsets, insertions[0].sizes,
                         {ShapedType::kDynamic, op.getOutputs() / op.getStates(), op.getValueChannels()});
      }
      // States are read where they are written, so that they are updated in place: no row writes what another one
      // reads.
      Values carried{leavesState ? out.back() : op.getState()};
      if (hasOutput)
        carried.push_back(output);
      auto whole = [&](ImplicitLocOpBuilder &b, ValueRange carried) {
        auto [last, outputs] = task.overTokens(b, task.first(b, carried[0]), hasOutput ? carried[1] : Value());
        Values results{carried[0]};
        if (leavesState) {
          const Insertion to = task.statePlace(b, op.getTo());
          Value dest = extract(b, carried[0], to.offsets, to.sizes, {op.getKeyChannels(), op.getValueChannels()});
          results[0] = insert(b, task.last(b, last, dest), carried[0], to.offsets, to.sizes);
        }
        if (hasOutput)
          results.push_back(outputs);
        return results;
      };
      if (leavesState) {
        Value one = task.hasOneToken(b), none = arith::ConstantOp::create(b, b.getBoolAttr(true));
        carried = when(b, one, carried,
                       [&](ImplicitLocOpBuilder &b, ValueRange carried) { return task.overToken(b, carried); });
        carried = when(b, arith::XOrIOp::create(b, one, none), carried, whole);
      } else {
        carried = whole(b, carried);
      }
      if (hasOutput)
        insertions[0].tile = carried.back();
      if (leavesState) {
        Insertion to = task.statePlace(b, op.getTo());
        to.tile = extract(b, carried[0], to.offsets, to.sizes, {op.getKeyChannels(), op.getValueChannels()});
        insertions.push_back(to);
      }
      return insertions;
    };
    Values results = dests.empty() ? Values() : grid(b, {rows, states}, dests, body);
    replaceUsed(rewriter, op, results);
    return success();
  }
};

} // namespace

void rapt::populateLinearAttentionTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileLinearAttention>(patterns.getContext());
}
