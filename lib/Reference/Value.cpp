//===- Value.cpp - Rounding and allocation --------------------------------------===//
#include "lib/Reference/Value.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Float16.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
namespace rapt::reference {

double roundTo(FloatType type, double value, bool exact) {
  if (type.isF32() || type.isF64())
    return exact && type.isF32() ? double(float(value)) : value;
  if (double(float(value)) == value) {
    if (type.isBF16())
      return bf16ToF32(f32ToBf16(float(value)));
    if (type.isF16())
      return f16ToF32(f32ToF16(float(value)));
  }
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

template <typename S> FailureOr<Tensor<S>> makeTensor(Operation *op, ArrayRef<int64_t> shape, Type element) {
  std::optional<int64_t> elements = checkedProduct<int64_t>(std::span<const int64_t>(shape.data(), shape.size()));
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return op->emitOpError() << "makes a tensor with an extent below 0";
  if (!elements || *elements > maxElements)
    return op->emitOpError() << "makes a tensor of more than " << maxElements << " elements";
  Tensor<S> tensor{{shape.begin(), shape.end()}, {}, {}};
  if (!element || isa<FloatType>(element))
    tensor.floats.resize(*elements);
  else
    tensor.ints.resize(*elements);
  return tensor;
}

template FailureOr<Tensor<float>> makeTensor(Operation *, ArrayRef<int64_t>, Type);
template FailureOr<Tensor<double>> makeTensor(Operation *, ArrayRef<int64_t>, Type);

} // namespace rapt::reference
