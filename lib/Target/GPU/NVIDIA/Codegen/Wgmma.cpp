//===- Wgmma.cpp - Asynchronous matmuls of warpgroups ---------------------------------------===//
//
// nvvm.wgmma.mma_async takes no first operand in registers, so matmuls are inline PTX. Descriptors: PTX ISA, "Matrix
// Descriptor Format" and "Strides" of wgmma.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

/// "a, b, c".
std::string list(size_t first, size_t count, StringRef before) {
  std::string text;
  for (size_t i = first; i < first + count; ++i)
    text += (i == first ? "" : ", ") + before.str() + std::to_string(i);
  return text;
}

/// The descriptor of a tile, without its start: where k is contiguous the second stride is of 8 rows, else the first is
/// of boxes and the second of 8 k.
Value descriptorOf(OpBuilder &builder, Location loc, TileType tile, Value pointer, bool isAlongK) {
  const uint64_t span = uint64_t(tile.getSwizzle().getBytes()), mode = span == 128 ? 1 : span == 64 ? 2 : 3;
  const uint64_t leading = isAlongK ? 1 : uint64_t(tile.getBoxBytes()) >> 4;
  const uint64_t fields = mode << 62 | (8 * span >> 4) << 32 | leading << 16;
  Ints ints(builder, loc);
  const Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), pointer);
  const Value start = ints.mask(ints.shiftRight(address, 4), 0x3fff);
  const Value wide = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), start);
  const Value rest = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(int64_t(fields)));
  return arith::OrIOp::create(builder, loc, wide, rest);
}

Value forward(OpBuilder &builder, Location loc, Value descriptor, int64_t bytes) {
  const Value by = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(bytes >> 4));
  return builder.createOrFold<arith::AddIOp>(loc, descriptor, by);
}

/// Bytes from the first k of a tile whose rows are along k to 16 `step`.
int64_t alongK(TileType tile, int64_t step) {
  const int64_t byte = step * 32, span = tile.getSwizzle().getBytes();
  return byte / span * tile.getBoxBytes() + byte % span;
}

struct LowerWgmma : OpConversionPattern<WgmmaOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(WgmmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (failed(requireHopper(op, /*own=*/true)))
      return failure();
    const Location loc = op.getLoc();
    const FragmentType result = op.getResult().getType();
    const TileType b = op.getB().getType();
    auto a = dyn_cast<TileType>(op.getA().getType());
    const int64_t m = result.getRows() / 64, n = result.getColumns();
    const int64_t k = (op.getTranspose() ? b.getColumns() : b.getRows()) / 16;
    const Value right = descriptorOf(rewriter, loc, b, adaptor.getB().front(), op.getTranspose());
    const Value left = a ? descriptorOf(rewriter, loc, a, adaptor.getA().front(), true) : Value();
    SmallVector<Value> acc = flatten(adaptor.getAcc()), sums;
    for (int64_t row = 0; row < m; ++row) {
      SmallVector<Value> sum;
      if (!acc.empty())
        sum = llvm::to_vector(ArrayRef(acc).slice(row * n / 2, n / 2));
      for (int64_t step = 0; step < k; ++step) {
        SmallVector<Value> operands;
        if (a)
          operands.push_back(forward(rewriter, loc, left, row * 64 * a.getSwizzle().getBytes() + alongK(a, step)));
        else
          llvm::append_range(operands, adaptor.getA().slice((row * k + step) * 4, 4));
        const int64_t moved = op.getTranspose() ? alongK(b, step) : step * 16 * b.getSwizzle().getBytes();
        operands.push_back(forward(rewriter, loc, right, moved));
        sum = multiply(rewriter, op, operands, sum);
      }
      llvm::append_range(sums, sum);
    }
    rewriter.replaceOpWithMultiple(op, {sums});
    return success();
  }

private:
  /// One instruction; without `acc` the sums start from zero.
  static SmallVector<Value> multiply(OpBuilder &builder, WgmmaOp op, ArrayRef<Value> operands, ArrayRef<Value> acc) {
    const FragmentType result = op.getResult().getType();
    const size_t n = size_t(result.getColumns()), outputs = n / 2;
    const bool isInRegisters = operands.size() > 2;
    const std::string kind = op.getB().getType().getElementType().isBF16() ? "bf16" : "f16";
    std::string text = "{ .reg .pred add; setp.ne.b32 add, " + std::string(acc.empty() ? "0" : "1") +
                       ", 0; wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k16.f32." + kind + "." + kind +
                       " {" + list(0, outputs, "$") + "}, ";
    const std::string left = list(outputs, operands.size() - 1, "$");
    text += isInRegisters ? "{" + left + "}" : left;
    text += ", $" + std::to_string(outputs + operands.size() - 1) + ", add, 1, 1, ";
    // Whether an operand in shared memory is contiguous along m or n.
    text += std::string(isInRegisters ? "" : "0, ") + (op.getTranspose() ? "0" : "1") + "; }";
    std::string constraints;
    for (size_t i = 0; i < outputs; ++i)
      constraints += "=&f,"; // written while inputs are read
    for (size_t i = 0; i + 1 < operands.size(); ++i)
      constraints += isInRegisters ? "r," : "l,";
    constraints += "l,";
    for (size_t i = 0; i < acc.size(); ++i)
      constraints += std::to_string(i) + ",";
    SmallVector<Value> inputs = llvm::to_vector(operands);
    llvm::append_range(inputs, acc);
    return emitAsm(builder, op.getLoc(), SmallVector<Type>(outputs, builder.getF32Type()), inputs, text,
                   constraints + "~{memory}");
  }
};

/// An instruction that LLVM moves no computation of the registers across: they go through it.
SmallVector<SmallVector<Value>> tie(OpBuilder &builder, Location loc, ArrayRef<ValueRange> fragments, StringRef text) {
  const SmallVector<Value> registers = flatten(fragments);
  std::string constraints;
  for (Value value : registers)
    constraints += value.getType().isF32() ? "=f," : "=r,";
  for (size_t i = 0; i < registers.size(); ++i)
    constraints += std::to_string(i) + ",";
  const SmallVector<Value> tied =
      emitAsm(builder, loc, ValueRange(registers).getTypes(), registers, text, constraints + "~{memory}");
  SmallVector<SmallVector<Value>> results;
  ArrayRef<Value> rest = tied;
  for (ValueRange fragment : fragments) {
    results.push_back(llvm::to_vector(rest.take_front(fragment.size())));
    rest = rest.drop_front(fragment.size());
  }
  return results;
}

struct LowerFence : OpConversionPattern<WgmmaFenceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(WgmmaFenceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (failed(requireHopper(op, /*own=*/true)))
      return failure();
    rewriter.replaceOpWithMultiple(op, tie(rewriter, op.getLoc(), adaptor.getFragments(), "wgmma.fence.sync.aligned;"));
    return success();
  }
};

struct LowerWait : OpConversionPattern<WgmmaWaitOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(WgmmaWaitOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (failed(requireHopper(op, /*own=*/true)))
      return failure();
    const std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(op.getGroups()) + ";";
    rewriter.replaceOpWithMultiple(op, tie(rewriter, op.getLoc(), adaptor.getFragments(), text));
    return success();
  }
};

} // namespace

void cuda::populateWgmma(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerWgmma, LowerFence, LowerWait>(converter, patterns.getContext());
}
