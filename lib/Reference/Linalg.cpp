//===- Linalg.cpp - linalg on tensors, and arith element by element -------------===//
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "lib/Reference/Evaluator.h"
#include "lib/Reference/Scalar.h"

using namespace mlir;
namespace rapt::reference {

namespace {

/// Points of one op: more would not end.
constexpr int64_t maxPoints = int64_t(1) << 36;

template <typename S> Slot<S> slotAt(const Tensor<S> &tensor, int64_t i) {
  Slot<S> slot;
  if (tensor.floats.empty())
    slot.i = tensor.ints[i];
  else
    slot.f = tensor.floats[i];
  return slot;
}

template <typename S> void put(Tensor<S> &tensor, int64_t i, Slot<S> slot) {
  if (tensor.floats.empty())
    tensor.ints[i] = slot.i;
  else
    tensor.floats[i] = slot.f;
}

/// Steps to the next point of the space, whose last dim runs fastest; false after the last one.
bool next(SmallVectorImpl<int64_t> &point, ArrayRef<int64_t> extents) {
  for (unsigned d = point.size(); d-- > 0;) {
    if (++point[d] < extents[d])
      return true;
    point[d] = 0;
  }
  return false;
}

/// The number of an operand's element at a point, in row-major order; none beyond the operand.
std::optional<int64_t> offsetOf(AffineMap map, ArrayRef<int64_t> shape, ArrayRef<int64_t> point) {
  int64_t offset = 0;
  for (auto [index, extent] : llvm::zip_equal(map.compose(point), shape)) {
    if (index < 0 || index >= extent)
      return std::nullopt;
    offset = offset * extent + index;
  }
  return offset;
}

} // namespace

template <typename S> LogicalResult Evaluator<S>::runLinalg(linalg::LinalgOp op, Frame &frame) {
  std::optional<ScalarProgram<S>> program;
  ScalarProgram<S> *body = nullptr;
  if (failed(compile(op->getRegion(0), frame, program, body)))
    return failure();
  // The extents of the loops follow from those of the operands.
  SmallVector<int64_t> allExtents;
  for (mlir::Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      llvm::append_range(allExtents, tensor(frame, operand).shape);
  AffineMap loops = op.getShapesToLoopsMap();
  assert(loops && loops.getNumDims() == allExtents.size() && "the verifier wants operands that have all loops");
  const SmallVector<int64_t> extents = loops.compose(ArrayRef<int64_t>(allExtents));
  int64_t points = 1;
  for (int64_t extent : extents)
    if ((points != 0 && __builtin_mul_overflow(points, extent, &points)) || points > maxPoints)
      return op->emitOpError() << "has more than " << maxPoints << " points";

  SmallVector<Tensor<S>> results;
  for (mlir::Value init : op.getDpsInits())
    results.push_back(tensor(frame, init));
  SmallVector<int64_t> point(extents.size(), 0);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> offsets(maps.size(), 0);
  const unsigned inputs = op.getNumDpsInputs();
  for (bool more = points > 0; more; more = next(point, extents)) {
    for (OpOperand &operand : op->getOpOperands()) {
      const unsigned i = operand.getOperandNumber();
      if (!isa<RankedTensorType>(operand.get().getType())) {
        if (isa<FloatType>(operand.get().getType()))
          body->argument(i).f = std::get<S>(frame[operand.get()]);
        else
          body->argument(i).i = integer(frame, operand.get());
        continue;
      }
      const Tensor<S> &from = i < inputs ? tensor(frame, operand.get()) : results[i - inputs];
      std::optional<int64_t> offset = offsetOf(maps[i], from.shape, point);
      if (!offset)
        return op->emitOpError() << "reads beyond operand " << i;
      offsets[i] = *offset;
      body->argument(i) = slotAt(from, *offset);
    }
    body->setIndices(point);
    body->run();
    if (body->hasReadBeyond())
      return op->emitOpError("reads beyond a tensor from outside of its region");
    for (auto [i, result] : llvm::enumerate(results))
      put(result, offsets[inputs + i], body->result(i));
  }
  for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
    if (failed(set(frame, result, std::move(value))))
      return failure();
  return success();
}

template <typename S> LogicalResult Evaluator<S>::runElementwise(Operation &op, Frame &frame) {
  FailureOr<Instruction<S>> instruction = instructionOf<S>(&op);
  if (failed(instruction))
    return failure();
  const Tensor<S> *shaped = nullptr;
  for (mlir::Value operand : op.getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    const Tensor<S> &given = tensor(frame, operand);
    if (shaped && shaped->shape != given.shape)
      return op.emitOpError("has operands of different extents");
    shaped = &given;
  }
  assert(shaped && "an elementwise op that gives a tensor has one");
  FailureOr<Tensor<S>> result = makeTensor<S>(&op, shaped->shape, getElementTypeOrSelf(op.getResult(0)));
  if (failed(result))
    return failure();
  Slot<S> slots[4];
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    instruction->operands[i] = i;
  instruction->result = 3;
  for (int64_t at = 0, end = shaped->size(); at < end; ++at) {
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      if (isa<RankedTensorType>(operand.getType()))
        slots[i] = slotAt(tensor(frame, operand), at);
      else if (isa<FloatType>(operand.getType()))
        slots[i].f = std::get<S>(frame[operand]);
      else
        slots[i].i = integer(frame, operand);
    }
    instruction->run(*instruction, slots);
    put(*result, at, slots[3]);
  }
  return set(frame, op.getResult(0), std::move(result));
}

#define INSTANTIATE(S)                                                                                                 \
  template LogicalResult Evaluator<S>::runLinalg(linalg::LinalgOp, Frame &);                                           \
  template LogicalResult Evaluator<S>::runElementwise(Operation &, Frame &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
