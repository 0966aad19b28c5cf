//===- Schedule.cpp - Schedules of neutral decompositions ------------------------------===//
#include "lib/Conversion/Schedule.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using attn::ScheduleAttr;

namespace {

constexpr llvm::StringLiteral kQueries = "queries", kKeys = "keys", kPositions = "positions", kChannels = "channels",
                              kLinalg = "linalg", kRows = "rows", kColumns = "columns";
/// Scores of a tile are in one buffer of a task.
constexpr int64_t kMostOfTile = 1024, kMostOfGrid = 1 << 20;

ScheduleAttr pairOf(MLIRContext *context, StringRef first, int64_t one, StringRef second, int64_t other) {
  Builder b(context);
  return scheduleOf(context, {b.getNamedAttr(first, b.getDenseI64ArrayAttr(one)),
                              b.getNamedAttr(second, b.getDenseI64ArrayAttr(other))});
}

/// Reports a schedule that has no `first` and `second`, from 1 to `most`, or has others.
LogicalResult verifyPair(Operation *op, ScheduleAttr schedule, StringRef first, StringRef second, int64_t most) {
  for (StringRef name : {first, second}) {
    std::optional<int64_t> number = schedule.getNumber(name);
    if (!number)
      return op->emitOpError("has a schedule without '") << name << "'";
    if (*number > most)
      return op->emitOpError("has a schedule whose '")
             << name << "' must be from 1 to " << most << ", found " << *number;
  }
  for (NamedAttribute entry : schedule.getEntries())
    if (entry.getName() != first && entry.getName() != second)
      return op->emitOpError("has a schedule with '") << entry.getName().getValue() << "', which it has no use for";
  return success();
}

} // namespace

ScheduleAttr neutral::scheduleOf(MLIRContext *context, ArrayRef<NamedAttribute> entries) {
  return ScheduleAttr::get(context, DictionaryAttr::get(context, entries));
}

ScheduleAttr AttentionTiles::toAttr(MLIRContext *context) const {
  return pairOf(context, kQueries, queries, kKeys, keys);
}

AttentionTiles AttentionTiles::of(Operation *op) {
  ScheduleAttr schedule = ScheduleAttr::of(op);
  return {*schedule.getNumber(kQueries), *schedule.getNumber(kKeys)};
}

bool neutral::hasAttentionTiles(Operation *op) { return isa<attn::AttentionOp, attn::AttentionStateOp>(op); }

LogicalResult neutral::verifyAttentionTiles(Operation *op) {
  ScheduleAttr schedule = ScheduleAttr::of(op);
  if (!schedule)
    return op->emitOpError("has no attn.schedule with '") << kQueries << "' and '" << kKeys << "'";
  return verifyPair(op, schedule, kQueries, kKeys, kMostOfTile);
}

ScheduleAttr AppendTiles::toAttr(MLIRContext *context) const {
  return pairOf(context, kPositions, positions, kChannels, channels);
}

AppendTiles AppendTiles::of(attn::KVAppendOp op) {
  ScheduleAttr schedule = ScheduleAttr::of(op);
  return schedule ? AppendTiles{*schedule.getNumber(kPositions), *schedule.getNumber(kChannels)} : AppendTiles{0, 0};
}

static LogicalResult verifyAppendTiles(attn::KVAppendOp op) {
  ScheduleAttr schedule = ScheduleAttr::of(op);
  if (!schedule)
    return success();
  if (failed(verifyPair(op, schedule, kPositions, kChannels, kMostOfTile)))
    return failure();
  const int64_t positions = AppendTiles::of(op).positions;
  std::optional<attn::CacheLayoutInterface> layout = op.getLayout();
  if (positions && layout && layout->getPositions() % positions != 0)
    return op.emitOpError() << "has a schedule of " << positions << " positions, which do not divide a block of "
                            << layout->getPositions();
  return success();
}

LogicalResult neutral::verifyTiles(Operation *op) {
  if (auto append = dyn_cast<attn::KVAppendOp>(op))
    return verifyAppendTiles(append);
  return success(!hasAttentionTiles(op) || succeeded(verifyAttentionTiles(op)));
}

ScheduleAttr LinalgTiles::toAttr(MLIRContext *context) const { return scheduleOf(context, toEntry(context)); }

NamedAttribute LinalgTiles::toEntry(MLIRContext *context) const {
  return Builder(context).getNamedAttr(kLinalg, pairOf(context, kRows, rows, kColumns, columns));
}

LinalgTiles LinalgTiles::of(ModuleOp module) {
  ScheduleAttr schedule = ScheduleAttr::of(module).getNested(kLinalg);
  return {*schedule.getNumber(kRows), *schedule.getNumber(kColumns)};
}

LogicalResult neutral::verifyLinalgTiles(ModuleOp module) {
  ScheduleAttr schedule = ScheduleAttr::of(module), tiles = schedule ? schedule.getNested(kLinalg) : ScheduleAttr();
  if (!tiles)
    return module.emitOpError("has no attn.schedule with '") << kLinalg << "'";
  return verifyPair(module, tiles, kRows, kColumns, kMostOfGrid);
}
