//===- Sync.h - Order between thread blocks through device memory -----------===//
//
// A block that stores with release, or adds atomically behind a fence, makes its writes
// known to the blocks that read the value. The simulator keeps this for whole blocks.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "test/Simulator/PTX/Block.h"

namespace rapt::ptx {

/// Whoever acquires from `address` later knows what this block has written.
void releaseTo(Execution &execution, uint64_t address);

/// This block knows what those have written that released to `address`.
void acquireFrom(Execution &execution, uint64_t address);

/// As acquireFrom, but only after the block's next fence.
void observe(Execution &execution, uint64_t address);

/// membar or fence: what was observed is acquired.
void fenceBlock(Execution &execution);

} // namespace rapt::ptx
