//===- Mamba.h - Keys of families with layers of state-space duality -----*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/DecoderConfig.h"

namespace rapt::importing {

/// Names of keys, and what the family's class takes without them.
struct StateSpaceKeys {
  const char *heads; ///< for messages
  huggingface::Keys groups, stateSize, taps, bias, convolutionBias;
  const char *part; ///< of a layer, which has the tensors
  int64_t defaultGroups, defaultStateSize;
};

StateSpaceSpec readStateSpace(huggingface::ConfigReader &config, const StateSpaceKeys &keys, int64_t heads,
                              int64_t headDim);

/// The same by the keys of bamba and its relatives; `spec` has the width, norm and activation. `inner` are the columns
/// of all heads, which the value of `innerKey` says; nothing: mamba_expand times the width.
StateSpaceSpec readHybridStateSpace(huggingface::ConfigReader &config, const DecoderSpec &spec,
                                    std::optional<int64_t> inner = std::nullopt, const char *innerKey = "");

/// The names of bamba's feed-forward and norms, which falcon_h1 shares.
void setBambaNames(DecoderSpec &spec);

} // namespace rapt::importing
