//===- Bufferize.cpp - Bufferizes ops of attn_cpu -----------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace rapt;

namespace {

/// A matmul of rows and a panel; some matmuls accumulate onto their destination.
template <typename Op>
struct BufferizeMatmul : bufferization::DstBufferizableOpInterfaceExternalModel<BufferizeMatmul<Op>, Op> {
  /// A prefetch is no read: it needs no order with ops that write its operand.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const bufferization::AnalysisState &) const {
    if (auto matmul = dyn_cast<attn_cpu::PanelMatmulOp>(op)) {
      auto [first, count] = matmul.getODSOperandIndexAndLength(2); // prefetched
      return operand.getOperandNumber() < first || operand.getOperandNumber() >= first + count;
    }
    return isa<attn_cpu::VnniMatmulOp>(op) || !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType>(operand.getType())) {
        buffers.push_back(operand);
        continue;
      }
      FailureOr<Value> buffer = bufferization::getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    Value dest = buffers.back();
    Op::create(rewriter, op->getLoc(), TypeRange(), buffers, op->getAttrs());
    bufferization::replaceOpWithBufferizedValues(rewriter, op, dest);
    return success();
  }
};

/// What no line is written to keeps its elements, so that the destination is read, too.
struct BufferizeLines : bufferization::DstBufferizableOpInterfaceExternalModel<BufferizeLines, attn_cpu::WriteLinesOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const bufferization::AnalysisState &) const { return true; }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto write = cast<attn_cpu::WriteLinesOp>(op);
    FailureOr<Value> dest = bufferization::getBuffer(rewriter, write.getDest(), options, state);
    if (failed(dest))
      return failure();
    for (auto [i, line] : llvm::enumerate(write.getLines()))
      vector::TransferWriteOp::create(rewriter, op->getLoc(), line, *dest, write.getPlace(i), ArrayRef<bool>{true});
    bufferization::replaceOpWithBufferizedValues(rewriter, op, *dest);
    return success();
  }
};

} // namespace

void rapt::registerBufferizableOps(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, attn_cpu::AttnCPUDialect *) {
    attn_cpu::PanelMatmulOp::attachInterface<BufferizeMatmul<attn_cpu::PanelMatmulOp>>(*context);
    attn_cpu::VnniMatmulOp::attachInterface<BufferizeMatmul<attn_cpu::VnniMatmulOp>>(*context);
    attn_cpu::QuantizedMatmulOp::attachInterface<BufferizeMatmul<attn_cpu::QuantizedMatmulOp>>(*context);
    attn_cpu::WriteLinesOp::attachInterface<BufferizeLines>(*context);
    context->loadDialect<vector::VectorDialect>(); // whose ops lines become
  });
}
