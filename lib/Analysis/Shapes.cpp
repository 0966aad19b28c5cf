//===- Shapes.cpp - Extents of an entry's tensors in its dims --------------------------===//
#include "lib/Analysis/Shapes.h"
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt;

Sum Shapes::extent(Value tensor, unsigned i) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || i >= type.getRank())
    return Sum::unknown();
  if (!type.isDynamicDim(i))
    return Sum(type.getDimSize(i));
  auto [at, isNew] = known.try_emplace({tensor, i}, Sum::unknown());
  if (isNew) {
    Sum sum = compute(tensor, i);
    known[{tensor, i}] = sum;
    return sum;
  }
  return at->second;
}

Sum Shapes::elements(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  Sum product(1);
  for (unsigned i = 0; type && i < type.getRank(); ++i)
    product = product * extent(tensor, i);
  return type ? product : Sum::unknown();
}

Sum Shapes::index(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSignificantBits() <= 52 ? Sum(number.getSExtValue()) : Sum::unknown();
  Operation *op = value.getDefiningOp();
  if (!op)
    return Sum::unknown();
  return llvm::TypeSwitch<Operation *, Sum>(op)
      .Case([&](tensor::DimOp dim) {
        std::optional<int64_t> i = dim.getConstantIndex();
        return i ? extent(dim.getSource(), *i) : Sum::unknown();
      })
      .Case([&](attn::DimSizeOp dim) { return Sum::of(dim.getDim().str()); })
      .Case([&](arith::AddIOp add) { return index(add.getLhs()) + index(add.getRhs()); })
      .Case([&](arith::SubIOp sub) { return index(sub.getLhs()) - index(sub.getRhs()); })
      .Case([&](arith::MulIOp mul) { return index(mul.getLhs()) * index(mul.getRhs()); })
      .Case<arith::DivUIOp, arith::DivSIOp>([&](auto division) {
        std::optional<int64_t> divisor = index(division.getRhs()).asNumber();
        return divisor ? index(division.getLhs()).dividedBy(*divisor) : Sum::unknown();
      })
      .Default([](Operation *) { return Sum::unknown(); });
}

Sum Shapes::compute(Value tensor, unsigned i) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument)
    return computeResult(cast<OpResult>(tensor), i);
  Operation *owner = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(owner))
    return argument.getArgNumber() == 0 ? Sum::unknown() : extent(loop.getInitArgs()[argument.getArgNumber() - 1], i);
  auto function = dyn_cast<FunctionOpInterface>(owner);
  auto names = function ? function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attn::AttnDialect::dimsAttr)
                        : ArrayAttr();
  auto type = cast<RankedTensorType>(tensor.getType());
  unsigned place = llvm::count_if(type.getShape().take_front(i), ShapedType::isDynamic);
  return names && place < names.size() ? Sum::parse(cast<StringAttr>(names[place]).getValue()) : Sum::unknown();
}

Sum Shapes::computeResult(OpResult tensor, unsigned i) {
  Operation *op = tensor.getOwner();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return extent(loop.getInitArgs()[tensor.getResultNumber()], i);
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return index(empty.getDynamicSize(i));
  if (auto rows = dyn_cast<attn::EqualRowsOp>(op))
    return index(rows.getRows()) + Sum(1);
  if (auto unpack = dyn_cast<attn::UnpackRowsOp>(op); unpack && i == 1)
    return index(unpack.getLength());
  if (auto unpack = dyn_cast<attn::UnpackRowsOp>(op); unpack && i == 0)
    return extent(unpack.getInput(), 0).dividedBy(index(unpack.getLength()));
  if (auto update = dyn_cast<attn::KVAppendOp>(op))
    return extent(update.getCache(), i);
  return computeRows(tensor, i);
}

/// The number of rows that an op makes: its input's, unless the op says otherwise.
Sum Shapes::computeRows(OpResult tensor, unsigned i) {
  return llvm::TypeSwitch<Operation *, Sum>(tensor.getOwner())
      .Case([&](attn::SelectRowsOp select) { return extent(select.getRows(), 0); })
      .Case([&](attn::PoolRowsOp pool) { return extent(pool.getRowBegin(), 0) - Sum(1); })
      .Case([&](attn::PatchesOp patches) {
        Value pixels = patches.getPixels();
        int64_t size = patches.getSize();
        return extent(pixels, 0) * extent(pixels, 2).dividedBy(size) * extent(pixels, 3).dividedBy(size);
      })
      .Case([&](attn::ResizePositionsOp resize) {
        return index(resize.getHeight()) * index(resize.getWidth()) + Sum(resize.getOthers());
      })
      .Case([&](attn::ImageTokensOp tokens) {
        Sum positions = extent(tokens.getPositions(), 0), learned = extent(tokens.getLearned(), 0);
        return extent(tokens.getPatches(), 0).dividedBy(positions - learned) * positions;
      })
      .Case([&](attn::RecurrenceOp recurrence) {
        return tensor.getResultNumber() == 0 ? extent(recurrence.getGates(), 0)
                                             : extent(recurrence.getRowBegin(), 0) - Sum(1);
      })
      .Default([&](Operation *op) {
        bool keepsRows = isa<attn::AttnDialect>(op->getDialect()) && op->getNumOperands() > 0;
        return keepsRows ? extent(op->getOperand(0), i) : Sum::unknown();
      });
}
