//===- DecoderParts.h - Parts of the import of a decoder ------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Blocks.h"
#include "lib/Import/DecoderSpec.h"

namespace rapt::importing {

/// Columns of the embedding.
inline int64_t embeddingWidth(const DecoderSpec &spec) {
  return spec.embedding.width ? spec.embedding.width : spec.width;
}

/// All weights; their symbols are the names of the parts that have them, behind `prefix` and the layer's path.
ParameterSet listParameters(const DecoderSpec &spec, const std::string &prefix);

/// One layer: x [tokens, width] and the cache to those after it. `shared` are the rows, then cosines and sines of each
/// of the attention's tables.
llvm::SmallVector<mlir::Value> buildDecoderBlock(const Scope &scope, const DecoderSpec &spec, mlir::ValueRange state,
                                                 mlir::ValueRange shared);

} // namespace rapt::importing
