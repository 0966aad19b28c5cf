//===- PairInstructions.cpp - Instructions on pairs of bf16 ------------------------------===//
#include "lib/Target/CPU/Codegen/PairInstructions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace rapt;

Value cpu::dotPairs(ImplicitLocOpBuilder &b, Value sum, Value left, Value right) {
  auto type = cast<VectorType>(sum.getType());
  std::string name = (kDotPairs + llvm::Twine(32 * type.getDimSize(0))).str();
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), ValueRange{sum, left, right}).getResult(0);
}

Value cpu::roundPanel(ImplicitLocOpBuilder &b, Value numbers) {
  int64_t half = cast<VectorType>(numbers.getType()).getDimSize(0) / 2;
  auto part = [&](int64_t from) -> Value {
    return vector::ExtractStridedSliceOp::create(b, numbers, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{half},
                                                 ArrayRef<int64_t>{1});
  };
  // The first operand becomes the upper half.
  return LLVM::CallIntrinsicOp::create(b, VectorType::get({2 * half}, b.getBF16Type()),
                                       b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
                                       ValueRange{part(half), part(0)})
      .getResult(0);
}
