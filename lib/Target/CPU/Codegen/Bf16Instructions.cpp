//===- Bf16Instructions.cpp - Instructions of AVX512_BF16 --------------------------------===//
#include "lib/Target/CPU/Codegen/Bf16Instructions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace rapt;

Value cpu::dotBf16(ImplicitLocOpBuilder &b, Value sum, Value left, Value right) {
  auto type = cast<VectorType>(sum.getType());
  std::string name = (kDotBf16 + llvm::Twine(32 * type.getDimSize(0))).str();
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), ValueRange{sum, left, right}).getResult(0);
}

Value cpu::castPanelToBf16(ImplicitLocOpBuilder &b, Value numbers) {
  int64_t half = cast<VectorType>(numbers.getType()).getDimSize(0) / 2;
  auto part = [&](int64_t from) -> Value {
    return vector::ExtractStridedSliceOp::create(b, numbers, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{half},
                                                 ArrayRef<int64_t>{1});
  };
  // The instruction puts its first operand into the upper half of the result.
  return LLVM::CallIntrinsicOp::create(b, VectorType::get({2 * half}, b.getBF16Type()),
                                       b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
                                       ValueRange{part(half), part(0)})
      .getResult(0);
}
