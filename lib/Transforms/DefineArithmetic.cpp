//===- DefineArithmetic.cpp - Integer arithmetic without undefined results -----------------===//
//
// A processor stops the program at a division by zero, also in a lane that nobody asked for.
// Operands are replaced where an op would have no result, and its result then by the one that
// docs/Semantics.md names (A16). Operands that are constants need no such care.
//
//===----------------------------------------------------------------------===//
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNDEFINEARITHMETIC
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using Pred = arith::CmpIPredicate;

namespace {

unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

Value integer(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  APInt bits(widthOf(type), value, /*isSigned=*/true, /*implicitTrunc=*/true);
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, bits));
}

/// `op` with operand `i` replaced where it has no result; what `make` gives from its result is its users'.
void guard(ImplicitLocOpBuilder &b, Operation *op, unsigned i, Value operand, function_ref<Value(Value)> make) {
  op->setOperand(i, operand);
  b.setInsertionPointAfter(op);
  Value result = op->getResult(0), defined = make(result);
  if (defined == result)
    return;
  result.replaceUsesWithIf(defined, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return user->getBlock() != op->getBlock() || defined.getDefiningOp()->isBeforeInBlock(user);
  });
}

/// x / 0 and x % 0 are 0, x / -1 is -x, which wraps, and x % -1 is 0: dividing by 1 instead gives all remainders.
void defineDivision(ImplicitLocOpBuilder &b, Operation *op, bool isSigned, bool isRemainder) {
  Value dividend = op->getOperand(0), divisor = op->getOperand(1);
  Type type = divisor.getType();
  APInt constant;
  if (matchPattern(divisor, m_ConstantInt(&constant)) && !constant.isZero() && !(isSigned && constant.isAllOnes()))
    return;
  Value zero = integer(b, type, 0), minusOne = isSigned ? integer(b, type, -1) : Value();
  if (widthOf(type) == 1) { // 1 is -1
    Value result = isRemainder ? zero : Value(arith::AndIOp::create(b, dividend, divisor));
    op->replaceAllUsesWith(ValueRange{result});
    op->erase();
    return;
  }
  Value isZero = arith::CmpIOp::create(b, Pred::eq, divisor, zero), isBad = isZero, isMinusOne, negated;
  if (isSigned) {
    isMinusOne = arith::CmpIOp::create(b, Pred::eq, divisor, minusOne);
    isBad = arith::OrIOp::create(b, isZero, isMinusOne);
    if (!isRemainder)
      negated = arith::SubIOp::create(b, zero, dividend);
  }
  Value safe = arith::SelectOp::create(b, isBad, integer(b, type, 1), divisor);
  guard(b, op, 1, safe, [&](Value result) -> Value {
    if (isRemainder)
      return result;
    if (isSigned)
      result = arith::SelectOp::create(b, isMinusOne, negated, result);
    return arith::SelectOp::create(b, isZero, zero, result);
  });
}

/// A shift by the width or more is 0.
void defineShift(ImplicitLocOpBuilder &b, Operation *op) {
  Value amount = op->getOperand(1);
  Type type = amount.getType();
  APInt constant;
  if (matchPattern(amount, m_ConstantInt(&constant)) && constant.ult(widthOf(type)))
    return;
  Value zero = integer(b, type, 0);
  if (widthOf(type) == 1) { // by 0 or by the width
    Value isKept = arith::CmpIOp::create(b, Pred::eq, amount, zero);
    op->replaceAllUsesWith(ValueRange{arith::SelectOp::create(b, isKept, op->getOperand(0), zero)});
    op->erase();
    return;
  }
  Value isInside = arith::CmpIOp::create(b, Pred::ult, amount, integer(b, type, widthOf(type)));
  Value safe = arith::SelectOp::create(b, isInside, amount, zero);
  guard(b, op, 1, safe, [&](Value result) -> Value { return arith::SelectOp::create(b, isInside, result, zero); });
}

/// A float that the integer type does not hold, once what is behind its point is dropped, is 0.
void defineCast(ImplicitLocOpBuilder &b, Operation *op, bool isSigned) {
  Value source = op->getOperand(0);
  auto type = cast<FloatType>(source.getType());
  const unsigned width = widthOf(op->getResult(0).getType());
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  auto real = [&](const APFloat &value) -> Value { return arith::ConstantOp::create(b, b.getFloatAttr(type, value)); };
  // Between `below` and `above`, both not included; with more bits than the integers, in which each is exact.
  APInt above = APInt::getOneBitSet(width + 2, isSigned ? width - 1 : width),
        below = isSigned ? -above - 1 : APInt::getAllOnes(width + 2);
  auto compare = [&](const APInt &bound, arith::CmpFPredicate without, arith::CmpFPredicate with) -> Value {
    APFloat limit(semantics);
    // A bound that the type cannot represent is beyond the next number towards zero, which is then inside.
    bool isExact = limit.convertFromAPInt(bound, /*IsSigned=*/true, APFloat::rmTowardZero) == APFloat::opOK;
    return arith::CmpFOp::create(b, isExact ? without : with, source, real(limit));
  };
  Value isInside = arith::AndIOp::create(b, compare(below, arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE),
                                         compare(above, arith::CmpFPredicate::OLT, arith::CmpFPredicate::OLE));
  Value safe = arith::SelectOp::create(b, isInside, source, real(APFloat::getZero(semantics)));
  op->setOperand(0, safe); // 0 becomes 0
}

/// Drops the flags whose promises need not hold: sums may wrap, and scores be NaN or infinite.
void dropPromises(Operation *op) {
  MLIRContext *context = op->getContext();
  auto set = [&](StringRef name, Attribute value) { op->setInherentAttr(StringAttr::get(context, name), value); };
  if (op->getInherentAttr("overflowFlags").value_or(Attribute()))
    set("overflowFlags", arith::IntegerOverflowFlagsAttr::get(context, arith::IntegerOverflowFlags::none));
  if (op->getInherentAttr("isExact").value_or(Attribute()))
    set("isExact", Attribute());
  if (auto flags = dyn_cast_or_null<arith::FastMathFlagsAttr>(op->getInherentAttr("fastmath").value_or(Attribute())))
    set("fastmath", arith::FastMathFlagsAttr::get(
                        context, flags.getValue() & ~(arith::FastMathFlags::nnan | arith::FastMathFlags::ninf)));
}

bool isScalar(Type type) { return type.isIntOrIndexOrFloat(); }

/// Rewrites `op` if it may have no result. Regions and functions compute scalars; code of vectors is made of them
/// later.
LogicalResult define(Operation *op) {
  const bool isSigned = isa<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp, arith::RemSIOp>(op),
             isRemainder = isa<arith::RemSIOp, arith::RemUIOp>(op),
             isDivision = isSigned || isRemainder || isa<arith::DivUIOp, arith::CeilDivUIOp>(op),
             isShift = isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op),
             isCast = isa<arith::FPToSIOp, arith::FPToUIOp>(op);
  if (!isDivision && !isShift && !isCast)
    return success();
  if (Type type = op->getOperand(0).getType(); !isScalar(type))
    return op->emitOpError() << "is on " << type << "; its results are defined for scalars only";
  ImplicitLocOpBuilder b(op->getLoc(), op);
  if (isDivision)
    defineDivision(b, op, isSigned, isRemainder);
  else if (isShift)
    defineShift(b, op);
  else
    defineCast(b, op, isa<arith::FPToSIOp>(op));
  return success();
}

struct DefineArithmetic : rapt::impl::AttnDefineArithmeticBase<DefineArithmetic> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Imported)))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      dropPromises(op);
      if (failed(define(op)))
        return signalPassFailure();
    }
  }
};

} // namespace
