//===- VerifyTiled.cpp - Verifies the contract of the stage tiled ---------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Target/CPU/Schedule/Verify.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVERIFYTILED
#include "lib/Target/CPU/Tile/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Whether `op` is computed by a micro-kernel.
bool hasKernel(Operation *op) {
  return isa<linalg::MatmulOp, attn_cpu::PanelMatmulOp, attn_cpu::VnniMatmulOp, attn_cpu::QuantizedMatmulOp,
             attn_cpu::AttentionStateOp>(op);
}

struct VerifyTiled : rapt::impl::AttnVerifyTiledBase<VerifyTiled> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), {Stage::LaidOut, Stage::Tiled})))
      return signalPassFailure();
    if (failed(verifyTarget(getOperation(), Stage::Tiled)) || failed(cpu::verifyModuleSchedule(getOperation())))
      return signalPassFailure();
    if (failed(verifyEach(getOperation(), [](Operation *op) -> LogicalResult {
          for (Type type : op->getResultTypes())
            if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getEncoding())
              return op->emitOpError() << "gives " << tensor << ": upstream ops drop or misread an encoding";
            else if (tensor && isa<attn::QuantizedType>(tensor.getElementType()))
              return op->emitOpError() << "gives " << tensor << ": the tiled stage promises its bytes";
          if (isa<attn_cpu::CastRowsOp>(op) || (attn::isAttnOp(op) && !op->hasTrait<attn::StaysInTiles>()))
            return op->emitOpError("is left whole: the tiled stage promises tiles");
          if (failed(verifyInGrid(op)) || (hasKernel(op) && failed(cpu::kernelOf(op))))
            return failure();
          return verifyDialects<attn::AttnDialect, attn_cpu::AttnCPUDialect, affine::AffineDialect, arith::ArithDialect,
                                func::FuncDialect, linalg::LinalgDialect, math::MathDialect, scf::SCFDialect,
                                tensor::TensorDialect, ub::UBDialect, vector::VectorDialect>(op, Stage::Tiled);
        })))
      signalPassFailure();
  }
};

} // namespace
