//===- LowerCopies.cpp - Lowers memref.copy to loops over vectors -------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Analysis/ElementSize.h"
#include "lib/Conversion/Copies.h"
#include "lib/Target/CPU/Codegen/Passes.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLOWERCOPIES
#include "lib/Target/CPU/Codegen/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using rapt::attn_cpu::CopyScheduleAttr;
using rapt::attn_cpu::kLineBytes;
using rapt::attn_cpu::kPanel;

namespace {

/// Whether the rows of both buffers are contiguous and a multiple of 32 elements.
bool hasPanels(MemRefType source, MemRefType target) {
  return source.getRank() > 0 && VectorType::isValidElementType(source.getElementType()) &&
         !source.isDynamicDim(source.getRank() - 1) && source.getShape().back() % kPanel == 0 &&
         source.isLastDimUnitStride() && target.isLastDimUnitStride();
}

struct LowerCopies : rapt::impl::AttnLowerCopiesBase<LowerCopies> {
  void runOnOperation() override {
    if (failed(rapt::checkStage(*this, getOperation(), rapt::Stage::Tiled)))
      return signalPassFailure();
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp copy) { copies.push_back(copy); });
    for (memref::CopyOp copy : copies) {
      if (!rapt::isOntoItself(copy)) {
        ImplicitLocOpBuilder b(copy.getLoc(), copy);
        const auto schedule = rapt::attn_cpu::ModuleScheduleAttr::around(copy);
        lower(b, schedule ? schedule.getCopies() : CopyScheduleAttr(), copy.getSource(), copy.getTarget());
      }
      copy.erase();
    }
  }

  static void lower(ImplicitLocOpBuilder &b, CopyScheduleAttr schedule, Value source, Value target) {
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
      if (schedule) {
        prefetchNext(b, schedule, source, indices, /*isWrite=*/false);
        prefetchNext(b, schedule, target, indices, /*isWrite=*/true);
      }
      auto panel = VectorType::get({kPanel}, type.getElementType());
      Value elements = vector::LoadOp::create(b, panel, source, indices);
      vector::StoreOp::create(b, elements, target, indices);
    } else {
      Value element = memref::LoadOp::create(b, source, indices);
      memref::StoreOp::create(b, element, target, indices);
    }
  }

  /// Prefetches the cache lines of 32 elements, as far behind those at `indices` as the schedule says. Rows that are
  /// shorter than the schedule's `row_bytes` are not prefetched.
  static void prefetchNext(ImplicitLocOpBuilder &b, CopyScheduleAttr schedule, Value buffer, SmallVector<Value> indices,
                           bool isWrite) {
    auto type = cast<MemRefType>(buffer.getType());
    const int64_t bytes = *rapt::elementBytes(type.getElementType());
    if (type.isDynamicDim(type.getRank() - 1) || type.getShape().back() * bytes < schedule.getRowBytes())
      return;
    Value column = indices.back();
    for (int64_t line = 0; line < kPanel * bytes; line += kLineBytes) {
      Value distance = arith::ConstantIndexOp::create(b, (schedule.getPrefetchBytes() + line) / bytes);
      indices.back() = arith::AddIOp::create(b, column, distance);
      memref::PrefetchOp::create(b, buffer, indices, isWrite, /*localityHint=*/3, /*isDataCache=*/true);
    }
  }
};

} // namespace
