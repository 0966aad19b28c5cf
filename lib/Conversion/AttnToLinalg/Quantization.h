//===- Quantization.h - Quantised matrices as bytes --------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/Tile.h"

namespace rapt::tile {

/// The quantised type of a parameter's slice in panels [n/32, k, 32], or null of any other value.
attn::QuantizedType quantizedPanels(Value slice);

/// The same slice as bytes, [n/32, groups, bytes of a group].
Value bytesOf(ImplicitLocOpBuilder &b, Value slice);

/// scale * (code - zero) of row `row` (an index below `depth`) in lane `lane` of panel `panel`.
Value readElement(ImplicitLocOpBuilder &b, Value bytes, attn::QuantizedType type, int64_t depth, Value panel, Value row,
                  Value lane);

} // namespace rapt::tile
