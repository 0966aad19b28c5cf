//===- AttnOps.cpp - Code that the op definitions generate ---------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Ops/Assembly.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace rapt::attn;

bool rapt::attn::haveSameShapes(TypeRange first, TypeRange second) {
  return llvm::equal(first, second, [](Type a, Type b) {
    auto shaped = dyn_cast<ShapedType>(a), other = dyn_cast<ShapedType>(b);
    return shaped && other && shaped.getShape() == other.getShape();
  });
}

#define GET_OP_CLASSES
#include "dialect/Attn/AttnOps.cpp.inc"
