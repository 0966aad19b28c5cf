//===- LowerCopies.cpp - Copies as loops --------------------------------------------------===//
#include "lib/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLOWERCOPIES
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;

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

struct LowerCopies : rapt::impl::AttnLowerCopiesBase<LowerCopies> {
  void runOnOperation() override {
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp copy) { copies.push_back(copy); });
    for (memref::CopyOp copy : copies) {
      if (!samePlace(copy.getSource(), copy.getTarget())) {
        ImplicitLocOpBuilder b(copy.getLoc(), copy);
        Value zero = arith::ConstantIndexOp::create(b, 0), one = arith::ConstantIndexOp::create(b, 1);
        SmallVector<Value> indices;
        for (int64_t i = 0; i < cast<MemRefType>(copy.getSource().getType()).getRank(); ++i) {
          Value extent = b.createOrFold<memref::DimOp>(copy.getSource(), i);
          auto loop = scf::ForOp::create(b, zero, extent, one);
          indices.push_back(loop.getInductionVar());
          b.setInsertionPointToStart(loop.getBody());
        }
        Value element = memref::LoadOp::create(b, copy.getSource(), indices);
        memref::StoreOp::create(b, element, copy.getTarget(), indices);
      }
      copy.erase();
    }
  }
};

} // namespace
