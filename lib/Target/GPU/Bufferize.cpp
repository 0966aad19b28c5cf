//===- Bufferize.cpp - Bufferizes the tiles of thread blocks ------------------------------===//
#include "lib/Target/GPU/Bufferize.h"
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace rapt;

namespace {

/// A tile with destinations and regions, which may read arrays from outside.
template <typename Op>
struct BufferizeTile : bufferization::DstBufferizableOpInterfaceExternalModel<BufferizeTile<Op>, Op> {
  /// Destinations are written whole: their elements before do not count. States are read before they are written.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const bufferization::AnalysisState &) const {
    if (auto linear = dyn_cast<attn_gpu::LinearAttentionTileOp>(op); linear && operand.get() == linear.getStates())
      return true;
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
    auto tile = cast<DestinationStyleOpInterface>(rewriter.create(made));
    bufferization::replaceOpWithBufferizedValues(rewriter, op, SmallVector<Value>(tile.getDpsInits()));
    return success();
  }
};

} // namespace

void any_gpu::registerBufferizableOps(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, attn_gpu::AttnGPUDialect *) {
    attn_gpu::AttentionTileOp::attachInterface<BufferizeTile<attn_gpu::AttentionTileOp>>(*context);
    attn_gpu::LinearAttentionTileOp::attachInterface<BufferizeTile<attn_gpu::LinearAttentionTileOp>>(*context);
    attn_gpu::LinearTileOp::attachInterface<BufferizeTile<attn_gpu::LinearTileOp>>(*context);
    attn_gpu::NormTileOp::attachInterface<BufferizeTile<attn_gpu::NormTileOp>>(*context);
    attn_gpu::QuantizeTileOp::attachInterface<BufferizeTile<attn_gpu::QuantizeTileOp>>(*context);
    attn_gpu::QuantizedLinearTileOp::attachInterface<BufferizeTile<attn_gpu::QuantizedLinearTileOp>>(*context);
  });
}
