//===- Encode.h - The sources of sequences ------------------------------------------===//
#pragma once
#include "lib/Runtime/Context.h"

namespace rapt::runtime {

/// rapt_encode for a caller that holds the context already.
rapt_status encode(rapt_context &context, const StructArray<const rapt_source> &sources, size_t count,
                   const Report &report);

} // namespace rapt::runtime
