//===- ExpandWgmma.cpp - Tiles of matmuls by wgmma ----------------------------------------===//
//
// A warp copies the steps of k of both operands into a ring in shared memory, and warpgroups of
// 64 rows each multiply them. A thread block that has several tiles goes on copying while the
// sums of a tile are stored: the loop over its tiles is there twice, of copies and of matmuls.
// The schedule is that of CUTLASS's persistent kernels of cooperating warpgroups.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/Linear/Linear.h"
#include "lib/Target/GPU/NVIDIA/Instructions.h"
#include "lib/Target/GPU/NVIDIA/Linear/TileCode.h"
#include "lib/Target/GPU/When.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

constexpr int64_t kWarpgroup = 128, kRows = 64, kWarp = 32; ///< threads and rows of a warpgroup, threads of a warp

/// Columns whose sums need no more registers than each thread of a block has when it starts.
constexpr int64_t kFewColumns = 64;

/// Registers of a thread that copies and of one that multiplies: 64K of them in all.
struct Registers {
  uint32_t copying, multiplying;
};
Registers registersOf(int64_t groups) {
  return groups == 1 ? Registers{56, 256} : groups == 2 ? Registers{56, 224} : Registers{32, 160};
}

/// A stage of the ring, and the parity of its phase.
struct Position {
  Value stage, parity;
};

/// Stores a warpgroup's sums, 16 columns after 16.
struct Sums : LinearTileCode {
  Sums(LinearTileOp op, Value firstRow)
      : LinearTileCode(op, op.getResult(), {op.getEpilogue(), op.getPairs()},
                       FragmentType::get(op.getContext(), kRows, kGroup, Float32Type::get(op.getContext()),
                                         WgmmaLayoutAttr::get(op.getContext(), MatmulOperand::acc)),
                       op.getTiles().getColumns() / kGroup, firstRow) {}

  void store(Value acc) {
    SmallVector<Value> parts;
    for (int64_t group = 0; group < groups; ++group)
      parts.push_back(ColumnsOp::create(b, sums, acc, group * kGroup));
    LinearTileCode::store(parts, /*fours=*/true);
  }
};

class WgmmaTile {
public:
  WgmmaTile(LinearTileOp op, scf::ForOp loop)
      : op(op), loop(loop), b(op.getLoc(), loop ? loop.getOperation() : op.getOperation()),
        groups(op.getTiles().getWarps() * kWarp / kWarpgroup),
        barriers(op.getStageBytes() * op.getTiles().getStages()) {
    sums = FragmentType::get(op.getContext(), kRows, op.getTiles().getColumns(), b.getF32Type(),
                             WgmmaLayoutAttr::get(op.getContext(), MatmulOperand::acc));
    thread = arith::IndexCastOp::create(b, b.getIndexType(), NVVM::ThreadIdXOp::create(b, b.getI32Type()));
  }

  void emit() {
    initialize();
    const Registers registers = registersOf(groups);
    const bool areMany = op.getTiles().getColumns() > kFewColumns;
    when(
        b, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, thread, index(kWarpgroup)),
        [&] {
          if (areMany)
            setRegisters(b, registers.copying, /*increase=*/false);
          copy();
        },
        [&] {
          if (areMany)
            setRegisters(b, registers.multiplying, /*increase=*/true);
          multiply();
        });
    if (loop)
      loop.erase();
  }

private:
  enum Barrier { Full, Empty };
  /// How the operands of a step are copied.
  enum Copies { Boxes, Rows, Elements };

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value times(Value x, int64_t by) { return b.createOrFold<arith::MulIOp>(x, index(by)); }
  Value is(Value value, int64_t number) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value, index(number));
  }

  Value barrier(Barrier which, Value stage) {
    const int64_t first = barriers + (which == Full ? 0 : 8 * op.getTiles().getStages());
    return SharedOp::create(b, MBarrierType::get(op.getContext()), add(times(stage, 8), index(first)));
  }
  Value inputTile(Value stage) { return SharedOp::create(b, op.getInputTile(), times(stage, op.getStageBytes())); }
  Value weightTile(Value stage) {
    Value first = times(stage, op.getStageBytes());
    return SharedOp::create(b, op.getWeightTile(), add(first, index(op.getInputTile().getBytes())));
  }

  Position start() { return {index(0), arith::ConstantOp::create(b, b.getI32IntegerAttr(0))}; }
  Position next(Position at) {
    Value stage = add(at.stage, index(1)), isEnd = is(stage, op.getTiles().getStages());
    Value flips = arith::ExtUIOp::create(b, b.getI32Type(), isEnd);
    return {arith::SelectOp::create(b, isEnd, index(0), stage), arith::XOrIOp::create(b, at.parity, flips)};
  }
  Value other(Value parity) {
    return arith::XOrIOp::create(b, parity, Value(arith::ConstantOp::create(b, b.getI32IntegerAttr(1))));
  }

  void initialize(int64_t copyingThreads) {
    for (int64_t stage = 0; stage < op.getTiles().getStages(); ++stage) {
      MBarrierInitOp::create(b, barrier(Full, index(stage)), uint32_t(copyingThreads));
      MBarrierInitOp::create(b, barrier(Empty, index(stage)), uint32_t(op.getTiles().getWarps()));
    }
    NVVM::FenceMbarrierInitOp::create(b);
  }

  /// One thread initializes the mbarriers.
  void initialize() {
    when(b, is(thread, 0), [&] {
      if (op.getMade())
        when(b, op.getMade(), [&] { initialize(1); }, [&] { initialize(kWarpgroup); });
      else
        initialize(kWarpgroup);
    });
    NVVM::Barrier0Op::create(b);
  }

  void copy() {
    if (op.getMade())
      when(b, op.getMade(), [&] { when(b, is(thread, 0), [&] { copyTiles(Boxes); }); }, [&] { copyTiles(Elements); });
    else
      copyTiles(Rows);
  }

  /// A copy of the loop over tiles, without their matmuls.
  void copyTiles(Copies copies) {
    IRMapping mapping;
    const Position first = start();
    if (!loop)
      return void(copyTile(copies, mapping, first));
    auto tiles = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(),
                                    ValueRange{first.stage, first.parity});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(tiles.getBody());
    mapping.map(loop.getInductionVar(), tiles.getInductionVar());
    for (Operation &before : loop.getBody()->without_terminator()) {
      if (&before == op)
        break;
      b.clone(before, mapping);
    }
    const Position end = copyTile(copies, mapping, {tiles.getRegionIterArg(0), tiles.getRegionIterArg(1)});
    scf::YieldOp::create(b, ValueRange{end.stage, end.parity});
  }

  Position copyTile(Copies copies, const IRMapping &mapping, Position at) {
    GlobalArray input(b, mapping.lookupOrDefault(op.getInput()));
    if (copies == Boxes)
      return overSteps(input, at, [&](Value first, Position at) { loadStep(first, at, mapping); });
    GlobalArray weight(b, mapping.lookupOrDefault(op.getWeight()));
    if (copies == Elements)
      return overSteps(input, at, [&](Value first, Position at) { copyStep(input, weight, first, at, true); });
    Value isAligned = arith::AndIOp::create(b, input.isAligned(b, GlobalArray::kCopyBytes),
                                            weight.isAligned(b, GlobalArray::kCopyBytes));
    return overSteps(input, at, [&](Value first, Position at) {
      when(
          b, isAligned, [&] { copyStep(input, weight, first, at, false); },
          [&] { copyStep(input, weight, first, at, true); });
    });
  }

  /// Calls `code` with the first k of each step, where its stage is empty.
  Position overSteps(const GlobalArray &input, Position at, function_ref<void(Value, Position)> code) {
    auto steps = scf::ForOp::create(b, index(0), input.sizes[1], index(op.getTiles().getDepth()),
                                    ValueRange{at.stage, at.parity});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(steps.getBody());
    at = {steps.getRegionIterArg(0), steps.getRegionIterArg(1)};
    MBarrierWaitOp::create(b, barrier(Empty, at.stage), other(at.parity));
    code(steps.getInductionVar(), at);
    at = next(at);
    scf::YieldOp::create(b, ValueRange{at.stage, at.parity});
    return {steps.getResult(0), steps.getResult(1)};
  }

  /// A step by TMA.
  void loadStep(Value first, Position at, const IRMapping &mapping) {
    Value full = barrier(Full, at.stage);
    auto load = [&](Value map, ValueRange of, unsigned alongK, Value tile) {
      SmallVector<Value> coordinates;
      for (Value coordinate : of)
        coordinates.push_back(mapping.lookupOrDefault(coordinate));
      coordinates[alongK] = add(coordinates[alongK], first);
      for (Value &coordinate : coordinates)
        coordinate = arith::IndexCastOp::create(b, b.getI32Type(), coordinate);
      LoadTileOp::create(b, mapping.lookupOrDefault(map), coordinates, tile, full);
    };
    MBarrierExpectOp::create(b, full, uint32_t(op.getStageBytes()));
    load(op.getInputMap(), op.getInputAt(), 0, inputTile(at.stage));
    load(op.getWeightMap(), op.getWeightAt(), op.getTransposed() ? 0 : 1, weightTile(at.stage));
  }

  /// A step by the warpgroup that copies: 16 bytes at a time and asynchronously, or by elements.
  void copyStep(const GlobalArray &input, const GlobalArray &weight, Value first, Position at, bool elements) {
    Value left = arith::SubIOp::create(b, input.sizes[1], first);
    cuda::copyRows(b, input, {inputTile(at.stage), first, input.sizes[0], left, thread, kWarpgroup, elements});
    if (op.getTransposed())
      cuda::copyRows(b, weight, {weightTile(at.stage), first, weight.sizes[0], left, thread, kWarpgroup, elements});
    else
      cuda::copyRows(b, weight,
                     {weightTile(at.stage), arith::MulIOp::create(b, first, weight.strides[0]), left, weight.sizes[1],
                      thread, kWarpgroup, elements});
    if (elements) {
      fenceAsync(b);
      MBarrierArriveOp::create(b, barrier(Full, at.stage));
    } else {
      CopyArriveOp::create(b, barrier(Full, at.stage));
    }
  }

  /// The loop over tiles moves here.
  void multiply() {
    Value group = arith::DivUIOp::create(b, thread, index(kWarpgroup));
    firstRow = times(arith::SubIOp::create(b, group, index(1)), kRows);
    const Position first = start();
    if (!loop) {
      op->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
      b.setInsertionPoint(op);
      return void(multiplyTile(first));
    }
    auto tiles = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(),
                                    ValueRange{first.stage, first.parity});
    Block *from = loop.getBody(), *to = tiles.getBody();
    to->getOperations().splice(to->begin(), from->getOperations(), from->begin(), std::prev(from->end()));
    loop.getInductionVar().replaceAllUsesWith(tiles.getInductionVar());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op);
    const Position end = multiplyTile({tiles.getRegionIterArg(0), tiles.getRegionIterArg(1)});
    b.setInsertionPointToEnd(to);
    scf::YieldOp::create(b, ValueRange{end.stage, end.parity});
  }

  Position multiplyTile(Position at) {
    GlobalArray input(b, op.getInput());
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    auto steps = scf::ForOp::create(b, index(0), input.sizes[1], index(op.getTiles().getDepth()),
                                    ValueRange{at.stage, at.parity, FillOp::create(b, sums, zero)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(steps.getBody());
      at = {steps.getRegionIterArg(0), steps.getRegionIterArg(1)};
      Value acc = multiplyStep(at, steps.getRegionIterArg(2));
      at = next(at);
      scf::YieldOp::create(b, ValueRange{at.stage, at.parity, acc});
    }
    Sums(op, firstRow).store(steps.getResult(2));
    return {steps.getResult(0), steps.getResult(1)};
  }

  Value multiplyStep(Position at, Value acc) {
    const TileType tile = op.getInputTile();
    auto part = TileType::get(op.getContext(), kRows, tile.getColumns(), tile.getElementType(), tile.getSwizzle(),
                              tile.getPitch());
    MBarrierWaitOp::create(b, barrier(Full, at.stage), at.parity);
    if (!op.getMade()) // asynchronous copies have no fence of the threads that started them
      fenceAsync(b);
    Value fenced = WgmmaFenceOp::create(b, acc).getResult(0);
    Value rows = SubtileOp::create(b, part, inputTile(at.stage), firstRow, index(0));
    Value issued =
        WgmmaOp::create(b, sums, rows, weightTile(at.stage), fenced, op.getTransposed() ? b.getUnitAttr() : UnitAttr());
    NVVM::WgmmaGroupSyncAlignedOp::create(b);
    Value finished = WgmmaWaitOp::create(b, 0, issued).getResult(0);
    // One thread of a warp tells that the warp has read the stage.
    when(b, is(arith::RemUIOp::create(b, thread, index(kWarp)), 0),
         [&] { MBarrierArriveOp::create(b, barrier(Empty, at.stage)); });
    return finished;
  }

  LinearTileOp op;
  scf::ForOp loop; ///< over the tiles of a thread block; null: it has one
  ImplicitLocOpBuilder b;
  FragmentType sums;
  int64_t groups, barriers; ///< that multiply; where mbarriers begin in shared memory
  Value thread, firstRow;
};

/// Whether an op may be executed twice, as part of a loop over tiles.
bool isRepeatable(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
}

} // namespace

LogicalResult cuda::expandWgmma(LinearTileOp op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  Operation *outside = loop ? loop->getParentOp() : op->getParentOp();
  bool isAlone = isa<func::FuncOp>(outside) && (!loop || loop.getInitArgs().empty());
  outside->walk([&](BlockTask task) { isAlone = isAlone && task == op; });
  if (loop)
    for (Operation &inner : loop.getBody()->without_terminator())
      isAlone = isAlone && (&inner == op || isRepeatable(&inner));
  for (Value value : {Value(op.getMade()), Value(op.getInputMap()), Value(op.getWeightMap())})
    isAlone = isAlone && (!loop || !value || loop.isDefinedOutsideOfLoop(value));
  if (!isAlone)
    return op.emitOpError() << "by wgmma is the only tile of its task, in it or in a loop that writes nothing else";
  WgmmaTile(op, loop).emit();
  return success();
}
