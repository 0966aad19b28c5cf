//===- ExpandQuantized.cpp - The code of attn_gpu.quantized_linear_tile -------------------===//
//
// Bytes of panels are copied as they are, a panel's part of a step being contiguous; that of a matrix in blocks is the
// units of the step, and the numbers of their blocks. Chunks of 16 bytes are permuted on the way, so that the lanes of
// a warp read their words from different banks.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Expand.h"
#include "lib/Target/GPU/NVIDIA/Linear/TileCode.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

constexpr int64_t kDepth = QuantizedLinearTileOp::kDepth, kOfMatmul = 32; ///< of k in a step and in an instruction
constexpr int64_t kUnits = kDepth / BlockFormat::unit;                    ///< of a step
constexpr int64_t kChunk = GlobalArray::kCopyBytes, kPanel = QuantizedPanelsAttr::kColumns, kScaleBytes = 4;

class QuantizedLinearCode : LinearTileCode {
public:
  explicit QuantizedLinearCode(QuantizedLinearTileOp op)
      : LinearTileCode(op, op.getResult(), {op.getEpilogue(), op.getPairs()}, op.getGridOfWarps(),
                       op.getTiles().getRows(), op.getTiles().getColumns()),
        op(op), type(op.getType()), blocks(type.blocks()), codes(b, op.getCodes()), scales(b, op.getScales()),
        weight(b, op.getWeight()), depth(cast<MemRefType>(op.getCodes().getType()).getDimSize(1)),
        groupsOfStep(op.getGroupsOfStep()) {
    MLIRContext *context = b.getContext();
    left =
        FragmentType::get(context, rowsOfWarp, kGroup, b.getI16Type(), MmaLayoutAttr::get(context, MatmulOperand::a));
    integers = FragmentType::get(context, rowsOfWarp, kGroup, b.getI32Type(), sums.getLayout());
    number = arith::IndexCastOp::create(b, b.getI32Type(), thread);
  }

  void emit() {
    NVVM::Barrier0Op::create(b); // of a tile before, whose shared memory this one has
    if (!groupsOfStep)
      copyScalesOfAll();
    auto multiply = [&](Value buffer, ValueRange before) {
      return blocks ? addedBlocks(buffer, before) : groupsOfStep ? scaled(buffer, before) : added(buffer, before);
    };
    Values init(groups, groupsOfStep ? zeros(sums) : zeros(integers));
    Values state = overSteps(
        {op.getTiles().getStages(), op.getStageBytes(), index(llvm::divideCeil(depth, kDepth))}, init,
        [&](Value step, Value buffer) { copyStep(step, buffer); }, multiply);
    if (!groupsOfStep) {
      const int64_t at = op.getStageBytes() * op.getTiles().getStages();
      for (auto [group, sum] : llvm::enumerate(state)) {
        Value column = add(firstColumn, index(int64_t(group) * kGroup));
        sum = scale(sum, pointer(index(at)), kScaleBytes, pointer(index(at + kScaleBytes * op.getTiles().getRows())),
                    column, zeros(sums));
      }
    }
    store(state);
  }

private:
  Value zeros(FragmentType fragment) {
    Attribute zero = b.getZeroAttr(fragment.getElementType());
    return FillOp::create(b, fragment, arith::ConstantOp::create(b, cast<TypedAttr>(zero)));
  }

  // Integers of 32 bits, for numbers that are less than the bytes of shared memory.
  Value word(int64_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value))); }
  Value wordOf(Value value) { return b.createOrFold<arith::IndexCastOp>(b.getI32Type(), value); }
  Value indexOf(Value value) { return b.createOrFold<arith::IndexCastOp>(b.getIndexType(), value); }
  Value plus(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value by(Value x, int64_t factor) { return b.createOrFold<arith::MulIOp>(x, word(factor)); }
  Value isLess(Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y); }

  /// Quotient and remainder, of numbers below `end`.
  std::pair<Value, Value> divided(Value x, int64_t divisor, int64_t end) {
    if (divisor >= end)
      return {word(0), x};
    Value quotient = arith::DivUIOp::create(b, x, word(divisor));
    return {quotient, arith::SubIOp::create(b, x, by(quotient, divisor))};
  }

  Value pointer(Value offset) { return SharedOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), 3), offset); }

  void copy(Value to, Value from, int64_t bytes, Value there) {
    const auto modifier = bytes == kChunk ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
    NVVM::CpAsyncOp::create(b, to, from, b.getI32IntegerAttr(int32_t(bytes)),
                            NVVM::LoadCacheModifierKindAttr::get(b.getContext(), modifier), there);
  }

  /// Code for the threads whose number is less than `count`.
  void onThreads(int64_t count, function_ref<void()> emit) {
    if (count >= op.getThreads())
      return emit();
    auto branch = scf::IfOp::create(b, isLess(number, word(count)), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emit();
  }

  void copyStep(Value step, Value buffer) {
    const bool isWhole = depth % kDepth == 0;
    Value first = times(step, kDepth), left = index(kDepth / 2);
    if (!isWhole)
      left = arith::ShRUIOp::create(b, Value(arith::SubIOp::create(b, index(depth), first)), index(1));
    copyRows(codes, SharedOp::create(b, op.getCodesTile(), buffer), first, codes.sizes[0], left, op.getThreads(),
             /*elements=*/false, /*elementsOfTile=*/2);
    Value panels = add(buffer, index(op.getPanelsOffset()));
    if (blocks)
      copyBlocks(step, panels);
    else
      copyPanels(step, panels, isWhole);
    if (groupsOfStep)
      copyScales(step, add(buffer, index(op.getScalesOffset())));
  }

  void copyPanels(Value step, Value buffer, bool isWhole) {
    const int64_t ofPanel = op.getPanelBytes() / kChunk, ofGroup = op.getGroupBytes() / kChunk,
                  codesOfGroup = op.getCodeBytes() / kChunk, all = op.getTiles().getColumns() / kPanel * ofPanel;
    auto bytes = cast<MemRefType>(op.getWeight().getType());
    const int64_t end = groupsOfStep ? bytes.getDimSize(1) * bytes.getDimSize(2) : depth * kPanel;
    Value before = times(step, op.getPanelBytes());
    Value left = arith::SubIOp::create(b, index(end), before), panels = wordOf(weight.sizes[0]), to = pointer(buffer);
    Value source = add(weight.offset, before);
    for (int64_t nth = 0; nth < all; nth += op.getThreads())
      onThreads(all - nth, [&] {
        Value chunk = plus(number, word(nth));
        auto [panel, inPanel] = divided(chunk, ofPanel, all);
        auto [group, inGroup] = divided(inPanel, ofGroup, ofPanel);
        Value permuted = this->permuted(inGroup, codesOfGroup, ofGroup),
              at = plus(by(panel, op.getPanelBytes()), plus(by(group, op.getGroupBytes()), by(permuted, kChunk)));
        Value isThere = isLess(panel, panels), inBytes = indexOf(by(inPanel, kChunk));
        if (!isWhole)
          isThere = arith::AndIOp::create(b, isThere, isLess(inBytes, left));
        Value from = add(source, add(inBytes, b.createOrFold<arith::MulIOp>(indexOf(panel), weight.strides[0])));
        copy(LLVM::GEPOp::create(b, to.getType(), b.getI8Type(), to, ArrayRef<LLVM::GEPArg>{at}),
             weight.pointerAt(b, from), kChunk, arith::SelectOp::create(b, isThere, word(kChunk), word(0)));
      });
  }

  /// Where chunk `chunk` of `all` goes, of which the first are codes: what is behind them is as it was.
  Value permuted(Value chunk, int64_t codes, int64_t all) {
    Value row = arith::ShRUIOp::create(b, chunk, word(3));
    Value swizzle = type.bits() == 8 ? Value(arith::AndIOp::create(b, row, word(6)))
                                     : by(arith::AndIOp::create(b, row, word(3)), 2);
    Value permuted = arith::XOrIOp::create(b, chunk, swizzle);
    return codes == all ? permuted : arith::SelectOp::create(b, isLess(chunk, word(codes)), permuted, chunk);
  }

  /// Units of a step, and behind them the numbers of their blocks.
  void copyBlocks(Value step, Value buffer) {
    const BlockLayout layout(*blocks, kPanel);
    const int64_t unitsOfBlock = blocks->units(), ofUnit = layout.unitBytes() / kChunk, units = kUnits * ofUnit,
                  ofPanel = op.getPanelBytes() / kChunk, ofNumbers = op.getNumberBytes() / kChunk;
    Value to = pointer(buffer), panels = wordOf(weight.sizes[0]);
    // The first unit of the step, among all, and the first block.
    Value firstUnit = times(step, kUnits), firstBlock = arith::DivUIOp::create(b, firstUnit, index(unitsOfBlock));
    auto copyParts = [&](int64_t count, function_ref<std::array<Value, 3>(Value chunk)> placeOf) {
      const int64_t all = op.getTiles().getColumns() / kPanel * count;
      for (int64_t nth = 0; nth < all; nth += op.getThreads())
        onThreads(all - nth, [&] {
          auto [panel, chunk] = divided(plus(number, word(nth)), count, all);
          auto [from, at, isInside] = placeOf(chunk);
          from = add(add(weight.offset, from), b.createOrFold<arith::MulIOp>(indexOf(panel), weight.strides[0]));
          at = plus(by(panel, op.getPanelBytes()), by(at, kChunk));
          Value isThere = arith::AndIOp::create(b, isLess(panel, panels), isInside);
          copy(LLVM::GEPOp::create(b, to.getType(), b.getI8Type(), to, ArrayRef<LLVM::GEPArg>{at}),
               weight.pointerAt(b, from), kChunk, arith::SelectOp::create(b, isThere, word(kChunk), word(0)));
        });
    };
    copyParts(units, [&](Value chunk) -> std::array<Value, 3> {
      auto [unit, inUnit] = divided(chunk, ofUnit, units);
      Value nth = add(firstUnit, indexOf(unit)), block = arith::DivUIOp::create(b, nth, index(unitsOfBlock));
      Value inBlock = arith::RemUIOp::create(b, nth, index(unitsOfBlock));
      Value from =
          add(add(times(block, layout.blockBytes()), times(inBlock, layout.unitBytes())), indexOf(by(inUnit, kChunk)));
      Value at = plus(by(unit, ofUnit), permuted(inUnit, layout.codeBytes() / kChunk, ofUnit));
      return {from, at, isLess(nth, index(depth / BlockFormat::unit))};
    });
    copyParts(ofPanel - units, [&](Value chunk) -> std::array<Value, 3> {
      auto [nth, inNumbers] = divided(chunk, ofNumbers, ofPanel - units);
      Value block = add(firstBlock, indexOf(nth));
      Value from = add(times(block, layout.blockBytes()), index(layout.blockScales()));
      return {add(from, indexOf(by(inNumbers, kChunk))), plus(chunk, word(units)),
              isLess(block, index(depth / blocks->block))};
    });
  }

  /// Scales of the rows' groups of a step, of a row by its thread.
  void copyScales(Value step, Value buffer) {
    const int64_t all = type.getGroup() ? depth / type.getGroup() : 1,
                  each = std::min(groupsOfStep, kChunk / kScaleBytes);
    onThreads(op.getTiles().getRows(), [&] {
      for (int64_t nth = 0; nth < groupsOfStep; nth += each) {
        Value first = add(times(step, groupsOfStep), index(nth));
        Value left = arith::MinSIOp::create(b, Value(arith::SubIOp::create(b, index(all), first)), index(each));
        if (nth > 0)
          left = arith::MaxSIOp::create(b, left, index(0));
        Value to = pointer(add(buffer, add(times(thread, groupsOfStep * kScaleBytes), index(nth * kScaleBytes))));
        copyScalesOfRow(to, first, each * kScaleBytes, by(wordOf(left), kScaleBytes));
      }
    });
  }

  void copyScalesOfRow(Value to, Value first, int64_t bytes, Value there) {
    Value row = b.createOrFold<arith::MulIOp>(thread, scales.strides[0]);
    Value isThere = isLess(thread, scales.sizes[0]);
    copy(to, scales.pointerAt(b, add(scales.offset, add(row, first))), bytes,
         arith::SelectOp::create(b, isThere, there, word(0)));
  }

  /// The scales of rows and columns whose group is all of k, behind the ring.
  void copyScalesOfAll() {
    const int64_t at = op.getStageBytes() * op.getTiles().getStages(), rows = op.getTiles().getRows();
    onThreads(rows, [&] {
      copyScalesOfRow(pointer(add(index(at), times(thread, kScaleBytes))), index(0), kScaleBytes, word(kScaleBytes));
    });
    const int64_t ofPanel = 2 * kPanel / kChunk, all = op.getTiles().getColumns() / kPanel * ofPanel;
    for (int64_t nth = 0; nth < all; nth += op.getThreads())
      onThreads(all - nth, [&] {
        Value chunk = plus(number, word(nth));
        auto [panel, inPanel] = divided(chunk, ofPanel, all);
        Value from = add(index(depth * kPanel), indexOf(by(inPanel, kChunk)));
        from = add(add(weight.offset, from), b.createOrFold<arith::MulIOp>(indexOf(panel), weight.strides[0]));
        Value isThere = isLess(panel, wordOf(weight.sizes[0]));
        copy(pointer(add(index(at + rows * kScaleBytes), indexOf(by(chunk, kChunk)))), weight.pointerAt(b, from),
             kChunk, arith::SelectOp::create(b, isThere, word(kChunk), word(0)));
      });
  }

  /// The panel of a group of 16 columns, and the first of them in it.
  std::pair<Value, Value> columnsOf(int64_t group) {
    if (groups % 2 == 0) // a warp begins with a panel
      return {add(arith::DivUIOp::create(b, firstColumn, index(kPanel)), index(group / 2)), index(group % 2 * kGroup)};
    Value column = add(firstColumn, index(group * kGroup));
    return {arith::DivUIOp::create(b, column, index(kPanel)), arith::RemUIOp::create(b, column, index(kPanel))};
  }

  Value scale(Value sum, Value rowScales, int64_t pitch, Value columnScales, Value column, Value acc) {
    // See attn_gpu.quantized_mma.
    const float factor = type.bits() == 4 && !type.getZeroPoints() ? 0.0625f : 1.f;
    return AddScaledOp::create(b, sum, rowScales, firstRow, uint32_t(pitch), columnScales, column, acc,
                               APFloat(factor));
  }

  /// Adds the matmuls of `count` instructions of k, the first of them the `first`th of the step. Panels have them from
  /// `offset` on.
  Values multiplied(Value buffer, int64_t first, int64_t count, int64_t offset, ValueRange before) {
    Value rows = SharedOp::create(b, op.getCodesTile(), buffer);
    Values acc(before);
    for (int64_t k = 0; k < count; ++k) {
      Value x = LoadMatrixOp::create(b, left, rows, firstRow, index((first + k) * kGroup), /*transpose=*/false);
      for (int64_t group = 0; group < groups; ++group) {
        auto [panel, column] = columnsOf(group);
        Value base = add(add(buffer, index(op.getPanelsOffset() + offset)), times(panel, op.getPanelBytes()));
        Value zeros = type.getZeroPoints() ? pointer(add(base, index(op.getCodeBytes() + 2 * kPanel))) : Value();
        Value words = pointer(add(base, index(k * kOfMatmul * kPanel * type.bits() / 8)));
        acc[group] = QuantizedMmaOp::create(b, integers, x, words, column, acc[group], zeros, uint32_t(type.bits()));
      }
    }
    return acc;
  }

  Values added(Value buffer, ValueRange before) { return multiplied(buffer, 0, kDepth / kOfMatmul, 0, before); }

  Values scaled(Value buffer, ValueRange before) {
    Values acc(before);
    const int64_t count = type.getGroup() / kOfMatmul;
    for (int64_t nth = 0; nth < groupsOfStep; ++nth) {
      const int64_t offset = nth * op.getGroupBytes();
      Values exact = multiplied(buffer, nth * count, count, offset, Values(groups, zeros(integers)));
      Value rowScales = pointer(add(buffer, index(op.getScalesOffset() + nth * kScaleBytes)));
      for (int64_t group = 0; group < groups; ++group) {
        auto [panel, column] = columnsOf(group);
        Value base = add(add(buffer, index(op.getPanelsOffset() + offset + op.getCodeBytes())),
                         times(panel, op.getPanelBytes()));
        acc[group] = scale(exact[group], rowScales, groupsOfStep * kScaleBytes, pointer(base), column, acc[group]);
      }
    }
    return acc;
  }

  /// Adds the units of a step.
  Values addedBlocks(Value buffer, ValueRange before) {
    const int64_t unitBytes = BlockLayout(*blocks, kPanel).unitBytes();
    Value rows = SharedOp::create(b, op.getCodesTile(), buffer);
    Values acc(before);
    for (int64_t unit = 0; unit < kUnits; ++unit) {
      Value x = LoadMatrixOp::create(b, left, rows, firstRow, index(unit * kGroup), /*transpose=*/false);
      Value rowScales = pointer(add(buffer, index(op.getScalesOffset() + unit * blocks->groupsOfUnit() * kScaleBytes)));
      for (int64_t group = 0; group < groups; ++group) {
        auto [panel, column] = columnsOf(group);
        Value base = add(add(buffer, index(op.getPanelsOffset())), times(panel, op.getPanelBytes()));
        Value numbers = pointer(add(base, index(op.getNumbersOffset() + unit / blocks->units() * op.getNumberBytes())));
        acc[group] = BlockMmaOp::create(b, x, rowScales, firstRow, uint32_t(groupsOfStep * kScaleBytes),
                                        pointer(add(base, index(unit * unitBytes))), numbers, column, acc[group], type);
      }
    }
    return acc;
  }

  QuantizedLinearTileOp op;
  attn::QuantizedType type;
  const BlockFormat *blocks; ///< of a weight in blocks; null of others
  GlobalArray codes, scales, weight;
  int64_t depth, groupsOfStep;
  FragmentType left, integers;
  Value number; ///< of the thread, in 32 bits
};

} // namespace

LogicalResult cuda::expand(QuantizedLinearTileOp op) {
  QuantizedLinearCode(op).emit();
  return success();
}
