//===- CacheBlock.h - Keys and values of one head in a block of the cache --*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/CacheLayout.h"
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// Index of keys and of values in a block.
enum CachePart : int64_t { Keys = 0, Values = 1 };

/// One head's part of a block, [{keys, values}, lines, columns] as attn_cpu::CacheLayout has it; `isAlone`: of a pool
/// of keys or values alone, [1, lines, columns]. Functions that write give the new tensor; `read(b, channel)` gives
/// channels [channel, channel + 32) of a key or value in f32, `read(b, i, channel, count)` as many of key i. Layouts
/// with scales make codes with `inverses`, [2, block] in f32, which writeScale fills; it is null for the others.
class CacheBlock {
public:
  using Read = llvm::function_ref<Value(ImplicitLocOpBuilder &, Value channel)>;
  using ReadNth = llvm::function_ref<Value(ImplicitLocOpBuilder &, int64_t i, Value channel, int64_t count)>;

  explicit CacheBlock(const attn_cpu::CacheLayout &layout, bool isAlone = false) : layout(layout), isAlone(isAlone) {}

  /// The scale of the key or value at `place`, and what makes its codes: new {dest, inverses}.
  std::pair<Value, Value> writeScale(ImplicitLocOpBuilder &b, CachePart part, Value place, Read read, Value dest,
                                     Value inverses) const;
  /// A key to `place`: a column of a panel. Reads and writes positions beside it, too, which stay as they are.
  Value writeKey(ImplicitLocOpBuilder &b, Value place, Read read, Value inverses, Value dest) const;
  /// Writes kTransposed keys from position `place` on, a multiple of kTransposed.
  Value writeKeys(ImplicitLocOpBuilder &b, Value place, ReadNth read, Value inverses, Value dest) const;
  /// A value to `place`: rows of the panels.
  Value writeValue(ImplicitLocOpBuilder &b, Value place, Read read, Value inverses, Value dest) const;

  /// Keys or values of `block` in f32 into `dest`, keys [all/32, channels, 32], values [channels/32, all, 32], from
  /// place `place` on, a multiple of 32. Keys are behind `channelsBefore` channels of `dest`.
  Value widen(ImplicitLocOpBuilder &b, CachePart part, Value block, Value place, Value dest,
              int64_t channelsBefore = 0) const;

  /// A channel of the key at `place` in f32; `at` is where the head's part lies in the pool: [block, layer, head].
  Value readKeyElement(ImplicitLocOpBuilder &b, Value pool, ValueRange at, Value place, Value channel) const;

private:
  /// The first index of keys or values.
  Value placeOf(ImplicitLocOpBuilder &b, CachePart part) const;
  Value roundedKey(ImplicitLocOpBuilder &b, Read read, Value inverse) const;
  Value keyLine(ImplicitLocOpBuilder &b, Value place, Value channel) const;
  /// The first of the elements that a position has in its lines of keys.
  Value keyColumn(ImplicitLocOpBuilder &b, Value place) const;
  Value scaleLine(ImplicitLocOpBuilder &b, Value place) const;
  Value scaleColumn(ImplicitLocOpBuilder &b, Value place) const;
  /// The panels of a line in f32.
  llvm::SmallVector<Value> widened(ImplicitLocOpBuilder &b, Value block, Value part, Value line, Value scales) const;
  /// Numbers in f32 as elements of the same lanes; not for layouts of pairs.
  Value stored(ImplicitLocOpBuilder &b, Value numbers, Value inverse) const;

  attn_cpu::CacheLayout layout;
  bool isAlone;
};

} // namespace rapt::tile
