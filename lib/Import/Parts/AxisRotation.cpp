#include "lib/Import/Parts/AxisRotation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

/// In each column the element of the table of its axis; `axisOf` is a constant tensor [columns].
static Value chooseByAxis(const Scope &scope, Location loc, ArrayRef<Value> tables, Value axisOf) {
  OpBuilder &builder = scope.builder;
  auto type = cast<RankedTensorType>(tables[0].getType());
  Value tokens = tensor::DimOp::create(builder, loc, tables[0], 0);
  Value empty = tensor::EmptyOp::create(builder, loc, type, tokens);
  SmallVector<Value> inputs(tables);
  inputs.push_back(axisOf);
  SmallVector<AffineMap> maps(tables.size(), builder.getMultiDimIdentityMap(2));
  maps.push_back(AffineMap::get(2, 0, builder.getAffineDimExpr(1)));
  maps.push_back(builder.getMultiDimIdentityMap(2));
  const SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  auto choose = [&](OpBuilder &b, Location at, ValueRange x) {
    Value chosen = x[0], axis = x[tables.size()];
    for (size_t other = 1; other < tables.size(); ++other) {
      Value number = arith::ConstantIntOp::create(b, at, int64_t(other), 32);
      Value isOther = arith::CmpIOp::create(b, at, arith::CmpIPredicate::eq, axis, number);
      chosen = arith::SelectOp::create(b, at, isOther, x[other], chosen);
    }
    linalg::YieldOp::create(b, at, chosen);
  };
  return linalg::GenericOp::create(builder, loc, type, inputs, empty, maps, loops, choose).getResult(0);
}

std::array<Value, 2> importing::buildAxisRotation(const Scope &scope, Location loc,
                                                  const RotaryFrequencies &frequencies, ArrayRef<Value> positions) {
  OpBuilder &builder = scope.builder;
  const auto count = int64_t(frequencies.values.size());
  auto pairs = RankedTensorType::get({ShapedType::kDynamic, count}, builder.getF32Type());
  SmallVector<Value> cosines, sines;
  for (Value ofAxis : positions) {
    auto table = attn::RotaryTableOp::create(builder, loc, pairs, pairs, ofAxis, /*lengths=*/Value(),
                                             builder.getDenseF32ArrayAttr(frequencies.values), DenseF32ArrayAttr(),
                                             IntegerAttr(), builder.getF32FloatAttr(frequencies.magnitude));
    cosines.push_back(table.getCosines());
    sines.push_back(table.getSines());
  }
  SmallVector<int32_t> axes(frequencies.axes.begin(), frequencies.axes.end());
  Value axisOf = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get({count}, builder.getI32Type()), ArrayRef<int32_t>(axes)));
  return {chooseByAxis(scope, loc, cosines, axisOf), chooseByAxis(scope, loc, sines, axisOf)};
}

SmallVector<Value> importing::splitAxes(const Scope &scope, Location loc, Value positions) {
  OpBuilder &builder = scope.builder;
  auto list = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  Value tokens = tensor::DimOp::create(builder, loc, positions, 0);
  const utils::IteratorType loops[] = {utils::IteratorType::parallel};
  SmallVector<Value> columns;
  for (int64_t axis = 0; axis < cast<RankedTensorType>(positions.getType()).getDimSize(1); ++axis) {
    Value empty = tensor::EmptyOp::create(builder, loc, list, tokens);
    const AffineMap maps[] = {
        AffineMap::get(1, 0, {builder.getAffineDimExpr(0), builder.getAffineConstantExpr(axis)}, builder.getContext()),
        builder.getMultiDimIdentityMap(1)};
    auto take = [](OpBuilder &b, Location at, ValueRange x) { linalg::YieldOp::create(b, at, x[0]); };
    columns.push_back(linalg::GenericOp::create(builder, loc, list, positions, empty, maps, loops, take).getResult(0));
  }
  return columns;
}
