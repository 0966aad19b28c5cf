//===- Columns.h - Columns in memory and columns that count ----------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// The first elements of `value` along each dim, as many as `type` has. Behind them are zeros, if `zerosBehind` is
/// true.
mlir::Value cutTo(mlir::ImplicitLocOpBuilder &b, mlir::Value value, mlir::RankedTensorType type,
                  bool zerosBehind = true);

/// `value` without the padding behind each `group` columns, as `type`; with a group of 0, the first columns as cutTo
/// gives them.
mlir::Value cutGroups(mlir::ImplicitLocOpBuilder &b, mlir::Value value, mlir::RankedTensorType type, int64_t group);

/// `value`, of as many columns as `type` and padding behind them, with zeros behind each `group` columns instead.
mlir::Value padGroups(mlir::ImplicitLocOpBuilder &b, mlir::Value value, mlir::RankedTensorType type, int64_t group);

/// Columns of a part of `value` where panels pad each part, else 0.
int64_t paddedGroup(mlir::Value value);

/// No slice below `root` is one of cutTo, whatever the text says.
void forgetCuts(mlir::Operation *root);

/// `value` with zeros up to `columns` elements of the last dim: the tensor that cutTo cut it off, or a copy.
mlir::Value padTo(mlir::ImplicitLocOpBuilder &b, mlir::Value value, int64_t columns);

/// A weight [k, n] of a matmul, which is no parameter: as it is where its columns fill panels, else packed panels
/// [n/32, k, 32].
mlir::Value packWeight(mlir::ImplicitLocOpBuilder &b, attn::LinearOp op);

} // namespace rapt::cpu
