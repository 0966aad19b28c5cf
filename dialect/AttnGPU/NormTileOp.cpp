//===- NormTileOp.cpp - attn_gpu.norm_tile and sums of threads ----------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

namespace {

constexpr int64_t kThreadsOfWarp = 32, kVectorBytes = 16;

ShapedType shapeOf(Value value) { return cast<ShapedType>(value.getType()); }

bool fit(int64_t a, int64_t b) { return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b; }

} // namespace

int64_t NormTileOp::getThreads() { return getTiles().getThreads(); }

/// Sums of a row's mean and of its squares have scratch of their own, 4 bytes for each warp.
int64_t NormTileOp::getSharedBytes() {
  return getTiles().getLanes() > kThreadsOfWarp ? 2 * 4 * (getThreads() / kThreadsOfWarp) : 0;
}

int64_t NormTileOp::getVector() { return kVectorBytes * 8 / shapeOf(getInput()).getElementTypeBitWidth(); }

int64_t NormTileOp::getParts() {
  return llvm::divideCeil(shapeOf(getInput()).getDimSize(1), getVector() * getTiles().getLanes());
}

LogicalResult NormTileOp::verify() {
  ShapedType input = shapeOf(getInput()), result = shapeOf(getResult());
  const int64_t width = input.getDimSize(1), rows = getThreads() / getTiles().getLanes(), columns = getColumns();
  if (ShapedType::isDynamic(width) || width < 1 || columns > width)
    return emitOpError() << "needs rows of a static number of elements, at least 'columns'; found " << input << " and "
                         << columns;
  if (!fit(input.getDimSize(0), result.getDimSize(0)) || !fit(width, result.getDimSize(1)) ||
      !fit(width, shapeOf(getWeight()).getDimSize(0)) || (getBias() && !fit(width, shapeOf(getBias()).getDimSize(0))))
    return emitOpError() << "has extents of input, weight, bias and result that do not fit each other";
  if (getParts() * getVector() > kMostElements)
    return emitOpError() << "has threads of " << getParts() * getVector() << " elements, more than " << kMostElements;
  if (!ShapedType::isDynamic(result.getDimSize(0)) && result.getDimSize(0) > rows)
    return emitOpError() << "has a result of more than " << rows << " rows, found " << result;
  return success();
}

void NormTileOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) { addTileEffects(*this, effects); }

LogicalResult ReduceThreadsOp::verify() {
  APInt scratch;
  if (!llvm::isPowerOf2_32(getThreads()))
    return emitOpError() << "needs a power of two of threads, found " << getThreads();
  if (matchPattern(getScratch(), m_ConstantInt(&scratch)) && (scratch.isNegative() || scratch.urem(4) != 0))
    return emitOpError() << "needs scratch at a multiple of 4 bytes, found " << scratch.getSExtValue();
  return success();
}
