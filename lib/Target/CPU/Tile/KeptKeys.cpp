//===- KeptKeys.cpp - Blocks of keys that the mask of attention drops or keeps -------------===//
//
// The least and the largest element of an integer operand along a block's keys are read when the
// block is reached: a vector for 32 keys, next to the 14 x 32 scores of a tile. A summary made
// before would be memory of its own, and another dispatch.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/KeptKeys.h"
#include "dialect/AttnCPU/Panels.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::AttentionOp;
using attn_cpu::kPanel;

namespace {

/// Whether the elements of extra operand `i` have intervals.
bool isRead(AttentionOp op, unsigned i, Reads reads) {
  auto type = cast<RankedTensorType>(op.getExtras()[i].getType());
  if (op.isTable(i) || !type.getElementType().isInteger() || llvm::is_contained(type.getShape(), 0))
    return false;
  const bool isMatrix = op.dimOf(4 + i, AttentionOp::Q) && op.dimOf(4 + i, AttentionOp::KV);
  return !isMatrix || reads == Reads::Matrices;
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
  Interval range(ImplicitLocOpBuilder &b) const {
    Value first = tensor::ExtractOp::create(b, extra, begin);
    if (!queryDim && !keyDim) {
      Scalar only = asNumber(b, first);
      return {only, only};
    }
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
    return {asNumber(b, both[0]), asNumber(b, both[1])};
  }

private:
  VectorType panel() const { return VectorType::get({kPanel}, getElementTypeOrSelf(extra.getType())); }

  static Scalar asNumber(ImplicitLocOpBuilder &b, Value element) {
    return Value(arith::IndexCastOp::create(b, b.getIndexType(), element));
  }

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
    return {arith::MinSIOp::create(b, range[0], x), arith::MaxSIOp::create(b, range[1], x)};
  }

  Value extra, queries, keys;
  SmallVector<Value> begin; ///< indices of the first element
  std::optional<unsigned> queryDim, keyDim;
};

Interval between(ImplicitLocOpBuilder &b, Value first, Value count) {
  Value last = arith::SubIOp::create(b, arith::AddIOp::create(b, first, count), index(b, 1));
  return {first, last};
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

Kept tile::keptKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rectangle &rectangle, Reads reads) {
  AttentionOp op = task.op;
  Value key = arith::MulIOp::create(b, rectangle.from, index(b, task.block)),
        end = arith::MulIOp::create(b, rectangle.end, index(b, task.block)), keys = arith::SubIOp::create(b, end, key);
  Value position = arith::AddIOp::create(b, task.offset, rectangle.query);
  SmallVector<MaskArgument> arguments{{Interval{task.sequence, task.sequence}},
                                      {Interval{task.head, task.head}},
                                      {between(b, position, rectangle.queries)},
                                      {between(b, key, keys)}};
  Region &mask = op.getMask();
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    MaskArgument argument;
    const bool isUsed = !mask.getArgument(4 + i).use_empty();
    if (op.isTable(i))
      argument.table = extra;
    else if (isUsed && isRead(op, i, reads))
      argument.interval = Elements(b, task, i, rectangle.query, rectangle.queries, key, keys).range(b);
    arguments.push_back(argument);
  }
  return keptBy(mask, arguments, &b);
}

SmallVector<Value> tile::whereKept(ImplicitLocOpBuilder &b, const AttentionTask &task, const Rectangle &rectangle,
                                   Reads reads, ValueRange state,
                                   function_ref<SmallVector<Value>(ImplicitLocOpBuilder &)> body) {
  const bool tells = reads == Reads::Matrices ? task.tellsBlocks : task.tellsTasks;
  return tells ? where(b, keptKeys(b, task, rectangle, reads).some, state, body) : body(b);
}
