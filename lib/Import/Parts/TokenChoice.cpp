//===- TokenChoice.cpp - The token whose vector is that of a text --------------===//
#include "lib/Import/Parts/TokenChoice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

/// Whether a token of id `next` takes the place of an earlier one of id `before`.
static Value isBetter(OpBuilder &b, Location loc, TokenChoice choice, Value next, Value before) {
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  };
  using arith::CmpIPredicate;
  if (choice.kind == TokenChoice::FirstLargest)
    return compare(CmpIPredicate::sgt, next, before);
  Value id = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(choice.id)));
  if (choice.kind == TokenChoice::LastOther)
    return compare(CmpIPredicate::ne, next, id);
  return arith::AndIOp::create(b, loc, compare(CmpIPredicate::eq, next, id), compare(CmpIPredicate::ne, before, id));
}

Value importing::findTokens(const Scope &scope, Location loc, Value ids, Value rowBegin, TokenChoice choice) {
  OpBuilder &builder = scope.builder;
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value rows = arith::SubIOp::create(builder, loc, tensor::DimOp::create(builder, loc, rowBegin, 0), one);
  auto type = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  Value empty = tensor::EmptyOp::create(builder, loc, type, rows);
  Value end = arith::SubIOp::create(builder, loc, tensor::DimOp::create(builder, loc, ids, 0), one);
  auto find = [&](OpBuilder &b, Location at, ValueRange) {
    Value row = linalg::IndexOp::create(b, at, 0), next = arith::AddIOp::create(b, at, row, one);
    auto begin = [&](Value of) -> Value {
      return arith::IndexCastOp::create(b, at, b.getIndexType(), tensor::ExtractOp::create(b, at, rowBegin, of));
    };
    Value first = begin(row);
    auto loop = scf::ForOp::create(
        b, at, first, begin(next), one, first, [&](OpBuilder &inner, Location in, Value token, ValueRange found) {
          Value id = tensor::ExtractOp::create(inner, in, ids, token), before;
          if (choice.kind != TokenChoice::LastOther)
            before = tensor::ExtractOp::create(inner, in, ids, found[0]);
          Value better = isBetter(inner, in, choice, id, before);
          scf::YieldOp::create(inner, in, arith::SelectOp::create(inner, in, better, token, found[0]).getResult());
        });
    Value found = arith::MinSIOp::create(b, at, loop.getResult(0), end);
    linalg::YieldOp::create(b, at, arith::IndexCastOp::create(b, at, b.getI32Type(), found).getResult());
  };
  return linalg::GenericOp::create(builder, loc, type, ValueRange(), empty, {builder.getMultiDimIdentityMap(1)},
                                   {utils::IteratorType::parallel}, find)
      .getResult(0);
}
