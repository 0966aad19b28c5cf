//===- Splits.cpp - Attention whose keys several thread blocks share ----------------------===//
#include "lib/Target/GPU/Attention/Splits.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using Dim = AttentionOperands::Dim;

Value any_gpu::countSplits(ImplicitLocOpBuilder &b, const AttentionOperands &o,
                           attn_gpu::AttentionScheduleAttr schedule, OFRs grid) {
  Value tiles = index(b, 1), keys;
  for (OpFoldResult extent : grid)
    tiles = b.createOrFold<arith::MulIOp>(tiles, asValue(b, extent));
  if (SmallVector<attn::KVViewOp> views = o.views(); !views.empty())
    keys = arith::MulIOp::create(b, asValue(b, extent(b, views[0].getTable(), 1)),
                                 index(b, views[0].getLayout()->getPositions()));
  else
    keys = asValue(b, o.extentOf(b, Dim::KV));
  Value one = index(b, 1);
  Value wanted = arith::DivSIOp::create(b, index(b, schedule.getBlocks()), arith::MaxSIOp::create(b, tiles, one));
  Value most = arith::DivSIOp::create(b, keys, index(b, schedule.getLeastKeys()));
  Value splits = arith::MinSIOp::create(b, wanted, most);
  Value isSplit = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, splits, one);
  return arith::SelectOp::create(b, isSplit, splits, index(b, 0));
}

SmallVector<Value> any_gpu::emptyParts(ImplicitLocOpBuilder &b, OpFoldResult splits, ArrayRef<OpFoldResult> shape,
                                       ArrayRef<int64_t> lseDims) {
  SmallVector<OpFoldResult> ofResult{splits}, ofLse{splits};
  llvm::append_range(ofResult, shape);
  for (int64_t dim : lseDims)
    ofLse.push_back(shape[dim]);
  return {emptyOf(b, ofResult, b.getF32Type()), emptyOf(b, ofLse, b.getF32Type()), emptyOf(b, ofLse, b.getF32Type())};
}

namespace {

/// The parts of one element of the result, at `at`, or of one log-sum-exp.
struct Element {
  const AttentionOperands &o;
  Value results, largest, sums; ///< results null: only the log-sum-exp is asked for
  SmallVector<Value> at, ofLse;

  Value ofRow(ImplicitLocOpBuilder &b, Value parts, Value split) const {
    SmallVector<Value> indices{split};
    llvm::append_range(indices, ofLse);
    return tensor::ExtractOp::create(b, parts, indices);
  }

  /// e^(x - maximum).
  static Value power(ImplicitLocOpBuilder &b, Value x, Value maximum) {
    return math::ExpOp::create(b, arith::SubFOp::create(b, x, maximum));
  }

  /// Maximum, sum of e^(score - maximum) and of results times that of their part, over the parts and the sink.
  SmallVector<Value> sum(ImplicitLocOpBuilder &b, Value sink) const {
    Value zero = index(b, 0), splits = asValue(b, extent(b, largest, 0));
    Value first = sink ? sink : number(b, -std::numeric_limits<double>::infinity());
    Value maximum = loop(b, zero, splits, 1, first, [&](ImplicitLocOpBuilder &b, Value split, Value most) -> Value {
      return arith::MaxNumFOp::create(b, most, ofRow(b, largest, split));
    });
    // The maximum of no keys would make differences of infinities.
    maximum = arith::MaxNumFOp::create(b, maximum, number(b, std::numeric_limits<float>::lowest()));
    SmallVector<Value> init{sink ? power(b, sink, maximum) : number(b, 0), number(b, 0)};
    SmallVector<Value> all = loop(
        b, zero, splits, 1, init, [&](ImplicitLocOpBuilder &b, Value split, ValueRange carried) -> SmallVector<Value> {
          Value share = power(b, ofRow(b, largest, split), maximum);
          share = arith::MulFOp::create(b, share, ofRow(b, sums, split));
          Value all = arith::AddFOp::create(b, carried[0], share);
          if (!results)
            return {all, carried[1]};
          SmallVector<Value> indices{split};
          llvm::append_range(indices, at);
          Value part = tensor::ExtractOp::create(b, results, indices);
          return {all, arith::AddFOp::create(b, carried[1], arith::MulFOp::create(b, share, part))};
        });
    return {maximum, all[0], all[1]};
  }
};

/// The sink of the head of an element, or null.
Value sinkAt(ImplicitLocOpBuilder &b, const AttentionOperands &o, ArrayRef<Value> at) {
  if (!o.sink)
    return {};
  auto indexOf = [&](Dim dim) {
    std::optional<unsigned> place = o.placeOf(AttentionOperands::Result, dim);
    return place ? at[*place] : index(b, 0);
  };
  Value head = arith::MulIOp::create(b, indexOf(Dim::HKV), asValue(b, o.extentOf(b, Dim::G)));
  head = arith::AddIOp::create(b, head, indexOf(Dim::G));
  return widened(b, tensor::ExtractOp::create(b, o.sink, head));
}

} // namespace

Value any_gpu::forElements(ImplicitLocOpBuilder &b, Value init,
                           function_ref<Value(ImplicitLocOpBuilder &, ArrayRef<Value> at)> body) {
  auto type = cast<RankedTensorType>(init.getType());
  return grid(b, extents(b, init), init, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange) {
    SmallVector<Value> at(ids);
    Value element = tensor::FromElementsOp::create(
        b, RankedTensorType::get(SmallVector<int64_t>(type.getRank(), 1), type.getElementType()), body(b, at));
    SmallVector<OpFoldResult> offsets(ids.begin(), ids.end()), sizes(at.size(), b.getIndexAttr(1));
    return SmallVector<Insertion>{{element, offsets, sizes}};
  })[0];
}

SmallVector<Value> any_gpu::combineParts(ImplicitLocOpBuilder &b, const AttentionOperands &o, ArrayRef<Value> parts,
                                         ArrayRef<int64_t> lseDims, ValueRange inits) {
  const Type type = cast<RankedTensorType>(inits[0].getType()).getElementType();
  SmallVector<Value> made{forElements(b, inits[0], [&](ImplicitLocOpBuilder &b, ArrayRef<Value> at) -> Value {
    Element element{o, parts[0], parts[1], parts[2], SmallVector<Value>(at), {}};
    for (int64_t dim : lseDims)
      element.ofLse.push_back(at[dim]);
    SmallVector<Value> sums = element.sum(b, sinkAt(b, o, at));
    Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sums[1], number(b, 0)); // A11
    Value mean = arith::DivFOp::create(b, sums[2], sums[1]);
    return rounded(b, arith::SelectOp::create(b, isEmpty, number(b, 0), mean), type);
  })};
  if (inits.size() < 2)
    return made;
  made.push_back(forElements(b, inits[1], [&](ImplicitLocOpBuilder &b, ArrayRef<Value> at) -> Value {
    Element element{o, {}, parts[1], parts[2], {}, SmallVector<Value>(at)};
    SmallVector<Value> ofResult(parts[0] ? cast<RankedTensorType>(inits[0].getType()).getRank() : 0, index(b, 0));
    for (auto [nth, dim] : llvm::enumerate(lseDims))
      ofResult[dim] = at[nth];
    SmallVector<Value> sums = element.sum(b, sinkAt(b, o, ofResult));
    Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sums[1], number(b, 0)); // A12
    Value lse = arith::AddFOp::create(b, sums[0], math::LogOp::create(b, sums[1]));
    return arith::SelectOp::create(b, isEmpty, number(b, -std::numeric_limits<double>::infinity()), lse);
  }));
  return made;
}
