//===- Bufferize.cpp - Tensors of the ops that stay whole become buffers ------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace rapt;

namespace {

/// A product of rows, a panel and a destination, in which the sums of some products begin.
template <typename Op>
struct BufferizeProduct : bufferization::DstBufferizableOpInterfaceExternalModel<BufferizeProduct<Op>, Op> {
  /// A prefetch is no read, so that it is in no order with ops that write the operand.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const bufferization::AnalysisState &) const {
    if (auto product = dyn_cast<attn_cpu::PanelMatmulOp>(op)) {
      auto [first, count] = product.getODSOperandIndexAndLength(2); // ahead
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

} // namespace

void rapt::registerBufferizableOps(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, attn_cpu::AttnCPUDialect *) {
    attn_cpu::PanelMatmulOp::attachInterface<BufferizeProduct<attn_cpu::PanelMatmulOp>>(*context);
    attn_cpu::VnniMatmulOp::attachInterface<BufferizeProduct<attn_cpu::VnniMatmulOp>>(*context);
    attn_cpu::QuantizedMatmulOp::attachInterface<BufferizeProduct<attn_cpu::QuantizedMatmulOp>>(*context);
  });
}
