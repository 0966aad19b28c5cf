//===- Bufferize.cpp - Bufferizes attn_gpu.attention_tile ---------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Target/CUDA/Attention/Attention.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace rapt;

namespace {

struct BufferizeAttentionTile
    : bufferization::DstBufferizableOpInterfaceExternalModel<BufferizeAttentionTile, attn_gpu::AttentionTileOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const bufferization::AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = operand;
      if (isa<TensorType>(operand.getType()))
        buffer = bufferization::getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
    }
    rewriter.setInsertionPoint(op);
    OperationState made(op->getLoc(), op->getName(), operands, /*types=*/TypeRange(),
                        llvm::to_vector(op->getDiscardableAttrs()));
    made.propertiesAttr = op->getPropertiesAsAttribute();
    for (Region &region : op->getRegions())
      made.addRegion()->takeBody(region);
    auto tile = cast<attn_gpu::AttentionTileOp>(rewriter.create(made));
    SmallVector<Value> results(tile.getDpsInits());
    bufferization::replaceOpWithBufferizedValues(rewriter, op, results);
    return success();
  }
};

} // namespace

void cuda::registerBufferizableOps(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, attn_gpu::AttnGPUDialect *) {
    attn_gpu::AttentionTileOp::attachInterface<BufferizeAttentionTile>(*context);
  });
}
