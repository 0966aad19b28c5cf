//===- MbarrierState.h - Barriers in shared memory ---------------------------===//
#pragma once
#include "test/Simulator/PTX/Block.h"

namespace rapt::ptx {

/// The barrier at a shared address; null, with a finding, where none was initialized.
Mbarrier *findMbarrier(Execution &execution, uint64_t address);

/// The shared address that an address of .shared or a generic one names.
uint64_t sharedAddress(Space space, uint64_t address);

/// Counts arrivals; the phase ends when all expected ones and all expected bytes are there.
void arrive(Mbarrier &barrier, uint32_t count, const Knowledge &released);
void expectBytes(Mbarrier &barrier, int64_t bytes);
/// Bytes that a copy has written; `released` is what its issuer knew.
void completeBytes(Mbarrier &barrier, int64_t bytes, const Knowledge &released);

} // namespace rapt::ptx
