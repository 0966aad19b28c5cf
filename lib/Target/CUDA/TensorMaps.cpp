//===- TensorMaps.cpp - Keys and values are copied by TMA ---------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "dialect/AttnHost/AttnHost.h"
#include "lib/Target/CUDA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDATENSORMAPS
#include "lib/Target/CUDA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

constexpr int64_t kMostDims = 5; ///< of a tensor map

/// Rows of channels as a part of an array that a task gets.
struct Source {
  unsigned argument = 0;             ///< number of the array among the task's
  SmallVector<int64_t> dims;         ///< of the array: channels, rows, then the others
  SmallVector<OpFoldResult> offsets; ///< of the first row in each of them
};

/// The source of a tile's keys or values, [rows, channels], in boxes of `columns` channels.
std::optional<Source> sourceOf(Value rows, int64_t columns) {
  Source source;
  auto slice = rows.getDefiningOp<memref::SubViewOp>();
  auto array = dyn_cast<BlockArgument>(slice ? slice.getSource() : rows);
  if (!array || !isa<func::FuncOp>(array.getOwner()->getParentOp()))
    return std::nullopt;
  source.argument = array.getArgNumber();
  auto type = cast<MemRefType>(array.getType());
  const int64_t rank = type.getRank();
  if (rank > kMostDims || !type.isLastDimUnitStride())
    return std::nullopt;
  SmallVector<OpFoldResult> offsets(rank, Builder(rows.getContext()).getIndexAttr(0));
  llvm::SmallBitVector dropped(rank);
  if (slice) {
    if (!llvm::all_of(slice.getMixedStrides(), isOneInteger))
      return std::nullopt;
    offsets = slice.getMixedOffsets();
    dropped = slice.getDroppedDims();
    // A box with more channels than the slice has gets those behind it, unless the array ends there.
    const int64_t channels = cast<MemRefType>(rows.getType()).getDimSize(1);
    if (channels % columns != 0 && (getConstantIntValue(offsets.back()) != 0 || type.getDimSize(rank - 1) != channels))
      return std::nullopt;
  }
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    if (!dropped[dim])
      source.dims.push_back(dim);
  if (source.dims.size() != 2 || source.dims[0] != rank - 1)
    return std::nullopt;
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    if (dropped[dim])
      source.dims.push_back(dim);
  for (int64_t dim : source.dims)
    source.offsets.push_back(offsets[dim]);
  return source;
}

/// A task of which one tile is copied by TMA.
struct Task {
  func::FuncOp function;
  attn_gpu::AttentionTileOp tile;
  Source keys, values;
};

/// Nothing where the task has no such tile, or several.
std::optional<Task> taskOf(func::FuncOp function) {
  Task task{function, {}, {}, {}};
  const WalkResult alone = function.walk([&](attn_gpu::AttentionTileOp tile) {
    if (task.tile)
      return WalkResult::interrupt();
    task.tile = tile;
    return WalkResult::advance();
  });
  if (alone.wasInterrupted() || !task.tile || !task.tile.getWgmma() || task.tile.getTable() || task.tile.getMade() ||
      !isa<MemRefType>(task.tile.getKey().getType()))
    return std::nullopt;
  std::optional<Source> keys = sourceOf(task.tile.getKey(), task.tile.getKeyTile().getBoxColumns()),
                        values = sourceOf(task.tile.getValue(), task.tile.getValueTile().getBoxColumns());
  if (!keys || !values)
    return std::nullopt;
  task.keys = *keys, task.values = *values;
  return task;
}

/// The map of an array, before a dispatch.
attn_host::TensorMapOp mapOf(ImplicitLocOpBuilder &b, attn_host::ParallelForOp dispatch, const Source &source,
                             attn_gpu::TileType tile) {
  SmallVector<int64_t> box(source.dims.size(), 1);
  box[0] = tile.getBoxColumns();
  box[1] = tile.getRows();
  return attn_host::TensorMapOp::create(b, TypeRange{dispatch.getEnv().getType(), b.getI1Type()},
                                        dispatch.getCaptures()[source.argument], b.getDenseI64ArrayAttr(source.dims),
                                        b.getDenseI64ArrayAttr(box), b.getI64IntegerAttr(tile.getSwizzle().getBytes()),
                                        dispatch.getEnv());
}

void passMaps(attn_host::ParallelForOp dispatch, Task &task) {
  ImplicitLocOpBuilder b(dispatch.getLoc(), dispatch);
  auto keys = mapOf(b, dispatch, task.keys, task.tile.getKeyTile()),
       values = mapOf(b, dispatch, task.values, task.tile.getValueTile());
  Value made = arith::AndIOp::create(b, keys.getMade(), values.getMade());
  dispatch.getCapturesMutable().assign(llvm::to_vector(llvm::concat<Value>(
      SmallVector<Value>{keys.getMap(), values.getMap(), made}, SmallVector<Value>(dispatch.getCaptures()))));
}

/// The task gets the maps as its first arguments.
void takeMaps(Task &task) {
  ImplicitLocOpBuilder b(task.tile.getLoc(), task.tile);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  const Type types[] = {pointer, pointer, b.getI1Type()};
  for (auto [number, type] : llvm::enumerate(types))
    (void)task.function.insertArgument(unsigned(number), type, {}, b.getLoc());
  auto coordinates = [&](const Source &source) {
    return llvm::map_to_vector(source.offsets, [&](OpFoldResult offset) -> Value {
      if (auto value = dyn_cast<Value>(offset))
        return value;
      return arith::ConstantIndexOp::create(b, *getConstantIntValue(offset));
    });
  };
  attn_gpu::AttentionTileOp tile = task.tile;
  const SmallVector<Value> keyAt = coordinates(task.keys), valueAt = coordinates(task.values);
  tile.getKeyMapMutable().assign(task.function.getArgument(0));
  tile.getKeyAtMutable().assign(keyAt);
  tile.getValueMapMutable().assign(task.function.getArgument(1));
  tile.getValueAtMutable().assign(valueAt);
  tile.getMadeMutable().assign(task.function.getArgument(2));
}

struct TensorMaps : rapt::impl::AttnCUDATensorMapsBase<TensorMaps> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkStage(*this, module, Stage::Tiled)))
      return signalPassFailure();
    SymbolTable symbols(module);
    llvm::MapVector<func::FuncOp, SmallVector<attn_host::ParallelForOp>> dispatches;
    module.walk([&](attn_host::ParallelForOp dispatch) {
      if (auto function = symbols.lookup<func::FuncOp>(dispatch.getTask()); function && !function.isExternal())
        dispatches[function].push_back(dispatch);
    });
    for (auto &[function, calls] : dispatches) {
      std::optional<Task> task = taskOf(function);
      if (!task)
        continue;
      for (attn_host::ParallelForOp dispatch : calls)
        passMaps(dispatch, *task);
      takeMaps(*task);
    }
  }
};

} // namespace
