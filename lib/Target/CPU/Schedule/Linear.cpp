//===- Linear.cpp - Schedules of attn.linear --------------------------------------------===//
//
// Sizes are those that were fastest on machines with AVX2, AVX-512 and AMX
// (docs/Decisions/0001, 0006, 0007 and 0009).
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Target/CPU/Schedule/Choices.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using attn_cpu::kPanel;

namespace {

/// Rows of tiles, largest first. 14 x 2 vectors of accumulators are what 32 registers hold beside two vectors of the
/// panel and one of the input. The more rows, the less often a panel is read.
constexpr int64_t kRows[] = {14, 8, 4, 2, 1};
/// Those of 16 registers, which hold 6 x 2 vectors of accumulators: tiles of twice and once as many rows.
constexpr int64_t kRowsOfFewRegisters[] = {12, 6, 3, 2, 1};
/// Those of packed rows, whose tiles a micro-kernel reads whole.
constexpr int64_t kPackedRows[] = {6, 3, 2, 1};
/// And those of VNNI-packed panels, which fewer rows widen in registers.
constexpr int64_t kVnniRowsOfFewRegisters[] = {12, 4, 2, 1};
/// Those of other weights of 4 bits, where words, their nibbles and a mask take 5 registers.
constexpr int64_t kNibbleRows[] = {12, 4, 1};
/// Those with AMX, which multiplies 16 rows at once, two such tiles with a panel. The rest of at least 16 rows is a
/// tile of 16 that overlaps the one before.
constexpr int64_t kMatrixRows[] = {32, 16, 4, 1};
/// Rows that get their epilogue together once their sums are complete: no registers are kept for them meanwhile.
constexpr int64_t kFinishedRows[] = {8, 1};
/// Rows that pay for widening a panel of pairs, for each 16 bytes of a vector: narrower ones widen pairs in registers
/// once for every few columns.
constexpr int64_t kLeastRowsToWiden = 14;
/// Rows that pay for unpacking a panel of 4 bits, two tiles: fewer unpack it in registers.
constexpr int64_t kLeastRowsToUnpack = 24;

/// Most rows of one task. Fewer would read a panel, which comes from memory or a last-level cache, more often; 56 and
/// 112 were slower at k = 768 and k = 3072 alike.
constexpr int64_t kTaskRows = 210;
/// Those of a task of packed rows, whose k blocks stay in a second-level cache of 512 KB beside those of two panels, or
/// whose k is whole; and the columns of a result that pay for packing.
constexpr int64_t kPackedTaskRows = 96, kWholePackedTaskRows = 120, kLeastColumnsToPack = 512;
/// Bytes of the rows of a task of integers, which takes k whole, and of two panels: what stays in a second-level cache
/// while others pass through it. No fewer rows than some tiles.
constexpr int64_t kNearBytes = 768 * 1024, kLeastRowsOfTask = 56;

/// Least bytes of a row of the input from which on k is blocked: 210 rows of them take 1.3 MB.
constexpr int64_t kLeastRowBytes = 6144;
/// A k block of a row has at most so many bytes, so that 210 of them take 430 KB, and no less than a quarter of that.
constexpr int64_t kMostOfBlock = 2048, kLeastOfBlock = 512;
/// Panels of a task that blocks k, and the rows of an input from which on it takes so many. Two read the rows from the
/// second-level cache twice as often, which costs a hundredth.
constexpr int64_t kTaskPanels = 4, kManyRows = 28;
/// Panels that a single row reads side by side, as many streams out of memory: registers hold the accumulators of three
/// beside the operands of a step.
constexpr int64_t kRowPanels = 3;
/// Those of 4 bits, whose sums of 16 bits leave registers for two.
constexpr int64_t kNibbleRowPanels = 2;
/// Tasks that a grid should have before they take several panels.
constexpr int64_t kLeastTasks = 8;

/// Rows from which on the sums of several do not wait for one another: two chains each, of a dot instruction's latency.
constexpr int64_t kLeastGroupRows = 5;
/// Steps of a group that a single row takes without a loop.
constexpr int64_t kUnrolledSteps = 32;
/// Most rows of integers in a tile that takes whole lines of a panel, which memory delivers faster than its two halves
/// one after the other, even if some sums go to the stack. Rows in words, whose sums take two registers a vector, do so
/// one at a time unless there are groups; rows in bytes always do in groups, whose sums are short-lived.
constexpr int64_t kWideRows = 3;
/// Registers beside the accumulators of integers: two vectors of weights and one of the row; where instructions add
/// pairs of terms, a term; without such instructions its pieces.
constexpr int64_t kDotOperands = 3, kPairOperands = 4, kPieceOperands = 8;
/// Those beside the accumulators of a group and its sums in f32; codes of 4 bits are unpacked there.
constexpr int64_t kGroupOperands = 4, kPairGroupOperands = 6;

/// Registers beside the integer sums of a group of a block and the sums in f32, some of which go to the stack; and of
/// groups of 16, which have twice as many scales.
constexpr int64_t kBlockOperands = 4, kHalfGroupOperands = 8;

/// Limits of the code: tiles are unrolled, and partial sums of a task are in one buffer of static size.
constexpr int64_t kMostTiles = 8, kMostTileRows = 64, kMostTaskRows = 1024, kMostPanels = 32, kMostRowPanels = 4;

/// The largest depth of equal k blocks of whole cache lines, whose elements take `bytes`; none where k is taken whole.
std::optional<int64_t> depthOfBlock(int64_t k, int64_t bytes) {
  const int64_t line = attn_cpu::kLineBytes / bytes;
  for (int64_t depth = kMostOfBlock / bytes; k * bytes >= kLeastRowBytes && depth >= kLeastOfBlock / bytes;
       depth -= line)
    if (k % depth == 0)
      return depth < k ? std::optional(depth) : std::nullopt;
  return std::nullopt;
}

bool hasVnniWeight(attn::LinearOp op) { return attn_cpu::isInterleaved(op.getLayout()); }

/// Whether rows are multiplied in bf16; others are, or become, f32.
bool readsBf16(attn::LinearOp op, const TargetInfo &target) {
  return op.getInput().getType().getElementType().isBF16() && target.hasBf16Matmul();
}

/// Whether tiles of many rows read a panel that was widened before.
bool widensPanels(attn::LinearOp op, const TargetInfo &target) {
  return hasVnniWeight(op) && !readsBf16(op, target) && !quantizedPanels(op.getLayout(), op.getWeight());
}

/// Whether AMX can multiply the op's tiles.
bool mayTakeMatrix(attn::LinearOp op, const TargetInfo &target) {
  if (attn::QuantizedType quantized = quantizedPanels(op.getLayout(), op.getWeight()))
    return target.amxInt8 && quantized.bits() == 8 && quantized.getGroup() == 0 && !quantized.blocks();
  return target.amxBf16 && op.getInput().getType().getElementType().isBF16();
}

int64_t groupsOf(attn::LinearOp op) {
  attn::QuantizedType quantized = quantizedPanels(op.getLayout(), op.getWeight());
  return quantized ? attn_cpu::QuantizedLayout(quantized, depthOf(op)).groups() : 1;
}

/// Whether the op's rows can be packed by tiles: those of f32 with one matrix, whose tiles all multiply a panel as it
/// is or widened.
bool mayPackRows(attn::LinearOp op) {
  return op.getInput().getType().getElementType().isF32() && !hasVnniWeight(op) && !op.hasMatrices();
}

/// Whether a single row can read several panels side by side, whole lines of each: VNNI-packed ones, or those that
/// attn_cpu.panel_matmul takes; or those of 4 bits in vectors of 32 bytes.
bool mayReadPanelsTogether(attn::LinearOp op, const TargetInfo &target) {
  if (!op.getLayout() || op.hasMatrices())
    return false;
  if (attn::QuantizedType quantized = quantizedPanels(op.getLayout(), op.getWeight()))
    return quantized.bits() == 4 && !quantized.blocks() && hasQuantizedTiles(target);
  return hasVnniWeight(op) ||
         (op.getInput().getType().getElementType().isF32() && !op.getWeight().getType().getElementType().isBF16());
}

/// The micro-kernel of a weight in blocks, whose sums in f32 lie in registers beside the integers of a group.
KernelChoice chooseBlockKernel(attn::LinearOp op, const TargetInfo &target) {
  KernelChoice kernel = chooseKernel(target, /*widensVnni=*/false);
  const BlockFormat &format = *quantizedPanels(op.getLayout(), op.getWeight()).blocks();
  const bool isHalf = format.group < BlockFormat::unit && target.vectorRegisters > kFewRegisters;
  const int64_t operands = isHalf ? kHalfGroupOperands : kBlockOperands;
  kernel.rows = std::max<int64_t>((target.vectorRegisters - operands) / 4, 1);
  kernel.chains = kernel.unroll = kernel.wideRows = std::nullopt;
  if (groupsOf(op) > 1)
    kernel.groupRows = kernel.rows;
  return kernel;
}

/// The micro-kernel of integers.
KernelChoice chooseQuantizedKernel(attn::LinearOp op, const TargetInfo &target) {
  if (quantizedPanels(op.getLayout(), op.getWeight()).blocks())
    return chooseBlockKernel(op, target);
  KernelChoice kernel = chooseKernel(target, /*widensVnni=*/false);
  const int64_t operands = target.int8Dot ? kDotOperands : target.int8Pairs ? kPairOperands : kPieceOperands;
  kernel.rows = std::max<int64_t>((target.vectorRegisters - operands) / 2, 1);
  if (hasQuantizedTiles(target)) {
    kernel.chains = std::nullopt;
    const bool isInWords = readsWords(quantizedPanels(op.getLayout(), op.getWeight()), target);
    kernel.wideRows = isInWords == (groupsOf(op) > 1) ? kWideRows : isInWords ? 1 : kernel.rows;
  } else {
    kernel.unrolledSteps = kUnrolledSteps;
  }
  if (groupsOf(op) == 1)
    return kernel;
  // Rows whose sums lie in registers as integers of a group and in f32: faster than the latter in memory and twice as
  // many rows, though a panel is read twice as often.
  const int64_t groupOperands = target.int8Pairs ? kPairGroupOperands : kGroupOperands;
  kernel.groupRows = std::max<int64_t>((target.vectorRegisters - groupOperands) / 4, 1);
  if (target.int8Dot && *kernel.groupRows >= kLeastGroupRows)
    kernel.rows = *kernel.groupRows;
  return kernel;
}

LogicalResult verifyRows(attn::LinearOp op, StringRef name, ArrayRef<int64_t> rows) {
  bool falls = !rows.empty() && rows.size() <= kMostTiles && rows.back() == 1 && rows.front() <= kMostTileRows;
  for (size_t i = 1; i < rows.size(); ++i)
    falls &= rows[i] < rows[i - 1];
  if (falls)
    return success();
  return faultOf(op, name) << "be at most " << kMostTiles << " numbers that fall from at most " << kMostTileRows
                           << " to 1, found [" << rows << "]";
}

/// Tasks of whole tiles share rows so that the last one has some.
LogicalResult verifyTaskRows(attn::LinearOp op, attn_cpu::LinearScheduleAttr schedule) {
  const int64_t tile = schedule.getRows().front();
  if (schedule.getTaskRows() % tile == 0 && schedule.getTaskRows() <= kMostTaskRows)
    return success();
  return faultOf(op, "task_rows") << "be a multiple of " << tile << ", the most of 'rows', and at most "
                                  << kMostTaskRows << ", found " << schedule.getTaskRows();
}

LogicalResult verifyBlocks(attn::LinearOp op, attn_cpu::LinearScheduleAttr schedule, const TargetInfo &target) {
  const bool isBlocked = schedule.getDepth().has_value();
  constexpr llvm::StringLiteral when = "with 'depth'";
  if (failed(verifyPresence(op, "panels", schedule.getPanels().has_value(), isBlocked, when)) ||
      failed(verifyPresence(op, "many_rows", schedule.getManyRows().has_value(), isBlocked, when)) ||
      failed(verifyPresence(op, "tasks", schedule.getTasks().has_value(), isBlocked || schedule.getRowPanels(),
                            "with 'depth' or 'row_panels'")) ||
      failed(verifyPresence(op, "finish", !schedule.getFinish().empty(), isBlocked, when)))
    return failure();
  if (schedule.getPackRows()) {
    if (!mayPackRows(op))
      return op.emitOpError("has a schedule with 'pack_rows', but only rows of f32 are packed, with one matrix whose "
                            "panels are not VNNI-packed");
    if (*schedule.getPackRows() != schedule.getRows().front())
      return faultOf(op, "pack_rows") << "be " << schedule.getRows().front() << ", the most of 'rows', found "
                                      << *schedule.getPackRows();
  }
  if (schedule.getRowPanels()) {
    if (!schedule.getKernel().getWideRows() || !mayReadPanelsTogether(op, target))
      return op.emitOpError("has a schedule with 'row_panels', but only VNNI-packed panels, those of f32 and f16 for "
                            "rows of f32, and those of 4 bits in vectors of 32 bytes, are read side by side, with "
                            "'wide_rows' and one matrix");
    if (failed(verifyMost(op, "row_panels", *schedule.getRowPanels(), kMostRowPanels)))
      return failure();
  }
  if (!isBlocked)
    return success();
  if (op.hasMatrices())
    return op.emitOpError(
        "has a schedule with 'depth', but rows that have a matrix of several each are not taken in k blocks");
  if (!op.getLayout() || quantizedPanels(op.getLayout(), op.getWeight()))
    return op.emitOpError("has a schedule with 'depth', but only packed panels of floats are taken in k blocks");
  const int64_t k = depthOf(op), depth = *schedule.getDepth();
  if (depth >= k || k % depth != 0 || (hasVnniWeight(op) && depth % 2 != 0))
    return faultOf(op, "depth") << "divide the depth " << k << (hasVnniWeight(op) ? " into whole pairs of rows" : "")
                                << ", found " << depth;
  if (failed(verifyMost(op, "panels", *schedule.getPanels(), kMostPanels)))
    return failure();
  return verifyRows(op, "finish", schedule.getFinish());
}

} // namespace

attn::QuantizedType cpu::quantizedPanels(std::optional<attn::WeightLayoutInterface> layout, Value weight) {
  return layout ? dyn_cast<attn::QuantizedType>(getElementTypeOrSelf(weight.getType())) : attn::QuantizedType();
}

int64_t cpu::depthOf(attn::LinearOp op) {
  return hasVnniWeight(op) ? std::min(op.getDepth(), op.getInput().getType().getShape().back()) : op.getDepth();
}

std::string cpu::whyNotTiled(attn::LinearOp op) {
  RankedTensorType weight = op.getWeight().getType();
  const int64_t columns = op.getResult().getType().getShape().back();
  if (op.hasMatrices() && (columns % kPanel != 0 || op.getTransposed()))
    return "its matrices are not in panels of their own";
  // A kernel's weight [k, n] is read where it lies.
  if (!op.getLayout() && (op.getTransposed() || weight.isDynamicDim(1) || weight.getDimSize(1) % kPanel != 0))
    return "the weight is not in panels";
  if (ShapedType::isDynamic(depthOf(op)) || ShapedType::isDynamic(columns))
    return "the weight's extents are not static";
  if (depthOf(op) > attn::kMostNumber)
    return "the depth is above " + std::to_string(attn::kMostNumber);
  return depthOf(op) == 0 ? "the depth is 0" : "";
}

attn_cpu::LinearScheduleAttr cpu::chooseLinear(attn::LinearOp op, const TargetInfo &target) {
  attn::QuantizedType quantized = quantizedPanels(op.getLayout(), op.getWeight());
  const int64_t k = depthOf(op);
  KernelChoice kernel = quantized ? chooseQuantizedKernel(op, target) : chooseKernel(target, hasVnniWeight(op));
  ArrayRef<int64_t> rows = quantized && quantized.bits() == 4 ? ArrayRef(kNibbleRows) : ArrayRef(kRows);
  if (quantized && quantized.blocks())
    rows = target.vectorRegisters <= kFewRegisters ? ArrayRef(kRowsOfFewRegisters) : ArrayRef(kRows);
  else if (quantized ? hasQuantizedTiles(target) : target.vectorRegisters <= kFewRegisters)
    rows = widensPanels(op, target) ? ArrayRef(kVnniRowsOfFewRegisters) : ArrayRef(kRowsOfFewRegisters);
  if (mayTakeMatrix(op, target)) {
    rows = kMatrixRows;
    kernel.matrixRows = kMatrixRows[1];
  }
  int64_t taskRows = kTaskRows;
  std::optional<int64_t> depth, panels, manyRows, packRows, rowPanels, tasks, widenRows;
  ArrayRef<int64_t> finish;
  if (quantized) {
    const int64_t twoPanels =
        2 * attn_cpu::QuantizedLayout(quantized, k).groups() * attn_cpu::QuantizedLayout(quantized, k).groupBytes();
    const auto ofRows = attn_cpu::QuantizedLayout::ofRows(quantized, k, readsWords(quantized, target));
    taskRows = std::clamp((kNearBytes - twoPanels) / ofRows.rowBytes(), kLeastRowsOfTask, kTaskRows);
  } else if (op.getLayout() && !op.hasMatrices()) {
    depth = depthOfBlock(k, readsBf16(op, target) ? 2 : 4);
  }
  if (target.vectorRegisters <= kFewRegisters && mayPackRows(op) &&
      op.getResult().getType().getShape().back() >= kLeastColumnsToPack) {
    rows = kPackedRows;
    packRows = rows.front();
    taskRows = depth ? kPackedTaskRows : kWholePackedTaskRows;
    // Tiles of half as many rows share the prefetch of the next panel.
    kernel.prefetchTiles *= 2;
  }
  taskRows = llvm::alignTo(taskRows, rows.front());
  if (kernel.wideRows && mayReadPanelsTogether(op, target))
    rowPanels = quantized ? kNibbleRowPanels : kRowPanels;
  if (depth)
    panels = kTaskPanels, manyRows = kManyRows, finish = kFinishedRows;
  if (depth || rowPanels)
    tasks = kLeastTasks;
  if (widensPanels(op, target))
    widenRows = std::max<int64_t>(kLeastRowsToWiden * target.vectorBytes / 16, 1);
  else if (unpacksPanels(quantized, target))
    widenRows = kLeastRowsToUnpack;
  MLIRContext *context = op.getContext();
  return attn_cpu::LinearScheduleAttr::get(context, depth, finish, kernel.get(context), manyRows, packRows, panels,
                                           rowPanels, rows, taskRows, tasks, widenRows);
}

LogicalResult cpu::verifyLinear(attn::LinearOp op, attn_cpu::LinearScheduleAttr schedule, const TargetInfo &target) {
  if (failed(verifyRows(op, "rows", schedule.getRows())) || failed(verifyTaskRows(op, schedule)) ||
      failed(verifyBlocks(op, schedule, target)) ||
      failed(verifyPresence(op, "widen_rows", schedule.getWidenRows().has_value(),
                            widensPanels(op, target) ||
                                unpacksPanels(quantizedPanels(op.getLayout(), op.getWeight()), target),
                            "where a VNNI-packed panel is widened for rows of f32, or one of 4 bits unpacked")))
    return failure();
  const KernelNeeds needs{hasVnniWeight(op), groupsOf(op) > 1, mayTakeMatrix(op, target)};
  return verifyKernel(op, schedule.getKernel(), needs, target);
}
