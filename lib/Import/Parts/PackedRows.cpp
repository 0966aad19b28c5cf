//===- PackedRows.cpp - Rows of packed sequences --------------------------===//
#include "lib/Import/Parts/PackedRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

static RankedTensorType listType(OpBuilder &builder) {
  return RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
}

/// f of the numbers of lists of one length.
static Value mapLists(const Scope &scope, Location loc, ValueRange lists,
                      llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> f) {
  OpBuilder &builder = scope.builder;
  Value length = tensor::DimOp::create(builder, loc, lists[0], 0);
  Value empty = tensor::EmptyOp::create(builder, loc, listType(builder), length);
  const SmallVector<AffineMap> maps(lists.size() + 1, builder.getMultiDimIdentityMap(1));
  return linalg::GenericOp::create(builder, loc, listType(builder), lists, empty, maps, {utils::IteratorType::parallel},
                                   [&](OpBuilder &inner, Location at, ValueRange numbers) {
                                     linalg::YieldOp::create(inner, at, f(inner, at, numbers.drop_back()));
                                   })
      .getResult(0);
}

static Value integer(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(int32_t(value)));
}

static Value plus(const Scope &scope, Location loc, Value list, int64_t offset) {
  if (offset == 0)
    return list;
  return mapLists(scope, loc, list, [&](OpBuilder &inner, Location at, ValueRange x) -> Value {
    return arith::AddIOp::create(inner, at, x[0], integer(inner, at, offset));
  });
}

/// `count` elements from `first` on.
static Value partOf(const Scope &scope, Location loc, Value list, int64_t first, Value count) {
  OpBuilder &builder = scope.builder;
  return tensor::ExtractSliceOp::create(
      builder, loc, listType(builder), list, ArrayRef<OpFoldResult>{builder.getIndexAttr(first)},
      ArrayRef<OpFoldResult>{OpFoldResult(count)}, ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
}

SpacedRows::SpacedRows(const Scope &scope, Location loc, Value rowBegin, int64_t margin)
    : scope(scope), loc(loc), rowBegin(rowBegin), margin(margin) {
  OpBuilder &builder = scope.builder;
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  sequences = arith::SubIOp::create(builder, loc, tensor::DimOp::create(builder, loc, rowBegin, 0), one);
  Value space = arith::ConstantIndexOp::create(builder, loc, margin);
  Value ahead = attn::EqualRowsOp::create(builder, loc, listType(builder), sequences, space);
  begins = mapLists(scope, loc, {rowBegin, ahead}, [](OpBuilder &inner, Location at, ValueRange x) -> Value {
    return arith::AddIOp::create(inner, at, x[0], x[1]);
  });
}

Value SpacedRows::ofSequences(int64_t offset) const {
  return plus(scope, loc, partOf(scope, loc, begins, offset < 0, sequences), offset);
}

Value SpacedRows::ofTokens(Value ids, int64_t offset) const {
  return attn::PositionsOp::create(scope.builder, loc, ids, rowBegin, ofSequences(offset));
}

Value SpacedRows::ofWindows(Value ids, int64_t width) const {
  OpBuilder &builder = scope.builder;
  Value first = partOf(scope, loc, rowBegin, 0, sequences), behind = partOf(scope, loc, rowBegin, 1, sequences);
  // Rows of windows behind the first one.
  Value more = mapLists(scope, loc, {first, behind}, [&](OpBuilder &inner, Location at, ValueRange x) -> Value {
    Value length = arith::SubIOp::create(inner, at, x[1], x[0]);
    Value count = arith::SubIOp::create(inner, at, length, integer(inner, at, width));
    return arith::MaxSIOp::create(inner, at, count, integer(inner, at, 0));
  });
  // The position plus the number of the token's sequence, and the position alone.
  Value bound = attn::PositionsOp::create(builder, loc, ids, rowBegin, more);
  Value position = attn::PositionsOp::create(builder, loc, ids, rowBegin, Value());
  return mapLists(scope, loc, {ofTokens(ids, 0), position, bound},
                  [](OpBuilder &inner, Location at, ValueRange x) -> Value {
                    Value last = arith::SubIOp::create(inner, at, x[2], x[1]);
                    Value begin = arith::SubIOp::create(inner, at, x[0], x[1]);
                    return arith::AddIOp::create(inner, at, begin, arith::MinSIOp::create(inner, at, x[1], last));
                  });
}

Value SpacedRows::zeros(Value x) const {
  OpBuilder &builder = scope.builder;
  auto type = cast<RankedTensorType>(x.getType());
  Value space = arith::ConstantIndexOp::create(builder, loc, margin);
  Value tokens = tensor::DimOp::create(builder, loc, x, 0);
  Value rows = arith::AddIOp::create(builder, loc, tokens, arith::MulIOp::create(builder, loc, sequences, space));
  Value empty = tensor::EmptyOp::create(builder, loc, type, rows);
  return linalg::FillOp::create(builder, loc, constant(scope, loc, 0), empty).getResult(0);
}

Value importing::spreadOverTokens(const Scope &scope, Location loc, Value tokens, Value rowBegin, Value numbers) {
  OpBuilder &builder = scope.builder;
  auto difference = [](OpBuilder &inner, Location at, ValueRange x) -> Value {
    return arith::SubIOp::create(inner, at, x[1], x[0]);
  };
  if (!numbers) {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value rows = arith::SubIOp::create(builder, loc, tensor::DimOp::create(builder, loc, rowBegin, 0), one);
    numbers = mapLists(scope, loc, {partOf(scope, loc, rowBegin, 0, rows), partOf(scope, loc, rowBegin, 1, rows)},
                       difference);
  }
  Value position = attn::PositionsOp::create(builder, loc, tokens, rowBegin, Value());
  Value shifted = attn::PositionsOp::create(builder, loc, tokens, rowBegin, numbers);
  return mapLists(scope, loc, {position, shifted}, difference);
}

Status importing::checkSpacedRows(const huggingface::ModelDescription &model, const ImportOptions &options,
                                  int64_t margin) {
  if (options.maxTokens + options.maxBatch * margin <= INT32_MAX)
    return {};
  return Error{model.path() + ": steps of " + std::to_string(options.maxTokens) + " tokens and " +
               std::to_string(options.maxBatch) + " sequences, with " + std::to_string(margin) +
               " more rows for each, have more rows than 32 bits can count"};
}

Value importing::selectWindows(const Scope &scope, Location loc, Value x, Value begins, int64_t width) {
  auto type = cast<RankedTensorType>(x.getType());
  SmallVector<Value> rows;
  for (int64_t i = 0; i < width; ++i)
    rows.push_back(attn::SelectRowsOp::create(scope.builder, loc, type, x, plus(scope, loc, begins, i)));
  return width == 1 ? rows[0] : Value(attn::ConcatOp::create(scope.builder, loc, rows));
}

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
