//===- Contracts.cpp - Contracts between stages ----------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/ScalarOps.h"
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
  if (auto attention = dyn_cast<attn::AttentionOp>(op); attention && attention.isPadded())
    return op->emitOpError() << "A6: has the additive vector " << attention.getAdditive().getType() << " for queries "
                             << attention.getQuery().getType() << ": the " << nameOf(stage)
                             << " stage promises an element for each channel";
  if ((channels && channels.isPadded()) ||
      (unpack && unpack.getInput().getType().getShape().back() != unpack.getResult().getType().getShape().back()))
    return op->emitOpError() << "has padded channels: the " << nameOf(stage) << " stage promises logical shapes";
  return success();
}

/// The number of the rule about ops in regions of attention, before a message about one.
StringRef ruleOf(Operation *op) { return isa<attn::ScoreAndMaskOpInterface>(op->getParentOp()) ? "A44: " : ""; }

/// Scalar ops are those that the reference evaluates and every target compiles.
LogicalResult verifyScalarOp(Operation *op, Stage stage) {
  if (isa<arith::ConstantOp>(op) || attn::isScalarOp(op))
    return success();
  InFlightDiagnostic error = op->emitOpError();
  error << ruleOf(op) << "is not a scalar op of the " << nameOf(stage) << " stage";
  if (StringRef instead = attn::insteadOf(op); !instead.empty())
    error << "; use " << instead;
  return error;
}

/// The memory of a cache is a target's, of the stage laid-out.
LogicalResult verifyNoParts(Operation *op, Stage stage) {
  if (isa<attn::CachePartsOp, attn::CacheJoinOp>(op))
    return op->emitOpError() << "is of the laid-out stage: the " << nameOf(stage)
                             << " stage promises caches without a layout";
  return success();
}

/// A layout is of one target, and the first stages of none. A bare kernel alone may say how its caller packs a weight.
LogicalResult verifyNoLayout(Operation *op, Stage stage) {
  Attribute layout = op->getAttr("layout");
  if (isa_and_present<attn::WeightLayoutInterface, attn::CacheLayoutInterface>(layout) &&
      !attn::isKernelModule(op->getParentOfType<ModuleOp>()))
    return op->emitOpError() << (isa<attn::CacheLayoutInterface>(layout) ? "works on a cache" : "reads a weight")
                             << " in the layout " << layout << ": the " << nameOf(stage)
                             << " stage promises logical shapes";
  auto parameter = dyn_cast<attn::ParameterOp>(op);
  if (parameter && (parameter.getLayout() || parameter.getOffset() || parameter.getStride()))
    return op->emitOpError() << "has a layout, offset or stride: the " << nameOf(stage)
                             << " stage promises logical shapes";
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getEncoding())
      return op->emitOpError() << "gives " << tensor << ": the " << nameOf(stage) << " stage promises logical shapes";
  return success();
}

/// The choices of a target, which knows its instructions, are of the stage laid-out. Another check verifies layouts.
LogicalResult verifyNeutral(Operation *op, Stage stage) {
  for (StringRef name : {attn::AttnDialect::scheduleAttr, attn::AttnDialect::targetAttr})
    if (op->hasAttr(name))
      return op->emitOpError() << "has " << name << ": the " << nameOf(stage) << " stage promises code of no target";
  if (stage == Stage::Imported)
    return success();
  static constexpr StringRef dialects[] = {"builtin", "attn", "affine", "arith", "func",
                                           "linalg",  "math", "scf",    "tensor"};
  return verifyAttributes(op, stage, dialects, {"layout"});
}

/// Verifies the promises of imported and canonical about one op.
LogicalResult verifyOp(Operation *op, Stage stage) {
  if (failed(verifyTypes(op, stage)) || failed(verifyNoLayout(op, stage)) || failed(verifyNeutral(op, stage)) ||
      failed(verifyUnpadded(op, stage)) || failed(verifyNoParts(op, stage)))
    return failure();
  if (isa<scf::SCFDialect>(op->getDialect()) && !isa<scf::ForOp, scf::YieldOp>(op))
    return op->emitOpError() << "is not of the " << nameOf(stage) << " stage, whose only loop is scf.for";
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ? verifyScalarOp(op, stage) : success();
}

/// Ops of other dialects say what attn has no word for.
LogicalResult verifyImportedOp(Operation *op) {
  if (isa<attn::AttnDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
      isa<ModuleOp, scf::ForOp, scf::YieldOp, linalg::LinalgOp, linalg::YieldOp, linalg::IndexOp, tensor::CastOp,
          tensor::CollapseShapeOp, tensor::ConcatOp, tensor::DimOp, tensor::EmptyOp, tensor::ExpandShapeOp,
          tensor::ExtractOp, tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::PadOp, tensor::SplatOp,
          tensor::YieldOp>(op))
    return success();
  return op->emitOpError()
         << ruleOf(op)
         << "is not of the imported stage (attn, func, scf.for, arith, math, structured ops of linalg, and "
            "slices, shapes and elements of tensor)";
}

struct VerifyImported : rapt::impl::AttnVerifyImportedBase<VerifyImported> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Imported)))
      return signalPassFailure();
    // attn-declare-kernels names what a kernel's entries do not.
    const bool isNamed = !attn::isKernelModule(getOperation());
    if (failed(verifyEach(getOperation(), [&](Operation *op) -> LogicalResult {
          auto entry = dyn_cast<func::FuncOp>(op);
          if (entry && isNamed && entry->hasAttr(attn::AttnDialect::entryAttr) && failed(verifyEntry(entry)))
            return failure();
          return success(succeeded(verifyImportedOp(op)) && succeeded(verifyOp(op, Stage::Imported)));
        })))
      signalPassFailure();
  }
};

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
          if (failed(verifyOp(op, Stage::Canonical)))
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
