//===- AdapterInputs.h - Arguments that say which adapter tokens have ---*- C++ -*-===//
#pragma once
#include "lib/Import/Blocks.h"
#include "lib/Import/ModelModule.h"

namespace rapt::importing {

constexpr size_t adapterValues = 3; ///< inputs of adapterInputs

/// The arguments of an entry with packed tokens that say which adapter these have; none of a model without adapters.
MoreOfEntry adapterInputs(mlir::MLIRContext &context, const ModelFacts &facts, const ImportOptions &options);

/// Appends the values of these arguments, where there are some.
void addAdapters(const std::optional<AdapterRows> &adapters, llvm::SmallVectorImpl<mlir::Value> &shared);
/// Takes the values of these arguments from the front of `shared`. Empty without adapters.
std::optional<AdapterRows> takeAdapters(bool hasAdapters, mlir::ValueRange &shared);

/// The names of the adapters that the model is imported with.
std::vector<std::string> adapterNames(const huggingface::ModelDescription &model);

} // namespace rapt::importing
