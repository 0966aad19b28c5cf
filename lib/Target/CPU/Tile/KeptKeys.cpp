//===- KeptKeys.cpp - Blocks of keys that the mask of attention drops or keeps -------------===//
//
// The least and the largest element of an integer operand along a block's keys are read when the
// block is reached: a vector for 32 keys, next to the 14 x 32 scores of a tile. A matrix (queries,
// keys) that several heads read is summarized once before: 14 x 32 elements become two. Tiles of
// the summary begin with each sequence, as those of the tasks do.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/KeptKeys.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/AttentionBlocks.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;
using attn_cpu::kPanel;

namespace {

/// Keys that a task of a summary reads for one tile of queries: enough work for a task, and many tasks for few queries.
constexpr int64_t kStripKeys = 4096;

bool isMatrix(AttentionOp op, unsigned i) {
  return op.dimOf(4 + i, AttentionOp::Q) && op.dimOf(4 + i, AttentionOp::KV);
}

/// Whether all sequences read the same elements of extra operand `i`.
bool sharesSequences(AttentionOp op, unsigned i) {
  return !op.dimOf(4 + i, AttentionOp::B) && !op.getQBegin() && !op.getKvBegin();
}

/// Whether a matrix is summarized once for several heads or sequences. One that each has for itself is read once
/// anyhow.
bool hasSummary(AttentionOp op, unsigned i) {
  auto differs = [&](AttentionOp::Dim dim) {
    std::optional<unsigned> position = op.dimOf(0, dim);
    return position && cast<RankedTensorType>(op.getQuery().getType()).getDimSize(*position) != 1;
  };
  return isMatrix(op, i) && ((!op.dimOf(4 + i, AttentionOp::HKV) && differs(AttentionOp::HKV)) ||
                             (!op.dimOf(4 + i, AttentionOp::G) && differs(AttentionOp::G)) ||
                             (sharesSequences(op, i) && differs(AttentionOp::B)));
}

/// Whether the elements of extra operand `i` have intervals.
bool isRead(AttentionOp op, unsigned i, Reads reads) {
  auto type = cast<RankedTensorType>(op.getExtras()[i].getType());
  if (op.isTable(i) || !type.getElementType().isInteger() || llvm::is_contained(type.getShape(), 0))
    return false;
  return !isMatrix(op, i) || reads == Reads::Matrices || hasSummary(op, i);
}

Scalar asNumber(ImplicitLocOpBuilder &b, Value element) {
  return Value(arith::IndexCastOp::create(b, b.getIndexType(), element));
}

SmallVector<Value> merged(ImplicitLocOpBuilder &b, ValueRange range, Value least, Value largest) {
  return {arith::MinSIOp::create(b, range[0], least), arith::MaxSIOp::create(b, range[1], largest)};
}

/// Elements of an extra operand.
class Elements {
public:
  /// Those of extra operand `i` at `queries` from `query` on and `keys` from `key` on.
  Elements(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, Value query, Value queries, Value key,
           Value keys)
      : extra(AttentionOp(task.op).getExtras()[i]), queries(queries), keys(keys) {
    AttentionOp op = task.op;
    const bool isPacked = !op.dimOf(4 + i, AttentionOp::B);
    auto from = [&](Value first, Value at) { return isPacked ? Value(arith::AddIOp::create(b, first, at)) : at; };
    SmallVector<OpFoldResult> offsets, sizes;
    tileOf(b, task, 4 + i, from(task.firstQuery, query), 1, from(task.firstKey, key), 1, offsets, sizes);
    for (OpFoldResult offset : offsets)
      begin.push_back(asValue(b, offset));
    queryDim = op.dimOf(4 + i, AttentionOp::Q);
    keyDim = op.dimOf(4 + i, AttentionOp::KV);
  }

  /// The least and the largest.
  SmallVector<Value> range(ImplicitLocOpBuilder &b) const {
    Value first = tensor::ExtractOp::create(b, extra, begin);
    if (!queryDim && !keyDim)
      return {first, first};
    Value seed = keyDim ? Value(vector::BroadcastOp::create(b, panel(), first)) : first;
    SmallVector<Value> both{seed, seed};
    Value zero = index(b, 0), rows = queryDim ? queries : index(b, 1);
    both = loop(b, zero, rows, 1, both, [&](ImplicitLocOpBuilder &b, Value row, ValueRange carried) {
      if (!keyDim)
        return merged(b, carried, tensor::ExtractOp::create(b, extra, at(b, row, Value())));
      return loop(b, zero, keys, kPanel, carried, [&](ImplicitLocOpBuilder &b, Value key, ValueRange inner) {
        return merged(b, inner, readKeys(b, at(b, row, key), first));
      });
    });
    if (keyDim)
      both = {vector::ReductionOp::create(b, vector::CombiningKind::MINSI, both[0]),
              vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, both[1])};
    return both;
  }

private:
  VectorType panel() const { return VectorType::get({kPanel}, getElementTypeOrSelf(extra.getType())); }

  SmallVector<Value> at(ImplicitLocOpBuilder &b, Value row, Value key) const {
    SmallVector<Value> indices(begin);
    if (queryDim)
      indices[*queryDim] = arith::AddIOp::create(b, indices[*queryDim], row);
    if (key)
      indices[*keyDim] = arith::AddIOp::create(b, indices[*keyDim], key);
    return indices;
  }

  /// 32 elements along the keys. Lanes behind the operand's end are `first`, which changes no range.
  Value readKeys(ImplicitLocOpBuilder &b, ArrayRef<Value> indices, Value first) const {
    AffineMap along = AffineMap::get(begin.size(), 0, b.getAffineDimExpr(*keyDim));
    return vector::TransferReadOp::create(b, panel(), extra, indices, first, along, ArrayRef<bool>{false});
  }

  static SmallVector<Value> merged(ImplicitLocOpBuilder &b, ValueRange range, Value x) {
    return ::merged(b, range, x, x);
  }

  Value extra, queries, keys;
  SmallVector<Value> begin; ///< indices of the first element
  std::optional<unsigned> queryDim, keyDim;
};

/// The summary of the matrix that is an op's extra operand `i`.
struct Summary {
  AttentionOp op;
  unsigned i;
  int64_t queries, keys; ///< of a tile

  Summary(const AttentionTask &task, unsigned i)
      : op(task.op), i(i), queries(task.schedule.getQueries().front()), keys(task.block) {}

  Value matrix() const { return AttentionOp(op).getExtras()[i]; }
  OpFoldResult extentOf(ImplicitLocOpBuilder &b, AttentionOp::Dim dim) const {
    std::optional<unsigned> position = AttentionOp(op).dimOf(4 + i, dim);
    return position ? extent(b, matrix(), *position) : OpFoldResult(b.getIndexAttr(1));
  }

  /// The first tile of the task's sequence: behind those that earlier queries fill, and one for each earlier sequence,
  /// which may end in one.
  Value firstTile(ImplicitLocOpBuilder &b, const AttentionTask &task) const {
    if (sharesSequences(op, i))
      return index(b, 0);
    Value before = AttentionOp(op).getQBegin()
                       ? task.firstQuery
                       : Value(arith::MulIOp::create(b, task.sequence, asValue(b, extentOf(b, AttentionOp::Q))));
    return arith::AddIOp::create(b, arith::DivUIOp::create(b, before, index(b, queries)), task.sequence);
  }

  /// Indices of the heads of `task`, where the matrix has them.
  SmallVector<Value> heads(ImplicitLocOpBuilder &b, const AttentionTask &task) const {
    return {AttentionOp(op).dimOf(4 + i, AttentionOp::HKV) ? task.kvHead : index(b, 0),
            AttentionOp(op).dimOf(4 + i, AttentionOp::G) ? task.group : index(b, 0)};
  }

  /// The blocks of a tile: those that the mask's bounds leave to its queries, or all. Sequences that share a tile have
  /// bounds of their own.
  std::pair<Value, Value> blocksOfTile(ImplicitLocOpBuilder &b, const AttentionTask &task, Value query) const {
    AttentionTask bounded = task;
    if (sharesSequences(op, i) && AttentionOp(op).getQOffset())
      bounded.bounds = {};
    KeyBlocks range = blocksOf(b, bounded, arith::AddIOp::create(b, task.offset, query).getResult(), index(b, queries));
    return {range.from, range.end};
  }

  /// The least and the largest element of each of the `count` blocks from `from` on of the `rows` queries from `query`
  /// on, into `dest`, [count, 2].
  Value ofBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, Value query, Value rows, Value from, Value count,
                 Value dest) const {
    return loop(b, index(b, 0), count, 1, dest, [&](ImplicitLocOpBuilder &b, Value nth, Value carried) -> Value {
      AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
      Value key = asValue(b, affineOf(b, (d0 + d1) * keys, {OpFoldResult(from), OpFoldResult(nth)}));
      SmallVector<Value> both = Elements(b, task, i, query, rows, key, index(b, keys)).range(b);
      for (auto [place, element] : llvm::enumerate(both))
        carried = tensor::InsertOp::create(b, element, carried, ValueRange{nth, index(b, int64_t(place))});
      return carried;
    });
  }

  Value make(ImplicitLocOpBuilder &b, const AttentionTask &prototype, OpFoldResult rows, OpFoldResult queryExtent,
             OpFoldResult keyExtent) const {
    AttentionOp attention = op;
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0), two = b.getIndexAttr(2);
    OpFoldResult most = mostKeys(b, prototype, rows, queryExtent, keyExtent);
    const bool isShared = sharesSequences(op, i);
    if (isShared)
      rows = one;
    OpFoldResult all = attention.getQBegin() ? queryExtent : affineOf(b, d0 * d1, {rows, queryExtent}),
                 tiles = affineOf(b, d0.floorDiv(queries) + d1, {all, rows}),
                 blocks = affineOf(b, d0.ceilDiv(keys), {extentOf(b, AttentionOp::KV)}),
                 keyHeads = extentOf(b, AttentionOp::HKV), groups = extentOf(b, AttentionOp::G);
    Value dest = tensor::EmptyOp::create(b, SmallVector<OpFoldResult>{keyHeads, groups, tiles, blocks, two},
                                         getElementTypeOrSelf(matrix().getType()));
    const int64_t strip = std::max<int64_t>(kStripKeys / keys, 1);
    OpFoldResult longest = longestSequence(b, attention.getQBegin(), rows, queryExtent);
    SmallVector<OpFoldResult> extents{rows, keyHeads, groups, affineOf(b, d0.ceilDiv(queries), {longest}),
                                      affineOf(b, d0.ceilDiv(strip * keys), {most})};
    auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      AttentionTask task = prototype;
      task.sequence = ids[0], task.kvHead = ids[1], task.group = ids[2];
      Value queryCount = locateSequence(b, task, queryExtent, keyExtent);
      if (isShared)
        task.keyCount = asValue(b, most);
      Value query = arith::MulIOp::create(b, ids[3], index(b, queries)),
            left = arith::SubIOp::create(b, queryCount, query),
            from = arith::MulIOp::create(b, ids[4], index(b, strip)),
            end = arith::AddIOp::create(b, from, index(b, strip));
      auto [firstBlock, endBlock] = blocksOfTile(b, task, query);
      from = arith::MaxSIOp::create(b, from, firstBlock), end = arith::MinSIOp::create(b, end, endBlock);
      // A task beyond its sequence's queries or keys has no tiles: its slice begins at the first and is empty.
      Value hasQueries = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, left, index(b, 0)),
            hasKeys = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, from, end),
            some = arith::AndIOp::create(b, hasQueries, hasKeys);
      auto orNone = [&](Value value) -> Value { return arith::SelectOp::create(b, some, value, index(b, 0)); };
      Value count = orNone(arith::SubIOp::create(b, end, from)),
            tile = orNone(arith::AddIOp::create(b, firstTile(b, task), ids[3]));
      from = orNone(from);
      Insertion out;
      out.offsets = {ids[1], ids[2], tile, from, zero};
      out.sizes = {one, one, one, count, two};
      Value slice = extract(b, dests[0], out.offsets, out.sizes, {ShapedType::kDynamic, 2});
      out.tile = ofBlocks(b, task, query, arith::MinSIOp::create(b, left, index(b, queries)), from, count, slice);
      return SmallVector<Insertion>{out};
    };
    return grid(b, extents, dest, body)[0];
  }

  /// The least and the largest element of a rectangle, or of more: of the summary's tiles that it is in. Elements that
  /// the mask's bounds leave out are not among them: the mask's region drops those whatever they are.
  SmallVector<Value> range(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rectangle &rectangle) const {
    auto tileOfQuery = [&](Value query) -> Value { return arith::DivUIOp::create(b, query, index(b, queries)); };
    Value one = index(b, 1), first = firstTile(b, task),
          last = arith::SubIOp::create(b, arith::AddIOp::create(b, rectangle.query, rectangle.queries), one),
          end = arith::AddIOp::create(b, tileOfQuery(last), one);
    auto element = cast<IntegerType>(getElementTypeOrSelf(matrix().getType()));
    auto constant = [&](const APInt &number) -> Value {
      return arith::ConstantOp::create(b, b.getIntegerAttr(element, number));
    };
    Value seeds[] = {constant(APInt::getSignedMaxValue(element.getWidth())),
                     constant(APInt::getSignedMinValue(element.getWidth()))};
    auto body = [&](ImplicitLocOpBuilder &b, Value tile, ValueRange carried) {
      auto [from, to] = blocksOfTile(b, task, arith::MulIOp::create(b, tile, index(b, queries)));
      from = arith::MaxSIOp::create(b, from, rectangle.from), to = arith::MinSIOp::create(b, to, rectangle.end);
      SmallVector<Value> indices = heads(b, task);
      indices.push_back(arith::AddIOp::create(b, first, tile));
      return loop(b, from, to, 1, carried, [&](ImplicitLocOpBuilder &b, Value block, ValueRange inner) {
        auto read = [&](int64_t place) -> Value {
          SmallVector<Value> at(indices);
          at.append({block, index(b, place)});
          return tensor::ExtractOp::create(b, task.summaries[i], at);
        };
        Value least = read(0), largest = read(1);
        return merged(b, inner, least, largest);
      });
    };
    return loop(b, tileOfQuery(rectangle.query), end, 1, seeds, body);
  }
};

/// The least and the largest element of extra operand `i` in a rectangle.
Interval rangeOf(ImplicitLocOpBuilder &b, const AttentionTask &task, unsigned i, const Rectangle &rectangle, Value key,
                 Value keys) {
  SmallVector<Value> both = task.summaries[i]
                                ? Summary(task, i).range(b, task, rectangle)
                                : Elements(b, task, i, rectangle.query, rectangle.queries, key, keys).range(b);
  return {asNumber(b, both[0]), asNumber(b, both[1])};
}

} // namespace

bool tile::tellsBlocks(AttentionOp op, Reads reads) {
  if (op.getMask().empty() || analyzeMask(op.getMask()).exact)
    return false;
  SmallVector<bool> known(4, true);
  for (unsigned i = 0; i < op.getExtras().size(); ++i)
    known.push_back(isRead(op, i, reads));
  return mayTellKept(op.getMask(), known);
}

SmallVector<unsigned> tile::summarizedMatrices(AttentionOp op) {
  if (!tellsBlocks(op, Reads::Matrices))
    return {};
  return llvm::filter_to_vector(llvm::seq<unsigned>(0, op.getExtras().size()), [&](unsigned i) {
    return isRead(op, i, Reads::Matrices) && hasSummary(op, i) && !op.getMask().getArgument(4 + i).use_empty();
  });
}

SmallVector<Value> tile::summarizeMatrices(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult rows,
                                           OpFoldResult queryExtent, OpFoldResult keyExtent) {
  AttentionOp op = task.op;
  SmallVector<Value> summaries(op.getExtras().size());
  for (unsigned i : summarizedMatrices(op))
    summaries[i] = Summary(task, i).make(b, task, rows, queryExtent, keyExtent);
  return summaries;
}

Kept tile::keptKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rectangle &rectangle, Reads reads) {
  AttentionOp op = task.op;
  Value key = arith::MulIOp::create(b, rectangle.from, index(b, task.block)),
        end = arith::MulIOp::create(b, rectangle.end, index(b, task.block)), keys = arith::SubIOp::create(b, end, key);
  Value position = arith::AddIOp::create(b, task.offset, rectangle.query);
  const Interval indices[] = {{task.sequence, task.sequence},
                              {task.head, task.head},
                              between(b, position, rectangle.queries),
                              between(b, key, keys)};
  return keptBy(b, op.getMask(), indices, op.getExtras(), [&](unsigned i) {
    return isRead(op, i, reads) ? std::optional(rangeOf(b, task, i, rectangle, key, keys)) : std::nullopt;
  });
}

SmallVector<Value> tile::whereKept(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rectangle &rectangle,
                                   Reads reads, ValueRange state,
                                   function_ref<SmallVector<Value>(ImplicitLocOpBuilder &)> body) {
  const bool tells = reads == Reads::Matrices ? task.tellsBlocks : task.tellsTasks;
  return tells ? where(b, keptKeys(b, task, rectangle, reads).some, state, body) : body(b);
}
