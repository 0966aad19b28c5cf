//===- LowerCopies.cpp - Copies as loops --------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLOWERCOPIES
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using rapt::attn::kPanel;

namespace {

/// Both are the same place: the same value, or subviews of one value with the same operands.
bool samePlace(Value a, Value b) {
  if (a == b)
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  return isa_and_nonnull<memref::SubViewOp>(x) && isa_and_nonnull<memref::SubViewOp>(y) &&
         x->getAttrs() == y->getAttrs() && x->getPropertiesAsAttribute() == y->getPropertiesAsAttribute() &&
         x->getOperands() == y->getOperands();
}

/// Whether rows of both are whole panels whose elements lie side by side.
bool hasPanels(MemRefType source, MemRefType target) {
  return source.getRank() > 0 && !source.isDynamicDim(source.getRank() - 1) && source.getShape().back() % kPanel == 0 &&
         source.isLastDimUnitStride() && target.isLastDimUnitStride();
}

struct LowerCopies : rapt::impl::AttnLowerCopiesBase<LowerCopies> {
  void runOnOperation() override {
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp copy) { copies.push_back(copy); });
    for (memref::CopyOp copy : copies) {
      if (!samePlace(copy.getSource(), copy.getTarget())) {
        ImplicitLocOpBuilder b(copy.getLoc(), copy);
        lower(b, copy.getSource(), copy.getTarget());
      }
      copy.erase();
    }
  }

  static void lower(ImplicitLocOpBuilder &b, Value source, Value target) {
    auto type = cast<MemRefType>(source.getType());
    const bool byPanels = hasPanels(type, cast<MemRefType>(target.getType()));
    Value zero = arith::ConstantIndexOp::create(b, 0);
    SmallVector<Value> indices;
    for (int64_t i = 0; i < type.getRank(); ++i) {
      Value extent = b.createOrFold<memref::DimOp>(source, i);
      const int64_t step = byPanels && i + 1 == type.getRank() ? kPanel : 1;
      auto loop = scf::ForOp::create(b, zero, extent, arith::ConstantIndexOp::create(b, step));
      indices.push_back(loop.getInductionVar());
      b.setInsertionPointToStart(loop.getBody());
    }
    if (byPanels) {
      auto panel = VectorType::get({kPanel}, type.getElementType());
      Value elements = vector::LoadOp::create(b, panel, source, indices);
      vector::StoreOp::create(b, elements, target, indices);
    } else {
      Value element = memref::LoadOp::create(b, source, indices);
      memref::StoreOp::create(b, element, target, indices);
    }
  }
};

} // namespace
