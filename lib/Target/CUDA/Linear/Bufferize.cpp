//===- Bufferize.cpp - Bufferizes attn_gpu.linear_tile ------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Target/CUDA/Linear/Linear.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace rapt;

namespace {

struct BufferizeLinearTile
    : bufferization::DstBufferizableOpInterfaceExternalModel<BufferizeLinearTile, attn_gpu::LinearTileOp> {
  /// The tile is written whole: its elements before do not count.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const bufferization::AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer = bufferization::getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
    }
    rewriter.setInsertionPoint(op);
    OperationState made(op->getLoc(), op->getName(), operands, /*types=*/TypeRange(),
                        llvm::to_vector(op->getDiscardableAttrs()));
    made.propertiesAttr = op->getPropertiesAsAttribute();
    made.addRegion()->takeBody(op->getRegion(0));
    auto tile = cast<attn_gpu::LinearTileOp>(rewriter.create(made));
    bufferization::replaceOpWithBufferizedValues(rewriter, op, SmallVector<Value>{tile.getResult()});
    return success();
  }
};

} // namespace

void cuda::registerBufferizableLinear(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, attn_gpu::AttnGPUDialect *) {
    attn_gpu::LinearTileOp::attachInterface<BufferizeLinearTile>(*context);
  });
}
