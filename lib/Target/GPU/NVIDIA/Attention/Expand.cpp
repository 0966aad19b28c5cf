//===- Expand.cpp - The code of attn_gpu.attention_tile -----------------------------------===//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/ExpandTiles.h"
#include "lib/Target/GPU/NVIDIA/Attention/TileCode.h"
#include "lib/Target/GPU/NVIDIA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDAEXPANDATTENTION
#include "lib/Target/GPU/NVIDIA/Passes.h.inc"
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
    auto expand = [](Operation *tile) -> LogicalResult {
      auto op = cast<AttentionTileOp>(tile);
      for (Value array : {op.getQuery(), op.getKey(), op.getValue(), op.getResult()})
        if (!cast<MemRefType>(array.getType()).isLastDimUnitStride())
          return op.emitOpError("takes arrays whose channels are beside each other");
      if (op.multipliesFloats())
        emitFloatTile(op);
      else if (op.getWgmma())
        emitWgmmaTile(op);
      else
        emitMmaTile(op);
      return success();
    };
    if (failed(expandTiles(getOperation(), llvm::IsaPred<AttentionTileOp>, expand)))
      signalPassFailure();
  }
};

} // namespace
