//===- LowerQuantizedMatmuls.cpp - Lowers int8 matmuls of tiles to micro-kernels -----------===//
//
// Weights are the unsigned operand of int8 dot products and activations the signed one:
// vpdpbusd takes its signed operand from memory and broadcasts four bytes of it.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Target/CPU/Codegen/AmxMatmul.h"
#include "lib/Target/CPU/Codegen/BlockTile.h"
#include "lib/Target/CPU/Codegen/ByteDots.h"
#include "lib/Target/CPU/Codegen/MatmulPrefetch.h"
#include "lib/Target/CPU/Codegen/Passes.h"
#include "lib/Target/CPU/Codegen/QuantizedTile.h"
#include "lib/Target/CPU/Codegen/TileValues.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Verify.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLOWERQUANTIZEDMATMULS
#include "lib/Target/CPU/Codegen/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using namespace rapt::cpu;
using attn_cpu::kPanel;
using rapt::attn_cpu::kLineBytes;

namespace {

/// Weight rows of a chunk: tiles of several rows prefetch once per chunk. The smallest quantized group has as many.
constexpr int64_t kChunk = 32;

/// Emits the micro-kernel tiles of one quantized matmul.
class Emitter {
public:
  Emitter(attn_cpu::QuantizedMatmulOp op, attn_cpu::MicroKernelAttr kernel, bool hasInt8Dot)
      : op(op), type(cast<attn::QuantizedType>(op.getWeight())), depth(op.getDepth()), kernel(kernel),
        lanes(kernel.getColumns() / 2), hasInt8Dot(hasInt8Dot) {}

  void emit(ImplicitLocOpBuilder &b) {
    int64_t m = tileRows();
    if (kernel.takesMatrix(m) && type.bits() == 8 && attn_cpu::QuantizedLayout(type, depth).groups() == 1)
      return emitAmx(b, m);
    if (scf::ForOp tiles = kernel.getPrefetch() ? loopOverRows(op, op.getPanel(), m) : scf::ForOp())
      nextPanel.emplace(b, tiles, kernel.getPrefetch().getTiles(),
                        attn_cpu::QuantizedLayout(type, depth).groupBytes() / stepsOfGroup(), /*bytes=*/1);
    const int64_t parts = llvm::divideCeil(m, kernel.getRows());
    for (column = 0; column < kPanel; column += 2 * lanes)
      for (int64_t part = 0; part < parts; ++part) {
        row = m * part / parts;
        rows = m * (part + 1) / parts - row;
        if (attn_cpu::QuantizedLayout(type, depth).groups() == 1)
          emitOneGroup(b);
        else
          emitGroups(b);
      }
  }

private:
  VectorType wordsType(ImplicitLocOpBuilder &b) const { return VectorType::get({lanes}, b.getI32Type()); }
  VectorType bytesType(ImplicitLocOpBuilder &b) const { return VectorType::get({4 * lanes}, b.getI8Type()); }
  VectorType floatsType(ImplicitLocOpBuilder &b) const { return VectorType::get({lanes}, b.getF32Type()); }

  int64_t tileRows() { return cast<MemRefType>(op.getDest().getType()).getDimSize(0); }

  Value rowAt(ImplicitLocOpBuilder &b, int64_t r) { return part ? plus(b, part, row + r) : index(b, row + r); }

  /// Loads the 32 bits at byte `at` of row `r` as a scalar of type `element`.
  Value loadWord(ImplicitLocOpBuilder &b, int64_t r, Value at, Type element) {
    Value bytes =
        vector::LoadOp::create(b, VectorType::get({4}, b.getI8Type()), op.getRows(), ValueRange{rowAt(b, r), at});
    Value word = vector::BitCastOp::create(b, VectorType::get({1}, element), bytes);
    return vector::ExtractOp::create(b, word, 0);
  }
  /// Broadcasts the 32 bits at byte `at` of row `r`.
  Value broadcastWord(ImplicitLocOpBuilder &b, int64_t r, Value at, VectorType type) {
    return vector::BroadcastOp::create(b, type, loadWord(b, r, at, type.getElementType()));
  }

  /// Loads vector `half` of the panel's interleaved line at byte `at` of group `group`.
  Value loadPanel(ImplicitLocOpBuilder &b, Value group, Value at, int64_t half) {
    return vector::LoadOp::create(b, bytesType(b), op.getPanel(),
                                  ValueRange{group, plus(b, at, 4 * (column + half * lanes))});
  }

  /// `acc` plus the dot product of four bytes in each lane; `weights` are unsigned, `values` signed.
  Value dot(ImplicitLocOpBuilder &b, Value acc, Value weights, Value values) {
    return hasInt8Dot ? addFours(b, acc, weights, values) : addFoursPlainly(b, acc, weights, values);
  }

  /// Adds step `step` of group `group` to `sums`: one 32-bit word of each column, which is 4 or 8 rows of the weight.
  void emitStep(ImplicitLocOpBuilder &b, Value group, Value step, MutableArrayRef<Value> sums) {
    Value at = times(b, step, 4 * kPanel), inRow = times(b, step, 32 / type.bits());
    inRow = arith::AddIOp::create(b, inRow, times(b, group, attn_cpu::QuantizedLayout(type, depth).groupDepth()));
    Value words[2] = {loadPanel(b, group, at, 0), loadPanel(b, group, at, 1)};
    for (int64_t nibble = 0; nibble < 8 / type.bits(); ++nibble) {
      Value panels[2];
      for (int64_t half = 0; half < 2; ++half)
        panels[half] = type.bits() == 8 ? words[half] : nibbles(b, words[half], nibble);
      for (int64_t r = 0; r < rows; ++r) {
        Value values =
            vector::BitCastOp::create(b, bytesType(b), broadcastWord(b, r, plus(b, inRow, 4 * nibble), wordsType(b)));
        for (int64_t half = 0; half < 2; ++half)
          sums[2 * r + half] = dot(b, sums[2 * r + half], panels[half], values);
      }
    }
  }

  void prefetchByte(ImplicitLocOpBuilder &b, Value buffer, Value row, Value byte, unsigned locality) {
    memref::PrefetchOp::create(b, buffer, ValueRange{row, byte}, /*isWrite=*/false, locality, /*isDataCache=*/true);
  }

  /// Bytes of the panel per chunk.
  int64_t chunkBytes() const { return kChunk * kPanel * type.bits() / 8; }

  /// Whether this is the first micro-kernel tile of the matmul, which prefetches what all of them share.
  bool isFirst() const { return row == 0 && column == 0; }
  int64_t stepsOfGroup() const { return attn_cpu::QuantizedLayout(type, depth).groupDepth() * type.bits() / 32; }

  /// Prefetches the next panel's line of step `nth` of a group.
  void prefetchNextPanel(ImplicitLocOpBuilder &b, Value group, Value nth) {
    const int64_t groups = attn_cpu::QuantizedLayout(type, depth).groups();
    Value step = arith::AddIOp::create(b, nth, times(b, group, stepsOfGroup()));
    Value element = nextPanel->at(b, step, groups * stepsOfGroup());
    prefetchByte(b, op.getPanel(), index(b, 0),
                 plus(b, element, groups * attn_cpu::QuantizedLayout(type, depth).groupBytes()), kSecondLevel);
  }

  /// Emits the prefetches of the chunk that begins at byte `at` of its group: the next group's scales; for half of the
  /// rows the line after the next, unless rows stay in L1; a row that the epilogue writes. Addresses may lie behind a
  /// buffer's end.
  void prefetchChunk(ImplicitLocOpBuilder &b, Value group, Value at) {
    for (int64_t tail = attn_cpu::QuantizedLayout(type, depth).codeBytes();
         attn_cpu::QuantizedLayout(type, depth).groups() > 1 &&
         tail < attn_cpu::QuantizedLayout(type, depth).groupBytes();
         tail += kLineBytes)
      prefetchByte(b, op.getPanel(), group, plus(b, at, attn_cpu::QuantizedLayout(type, depth).groupBytes() + tail),
                   kFirstLevel);
    if (!nextPanel)
      return;
    Value inRow = arith::DivUIOp::create(b, at, index(b, kPanel * type.bits() / 8));
    inRow = arith::AddIOp::create(b, inRow, times(b, group, attn_cpu::QuantizedLayout(type, depth).groupDepth()));
    Value chunk = arith::DivUIOp::create(b, inRow, index(b, kChunk));
    if (rows * depth > kernel.getPrefetch().getResidentBytes())
      prefetchRows(b, chunk, inRow);
    if (row == 0)
      prefetchEpilogue(b, chunk);
  }

  /// Prefetches one row per chunk, so that the last chunk prefetches the last row: into L2, as rows at multiples of
  /// 4 KiB would evict one another from L1.
  void prefetchEpilogue(ImplicitLocOpBuilder &b, Value chunk) {
    int64_t late = std::max<int64_t>(attn_cpu::QuantizedLayout(type, depth).paddedDepth() / kChunk - tileRows(), 0);
    Value written = arith::MaxUIOp::create(b, chunk, index(b, late));
    written = arith::SubIOp::create(b, written, index(b, late));
    for (memref::SubViewOp view : viewsOfEpilogue(op, tileRows(), kPanel))
      for (int64_t line = 0; line < 2 * lanes * 4; line += kLineBytes)
        memref::PrefetchOp::create(b, view, ValueRange{written, index(b, column + line / 4)}, /*isWrite=*/true,
                                   kSecondLevel, /*isDataCache=*/true);
  }

  void prefetchRows(ImplicitLocOpBuilder &b, Value chunk, Value inRow) {
    const int64_t some = llvm::divideCeil(rows, kLineBytes / kChunk);
    Value first = times(b, arith::RemUIOp::create(b, chunk, index(b, kLineBytes / kChunk)), some);
    for (int64_t r = 0; r < some; ++r)
      prefetchByte(b, op.getRows(), plus(b, first, row + r), plus(b, inRow, 2 * kLineBytes), kFirstLevel);
  }

  /// Prefetches the panel's lines one chunk behind the step at byte `at` of its group. Every step prefetches its own,
  /// as all lines of a chunk at once would fill the line fill buffers of L1.
  void prefetchPanel(ImplicitLocOpBuilder &b, Value group, Value at) {
    Value from = plus(
        b, at, chunkBytes() + 4 * column + (attn_cpu::QuantizedLayout(type, depth).groups() > 1 ? groupTail() : 0));
    for (int64_t line = 0; line < 2 * lanes * 4; line += kLineBytes)
      prefetchByte(b, op.getPanel(), group, plus(b, from, line), kFirstLevel);
  }

  /// Bytes of the scales and zero points, which follow the values of a group.
  int64_t groupTail() const {
    return attn_cpu::QuantizedLayout(type, depth).groupBytes() - attn_cpu::QuantizedLayout(type, depth).codeBytes();
  }

  /// Prefetches the panel for a few rows: all columns, `stream_bytes` behind the step at byte `at` of its group.
  void prefetchStream(ImplicitLocOpBuilder &b, Value group, Value at) {
    if (!kernel.getPrefetch())
      return;
    for (int64_t line = 0; line < 4 * kPanel && column == 0; line += kLineBytes)
      prefetchByte(b, op.getPanel(), group, plus(b, at, kernel.getPrefetch().getStreamBytes() + line), kFirstLevel);
  }

  /// Emits steps [first, first + count) of a group; tiles of several rows prefetch.
  void emitChunk(ImplicitLocOpBuilder &b, Value group, Value first, int64_t count, MutableArrayRef<Value> sums) {
    const bool prefetches = kernel.getPrefetch() && rows >= kernel.getPrefetch().getStreamRows();
    if (prefetches)
      prefetchChunk(b, group, times(b, first, 4 * kPanel));
    for (int64_t step = 0; step < count; ++step) {
      Value nth = plus(b, first, step);
      if (prefetches)
        prefetchPanel(b, group, times(b, nth, 4 * kPanel));
      else
        prefetchStream(b, group, times(b, nth, 4 * kPanel));
      if (prefetches && nextPanel && isFirst())
        prefetchNextPanel(b, group, nth);
      emitStep(b, group, nth, sums);
    }
  }

  /// 16 times the low (0) or high (1) nibbles of each byte, so that their zero point is 128, as for 8 bits.
  Value nibbles(ImplicitLocOpBuilder &b, Value bytes, int64_t high) {
    Value words = vector::BitCastOp::create(b, wordsType(b), bytes);
    if (!high)
      words = arith::ShLIOp::create(b, words, splatOf(b, wordsType(b), 4));
    words = arith::AndIOp::create(b, words, splatOf(b, wordsType(b), 0xf0f0f0f0));
    return vector::BitCastOp::create(b, bytesType(b), words);
  }

  /// The accumulators at the start of a group: minus the zero point times the sum of the row's values. Quantized rows
  /// store it for the zero point 128.
  SmallVector<Value> beginSums(ImplicitLocOpBuilder &b, Value group) {
    Value zeros[2];
    for (int64_t half = 0; half < 2 && type.getZeroPoints(); ++half)
      zeros[half] = loadZeros(b, group, half);
    SmallVector<Value> sums;
    for (int64_t r = 0; r < rows; ++r) {
      Value at = plus(b, times(b, group, 4), attn_cpu::QuantizedLayout(type.ofRows(), depth).rowSum(0));
      Value correction = broadcastWord(b, r, at, wordsType(b));
      if (type.getZeroPoints()) // 16 times the zero point instead of 128
        correction = arith::ShRSIOp::create(b, correction, splatOf(b, wordsType(b), 3));
      for (int64_t half = 0; half < 2; ++half)
        sums.push_back(type.getZeroPoints() ? Value(arith::MulIOp::create(b, correction, zeros[half])) : correction);
    }
    return sums;
  }

  Value loadZeros(ImplicitLocOpBuilder &b, Value group, int64_t half) {
    Value at = index(b, attn_cpu::QuantizedLayout(type, depth).codeBytes() + 2 * kPanel + column + half * lanes);
    Value bytes =
        vector::LoadOp::create(b, VectorType::get({lanes}, b.getI8Type()), op.getPanel(), ValueRange{group, at});
    return arith::ExtUIOp::create(b, wordsType(b), bytes);
  }

  Value loadScales(ImplicitLocOpBuilder &b, Value group, int64_t half) {
    Value at = index(b, attn_cpu::QuantizedLayout(type, depth).codeBytes() + 2 * (column + half * lanes));
    Value bytes =
        vector::LoadOp::create(b, VectorType::get({2 * lanes}, b.getI8Type()), op.getPanel(), ValueRange{group, at});
    Value halves = vector::BitCastOp::create(b, VectorType::get({lanes}, b.getI16Type()), bytes);
    Value words =
        arith::ShLIOp::create(b, arith::ExtUIOp::create(b, wordsType(b), halves), splatOf(b, wordsType(b), 16));
    Value scales = vector::BitCastOp::create(b, floatsType(b), words);
    if (type.bits() == 8)
      return scales;
    Value sixteenth = arith::ConstantOp::create(b, DenseElementsAttr::get(floatsType(b), 1.f / 16));
    return arith::MulFOp::create(b, scales, sixteenth);
  }

  /// Casts the accumulators of a group to f32 and multiplies them by both scales; adds them to `acc` where it is given.
  SmallVector<Value> scale(ImplicitLocOpBuilder &b, Value group, ValueRange sums,
                           function_ref<Value(ImplicitLocOpBuilder &, int64_t r, int64_t half)> acc) {
    Value scales[2] = {loadScales(b, group, 0), loadScales(b, group, 1)};
    SmallVector<Value> results;
    for (int64_t r = 0; r < rows; ++r) {
      Value at = plus(b, times(b, group, 4), attn_cpu::QuantizedLayout(type.ofRows(), depth).rowScale(0));
      Value own = broadcastWord(b, r, at, floatsType(b));
      for (int64_t half = 0; half < 2; ++half) {
        Value sum = arith::SIToFPOp::create(b, floatsType(b), sums[2 * r + half]);
        Value scaled = arith::MulFOp::create(b, sum, scales[half]);
        Value before = acc ? acc(b, r, half) : Value();
        results.push_back(before ? Value(vector::FMAOp::create(b, scaled, own, before))
                                 : Value(arith::MulFOp::create(b, scaled, own)));
      }
    }
    return results;
  }

  SmallVector<Value> offsetsOf(ImplicitLocOpBuilder &b, int64_t r, int64_t half) {
    return {rowAt(b, r), index(b, column + half * lanes)};
  }
  void store(ImplicitLocOpBuilder &b, ValueRange values) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t half = 0; half < 2; ++half)
        vector::StoreOp::create(b, values[2 * r + half], op.getDest(), offsetsOf(b, r, half));
  }

  /// Emits the int8 matmul of all rows by AMX into a buffer, then multiplies each row by its scales.
  void emitAmx(ImplicitLocOpBuilder &b, int64_t m) {
    Value integers = stackBuffer(b, b.getLoc(), {m, kPanel}, b.getI32Type()), group = index(b, 0);
    amxMatmul(b, op.getRows(), op.getPanel(), integers, attn_cpu::QuantizedLayout(type, depth).paddedDepth(),
              /*fromZero=*/true);
    auto each = scf::ForOp::create(b, index(b, 0), index(b, m), index(b, 1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(each.getBody());
    part = each.getInductionVar();
    rows = 1;
    for (column = 0; column < kPanel; column += 2 * lanes) {
      SmallVector<Value> sums = beginSums(b, group);
      for (int64_t half = 0; half < 2; ++half) {
        Value tile = vector::LoadOp::create(b, wordsType(b), integers, offsetsOf(b, 0, half));
        sums[half] = arith::AddIOp::create(b, sums[half], tile);
      }
      store(b, scale(b, group, sums, nullptr));
    }
  }

  /// Emits a matmul whose depth is one group: accumulators stay integers to the end.
  void emitOneGroup(ImplicitLocOpBuilder &b) {
    Value group = index(b, 0);
    if (rows > 1) {
      store(b, scale(b, group, groupSums(b, group), nullptr));
      return;
    }
    SmallVector<Value> sums = beginSums(b, group);
    const int64_t steps = attn_cpu::QuantizedLayout(type, depth).paddedDepth() * type.bits() / 32,
                  chains = kernel.getChains().value_or(1);
    sums.append(2 * (chains - 1), splatOf(b, wordsType(b), 0));
    sums = loop(b, index(b, 0), index(b, steps), chains, sums,
                [&](ImplicitLocOpBuilder &b, Value step, ValueRange carried) {
                  SmallVector<Value> next(carried);
                  for (int64_t chain = 0; chain < chains; ++chain) {
                    Value nth = plus(b, step, chain);
                    prefetchStream(b, group, times(b, nth, 4 * kPanel));
                    emitStep(b, group, nth, MutableArrayRef(next).slice(2 * chain, 2));
                  }
                  return next;
                });
    for (int64_t i = 2; i < 2 * chains; ++i)
      sums[i % 2] = arith::AddIOp::create(b, sums[i % 2], sums[i]);
    store(b, scale(b, group, ValueRange(sums).take_front(2), nullptr));
  }

  SmallVector<Value> groupSums(ImplicitLocOpBuilder &b, Value group) {
    SmallVector<Value> sums = beginSums(b, group);
    int64_t steps = attn_cpu::QuantizedLayout(type, depth).groupDepth() * type.bits() / 32;
    int64_t chunk = rows == 1 && steps <= kernel.getUnrolledSteps().value_or(0) ? steps : kChunk * type.bits() / 32;
    if (steps == chunk) {
      emitChunk(b, group, index(b, 0), steps, sums);
      return sums;
    }
    return loop(b, index(b, 0), index(b, steps), chunk, sums,
                [&](ImplicitLocOpBuilder &b, Value first, ValueRange carried) {
                  SmallVector<Value> next(carried);
                  emitChunk(b, group, first, chunk, next);
                  return next;
                });
  }

  void emitGroups(ImplicitLocOpBuilder &b) {
    SmallVector<Value> zeros(2 * rows, arith::ConstantOp::create(b, b.getZeroAttr(floatsType(b))));
    Value none = index(b, 0), count = index(b, attn_cpu::QuantizedLayout(type, depth).groups());
    // Registers hold the accumulators of a group and the f32 sums of few rows; those of more rows are in `dest`.
    if (rows <= *kernel.getGroupRows()) {
      store(b, loop(b, none, count, 1, zeros, [&](ImplicitLocOpBuilder &b, Value group, ValueRange carried) {
              return scale(b, group, groupSums(b, group),
                           [&](ImplicitLocOpBuilder &, int64_t r, int64_t half) { return carried[2 * r + half]; });
            }));
      return;
    }
    store(b, zeros);
    auto groups = scf::ForOp::create(b, none, count, index(b, 1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(groups.getBody());
    Value group = groups.getInductionVar();
    store(b, scale(b, group, groupSums(b, group), [&](ImplicitLocOpBuilder &b, int64_t r, int64_t half) -> Value {
            return vector::LoadOp::create(b, floatsType(b), op.getDest(), offsetsOf(b, r, half));
          }));
  }

  attn_cpu::QuantizedMatmulOp op;
  attn::QuantizedType type;
  int64_t depth;
  attn_cpu::MicroKernelAttr kernel;
  int64_t lanes;
  bool hasInt8Dot; ///< whether the target has vpdpbusd
  int64_t row = 0, rows = 0, column = 0;
  /// The first row where the matmul is a loop over rows; else null.
  Value part;
  /// The prefetch of the next panel where tiles of a loop over rows share the current one.
  std::optional<NextPanel> nextPanel;
};

/// Fuses a rounding to nearest even with the conversion to integers that follows, as one instruction does both.
void fuseRounding(arith::FPToSIOp op) {
  auto rounded = op.getIn().getDefiningOp<math::RoundEvenOp>();
  if (!rounded)
    return;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  op.replaceAllUsesWith(LLVM::LrintOp::create(b, op.getType(), rounded.getOperand()).getResult());
  op.erase();
  if (rounded->use_empty())
    rounded.erase();
}

/// Moves views of the epilogue before the matmul where possible, so that the matmul can prefetch them.
void moveViewsBefore(attn_cpu::QuantizedMatmulOp op, ArrayRef<int64_t> shape) {
  for (auto view : llvm::make_early_inc_range(op->getBlock()->getOps<memref::SubViewOp>())) {
    auto isDefinedBefore = [&](Value operand) {
      Operation *definition = operand.getDefiningOp();
      return !definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op);
    };
    if (view.getType().getShape() == shape && op->isBeforeInBlock(view) &&
        llvm::all_of(view->getOperands(), isDefinedBefore))
      view->moveBefore(op);
  }
}

struct LowerQuantizedMatmuls : rapt::impl::AttnLowerQuantizedMatmulsBase<LowerQuantizedMatmuls> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    const TargetInfo target = TargetInfo::of(getOperation());
    WalkResult result = getOperation()->walk([&](attn_cpu::QuantizedMatmulOp op) {
      auto dest = dyn_cast<MemRefType>(op.getDest().getType());
      if (!dest || !dest.hasStaticShape()) {
        op.emitOpError("is not a tile of static shape in memory");
        return WalkResult::interrupt();
      }
      const FailureOr<attn_cpu::MicroKernelAttr> kernel = kernelOf(op);
      if (failed(kernel))
        return WalkResult::interrupt();
      const auto weight = cast<attn::QuantizedType>(op.getWeight());
      if ((op.getWords() && !readsWords(weight, target)) || (op.getUnpacked() && !unpacksPanels(weight, target))) {
        op.emitOpError() << "reads " << (op.getWords() ? "rows in words" : "an unpacked panel")
                         << ", which no instruction of the target multiplies by " << weight;
        return WalkResult::interrupt();
      }
      if (weight.blocks()) {
        moveViewsBefore(op, dest.getShape());
        ImplicitLocOpBuilder b(op.getLoc(), op);
        emitBlockTiles(b, op, *kernel, target);
        op.erase();
        return WalkResult::skip();
      }
      const bool isTile = hasQuantizedTiles(target) && op.getWords() == readsWords(weight, target);
      if (!isTile && cast<MemRefType>(op.getPanel().getType()).getRank() != 2) {
        op.emitOpError("reads panels side by side, which is done in vectors of 32 bytes alone");
        return WalkResult::interrupt();
      }
      const bool hasGroups = weight.groups(op.getDepth()) > 1;
      if (hasGroups && !kernel->getGroupRows()) {
        op.emitOpError("has a schedule without 'group_rows', which it needs for weights in quantized groups");
        return WalkResult::interrupt();
      }
      moveViewsBefore(op, dest.getShape());
      ImplicitLocOpBuilder b(op.getLoc(), op);
      if (isTile)
        emitQuantizedTiles(b, op, *kernel, target.int8Dot);
      else
        Emitter(op, *kernel, target.int8Dot).emit(b);
      op.erase();
      return WalkResult::skip();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    getOperation()->walk([](arith::FPToSIOp op) { fuseRounding(op); });
  }
};

} // namespace
