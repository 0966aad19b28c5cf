//===- AttnGPU.h - The dialect of NVIDIA GPUs -----------------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnDialect.h"
#include "dialect/AttnGPU/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/AttnGPU/AttnGPUDialect.h.inc"
#include "dialect/AttnGPU/AttnGPUEnums.h.inc"
#include "dialect/AttnGPU/AttnGPUInterfaces.h.inc"
#include "dialect/AttnGPU/AttnGPUOpInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnGPU/AttnGPUAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/AttnGPU/AttnGPUTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/AttnGPU/AttnGPUOps.h.inc"

namespace rapt::attn_gpu {
/// The effects of an op with destinations on buffers: it writes these and reads the others.
void addTileEffects(mlir::DestinationStyleOpInterface op,
                    llvm::SmallVectorImpl<mlir::MemoryEffects::EffectInstance> &effects);

/// The type of an element of a fragment, or of a value of a row.
mlir::Type scalarOf(mlir::Type type);

/// The schedule of an op; null where it has none, or one of another kind.
template <typename Schedule> Schedule scheduleOf(mlir::Operation *op) {
  return llvm::dyn_cast_if_present<Schedule>(op->getDiscardableAttr(AttnGPUDialect::scheduleAttr));
}
/// Whether it multiplies f32, or as f32.
bool isOfFloats(MatmulKind kind);

/// Whether a region takes a row and yields an offset.
bool isRowOffset(mlir::Region &region);
/// How a tile of a matmul is divided among warps, that down times that across; {0, 0} where it cannot be.
std::pair<int64_t, int64_t> gridOfWarps(int64_t rows, int64_t columns, int64_t warps);
/// The region of a matmul's element: it takes a sum, its row and column, and yields the result's element.
mlir::LogicalResult verifyLinearEpilogue(mlir::Operation *op, mlir::Region &epilogue, mlir::Region &pairs);
/// Whether so many threads can copy a tile by asynchronous copies: whole rows of boxes at a time, the same number each.
bool canCopyRows(TileType tile, int64_t threads);
} // namespace rapt::attn_gpu
