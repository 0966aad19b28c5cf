//===- Recurrence.cpp - Tiles attn.recurrence, update_rows and concat -----------------===//
//
// A task has a tile of sequences and one loop over time. A time step computes, for each 32
// columns of the state, the matmuls of all gates with the weight's panels and then the cell.
// All sequences of a tile share one read of the weight per time step. Sequences have unequal
// lengths: those that have ended keep their state, and their matmul results are ignored.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Conversion/Slots.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Kernel.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::RecurrenceKind;
using attn_cpu::kPanel;

namespace {

using Values = SmallVector<Value>;
using LoopBody = function_ref<Values(ImplicitLocOpBuilder &, Value i, ValueRange carried)>;

Values loopOver(ImplicitLocOpBuilder &b, Value lower, Value upper, int64_t step, ValueRange inits, LoopBody body) {
  auto loop = scf::ForOp::create(b, lower, upper, index(b, step), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Values next = body(b, loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(b, next);
  return Values(loop.getResults());
}

/// `body` where the condition holds, else `inits`: a loop of at most one iteration. Unlike scf.if, its results
/// bufferize to the buffers of its operands.
Values when(ImplicitLocOpBuilder &b, Value condition, ValueRange inits,
            function_ref<Values(ImplicitLocOpBuilder &, ValueRange carried)> body) {
  Value trips = arith::IndexCastUIOp::create(b, b.getIndexType(), condition);
  return loopOver(b, index(b, 0), trips, 1, inits,
                  [&](ImplicitLocOpBuilder &b, Value, ValueRange carried) { return body(b, carried); });
}

Value plus(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value minus(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::SubIOp::create(b, x, y); }
Value isLess(ImplicitLocOpBuilder &b, Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
}
Value zeros(ImplicitLocOpBuilder &b) {
  return arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({kPanel}, b.getF32Type())));
}

/// The destination of a result: the value that the layer loop carries, where nothing reads it after the op that
/// computes its next value, so that the loop works in place; else a new tensor.
Value destination(ImplicitLocOpBuilder &b, OpResult result, OFRs extents) {
  Operation *op = result.getOwner();
  for (OpOperand &use : result.getUses()) {
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    if (!loop || !isa<scf::YieldOp>(use.getOwner()) || use.getOwner()->getBlock() != loop.getBody())
      continue;
    Value carried = loop.getRegionIterArg(use.getOperandNumber());
    if (carried.getType() == result.getType() && llvm::all_of(carried.getUsers(), [&](Operation *user) {
          return loop.getBody()->findAncestorOpInBlock(*user)->isBeforeInBlock(op);
        }))
      return carried;
  }
  return empty(b, cast<RankedTensorType>(result.getType()), extents);
}

/// Fills rows [from, to) of `dest` with the vectors that `panel` returns.
Value fillRows(ImplicitLocOpBuilder &b, Value from, Value to, int64_t columns, Value dest,
               function_ref<Value(ImplicitLocOpBuilder &, Value row, Value column)> panel) {
  return loop(b, from, to, 1, dest, [&](ImplicitLocOpBuilder &b, Value row, Value carried) {
    return loop(b, index(b, 0), index(b, columns), kPanel, carried,
                [&](ImplicitLocOpBuilder &b, Value column, Value inner) {
                  return writePanel(b, panel(b, row, column), inner, {row, column});
                });
  });
}

/// The sequences of one task.
struct Task {
  attn::RecurrenceOp op;
  int64_t hidden, parts;
  attn_cpu::RecurrenceScheduleAttr schedule;
  Value rows;            ///< sequences of all tasks
  Value firstRow, count; ///< sequences of this task
  Value firstToken;
};

/// One sequence of the tile in a time step.
struct Sequence {
  Value begin, length;

  Sequence(ImplicitLocOpBuilder &b, Task &task, Value r) {
    auto offset = [&](Value row) { return readIndex(b, task.op.getRowBegin(), row); };
    Value row = plus(b, task.firstRow, r);
    begin = offset(row);
    length = minus(b, offset(plus(b, row, index(b, 1))), begin);
  }
  Value token(ImplicitLocOpBuilder &b, bool reverse, Value step) const {
    if (!reverse)
      return plus(b, begin, step);
    return minus(b, plus(b, begin, minus(b, length, index(b, 1))), step);
  }
};

/// 32 columns of the cell: the new h, and the new c of an lstm, from the gates x and p = h W + bias.
Values cell(ImplicitLocOpBuilder &b, RecurrenceKind kind, ArrayRef<Value> x, ArrayRef<Value> p, Value h, Value c) {
  auto add = [&](Value l, Value r) -> Value { return arith::AddFOp::create(b, l, r); };
  auto mul = [&](Value l, Value r) -> Value { return arith::MulFOp::create(b, l, r); };
  auto apply = [&](attn::ActivationKind activation, Value v) {
    return attn::emitActivation(b, b.getLoc(), activation, v);
  };
  auto sigmoid = [&](unsigned part) { return apply(attn::ActivationKind::sigmoid, add(x[part], p[part])); };
  auto tanh = [&](Value v) { return apply(attn::ActivationKind::tanh, v); };
  switch (kind) {
  case RecurrenceKind::rnn_tanh:
    return {tanh(add(x[0], p[0]))};
  case RecurrenceKind::rnn_relu:
    return {apply(attn::ActivationKind::relu, add(x[0], p[0]))};
  case RecurrenceKind::gru: {
    Value r = sigmoid(0), z = sigmoid(1), n = tanh(add(x[2], mul(r, p[2])));
    // (1 - z) n + z h
    return {add(n, mul(z, arith::SubFOp::create(b, h, n)))};
  }
  case RecurrenceKind::lstm: {
    Value next = add(mul(sigmoid(1), c), mul(sigmoid(0), tanh(add(x[2], p[2]))));
    return {mul(sigmoid(3), tanh(next)), next};
  }
  }
  llvm_unreachable("every kind is handled");
}

/// The matmul of rows [0, m) of h with the panel of one gate, into `dest`, [gates, rows, 32].
Value emitMatmul(ImplicitLocOpBuilder &b, Task &task, int64_t m, Value part, Value column, Value h, Value dest) {
  const bool packed = task.op.getLayout().has_value();
  RankedTensorType type = task.op.getWeight().getType();
  int64_t k = packed ? task.op.getLayout()->getRows(type) : type.getDimSize(0);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1), rows = b.getIndexAttr(m), depth = b.getIndexAttr(k),
               panel = b.getIndexAttr(kPanel);
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult at = affineOf(b, d0 * task.hidden + d1, {part, column});
  OpFoldResult nth = affineOf(b, d0 * (task.hidden / kPanel) + d1.floorDiv(kPanel), {part, column});
  ArrayRef<int64_t> onePanel = type.getShape().drop_front();
  Value weight = packed ? extract(b, task.op.getWeight(), {nth, zero, zero},
                                  {one, b.getIndexAttr(onePanel[0]), b.getIndexAttr(onePanel.back())}, onePanel)
                        : extract(b, task.op.getWeight(), {zero, at}, {depth, panel}, {k, kPanel});
  Value input = extract(b, h, {zero, zero}, {rows, depth}, {m, k});
  SmallVector<OpFoldResult> offsets{OpFoldResult(part), zero, zero}, sizes{one, rows, panel};
  Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value sums = linalg::FillOp::create(b, f0, extract(b, dest, offsets, sizes, {m, kPanel})).getResult(0);
  if (attn_cpu::isInterleaved(task.op.getLayout()))
    sums = cpu::withKernel(attn_cpu::VnniMatmulOp::create(b, sums.getType(), input, weight, sums),
                           task.schedule.getKernel());
  else
    sums = cpu::withKernel(linalg::MatmulOp::create(b, sums.getType(), ValueRange{input, weight}, ValueRange{sums}),
                           task.schedule.getKernel());
  return insert(b, sums, dest, offsets, sizes);
}

/// The matmuls of all gates for 32 columns of the state from `column` on: [gates, rows, 32]. A single row is a tile of
/// its own.
Value emitMatmuls(ImplicitLocOpBuilder &b, Task &task, Value column, Value h) {
  Value matmuls =
      tensor::EmptyOp::create(b, ArrayRef<int64_t>{task.parts, task.schedule.getRows(), kPanel}, b.getF32Type());
  Value several = isLess(b, index(b, 1), task.count);
  Value single = arith::XOrIOp::create(b, several, arith::ConstantOp::create(b, b.getBoolAttr(true)));
  return loop(b, index(b, 0), index(b, task.parts), 1, matmuls,
              [&](ImplicitLocOpBuilder &b, Value part, Value carried) {
                for (auto [condition, m] : {std::pair(several, task.schedule.getRows()), std::pair(single, int64_t(1))})
                  carried = when(b, condition, carried, [&, m = m](ImplicitLocOpBuilder &b, ValueRange inner) {
                    return Values{emitMatmul(b, task, m, part, column, h, inner[0])};
                  })[0];
                return carried;
              });
}

/// Updates 32 columns of one sequence from `column` on: the new h in `next`, the new c in place. `state` is {next,
/// c...}.
Values emitCell(ImplicitLocOpBuilder &b, Task &task, Value r, Value token, Value column, Value matmuls, Value h,
                ValueRange state) {
  Values x, p;
  for (int64_t part = 0; part < task.parts; ++part) {
    Value at = plus(b, column, index(b, part * task.hidden));
    x.push_back(readPanel(b, task.op.getGates(), {token, at}));
    p.push_back(readPanel(b, matmuls, {index(b, part), r, index(b, 0)}));
    if (task.op.getBias())
      p.back() = arith::AddFOp::create(b, p.back(), readPanel(b, task.op.getBias(), at));
  }
  bool isLSTM = task.op.getKind() == RecurrenceKind::lstm;
  Value old = isLSTM ? Value() : readPanel(b, h, {r, column});
  Value memory = isLSTM ? readPanel(b, state[1], {r, column}) : Value();
  Values results = cell(b, task.op.getKind(), x, p, old, memory);
  for (auto [result, into] : llvm::zip_equal(results, state))
    result = writePanel(b, result, into, {r, column});
  return results;
}

/// One time step of all sequences that have not ended. `state` is {h, c..., output...}.
Values emitStep(ImplicitLocOpBuilder &b, Task &task, Value step, ValueRange state) {
  bool reverse = task.op.getReverse();
  unsigned parts = task.op.getStates().size();
  Value zero = index(b, 0), h = state[0];
  // The matmuls of later panels still read h, so the new h has a buffer of its own.
  Values next{
      Value(tensor::EmptyOp::create(b, ArrayRef<int64_t>{task.schedule.getRows(), task.hidden}, b.getF32Type()))};
  llvm::append_range(next, state.slice(1, parts - 1));
  next = loopOver(
      b, zero, index(b, task.hidden), kPanel, next, [&](ImplicitLocOpBuilder &b, Value column, ValueRange carried) {
        Value matmuls = emitMatmuls(b, task, column, h);
        return loopOver(b, zero, task.count, 1, carried, [&](ImplicitLocOpBuilder &b, Value r, ValueRange inner) {
          Sequence sequence(b, task, r);
          return when(b, isLess(b, step, sequence.length), inner, [&](ImplicitLocOpBuilder &b, ValueRange active) {
            return emitCell(b, task, r, sequence.token(b, reverse, step), column, matmuls, h, active);
          });
        });
      });
  Values results{h};
  llvm::append_range(results, state.drop_front(parts));
  results = loopOver(b, zero, task.count, 1, results, [&](ImplicitLocOpBuilder &b, Value r, ValueRange carried) {
    Sequence sequence(b, task, r);
    return when(b, isLess(b, step, sequence.length), carried, [&](ImplicitLocOpBuilder &b, ValueRange active) {
      Value token = minus(b, sequence.token(b, reverse, step), task.firstToken);
      return loopOver(b, zero, index(b, task.hidden), kPanel, active,
                      [&](ImplicitLocOpBuilder &b, Value column, ValueRange inner) {
                        Value panel = readPanel(b, next[0], {r, column});
                        Values written{writePanel(b, panel, inner[0], {r, column})};
                        for (Value output : inner.drop_front())
                          written.push_back(writePanel(b, panel, output, {token, column}));
                        return written;
                      });
    });
  });
  results.insert(results.begin() + 1, next.begin() + 1, next.end());
  return results;
}

/// The loop over time of a task. `dests` are its slices of the results that are used.
Values emitTile(ImplicitLocOpBuilder &b, Task &task, ValueRange dests) {
  Value zero = index(b, 0), rows = index(b, task.schedule.getRows());
  bool given = !task.op.getInitial().empty();
  Values state;
  for (auto [i, result] : llvm::enumerate(task.op.getStates())) {
    Value into = tensor::EmptyOp::create(b, ArrayRef<int64_t>{task.schedule.getRows(), task.hidden}, b.getF32Type());
    if (given)
      into = fillRows(b, zero, task.count, task.hidden, into, [&](ImplicitLocOpBuilder &b, Value r, Value column) {
        return readPanel(b, task.op.getInitial()[i], {plus(b, task.firstRow, r), column});
      });
    // Rows beyond the task's sequences are 0; without an initial state all rows are.
    state.push_back(fillRows(b, given ? task.count : zero, rows, task.hidden, into,
                             [&](ImplicitLocOpBuilder &b, Value, Value) { return zeros(b); }));
  }
  bool hasOutput = !task.op.getOutput().use_empty();
  if (hasOutput)
    state.push_back(dests[0]);
  Value longest = loop(b, zero, task.count, 1, zero, [&](ImplicitLocOpBuilder &b, Value r, Value carried) -> Value {
    return arith::MaxSIOp::create(b, carried, Sequence(b, task, r).length);
  });
  state = loopOver(b, zero, longest, 1, state, [&](ImplicitLocOpBuilder &b, Value step, ValueRange carried) {
    return emitStep(b, task, step, carried);
  });
  Values results;
  if (hasOutput)
    results.push_back(state.back());
  for (auto [last, result] : llvm::zip(state, task.op.getStates()))
    if (!result.use_empty())
      results.push_back(fillRows(b, zero, task.count, task.hidden, dests[results.size()],
                                 [&, last = last](ImplicitLocOpBuilder &b, Value r, Value column) {
                                   return readPanel(b, last, {r, column});
                                 }));
  return results;
}

struct TileRecurrence : OpRewritePattern<attn::RecurrenceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::RecurrenceOp op, PatternRewriter &rewriter) const override {
    if (std::string reason = cpu::whyNotTiled(op); !reason.empty())
      return rewriter.notifyMatchFailure(op, reason);
    const auto schedule = attn::scheduleOf<attn_cpu::RecurrenceScheduleAttr>(op);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    AffineExpr d0 = b.getAffineDimExpr(0);
    int64_t hidden = op.getHidden();
    OpFoldResult zero = b.getIndexAttr(0), width = b.getIndexAttr(hidden);
    OpFoldResult tokens = extent(b, op.getGates(), 0), rows = affineOf(b, d0 - 1, {extent(b, op.getRowBegin(), 0)});
    // A result without users has no destination.
    Values used, dests;
    llvm::append_range(used, llvm::make_filter_range(op->getResults(), isUsed));
    for (Value result : used)
      dests.push_back(destination(b, cast<OpResult>(result), {result == op.getOutput() ? tokens : rows, width}));
    // At least one task, as tokens of no sequence are 0.
    Value tiles = asValue(b, affineOf(b, d0.ceilDiv(schedule.getRows()), {rows}));
    tiles = arith::MaxSIOp::create(b, tiles, index(b, 1));
    Values results = grid(b, OpFoldResult(tiles), dests, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange out) {
      Task task{op, hidden, op.getParts(), schedule, asValue(b, rows), {}, {}, {}};
      task.firstRow = asValue(b, affineOf(b, d0 * schedule.getRows(), {OpFoldResult(ids[0])}));
      task.count = arith::MinSIOp::create(b, minus(b, task.rows, task.firstRow), index(b, schedule.getRows()));
      task.firstToken = readIndex(b, op.getRowBegin(), task.firstRow);
      Value lastRow = plus(b, task.firstRow, task.count);
      Value mine = minus(b, readIndex(b, op.getRowBegin(), lastRow), task.firstToken);
      Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lastRow, task.rows);
      Value all = arith::SelectOp::create(b, isLast, minus(b, asValue(b, tokens), task.firstToken), mine);

      SmallVector<Insertion> insertions;
      Values slices;
      for (auto [dest, result] : llvm::zip_equal(out, used)) {
        bool isOutput = result == op.getOutput();
        Insertion at{{}, {isOutput ? task.firstToken : task.firstRow, zero}, {isOutput ? all : task.count, width}};
        slices.push_back(extract(b, dest, at.offsets, at.sizes, {ShapedType::kDynamic, hidden}));
        insertions.push_back(at);
      }
      slices = emitTile(b, task, slices);
      if (used[0] == op.getOutput())
        slices[0] =
            fillRows(b, mine, all, hidden, slices[0], [&](ImplicitLocOpBuilder &b, Value, Value) { return zeros(b); });
      for (auto [insertion, slice] : llvm::zip_equal(insertions, slices))
        insertion.tile = slice;
      return insertions;
    });
    replaceUsed(rewriter, op, results);
    return success();
  }
};

struct TileUpdateRows : OpRewritePattern<attn::UpdateRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::UpdateRowsOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getState().getType());
    int64_t columns = type.getShape().back();
    if (ShapedType::isDynamic(columns))
      return rewriter.notifyMatchFailure(op, "columns are not static");
    if (!type.getElementType().isF32() || !op.getValues().getType().getElementType().isF32())
      return rewriter.notifyMatchFailure(op, "its state or its values are not f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    bool whole = columns % kPanel == 0;
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    Values results = grid(
        b, extent(b, op.getRows(), 0), op.getState(), [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
          Insertion out{{}, {OpFoldResult(readIndex(b, op.getRows(), ids[0]))}, {one}};
          if (op.getLayer()) {
            out.offsets.push_back(op.getLayer());
            out.sizes.push_back(one);
          }
          out.offsets.push_back(zero);
          out.sizes.push_back(b.getIndexAttr(columns));
          Value dest = extract(b, dests[0], out.offsets, out.sizes, {columns});
          out.tile = loop(
              b, index(b, 0), index(b, columns), kPanel, dest,
              [&](ImplicitLocOpBuilder &b, Value column, Value carried) -> Value {
                Value values = vector::TransferReadOp::create(
                    b, VectorType::get({kPanel}, b.getF32Type()), op.getValues(), ValueRange{ids[0], column},
                    arith::ConstantOp::create(b, b.getF32FloatAttr(0)), ArrayRef<bool>{whole});
                return vector::TransferWriteOp::create(b, values, carried, column, ArrayRef<bool>{whole}).getResult();
              });
          return SmallVector<Insertion>{out};
        });
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct TileConcat : OpRewritePattern<attn::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ConcatOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getType());
    auto widthOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getDimSize(1); };
    int64_t columns = type.getDimSize(1);
    for (Value value : llvm::concat<Value>(llvm::to_vector<4>(op.getInputs()), SmallVector<Value>{op.getResult()}))
      if (widthOf(value) == 0 || widthOf(value) % kPanel != 0)
        return refuseColumns(rewriter, op, value);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult rows = extent(b, op.getInputs()[0], 0), one = b.getIndexAttr(1), width = b.getIndexAttr(columns);
    Values results = grid(b, rows, destination(b, cast<OpResult>(op.getResult()), {rows, width}),
                          [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
                            Insertion out{{}, {OpFoldResult(ids[0]), b.getIndexAttr(0)}, {one, width}};
                            // The next input overwrites an input's padding. That of the last input may not reach the
                            // row's end, which is cleared first.
                            Value row = writePanel(b, zeros(b), extract(b, dests[0], out.offsets, out.sizes, {columns}),
                                                   index(b, columns - kPanel));
                            int64_t from = 0;
                            for (auto [i, input] : llvm::enumerate(op.getInputs())) {
                              row = loop(b, index(b, 0), index(b, widthOf(input)), kPanel, row,
                                         [&](ImplicitLocOpBuilder &b, Value column, Value carried) -> Value {
                                           Value panel = readPanel(b, input, {ids[0], column});
                                           Value at = plus(b, column, index(b, from));
                                           // The vectors of the last columns may cross the end of the row.
                                           return vector::TransferWriteOp::create(b, panel, carried, ValueRange{at},
                                                                                  ArrayRef<bool>{from % kPanel == 0})
                                               .getResult();
                                         });
                              from += op.getColumns() ? (*op.getColumns())[i] : widthOf(input);
                            }
                            out.tile = row;
                            return SmallVector<Insertion>{out};
                          });
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void rapt::populateRecurrenceTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileRecurrence, TileUpdateRows, TileConcat>(patterns.getContext());
}
