//===- Splits.h - Attention whose keys several thread blocks share ----------------*- C++ -*-===//
//
// Flash-decoding (Dao et al. 2023): where there are few tiles of queries, thread blocks have parts
// of their keys. Each part has a result in f32, the largest score and the sum of exponentials of
// the distances to it, and a second kernel adds up the results by them. A log-sum-exp would lose
// the sums of scores as large as f32 can be.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"

namespace rapt::any_gpu {

/// Into how many parts the keys of a grid's tiles are split, an index; 0: they are not.
mlir::Value countSplits(mlir::ImplicitLocOpBuilder &b, const neutral::AttentionOperands &operands,
                        attn_gpu::AttentionScheduleAttr schedule, llvm::ArrayRef<mlir::OpFoldResult> grid);

/// A grid over the elements of `init`: `body` makes the one at `at`.
mlir::Value
forElements(mlir::ImplicitLocOpBuilder &b, mlir::Value init,
            llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &, llvm::ArrayRef<mlir::Value> at)> body);

/// Results of parts, [splits, dims of the result] of f32, their largest scores and their sums, [splits, dims of the
/// op's log-sum-exp]. `lseDims` are the dims of the result that the latter has.
llvm::SmallVector<mlir::Value> emptyParts(mlir::ImplicitLocOpBuilder &b, mlir::OpFoldResult splits,
                                          llvm::ArrayRef<mlir::OpFoldResult> shape, mlir::ArrayRef<int64_t> lseDims);

/// The op's results, result and log-sum-exp, from those of the parts, in `inits`.
llvm::SmallVector<mlir::Value> combineParts(mlir::ImplicitLocOpBuilder &b, const neutral::AttentionOperands &operands,
                                            llvm::ArrayRef<mlir::Value> parts, mlir::ArrayRef<int64_t> lseDims,
                                            mlir::ValueRange inits);

} // namespace rapt::any_gpu
