//===- Rotation.h - Rotary embedding of heads in a tile -----------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// Cuts [0, count) into chunks of `width` and a narrower last one, each a vector of its own.
void forChunks(int64_t count, int64_t width, llvm::function_ref<void(int64_t first, int64_t size)> body);

/// Writes chunks of [0, count) into `init`: `body` gives `carried` with one chunk written. Many chunks are a loop, so
/// that code does not grow with the extent.
Value overChunks(
    ImplicitLocOpBuilder &b, int64_t count, int64_t width, Value init,
    llvm::function_ref<Value(ImplicitLocOpBuilder &, OpFoldResult first, int64_t size, Value carried)> body);

/// `size` numbers of a row from `indices` on.
Value readChunk(ImplicitLocOpBuilder &b, Value tensor, mlir::ValueRange indices, int64_t size);
/// Writes a vector from `indices` on; gives the new tensor.
Value writeChunk(ImplicitLocOpBuilder &b, Value chunk, Value tensor, mlir::ValueRange indices);

/// Where channel `channel` of a head lies in a tensor.
using HeadPlace = llvm::function_ref<llvm::SmallVector<Value>(Value head, OpFoldResult channel)>;

/// Rotates `heads` heads of one token, as `op` says: from `source` into `out`, or in `out` where `source` is null.
/// Channels that pass are not copied. Gives the new `out`.
Value rotateHeads(ImplicitLocOpBuilder &b, attn::RopeOp op, Value token, Value heads, Value source, HeadPlace from,
                  Value out, HeadPlace to);

} // namespace rapt::tile
