//===- TensorMaps.cpp - Operands of wgmma are copied by TMA -------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "dialect/AttnHost/AttnHost.h"
#include "lib/Target/GPU/NVIDIA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDATENSORMAPS
#include "lib/Target/GPU/NVIDIA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

constexpr int64_t kMostDims = 5; ///< of a tensor map

/// A matrix that a tile copies to shared memory in parts of a tile type each.
struct Matrix {
  Value rows;
  attn_gpu::TileType tile;
  unsigned exact = 1; ///< the dim along which nothing behind the matrix may be copied
  int64_t step = 1;   ///< elements of it that are copied at a time
};

/// A matrix as part of an array that a task gets.
struct Source {
  attn_gpu::TileType tile;
  unsigned argument = 0;             ///< number of the array among the task's
  SmallVector<int64_t> dims;         ///< of the array: columns, rows, then the others
  SmallVector<OpFoldResult> offsets; ///< of the first row in each of them
};

/// The matrices of a tile that TMA can copy.
std::optional<std::array<Matrix, 2>> matricesOf(Operation *op) {
  if (auto tile = dyn_cast<attn_gpu::AttentionTileOp>(op)) {
    if (!tile.isOfWarpgroups() || tile.getTable() || tile.getMade())
      return std::nullopt;
    const attn_gpu::TileType keys = tile.getKeyTile(), values = tile.getValueTile();
    return std::array<Matrix, 2>{Matrix{tile.getKey(), keys, 1, keys.getBoxColumns()},
                                 Matrix{tile.getValue(), values, 1, values.getBoxColumns()}};
  }
  auto tile = dyn_cast<attn_gpu::LinearTileOp>(op);
  if (!tile || !tile.isOfWarpgroups() || tile.getMade())
    return std::nullopt;
  const int64_t depth = tile.getTiles().getDepth();
  return std::array<Matrix, 2>{Matrix{tile.getInput(), tile.getInputTile(), 1, depth},
                               Matrix{tile.getWeight(), tile.getWeightTile(), tile.getTransposed() ? 1u : 0u, depth}};
}

/// None where a tensor map cannot have the matrix.
std::optional<Source> sourceOf(const Matrix &matrix) {
  Source source{matrix.tile};
  auto slice = matrix.rows.getDefiningOp<memref::SubViewOp>();
  auto array = dyn_cast<BlockArgument>(slice ? slice.getSource() : matrix.rows);
  if (!array || !isa<func::FuncOp>(array.getOwner()->getParentOp()) || !isa<MemRefType>(array.getType()))
    return std::nullopt;
  source.argument = array.getArgNumber();
  auto type = cast<MemRefType>(array.getType());
  const int64_t rank = type.getRank();
  if (rank > kMostDims || !type.isLastDimUnitStride())
    return std::nullopt;
  SmallVector<OpFoldResult> offsets(rank, Builder(array.getContext()).getIndexAttr(0));
  llvm::SmallBitVector dropped(rank);
  if (slice) {
    if (!llvm::all_of(slice.getMixedStrides(), isOneInteger))
      return std::nullopt;
    offsets = slice.getMixedOffsets();
    dropped = slice.getDroppedDims();
  }
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    if (!dropped[dim])
      source.dims.push_back(dim);
  if (source.dims.size() != 2 || source.dims[0] != rank - 1)
    return std::nullopt;
  // The last part of a matrix that has no whole ones gets what is behind it, unless the array ends there.
  const int64_t extent = cast<MemRefType>(matrix.rows.getType()).getDimSize(matrix.exact),
                dim = source.dims[1 - matrix.exact];
  const bool isWhole = !ShapedType::isDynamic(extent) && extent % matrix.step == 0;
  if (slice && !isWhole &&
      (getConstantIntValue(offsets[dim]) != 0 || ShapedType::isDynamic(extent) || type.getDimSize(dim) != extent))
    return std::nullopt;
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    if (dropped[dim])
      source.dims.push_back(dim);
  for (int64_t dim : source.dims)
    source.offsets.push_back(offsets[dim]);
  return source;
}

/// A task with a tile of which TMA copies two matrices.
struct Task {
  func::FuncOp function;
  Operation *tile = nullptr;
  SmallVector<Source> sources;
};

/// Nothing where the task has no such tile, or several.
std::optional<Task> taskOf(func::FuncOp function) {
  Task task{function, nullptr, {}};
  const WalkResult alone = function.walk([&](Operation *op) {
    if (!isa<attn_gpu::AttentionTileOp, attn_gpu::LinearTileOp>(op))
      return WalkResult::advance();
    if (task.tile)
      return WalkResult::interrupt();
    task.tile = op;
    return WalkResult::advance();
  });
  if (alone.wasInterrupted() || !task.tile)
    return std::nullopt;
  std::optional<std::array<Matrix, 2>> matrices = matricesOf(task.tile);
  if (!matrices)
    return std::nullopt;
  for (const Matrix &matrix : *matrices) {
    std::optional<Source> source = sourceOf(matrix);
    if (!source)
      return std::nullopt;
    task.sources.push_back(*source);
  }
  return task;
}

/// The map of an array, before a dispatch.
attn_host::TensorMapOp mapOf(ImplicitLocOpBuilder &b, attn_host::ParallelForOp dispatch, const Source &source) {
  SmallVector<int64_t> box(source.dims.size(), 1);
  box[0] = source.tile.getBoxColumns();
  box[1] = source.tile.getRows();
  return attn_host::TensorMapOp::create(b, TypeRange{dispatch.getEnv().getType(), b.getI1Type()},
                                        dispatch.getCaptures()[source.argument], b.getDenseI64ArrayAttr(source.dims),
                                        b.getDenseI64ArrayAttr(box),
                                        b.getI64IntegerAttr(source.tile.getSwizzle().getBytes()), dispatch.getEnv());
}

void passMaps(attn_host::ParallelForOp dispatch, Task &task) {
  ImplicitLocOpBuilder b(dispatch.getLoc(), dispatch);
  auto first = mapOf(b, dispatch, task.sources[0]), second = mapOf(b, dispatch, task.sources[1]);
  Value made = arith::AndIOp::create(b, first.getMade(), second.getMade());
  dispatch.getCapturesMutable().assign(llvm::to_vector(llvm::concat<Value>(
      SmallVector<Value>{first.getMap(), second.getMap(), made}, SmallVector<Value>(dispatch.getCaptures()))));
}

/// The task gets the maps as its first arguments.
void takeMaps(Task &task) {
  ImplicitLocOpBuilder b(task.tile->getLoc(), task.tile);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  const Type types[] = {pointer, pointer, b.getI1Type()};
  for (auto [number, type] : llvm::enumerate(types))
    (void)task.function.insertArgument(unsigned(number), type, {}, b.getLoc());
  SmallVector<Value> at[2];
  for (auto [source, values] : llvm::zip_equal(task.sources, at))
    for (OpFoldResult offset : source.offsets)
      values.push_back(isa<Value>(offset) ? cast<Value>(offset)
                                          : Value(arith::ConstantIndexOp::create(b, *getConstantIntValue(offset))));
  Value first = task.function.getArgument(0), second = task.function.getArgument(1);
  if (auto tile = dyn_cast<attn_gpu::AttentionTileOp>(task.tile)) {
    tile.getKeyMapMutable().assign(first);
    tile.getKeyAtMutable().assign(at[0]);
    tile.getValueMapMutable().assign(second);
    tile.getValueAtMutable().assign(at[1]);
    tile.getMadeMutable().assign(task.function.getArgument(2));
    return;
  }
  auto tile = cast<attn_gpu::LinearTileOp>(task.tile);
  tile.getInputMapMutable().assign(first);
  tile.getInputAtMutable().assign(at[0]);
  tile.getWeightMapMutable().assign(second);
  tile.getWeightAtMutable().assign(at[1]);
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
