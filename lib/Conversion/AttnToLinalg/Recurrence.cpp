//===- Recurrence.cpp - Recurrent cells over rows of tokens ------------------------------===//
//
// A task is a row: a loop over its tokens, whose state is carried in tensors of [hidden]. These are f32 whatever the
// results are, which are rounded once.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"
#include "lib/Conversion/Slots.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

Value sigmoid(ImplicitLocOpBuilder &b, Value x) {
  Value one = number(b, 1);
  return arith::DivFOp::create(b, one,
                               arith::AddFOp::create(b, one, math::ExpOp::create(b, arith::NegFOp::create(b, x))));
}

/// The new state, h or (h, c), of one channel: `x` and `p` give the parts of the gates and of h W.
SmallVector<Value> step(ImplicitLocOpBuilder &b, attn::RecurrenceKind kind, function_ref<Value(int64_t)> x,
                        function_ref<Value(int64_t)> p, ValueRange state) {
  auto add = [&](Value l, Value r) -> Value { return arith::AddFOp::create(b, l, r); };
  auto mul = [&](Value l, Value r) -> Value { return arith::MulFOp::create(b, l, r); };
  auto gate = [&](int64_t part) { return sigmoid(b, add(x(part), p(part))); };
  switch (kind) {
  case attn::RecurrenceKind::rnn_tanh:
    return {math::TanhOp::create(b, add(x(0), p(0)))};
  case attn::RecurrenceKind::rnn_relu:
    return {arith::MaximumFOp::create(b, add(x(0), p(0)), number(b, 0))};
  case attn::RecurrenceKind::gru: {
    Value r = gate(0), z = gate(1), n = math::TanhOp::create(b, add(x(2), mul(r, p(2))));
    return {add(mul(arith::SubFOp::create(b, number(b, 1), z), n), mul(z, state[0]))};
  }
  case attn::RecurrenceKind::lstm: {
    Value g = math::TanhOp::create(b, add(x(2), p(2)));
    Value c = add(mul(gate(1), state[1]), mul(gate(0), g));
    return {mul(gate(3), math::TanhOp::create(b, c)), c};
  }
  }
  llvm_unreachable("every recurrence kind is handled");
}

/// `value`, of f32, as `dest` has it.
Value roundedInto(ImplicitLocOpBuilder &b, Value value, Value dest) {
  Type element = getElementTypeOrSelf(dest.getType());
  return forEach(b, {value}, dest, [&](ImplicitLocOpBuilder &b, ValueRange x) { return rounded(b, x[0], element); });
}

struct DecomposeRecurrence : OpRewritePattern<attn::RecurrenceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::RecurrenceOp op, PatternRewriter &rewriter) const override {
    if (op.getLayout())
      return rewriter.notifyMatchFailure(op, "the weight is no matrix");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult columns = b.getIndexAttr(op.getHidden());
    Value rowCount = arith::SubIOp::create(b, asValue(b, extent(b, op.getRowBegin(), 0)), index(b, 1));
    OpFoldResult rows = rowCount, tokens = extent(b, op.getGates(), 0);
    // A destination of the grid whose result has no reader would be folded away, and its tasks would write to copies.
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (auto dim = dyn_cast<tensor::DimOp>(user); dim && dim.getConstantIndex() == 0)
        rewriter.replaceOp(dim, asValue(b, dim.getSource() == op.getOutput() ? tokens : rows));
    SmallVector<OpResult> kept(llvm::make_filter_range(op->getResults(), isUsed));
    SmallVector<Value> dests;
    for (OpResult result : kept)
      dests.push_back(result == op.getOutput() // tokens of no row have the output 0
                          ? filled(b, 0, emptyFor(b, result, {tokens, columns}))
                          : emptyFor(b, result, {rows, columns}));
    SmallVector<Value> made;
    if (!kept.empty())
      made = grid(b, {rows}, dests, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange outs) {
        return rowTask(b, op, ids[0], kept, outs);
      });
    replaceUsed(rewriter, op, made);
    return success();
  }

  /// A row's part of the results `kept`, whose destinations are `outs`.
  static SmallVector<Insertion> rowTask(ImplicitLocOpBuilder &b, attn::RecurrenceOp op, Value id,
                                        ArrayRef<OpResult> kept, ValueRange outs) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1), columns = b.getIndexAttr(op.getHidden());
    Value begin = readIndex(b, op.getRowBegin(), id);
    Value next = arith::AddIOp::create(b, id, index(b, 1));
    Value length = arith::SubIOp::create(b, readIndex(b, op.getRowBegin(), next), begin);
    SmallVector<OpFoldResult> at{begin, zero}, sizes{length, columns}, row{id, zero}, ofRow{one, columns};
    auto destOf = [&](Value result) -> Value {
      const auto *found = llvm::find(kept, result);
      return found == kept.end() ? Value() : outs[found - kept.begin()];
    };
    Value output = destOf(op.getOutput());
    SmallVector<Value> states;
    for (auto [i, state] : llvm::enumerate(op.getStates())) {
      Value dest = destOf(state);
      const bool isCarried = dest && getElementTypeOrSelf(dest.getType()).isF32();
      dest = isCarried ? slice(b, dest, row, ofRow) : emptyOf(b, ofRow, b.getF32Type());
      states.push_back(op.getInitial().empty()
                           ? filled(b, 0, dest)
                           : forEach(b, {slice(b, op.getInitial()[i], row, ofRow)}, dest,
                                     [](ImplicitLocOpBuilder &b, ValueRange x) { return widened(b, x[0]); }));
    }
    if (output)
      output = slice(b, output, at, sizes);
    states = overTokens(b, op, begin, length, output, states);
    SmallVector<Insertion> insertions;
    for (OpResult result : kept) {
      const bool isOutput = result == op.getOutput();
      Value tile = isOutput ? states.back() : states[result.getResultNumber() - 1];
      if (!isOutput && !getElementTypeOrSelf(result.getType()).isF32())
        tile = roundedInto(b, tile, slice(b, destOf(result), row, ofRow));
      insertions.push_back({tile, isOutput ? at : row, isOutput ? sizes : ofRow});
    }
    return insertions;
  }

  /// The row's states [1, hidden] after its tokens, and behind them its outputs, if they go into `output`.
  static SmallVector<Value> overTokens(ImplicitLocOpBuilder &b, attn::RecurrenceOp op, Value begin, Value length,
                                       Value output, SmallVector<Value> init) {
    if (output)
      init.push_back(output);
    return loop(b, index(b, 0), length, 1, init, [&](ImplicitLocOpBuilder &b, Value i, ValueRange carried) {
      if (op.getReverse())
        i = arith::SubIOp::create(b, arith::SubIOp::create(b, length, index(b, 1)), i);
      Value token = arith::AddIOp::create(b, begin, i), hidden = matmul(b, op, carried[0]);
      SmallVector<Value> states = advance(b, op, token, hidden, carried.take_front(op.getStates().size()));
      SmallVector<OpFoldResult> at{i, b.getIndexAttr(0)}, sizes{b.getIndexAttr(1), b.getIndexAttr(op.getHidden())};
      if (output) {
        Value made = states[0];
        if (Type element = getElementTypeOrSelf(output.getType()); !element.isF32())
          made = roundedInto(b, made, emptyOf(b, sizes, element));
        states.push_back(insert(b, made, carried.back(), at, sizes));
      }
      return states;
    });
  }

  /// h W + bias, [columns].
  static Value matmul(ImplicitLocOpBuilder &b, attn::RecurrenceOp op, Value h) {
    const int64_t columns = op.getHidden() * op.getParts();
    Value init = emptyOf(b, {b.getIndexAttr(columns)}, b.getF32Type());
    AffineMap column = mapOf(b, 2, {1});
    Value sums =
        generic(b, {h, op.getWeight()}, filled(b, 0, init), {mapOf(b, 2, {-1, 0}), b.getMultiDimIdentityMap(2), column},
                {Loop::Reduction, Loop::Parallel}, [](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                  Value term = arith::MulFOp::create(b, x[0], widened(b, x[1]));
                  return arith::AddFOp::create(b, x[2], term);
                });
    if (!op.getBias())
      return sums;
    return forEach(b, {op.getBias()}, sums, [](ImplicitLocOpBuilder &b, ValueRange x) {
      return Value(arith::AddFOp::create(b, x[1], widened(b, x[0])));
    });
  }

  static SmallVector<Value> advance(ImplicitLocOpBuilder &b, attn::RecurrenceOp op, Value token, Value hidden,
                                    ValueRange states) {
    AffineMap both = b.getMultiDimIdentityMap(2);
    SmallVector<AffineMap> maps(states.size(), both);
    return generic(b, {}, states, maps, {Loop::Parallel, Loop::Parallel}, [&](ImplicitLocOpBuilder &b, ValueRange x) {
      auto columnOf = [&](int64_t part) -> Value {
        return arith::AddIOp::create(b, neutral::at(b, 1), index(b, part * op.getHidden()));
      };
      return step(
          b, op.getKind(), [&](int64_t part) { return read(b, op.getGates(), {token, columnOf(part)}); },
          [&](int64_t part) { return read(b, hidden, columnOf(part)); }, x);
    });
  }
};

/// A task is a row that is written.
struct DecomposeUpdateRows : OpRewritePattern<attn::UpdateRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::UpdateRowsOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1), columns = extent(b, op.getValues(), 1);
    rewriter.replaceOp(op, grid(b, {extent(b, op.getValues(), 0)}, op.getState(),
                                [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
                                  SmallVector<OpFoldResult> at{readIndex(b, op.getRows(), ids[0])}, sizes{one};
                                  if (op.getLayer())
                                    at.push_back(op.getLayer()), sizes.push_back(one);
                                  at.push_back(zero), sizes.push_back(columns);
                                  Value dest = slice(b, dests[0], at, sizes);
                                  Value row = forEach(b, {}, dest, [&](ImplicitLocOpBuilder &b, ValueRange x) {
                                    Value last = neutral::at(b, op.getLayer() ? 2 : 1);
                                    return rounded(b, read(b, op.getValues(), {ids[0], last}), x[0].getType());
                                  });
                                  return SmallVector<Insertion>{{row, at, sizes}};
                                }));
    return success();
  }
};

} // namespace

void neutral::populateRecurrence(RewritePatternSet &patterns) {
  patterns.add<DecomposeRecurrence, DecomposeUpdateRows>(patterns.getContext());
}
