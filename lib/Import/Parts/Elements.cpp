//===- Elements.cpp - Functions of the elements of activations -----------------===//
#include "lib/Import/Parts/Elements.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

Value importing::mapElements(const Scope &scope, Location loc, ArrayRef<Operand> operands,
                             llvm::function_ref<Value(const Scope &inner, ValueRange elements)> f) {
  OpBuilder &b = scope.builder;
  auto type = cast<RankedTensorType>(operands[0].tensor.getType());
  Value tokens = tensor::DimOp::create(b, loc, operands[0].tensor, 0);
  Value empty = tensor::EmptyOp::create(b, loc, type, tokens);
  SmallVector<AffineMap> maps;
  SmallVector<Value> inputs;
  for (const Operand &operand : operands) {
    SmallVector<AffineExpr> dims;
    for (unsigned dim : operand.dims)
      dims.push_back(b.getAffineDimExpr(dim));
    maps.push_back(AffineMap::get(unsigned(type.getRank()), 0, dims, b.getContext()));
    inputs.push_back(operand.tensor);
  }
  maps.push_back(b.getMultiDimIdentityMap(unsigned(type.getRank())));
  const SmallVector<utils::IteratorType> loops(size_t(type.getRank()), utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, loc, type, inputs, empty, maps, loops,
                                   [&](OpBuilder &inner, Location at, ValueRange elements) {
                                     Value result = f(Scope{inner, scope.parameters}, elements.drop_back());
                                     linalg::YieldOp::create(inner, at, result);
                                   })
      .getResult(0);
}
