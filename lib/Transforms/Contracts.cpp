//===- Contracts.cpp - Contracts between stages ----------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/Shapes.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVERIFYCANONICAL
#define GEN_PASS_DEF_ATTNVERIFYIMPORTED
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

/// Padding is a choice of a target's layout.
LogicalResult verifyUnpadded(Operation *op, Stage stage) {
  auto channels = dyn_cast<attn::ChannelsOpInterface>(op);
  auto unpack = dyn_cast<attn::UnpackRowsOp>(op);
  if ((channels && channels.isPadded()) ||
      (unpack && unpack.getInput().getType().getShape().back() != unpack.getResult().getType().getShape().back()))
    return op->emitOpError() << "has padded channels: the " << nameOf(stage) << " stage promises logical shapes";
  return success();
}

bool isElement(Type type) {
  return isa<Float32Type, BFloat16Type, Float16Type, IndexType>(type) ||
         (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() > 0 && type.getIntOrFloatBitWidth() <= 64);
}

/// Ops of upstream dialects work on scalars and on ranked tensors of them.
LogicalResult verifyTypes(Operation *op) {
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor ? !isElement(tensor.getElementType()) : !isElement(type))
      return op->emitOpError() << "works on " << type << ": arith, math, linalg and tensor of the imported stage work "
                               << "on f32, bf16, f16, index and integers of at most 64 bits, and on tensors of these";
  return success();
}

/// Ops that say what attn has no word for.
bool isUpstreamOp(Operation *op) {
  if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return isa<arith::ConstantOp>(op) || OpTrait::hasElementwiseMappableTraits(op);
  return isa<linalg::LinalgOp, linalg::YieldOp, linalg::IndexOp, tensor::CastOp, tensor::CollapseShapeOp,
             tensor::ConcatOp, tensor::DimOp, tensor::EmptyOp, tensor::ExpandShapeOp, tensor::ExtractOp,
             tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::PadOp, tensor::SplatOp, tensor::YieldOp>(op);
}

/// The memory of a cache is a target's, of the stage laid-out.
LogicalResult verifyNoParts(Operation *op, Stage stage) {
  if (isa<attn::CachePartsOp, attn::CacheJoinOp>(op))
    return op->emitOpError() << "is of the laid-out stage: the " << nameOf(stage)
                             << " stage promises caches without a layout";
  return success();
}

struct VerifyImported : rapt::impl::AttnVerifyImportedBase<VerifyImported> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Imported)))
      return signalPassFailure();
    // attn-declare-kernels names what a kernel's entries do not.
    const bool isNamed = !attn::isKernelModule(getOperation());
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (failed(verifyDim(op)))
        return WalkResult::interrupt();
      if (auto entry = dyn_cast<func::FuncOp>(op); entry && isNamed && entry->hasAttr(attn::AttnDialect::entryAttr))
        return failed(verifyEntry(entry)) ? WalkResult::interrupt() : WalkResult::advance();
      if (failed(verifyUnpadded(op, Stage::Imported)) || failed(verifyNoParts(op, Stage::Imported)))
        return WalkResult::interrupt();
      if (isa<attn::AttnDialect, func::FuncDialect>(op->getDialect()) || isa<ModuleOp, scf::ForOp, scf::YieldOp>(op))
        return WalkResult::advance();
      if (isUpstreamOp(op))
        return failed(verifyTypes(op)) ? WalkResult::interrupt() : WalkResult::advance();
      op->emitOpError("is not of the imported stage (attn, func, scf.for, arith, math, structured ops of linalg, and "
                      "slices, shapes and elements of tensor)");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

/// A layout is of one target, and the stage canonical of none. A bare kernel alone may say how its caller packs a
/// weight.
LogicalResult verifyNoLayout(Operation *op) {
  auto layout = dyn_cast_or_null<attn::WeightLayoutInterface>(op->getAttr("layout"));
  if (layout && !attn::isKernelModule(op->getParentOfType<ModuleOp>()))
    return op->emitOpError() << "reads a weight in the layout " << layout
                             << ": the canonical stage promises logical shapes";
  auto parameter = dyn_cast<attn::ParameterOp>(op);
  if (parameter && (parameter.getLayout() || parameter.getOffset() || parameter.getStride()))
    return op->emitOpError("has a layout, offset or stride: the canonical stage promises logical shapes");
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getEncoding())
      return op->emitOpError() << "gives " << tensor << ": the canonical stage promises logical shapes";
  return success();
}

/// The choices of a target, which knows its instructions, are of the stage laid-out. A layout is another check's
/// affair.
LogicalResult verifyNeutral(Operation *op) {
  for (StringRef name : {attn::AttnDialect::scheduleAttr, attn::AttnDialect::targetAttr})
    if (op->hasAttr(name))
      return op->emitOpError() << "has " << name << ": the canonical stage promises code of no target";
  static constexpr StringRef dialects[] = {"builtin", "attn", "affine", "arith", "func",
                                           "linalg",  "math", "scf",    "tensor"};
  return verifyAttributes(op, Stage::Canonical, dialects, {"layout"});
}

/// A loop's tensors stay in one memory, so an iteration keeps their extents.
LogicalResult verifyLoop(scf::ForOp loop, Shapes &shapes) {
  for (auto [init, yielded] : llvm::zip_equal(loop.getInitArgs(), loop.getYieldedValues())) {
    auto type = dyn_cast<RankedTensorType>(init.getType());
    for (unsigned i = 0; type && i < type.getRank(); ++i) {
      attn::Polynomial change = shapes.dim(yielded, i) - shapes.dim(init, i);
      if (change.asNumber() != 0)
        return loop.emitOpError() << "carries " << type << ", whose extent " << i
                                  << " is not known to stay the same: the canonical stage promises that an iteration "
                                  << "keeps the extents of what it carries";
    }
  }
  return success();
}

struct VerifyCanonical : rapt::impl::AttnVerifyCanonicalBase<VerifyCanonical> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), {Stage::Imported, Stage::Canonical})))
      return signalPassFailure();
    Shapes shapes;
    if (failed(verifyEach(getOperation(), [&](Operation *op) -> LogicalResult {
          if (failed(verifyNoLayout(op)) || failed(verifyNeutral(op)) || failed(verifyUnpadded(op, Stage::Canonical)) ||
              failed(verifyNoParts(op, Stage::Canonical)))
            return failure();
          if (auto loop = dyn_cast<scf::ForOp>(op); loop && failed(verifyLoop(loop, shapes)))
            return failure();
          if (auto function = op->getParentOfType<func::FuncOp>();
              isa<attn::ParameterSliceOp>(op) && function && !function->hasAttr(attn::AttnDialect::entryAttr))
            return op->emitOpError() << "is in '" << function.getSymName() << "', which is no entry: weights belong to "
                                     << "functions with " << attn::AttnDialect::entryAttr;
          if (isa<func::CallOp>(op))
            return op->emitOpError("is left: the canonical stage promises that blocks are inlined into the layer loop");
          return verifyDialects<attn::AttnDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                                math::MathDialect, scf::SCFDialect, tensor::TensorDialect>(op, Stage::Canonical);
        })))
      signalPassFailure();
  }
};

} // namespace
