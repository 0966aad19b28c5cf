//===- Schedule.cpp - Schedules of neutral decompositions ------------------------------===//
#include "lib/Conversion/Schedule.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;

namespace {

/// Scores of a tile are in one buffer of a task.
constexpr int64_t kMostOfTile = 1024, kMostOfGrid = 1 << 20;

struct Number {
  StringRef name;
  int64_t value;
};

/// Reports a number that is not from 1 to `most`.
LogicalResult verifyNumbers(Operation *op, ArrayRef<Number> numbers, int64_t most) {
  for (const Number &number : numbers)
    if (number.value < 1 || number.value > most)
      return op->emitOpError("has a schedule whose '")
             << number.name << "' must be from 1 to " << most << ", found " << number.value;
  return success();
}

LogicalResult verifyAppendTiles(attn::KVAppendOp op) {
  auto schedule = attn::scheduleOf(op);
  if (!schedule)
    return success();
  auto tiles = dyn_cast<attn::AppendTilesAttr>(schedule);
  if (!tiles)
    return op.emitOpError("has a schedule that is no #attn.append_tiles, found ") << schedule;
  const std::optional<int64_t> positions = tiles.getPositions();
  if (failed(verifyNumbers(op, {{"positions", positions.value_or(1)}, {"channels", tiles.getChannels().value_or(1)}},
                           kMostOfTile)))
    return failure();
  std::optional<attn::CacheLayoutInterface> layout = op.getLayout();
  if (positions && layout && layout->getPositions() % *positions != 0)
    return op.emitOpError() << "has a schedule of " << *positions << " positions, which do not divide a block of "
                            << layout->getPositions();
  return success();
}

} // namespace

bool neutral::hasAttentionTiles(Operation *op) { return isa<attn::AttentionOp, attn::AttentionStateOp>(op); }

LogicalResult neutral::verifyAttentionTiles(Operation *op) {
  auto tiles = attn::scheduleOf<attn::AttentionTilesAttr>(op);
  if (!tiles)
    return op->emitOpError("has no attn.schedule with 'queries' and 'keys', #attn.attention_tiles");
  return verifyNumbers(op, {{"queries", tiles.getQueries()}, {"keys", tiles.getKeys()}}, kMostOfTile);
}

LogicalResult neutral::verifyTiles(Operation *op) {
  if (auto append = dyn_cast<attn::KVAppendOp>(op))
    return verifyAppendTiles(append);
  return success(!hasAttentionTiles(op) || succeeded(verifyAttentionTiles(op)));
}

attn::LinalgTilesAttr neutral::linalgTilesOf(ModuleOp module) {
  auto schedule = attn::scheduleOf(module);
  return dyn_cast_if_present<attn::LinalgTilesAttr>(schedule ? schedule.getLinalgTiles() : Attribute());
}

LogicalResult neutral::verifyLinalgTiles(ModuleOp module) {
  attn::LinalgTilesAttr tiles = linalgTilesOf(module);
  if (!tiles)
    return module.emitOpError("has no attn.schedule with #attn.linalg_tiles");
  return verifyNumbers(module, {{"rows", tiles.getRows()}, {"columns", tiles.getColumns()}}, kMostOfGrid);
}
