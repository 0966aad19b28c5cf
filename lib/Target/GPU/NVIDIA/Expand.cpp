//===- Expand.cpp - Tiles become the code of a thread block -------------------------------===//
#include "lib/Target/GPU/NVIDIA/Expand.h"
#include "lib/Target/GPU/ExpandTiles.h"
#include "lib/Target/GPU/NVIDIA/Attention/TileCode.h"
#include "lib/Target/GPU/NVIDIA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDAEXPAND
#include "lib/Target/GPU/NVIDIA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

LogicalResult cuda::expand(AttentionTileOp op) {
  for (Value array : {op.getQuery(), op.getKey(), op.getValue(), op.getResult()})
    if (!cast<MemRefType>(array.getType()).isLastDimUnitStride())
      return op.emitOpError("takes arrays whose channels are beside each other");
  if (op.multipliesFloats())
    emitFloatTile(op);
  else if (op.isOfWarpgroups())
    emitWgmmaTile(op);
  else
    emitMmaTile(op);
  return success();
}

namespace {

struct Expand : rapt::impl::AttnCUDAExpandBase<Expand> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    auto isTile = llvm::IsaPred<AttentionTileOp, LinearAttentionTileOp, LinearTileOp, NormTileOp, QuantizedLinearTileOp,
                                QuantizeTileOp>;
    auto expand = [](Operation *op) -> LogicalResult {
      return llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case<AttentionTileOp, LinearAttentionTileOp, LinearTileOp, NormTileOp, QuantizedLinearTileOp,
                QuantizeTileOp>([](auto tile) { return cuda::expand(tile); });
    };
    if (failed(any_gpu::expandTiles(getOperation(), isTile, expand)))
      signalPassFailure();
  }
};

} // namespace
