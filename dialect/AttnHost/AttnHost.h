//===- AttnHost.h - The dialect of host programs --------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/AttnHost/AttnHostDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnHost/AttnHostAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialect/AttnHost/AttnHostOps.h.inc"
