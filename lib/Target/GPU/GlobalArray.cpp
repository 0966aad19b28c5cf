//===- GlobalArray.cpp - Arrays in the global memory of kernels ---------------------------===//
#include "lib/Target/GPU/GlobalArray.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;

GlobalArray::GlobalArray(ImplicitLocOpBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, metadata.getBaseBuffer());
  pointer = LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), /*global*/ 1),
                                     Value(arith::IndexCastOp::create(b, b.getI64Type(), address)));
  element = type.getElementType();
  SmallVector<int64_t> known;
  int64_t first = ShapedType::kDynamic;
  if (failed(type.getStridesAndOffset(known, first)))
    known.assign(type.getRank(), ShapedType::kDynamic);
  auto valueOf = [&](int64_t number, Value value) -> Value {
    return ShapedType::isDynamic(number) ? value : Value(arith::ConstantIndexOp::create(b, number));
  };
  offset = valueOf(first, metadata.getOffset());
  for (int64_t i = 0; i < type.getRank(); ++i) {
    sizes.push_back(valueOf(type.getDimSize(i), metadata.getSizes()[i]));
    strides.push_back(valueOf(known[i], metadata.getStrides()[i]));
  }
}

Value GlobalArray::isAligned(ImplicitLocOpBuilder &b, int64_t bytes) const {
  auto constant = [&](int64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); };
  auto inBytes = [&](Value elements) -> Value {
    Value wide = arith::IndexCastOp::create(b, b.getI64Type(), elements);
    return arith::MulIOp::create(b, wide, constant(this->bytes()));
  };
  Value bits = arith::OrIOp::create(b, Value(LLVM::PtrToIntOp::create(b, b.getI64Type(), pointer)), inBytes(offset));
  for (Value stride : ArrayRef(strides).drop_back())
    bits = arith::OrIOp::create(b, bits, inBytes(stride));
  bits = arith::AndIOp::create(b, bits, constant(bytes - 1));
  Value isMultiple = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits, constant(0));
  Value isDense =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, strides.back(), Value(arith::ConstantIndexOp::create(b, 1)));
  return arith::AndIOp::create(b, isMultiple, isDense);
}

Value GlobalArray::pointerAt(ImplicitLocOpBuilder &b, Value elements) const {
  Value wide = arith::IndexCastOp::create(b, b.getI64Type(), elements);
  return LLVM::GEPOp::create(b, pointer.getType(), element, pointer, ArrayRef<LLVM::GEPArg>{wide});
}
