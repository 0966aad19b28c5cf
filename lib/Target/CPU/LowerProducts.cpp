//===- LowerProducts.cpp - Register tiles of matrix products --------------------------------===//
#include "lib/Conversion/AttnToLinalg/Tile.h"
#include "lib/Target/CPU/Passes.h"
#include "lib/Target/CPU/ProductPrefetch.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLOWERPRODUCTS
#include "lib/Target/CPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::kPanel;

namespace {

/// Chains of accumulators of a single row.
constexpr int64_t kChains = 4;

/// The zero fill that `op` adds to, if nothing reads or writes memory between them.
linalg::FillOp zeroFill(linalg::MatmulOp op) {
  Operation *before = op->getPrevNode();
  while (before && isMemoryEffectFree(before))
    before = before->getPrevNode();
  auto fill = dyn_cast_if_present<linalg::FillOp>(before);
  bool same = fill && fill.getOutputs()[0] == op.getOutputs()[0] && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  return same ? fill : linalg::FillOp();
}

Value load(ImplicitLocOpBuilder &b, Value w, Value k, Value column, int64_t lanes) {
  Type element = getElementTypeOrSelf(w.getType());
  Value padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
  Value loaded = vector::TransferReadOp::create(b, VectorType::get({lanes}, element), w, ValueRange{k, column}, padding,
                                                ArrayRef<bool>{true});
  if (element.isF32())
    return loaded;
  return arith::ExtFOp::create(b, VectorType::get({lanes}, b.getF32Type()), loaded);
}

/// Rows [row, row + rows) by columns [column, column + 2 * lanes) of the product.
struct RegisterTile {
  linalg::MatmulOp op;
  Value a, w, dest;
  bool fromZero;
  int64_t row, rows, column, lanes;

  VectorType vector(OpBuilder &b) const { return VectorType::get({lanes}, b.getF32Type()); }

  SmallVector<Value> at(ImplicitLocOpBuilder &b, int64_t r, int64_t half) const {
    return {index(b, row + r), index(b, column + half * lanes)};
  }

  /// Where the accumulators start: `chains` of them, of which the first has the result so far.
  SmallVector<Value> start(ImplicitLocOpBuilder &b, int64_t chains) const {
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vector(b)));
    Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    SmallVector<Value> inits(chains * rows * 2, zeros);
    for (int64_t r = 0; r < rows && !fromZero; ++r)
      for (int64_t half = 0; half < 2; ++half)
        inits[r * 2 + half] =
            vector::TransferReadOp::create(b, vector(b), dest, at(b, r, half), f0, ArrayRef<bool>{true});
    return inits;
  }

  /// Adds the products of step k to `sums`, which become those of `next`.
  void step(ImplicitLocOpBuilder &b, Value k, ValueRange sums, SmallVector<Value> &next) const {
    Value panels[2] = {load(b, w, k, index(b, column), lanes), load(b, w, k, index(b, column + lanes), lanes)};
    for (int64_t r = 0; r < rows; ++r) {
      Value element = memref::LoadOp::create(b, a, ValueRange{index(b, row + r), k});
      Value factor = vector::BroadcastOp::create(b, vector(b), element);
      for (Value panel : panels)
        next.push_back(vector::FMAOp::create(b, factor, panel, sums[next.size()]));
    }
  }

  /// One step after another. `ahead` is null where nothing is to be fetched.
  SmallVector<Value> plainLoop(ImplicitLocOpBuilder &b, int64_t k, int64_t chains, cpu::ProductPrefetch *ahead) const {
    return loop(b, index(b, 0), index(b, k), chains, start(b, chains),
                [&](ImplicitLocOpBuilder &b, Value i, ValueRange sums) {
                  SmallVector<Value> next;
                  if (ahead)
                    ahead->atStep(b, i, Value());
                  for (int64_t chain = 0; chain < chains; ++chain)
                    step(b, chain > 0 ? arith::AddIOp::create(b, i, index(b, chain)) : i, sums, next);
                  return next;
                });
  }

  /// Chunks of steps, which read ahead.
  SmallVector<Value> chunkedLoop(ImplicitLocOpBuilder &b, int64_t k, cpu::ProductPrefetch &ahead) const {
    constexpr int64_t chunk = cpu::ProductPrefetch::kChunk;
    return loop(b, index(b, 0), index(b, k), chunk, start(b, 1),
                [&](ImplicitLocOpBuilder &b, Value first, ValueRange sums) {
                  ahead.beforeChunk(b, first);
                  return loop(b, index(b, 0), index(b, chunk), 1, sums,
                              [&](ImplicitLocOpBuilder &b, Value nth, ValueRange sums) {
                                Value i = arith::AddIOp::create(b, first, nth);
                                ahead.atStep(b, i, nth);
                                SmallVector<Value> next;
                                step(b, i, sums, next);
                                return next;
                              });
                });
  }

  void emit(ImplicitLocOpBuilder &b) const {
    int64_t k = cast<MemRefType>(a.getType()).getDimSize(1);
    int64_t chains = rows == 1 && k % kChains == 0 ? kChains : 1;
    cpu::ProductPrefetch ahead(op, row, rows, column, 2 * lanes);
    SmallVector<Value> sums = ahead.isUseful() && ahead.hasChunks()
                                  ? chunkedLoop(b, k, ahead)
                                  : plainLoop(b, k, chains, ahead.isUseful() ? &ahead : nullptr);
    for (int64_t stride = chains / 2; stride > 0; stride /= 2)
      for (int64_t i = 0; i < stride * rows * 2; ++i)
        sums[i] = arith::AddFOp::create(b, sums[i], sums[i + stride * rows * 2]);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t half = 0; half < 2; ++half)
        vector::TransferWriteOp::create(b, sums[r * 2 + half], dest, at(b, r, half), ArrayRef<bool>{true});
  }
};

struct LowerProducts : rapt::impl::AttnLowerProductsBase<LowerProducts> {
  void runOnOperation() override {
    TargetInfo target = TargetInfo::of(getOperation());
    WalkResult result = getOperation()->walk([&](linalg::MatmulOp op) { return lower(op, target); });
    if (result.wasInterrupted())
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](linalg::FillOp fill) {
      rewriter.setInsertionPoint(fill);
      if (succeeded(linalg::vectorize(rewriter, fill)))
        rewriter.eraseOp(fill);
    });
  }

  WalkResult lower(linalg::MatmulOp op, const TargetInfo &target) {
    auto a = dyn_cast<MemRefType>(op.getInputs()[0].getType()), w = dyn_cast<MemRefType>(op.getInputs()[1].getType());
    if (!a || !w || !a.hasStaticShape() || !w.hasStaticShape() || w.getDimSize(1) % kPanel != 0) {
      op.emitOpError("is not a tile of whole panels of static shape in memory");
      return WalkResult::interrupt();
    }
    ImplicitLocOpBuilder b(op.getLoc(), op);
    int64_t m = a.getDimSize(0), lanes = target.lanesF32(), columns = 2 * lanes;
    // As many rows as the accumulators allow, in parts of nearly one size.
    int64_t parts = llvm::divideCeil(m, (target.vectorRegisters - 3) / 2);
    linalg::FillOp fill = zeroFill(op);
    for (int64_t column = 0; column < w.getDimSize(1); column += columns)
      for (int64_t part = 0; part < parts; ++part) {
        int64_t row = m * part / parts, end = m * (part + 1) / parts;
        RegisterTile{
            op,   op.getInputs()[0], op.getInputs()[1], op.getOutputs()[0], fill != nullptr, row, end - row, column,
            lanes}
            .emit(b);
      }
    if (fill)
      fill.erase();
    op.erase();
    return WalkResult::skip();
  }
};

} // namespace
