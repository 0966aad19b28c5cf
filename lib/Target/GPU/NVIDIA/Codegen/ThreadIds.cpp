//===- ThreadIds.cpp - Numbers of threads and thread blocks -------------------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cuda;

namespace {

/// A number of the grid becomes the special register with `name`.
template <typename Op> struct LowerNumber : OpConversionPattern<Op> {
  LowerNumber(const TypeConverter &converter, MLIRContext *context, StringRef name)
      : OpConversionPattern<Op>(converter, context), name(name) {}

  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor, ConversionPatternRewriter &rewriter) const override {
    const StringRef dimension = gpu::stringifyDimension(op.getDimension());
    auto intrinsic = rewriter.getStringAttr("llvm.nvvm.read.ptx.sreg." + name + "." + dimension);
    auto read = LLVM::CallIntrinsicOp::create(rewriter, op.getLoc(), rewriter.getI32Type(), intrinsic, ValueRange());
    rewriter.replaceOpWithNewOp<arith::IndexCastUIOp>(op, rewriter.getIndexType(), read.getResult(0));
    return success();
  }

  StringRef name;
};

} // namespace

void cuda::populateThreadIds(const TypeConverter &converter, RewritePatternSet &patterns, ConversionTarget &target) {
  target.addIllegalOp<gpu::BlockDimOp, gpu::BlockIdOp, gpu::GridDimOp, gpu::ThreadIdOp>();
  patterns.add<LowerNumber<gpu::BlockDimOp>>(converter, patterns.getContext(), "ntid");
  patterns.add<LowerNumber<gpu::BlockIdOp>>(converter, patterns.getContext(), "ctaid");
  patterns.add<LowerNumber<gpu::GridDimOp>>(converter, patterns.getContext(), "nctaid");
  patterns.add<LowerNumber<gpu::ThreadIdOp>>(converter, patterns.getContext(), "tid");
}
