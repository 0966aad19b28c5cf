//===- KernelArguments.cpp - Scalars and truth values in a caller's memory -----------------===//
#include "lib/Transforms/KernelArguments.h"
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace rapt;

namespace {

bool isTruth(Type type) { return getElementTypeOrSelf(type).isInteger(1); }

/// The array's type for an argument or result of `type`; `type` itself where it is one.
Type arrayOf(Type type) {
  Builder b(type.getContext());
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type element = getElementTypeOrSelf(type);
  if (!isKernelElement(element) && !isTruth(type) && !(element.isIndex() && !tensor))
    return type;
  element = isTruth(type) ? b.getI8Type() : !tensor && element.isIndex() ? Type(b.getI64Type()) : element;
  return RankedTensorType::get(tensor ? tensor.getShape() : ArrayRef<int64_t>(), element);
}

/// Whether a number, or each number of a tensor, is not 0.
Value isNotZero(ImplicitLocOpBuilder &b, Value numbers) {
  auto type = dyn_cast<RankedTensorType>(numbers.getType());
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(getElementTypeOrSelf(numbers.getType()), 0));
  if (type) {
    SmallVector<Value> extents;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i))
        extents.push_back(tensor::DimOp::create(b, numbers, i));
    zero = tensor::SplatOp::create(b, zero, type.getShape(), extents);
  }
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, numbers, zero);
}

/// Reads an extra operand of attention as numbers, whose truth the regions find: an i1 in vectors is a bit, one in
/// memory a byte.
void readNumbers(attn::AttentionOp op, OpOperand &extra, Value numbers) {
  const unsigned i = extra.getOperandNumber() - op.getExtrasMutable().begin()->getOperandNumber();
  extra.set(numbers);
  for (Region *region : {&op.getScore(), &op.getMask()}) {
    if (region->empty())
      continue;
    BlockArgument argument = region->getArgument((region == &op.getScore() ? 5 : 4) + i);
    auto toTruth = [&](Value element, OpBuilder::InsertPoint at) {
      ImplicitLocOpBuilder b(op.getLoc(), op.getContext());
      b.restoreInsertionPoint(at);
      Value truth = isNotZero(b, element);
      element.replaceUsesWithIf(truth, [&](OpOperand &use) { return use.getOwner() != truth.getDefiningOp(); });
    };
    if (!isa<RankedTensorType>(argument.getType())) { // an element
      argument.setType(getElementTypeOrSelf(numbers.getType()));
      toTruth(argument, OpBuilder::InsertPoint(&region->front(), region->front().begin()));
      continue;
    }
    argument.setType(numbers.getType());
    for (Operation *user : argument.getUsers()) {
      user->getResult(0).setType(getElementTypeOrSelf(numbers.getType()));
      toTruth(user->getResult(0), OpBuilder::InsertPoint(user->getBlock(), std::next(user->getIterator())));
    }
  }
}

void passArgument(BlockArgument argument, Type array) {
  const Type type = argument.getType();
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : argument.getUses())
    uses.push_back(&use);
  argument.setType(array);
  for (OpOperand *&use : uses)
    if (auto attention = dyn_cast<attn::AttentionOp>(use->getOwner());
        attention && isTruth(type) && llvm::is_contained(llvm::make_pointer_range(attention.getExtrasMutable()), use)) {
      readNumbers(attention, *use, argument);
      use = nullptr;
    }
  llvm::erase(uses, nullptr);
  if (uses.empty())
    return;
  auto b = ImplicitLocOpBuilder::atBlockBegin(argument.getLoc(), argument.getOwner());
  Value value = argument;
  if (!isa<RankedTensorType>(type))
    value = tensor::ExtractOp::create(b, argument, ValueRange());
  if (isTruth(type))
    value = isNotZero(b, value);
  else if (type.isIndex())
    value = arith::IndexCastOp::create(b, type, value);
  for (OpOperand *use : uses)
    use->set(value);
}

} // namespace

bool rapt::isKernelElement(Type element) {
  return element.isF32() || element.isBF16() || element.isF16() || element.isInteger(8) || element.isInteger(32) ||
         element.isInteger(64);
}

LogicalResult rapt::passArgumentsInMemory(func::FuncOp entry) {
  Block &body = entry.getBody().front();
  auto changes = [](Type type) { return arrayOf(type) != type; };
  if (llvm::none_of(entry.getArgumentTypes(), changes) && llvm::none_of(entry.getResultTypes(), changes))
    return success();
  if (!SymbolTable::symbolKnownUseEmpty(entry, entry->getParentOp()))
    return entry.emitOpError("is a kernel with scalars, or arrays of i1, and another function calls it: the two need "
                             "functions of their own");
  for (BlockArgument argument : body.getArguments())
    if (Type array = arrayOf(argument.getType()); array != argument.getType())
      passArgument(argument, array);
  Operation *end = body.getTerminator();
  ImplicitLocOpBuilder b(entry.getLoc(), end);
  for (OpOperand &result : end->getOpOperands()) {
    Type array = arrayOf(result.get().getType());
    if (array == result.get().getType())
      continue;
    Value value = result.get();
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    if (isTruth(value.getType()))
      value = arith::ExtUIOp::create(b, tensor ? array : Type(b.getI8Type()), value);
    else if (value.getType().isIndex())
      value = arith::IndexCastOp::create(b, b.getI64Type(), value);
    result.set(tensor ? value : Value(tensor::FromElementsOp::create(b, array, value)));
  }
  entry.setFunctionType(FunctionType::get(entry.getContext(), body.getArgumentTypes(), end->getOperandTypes()));
  return success();
}
