//===- EmulateMatrixInstructions.cpp - Emulates AMX and vdpbf16ps by vector code -----------===//
//
// A tile becomes a buffer on the stack. A multiplication updates its accumulator's buffer in
// place: an accumulator has one use, the multiplication that gives its next value.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Codegen/AmxMatmul.h"
#include "lib/Target/CPU/Codegen/Bf16Instructions.h"
#include "lib/Target/CPU/Codegen/Passes.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Transforms/DialectConversion.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNEMULATEMATRIXINSTRUCTIONS
#include "lib/Target/CPU/Codegen/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;

namespace {

Value bufferFor(ImplicitLocOpBuilder &b, Type type) {
  auto tile = cast<amx::TileType>(type);
  return cpu::stackBuffer(b, b.getLoc(), tile.getShape(), tile.getElementType());
}

VectorType rowOf(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return VectorType::get({type.getDimSize(1)}, type.getElementType());
}

/// Emits a loop over the rows of a tile's buffer.
void forRows(ImplicitLocOpBuilder &b, Value buffer, function_ref<void(ImplicitLocOpBuilder &, Value row)> body) {
  int64_t rows = cast<MemRefType>(buffer.getType()).getDimSize(0);
  auto each = scf::ForOp::create(b, index(b, 0), index(b, rows), index(b, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(each.getBody());
  body(b, each.getInductionVar());
}

/// The buffer of a new tile; `rowAt` emits each of its rows.
Value makeTile(ImplicitLocOpBuilder &b, Type type,
               function_ref<Value(ImplicitLocOpBuilder &, VectorType, Value row)> rowAt) {
  Value buffer = bufferFor(b, type);
  forRows(b, buffer, [&](ImplicitLocOpBuilder &b, Value row) {
    vector::StoreOp::create(b, rowAt(b, rowOf(buffer), row), buffer, ValueRange{row, index(b, 0)});
  });
  return buffer;
}

/// The indices of row `row` of a tile that a load or store names by its first row.
SmallVector<Value> indicesOf(ImplicitLocOpBuilder &b, ValueRange indices, Value stride, Value row) {
  SmallVector<Value> at(indices);
  Value &first = stride ? at.back() : at[at.size() - 2];
  first = arith::AddIOp::create(b, first, stride ? Value(arith::MulIOp::create(b, row, stride)) : row);
  return at;
}

struct ZeroTile : OpConversionPattern<amx::TileZeroOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileZeroOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto zeros = [](ImplicitLocOpBuilder &b, VectorType type, Value) -> Value {
      return arith::ConstantOp::create(b, b.getZeroAttr(type));
    };
    rewriter.replaceOp(op, makeTile(b, op.getRes().getType(), zeros));
    return success();
  }
};

struct LoadTile : OpConversionPattern<amx::TileLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto load = [&](ImplicitLocOpBuilder &b, VectorType type, Value row) -> Value {
      return vector::LoadOp::create(b, type, adaptor.getBase(),
                                    indicesOf(b, adaptor.getIndices(), adaptor.getStride(), row));
    };
    rewriter.replaceOp(op, makeTile(b, op.getRes().getType(), load));
    return success();
  }
};

struct StoreTile : OpConversionPattern<amx::TileStoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(amx::TileStoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value buffer = adaptor.getVal();
    forRows(b, buffer, [&](ImplicitLocOpBuilder &b, Value row) {
      Value loaded = vector::LoadOp::create(b, rowOf(buffer), buffer, ValueRange{row, index(b, 0)});
      vector::StoreOp::create(b, loaded, adaptor.getBase(),
                              indicesOf(b, adaptor.getIndices(), adaptor.getStride(), row));
    });
    rewriter.eraseOp(op);
    return success();
  }
};

/// One row of a bf16 multiplication: the sum over even k, the sum over odd k, then both.
Value sumOf(ImplicitLocOpBuilder &b, amx::TileMulFOp, Value rows, Value panel, Value row, VectorType type) {
  auto zero = [&]() -> Value { return arith::ConstantOp::create(b, b.getZeroAttr(type)); };
  int64_t lines = cast<MemRefType>(panel.getType()).getDimSize(0);
  SmallVector<Value> sums = loop(
      b, index(b, 0), index(b, lines), 1, {zero(), zero()},
      [&](ImplicitLocOpBuilder &b, Value line, ValueRange carried) {
        auto panels =
            widenInterleaved(b, vector::LoadOp::create(b, rowOf(panel), panel, ValueRange{line, index(b, 0)}));
        auto multiplyAdd = [&](int64_t nth, Value column, Value sum) -> Value {
          Value at = arith::AddIOp::create(b, arith::MulIOp::create(b, line, index(b, 2)), index(b, nth));
          Value element = memref::LoadOp::create(b, rows, ValueRange{row, at});
          Value factor = vector::BroadcastOp::create(b, type, arith::ExtFOp::create(b, b.getF32Type(), element));
          return vector::FMAOp::create(b, factor, column, sum);
        };
        return SmallVector<Value>{multiplyAdd(0, panels.first, carried[0]), multiplyAdd(1, panels.second, carried[1])};
      });
  return arith::AddFOp::create(b, sums[0], sums[1]);
}

/// One row of an int8 multiplication.
Value sumOf(ImplicitLocOpBuilder &b, amx::TileMulIOp op, Value rows, Value panel, Value row, VectorType type) {
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  int64_t lines = cast<MemRefType>(panel.getType()).getDimSize(0);
  auto splat = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getI32IntegerAttr(value)));
  };
  return loop(b, index(b, 0), index(b, lines), 1, zero, [&](ImplicitLocOpBuilder &b, Value line, Value sum) {
    Value bytes = vector::LoadOp::create(b, rowOf(panel), panel, ValueRange{line, index(b, 0)});
    Value words = vector::BitCastOp::create(b, type, bytes);
    for (int64_t nth = 0; nth < 4; ++nth) {
      Value top = arith::ShLIOp::create(b, words, splat(24 - 8 * nth));
      Value weights = op.getIsZextRhs() ? Value(arith::ShRUIOp::create(b, top, splat(24)))
                                        : Value(arith::ShRSIOp::create(b, top, splat(24)));
      Value at = arith::AddIOp::create(b, arith::MulIOp::create(b, line, index(b, 4)), index(b, nth));
      Value code = memref::LoadOp::create(b, rows, ValueRange{row, at});
      code = op.getIsZextLhs() ? Value(arith::ExtUIOp::create(b, b.getI32Type(), code))
                               : Value(arith::ExtSIOp::create(b, b.getI32Type(), code));
      Value term = arith::MulIOp::create(b, weights, vector::BroadcastOp::create(b, type, code));
      sum = arith::AddIOp::create(b, sum, term);
    }
    return sum;
  });
}

template <typename Op> struct MultiplyTiles : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  LogicalResult matchAndRewrite(Op op, typename Op::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getAcc().hasOneUse())
      return rewriter.notifyMatchFailure(op, "the accumulator is used elsewhere, too");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value sums = adaptor.getAcc();
    forRows(b, sums, [&](ImplicitLocOpBuilder &b, Value row) {
      SmallVector<Value> at{row, index(b, 0)};
      Value before = vector::LoadOp::create(b, rowOf(sums), sums, at);
      Value added = sumOf(b, op, adaptor.getLhs(), adaptor.getRhs(), row, rowOf(sums));
      Value sum = isa<FloatType>(rowOf(sums).getElementType()) ? Value(arith::AddFOp::create(b, before, added))
                                                               : Value(arith::AddIOp::create(b, before, added));
      vector::StoreOp::create(b, sum, sums, at);
    });
    rewriter.replaceOp(op, sums);
    return success();
  }
};

/// vdpbf16ps as two multiply-adds, that of odd k first, as the instruction does.
struct DotBf16 : OpConversionPattern<LLVM::CallIntrinsicOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(LLVM::CallIntrinsicOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!op.getIntrin().starts_with(cpu::kDotBf16))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto left = widenInterleaved(b, adaptor.getArgs()[1]), right = widenInterleaved(b, adaptor.getArgs()[2]);
    Value sum = vector::FMAOp::create(b, left.second, right.second, adaptor.getArgs()[0]);
    rewriter.replaceOpWithNewOp<vector::FMAOp>(op, left.first, right.first, sum);
    return success();
  }
};

struct EmulateMatrixInstructions : rapt::impl::AttnEmulateMatrixInstructionsBase<EmulateMatrixInstructions> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    if (!TargetInfo::of(getOperation()).emulated)
      return;
    MLIRContext *context = &getContext();
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion(
        [](amx::TileType type) -> Type { return MemRefType::get(type.getShape(), type.getElementType()); });
    RewritePatternSet patterns(context);
    patterns
        .add<ZeroTile, LoadTile, StoreTile, MultiplyTiles<amx::TileMulFOp>, MultiplyTiles<amx::TileMulIOp>, DotBf16>(
            converter, context);
    ConversionTarget target(*context);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    target.addIllegalDialect<amx::AMXDialect>();
    target.addDynamicallyLegalOp<LLVM::CallIntrinsicOp>(
        [](LLVM::CallIntrinsicOp op) { return !op.getIntrin().starts_with(cpu::kDotBf16); });
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
