//===- StackParameters.h - The weights of a stack of layers --------------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ParameterScope.h"
#include "lib/Import/Parts/StackSpec.h"

namespace rapt::importing {

/// The weights of a normalization of `width` columns, those that it has; none where the part has no name.
void addNorm(const ParameterScope &scope, const std::string &part, const NormSpec &norm, int64_t width);

/// The weights of a stack's layers. `layer` is their scope, whose stack they share unless all layers have the same
/// weights.
void addLayers(const StackSpec &spec, const ParameterScope &layer);

/// The name of a part of all experts, for symbols: "mlp.experts.up_proj" of "mlp.experts.{expert}.up_proj".
std::string partOfExperts(const std::string &part);

} // namespace rapt::importing
