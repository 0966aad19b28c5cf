//===- CacheParts.h - Caches whose layers, or keys and values, differ ------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {

/// The memory of a segment of a cache, tensors [blocks, layers, heads, ...]: one of keys and values, where they are
/// equal, or one of each.
using CachePools = llvm::SmallVector<mlir::RankedTensorType, 2>;
using CachePoolsOf = llvm::function_ref<CachePools(const attn::KVSegment &, int64_t block)>;

/// Caches that are not uniform become tensors of bytes [blocks, bytes of a block], with `attn.cache_parts` where a
/// function begins and `attn.cache_join` where it ends; ops on them work on the pools of their segments. The layout
/// pass of a target runs this, and knows the pools.
mlir::LogicalResult splitCaches(mlir::ModuleOp module, CachePoolsOf poolsOf);

} // namespace rapt
