//===- Conversion.h - Runs of values from one storage type to another ----------===//
//
// Rounding is to nearest even and our own, so that packing gives the same bytes on
// every machine. NaN stays NaN (its upper payload bits kept), infinities stay.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/Parameter.h"
#include <cstddef>

namespace rapt::artifact {

/// Converts `count` values from `source` (type `from`) to `target` (type `to`); the two may not overlap unless they are
/// the same address and the types are equal. Returns false when a finite value became infinite (f16 ends at 65504).
bool convert(const std::byte *source, DType from, std::byte *target, DType to, size_t count);

const char *nameOf(DType type); ///< "f32", "bf16", "f16"

} // namespace rapt::artifact
