//===- Tile.cpp - Attention as a grid of tiles of thread blocks ---------------------------===//
//
// A task is a tile of queries of one row and key/value head: attn_gpu.attention_tile over the
// keys that they may see. Query heads that share keys are rows of one tile.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Conversion/MaskIntervals.h"
#include "lib/Conversion/MaskReport.h"
#include "lib/Target/GPU/Attention/Attention.h"
#include "lib/Target/GPU/Attention/KeyBounds.h"
#include "lib/Target/GPU/Attention/Splits.h"
#include "lib/Target/Generic/RowCache.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using Dim = AttentionOperands::Dim;
using attn_gpu::AttentionScheduleAttr;
using attn_gpu::AttentionTilesAttr;

namespace {

/// A tile of queries, and the keys of it.
struct Task {
  const AttentionOperands &o;
  QueryTile tile;
  SmallVector<Value> extras; ///< slices, or tables

  ArrayRef<Value> keyBounds; ///< of extra operands that have keys (KeyBounds.h); null where there are none

  Value from;                                           ///< the first key, counted from the row's first
  SmallVector<std::optional<tile::Interval>> ofQueries; ///< bounds of the extra operands that know no keys

  Value queryOf(ImplicitLocOpBuilder &b, Value row) const {
    return tile.heads == 1 ? row : Value(arith::DivUIOp::create(b, row, index(b, tile.heads)));
  }
  Value headOf(ImplicitLocOpBuilder &b, Value row) const {
    return tile.heads == 1 ? index(b, 0) : Value(arith::RemUIOp::create(b, row, index(b, tile.heads)));
  }

  /// `at` within 0 .. `extent` - 1. Positions are less than 2^31 (A15), and half the registers hold them.
  static Value clamped(ImplicitLocOpBuilder &b, Value at, Value extent) {
    auto narrow = [&](Value x) { return arith::IndexCastOp::create(b, b.getI32Type(), x); };
    Value one = arith::ConstantIntOp::create(b, b.getI32Type(), 1),
          zero = arith::ConstantIntOp::create(b, b.getI32Type(), 0);
    Value last = arith::SubIOp::create(b, narrow(extent), one);
    Value inside = arith::MaxSIOp::create(b, arith::MinSIOp::create(b, narrow(at), last), zero);
    return arith::IndexCastUIOp::create(b, b.getIndexType(), inside);
  }

  /// The element of extra operand i. Rows and columns beyond the tile's have elements, too, which nothing uses.
  Value extraAt(ImplicitLocOpBuilder &b, unsigned i, Value row, Value column) const {
    SmallVector<Value> indices;
    for (auto [place, expr] : llvm::enumerate(o.maps[AttentionOperands::FirstExtra + i].getResults())) {
      const auto dim = static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition());
      Value at = dim == Dim::Q    ? queryOf(b, row)
                 : dim == Dim::KV ? column
                 : dim == Dim::G  ? headOf(b, row)
                                  : index(b, 0);
      indices.push_back(clamped(b, at, asValue(b, extent(b, extras[i], int64_t(place)))));
    }
    return tensor::ExtractOp::create(b, extras[i], indices);
  }

  /// b, h, q, kv and the elements of extra operands, for a row and a column of the tile.
  SmallVector<Value> argumentsAt(ImplicitLocOpBuilder &b, Value row, Value column) const {
    Value head = arith::AddIOp::create(b, tile.head, headOf(b, row));
    SmallVector<Value> arguments{tile.row, head, arith::AddIOp::create(b, tile.position, queryOf(b, row)),
                                 arith::AddIOp::create(b, from, column)};
    for (unsigned i = 0; i < extras.size(); ++i)
      arguments.push_back(o.isTable(i) ? extras[i] : extraAt(b, i, row, column));
    return arguments;
  }

  bool hasDim(unsigned i, Dim dim) const { return o.placeOf(AttentionOperands::FirstExtra + i, dim).has_value(); }

  /// Whether the bounds of the elements of extra operand i are known: of integers, not one for each query and key.
  bool hasBounds(unsigned i) const {
    return hasDim(i, Dim::KV) ? bool(keyBounds[i])
                              : !o.isTable(i) && getElementTypeOrSelf(extras[i].getType()).isInteger();
  }

  /// The bounds of an extra operand's elements that the tile's queries have.
  tile::Interval boundsOfQueries(ImplicitLocOpBuilder &b, unsigned i) const {
    Value rows = arith::MulIOp::create(b, asValue(b, tile.size), index(b, tile.heads));
    auto range = attn_gpu::RangeOp::create(b, rows);
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&range.getBody(), {}, b.getIndexType(), b.getLoc());
    Value element = extraAt(b, i, block->getArgument(0), index(b, 0));
    attn_gpu::YieldOp::create(b, arith::IndexCastOp::create(b, b.getIndexType(), element).getResult());
    return {range.getLow(), range.getHigh()};
  }

  /// Finds the bounds of extra operands that are the same for all blocks of keys.
  void findBounds(ImplicitLocOpBuilder &b) {
    for (unsigned i = 0; i < extras.size(); ++i)
      ofQueries.push_back(hasBounds(i) && !hasDim(i, Dim::KV) ? std::optional(boundsOfQueries(b, i)) : std::nullopt);
  }

  /// The bounds of an extra operand's elements of those keys.
  tile::Interval boundsOfKeys(ImplicitLocOpBuilder &b, unsigned i, Value first, Value count) const {
    Value at = arith::AddIOp::create(b, from, first);
    if (!hasDim(i, Dim::B)) // keys of all rows are packed
      at = arith::AddIOp::create(b, tile.firstKey, at);
    return any_gpu::keyBoundsOf(b, o, tile, i, o.tiles.getKeys(), keyBounds[i], at, count);
  }

  /// Whether the mask keeps any of the keys [first, first + count), and whether it keeps all.
  SmallVector<Value> kept(ImplicitLocOpBuilder &b, Value first, Value count) const {
    Value last = arith::AddIOp::create(b, tile.head, index(b, tile.heads - 1));
    const tile::Interval indices[] = {{tile.row, tile.row},
                                      {tile.head, last},
                                      tile::between(b, tile.position, asValue(b, tile.size)),
                                      tile::between(b, arith::AddIOp::create(b, from, first), count)};
    tile::Kept kept = tile::keptBy(b, *o.mask, indices, extras, [&](unsigned i) {
      return hasDim(i, Dim::KV) && hasBounds(i) ? std::optional(boundsOfKeys(b, i, first, count)) : ofQueries[i];
    });
    // The bounds of the keys leave the rest out already.
    if (analyzeMask(*o.mask).exact)
      kept.some = int64_t(1);
    return {tile::asBool(b, kept.some), tile::asBool(b, kept.all)};
  }

  /// Whether something is known of a block of keys.
  bool tellsKept() const {
    SmallVector<bool> known(4, true);
    for (unsigned i = 0; i < extras.size(); ++i)
      known.push_back(hasBounds(i));
    return !o.mask->empty() && mayTellKept(*o.mask, known);
  }

  void fillRegions(ImplicitLocOpBuilder &b, attn_gpu::AttentionTileOp op) const {
    Type index = b.getIndexType();
    if (!o.score->empty())
      fill(b, op.getScore(), {b.getF32Type(), index, index}, [&](ValueRange x) -> SmallVector<Value> {
        SmallVector<Value> all{x[0]};
        llvm::append_range(all, argumentsAt(b, x[1], x[2]));
        return {inlineRegion(b, *o.score, all)};
      });
    if (o.mask->empty())
      return;
    fill(b, op.getMask(), {index, index},
         [&](ValueRange x) -> SmallVector<Value> { return {inlineRegion(b, *o.mask, argumentsAt(b, x[0], x[1]))}; });
    if (tellsKept())
      fill(b, op.getBlocks(), {index, index}, [&](ValueRange x) { return kept(b, x[0], x[1]); });
  }

private:
  static void fill(ImplicitLocOpBuilder &b, Region &region, TypeRange types,
                   function_ref<SmallVector<Value>(ValueRange)> body) {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&region, region.end(), types, SmallVector<Location>(types.size(), b.getLoc()));
    attn_gpu::YieldOp::create(b, body(block->getArguments()));
  }
};

/// Offsets, sizes and the shape of a tile's part of operand i: [queries, channels] or [queries, heads, channels].
struct Part {
  SmallVector<OpFoldResult> offsets, sizes;
  SmallVector<int64_t> shape;

  Part(ImplicitLocOpBuilder &b, const AttentionOperands &o, const QueryTile &tile, unsigned i) {
    placeQueries(b, o, tile, i, offsets, sizes);
    for (auto [expr, size] : llvm::zip_equal(o.maps[i].getResults(), sizes)) {
      const auto dim = static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition());
      if (dim == Dim::Q || dim == Dim::DQK || dim == Dim::DV || (dim == Dim::G && tile.heads > 1))
        shape.push_back(getConstantIntValue(size).value_or(ShapedType::kDynamic));
    }
  }
  /// The same in an array of parts of keys, of which this is number `split`.
  void putInto(ImplicitLocOpBuilder &b, Value split) {
    offsets.insert(offsets.begin(), split);
    sizes.insert(sizes.begin(), b.getIndexAttr(1));
  }
  void leaveOut(ArrayRef<int64_t> kept) {
    auto of = [&](auto &list) {
      auto all = list;
      list.clear();
      for (int64_t dim : kept)
        list.push_back(all[dim]);
    };
    of(offsets), of(sizes);
    shape.pop_back();
  }
};

/// Query heads of a group that one tile has: all of them where their number is known and they lie beside each other
/// behind the queries, else one.
int64_t headsOfTile(ImplicitLocOpBuilder &b, attn::AttentionOp op, const AttentionOperands &o, int64_t rows) {
  std::optional<int64_t> groups = getConstantIntValue(o.extentOf(b, Dim::G));
  if (!groups || *groups < 2 || *groups > rows)
    return 1;
  for (unsigned i : {AttentionOperands::Query, AttentionOperands::Result}) {
    std::optional<unsigned> query = o.placeOf(i, Dim::Q), group = o.placeOf(i, Dim::G);
    if (!group || *group < *query)
      return 1;
  }
  if (op.getLse() && *op.dimOfLse(Dim::G) < *op.dimOfLse(Dim::Q))
    return 1;
  return *groups;
}

/// Keys or values of the task's row and head in a cache, [blocks, positions, channels].
Value blocksOf(ImplicitLocOpBuilder &b, const Task &task, unsigned operand, attn::KVViewOp view) {
  const bool isKey = task.o.operand(operand) == view.getKeys();
  Value pool = isKey ? view.getCache() : view.getValuePool();
  auto type = cast<RankedTensorType>(pool.getType());
  // A key of no head of its own is that of the only one. A pool of keys or values alone has no other part.
  Value head = task.o.placeOf(operand, Dim::HKV) ? task.tile.keyHead : index(b, 0);
  const int64_t part = isKey || type.getDimSize(3) == 1 ? 0 : 1;
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets{zero, view.getLayer(), head, b.getIndexAttr(part), zero, zero};
  ArrayRef<int64_t> shape = type.getShape();
  SmallVector<OpFoldResult> sizes{extent(b, pool, 0),      one, one, one, b.getIndexAttr(shape[4]),
                                  b.getIndexAttr(shape[5])};
  return extract(b, pool, offsets, sizes, {shape[0], shape[4], shape[5]});
}

struct TileAttentionOp : OpRewritePattern<attn::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::AttentionOp op, PatternRewriter &rewriter) const override {
    auto schedule = attn_gpu::scheduleOf<AttentionScheduleAttr>(op);
    if (!schedule)
      return failure();
    const AttentionTilesAttr sizes = schedule.getTiles();
    AttentionOperands o(op);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Operation *before = op->getPrevNode();
    const int64_t heads = headsOfTile(b, op, o, sizes.getRows());
    o.tiles = attn::AttentionTilesAttr::get(op.getContext(), sizes.getKeys(), sizes.getRows() / heads);
    remarkMask(op, o.tiles.getQueries(), o.tiles.getKeys());
    SmallVector<OpFoldResult> shape;
    for (AffineExpr expr : o.maps[AttentionOperands::Result].getResults())
      shape.push_back(o.extentOf(b, static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition())));
    const SmallVector<int64_t> lseDims = lseDimsOf(op, o);
    SmallVector<Value> inits{emptyFor(b, op.getResult(), shape)};
    if (op.getLse()) {
      SmallVector<OpFoldResult> ofLse = llvm::map_to_vector(lseDims, [&](int64_t dim) { return shape[dim]; });
      inits.push_back(emptyFor(b, op.getLse(), ofLse));
    }
    OpFoldResult tiles = affineOf(b, b.getAffineDimExpr(0).ceilDiv(o.tiles.getQueries()), {o.extentOf(b, Dim::Q)}),
                 groups = heads > 1 ? OpFoldResult(b.getIndexAttr(1)) : o.extentOf(b, Dim::G);
    const SmallVector<OpFoldResult> extents{o.extentOf(b, Dim::B), o.extentOf(b, Dim::HKV), groups, tiles};
    const SmallVector<Value> keyBounds = any_gpu::findAllKeyBounds(b, o, heads);
    auto attend = [&](ImplicitLocOpBuilder &b, OFRs extents, ArrayRef<Value> outs) {
      return grid(b, extents, outs, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
        // The last queries have the most keys of a causal mask: their tiles begin first.
        Value last = arith::SubIOp::create(b, asValue(b, extents[3]), index(b, 1));
        Value tile = arith::SubIOp::create(b, last, ids[3]);
        Task task{o, queryTile(b, o, ids[0], ids[1], ids[2], tile), {}, keyBounds, {}, {}};
        task.tile.heads = heads;
        const Split split = ids.size() > 4 ? Split{ids[4], asValue(b, extents[4])} : Split{};
        return tileOf(b, lseDims, sizes, task, split, dests);
      });
    };
    auto whole = [&](ImplicitLocOpBuilder &b) {
      SmallVector<Value> outs(inits);
      if (o.qBegin) // queries behind the last row's give 0 (A28)
        outs[0] = filled(b, 0, outs[0]);
      if (o.qBegin && op.getLse()) // they have no keys
        outs[1] = filled(b, -std::numeric_limits<double>::infinity(), outs[1]);
      return attend(b, extents, outs);
    };
    SmallVector<Value> results;
    if (schedule.getBlocks()) {
      Value splits = any_gpu::countSplits(b, o, schedule, extents);
      auto inParts = [&](ImplicitLocOpBuilder &b) {
        SmallVector<Value> parts = any_gpu::emptyParts(b, splits, shape, lseDims);
        if (o.qBegin)
          parts[1] = filled(b, -std::numeric_limits<double>::infinity(), parts[1]), parts[2] = filled(b, 0, parts[2]);
        SmallVector<OpFoldResult> ofParts(extents);
        ofParts.push_back(splits);
        return any_gpu::combineParts(b, o, attend(b, ofParts, parts), lseDims, inits);
      };
      Value isSplit = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, splits, index(b, 0));
      results = tile::where(b, isSplit, ValueRange(inits).getTypes(), inParts, whole);
    } else {
      results = whole(b);
    }
    if (op.getWeights())
      results.push_back(weigh(b, AttentionOperands(op), &generic::rowCache()));
    if (Attribute number = op->getAttr(attn::AttnDialect::opAttr))
      for (Operation *made = op->getPrevNode(); made != before; made = made->getPrevNode())
        made->walk<WalkOrder::PreOrder>([&](Operation *inner) {
          if (!isa<linalg::LinalgOp, scf::ForallOp>(inner))
            return WalkResult::advance();
          inner->setAttr(attn::AttnDialect::opAttr, number);
          return WalkResult::skip();
        });
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  /// Part `nth` of `count` of the keys of a tile; null for all of them.
  struct Split {
    Value nth, count;
  };

  /// The dims of the result that its log-sum-exp has.
  static SmallVector<int64_t> lseDimsOf(attn::AttentionOp op, const AttentionOperands &o) {
    if (op.getLse())
      return op.getLseDims();
    SmallVector<int64_t> dims;
    for (auto [place, expr] : llvm::enumerate(o.maps[AttentionOperands::Result].getResults()))
      if (static_cast<Dim>(cast<AffineDimExpr>(expr).getPosition()) != Dim::DV)
        dims.push_back(int64_t(place));
    return dims;
  }

  /// Whole blocks of keys.
  static void narrow(ImplicitLocOpBuilder &b, KeyRange &range, const Split &split, int64_t keys) {
    Value all = arith::MaxSIOp::create(b, arith::SubIOp::create(b, range.to, range.from), index(b, 0));
    Value blocks = arith::CeilDivSIOp::create(b, all, index(b, keys));
    Value own = arith::MulIOp::create(b, arith::CeilDivSIOp::create(b, blocks, split.count), index(b, keys));
    range.from = arith::AddIOp::create(b, range.from, arith::MulIOp::create(b, split.nth, own));
    range.to = arith::MinSIOp::create(b, range.to, arith::AddIOp::create(b, range.from, own));
  }

  static SmallVector<Insertion> tileOf(ImplicitLocOpBuilder &b, ArrayRef<int64_t> lseDims, AttentionTilesAttr sizes,
                                       Task &task, const Split &split, ValueRange dests) {
    const AttentionOperands &o = task.o;
    const QueryTile &tile = task.tile;
    KeyRange range = keyRange(b, o, tile);
    if (split.nth)
      narrow(b, range, split, sizes.getKeys());
    Value count = arith::MaxSIOp::create(b, arith::SubIOp::create(b, range.to, range.from), index(b, 0));
    if (split.nth) // a part without keys begins where there are some
      range.from = arith::MinSIOp::create(b, range.from, arith::MaxSIOp::create(b, range.to, index(b, 0)));
    task.from = range.from;
    for (unsigned i = 0; i < o.extras.size(); ++i)
      task.extras.push_back(o.isTable(i) ? o.extras[i]
                                         : extraOf(b, o, tile, AttentionOperands::FirstExtra + i, range.from, count));
    const Part query(b, o, tile, AttentionOperands::Query), result(b, o, tile, AttentionOperands::Result);
    SmallVector<Part> parts{result};
    while (parts.size() < dests.size()) {
      parts.push_back(result);
      parts.back().leaveOut(lseDims);
    }
    if (split.nth)
      for (Part &part : parts)
        part.putInto(b, split.nth);
    SmallVector<Value> outs;
    for (auto [part, dest] : llvm::zip_equal(parts, dests))
      outs.push_back(extract(b, dest, part.offsets, part.sizes, part.shape));
    Value sink;
    if (o.sink && !split.nth)
      sink = tensor::ExtractSliceOp::create(b, o.sink, ArrayRef<OpFoldResult>{tile.head},
                                            ArrayRef<OpFoldResult>{b.getIndexAttr(tile.heads)},
                                            ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
    Value keys, values, table;
    if (SmallVector<attn::KVViewOp> views = o.views(); !views.empty()) {
      keys = blocksOf(b, task, AttentionOperands::Key, views[0]);
      values = blocksOf(b, task, AttentionOperands::Value_, views[1]);
      Value all = views[0].getTable();
      table = extract(b, all, {tile.row, b.getIndexAttr(0)}, {b.getIndexAttr(1), extent(b, all, 1)},
                      {ShapedType::kDynamic});
    } else {
      keys = keyRows(b, o, tile, AttentionOperands::Key, range.from, count);
      values = keyRows(b, o, tile, AttentionOperands::Value_, range.from, count);
    }
    if (task.tellsKept())
      task.findBounds(b);
    auto made = attn_gpu::AttentionTileOp::create(
        b, ValueRange(outs).getTypes(), extract(b, o.query, query.offsets, query.sizes, query.shape), keys, values,
        o.scale, table, table ? range.from : Value(), table ? count : Value(), Value(), ValueRange(), Value(),
        ValueRange(), Value(), sink, outs[0], outs.size() > 1 ? outs[1] : Value(), outs.size() > 2 ? outs[2] : Value(),
        sizes);
    task.fillRegions(b, made);
    SmallVector<Insertion> insertions;
    for (auto [part, value] : llvm::zip_equal(parts, made.getResults()))
      insertions.push_back({value, part.offsets, part.sizes});
    return insertions;
  }
};

} // namespace

LogicalResult any_gpu::tileAttention(ModuleOp module) {
  const WalkResult schedules = module.walk([](attn::AttentionOp op) {
    return failed(any_gpu::verifySchedule(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (schedules.wasInterrupted())
    return failure();
  RewritePatternSet patterns(module.getContext());
  patterns.add<TileAttentionOp>(module.getContext());
  walkAndApplyPatterns(module, std::move(patterns));
  return success();
}
