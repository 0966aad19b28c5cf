//===- AdapterInputs.h - Arguments that say which adapter tokens have ---*- C++ -*-===//
#pragma once
#include "lib/Import/Module/SequenceEntries.h"

namespace rapt::importing {

constexpr size_t adapterValues = 3; ///< inputs of adapterInputs

/// The matrices of a weight that adapters change: theirs, and zeros ahead of them.
int64_t matricesOf(const ModelFacts &facts);

/// The number of each image's adapter.
struct ImageAdapters {
  mlir::Value numbers;  ///< tensor<?xi32>; null: the program has no adapters to choose
  int64_t matrices = 0; ///< of a weight that adapters change
};

/// The arguments of an entry with packed tokens that say which adapter these have; none of a model without adapters.
ExtraInputs adapterInputs(mlir::MLIRContext &context, const ModelFacts &facts, const ImportOptions &options);

/// The adapters of entries around which the runtime keeps sequences; none of a model without.
void addAdapters(SequenceFacts &entries, const ModelFacts &facts);

/// The argument `adapter` of an entry that reads images: the number of each one's adapter, 0 for none.
/// `images` is the dim of the images. None of a model without adapters.
std::optional<EntryBuffer> imageAdapterInput(mlir::Builder builder, const ModelFacts &facts, const std::string &images);

/// The order of the packed tokens of images that have `length` tokens each, by this argument. Empty where `adapter` is
/// null.
std::optional<AdapterRows> orderImages(mlir::OpBuilder &builder, mlir::Location loc, const ImageAdapters &adapters,
                                       mlir::Value length);

/// Takes the values of these arguments from the front of `shared`. Empty without adapters.
std::optional<AdapterRows> takeAdapters(bool hasAdapters, mlir::ValueRange &shared);

} // namespace rapt::importing
