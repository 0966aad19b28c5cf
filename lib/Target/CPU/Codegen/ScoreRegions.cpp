//===- ScoreRegions.cpp - Vectorizes score and mask regions over 32 keys ---------------------===//
//
// Values that depend on the score or on kv become vectors; the rest stays scalar. Indices are
// 64-bit integers. Their vectors have lanes of 32 bits, two AVX-512 vectors for 32 keys, where
// integer ranges prove that all operands and results fit.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Codegen/ScoreRegions.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Analysis/IntegerRanges.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using attn_cpu::kPanel;
using tile::index;
using tile::splat;

VectorType cpu::panelOf(Type element) { return VectorType::get({kPanel}, element); }

namespace {

bool isVector(Value value) { return isa<VectorType>(value.getType()); }

/// Casts an index, or a vector of indices in 32 or 64 bits, to integers of `type`; high bits that do not fit are cut.
Value toInteger(ImplicitLocOpBuilder &b, Value value, Type type) {
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(b, type, value);
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(type);
  if (from == to)
    return value;
  return from < to ? Value(arith::ExtSIOp::create(b, type, value)) : arith::TruncIOp::create(b, type, value);
}

/// A number, or an extent, with the type of `like`: an index, an integer or a vector of integers.
Value numberLike(ImplicitLocOpBuilder &b, Value like, OpFoldResult number) {
  Type element = getElementTypeOrSelf(like.getType());
  auto vector = dyn_cast<VectorType>(like.getType());
  if (auto value = dyn_cast<Value>(number)) {
    if (!element.isIndex())
      value = arith::IndexCastOp::create(b, element, value);
    return vector ? splat(b, value) : value;
  }
  TypedAttr scalar = b.getIntegerAttr(element, *getConstantIntValue(number));
  if (vector)
    scalar = DenseElementsAttr::get(vector, scalar);
  return arith::ConstantOp::create(b, scalar);
}

/// attn.lookup whose indices are scalars or vectors. Indices are clamped to the table (A30), which is read as one row.
/// The elements of a table of static shape are counted in 32 bits.
Value lookUp(ImplicitLocOpBuilder &b, Value table, ArrayRef<Value> indices) {
  auto type = cast<RankedTensorType>(table.getType());
  const bool some = llvm::any_of(indices, isVector);
  const Type counts = type.hasStaticShape() ? b.getI32Type() : b.getI64Type();
  AffineExpr d0 = b.getAffineDimExpr(0);
  Value at;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    OpFoldResult extent = tile::extent(b, table, int64_t(dim)), last = tile::affineOf(b, d0 - 1, {extent});
    // A dynamic extent may be beyond the type of the index' lanes.
    Value clamped = index;
    if (type.isDynamicDim(dim))
      clamped = toInteger(b, clamped, b.getI64Type());
    clamped = arith::MaxSIOp::create(b, clamped, numberLike(b, clamped, b.getIndexAttr(0)));
    clamped = toInteger(b, arith::MinSIOp::create(b, clamped, numberLike(b, clamped, last)), counts);
    if (some)
      clamped = splat(b, clamped);
    if (at)
      clamped = arith::AddIOp::create(b, arith::MulIOp::create(b, at, numberLike(b, at, extent)), clamped);
    at = clamped;
  }
  if (type.getRank() > 1) {
    SmallVector<ReassociationIndices> all(1);
    llvm::append_range(all[0], llvm::seq<int64_t>(0, type.getRank()));
    table = tensor::CollapseShapeOp::create(b, table, all);
  }
  auto widened = [&](Value element) -> Value { // floats are read as f32 (A40)
    Type from = type.getElementType();
    if (!isa<FloatType>(from) || from.isF32())
      return element;
    Type to = isVector(element) ? Type(panelOf(b.getF32Type())) : b.getF32Type();
    return arith::ExtFOp::create(b, to, element);
  };
  if (!some)
    return widened(tensor::ExtractOp::create(b, table, Value(arith::IndexCastOp::create(b, b.getIndexType(), at))));
  VectorType panel = panelOf(type.getElementType());
  Value every = arith::ConstantOp::create(b, DenseElementsAttr::get(panelOf(b.getI1Type()), true));
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(panel));
  return widened(vector::GatherOp::create(b, panel, table, ValueRange{index(b, 0)}, at, every, none));
}

/// Rewrites the ops of a score or mask region for 32 keys.
struct RegionOnLanes {
  ImplicitLocOpBuilder &b;
  IntegerRanges ranges;
  IRMapping mapping;

  bool isLanes(Value value) { return isVector(mapping.lookupOrDefault(value)); }

  /// Whether 32-bit lanes are enough for the indices of `op`.
  bool fitsInt32(Operation &op) const {
    auto fits = [&](Value value) { return !value.getType().isIndex() || ranges.fitsInt32(value); };
    if (!llvm::all_of(op.getOperands(), fits) || !llvm::all_of(op.getResults(), fits))
      return false;
    // Sign extension commutes with comparisons, sums and bit operations, but not with unsigned division and shifts.
    auto isNonNegative = [&](Value value) { return !value.getType().isIndex() || ranges.isNonNegative(value); };
    if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp, arith::ShRUIOp, arith::UIToFPOp>(op) &&
        !llvm::all_of(op.getOperands(), isNonNegative))
      return false;
    return !isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op) || ranges.of(op.getOperand(1)).umax().ult(32);
  }

  /// Casts between vectors of indices and of integers.
  void cast(Operation &op) {
    Value operand = op.getOperand(0), source = mapping.lookup(operand);
    Type type = op.getResult(0).getType();
    if (type.isIndex())
      type = fitsInt32(op) ? b.getI32Type() : b.getI64Type();
    const bool extends = getElementTypeOrSelf(source.getType()).getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth();
    if (extends && isa<arith::IndexCastUIOp>(op) && !operand.getType().isIndex())
      source = arith::ExtUIOp::create(b, panelOf(type), source);
    mapping.map(op.getResult(0), toInteger(b, source, type));
  }

  /// Handles a comparison of a vector that fits 32 bits with a scalar that may not: the scalar is clamped to 32 bits,
  /// which does not change the result. Returns whether the op is such a comparison.
  bool compareWithScalar(Operation &op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    if (!compare || !compare.getLhs().getType().isIndex() || compare.getPredicate() > arith::CmpIPredicate::sge)
      return false;
    Value lanes = compare.getLhs(), scalar = compare.getRhs();
    if (!isLanes(lanes))
      std::swap(lanes, scalar);
    ConstantIntRanges range = ranges.of(lanes);
    if (isLanes(scalar) || ranges.fitsInt32(scalar) || range.smin().sle(INT32_MIN) || range.smax().sge(INT32_MAX))
      return false;
    Value bounded = arith::MaxSIOp::create(b, mapping.lookupOrDefault(scalar), index(b, INT32_MIN));
    bounded = toInteger(b, arith::MinSIOp::create(b, bounded, index(b, INT32_MAX)), b.getI32Type());
    auto operand = [&](Value value) {
      return value == scalar ? splat(b, bounded) : toInteger(b, mapping.lookup(value), b.getI32Type());
    };
    Value result =
        arith::CmpIOp::create(b, compare.getPredicate(), operand(compare.getLhs()), operand(compare.getRhs()));
    mapping.map(compare.getResult(), result);
    return true;
  }

  /// Handles an elementwise op that has a vector operand.
  void onLanes(Operation &op) {
    Type index = fitsInt32(op) ? b.getI32Type() : b.getI64Type();
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      Value value = mapping.lookupOrDefault(operand);
      if (operand.getType().isIndex())
        value = toInteger(b, value, index);
      operands.push_back(splat(b, value));
    }
    SmallVector<Type> types;
    for (Type type : op.getResultTypes())
      types.push_back(panelOf(type.isIndex() ? index : type));
    OperationState state(op.getLoc(), op.getName(), operands, types, op.getAttrs());
    state.propertiesAttr = op.getPropertiesAsAttribute();
    mapping.map(op.getResults(), b.create(state)->getResults());
  }

  LogicalResult apply(Operation &op) {
    if (auto lookup = dyn_cast<attn::LookupOp>(op)) {
      SmallVector<Value> indices;
      for (Value index : lookup.getIndices())
        indices.push_back(mapping.lookupOrDefault(index));
      mapping.map(lookup.getResult(), lookUp(b, mapping.lookupOrDefault(lookup.getTable()), indices));
      return success();
    }
    if (!OpTrait::hasElementwiseMappableTraits(&op) && !op.hasTrait<OpTrait::ConstantLike>())
      return op.emitOpError("is not elementwise, so it cannot be in a score or mask region of a CPU program");
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return isLanes(operand); }))
      b.clone(op, mapping);
    else if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op))
      cast(op);
    else if (!compareWithScalar(op))
      onLanes(op);
    return success();
  }
};

/// Inlines a region and returns the value that it yields. `first` is the number of arguments before the four indices.
FailureOr<Value> applyRegion(ImplicitLocOpBuilder &b, Region &region, unsigned first, ArrayRef<Value> arguments) {
  Block &block = region.front();
  RegionOnLanes lanes{b, IntegerRanges(region, first), {}};
  for (auto [from, to] : llvm::zip_equal(block.getArguments(), arguments))
    lanes.mapping.map(from, to);
  for (Operation &op : block.without_terminator())
    if (failed(lanes.apply(op)))
      return failure();
  return splat(b, lanes.mapping.lookupOrDefault(block.back().getOperand(0)));
}

/// The region arguments for the extra operands at query `nth` of the tile and 32 keys from `key` on: elements, or a
/// table.
SmallVector<Value> readExtras(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value nth, Value key) {
  SmallVector<Value> values;
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    if (op.isTable(i)) {
      values.push_back(extra);
      continue;
    }
    AffineMap map = op.getExtraMap(i);
    Type element = getElementTypeOrSelf(extra.getType());
    SmallVector<Value> indices;
    AffineMap along;
    for (auto [place, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      const bool isKey = dim && dim.getPosition() == 1;
      indices.push_back(isKey ? key : dim ? nth : index(b, 0));
      if (isKey)
        along = AffineMap::get(map.getNumResults(), 0, b.getAffineDimExpr(place));
    }
    if (!along) {
      values.push_back(tensor::ExtractOp::create(b, extra, indices));
      continue;
    }
    Value padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
    values.push_back(
        vector::TransferReadOp::create(b, panelOf(element), extra, indices, padding, along, ArrayRef<bool>{false}));
  }
  return values;
}

} // namespace

namespace {
/// The query of row r.
Value queryOf(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value r) {
  if (op.getQueries() == 1)
    return index(b, 0);
  return op.getHeads() == 1 ? r : Value(arith::DivUIOp::create(b, r, index(b, int64_t(op.getHeads()))));
}

/// The region arguments for row r of the tile and 32 keys from `column` on.
struct Elements {
  SmallVector<Value> arguments; ///< b, h, q, kv, extras
  Value kv;                     ///< a vector of i32: positions fit 32 bits
};

Elements elementsAt(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value r, Value column) {
  Type i32 = b.getI32Type();
  Value key = arith::AddIOp::create(b, op.getKv(), column);
  Value steps = arith::ConstantOp::create(
      b, DenseIntElementsAttr::get(panelOf(i32), llvm::to_vector(llvm::seq<int32_t>(0, kPanel))));
  Value kv = arith::AddIOp::create(b, splat(b, toInteger(b, key, i32)), steps);
  Value nth = queryOf(b, op, r), q = arith::AddIOp::create(b, op.getQ(), nth);
  Elements elements{{op.getB(), op.getH(), q, kv}, kv};
  llvm::append_range(elements.arguments, readExtras(b, op, nth, key));
  return elements;
}

/// The mask of these keys, true where a key is kept; null where the op has neither limit nor mask region.
FailureOr<Value> keptAt(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, const Elements &elements) {
  Value keep;
  if (op.getLimit())
    keep = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, elements.kv,
                                 splat(b, toInteger(b, op.getLimit(), b.getI32Type())));
  if (op.getMask().empty())
    return keep;
  FailureOr<Value> mask = applyRegion(b, op.getMask(), 0, elements.arguments);
  if (failed(mask))
    return failure();
  return keep ? Value(arith::AndIOp::create(b, keep, *mask)) : *mask;
}
} // namespace

FailureOr<Value> cpu::keptKeys(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value r, Value column) {
  return keptAt(b, op, elementsAt(b, op, r, column));
}

FailureOr<Value> cpu::finishScores(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value score, Value r,
                                   Value column) {
  Elements elements = elementsAt(b, op, r, column);
  if (!op.getScore().empty()) {
    SmallVector<Value> arguments{score};
    llvm::append_range(arguments, elements.arguments);
    FailureOr<Value> result = applyRegion(b, op.getScore(), 1, arguments);
    if (failed(result))
      return failure();
    score = *result;
  }
  FailureOr<Value> keep = keptAt(b, op, elements);
  if (failed(keep) || !*keep)
    return failed(keep) ? keep : score;
  Value masked = arith::ConstantOp::create(b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  return Value(arith::SelectOp::create(b, *keep, score, splat(b, masked)));
}
