//===- TileCode.h - The code of attn_gpu.linear_attention_tile --------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Target/GPU/GlobalArray.h"

namespace rapt::cuda {

/// What both forms need: the arrays, and access to numbers in shared memory.
class LinearAttentionCode {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = llvm::SmallVector<Value>;

  explicit LinearAttentionCode(attn_gpu::LinearAttentionTileOp op);

  Value index(int64_t value);
  Value number(double value);
  Value add(Value x, Value y);
  Value times(Value x, int64_t by);
  Value isBelow(Value x, Value bound);
  Value exponential(Value x);

  /// A loop with carried values.
  Values loop(Value from, Value to, int64_t step, ValueRange init,
              llvm::function_ref<Values(Value i, ValueRange carried)> body);

  /// An element of an array whose indices are inside, as f32; 0 where `isThere` is false.
  Value load(const any_gpu::GlobalArray &array, ValueRange indices, Value isThere);
  /// An element of a token, the same: `column` is below its bound, or it is 0. `count` is above 0.
  Value loadOfToken(const any_gpu::GlobalArray &array, Value first, Value token, Value count, Value column);

  /// A pointer to f32 in shared memory, `at` behind byte `place`.
  Value pointerTo(int64_t place, Value at);
  /// One to four of them beside each other.
  Values read(Value pointer, int64_t count);
  void write(Value pointer, ValueRange values);
  /// Where an element of a tile of f32 is, whose first byte is `place`.
  Value pointerInto(attn_gpu::TileType tile, int64_t place, Value row, Value column);

  attn_gpu::LinearAttentionTileOp op;
  mlir::ImplicitLocOpBuilder b;
  attn_gpu::LinearAttentionTilesAttr tiles;
  any_gpu::GlobalArray query, key, value, result;
  std::optional<any_gpu::GlobalArray> decay, beta;
  bool isByChannel;
  int64_t keys, held, group; ///< key channels; those that threads hold; outputs
  Value thread, shared;      ///< its number; the first byte of shared memory
};

/// The chunked form for the tokens [0, `end`) of whole chunks but for the last one, which may have fewer. The state is
/// in its tile, before and after.
void emitChunks(LinearAttentionCode &code, mlir::Value end);

} // namespace rapt::cuda
