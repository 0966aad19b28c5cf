//===- EntryDescription.h - Entries as manifests describe them ---------------------===//
//
// The parts of a manifest's "entries" that follow from the IR at any stage: the compiler writes them for its artifacts,
// the reference evaluator for its own.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/EntryRoles.h"
#include "lib/Support/Json.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

namespace rapt::attn {

/// The largest value of a dim that the module declares; 0 where it declares none of that name.
int64_t largestOf(mlir::ModuleOp module, EntryDim dim);

/// Adds "dims" and "bounds": those that the module declares, of which `own`, where it is not null, has the names.
void describeDims(mlir::ModuleOp module, mlir::ArrayAttr own, json::Object &entry);

/// Adds what only inputs, outputs and states have to a buffer: its type, its extents, and what its integers may be.
/// `attributes` are those of the argument or result.
Status describeTensor(mlir::DictionaryAttr attributes, mlir::ShapedType type, json::Object &buffer);

} // namespace rapt::attn
