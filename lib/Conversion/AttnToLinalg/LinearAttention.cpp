//===- LinearAttention.cpp - Attention as a recurrence over a matrix --------------------===//
//
// A task is a state of a row: a loop over the row's tokens, which carries the state in f32, [key channels, value
// channels], and the outputs that read it.
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

/// The state that a task computes, and the op's tensors at its heads.
class Task {
public:
  Task(ImplicitLocOpBuilder &b, attn::LinearAttentionOp op, Value row, Value state)
      : op(op), row(row), state(state), tokens(b, op.getRowBegin(), row), group(op.getOutputs() / op.getStates()) {}

  /// The insertions of the results that have a reader: the output's destination, the state's.
  SmallVector<Insertion> emit(ImplicitLocOpBuilder &b, Value outputDest, Value stateDest);

private:
  int64_t keys() { return op.getKeyChannels(); }
  int64_t values() { return op.getValueChannels(); }
  SmallVector<OpFoldResult> extentsOf(ImplicitLocOpBuilder &b, ArrayRef<int64_t> extents) const {
    return llvm::map_to_vector(extents, [&](int64_t extent) { return OpFoldResult(b.getIndexAttr(extent)); });
  }
  /// Where the state of a slot is in a tensor of states.
  Insertion place(ImplicitLocOpBuilder &b, Value slots) {
    return placeOfSlot(b, op, slots, row, {{OpFoldResult(state), OpFoldResult(b.getIndexAttr(1))}});
  }
  Value first(ImplicitLocOpBuilder &b, Value stateDest);
  Value decayed(ImplicitLocOpBuilder &b, Value x, ValueRange byChannel, Value ofHead) const;
  Value changeOf(ImplicitLocOpBuilder &b, Value token, Value matrix, ValueRange byChannel, Value ofHead);
  Value advance(ImplicitLocOpBuilder &b, Value token, Value matrix);
  Value readOut(ImplicitLocOpBuilder &b, Value token, Value matrix);

  mutable attn::LinearAttentionOp op; ///< a handle, whose getters are not const
  Value row, state;
  RowTokens tokens;
  int64_t group; ///< outputs that read a state
};

/// The state before the row's first token.
Value Task::first(ImplicitLocOpBuilder &b, Value stateDest) {
  Value init = emptyOf(b, extentsOf(b, {keys(), values()}), b.getF32Type());
  if (!op.getState())
    return filled(b, 0, init);
  // Read where it is written, so that the states are updated in place: no row writes what another one reads.
  const Insertion from = place(b, op.getFrom());
  Value kept = extract(b, stateDest ? stateDest : op.getState(), from.offsets, from.sizes, {keys(), values()});
  // Read by element: a copy would be folded away, and the slot where the row begins would be written.
  return forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange) { return read(b, kept, {at(b, 0), at(b, 1)}); });
}

/// An element of the state times its decay: that of its channel, or of the head, or none.
Value Task::decayed(ImplicitLocOpBuilder &b, Value x, ValueRange byChannel, Value ofHead) const {
  if (Value decay = byChannel.empty() ? ofHead : byChannel.front())
    return arith::MulFOp::create(b, x, decay);
  return x;
}

/// What the token adds to each value channel by its key, [value channels].
Value Task::changeOf(ImplicitLocOpBuilder &b, Value token, Value matrix, ValueRange byChannel, Value ofHead) {
  Value init = emptyOf(b, extentsOf(b, {values()}), b.getF32Type());
  Value keyHead = headOf(b, op, op.getKey(), state), valueHead = headOf(b, op, op.getValue(), state);
  if (!op.isDelta())
    return forEach(b, {}, init, [&](ImplicitLocOpBuilder &b, ValueRange) {
      return read(b, op.getValue(), {token, valueHead, at(b, 0)});
    });
  SmallVector<Value> inputs{matrix};
  SmallVector<AffineMap> maps{b.getMultiDimIdentityMap(2)};
  if (!byChannel.empty())
    inputs.push_back(byChannel.front()), maps.push_back(mapOf(b, 2, {0}));
  maps.push_back(mapOf(b, 2, {1}));
  Value known = generic(b, inputs, filled(b, 0, init), maps, {Loop::Reduction, Loop::Parallel},
                        [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                          Value key = read(b, op.getKey(), {token, keyHead, at(b, 0)});
                          Value kept = decayed(b, x[0], x.slice(1, byChannel.size()), ofHead);
                          return arith::AddFOp::create(b, x.back(), arith::MulFOp::create(b, kept, key));
                        });
  return forEach(b, {}, known, [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
    Value value = read(b, op.getValue(), {token, valueHead, at(b, 0)}), beta = read(b, op.getBeta(), {token, state});
    return arith::MulFOp::create(b, beta, arith::SubFOp::create(b, value, x[0]));
  });
}

/// The state behind the token.
Value Task::advance(ImplicitLocOpBuilder &b, Value token, Value matrix) {
  SmallVector<Value> byChannel;
  Value ofHead;
  if (op.decaysByChannel())
    byChannel.push_back(
        forEach(b, {}, emptyOf(b, extentsOf(b, {keys()}), b.getF32Type()), [&](ImplicitLocOpBuilder &b, ValueRange) {
          return Value(math::ExpOp::create(b, read(b, op.getDecay(), {token, state, at(b, 0)})));
        }));
  else if (op.getDecay())
    ofHead = math::ExpOp::create(b, read(b, op.getDecay(), {token, state}));
  SmallVector<Value> inputs{changeOf(b, token, matrix, byChannel, ofHead)};
  SmallVector<AffineMap> maps{mapOf(b, 2, {1})};
  if (!byChannel.empty())
    inputs.push_back(byChannel.front()), maps.push_back(mapOf(b, 2, {0}));
  maps.push_back(b.getMultiDimIdentityMap(2));
  Value keyHead = headOf(b, op, op.getKey(), state);
  return generic(b, inputs, matrix, maps, {Loop::Parallel, Loop::Parallel},
                 [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                   Value key = read(b, op.getKey(), {token, keyHead, at(b, 0)});
                   Value kept = decayed(b, x.back(), x.slice(1, byChannel.size()), ofHead);
                   return arith::AddFOp::create(b, kept, arith::MulFOp::create(b, key, x[0]));
                 });
}

/// The outputs of the token that read the state, [outputs, value channels].
Value Task::readOut(ImplicitLocOpBuilder &b, Value token, Value matrix) {
  const SmallVector<OpFoldResult> extents = extentsOf(b, {group, values()});
  Value queryHead = group == 1 ? headOf(b, op, op.getQuery(), state) : Value(); // else each output has its own
  Value firstOutput = arith::MulIOp::create(b, state, index(b, group));
  Value sums = generic(b, {matrix}, filled(b, 0, emptyOf(b, extents, b.getF32Type())),
                       {mapOf(b, 3, {1, 2}), mapOf(b, 3, {0, 2})}, {Loop::Parallel, Loop::Reduction, Loop::Parallel},
                       [&](ImplicitLocOpBuilder &b, ValueRange x) -> Value {
                         Value head = queryHead ? queryHead : arith::AddIOp::create(b, firstOutput, at(b, 0));
                         Value query = read(b, op.getQuery(), {token, head, at(b, 1)});
                         return arith::AddFOp::create(b, x[1], arith::MulFOp::create(b, query, x[0]));
                       });
  Type element = op.getOutput().getType().getElementType();
  return forEach(b, {sums}, emptyOf(b, extents, element), [&](ImplicitLocOpBuilder &b, ValueRange x) {
    Value scaled = arith::MulFOp::create(b, x[0], number(b, op.getScale().convertToDouble()));
    return rounded(b, scaled, element);
  });
}

SmallVector<Insertion> Task::emit(ImplicitLocOpBuilder &b, Value outputDest, Value stateDest) {
  Value firstOutput = arith::MulIOp::create(b, state, index(b, group));
  Insertion output{{},
                   {tokens.begin, firstOutput, b.getIndexAttr(0)},
                   {tokens.length, b.getIndexAttr(group), b.getIndexAttr(values())}};
  SmallVector<Value> carried{first(b, stateDest)};
  if (outputDest)
    carried.push_back(slice(b, outputDest, output.offsets, output.sizes));
  carried = loop(b, index(b, 0), tokens.length, 1, carried, [&](ImplicitLocOpBuilder &b, Value i, ValueRange before) {
    Value token = arith::AddIOp::create(b, tokens.begin, i);
    SmallVector<Value> after{advance(b, token, before[0])};
    if (outputDest)
      after.push_back(insert(b, readOut(b, token, after[0]), before[1], {i, b.getIndexAttr(0), b.getIndexAttr(0)},
                             extentsOf(b, {1, group, values()})));
    return after;
  });
  SmallVector<Insertion> insertions;
  if (outputDest) {
    output.tile = carried[1];
    insertions.push_back(output);
  }
  if (stateDest) {
    insertions.push_back(place(b, op.getTo()));
    insertions.back().tile = carried[0];
  }
  return insertions;
}

struct DecomposeLinearAttention : OpRewritePattern<attn::LinearAttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::LinearAttentionOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    forgetExtents(rewriter, op, op.getQuery());
    const bool hasOutput = isUsed(op.getOutput()), leavesState = isUsed(op.getNewState());
    SmallVector<Value> dests;
    if (hasOutput) { // tokens of no row have the output 0
      OpFoldResult extents[] = {extent(b, op.getQuery(), 0), b.getIndexAttr(op.getOutputs()),
                                b.getIndexAttr(op.getValueChannels())};
      dests.push_back(filled(b, 0, emptyFor(b, op.getOutput(), extents)));
    }
    if (leavesState)
      dests.push_back(op.getState());
    SmallVector<Value> made;
    if (!dests.empty()) {
      OpFoldResult rows = Value(arith::SubIOp::create(b, asValue(b, extent(b, op.getRowBegin(), 0)), index(b, 1)));
      made = grid(b, {rows, b.getIndexAttr(op.getStates())}, dests,
                  [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange outs) {
                    return Task(b, op, ids[0], ids[1])
                        .emit(b, hasOutput ? outs.front() : Value(), leavesState ? outs.back() : Value());
                  });
    }
    replaceUsed(rewriter, op, made);
    return success();
  }
};

} // namespace

void neutral::populateLinearAttention(RewritePatternSet &patterns) {
  patterns.add<DecomposeLinearAttention>(patterns.getContext());
}
