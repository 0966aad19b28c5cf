//===- ScoreRegions.cpp - Score and mask regions on 32 keys at once --------------------------===//
#include "lib/Target/CPU/ScoreRegions.h"
#include "lib/Conversion/AttnToLinalg/Rows.h"
#include "mlir/IR/IRMapping.h"
#include <numbers>

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using attn::kPanel;
using tile::index;
using tile::splat;

VectorType cpu::panelOf(Type element) { return VectorType::get({kPanel}, element); }

namespace {

Value toI32(ImplicitLocOpBuilder &b, Value value) {
  return value.getType().isIndex() ? Value(arith::IndexCastOp::create(b, b.getI32Type(), value)) : value;
}

/// attn.lookup at indices of which any may be a vector, in the table as one row: clamped to the table, 32-bit.
Value lookUp(ImplicitLocOpBuilder &b, Value table, ArrayRef<Value> indices) {
  auto type = cast<RankedTensorType>(table.getType());
  bool isVector = llvm::any_of(indices, [](Value index) { return isa<VectorType>(index.getType()); });
  auto number = [&](Value like, int64_t value) -> Value {
    Value constant = arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
    return isa<VectorType>(like.getType()) ? splat(b, constant) : constant;
  };
  Value at;
  for (auto [index, extent] : llvm::zip_equal(indices, type.getShape())) {
    Value clamped = arith::MaxSIOp::create(b, index, number(index, 0));
    clamped = arith::MinSIOp::create(b, clamped, number(index, extent - 1));
    if (isVector)
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
  if (!isVector)
    return tensor::ExtractOp::create(b, table, Value(arith::IndexCastOp::create(b, b.getIndexType(), at)));
  VectorType panel = panelOf(type.getElementType());
  Value every = arith::ConstantOp::create(b, DenseElementsAttr::get(panelOf(b.getI1Type()), true));
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(panel));
  return vector::GatherOp::create(b, panel, table, ValueRange{index(b, 0)}, at, every, none);
}

/// A score or mask region on 32 keys at once: what depends on the score or on kv is a vector, the rest stays scalar.
/// Indices are i32, which keeps 32 of them in two vectors.
FailureOr<Value> applyRegion(ImplicitLocOpBuilder &b, Region &region, ArrayRef<Value> arguments) {
  Block &block = region.front();
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(block.getArguments(), arguments))
    mapping.map(from, to);
  Type i32 = b.getI32Type();
  for (Operation &op : block.without_terminator()) {
    if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
      Value source = mapping.lookupOrDefault(op.getOperand(0));
      if (getElementTypeOrSelf(source.getType()) != i32 ||
          !(op.getResult(0).getType().isIndex() || op.getResult(0).getType() == i32))
        return op.emitOpError("in a score or mask region casts between index and a type other than i32"), failure();
      mapping.map(op.getResult(0), source);
      continue;
    }
    if (auto lookup = dyn_cast<attn::LookupOp>(op)) {
      SmallVector<Value> indices;
      for (Value index : lookup.getIndices())
        indices.push_back(toI32(b, mapping.lookupOrDefault(index)));
      mapping.map(lookup.getResult(), lookUp(b, mapping.lookupOrDefault(lookup.getTable()), indices));
      continue;
    }
    bool isVector = false;
    SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      Value value = toI32(b, mapping.lookupOrDefault(operand));
      isVector |= isa<VectorType>(value.getType());
      operands.push_back(value);
    }
    if (!OpTrait::hasElementwiseMappableTraits(&op) && !op.hasTrait<OpTrait::ConstantLike>())
      return op.emitOpError("is not elementwise, so it cannot be in a score or mask region of a CPU program"),
             failure();
    SmallVector<Type> types;
    for (Type type : op.getResultTypes()) {
      Type scalar = type.isIndex() ? i32 : type;
      types.push_back(isVector ? Type(panelOf(scalar)) : scalar);
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      TypedAttr value = constant.getValue();
      if (value.getType().isIndex())
        value = b.getI32IntegerAttr(cast<IntegerAttr>(value).getInt());
      mapping.map(op.getResult(0), arith::ConstantOp::create(b, value));
      continue;
    }
    if (isVector)
      for (Value &operand : operands)
        operand = splat(b, operand);
    OperationState state(op.getLoc(), op.getName(), operands, types, op.getAttrs());
    state.propertiesAttr = op.getPropertiesAsAttribute();
    Operation *clone = b.create(state);
    mapping.map(op.getResults(), clone->getResults());
  }
  return splat(b, mapping.lookupOrDefault(block.back().getOperand(0)));
}

/// What the regions see of the extras at query r of the tile and 32 keys from `key` on: elements, or a table.
SmallVector<Value> readExtras(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value r, Value key) {
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

FailureOr<Value> cpu::finishScores(ImplicitLocOpBuilder &b, attn::AttentionStateOp op, Value score, Value r,
                                   Value column) {
  Type i32 = b.getI32Type();
  Value key = arith::AddIOp::create(b, op.getKv(), column);
  Value steps = arith::ConstantOp::create(
      b, DenseIntElementsAttr::get(panelOf(i32), llvm::to_vector(llvm::seq<int32_t>(0, kPanel))));
  Value kv = arith::AddIOp::create(b, splat(b, toI32(b, key)), steps);
  Value q = op.getOnePosition() ? op.getQ() : Value(arith::AddIOp::create(b, op.getQ(), r));
  SmallVector<Value> where{toI32(b, op.getB()), toI32(b, op.getH()), toI32(b, q), kv};
  llvm::append_range(where, readExtras(b, op, r, key));
  if (!op.getScore().empty()) {
    SmallVector<Value> arguments{score};
    llvm::append_range(arguments, where);
    FailureOr<Value> result = applyRegion(b, op.getScore(), arguments);
    if (failed(result))
      return failure();
    Value log2e = arith::ConstantOp::create(b, b.getF32FloatAttr(std::numbers::log2e));
    score = arith::MulFOp::create(b, *result, splat(b, log2e));
  }
  Value keep;
  if (op.getLimit())
    keep = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, kv, splat(b, toI32(b, op.getLimit())));
  if (!op.getMask().empty()) {
    FailureOr<Value> mask = applyRegion(b, op.getMask(), where);
    if (failed(mask))
      return failure();
    keep = keep ? Value(arith::AndIOp::create(b, keep, *mask)) : *mask;
  }
  if (!keep)
    return score;
  Value masked = arith::ConstantOp::create(b, b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  return Value(arith::SelectOp::create(b, keep, score, splat(b, masked)));
}
