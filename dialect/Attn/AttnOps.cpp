//===- AttnOps.cpp - Code that the op definitions generate ---------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Ops/Assembly.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace rapt::attn;

#define GET_OP_CLASSES
#include "dialect/Attn/AttnOps.cpp.inc"
