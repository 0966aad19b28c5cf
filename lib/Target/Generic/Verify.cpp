//===- Verify.cpp - Contracts of the generic target's stages -----------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Conversion/Schedule.h"
#include "lib/Host/CacheMemory.h"
#include "lib/Target/Generic/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVERIFYGENERIC
#include "lib/Target/Generic/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct VerifyGeneric : rapt::impl::AttnVerifyGenericBase<VerifyGeneric> {
  using AttnVerifyGenericBase::AttnVerifyGenericBase;

  void runOnOperation() override {
    const Stage stage = tiled ? Stage::Tiled : Stage::LaidOut;
    if (failed(checkStage(*this, getOperation(), {tiled ? Stage::LaidOut : Stage::Canonical, stage})))
      return signalPassFailure();
    if (failed(verifyTarget(getOperation(), stage)) ||
        failed(verifyEach(getOperation(), [&](Operation *op) { return verify(op, stage); })) ||
        (!tiled && failed(neutral::verifyLinalgTiles(getOperation()))))
      signalPassFailure();
  }

  LogicalResult verify(Operation *op, Stage stage) {
    auto parameter = dyn_cast<attn::ParameterOp>(op);
    if (parameter && (!parameter.getLayout() || !parameter.getOffset() || !parameter.getStride()))
      return op->emitOpError() << "has no layout, offset and stride, which the " << nameOf(stage) << " stage promises";
    if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<attn::KVCacheType>))
      return op->emitOpError() << "gives a cache without a layout, which the " << nameOf(stage) << " stage promises";
    if (auto function = dyn_cast<func::FuncOp>(op); function && failed(verifyCacheMemory(function)))
      return failure();
    if (tiled && attn::isAttnOp(op) && !op->hasTrait<attn::StaysInTiles>())
      return op->emitOpError("is left whole: the tiled stage promises tiles");
    if (tiled && failed(verifyInGrid(op)))
      return failure();
    if (failed(neutral::verifyTiles(op)))
      return failure();
    if (tiled && llvm::is_contained(dialects, op->getName().getDialectNamespace()))
      return verifyTypes(op, stage);
    if (failed(verifyDialects<attn::AttnDialect, affine::AffineDialect, arith::ArithDialect, func::FuncDialect,
                              linalg::LinalgDialect, math::MathDialect, scf::SCFDialect, tensor::TensorDialect>(op,
                                                                                                                stage)))
      return failure();
    return verifyTypes(op, stage);
  }
};

} // namespace
