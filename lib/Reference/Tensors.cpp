//===- Tensors.cpp - Ops of the tensor dialect ---------------------------------===//
#include "lib/Reference/Evaluator.h"
#include <limits>

using namespace mlir;
namespace rapt::reference {

/// Element `i` of a tensor as a value.
template <typename S> static Value<S> elementOf(const Tensor<S> &tensor, int64_t i) {
  return tensor.floats.empty() ? Value<S>(tensor.ints[i]) : Value<S>(tensor.floats[i]);
}

/// The number of an element in row-major order; none outside of the tensor.
static std::optional<int64_t> numberOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> indices) {
  int64_t number = 0;
  for (auto [index, extent] : llvm::zip_equal(indices, shape)) {
    if (index < 0 || index >= extent)
      return std::nullopt;
    number = number * extent + index;
  }
  return number;
}

/// The same elements with the extents of another shape.
template <typename S> static FailureOr<Tensor<S>> reshaped(Operation &op, Tensor<S> tensor, ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(elements, extent, &elements))
      return op.emitOpError("gives an extent below 0, or more elements than can be counted");
  if (elements != tensor.size())
    return op.emitOpError() << "gives " << elements << " elements of " << tensor.size();
  tensor.shape.assign(shape.begin(), shape.end());
  return tensor;
}

template <typename S> LogicalResult Evaluator<S>::runFilled(Operation &op, Frame &frame) {
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  auto splat = dyn_cast<tensor::SplatOp>(op);
  ValueRange dynamic = splat ? splat.getDynamicSizes() : cast<tensor::EmptyOp>(op).getDynamicSizes();
  SmallVector<int64_t> shape;
  unsigned next = 0;
  for (int64_t size : type.getShape())
    shape.push_back(ShapedType::isDynamic(size) ? integer(frame, dynamic[next++]) : size);
  FailureOr<Tensor<S>> value = makeTensor<S>(&op, shape, type.getElementType());
  if (failed(value))
    return failure();
  // Unspecified contents: NaN shows whoever reads them.
  if (isa<FloatType>(type.getElementType()))
    llvm::fill(value->floats, splat ? std::get<S>(frame[splat.getInput()]) : std::numeric_limits<S>::quiet_NaN());
  else
    llvm::fill(value->ints, splat ? integer(frame, splat.getInput()) : 0);
  return set(frame, op.getResult(0), std::move(value));
}

template <typename S> LogicalResult Evaluator<S>::runPad(tensor::PadOp op, Frame &frame) {
  mlir::Value filler = op.getConstantPaddingValue();
  const Tensor<S> &source = tensor(frame, op.getSource());
  SmallVector<int64_t> low = integers(frame, op.getMixedLowPad()), high = integers(frame, op.getMixedHighPad()), shape;
  if (!filler || !frame.contains(filler))
    return op.emitOpError("pads with other than one value from outside of its region, which is not evaluated");
  for (auto [before, extent, after] : llvm::zip_equal(low, source.shape, high)) {
    int64_t size = extent;
    if (before < 0 || after < 0 || __builtin_add_overflow(size, before, &size) ||
        __builtin_add_overflow(size, after, &size))
      return op.emitOpError("pads by less than 0, or by more than can be counted");
    shape.push_back(size);
  }
  FailureOr<Tensor<S>> value = makeTensor<S>(op, shape, op.getResultType().getElementType());
  if (failed(value))
    return failure();
  if (value->floats.empty())
    llvm::fill(value->ints, std::holds_alternative<int64_t>(frame[filler]) ? integer(frame, filler) : 0);
  else
    llvm::fill(value->floats, std::get<S>(frame[filler]));
  Slice slice{low, llvm::to_vector(source.shape), SmallVector<int64_t>(shape.size(), 1)};
  return set(frame, op, insertSlice(op, source, std::move(*value), slice));
}

template <typename S> LogicalResult Evaluator<S>::runConcat(tensor::ConcatOp op, Frame &frame) {
  const uint64_t dim = op.getDim();
  SmallVector<int64_t> shape = llvm::to_vector(tensor(frame, op.getInputs().front()).shape);
  shape[dim] = 0;
  for (mlir::Value input : op.getInputs())
    for (auto [i, extent] : llvm::enumerate(tensor(frame, input).shape))
      if (i == dim ? __builtin_add_overflow(shape[i], extent, &shape[i]) : shape[i] != extent)
        return op.emitOpError() << "joins tensors whose extents of dim " << i << " differ, or cannot be counted";
  FailureOr<Tensor<S>> value = makeTensor<S>(op, shape, op.getResultType().getElementType());
  SmallVector<int64_t> offsets(shape.size(), 0);
  for (mlir::Value input : op.getInputs()) {
    if (failed(value))
      return failure();
    const Tensor<S> &part = tensor(frame, input);
    Slice slice{offsets, llvm::to_vector(part.shape), SmallVector<int64_t>(shape.size(), 1)};
    value = insertSlice(op, part, std::move(*value), slice);
    offsets[dim] += part.shape[dim];
  }
  return set(frame, op, std::move(value));
}

template <typename S> LogicalResult Evaluator<S>::runTensorOp(Operation &op, Frame &frame) {
  if (auto dim = dyn_cast<tensor::DimOp>(op); dim && isa<RankedTensorType>(dim.getSource().getType())) {
    const Tensor<S> &source = tensor(frame, dim.getSource());
    int64_t index = integer(frame, dim.getIndex());
    if (index < 0 || index >= int64_t(source.shape.size()))
      return op.emitOpError() << "asks for dim " << index << " of a tensor of rank " << source.shape.size();
    frame[dim] = source.dim(index);
    return success();
  }
  if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op))
    return set(
        frame, extract,
        extractSlice(&op, tensor(frame, extract.getSource()), sliceOf(frame, extract), extract.getDroppedDims()));
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return set(
        frame, insert,
        insertSlice(&op, tensor(frame, insert.getSource()), tensor(frame, insert.getDest()), sliceOf(frame, insert)));
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    const Tensor<S> &source = tensor(frame, extract.getTensor());
    std::optional<int64_t> number =
        numberOf(source.shape, integers(frame, SmallVector<OpFoldResult>(extract.getIndices())));
    if (!number)
      return op.emitOpError("reads beyond its tensor");
    frame[extract] = elementOf(source, *number);
    return success();
  }
  if (auto cast = dyn_cast<tensor::CastOp>(op); cast && isa<RankedTensorType>(cast.getType()))
    return set(frame, cast, tensor(frame, cast.getSource()));
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return set(frame, expand,
               reshaped<S>(op, tensor(frame, expand.getSrc()), integers(frame, expand.getMixedOutputShape())));
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    const Tensor<S> &source = tensor(frame, collapse.getSrc());
    SmallVector<int64_t> shape;
    for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
      shape.push_back(1);
      for (int64_t dim : group)
        shape.back() *= source.dim(dim);
    }
    return set(frame, collapse, reshaped<S>(op, source, shape));
  }
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return runPad(pad, frame);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return runConcat(concat, frame);
  if (isa<tensor::EmptyOp, tensor::SplatOp>(op))
    return runFilled(op, frame);
  return op.emitOpError("is not evaluated");
}

#define INSTANTIATE(S) template LogicalResult Evaluator<S>::runTensorOp(Operation &, Frame &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
