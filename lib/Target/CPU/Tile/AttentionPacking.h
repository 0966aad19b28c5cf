//===- AttentionPacking.h - Packs keys and values of attention into panels --*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Tile/AttentionTask.h"

namespace rapt::tile {

/// Packs the keys and values of an op without a cache: each task of a grid packs 32 keys of all heads, which are
/// adjacent in the input. `rows`, `heads`, `queryExtent` and `keyExtent` are the extents of b, hkv, q and kv. Sequences
/// that read the same keys and values share one packed copy, which is as long as the longest needs. Keys beyond a
/// sequence's number repeat its last key. `activeRows` is `rows`, or 0 where tasks pack keys themselves: then none are
/// packed.
PackedKeys packKeys(ImplicitLocOpBuilder &b, const AttentionTask &task, OpFoldResult rows, OpFoldResult heads,
                    OpFoldResult queryExtent, OpFoldResult keyExtent, OpFoldResult activeRows);

/// Packs blocks [from, to) of the task's keys and values, at most `most`, as packKeys does.
WidenedKeys packBlocks(ImplicitLocOpBuilder &b, const AttentionTask &task, Value from, Value to, int64_t most);

/// Packs a block of latents, which are `values` from position `place` on, as the first channels of `keys`, [all/32,
/// channels, 32].
Value packLatents(ImplicitLocOpBuilder &b, const AttentionTask &task, Value place, Value values, Value keys);

} // namespace rapt::tile
