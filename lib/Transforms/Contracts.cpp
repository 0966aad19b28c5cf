//===- Contracts.cpp - What each stage promises to the next ----------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVERIFYBACKEND
#define GEN_PASS_DEF_ATTNVERIFYCANONICAL
#define GEN_PASS_DEF_ATTNVERIFYIMPORTED
#define GEN_PASS_DEF_ATTNVERIFYTILED
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Entries name every argument and result, for they become the buffers of the artifact.
LogicalResult verifyEntry(func::FuncOp entry) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (!entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr))
      return entry.emitOpError() << "argument " << i << " of an entry needs " << attn::AttnDialect::nameAttr;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (!entry.getResultAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr))
      return entry.emitOpError() << "result " << i << " of an entry needs " << attn::AttnDialect::nameAttr;
  return success();
}

/// Nothing is padded yet, so the vector of an additive similarity is as long as the query's channels are many.
template <typename Op> LogicalResult verifyAdditive(Op op) {
  if (!op.getAdditive())
    return success();
  auto query = cast<RankedTensorType>(op.getQuery().getType()),
       vector = cast<RankedTensorType>(op.getAdditive().getType());
  if (int64_t channels = query.getDimSize(*op.dimOf(0, attn::AttentionOp::DQK));
      ShapedType::isDynamic(channels) || channels == vector.getDimSize(0))
    return success();
  return op.emitOpError() << "needs an additive vector with an element for each channel of " << query << ", found "
                          << vector;
}

/// A dim that a shape does not have is undefined behavior of upstream's ops: their verifiers accept it, and their
/// lowerings read past the shape.
LogicalResult verifyDim(Operation *op) {
  auto dim = dyn_cast<ShapedDimOpInterface>(op);
  if (!dim)
    return success();
  auto type = cast<ShapedType>(dim.getShapedValue().getType());
  const std::optional<int64_t> index = getConstantIntValue(dim.getDimension());
  if (!index || !type.hasRank())
    return op->emitOpError("needs a constant index and a ranked type, as the dims of a shape are known");
  if (*index < 0 || *index >= type.getRank())
    return op->emitOpError() << "asks for dim " << *index << " of " << type << ", which has " << type.getRank();
  return success();
}

struct VerifyImported : rapt::impl::AttnVerifyImportedBase<VerifyImported> {
  void runOnOperation() override {
    // attn-declare-kernels names what a kernel's entries do not.
    const bool isNamed = !attn::isKernelModule(getOperation());
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (failed(verifyDim(op)))
        return WalkResult::interrupt();
      if (auto entry = dyn_cast<func::FuncOp>(op); entry && isNamed && entry->hasAttr(attn::AttnDialect::entryAttr))
        return failed(verifyEntry(entry)) ? WalkResult::interrupt() : WalkResult::advance();
      if (auto attention = dyn_cast<attn::AttentionOp>(op); attention && failed(verifyAdditive(attention)))
        return WalkResult::interrupt();
      if (auto weights = dyn_cast<attn::AttentionWeightsOp>(op); weights && failed(verifyAdditive(weights)))
        return WalkResult::interrupt();
      if (isa<attn::AttnDialect, arith::ArithDialect, math::MathDialect, func::FuncDialect>(op->getDialect()) ||
          isa<ModuleOp, scf::ForOp, scf::YieldOp, tensor::DimOp, tensor::EmptyOp>(op))
        return WalkResult::advance();
      op->emitOpError(
          "is not of the imported stage (attn, func, scf.for, tensor.dim, tensor.empty, scalar arith and math)");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

/// Runs `verify`, which reports what it finds, on every op.
LogicalResult verifyEach(ModuleOp module, function_ref<LogicalResult(Operation *)> verify) {
  return success(!module
                      .walk([&](Operation *op) {
                        return failed(verifyDim(op)) || failed(verify(op)) ? WalkResult::interrupt()
                                                                           : WalkResult::advance();
                      })
                      .wasInterrupted());
}

struct VerifyCanonical : rapt::impl::AttnVerifyCanonicalBase<VerifyCanonical> {
  void runOnOperation() override {
    if (failed(verifyEach(getOperation(), [](Operation *op) -> LogicalResult {
          auto parameter = dyn_cast<attn::ParameterOp>(op);
          if (parameter && (!parameter.getLayout() || !parameter.getOffset() || !parameter.getStride()))
            return op->emitOpError("has no layout, offset and stride, which the canonical stage promises");
          if (auto function = op->getParentOfType<func::FuncOp>();
              isa<attn::ParameterSliceOp>(op) && function && !function->hasAttr(attn::AttnDialect::entryAttr))
            return op->emitOpError() << "is in '" << function.getSymName() << "', which is no entry: weights belong to "
                                     << "functions with " << attn::AttnDialect::entryAttr;
          if (isa<func::CallOp>(op))
            return op->emitOpError("is left: the canonical stage promises that blocks are inlined into the layer loop");
          if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<attn::KVCacheType>))
            return op->emitOpError("gives a cache without a layout, which the canonical stage promises");
          return success();
        })))
      signalPassFailure();
  }
};

struct VerifyTiled : rapt::impl::AttnVerifyTiledBase<VerifyTiled> {
  void runOnOperation() override {
    if (failed(verifyEach(getOperation(), [](Operation *op) -> LogicalResult {
          for (Type type : op->getResultTypes())
            if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getEncoding())
              return op->emitOpError() << "gives " << tensor << ": upstream ops drop or misread an encoding";
            else if (tensor && isa<attn::QuantizedType>(tensor.getElementType()))
              return op->emitOpError() << "gives " << tensor << ": the tiled stage promises its bytes";
          if (isa<attn::AttnDialect>(op->getDialect()) &&
              !isa<attn::ParameterOp, attn::ParameterSliceOp, attn::DimOp, attn::DimSizeOp, attn::AttentionStateOp,
                   attn::AttentionMergeOp, attn::LookupOp, attn::PairedProductOp, attn::QuantizedProductOp,
                   attn::YieldOp>(op))
            return op->emitOpError("is left whole: the tiled stage promises tiles");
          return success();
        })))
      signalPassFailure();
  }
};

struct VerifyBackend : rapt::impl::AttnVerifyBackendBase<VerifyBackend> {
  void runOnOperation() override {
    if (failed(verifyEach(getOperation(), [](Operation *op) -> LogicalResult {
          if (isa<memref::AllocOp, memref::CopyOp>(op))
            return op->emitOpError(
                "is left: the backend stage promises code that neither allocates nor copies buffers");
          if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
            return op->emitOpError("gives a tensor: the backend stage promises buffers");
          return success();
        })))
      signalPassFailure();
  }
};

} // namespace
