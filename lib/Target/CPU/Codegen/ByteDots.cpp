//===- ByteDots.cpp - Dot products of bytes in each lane --------------------------------===//
#include "lib/Target/CPU/Codegen/ByteDots.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace rapt;

namespace {

int64_t bytesOf(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

VectorType vectorOf(Value vector, IntegerType element) {
  return VectorType::get({bytesOf(vector) * 8 / element.getWidth()}, element);
}

Value call(ImplicitLocOpBuilder &b, VectorType result, StringRef of16, StringRef of32, StringRef of64,
           ValueRange operands) {
  const int64_t bytes = bytesOf(operands[0]);
  StringRef name = bytes == 16 ? of16 : bytes == 32 ? of32 : of64;
  return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name), operands).getResult(0);
}

Value splatOf(ImplicitLocOpBuilder &b, VectorType type, int64_t value) {
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), value)));
}

/// The dot product of two 16-bit integers in each lane, which LLVM makes pmaddwd.
Value dotInt16(ImplicitLocOpBuilder &b, Value weights, Value values) {
  auto pairs = vectorOf(weights, b.getI16Type());
  const int64_t lanes = pairs.getNumElements() / 2;
  auto wide = VectorType::get({2 * lanes}, b.getI32Type());
  Value w = arith::ExtSIOp::create(b, wide, vector::BitCastOp::create(b, pairs, weights));
  Value terms = arith::MulIOp::create(b, w, arith::ExtSIOp::create(b, wide, values));
  SmallVector<int64_t> even, odd;
  for (int64_t i = 0; i < lanes; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  return arith::AddIOp::create(b, vector::ShuffleOp::create(b, terms, terms, even),
                               vector::ShuffleOp::create(b, terms, terms, odd));
}

} // namespace

Value cpu::addFours(ImplicitLocOpBuilder &b, Value sum, Value weights, Value values) {
  return call(b, cast<VectorType>(sum.getType()), "llvm.x86.avx512.vpdpbusd.128", "llvm.x86.avx512.vpdpbusd.256",
              "llvm.x86.avx512.vpdpbusd.512", {sum, weights, values});
}

Value cpu::addFoursPlainly(ImplicitLocOpBuilder &b, Value sum, Value weights, Value values) {
  auto words = cast<VectorType>(sum.getType()), pairs = vectorOf(sum, b.getI16Type());
  Value w = vector::BitCastOp::create(b, words, weights), a = vector::BitCastOp::create(b, pairs, values);
  Value mask = splatOf(b, words, 0x00ff00ff), eight = splatOf(b, words, 8), byte = splatOf(b, pairs, 8);
  Value odd = arith::AndIOp::create(b, arith::ShRUIOp::create(b, w, eight), mask);
  Value evenValues = arith::ShRSIOp::create(b, arith::ShLIOp::create(b, a, byte), byte);
  sum = arith::AddIOp::create(b, sum, dotInt16(b, arith::AndIOp::create(b, w, mask), evenValues));
  return arith::AddIOp::create(b, sum, dotInt16(b, odd, arith::ShRSIOp::create(b, a, byte)));
}

Value cpu::addPairs(ImplicitLocOpBuilder &b, Value x, Value y) {
  return call(b, vectorOf(x, b.getI32Type()), "llvm.x86.sse2.pmadd.wd", "llvm.x86.avx2.pmadd.wd",
              "llvm.x86.avx512.pmaddw.d.512", {x, y});
}

Value cpu::addBytePairs(ImplicitLocOpBuilder &b, Value weights, Value values) {
  return call(b, vectorOf(weights, b.getI16Type()), "llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.avx2.pmadd.ub.sw",
              "llvm.x86.avx512.pmaddubs.w.512", {weights, values});
}

Value cpu::withSigns(ImplicitLocOpBuilder &b, Value values, Value signs) {
  return call(b, cast<VectorType>(values.getType()), "llvm.x86.ssse3.psign.b.128", "llvm.x86.avx2.psign.b", "",
              {values, signs});
}

Value cpu::lookUp(ImplicitLocOpBuilder &b, Value table, Value indices) {
  return call(b, cast<VectorType>(table.getType()), "llvm.x86.ssse3.pshuf.b.128", "llvm.x86.avx2.pshuf.b",
              "llvm.x86.avx512.pshuf.b.512", {table, indices});
}
