//===- DeltaRule.h - Names of parts of the delta rule --------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/MixerSpec.h"

namespace rapt::importing {

/// Names parts of a delta rule whose queries, keys and values have a projection and a convolution each; the spec has
/// the sizes. `part` is ahead of the names.
inline void setSeparateParts(DeltaRuleSpec &spec, const std::string &part, int64_t taps) {
  spec.mixed = part + "qkv_proj";
  spec.separate = {part + "q_proj", part + "k_proj", part + "v_proj"};
  spec.convolution = {.part = part + "conv1d",
                      .joined = {{part + "q_conv1d", spec.keyColumns()},
                                 {part + "k_conv1d", spec.keyColumns()},
                                 {part + "v_conv1d", spec.valueColumns()}},
                      .taps = taps};
  spec.beta = part + "b_proj";
  spec.decayBias = part + "dt_bias";
  spec.decayScale = part + "A_log";
  spec.norm.part = part + "o_norm";
  spec.out = part + "o_proj";
}

} // namespace rapt::importing
