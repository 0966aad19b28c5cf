//===- ExpandTiles.cpp - Tiles become the code of a thread block --------------------------===//
#include "lib/Target/GPU/ExpandTiles.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace rapt;

LogicalResult any_gpu::expandTiles(Operation *root, function_ref<bool(Operation *)> isTile,
                                   function_ref<LogicalResult(Operation *)> expand) {
  SmallVector<Operation *> tiles;
  root->walk([&](Operation *op) {
    if (isTile(op))
      tiles.push_back(op);
  });
  for (Operation *op : tiles) {
    if (op->getNumResults() != 0 || llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>) ||
        !op->getParentOfType<gpu::GPUModuleOp>())
      return op->emitOpError("is expanded in a GPU module, on buffers");
    if (failed(expand(op)))
      return failure();
    op->erase();
  }
  return success();
}
