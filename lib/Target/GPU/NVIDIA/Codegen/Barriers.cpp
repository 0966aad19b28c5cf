//===- Barriers.cpp - Barriers of copies and of warpgroups -----------------------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

/// An op that becomes a few ops without results, on a chip that has them.
template <typename Op> struct LowerBarrier : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  using Adaptor = typename Op::Adaptor;

  LogicalResult matchAndRewrite(Op op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    if constexpr (isHopper)
      if (failed(requireHopper(op, /*own=*/false)))
        return failure();
    emit(op, adaptor, rewriter, op.getLoc(), Ints(rewriter, op.getLoc()));
    rewriter.eraseOp(op);
    return success();
  }

private:
  template <typename... Ops> static constexpr bool isOneOf = (std::is_same_v<Op, Ops> || ...);
  static constexpr bool isHopper = isOneOf<MBarrierExpectOp, MBarrierWaitOp, WaitForKernelOp>;

  static void emit(CopyArriveOp, Adaptor adaptor, OpBuilder &builder, Location loc, Ints) {
    NVVM::CpAsyncMBarrierArriveOp::create(builder, loc, adaptor.getBarrier(),
                                          builder.getIntegerAttr(builder.getI1Type(), 1));
  }
  static void emit(MBarrierInitOp op, Adaptor adaptor, OpBuilder &builder, Location loc, Ints ints) {
    NVVM::MBarrierInitOp::create(builder, loc, adaptor.getBarrier(), ints.constant(op.getArrivals()), Value());
  }
  // LLVM moves no access of memory across the instructions that order them: they clobber memory.
  static void emit(MBarrierArriveOp, Adaptor adaptor, OpBuilder &builder, Location loc, Ints) {
    emitAsm(builder, loc, {}, adaptor.getBarrier(), "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [$0]; }",
            "l,~{memory}");
  }
  static void emit(MBarrierExpectOp op, Adaptor adaptor, OpBuilder &builder, Location loc, Ints ints) {
    emitAsm(builder, loc, {}, {adaptor.getBarrier(), ints.constant(op.getBytes())},
            "{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [$0], $1; }", "l,r,~{memory}");
  }
  static void emit(MBarrierWaitOp, Adaptor adaptor, OpBuilder &builder, Location loc, Ints) {
    emitAsm(builder, loc, {}, {adaptor.getBarrier(), adaptor.getParity()},
            "{ .reg .pred done; WAIT: mbarrier.try_wait.parity.shared.b64 done, [$0], $1; @!done bra WAIT; }",
            "l,r,~{memory}");
  }
  static void emit(BarrierSyncOp op, Adaptor adaptor, OpBuilder &builder, Location loc, Ints ints) {
    emitAsm(builder, loc, {}, {adaptor.getId(), ints.constant(op.getThreads())}, "bar.sync $0, $1;", "r,r,~{memory}");
  }
  static void emit(BarrierArriveOp op, Adaptor adaptor, OpBuilder &builder, Location loc, Ints ints) {
    emitAsm(builder, loc, {}, {adaptor.getId(), ints.constant(op.getThreads())}, "bar.arrive $0, $1;", "r,r,~{memory}");
  }
  static void emit(WaitForKernelOp, Adaptor, OpBuilder &builder, Location loc, Ints) {
    emitAsm(builder, loc, {}, {}, "griddepcontrol.wait;", "~{memory}");
  }
};

} // namespace

void cuda::populateBarriers(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerBarrier<CopyArriveOp>, LowerBarrier<MBarrierInitOp>, LowerBarrier<MBarrierArriveOp>,
               LowerBarrier<MBarrierExpectOp>, LowerBarrier<MBarrierWaitOp>, LowerBarrier<attn_gpu::BarrierSyncOp>,
               LowerBarrier<attn_gpu::BarrierArriveOp>, LowerBarrier<WaitForKernelOp>>(converter,
                                                                                       patterns.getContext());
}
