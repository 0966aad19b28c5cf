//===- ShortConv.cpp - Tiles attn.short_conv --------------------------------------------===//
//
// A task has a slice of the channels of a sequence. 32 channels at a time it goes along the
// tokens and carries the inputs that the next tokens need, which are its state at the end.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Conversion/Slots.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

using Values = SmallVector<Value>;

/// Panels of a task's slice: rows of its inputs are whole cache lines.
constexpr int64_t kTaskPanels = 4;
/// The most inputs that are carried, in registers or on the stack.
constexpr int64_t kMostReach = 16;

std::string whyNotTiled(attn::ShortConvOp op) {
  if (op.getChannels() % kPanel != 0)
    return "its " + std::to_string(op.getChannels()) + " channels are no multiple of " + std::to_string(kPanel);
  if (op.getReach() > kMostReach)
    return "it reaches " + std::to_string(op.getReach()) + " tokens back, and at most " + std::to_string(kMostReach) +
           " are carried";
  return "";
}

/// 32 channels of a sequence.
struct Panel {
  attn::ShortConvOp op;
  RowTokens tokens;
  Value column;
  Values weights;
  Value bias;

  Panel(ImplicitLocOpBuilder &b, attn::ShortConvOp op, RowTokens tokens, Value column)
      : op(op), tokens(tokens), column(column) {
    for (int64_t tap = 0; tap < op.getTaps(); ++tap)
      weights.push_back(readPanel(b, op.getWeight(), {index(b, tap), column}));
    if (op.getBias())
      bias = readPanel(b, op.getBias(), column);
  }

  /// The output of the last of `inputs`, which are consecutive tokens'.
  Value output(ImplicitLocOpBuilder &b, ArrayRef<Value> inputs) {
    Value sum = bias;
    for (auto [tap, weight] : llvm::enumerate(weights)) {
      Value x = inputs[tap * op.getDilation()];
      sum = sum ? Value(vector::FMAOp::create(b, weight, x, sum)) : arith::MulFOp::create(b, weight, x);
    }
    return op.getActivation() ? attn::emitActivation(b, b.getLoc(), *op.getActivation(), sum) : sum;
  }

  /// Writes the outputs to columns `place` of `dest`, if it is given. `carried` are the inputs ahead of the tokens,
  /// then those at their end.
  Value overTokens(ImplicitLocOpBuilder &b, Value dest, Value place, Values &carried) {
    const size_t reach = carried.size();
    if (dest)
      carried.push_back(dest);
    carried = loop(b, index(b, 0), tokens.length, 1, carried, [&](ImplicitLocOpBuilder &b, Value i, ValueRange before) {
      Values inputs(before.take_front(reach));
      inputs.push_back(readPanel(b, op.getInput(), {arith::AddIOp::create(b, tokens.begin, i), column}));
      Values after(ArrayRef(inputs).drop_front());
      if (dest)
        after.push_back(writePanel(b, output(b, inputs), before.back(), {i, place}));
      return after;
    });
    if (dest)
      dest = carried.pop_back_val();
    return dest;
  }
};

struct TileShortConv : OpRewritePattern<attn::ShortConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ShortConvOp op, PatternRewriter &rewriter) const override {
    if (std::string reason = whyNotTiled(op); !reason.empty())
      return rewriter.notifyMatchFailure(op, reason);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const bool hasOutput = isUsed(op.getOutput()), leavesState = isUsed(op.getNewState());
    int64_t panels = op.getChannels() / kPanel, each = kTaskPanels;
    while (panels % each != 0)
      each /= 2;
    Values dests;
    if (hasOutput) {
      dests.push_back(destination(b, op.getOutput(), {extent(b, op.getInput(), 0), b.getIndexAttr(op.getChannels())}));
      if (!coverAllRows(op.getRowBegin()))
        dests.back() = fillRest(b, op.getRowBegin(), 0, kRestRows, dests.back());
    }
    if (leavesState)
      dests.push_back(op.getState());
    OpFoldResult rows = affineOf(b, b.getAffineDimExpr(0) - 1, {extent(b, op.getRowBegin(), 0)});
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange out) {
      return task(b, op, ids[0], ids[1], each * kPanel, hasOutput ? out[0] : Value(),
                  leavesState ? out.back() : Value());
    };
    Values results = dests.empty() ? Values() : grid(b, {rows, b.getIndexAttr(panels / each)}, dests, body);
    replaceUsed(rewriter, op, results);
    return success();
  }

  static SmallVector<Insertion> task(ImplicitLocOpBuilder &b, attn::ShortConvOp op, Value row, Value slice,
                                     int64_t columns, Value outputs, Value states) {
    const int64_t reach = op.getReach();
    const OpFoldResult zero = b.getIndexAttr(0), width = b.getIndexAttr(columns), depth = b.getIndexAttr(reach);
    const RowTokens tokens(b, op.getRowBegin(), row);
    Value first = arith::MulIOp::create(b, slice, index(b, columns));
    Insertion at{{}, {tokens.begin, first}, {tokens.length, width}}, to;
    Value before, output, after;
    if (op.getState()) { // read where it is written: no row writes what another one reads
      const std::pair<OpFoldResult, OpFoldResult> inner[] = {{zero, depth}, {OpFoldResult(first), width}};
      const Insertion from = placeOfSlot(b, op, op.getFrom(), row, inner);
      before = extract(b, states ? states : op.getState(), from.offsets, from.sizes, {reach, columns});
      to = placeOfSlot(b, op, op.getTo(), row, inner);
    }
    if (outputs)
      output = extract(b, outputs, at.offsets, at.sizes, {ShapedType::kDynamic, columns});
    if (states)
      after = tensor::EmptyOp::create(b, ArrayRef<int64_t>{reach, columns}, b.getF32Type());
    for (int64_t i = 0; i < columns; i += kPanel) {
      Value place = index(b, i);
      Panel panel(b, op, tokens, plus(b, first, i));
      Values carried;
      for (int64_t token = 0; token < reach; ++token)
        carried.push_back(before ? readPanel(b, before, {index(b, token), place}) : splat(b, zeroOf(b)));
      output = panel.overTokens(b, output, place, carried);
      for (int64_t token = 0; token < reach && states; ++token)
        after = writePanel(b, carried[size_t(token)], after, {index(b, token), place});
    }
    SmallVector<Insertion> insertions;
    if (outputs) {
      at.tile = output;
      insertions.push_back(at);
    }
    if (states) {
      to.tile = after;
      insertions.push_back(to);
    }
    return insertions;
  }

  static Value zeroOf(ImplicitLocOpBuilder &b) { return arith::ConstantOp::create(b, b.getF32FloatAttr(0)); }
};

} // namespace

void rapt::populateShortConvTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileShortConv>(patterns.getContext());
}
