//===- ScoreRegions.cpp - Score and mask regions on 32 keys at once --------------------------===//
//
// Values that depend on the score or on kv are vectors, the rest stays scalar. Indices are 64-bit
// integers. Their vectors have lanes of 32 bits, two vectors of AVX-512 for 32 keys, where the
// range of every operand and result says that these hold all that 64 would.
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

/// An index, or lanes of indices in 32 or 64 bits, as integers of `type`, which hold its value or its low bits.
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

/// attn.lookup at indices of which any may be lanes, in the table as one row: clamped to the table, which 32 bits
/// count.
Value lookUp(ImplicitLocOpBuilder &b, Value table, ArrayRef<Value> indices) {
  auto type = cast<RankedTensorType>(table.getType());
  const bool some = llvm::any_of(indices, isVector);
  auto number = [&](Value like, int64_t value) -> Value {
    TypedAttr scalar = b.getIntegerAttr(getElementTypeOrSelf(like.getType()), value);
    if (auto vector = dyn_cast<VectorType>(like.getType()))
      scalar = DenseElementsAttr::get(vector, scalar);
    return arith::ConstantOp::create(b, scalar);
  };
  Value at;
  for (auto [index, extent] : llvm::zip_equal(indices, type.getShape())) {
    Value clamped = arith::MaxSIOp::create(b, index, number(index, 0));
    clamped = toInteger(b, arith::MinSIOp::create(b, clamped, number(index, extent - 1)), b.getI32Type());
    if (some)
      clamped = splat(b, clamped);
    if (at)
      clamped = arith::AddIOp::create(b, arith::MulIOp::create(b, at, number(at, extent)), clamped);
    at = clamped;
  }
  if (type.getRank() > 1) {
    SmallVector<ReassociationIndices> all(1);
    llvm::append_range(all[0], llvm::seq<int64_t>(0, type.getRank()));
    auto flat = RankedTensorType::get({type.getNumElements()}, type.getElementType());
    table = tensor::CollapseShapeOp::create(b, flat, table, all);
  }
  if (!some)
    return tensor::ExtractOp::create(b, table, Value(arith::IndexCastOp::create(b, b.getIndexType(), at)));
  VectorType panel = panelOf(type.getElementType());
  Value every = arith::ConstantOp::create(b, DenseElementsAttr::get(panelOf(b.getI1Type()), true));
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(panel));
  return vector::GatherOp::create(b, panel, table, ValueRange{index(b, 0)}, at, every, none);
}

/// A score or mask region on 32 keys at once.
struct RegionOnLanes {
  ImplicitLocOpBuilder &b;
  IntegerRanges ranges;
  IRMapping mapping;

  bool isLanes(Value value) { return isVector(mapping.lookupOrDefault(value)); }

  /// Whether lanes of 32 bits do for the indices of `op`.
  bool fitsInt32(Operation &op) const {
    auto fits = [&](Value value) { return !value.getType().isIndex() || ranges.fitsInt32(value); };
    if (!llvm::all_of(op.getOperands(), fits) || !llvm::all_of(op.getResults(), fits))
      return false;
    // Bits above the sign are its copies, which order, sums and bits survive and these do not.
    auto isNonNegative = [&](Value value) { return !value.getType().isIndex() || ranges.isNonNegative(value); };
    if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp, arith::ShRUIOp, arith::UIToFPOp>(op) &&
        !llvm::all_of(op.getOperands(), isNonNegative))
      return false;
    return !isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op) || ranges.of(op.getOperand(1)).umax().ult(32);
  }

  /// Casts between lanes of indices and of integers.
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

  /// A comparison of indices of which one is a scalar beyond 32 bits, and the other is not: the nearest number of 32
  /// bits compares as that scalar does. Returns whether the op is one.
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

  /// An elementwise op of which some operand is lanes.
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

/// Inlines a region and gives the value that it yields. `first` of its arguments come before the four indices.
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

/// The regions' arguments for the extras at query r of the tile and 32 keys from `key` on: elements, or a table.
SmallVector<Value> readExtras(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value r, Value key) {
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
      indices.push_back(isKey ? key : dim ? r : index(b, 0));
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
/// Query r of the tile and 32 keys from `column` on, as the regions see them.
struct Elements {
  SmallVector<Value> arguments; ///< b, h, q, kv, extras
  Value kv;                     ///< lanes of 32 bits, as positions have
};

Elements elementsAt(ImplicitLocOpBuilder &b, attn_cpu::AttentionStateOp op, Value r, Value column) {
  Type i32 = b.getI32Type();
  Value key = arith::AddIOp::create(b, op.getKv(), column);
  Value steps = arith::ConstantOp::create(
      b, DenseIntElementsAttr::get(panelOf(i32), llvm::to_vector(llvm::seq<int32_t>(0, kPanel))));
  Value kv = arith::AddIOp::create(b, splat(b, toInteger(b, key, i32)), steps);
  Value q = op.getOnePosition() ? op.getQ() : Value(arith::AddIOp::create(b, op.getQ(), r));
  Elements elements{{op.getB(), op.getH(), q, kv}, kv};
  llvm::append_range(elements.arguments, readExtras(b, op, r, key));
  return elements;
}

/// The vector that tells which of these keys are kept; null where nothing masks any.
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
