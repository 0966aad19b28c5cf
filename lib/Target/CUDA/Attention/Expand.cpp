//===- Expand.cpp - The code of attn_gpu.attention_tile -----------------------------------===//
//===----------------------------------------------------------------------===//
#include "lib/Target/CUDA/Attention/TileCode.h"
#include "lib/Target/CUDA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDAEXPANDATTENTION
#include "lib/Target/CUDA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

struct ExpandAttention : rapt::impl::AttnCUDAExpandAttentionBase<ExpandAttention> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    SmallVector<AttentionTileOp> tiles;
    getOperation()->walk([&](AttentionTileOp op) { tiles.push_back(op); });
    for (AttentionTileOp op : tiles) {
      if (!isa<MemRefType>(op.getQuery().getType()) || !op->getParentOfType<gpu::GPUModuleOp>()) {
        op.emitOpError("is expanded in a GPU module, on buffers");
        return signalPassFailure();
      }
      for (Value array : {op.getQuery(), op.getKey(), op.getValue(), op.getResult()})
        if (!cast<MemRefType>(array.getType()).isLastDimUnitStride()) {
          op.emitOpError("takes arrays whose channels are beside each other");
          return signalPassFailure();
        }
      if (op.multipliesFloats())
        emitFloatTile(op);
      else if (op.getWgmma())
        emitWgmmaTile(op);
      else
        emitMmaTile(op);
      op.erase();
    }
  }
};

} // namespace
