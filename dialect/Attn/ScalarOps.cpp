//===- ScalarOps.cpp - Ops of arith and math on scalars --------------------------===//
#include "dialect/Attn/ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

bool rapt::attn::isScalarOp(Operation *op) {
  static const llvm::DenseSet<TypeID> ops{
#define SCALAR_OP(OP, NAME) TypeID::get<OP>(),
#include "dialect/Attn/ScalarOps.def"
  };
  return ops.contains(op->getName().getTypeID());
}

StringRef rapt::attn::insteadOf(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
#define REFUSED_OP(NAME, INSTEAD) .Case(NAME, INSTEAD)
#include "dialect/Attn/ScalarOps.def"
      .Default("");
}
