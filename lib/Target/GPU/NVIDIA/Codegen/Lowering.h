//===- Lowering.h - Helpers of the patterns that lower attn_gpu ------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace rapt::cuda {

/// The global that is the kernels' dynamic shared memory.
inline constexpr llvm::StringLiteral kShared = "attn_gpu_shared";

/// Integers of 32 bits; operations on constants are folded.
class Ints {
public:
  Ints(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::Value constant(int64_t value);
  mlir::Value of(mlir::Value index);
  mlir::Value index(mlir::Value value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, int64_t by);
  mlir::Value shiftRight(mlir::Value a, unsigned by);
  mlir::Value mask(mlir::Value a, int64_t mask);
  mlir::Value exclusiveOr(mlir::Value a, mlir::Value b);
  /// The number of the thread in its warp or warpgroup of `threads` threads.
  mlir::Value thread(int64_t threads);
  mlir::Value wide(mlir::Value value);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// Row and column of a thread's first element of a fragment.
struct Origin {
  mlir::Value row, column;
};
Origin originOf(attn_gpu::FragmentLayoutInterface layout, Ints ints);

/// A number that is known but for a part which only the kernel knows, or null.
struct Position {
  mlir::Value dynamic;
  int64_t constant = 0;
};
Position positionOf(mlir::Value index, Ints ints);

/// The term that a swizzle combines with the offset of 16 bytes of a row, by exclusive or.
mlir::Value swizzleOf(attn_gpu::SwizzleAttr swizzle, mlir::Value row, Ints ints);

/// Pointer + dynamic + constant, in bytes. The constant becomes part of an instruction.
mlir::Value advance(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pointer, mlir::Value dynamic,
                    int64_t constant);

/// Two f32 rounded to bf16 or f16 as a vector of two.
mlir::Value roundPair(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element, mlir::Value low,
                      mlir::Value high);

/// acc[16, 8] += a[16, 32] b[32, 8] of signed bytes: a lane's 4 sums, and its 4 and 2 words of operands.
void multiplyBytes(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange a, mlir::ValueRange b,
                   llvm::MutableArrayRef<mlir::Value> acc);

/// Inline PTX with side effects on memory; its results, one for each type.
llvm::SmallVector<mlir::Value> emitAsm(mlir::OpBuilder &builder, mlir::Location loc, mlir::TypeRange results,
                                       mlir::ValueRange operands, llvm::StringRef text, llvm::StringRef constraints);

/// Values of all ranges, one after the other.
llvm::SmallVector<mlir::Value> flatten(llvm::ArrayRef<mlir::ValueRange> ranges);

/// The number in "sm_90a" of the op's gpu.module, and whether the architecture's own instructions are there.
struct Chip {
  int number = 0;
  bool isArchitectureSpecific = false;
};
Chip chipOf(mlir::Operation *op);
/// An error unless the chip is sm_90 or newer; with `own`, unless it is sm_90a.
mlir::LogicalResult requireHopper(mlir::Operation *op, bool own);

void populateBarriers(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateBlocks(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateFloatMatmul(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateFragments(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateGlobalFragments(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateMathInstructions(mlir::RewritePatternSet &patterns, mlir::ConversionTarget &target);
void populateMatrices(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateQuantized(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateThreadIds(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns,
                       mlir::ConversionTarget &target);
void populateTiles(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);
void populateWgmma(const mlir::TypeConverter &converter, mlir::RewritePatternSet &patterns);

} // namespace rapt::cuda
