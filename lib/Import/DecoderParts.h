//===- DecoderParts.h - Parts of the import of a decoder ------------------*- C++ -*-===//
#pragma once
#include "lib/Import/DecoderSpec.h"
#include "lib/Import/ParameterSet.h"

namespace rapt::importing {

/// Columns of the embedding.
inline int64_t embeddingWidth(const DecoderSpec &spec) {
  return spec.embedding.width ? spec.embedding.width : spec.width;
}

/// All weights; their symbols are the names of the parts that have them, behind `prefix` and the layer's path.
ParameterSet listParameters(const DecoderSpec &spec, const std::string &prefix);

} // namespace rapt::importing
