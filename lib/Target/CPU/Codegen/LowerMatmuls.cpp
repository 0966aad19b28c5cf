//===- LowerMatmuls.cpp - Lowers matmuls of f32 and bf16 tiles to micro-kernels ------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Codegen/AmxMatmul.h"
#include "lib/Target/CPU/Codegen/MicroKernelTile.h"
#include "lib/Target/CPU/Codegen/Passes.h"
#include "lib/Target/CPU/Schedule/Verify.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLOWERMATMULS
#include "lib/Target/CPU/Codegen/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;
using cpu::MatmulStep;
using cpu::MicroKernelTile;
using cpu::TileMatmul;

namespace {

/// The zero fill of the destination that `op` accumulates onto, if no op between them reads or writes memory.
linalg::FillOp zeroFill(Operation *op, Value dest) {
  Operation *before = op->getPrevNode();
  while (before && isMemoryEffectFree(before))
    before = before->getPrevNode();
  auto fill = dyn_cast_if_present<linalg::FillOp>(before);
  bool same = fill && fill.getOutputs()[0] == dest && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  return same ? fill : linalg::FillOp();
}

struct LowerMatmuls : rapt::impl::AttnLowerMatmulsBase<LowerMatmuls> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    const TargetInfo target = TargetInfo::of(getOperation());
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (auto matmul = dyn_cast<linalg::MatmulOp>(op))
        return lower({op, rowsOf(matmul), matmul.getInputs()[1], matmul.getOutputs()[0]}, kPanel, target);
      if (auto matmul = dyn_cast<attn_cpu::PanelMatmulOp>(op))
        return lower(withPrefetch(matmul), cast<ShapedType>(matmul.getPanel().getType()).getShape().back(), target);
      if (auto matmul = dyn_cast<attn_cpu::VnniMatmulOp>(op))
        return lower({op, matmul.getRows(), matmul.getPanel(), matmul.getDest()}, 2 * kPanel, target);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](linalg::FillOp fill) {
      if (!fill.hasPureBufferSemantics())
        return;
      rewriter.setInsertionPoint(fill);
      if (succeeded(linalg::vectorize(rewriter, fill)))
        rewriter.eraseOp(fill);
    });
  }

  /// The rows of a matmul, [m, k]; those of packed rows, [k, m], lie beside each other.
  static Value rowsOf(linalg::MatmulOp op) {
    Value rows = op.getInputs()[0];
    if (!isa<linalg::MatmulTransposeAOp>(op.getOperation()) || !isa<MemRefType>(rows.getType()))
      return rows;
    ImplicitLocOpBuilder b(op.getLoc(), op);
    SmallVector<AffineExpr> swapped{b.getAffineDimExpr(1), b.getAffineDimExpr(0)};
    return memref::TransposeOp::create(b, rows, AffineMapAttr::get(AffineMap::get(2, 0, swapped, b.getContext())));
  }

  static TileMatmul withPrefetch(attn_cpu::PanelMatmulOp op) {
    TileMatmul matmul{op, op.getRows(), op.getPanel(), op.getDest(), {}, op.getWrite()};
    for (auto [i, matrix] : llvm::enumerate(op.getPrefetched()))
      matmul.prefetched.push_back({matrix, op.getBounds()[2 * i], op.getBounds()[2 * i + 1]});
    return matmul;
  }

  WalkResult lower(const TileMatmul &matmul, int64_t width, const TargetInfo &target) {
    auto [op, rows, panel, dest] = std::tie(matmul.op, matmul.a, matmul.w, matmul.dest);
    auto a = dyn_cast<MemRefType>(rows.getType()), w = dyn_cast<MemRefType>(panel.getType());
    const bool isInMemory = a && w && isa<MemRefType>(dest.getType());
    const bool mayVary = isa<attn_cpu::PanelMatmulOp>(op) && w && w.getRank() == 2;
    if (!isInMemory || w.getShape().back() % width != 0 || (!mayVary && (!a.hasStaticShape() || !w.hasStaticShape()))) {
      op->emitOpError("is not a tile of whole panels of static shape in memory");
      return WalkResult::interrupt();
    }
    const FailureOr<attn_cpu::MicroKernelAttr> kernel = cpu::kernelOf(op);
    if (failed(kernel))
      return WalkResult::interrupt();
    const MatmulStep step = width == kPanel                                 ? MatmulStep::Single
                            : target.bf16Dot && a.getElementType().isBF16() ? MatmulStep::Dot
                                                                            : MatmulStep::Vnni;
    if (step == MatmulStep::Vnni && !kernel->getVnniRows()) {
      op->emitOpError("has a schedule without 'vnni_rows', which it needs where VNNI-packed panels are widened");
      return WalkResult::interrupt();
    }
    ImplicitLocOpBuilder b(op->getLoc(), op);
    linalg::FillOp fill = zeroFill(op, dest);
    const bool byTiles =
        isa<attn_cpu::VnniMatmulOp>(op) && a.getElementType().isBF16() && kernel->takesMatrix(a.getDimSize(0));
    auto multiply = [&](ArrayRef<Value> panels, Value dest) {
      if (byTiles)
        cpu::amxMatmul(b, rows, panels, dest, a.getDimSize(1), fill != nullptr);
      else
        multiplyByVectors(b, {op, rows, panels[0], dest, matmul.prefetched, matmul.prefetchesForWrite}, step, *kernel,
                          fill != nullptr);
    };
    if (w.getRank() == 2)
      multiply(panel, dest);
    else if (a.getDimSize(0) == 1 && kernel->getWideRows() && w.hasStaticShape())
      MicroKernelTile{{op, rows, panel, dest}, step, fill != nullptr, 0, 1, 0, w.getDimSize(0) * kPanel, *kernel}.emit(
          b);
    else
      forEachPanel(b, panel, dest, byTiles && a.getDimSize(0) == *kernel->getMatrixRows() ? 2 : 1, multiply);
    if (fill)
      fill.erase();
    op->erase();
    return WalkResult::skip();
  }

  /// Calls `multiply` for all panels, `panelsAtOnce` of them at a time, with their columns of `dest`.
  static void forEachPanel(ImplicitLocOpBuilder &b, Value panels, Value dest, int64_t panelsAtOnce,
                           function_ref<void(ArrayRef<Value>, Value)> multiply) {
    auto type = cast<MemRefType>(panels.getType());
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1), lines = b.getIndexAttr(type.getDimSize(1)),
                 width = b.getIndexAttr(type.getDimSize(2)),
                 rows = b.getIndexAttr(cast<MemRefType>(dest.getType()).getDimSize(0));
    auto slice = [&](Value from, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                     ArrayRef<int64_t> shape) -> Value {
      SmallVector<OpFoldResult> strides(sizes.size(), one);
      MemRefType view = memref::SubViewOp::inferRankReducedResultType(shape, cast<MemRefType>(from.getType()), offsets,
                                                                      sizes, strides);
      return memref::SubViewOp::create(b, view, from, offsets, sizes, strides);
    };
    auto multiplyNext = [&](Value first, int64_t count) {
      SmallVector<Value> parts;
      for (int64_t i = 0; i < count; ++i) {
        OpFoldResult nth(i > 0 ? Value(arith::AddIOp::create(b, first, index(b, i))) : first);
        parts.push_back(slice(panels, {nth, zero, zero}, {one, lines, width}, type.getShape().drop_front()));
      }
      Value column = arith::MulIOp::create(b, first, index(b, kPanel));
      multiply(parts, slice(dest, {zero, OpFoldResult(column)}, {rows, b.getIndexAttr(count * kPanel)},
                            {cast<MemRefType>(dest.getType()).getDimSize(0), count * kPanel}));
    };
    int64_t count = type.getDimSize(0), whole = count / panelsAtOnce * panelsAtOnce;
    auto each = scf::ForOp::create(b, index(b, 0), index(b, whole), index(b, panelsAtOnce));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(each.getBody());
      multiplyNext(each.getInductionVar(), panelsAtOnce);
    }
    for (int64_t rest = whole; rest < count; ++rest)
      multiplyNext(index(b, rest), 1);
  }

  static void multiplyByVectors(ImplicitLocOpBuilder &b, const TileMatmul &matmul, MatmulStep kind,
                                attn_cpu::MicroKernelAttr kernel, bool fromZero) {
    auto a = cast<MemRefType>(matmul.a.getType()), w = cast<MemRefType>(matmul.w.getType());
    const int64_t m = a.getDimSize(0), width = kind == MatmulStep::Single ? kPanel : 2 * kPanel,
                  most = kind == MatmulStep::Vnni ? *kernel.getVnniRows() : kernel.getRows();
    if (a.isDynamicDim(0))
      return multiplyInParts(b, matmul, kind, kernel, fromZero, llvm::bit_floor<uint64_t>(most));
    // Rows are split evenly: 7 and 7 rather than 12 and 2.
    const int64_t parts = llvm::divideCeil(m, most), all = w.getDimSize(1) / width * kPanel,
                  columns = m <= kernel.getWideRows().value_or(0) ? kPanel : kernel.getColumns();
    for (int64_t column = 0; column < all; column += columns)
      for (int64_t part = 0; part < parts; ++part) {
        int64_t row = m * part / parts, end = m * (part + 1) / parts;
        MicroKernelTile tile{matmul, kind, fromZero, row, end - row, column, columns, kernel};
        tile.nth = column / columns * parts + part, tile.count = all / columns * parts;
        tile.emit(b);
      }
  }

  /// A matmul of a dynamic number of rows, in parts of `most` rows, a power of 2, and of each lower power of 2 at most
  /// once. Parts of few rows have several accumulator chains.
  static void multiplyInParts(ImplicitLocOpBuilder &b, const TileMatmul &matmul, MatmulStep kind,
                              attn_cpu::MicroKernelAttr kernel, bool fromZero, int64_t most) {
    const int64_t columns = cast<MemRefType>(matmul.w.getType()).getDimSize(1) / (kind == MatmulStep::Single ? 1 : 2);
    Value m = memref::DimOp::create(b, matmul.a, 0);
    auto multiply = [&](Value first, int64_t rows) {
      auto rowsOf = [&](Value matrix) {
        auto type = cast<MemRefType>(matrix.getType());
        SmallVector<OpFoldResult> offsets{first, b.getIndexAttr(0)}, strides(2, b.getIndexAttr(1)),
            sizes{b.getIndexAttr(rows), type.isDynamicDim(1)
                                            ? OpFoldResult(memref::DimOp::create(b, matrix, 1).getResult())
                                            : b.getIndexAttr(type.getDimSize(1))};
        return memref::SubViewOp::create(b, matrix, offsets, sizes, strides).getResult();
      };
      const TileMatmul part{matmul.op, rowsOf(matmul.a), matmul.w, rowsOf(matmul.dest)};
      const int64_t chains = std::clamp<int64_t>(kernel.getChains().value_or(1) / rows, 1, most / rows);
      const int64_t width = rows <= kernel.getWideRows().value_or(0) ? kPanel : kernel.getColumns();
      for (int64_t column = 0; column < columns; column += width)
        MicroKernelTile{part, kind, fromZero, 0, rows, column, width, kernel, chains}.emit(b);
    };
    // The rows that parts of more than `rows` rows take.
    auto before = [&](int64_t rows) {
      return asValue(b, affineOf(b, b.getAffineDimExpr(0).floorDiv(rows) * rows, {OpFoldResult(m)}));
    };
    auto each = scf::ForOp::create(b, index(b, 0), before(most), index(b, most));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(each.getBody());
      multiply(each.getInductionVar(), most);
    }
    for (int64_t rows = most / 2; rows > 0; rows /= 2) {
      Value from = before(2 * rows), to = before(rows);
      auto some = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::ne, from, to));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(some.thenBlock());
      multiply(from, rows);
    }
  }
};

} // namespace
