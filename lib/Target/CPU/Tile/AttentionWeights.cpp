//===- AttentionWeights.cpp - The attention probabilities of attn.attention ---------------===//
//
// Probabilities are for inspection, so their code is short, not fast: a task has one sequence
// and head, and computes the score of each query and key by scalar loops. The result holds
// the scores first, then the probabilities.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/AttentionBlocks.h"
#include "lib/Target/CPU/Tile/CacheBlock.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include <limits>

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using W = attn::AttentionOp;

namespace {

/// The initial max: finite, so that a masked score minus it is -infinity and not NaN.
constexpr float kFloor = std::numeric_limits<float>::lowest();

Value real(ImplicitLocOpBuilder &b, float value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); }
Value plus(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::AddIOp::create(b, x, y); }
Value minus(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::SubIOp::create(b, x, y); }

Value asFloat(ImplicitLocOpBuilder &b, Value value) {
  return value.getType().isF32() ? value : arith::ExtFOp::create(b, b.getF32Type(), value);
}

/// The operands of one task: one sequence and one head.
struct Task {
  W op;
  attn::KVViewOp view; ///< null when the keys are a plain tensor
  Value sequence, kvHead, group, head;
  Value firstQuery, queryCount; ///< in the dim q
  Value offset;                 ///< absolute position of the sequence's first query
  Value firstKey, keyCount;     ///< in the dim kv of plain tensors

  void locate(ImplicitLocOpBuilder &b, OpFoldResult queries, OpFoldResult keys);
  /// Indices of operand `i` for query `q` and key `kv` of the sequence, at `channel`.
  SmallVector<Value> indicesOf(ImplicitLocOpBuilder &b, unsigned i, Value q, Value kv, Value channel);
  Value key(ImplicitLocOpBuilder &b, Value kv, Value channel);
  Value similarity(ImplicitLocOpBuilder &b, Value q, Value kv);
  Value score(ImplicitLocOpBuilder &b, Value q, Value kv);
  /// Whether the mask keeps a key; null without one.
  Value kept(ImplicitLocOpBuilder &b, Value q, Value kv) {
    return op.getMask().empty() ? Value() : inlined(b, op.getMask(), Value(), q, kv);
  }
  /// Inlines a score or mask region for query `q` and key `kv` of the sequence.
  Value inlined(ImplicitLocOpBuilder &b, Region &region, Value similarity, Value q, Value kv);
};

void Task::locate(ImplicitLocOpBuilder &b, OpFoldResult queries, OpFoldResult keys) {
  Value zero = index(b, 0), next = plus(b, sequence, index(b, 1));
  firstQuery = op.getQBegin() ? readIndex(b, op.getQBegin(), sequence) : zero;
  queryCount = op.getQBegin() ? minus(b, readIndex(b, op.getQBegin(), next), firstQuery) : asValue(b, queries);
  offset = op.getQOffset() ? readIndex(b, op.getQOffset(), sequence) : zero;
  firstKey = op.getKvBegin() ? readIndex(b, op.getKvBegin(), sequence) : zero;
  if (op.getKvLength())
    keyCount = readIndex(b, op.getKvLength(), sequence);
  else if (op.getKvBegin())
    keyCount = minus(b, readIndex(b, op.getKvBegin(), next), firstKey);
  else
    keyCount = op.getQOffset() ? plus(b, offset, queryCount) : asValue(b, keys);
}

SmallVector<Value> Task::indicesOf(ImplicitLocOpBuilder &b, unsigned i, Value q, Value kv, Value channel) {
  const bool packed = !op.dimOf(i, W::B);
  SmallVector<Value> indices;
  for (AffineExpr expr : op.getMap(i).getResults())
    switch (cast<AffineDimExpr>(expr).getPosition()) {
    case W::B:
      indices.push_back(sequence);
      break;
    case W::HKV:
      indices.push_back(kvHead);
      break;
    case W::G:
      indices.push_back(group);
      break;
    case W::Q:
      indices.push_back(packed ? plus(b, firstQuery, q) : q);
      break;
    case W::KV:
      indices.push_back(packed ? plus(b, firstKey, kv) : kv);
      break;
    default:
      indices.push_back(channel);
    }
  return indices;
}

Value Task::key(ImplicitLocOpBuilder &b, Value kv, Value channel) {
  if (!view)
    return asFloat(b, tensor::ExtractOp::create(b, op.getKey(), indicesOf(b, 1, Value(), kv, channel)));
  const attn_cpu::CacheLayout layout = *attn_cpu::CacheLayout::ofKeys(view);
  AffineExpr d0 = b.getAffineDimExpr(0);
  auto of = [&](AffineExpr expr) { return asValue(b, affineOf(b, expr, {OpFoldResult(kv)})); };
  Value blockId = readIndex(b, view.getTable(), {sequence, of(d0.floorDiv(layout.block))});
  return CacheBlock(layout, bool(view.getValueCache()))
      .readKeyElement(b, view.getCache(), {blockId, view.getLayer(), kvHead}, of(d0 % layout.block), channel);
}

Value Task::inlined(ImplicitLocOpBuilder &b, Region &region, Value similarity, Value q, Value kv) {
  Block &body = region.front();
  SmallVector<Value> arguments;
  if (similarity)
    arguments.push_back(similarity);
  arguments.append({sequence, head, plus(b, offset, q), kv});
  for (auto [i, extra] : llvm::enumerate(op.getExtras()))
    arguments.push_back(
        op.isTable(i) ? extra : Value(tensor::ExtractOp::create(b, extra, indicesOf(b, 4 + i, q, kv, Value()))));
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &inner : body.without_terminator()) {
    auto lookup = dyn_cast<attn::LookupOp>(inner);
    if (!lookup) {
      b.clone(inner, mapping);
      continue;
    }
    Value table = mapping.lookupOrDefault(lookup.getTable());
    SmallVector<Value> indices;
    for (auto [i, at] : llvm::enumerate(lookup.getIndices())) {
      Value last = asValue(b, affineOf(b, b.getAffineDimExpr(0) - 1, {extent(b, table, i)}));
      Value bounded = arith::MaxSIOp::create(b, mapping.lookupOrDefault(at), index(b, 0));
      indices.push_back(arith::MinSIOp::create(b, bounded, last));
    }
    Value element = tensor::ExtractOp::create(b, table, indices);
    mapping.map(lookup.getResult(), isa<FloatType>(element.getType()) ? asFloat(b, element) : element);
  }
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

Value Task::similarity(ImplicitLocOpBuilder &b, Value q, Value kv) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  int64_t channels = query.getDimSize(*op.dimOf(0, W::DQK));
  if (op.getAdditive())
    channels = std::min(channels, cast<RankedTensorType>(op.getAdditive().getType()).getDimSize(0));
  Value sum = loop(b, index(b, 0), index(b, channels), 1, real(b, 0),
                   [&](ImplicitLocOpBuilder &b, Value channel, Value carried) -> Value {
                     Value x = tensor::ExtractOp::create(b, op.getQuery(), indicesOf(b, 0, q, Value(), channel));
                     Value y = key(b, kv, channel);
                     Value term;
                     if (op.getAdditive())
                       term = arith::MulFOp::create(b, tensor::ExtractOp::create(b, op.getAdditive(), channel),
                                                    math::TanhOp::create(b, Value(arith::AddFOp::create(b, x, y))));
                     else
                       term = arith::MulFOp::create(b, x, y);
                     return arith::AddFOp::create(b, carried, term);
                   });
  if (!op.getSecondQuery())
    return sum;
  const unsigned second = op.getSecondMap();
  const int64_t more = cast<RankedTensorType>(op.getSecondQuery().getType()).getDimSize(*op.dimOf(second, W::DQK));
  return loop(b, index(b, 0), index(b, more), 1, sum,
              [&](ImplicitLocOpBuilder &b, Value channel, Value carried) -> Value {
                auto read = [&](Value tensor, unsigned i) {
                  return asFloat(b, tensor::ExtractOp::create(b, tensor, indicesOf(b, i, q, kv, channel)));
                };
                Value x = read(op.getSecondQuery(), second), y = read(op.getSecondKey(), second + 1);
                return arith::AddFOp::create(b, carried, Value(arith::MulFOp::create(b, x, y)));
              });
}

/// The score of a key, -infinity where it is masked.
Value Task::score(ImplicitLocOpBuilder &b, Value q, Value kv) {
  Value score = arith::MulFOp::create(b, op.getScale(), similarity(b, q, kv));
  if (!op.getScore().empty())
    score = inlined(b, op.getScore(), score, q, kv);
  Value isKept = kept(b, q, kv);
  if (!isKept)
    return score;
  return arith::SelectOp::create(b, isKept, score, real(b, -std::numeric_limits<float>::infinity()));
}

/// for kv in [from, to): dest[q, kv] = body(dest[q, kv], kv). The loop carries a number and returns it.
std::pair<Value, Value>
overKeys(ImplicitLocOpBuilder &b, Value from, Value to, Value q, Value dest, Value number,
         function_ref<std::pair<Value, Value>(ImplicitLocOpBuilder &, Value kv, Value element, Value number)> body) {
  auto loop = scf::ForOp::create(b, from, to, index(b, 1), ValueRange{dest, number});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value kv = loop.getInductionVar(), line = loop.getRegionIterArg(0);
  Value element = tensor::ExtractOp::create(b, line, ValueRange{q, kv});
  auto [next, changed] = body(b, kv, element, loop.getRegionIterArg(1));
  scf::YieldOp::create(b, ValueRange{tensor::InsertOp::create(b, next, line, ValueRange{q, kv}), changed});
  return {loop.getResult(0), loop.getResult(1)};
}

/// Writes the probabilities of query `q` of the sequence to dest[q, :].
Value weightsOfQuery(ImplicitLocOpBuilder &b, Task &task, Value q, Value dest, int64_t most) {
  Value zero = index(b, 0), f0 = real(b, 0), end = task.keyCount, first = real(b, kFloor), sink;
  if (task.op.getSink()) {
    sink = asFloat(b, tensor::ExtractOp::create(b, task.op.getSink(), task.head));
    first = arith::MaxNumFOp::create(b, sink, first);
  }
  auto above = [&](Value x, Value y) { return arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, y); };
  auto [scored, maximum] =
      overKeys(b, zero, end, q, dest, first, [&](ImplicitLocOpBuilder &b, Value kv, Value, Value carried) {
        Value score = task.score(b, q, kv);
        return std::pair<Value, Value>(score, arith::SelectOp::create(b, above(score, carried), score, carried));
      });
  Value ofSink = sink ? Value(math::ExpOp::create(b, Value(arith::SubFOp::create(b, sink, maximum)))) : f0;
  auto [raised, sum] = overKeys(b, zero, end, q, scored, ofSink,
                                [&, top = maximum](ImplicitLocOpBuilder &b, Value, Value score, Value carried) {
                                  Value power = math::ExpOp::create(b, Value(arith::SubFOp::create(b, score, top)));
                                  return std::pair<Value, Value>(power, arith::AddFOp::create(b, carried, power));
                                });
  Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, f0);
  Value divisor = arith::SelectOp::create(b, isEmpty, real(b, 1), sum);
  Value weights =
      overKeys(b, zero, end, q, raised, f0, [&](ImplicitLocOpBuilder &b, Value kv, Value power, Value carried) {
        Value weight = arith::DivFOp::create(b, power, divisor);
        // The sum is NaN where another key's score is.
        if (Value isKept = task.kept(b, q, kv))
          weight = arith::SelectOp::create(b, isKept, weight, f0);
        return std::pair<Value, Value>(weight, carried);
      }).first;
  return overKeys(
             b, end, index(b, most), q, weights, f0,
             [&](ImplicitLocOpBuilder &, Value, Value, Value carried) { return std::pair<Value, Value>(f0, carried); })
      .first;
}

OpFoldResult rowsOf(ImplicitLocOpBuilder &b, W op) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  for (Value begin : {op.getQBegin(), op.getKvBegin()})
    if (begin)
      return affineOf(b, d0 - 1, {extent(b, begin, 0)});
  for (Value each : {op.getQOffset(), op.getKvLength()})
    if (each)
      return extent(b, each, 0);
  return b.getIndexAttr(1);
}

/// heads[i]
Value headAt(ImplicitLocOpBuilder &b, ArrayRef<int64_t> heads, Value i) {
  Value head = index(b, heads.front());
  for (auto [position, number] : llvm::enumerate(heads.drop_front())) {
    Value isPosition = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, i, index(b, int64_t(position) + 1));
    head = arith::SelectOp::create(b, isPosition, index(b, number), head);
  }
  return head;
}

} // namespace

Value tile::updateWeights(ImplicitLocOpBuilder &b, W op) {
  auto type = cast<RankedTensorType>(op.getWeights().getType());
  auto view = op.getKey().getDefiningOp<attn::KVViewOp>();
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0), most = b.getIndexAttr(type.getDimSize(3));
  OpFoldResult queries = extent(b, op.getQuery(), *op.dimOf(0, W::Q));
  OpFoldResult keys = view ? zero : extent(b, op.getKey(), *op.dimOf(1, W::KV));
  OpFoldResult heads = b.getIndexAttr(type.getDimSize(2));
  std::optional<unsigned> groupDim = op.dimOf(0, W::G);
  const int64_t groups = groupDim ? cast<RankedTensorType>(op.getQuery().getType()).getDimSize(*groupDim) : 1;
  return grid(
      b, {rowsOf(b, op), heads}, op.getWeights(), [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
        Task task{.op = op, .view = view, .sequence = ids[0]};
        task.head = headAt(b, *op.getHeads(), ids[1]);
        Value groupCount = index(b, groups);
        task.kvHead = arith::DivUIOp::create(b, task.head, groupCount);
        task.group = arith::RemUIOp::create(b, task.head, groupCount);
        task.locate(b, queries, keys);
        // Tasks of a layer that is not requested write nothing: their slices are empty, in the first layer.
        Value layer = op.getLayer(), none = index(b, 0);
        Value isIn = arith::AndIOp::create(
            b, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, layer, none),
            arith::CmpIOp::create(b, arith::CmpIPredicate::slt, layer, index(b, type.getDimSize(1))));
        layer = arith::SelectOp::create(b, isIn, layer, none);
        task.queryCount = arith::SelectOp::create(b, isIn, task.queryCount, none);
        task.keyCount = arith::MinSIOp::create(b, task.keyCount, asValue(b, most));
        Insertion out;
        out.offsets = {task.firstQuery, layer, ids[1], zero};
        out.sizes = {task.queryCount, one, one, most};
        Value slice = extract(b, dests[0], out.offsets, out.sizes, {ShapedType::kDynamic, type.getDimSize(3)});
        out.tile = loop(b, none, task.queryCount, 1, slice, [&](ImplicitLocOpBuilder &b, Value q, Value carried) {
          return weightsOfQuery(b, task, q, carried, type.getDimSize(3));
        });
        return SmallVector<Insertion>{out};
      })[0];
}
