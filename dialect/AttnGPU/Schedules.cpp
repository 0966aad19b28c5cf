//===- Schedules.cpp - Schedules of ops on GPUs -------------------------------------------===//
//
// What their numbers alone tell: the rest depends on the shapes of a tile, whose op verifies it.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnGPU/AttnGPU.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

namespace {

using EmitError = function_ref<InFlightDiagnostic()>;

constexpr int64_t kMostExtent = 1024, kMostWarps = 32, kMostBlocks = 65535, kMostKeys = 1 << 20;
constexpr int64_t kMostNumber = (int64_t(1) << 31) - 1;
/// Warps that compute attention: four more may copy.
constexpr int64_t kMostAttentionWarps = 28;
constexpr int64_t kThreadsOfWarp = 32, kMostThreads = 1024, kLeastLanes = 4;

struct Number {
  StringRef name;
  int64_t value, least, most;
};

LogicalResult verifyNumbers(EmitError emitError, ArrayRef<Number> numbers) {
  for (const Number &number : numbers)
    if (number.value < number.least || number.value > number.most)
      return emitError() << "expected '" << number.name << "' from " << number.least << " to " << number.most
                         << ", found " << number.value;
  return success();
}

} // namespace

bool attn_gpu::isOfFloats(MatmulKind kind) { return kind != MatmulKind::mma && kind != MatmulKind::wgmma; }

LogicalResult LinearTilesAttr::verify(EmitError emitError, int64_t rows, int64_t columns, int64_t depth, int64_t warps,
                                      int64_t stages, MatmulKind, int64_t parts, int64_t blocks) {
  return verifyNumbers(emitError, {{"rows", rows, 1, kMostExtent},
                                   {"columns", columns, 1, kMostExtent},
                                   {"depth", depth, 1, kMostExtent},
                                   {"warps", warps, 1, kMostWarps},
                                   {"stages", stages, 2, 8},
                                   {"parts", parts, 1, kMostWarps},
                                   {"blocks", blocks, 0, kMostBlocks}});
}

LogicalResult LinearGridAttr::verify(EmitError emitError, LinearTilesAttr, int64_t least, int64_t group,
                                     int64_t share) {
  return verifyNumbers(
      emitError,
      {{"least", least, 0, kMostNumber}, {"group", group, 0, kMostNumber}, {"share", share, 0, kMostNumber}});
}

LogicalResult LinearScheduleAttr::verify(EmitError emitError, LinearGridAttr common, LinearGridAttr few,
                                         LinearGridAttr many, LinearGridAttr most, bool) {
  for (auto [name, grid] : {std::pair("many_rows", many), std::pair("most_rows", most)})
    if (grid && grid.getLeast() == 0)
      return emitError() << "expected '" << name << "' with 'least'";
  // Sums do not depend on the number of rows.
  const MatmulKind kind = common.getTiles().getMatmul();
  for (LinearGridAttr grid : {few, many, most})
    if (grid && grid.getTiles().getMatmul() != kind && (isOfFloats(grid.getTiles().getMatmul()) || isOfFloats(kind)))
      return emitError() << "expected tiles of f32 that all multiply in one way, found "
                         << stringifyMatmulKind(grid.getTiles().getMatmul()) << " beside " << stringifyMatmulKind(kind);
  return success();
}

LogicalResult AttentionTilesAttr::verify(EmitError emitError, int64_t rows, int64_t keys, int64_t warps, MatmulKind) {
  return verifyNumbers(
      emitError,
      {{"rows", rows, 1, kMostExtent}, {"keys", keys, 1, kMostExtent}, {"warps", warps, 1, kMostAttentionWarps}});
}

LogicalResult AttentionScheduleAttr::verify(EmitError emitError, AttentionTilesAttr, int64_t blocks,
                                            int64_t leastKeys) {
  return verifyNumbers(emitError, {{"blocks", blocks, 0, kMostBlocks}, {"least_keys", leastKeys, 1, kMostKeys}});
}

LogicalResult NormTilesAttr::verify(EmitError emitError, int64_t lanes, int64_t threads) {
  constexpr int64_t most = NormTileOp::kMostLanes;
  if (!llvm::isPowerOf2_64(lanes) || lanes < kLeastLanes || lanes > most || threads < 1 || threads > kMostThreads ||
      threads % kThreadsOfWarp != 0 || threads % lanes != 0)
    return emitError() << "expected a power of two of lanes from " << kLeastLanes << " to " << most
                       << ", and whole warps, up to " << kMostThreads << " threads, that are a multiple, found "
                       << lanes << " and " << threads;
  return success();
}

/// A lane of the recurrent form has a power of two of neighbors; a warp of the chunked one has 16 tokens.
LogicalResult LinearAttentionTilesAttr::verify(EmitError emitError, int64_t columns, int64_t warps, int64_t chunk,
                                               int64_t least, MatmulKind matmul) {
  if ((columns != 16 && columns != 32) || (warps != 2 && warps != 4 && warps != 8))
    return emitError() << "expected 16 or 32 columns, and 2, 4 or 8 warps, found " << columns << " and " << warps;
  if (chunk != 0 && chunk != 16 * warps)
    return emitError() << "expected no 'chunk', or one of 16 tokens for each warp, found " << chunk;
  if (least < 0 || least > chunk)
    return emitError() << "expected 'least' from 0 to " << chunk << ", the chunk, found " << least;
  if (!isOfFloats(matmul))
    return emitError() << "expected a 'matmul' of f32, found " << stringifyMatmulKind(matmul);
  return success();
}

LogicalResult AttnGPUDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != scheduleAttr)
    return success();
  Attribute schedule = attribute.getValue();
  const bool fits = isa<attn::LinearOp>(op)                       ? isa<LinearScheduleAttr>(schedule)
                    : isa<attn::AttentionOp>(op)                  ? isa<AttentionScheduleAttr>(schedule)
                    : isa<attn::LinearAttentionOp>(op)            ? isa<LinearAttentionTilesAttr>(schedule)
                    : isa<attn::LayerNormOp, attn::RMSNormOp>(op) ? isa<NormTilesAttr>(schedule)
                                                                  : false;
  if (!fits)
    return op->emitOpError() << "attribute '" << scheduleAttr
                             << "' is a #attn_gpu.linear_schedule of attn.linear, a #attn_gpu.attention_schedule of "
                                "attn.attention, #attn_gpu.linear_attention_tiles of attn.linear_attention, or "
                                "#attn_gpu.norm_tiles of a norm";
  return success();
}
