//===- Generic.cpp - Shorthands for linalg.generic -----------------------------------===//
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

SmallVector<Value> neutral::generic(ImplicitLocOpBuilder &b, ValueRange inputs, ValueRange inits,
                                    ArrayRef<AffineMap> maps, Loops loops, PointBody body) {
  SmallVector<utils::IteratorType> iterators;
  for (Loop loop : loops)
    iterators.push_back(loop == Loop::Parallel ? utils::IteratorType::parallel : utils::IteratorType::reduction);
  auto op = linalg::GenericOp::create(b, inits.getTypes(), inputs, inits, maps, iterators,
                                      [&](OpBuilder &builder, Location loc, ValueRange elements) {
                                        ImplicitLocOpBuilder inner(loc, builder);
                                        linalg::YieldOp::create(inner, body(inner, elements));
                                      });
  return SmallVector<Value>(op.getResults());
}

Value neutral::generic(ImplicitLocOpBuilder &b, ValueRange inputs, Value init, ArrayRef<AffineMap> maps, Loops loops,
                       function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> body) {
  auto one = [&](ImplicitLocOpBuilder &b, ValueRange elements) { return SmallVector<Value>{body(b, elements)}; };
  return generic(b, inputs, ValueRange(init), maps, loops, one)[0];
}

Value neutral::forEach(ImplicitLocOpBuilder &b, ValueRange inputs, Value init,
                       function_ref<Value(ImplicitLocOpBuilder &, ValueRange)> body) {
  const unsigned rank = cast<RankedTensorType>(init.getType()).getRank();
  SmallVector<AffineMap> maps(inputs.size() + 1, b.getMultiDimIdentityMap(rank));
  SmallVector<Loop> loops(rank, Loop::Parallel);
  return generic(b, inputs, init, maps, loops, body);
}

Value neutral::at(ImplicitLocOpBuilder &b, int64_t dim) { return linalg::IndexOp::create(b, dim); }

AffineMap neutral::mapOf(ImplicitLocOpBuilder &b, unsigned dims, ArrayRef<int64_t> results) {
  SmallVector<AffineExpr> exprs;
  for (int64_t result : results)
    exprs.push_back(result < 0 ? b.getAffineConstantExpr(0) : b.getAffineDimExpr(result));
  return AffineMap::get(dims, 0, exprs, b.getContext());
}

Value neutral::filled(ImplicitLocOpBuilder &b, double value, Value init) {
  Type element = cast<RankedTensorType>(init.getType()).getElementType();
  Value scalar = arith::ConstantOp::create(b, isa<FloatType>(element) ? TypedAttr(b.getFloatAttr(element, value))
                                                                      : b.getIntegerAttr(element, int64_t(value)));
  return linalg::FillOp::create(b, scalar, init).getResult(0);
}

Value neutral::number(ImplicitLocOpBuilder &b, double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(value)));
}

Value neutral::widened(ImplicitLocOpBuilder &b, Value value) {
  return value.getType().isF32() ? value : Value(arith::ExtFOp::create(b, b.getF32Type(), value));
}

Value neutral::rounded(ImplicitLocOpBuilder &b, Value value, Type type) {
  return value.getType() == type ? value : Value(arith::TruncFOp::create(b, type, value));
}

Value neutral::read(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices) {
  return widened(b, tensor::ExtractOp::create(b, tensor, indices));
}

Value neutral::within(ImplicitLocOpBuilder &b, Value value, Value extent) {
  Value last = arith::SubIOp::create(b, extent, index(b, 1));
  return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, value, last), index(b, 0));
}

Value neutral::emptyOf(ImplicitLocOpBuilder &b, OFRs extents, Type element) {
  return tensor::EmptyOp::create(b, extents, element);
}

Value neutral::emptyFor(ImplicitLocOpBuilder &b, Value result, OFRs extents) {
  auto type = cast<RankedTensorType>(result.getType());
  // Extents that are known follow the result's type, so that the tensor has exactly that.
  SmallVector<OpFoldResult> sizes(extents);
  for (auto [size, extent] : llvm::zip_equal(sizes, type.getShape()))
    size = ShapedType::isDynamic(extent) ? OpFoldResult(asValue(b, size)) : b.getIndexAttr(extent);
  SmallVector<Value> dynamic;
  for (OpFoldResult size : sizes)
    if (auto value = dyn_cast<Value>(size))
      dynamic.push_back(value);
  return tensor::EmptyOp::create(b, type, dynamic);
}

Value neutral::slice(ImplicitLocOpBuilder &b, Value tensor, OFRs offsets, OFRs sizes) {
  SmallVector<OpFoldResult> strides(offsets.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(b, tensor, offsets, sizes, strides);
}

/// The element of the table at indices that end at those of its dims (A30), a float in f32 (A40).
static Value lookUp(ImplicitLocOpBuilder &b, attn::LookupOp op, Value table) {
  SmallVector<Value> indices;
  for (auto [i, value] : llvm::enumerate(op.getIndices()))
    indices.push_back(within(b, value, asValue(b, extent(b, table, i))));
  Value element = tensor::ExtractOp::create(b, table, indices);
  return isa<FloatType>(element.getType()) ? widened(b, element) : element;
}

Value neutral::inlineRegion(ImplicitLocOpBuilder &b, Region &region, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  SmallVector<attn::LookupOp> lookups;
  for (Operation &op : region.front().without_terminator())
    b.clone(op, mapping)->walk([&](attn::LookupOp lookup) { lookups.push_back(lookup); });
  Value result = mapping.lookupOrDefault(region.front().getTerminator()->getOperand(0));
  for (attn::LookupOp lookup : lookups) {
    ImplicitLocOpBuilder before(lookup.getLoc(), lookup);
    Value element = lookUp(before, lookup, lookup.getTable());
    if (result == lookup.getResult())
      result = element;
    lookup.getResult().replaceAllUsesWith(element);
    lookup.erase();
  }
  return result;
}
