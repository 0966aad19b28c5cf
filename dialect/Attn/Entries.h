//===- Entries.h - The functions of a module that programs call ---------------===//
#pragma once
#include "lib/Support/EntryRoles.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace rapt::attn {

/// The functions that become entries: those that say so, or in a module of kernels without any those that nothing
/// calls.
llvm::SmallVector<mlir::FunctionOpInterface> entriesOf(mlir::Operation *module);

/// The number of an entry's argument, or result, that has a role.
std::optional<unsigned> findArgument(mlir::FunctionOpInterface entry, EntryRole role);
std::optional<unsigned> findResult(mlir::FunctionOpInterface entry, EntryRole role);

/// The type of a role's buffer, which is no cache; `numbers` are the extents behind its dims.
mlir::RankedTensorType typeOf(EntryRole role, mlir::Builder builder, llvm::ArrayRef<int64_t> numbers = {});

} // namespace rapt::attn
