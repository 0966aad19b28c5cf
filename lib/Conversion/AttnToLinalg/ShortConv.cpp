//===- ShortConv.cpp - Causal convolution over a sequence's tokens ----------------------===//
//
// A task is a row. Its tokens are numbered from those that its state has; a token's inputs are elements of the state or
// of the op's input.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/AttnToLinalg/Patterns.h"
#include "lib/Conversion/Slots.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

/// The tokens of a row, and those ahead of them.
struct Row {
  attn::ShortConvOp op;
  RowTokens tokens;
  Value state = {}; ///< [tokens, channels]; null: zeros

  Row(ImplicitLocOpBuilder &b, attn::ShortConvOp op, Value number) : op(op), tokens(b, op.getRowBegin(), number) {}

  /// The input of a channel at `token`, counted from the first token of the state. Elements of a tensor are read within
  /// its bounds, whichever is taken.
  Value input(ImplicitLocOpBuilder &b, Value token, Value channel) {
    Value reach = index(b, op.getReach()), own = arith::SubIOp::create(b, token, reach), zero = index(b, 0);
    Value isOwn = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, own, zero);
    Value place = arith::AddIOp::create(b, tokens.begin, arith::MaxSIOp::create(b, own, zero));
    Value all = asValue(b, extent(b, op.getInput(), 0));
    Value given = read(b, op.getInput(), {within(b, place, all), channel});
    Value before =
        state ? read(b, state, {arith::MinSIOp::create(b, token, index(b, op.getReach() - 1)), channel}) : number(b, 0);
    return arith::SelectOp::create(b, isOwn, given, before);
  }

  /// The output of a channel of the row's token i.
  Value output(ImplicitLocOpBuilder &b, Value i, Value channel) {
    Value sum = op.getBias() ? read(b, op.getBias(), channel) : number(b, 0);
    for (int64_t tap = 0; tap < op.getTaps(); ++tap) {
      Value weight = read(b, op.getWeight(), {index(b, tap), channel});
      Value x = input(b, plus(b, i, tap * int64_t(op.getDilation())), channel);
      sum = arith::AddFOp::create(b, sum, arith::MulFOp::create(b, weight, x));
    }
    return op.getActivation() ? attn::emitActivation(b, b.getLoc(), *op.getActivation(), sum) : sum;
  }
};

struct DecomposeShortConv : OpRewritePattern<attn::ShortConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ShortConvOp op, PatternRewriter &rewriter) const override {
    if (op.getTaps() > mostTaps)
      return rewriter.notifyMatchFailure(op, "it has more than 64 taps");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const OpFoldResult zero = b.getIndexAttr(0), channels = b.getIndexAttr(op.getChannels());
    forgetExtents(rewriter, op, op.getInput());
    const bool hasOutput = isUsed(op.getOutput()), leavesState = isUsed(op.getNewState());
    SmallVector<Value> dests;
    if (hasOutput) // tokens of no row have the output 0
      dests.push_back(filled(b, 0, emptyFor(b, op.getOutput(), {extent(b, op.getInput(), 0), channels})));
    if (leavesState)
      dests.push_back(op.getState());
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange outs) {
      Row row(b, op, ids[0]);
      if (op.getState()) { // read where it is written: no row writes what another one reads
        const Insertion from = placeOfSlot(b, op, op.getFrom(), ids[0], {});
        row.state = extract(b, leavesState ? outs.back() : op.getState(), from.offsets, from.sizes,
                            {op.getReach(), op.getChannels()});
      }
      SmallVector<Insertion> insertions;
      if (hasOutput) {
        Insertion at{{}, {row.tokens.begin, zero}, {row.tokens.length, channels}};
        at.tile = forEach(b, {}, slice(b, outs[0], at.offsets, at.sizes), [&](ImplicitLocOpBuilder &b, ValueRange x) {
          return rounded(b, row.output(b, neutral::at(b, 0), neutral::at(b, 1)), x[0].getType());
        });
        insertions.push_back(at);
      }
      if (leavesState) {
        Value kept = emptyOf(b, {b.getIndexAttr(op.getReach()), channels}, b.getF32Type());
        insertions.push_back(placeOfSlot(b, op, op.getTo(), ids[0], {}));
        insertions.back().tile = forEach(b, {}, kept, [&](ImplicitLocOpBuilder &b, ValueRange) {
          return row.input(b, arith::AddIOp::create(b, row.tokens.length, neutral::at(b, 0)), neutral::at(b, 1));
        });
      }
      return insertions;
    };
    SmallVector<Value> made;
    if (!dests.empty()) {
      OpFoldResult rows = Value(arith::SubIOp::create(b, asValue(b, extent(b, op.getRowBegin(), 0)), index(b, 1)));
      made = grid(b, rows, dests, body);
    }
    replaceUsed(rewriter, op, made);
    return success();
  }

  static constexpr int64_t mostTaps = 64; ///< they are unrolled
};

} // namespace

void neutral::populateShortConv(RewritePatternSet &patterns) {
  patterns.add<DecomposeShortConv>(patterns.getContext());
}
