//===- ExpandQuantize.cpp - The code of attn_gpu.quantize_tile ----------------------------===//
//
// A thread has 4 neighboring elements at a time, so that a group of 32 is in 8 lanes and its largest magnitude takes
// 3 shuffles. A group of all of k is read twice, the second time from the cache.
//
//===----------------------------------------------------------------------===//
#include "lib/Artifact/Quantization.h"
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Target/GPU/GlobalArray.h"
#include "lib/Target/GPU/NVIDIA/Expand.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;
using neutral::index;

namespace {

constexpr int64_t kLanes = 32, kOfThread = 4; ///< elements at a time

class QuantizeCode {
public:
  explicit QuantizeCode(QuantizeTileOp op)
      : op(op), b(op.getLoc(), op), codes(b, op.getCodes()), group(op.getGroup()), period(op.getPeriod()),
        depth(cast<MemRefType>(op.getInput().getType()).getDimSize(1)),
        words(cast<MemRefType>(op.getCodes().getType()).getDimSize(1) / kOfThread),
        thread(arith::IndexCastOp::create(b, b.getIndexType(), NVVM::ThreadIdXOp::create(b, b.getI32Type()))) {}

  void emit() {
    Value ofAll = group ? Value() : largestOfBlock();
    eachWord(ValueRange(), [&](Value word, Value isThere, ValueRange) -> SmallVector<Value> {
      Elements x = read(word, isThere);
      Value largest = group ? amongLanes(largestOf(x, neutral::number(b, 0)), group / kOfThread) : ofAll;
      auto [scale, inverse] = neutral::groupScale(b, largest);
      when(isThere, [&] { storeCodes(word, x, inverse); });
      // The first thread of a group stores its scale.
      const int64_t ofGroup = group ? group / kOfThread : words;
      Value isFirst = isEqual(arith::RemUIOp::create(b, word, index(b, ofGroup)), 0);
      when(arith::AndIOp::create(b, isThere, isFirst), [&] {
        Value at = arith::DivUIOp::create(b, word, index(b, ofGroup));
        memref::StoreOp::create(b, scale, op.getScales(), ValueRange{index(b, 0), at});
      });
      return {};
    });
  }

private:
  using Elements = std::array<Value, kOfThread>;

  Value isEqual(Value x, int64_t value) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, index(b, value));
  }
  Value isLess(Value x, int64_t end) { return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, index(b, end)); }
  Value integer(int64_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value))); }

  void when(Value condition, function_ref<void()> emit) {
    auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emit();
  }

  /// Calls `body` for the words of the thread. All threads of a block have the same number of iterations, as those of a
  /// warp shuffle together.
  SmallVector<Value> eachWord(ValueRange init,
                              function_ref<SmallVector<Value>(Value word, Value isThere, ValueRange carried)> body) {
    auto loop = scf::ForOp::create(b, index(b, 0), index(b, words), index(b, op.getThreads()), init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value word = arith::AddIOp::create(b, loop.getInductionVar(), thread);
    SmallVector<Value> carried = body(word, isLess(word, words), loop.getRegionIterArgs());
    if (!init.empty()) // else the loop has its terminator
      scf::YieldOp::create(b, carried);
    return SmallVector<Value>(loop.getResults());
  }

  /// Elements of the input, and zeros where there is padding.
  Elements read(Value word, Value isThere) {
    Elements elements;
    for (int64_t i = 0; i < kOfThread; ++i) {
      Value column = arith::AddIOp::create(b, arith::MulIOp::create(b, word, index(b, kOfThread)), index(b, i));
      Value isInside = isThere;
      if (period) {
        const int64_t padded = artifact::padPeriod(period);
        Value nth = arith::DivUIOp::create(b, column, index(b, padded)),
              inPeriod = arith::RemUIOp::create(b, column, index(b, padded));
        isInside = arith::AndIOp::create(b, isInside, isLess(inPeriod, period));
        column = arith::AddIOp::create(b, arith::MulIOp::create(b, nth, index(b, period)), inPeriod);
      }
      if (depth != words * kOfThread)
        isInside = arith::AndIOp::create(b, isInside, isLess(column, depth));
      auto branch = scf::IfOp::create(b, TypeRange(b.getF32Type()), isInside, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Value x = memref::LoadOp::create(b, op.getInput(), ValueRange{index(b, 0), column});
      scf::YieldOp::create(b, neutral::widened(b, x));
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, neutral::number(b, 0));
      elements[i] = branch.getResult(0);
    }
    return elements;
  }

  Value largestOf(const Elements &elements, Value largest) {
    for (Value x : elements)
      largest = arith::MaximumFOp::create(b, largest, Value(math::AbsFOp::create(b, x)));
    return largest;
  }

  /// The largest of `count` neighboring lanes.
  Value amongLanes(Value largest, int64_t count) {
    for (int64_t distance = count / 2; distance > 0; distance /= 2) {
      Value other = NVVM::ShflOp::create(b, b.getF32Type(), integer(-1), largest, integer(distance), integer(31),
                                         NVVM::ShflKind::bfly, UnitAttr());
      largest = arith::MaximumFOp::create(b, largest, other);
    }
    return largest;
  }

  Value largestOfBlock() {
    Value largest = eachWord(neutral::number(b, 0), [&](Value word, Value isThere, ValueRange carried) {
      return SmallVector<Value>{largestOf(read(word, isThere), carried[0])};
    })[0];
    largest = amongLanes(largest, kLanes);
    NVVM::Barrier0Op::create(b); // of a row before, whose shared memory this one has
    auto magnitude = [&](Value warp) -> Value {
      Value at = arith::MulIOp::create(b, warp, index(b, 4));
      return SharedOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 3), at);
    };
    when(isEqual(arith::RemUIOp::create(b, thread, index(b, kLanes)), 0), [&] {
      LLVM::StoreOp::create(b, largest, magnitude(arith::DivUIOp::create(b, thread, index(b, kLanes))),
                            /*alignment=*/4);
    });
    NVVM::Barrier0Op::create(b);
    for (int64_t warp = 0; warp < QuantizeTileOp::kWarps; ++warp) {
      Value other = LLVM::LoadOp::create(b, b.getF32Type(), magnitude(index(b, warp)), /*alignment=*/4);
      largest = arith::MaximumFOp::create(b, largest, other);
    }
    return largest;
  }

  /// Stores 4 quantized values at once, in the order of attn_gpu.quantize_tile.
  void storeCodes(Value word, const Elements &elements, Value inverse) {
    Value bytes;
    for (auto [i, x] : llvm::enumerate(elements)) {
      Value code = arith::FPToSIOp::create(b, b.getI32Type(), neutral::codeOf(b, x, inverse));
      code = arith::AndIOp::create(b, code, integer(0xff));
      code = arith::ShLIOp::create(b, code, integer(8 * int64_t(i)));
      bytes = bytes ? Value(arith::OrIOp::create(b, bytes, code)) : code;
    }
    constexpr int64_t kWords = 8; // of 32 quantized values
    Value nth = arith::RemUIOp::create(b, word, index(b, kWords)), first = arith::SubIOp::create(b, word, nth);
    Value half = arith::RemUIOp::create(b, nth, index(b, 2)), pair = arith::DivUIOp::create(b, nth, index(b, 2));
    Value at = arith::AddIOp::create(
        b, first, arith::AddIOp::create(b, pair, arith::MulIOp::create(b, half, index(b, kWords / 2))));
    at = arith::AddIOp::create(b, codes.offset, arith::MulIOp::create(b, at, index(b, kOfThread)));
    LLVM::StoreOp::create(b, bytes, codes.pointerAt(b, at), /*alignment=*/4);
  }

  QuantizeTileOp op;
  ImplicitLocOpBuilder b;
  GlobalArray codes;
  int64_t group, period, depth, words;
  Value thread;
};

} // namespace

LogicalResult cuda::expand(QuantizeTileOp op) {
  QuantizeCode(op).emit();
  return success();
}
