//===- Tile.cpp - Linear attention as a grid of tiles of thread blocks --------------------===//
//
// A task has some value channels of one state of a row: attn_gpu.linear_attention_tile over the
// row's tokens.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/Slots.h"
#include "lib/Target/GPU/LinearAttention/LinearAttention.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using attn_gpu::LinearAttentionTileOp;
using attn_gpu::LinearAttentionTilesAttr;

std::string any_gpu::refusalOf(attn::LinearAttentionOp op) {
  if (op.getKeyChannels() > LinearAttentionTileOp::kMostKeys)
    return "it has more than " + std::to_string(LinearAttentionTileOp::kMostKeys) + " key channels";
  if (op.getOutputs() / op.getStates() > LinearAttentionTileOp::kMostOutputs)
    return "more than " + std::to_string(LinearAttentionTileOp::kMostOutputs) + " outputs read a state";
  return isUsed(op.getOutput()) ? "" : "nothing reads its output";
}

namespace {

/// What a task has: `columns` value channels from `column` on.
class Task {
public:
  Task(ImplicitLocOpBuilder &b, attn::LinearAttentionOp op, LinearAttentionTilesAttr tiles, ValueRange ids)
      : b(b), op(op), tiles(tiles), row(ids[0]), state(ids[1]), tokens(b, op.getRowBegin(), row),
        group(op.getOutputs() / op.getStates()) {
    AffineExpr d0 = b.getAffineDimExpr(0);
    const int64_t values = op.getValueChannels(), most = tiles.getColumns();
    column = affineOf(b, d0 * most, {ids[2]});
    columns = values % most == 0 ? OpFoldResult(b.getIndexAttr(most))
              : values < most    ? OpFoldResult(b.getIndexAttr(values))
                                 : affineMin(b, {b.getIndexAttr(most), affineOf(b, values - d0, {column})});
    known = getConstantIntValue(columns).value_or(ShapedType::kDynamic);
  }

  /// `states` is the tensor of the states that are written; null: none are.
  SmallVector<Insertion> emit(Value output, Value states) {
    const OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1), keys = b.getIndexAttr(op.getKeyChannels());
    Value firstOutput = arith::MulIOp::create(b, state, index(b, group));
    Value queryHead = group == 1 ? headOf(b, op, op.getQuery(), state) : firstOutput;
    Value query = slice(op.getQuery(), {queryHead, zero}, {b.getIndexAttr(group), keys}, {group, op.getKeyChannels()});
    Value key = slice(op.getKey(), {headOf(b, op, op.getKey(), state), zero}, {one, keys}, {1, op.getKeyChannels()});
    Value value = slice(op.getValue(), {headOf(b, op, op.getValue(), state), column}, {one, columns}, {1, known});
    Value decay, beta;
    if (op.getDecay() && op.decaysByChannel())
      decay = slice(op.getDecay(), {state, zero}, {one, keys}, {1, op.getKeyChannels()});
    else if (op.getDecay())
      decay = slice(op.getDecay(), {state}, {one}, {1});
    if (op.getBeta())
      beta = slice(op.getBeta(), {state}, {one}, {1});
    Insertion ofOutput{{}, {tokens.begin, firstOutput, column}, {tokens.length, b.getIndexAttr(group), columns}};
    Value dest = extract(b, output, ofOutput.offsets, ofOutput.sizes, {ShapedType::kDynamic, group, known});
    SmallVector<Type> types{dest.getType()};
    SmallVector<Value> from, to;
    if (op.getState())
      from = indicesOf(op.getFrom());
    if (states) {
      types.push_back(states.getType());
      to = indicesOf(op.getTo());
    }
    auto tile =
        LinearAttentionTileOp::create(b, types, query, key, value, decay, beta, states ? Value() : op.getState(), from,
                                      to, dest, states, op.getScaleAttr(), tiles);
    ofOutput.tile = tile.getResults()[0];
    SmallVector<Insertion> insertions{ofOutput};
    if (states) {
      Insertion ofState = placeOfSlot(b, op, op.getTo(), row, {{state, one}, {zero, keys}, {column, columns}});
      ofState.tile = extract(b, tile.getResults()[1], ofState.offsets, ofState.sizes, {op.getKeyChannels(), known});
      insertions.push_back(ofState);
    }
    return insertions;
  }

private:
  /// The row's tokens of a tensor; `shape` is that of the dims behind them.
  Value slice(Value tensor, OFRs offsets, OFRs sizes, ArrayRef<int64_t> shape) {
    SmallVector<OpFoldResult> allOffsets{tokens.begin}, allSizes{tokens.length};
    SmallVector<int64_t> all{ShapedType::kDynamic};
    llvm::append_range(allOffsets, offsets);
    llvm::append_range(allSizes, sizes);
    llvm::append_range(all, shape);
    return extract(b, tensor, allOffsets, allSizes, all);
  }

  /// Where the task's first element of the state in a slot is.
  SmallVector<Value> indicesOf(Value slots) {
    const Insertion place = placeOfSlot(b, op, slots, row, {{state, b.getIndexAttr(1)}});
    SmallVector<Value> indices = llvm::map_to_vector(place.offsets, [&](OpFoldResult at) { return asValue(b, at); });
    indices.back() = asValue(b, column);
    return indices;
  }

  ImplicitLocOpBuilder &b;
  attn::LinearAttentionOp op;
  LinearAttentionTilesAttr tiles;
  Value row, state;
  RowTokens tokens;
  int64_t group; ///< outputs that read a state
  OpFoldResult column, columns;
  int64_t known; ///< the columns, where they are the same in all tasks
};

void tileOp(attn::LinearAttentionOp op, LinearAttentionTilesAttr tiles, PatternRewriter &rewriter) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  forgetExtents(rewriter, op, op.getQuery());
  OpFoldResult extents[] = {extent(b, op.getQuery(), 0), b.getIndexAttr(op.getOutputs()),
                            b.getIndexAttr(op.getValueChannels())};
  // Tokens of no row have the output 0.
  SmallVector<Value> dests{filled(b, 0, emptyFor(b, op.getOutput(), extents))};
  const bool leavesState = isUsed(op.getNewState());
  if (leavesState)
    dests.push_back(op.getState());
  OpFoldResult rows = Value(arith::SubIOp::create(b, asValue(b, extent(b, op.getRowBegin(), 0)), index(b, 1)));
  const int64_t slices = llvm::divideCeil(op.getValueChannels(), tiles.getColumns());
  SmallVector<Value> made =
      grid(b, {rows, b.getIndexAttr(op.getStates()), b.getIndexAttr(slices)}, dests,
           [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange outs) {
             return Task(b, op, tiles, ids).emit(outs.front(), leavesState ? outs.back() : Value());
           });
  Attribute number = op->getAttr(attn::AttnDialect::opAttr);
  if (auto forall = made[0].getDefiningOp<scf::ForallOp>(); forall && number)
    forall->setAttr(attn::AttnDialect::opAttr, number);
  replaceUsed(rewriter, op, made);
}

} // namespace

LogicalResult any_gpu::tileLinearAttention(ModuleOp module) {
  SmallVector<attn::LinearAttentionOp> ops;
  module.walk([&](attn::LinearAttentionOp op) { ops.push_back(op); });
  PatternRewriter rewriter(module.getContext());
  for (attn::LinearAttentionOp op : ops) {
    auto tiles = attn_gpu::scheduleOf<LinearAttentionTilesAttr>(op);
    if (!tiles)
      continue;
    if (std::string reason = refusalOf(op); !reason.empty())
      return op.emitOpError() << "has a schedule, but " << reason;
    if (tiles.getChunk() && op.getDecay() && op.decaysByChannel())
      return op.emitOpError("has a schedule with a chunk, but decays of channels have no chunked form");
    rewriter.setInsertionPoint(op);
    tileOp(op, tiles, rewriter);
  }
  return success();
}
