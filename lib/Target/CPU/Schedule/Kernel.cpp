//===- Kernel.cpp - Schedules of micro-kernels -----------------------------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Choices.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using attn_cpu::kPanel;

/// Registers beside the accumulators: two vectors of the panel and one of the rows. A VNNI-packed panel that is widened
/// needs four vectors and a mask.
constexpr int64_t kOperands = 3, kVnniOperands = 6;
/// Rows of an AMX tile.
constexpr int64_t kMatrixRows = 16;
/// The limit of rows of a micro-kernel, as code grows with them.
constexpr int64_t kMostRows = 32;
/// Accumulator chains of a single row: with two vectors each they hide the latency of a multiply-add.
constexpr int64_t kChains = 4;

/// Multiply-adds of an iteration of the loop over k, at least: what an iteration costs beside them is paid once. The
/// steps are a power of 2 up to the multiple of a dynamic extent of k.
constexpr int64_t kLeastOfIteration = 28, kMostUnrolled = 4;

/// Prefetch distance of the panel in steps of k: at two multiply-adds per cycle and 14 rows, 8 steps take 112 cycles,
/// longer than the latency of L2.
constexpr int64_t kPrefetchSteps = 8;
/// Tiles of rows that prefetch the next panel into L2. With fewer tiles a step prefetches at most one line, as more are
/// no faster; a single tile of f32 prefetches half of the panel.
constexpr int64_t kTilesAPanel = 8;
/// An input tile of at most this many bytes stays in L1 after its first read.
/// Where an iteration has several steps, the input is not prefetched but by the hardware, which finds contiguous rows.
constexpr int64_t kResidentBytes = 16 * 1024, kNoInputBytes = 64 * 1024;
/// Tiles with fewer rows are bound by memory: they prefetch only the panel, 16 KiB ahead, keys and values into L2. A
/// single row of f32, or of bf16 for dot products, needs no prefetch: it has so few instructions per line that
/// out-of-order execution keeps enough loads in flight.
constexpr int64_t kLeastRowsToPrefetch = 5, kStreamBytes = 16 * 1024;

/// Limits of the steps of k per line that is prefetched, and of an unrolled group, as code grows with them.
constexpr int64_t kMostLineSteps = 16, kMostUnrolledSteps = 128;
/// Limits of prefetch distances: addresses may be behind a buffer's end, within the reach of an instruction's offset.
constexpr int64_t kMostSteps = 1024, kMostBytes = 1 << 20;
/// Steps of k of a chunk that prefetches: a whole cache line of an f32 row.
constexpr int64_t kChunk = 16;

InFlightDiagnostic cpu::faultOf(Operation *op, StringRef name) {
  return op->emitOpError("has a schedule whose '") << name << "' must ";
}

LogicalResult cpu::verifyMost(Operation *op, StringRef name, int64_t value, int64_t most) {
  if (value >= 1 && value <= most)
    return success();
  return faultOf(op, name) << "be from 1 to " << most << ", found " << value;
}

LogicalResult cpu::verifyPresence(Operation *op, StringRef name, bool isThere, bool isNeeded, StringRef when) {
  if (isThere == isNeeded)
    return success();
  return op->emitOpError("has a schedule ")
         << (isThere ? "with '" : "without '") << name << "', which it needs " << (isThere ? "only " : "") << when;
}

static LogicalResult verifyPrefetch(Operation *op, attn_cpu::PrefetchAttr prefetch) {
  if (!prefetch)
    return success();
  if (kChunk % prefetch.getTiles() != 0)
    return faultOf(op, "prefetch.tiles") << "divide " << kChunk << ", found " << prefetch.getTiles();
  return success(succeeded(verifyMost(op, "prefetch.steps", prefetch.getSteps(), kMostSteps)) &&
                 succeeded(verifyMost(op, "prefetch.stream_bytes", prefetch.getStreamBytes(), kMostBytes)));
}

attn_cpu::MicroKernelAttr KernelChoice::get(MLIRContext *context) const {
  auto prefetch = attn_cpu::PrefetchAttr::get(context, residentBytes, kPrefetchSteps, kStreamBytes,
                                              kLeastRowsToPrefetch, prefetchTiles);
  return attn_cpu::MicroKernelAttr::get(context, chains, columns, groupRows, lineSteps, matrixRows, prefetch, rows,
                                        unroll, unrolledSteps, vnniRows, wideRows);
}

KernelChoice cpu::chooseKernel(const TargetInfo &target, bool widensVnni) {
  auto rowsBeside = [&](int64_t operands) {
    return std::clamp<int64_t>((target.vectorRegisters - operands) / 2, 1, kMostRows);
  };
  KernelChoice kernel{};
  kernel.rows = rowsBeside(kOperands);
  if (widensVnni)
    kernel.vnniRows = rowsBeside(kVnniOperands);
  kernel.columns = std::clamp<int64_t>(2 * target.lanesF32(), 1, kPanel);
  kernel.chains = kChains;
  int64_t steps = 1;
  while (steps < kMostUnrolled && steps * kernel.rows * 2 < kLeastOfIteration)
    steps *= 2;
  if (steps > 1)
    kernel.unroll = steps;
  // Beside the accumulators an element of each row and a vector of the panel are in registers; of pairs, both.
  if (const int64_t vectors = kPanel / target.lanesF32(); vectors > 2)
    kernel.wideRows = std::max<int64_t>(
        widensVnni ? (target.vectorRegisters - 3) / (vectors + 2) : (target.vectorRegisters - 1) / (vectors + 1), 1);
  kernel.residentBytes = kernel.unroll ? kNoInputBytes : kResidentBytes;
  kernel.prefetchTiles = kTilesAPanel;
  return kernel;
}

LogicalResult cpu::verifyKernel(Operation *op, attn_cpu::MicroKernelAttr kernel, KernelNeeds needs,
                                const TargetInfo &target) {
  if (failed(verifyMost(op, "rows", kernel.getRows(), kMostRows)))
    return failure();
  const int64_t most = std::min(2 * target.lanesF32(), kPanel);
  if ((kernel.getColumns() != 8 && kernel.getColumns() != 16 && kernel.getColumns() != 32) ||
      kernel.getColumns() > most)
    return faultOf(op, "columns") << "be 8, 16 or 32, and at most two of the target's vectors, " << most << ", found "
                                  << kernel.getColumns();
  if (failed(verifyPresence(op, "vnni_rows", kernel.getVnniRows().has_value(), needs.vnni,
                            "where VNNI-packed panels are widened")) ||
      failed(verifyPresence(op, "group_rows", kernel.getGroupRows().has_value(), needs.groups,
                            "for weights in quantized groups")) ||
      failed(verifyMost(op, "vnni_rows", kernel.getVnniRows().value_or(1), kMostRows)) ||
      failed(verifyMost(op, "group_rows", kernel.getGroupRows().value_or(1), kMostRows)))
    return failure();
  if (failed(verifyPrefetch(op, kernel.getPrefetch())))
    return failure();
  if (failed(verifyMost(op, "line_steps", kernel.getLineSteps().value_or(1), kMostLineSteps)) ||
      failed(verifyMost(op, "unrolled_steps", kernel.getUnrolledSteps().value_or(1), kMostUnrolledSteps)))
    return failure();
  if (kernel.getUnroll() && *kernel.getUnroll() != 2 && *kernel.getUnroll() != kMostUnrolled)
    return faultOf(op, "unroll") << "be 2 or " << kMostUnrolled << ", found " << *kernel.getUnroll();
  if (failed(verifyMost(op, "wide_rows", kernel.getWideRows().value_or(1), kMostRows)))
    return failure();
  if (kernel.getChains() && *kernel.getChains() > 2 && *kernel.getChains() != kChains)
    return faultOf(op, "chains") << "be 1, 2 or " << kChains << ", found " << *kernel.getChains();
  if (kernel.getMatrixRows() && (*kernel.getMatrixRows() != kMatrixRows || !needs.matrix))
    return op->emitOpError("has a schedule with 'matrix_rows = ")
           << *kernel.getMatrixRows() << "', which is " << kMatrixRows
           << " for matmuls of bf16 or int8 on a target that multiplies tiles of them (amx_bf16, amx_int8)";
  return success();
}
