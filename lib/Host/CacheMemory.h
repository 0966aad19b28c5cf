//===- CacheMemory.h - Caches become memory ---------------------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {

/// The layout of a segment of a cache, as a target chooses it. Channels and the block's positions are at most
/// attn::kMostCacheExtent.
using CacheLayoutOf = llvm::function_ref<attn::CacheLayoutInterface(const attn::KVSegment &, int64_t block)>;

/// Where the parts of a cache whose layers, or keys and values, differ lie in a block.
struct CacheParts {
  llvm::SmallVector<attn::CacheLayoutInterface> segments;
  llvm::SmallVector<mlir::RankedTensorType> pools; ///< [blocks, layers, heads, parts, ...]
  llvm::SmallVector<int64_t> at, first;            ///< byte of each part; first part of each segment
  int64_t bytes = 0;                               ///< of a block
};

/// The parts of a cache; none where its blocks are too large. A uniform one has one part.
std::optional<CacheParts> partsOfCache(attn::KVCacheType cache, CacheLayoutOf layoutOf);

/// Caches become memory in the layouts of a target, and ops on them say their layout. A uniform cache is one pool.
/// Another is a tensor of bytes [blocks, bytes of a block], with `attn.cache_parts` where a function begins and
/// `attn.cache_join` where it ends; ops on it work on the pools of their segments. An argument keeps its former type as
/// `attn.cache`. The layout pass of a target runs this.
mlir::LogicalResult materializeCaches(mlir::ModuleOp module, CacheLayoutOf layoutOf);

/// Bytes of a block in memory [blocks, extents of a block]; none of what is no such memory, or has blocks too large.
std::optional<int64_t> bytesOfCacheBlock(mlir::ShapedType memory);

/// Reports a cache that is no memory yet, and memory whose blocks `attn.cache` of no argument describes.
mlir::LogicalResult verifyCacheMemory(mlir::func::FuncOp function);

} // namespace rapt
