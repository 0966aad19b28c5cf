//===- OutlineKernels.cpp - Tasks become kernels ----------------------------------------===//
#include "dialect/Attn/AttnDialect.h"
#include "dialect/AttnGPU/AttnGPU.h"
#include "dialect/AttnHost/AttnHost.h"
#include "lib/Target/GPU/Passes.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <rapt/artifact.h>

namespace rapt {
#define GEN_PASS_DEF_ATTNGPUOUTLINEKERNELS
#include "lib/Target/GPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

constexpr int64_t kThreads = 128;                ///< of a thread block
constexpr int64_t kSlices = RAPT_DEVICE_WORKERS; ///< of scratch memory

/// How a task's iterations are spread: one to a thread, or one to a thread block.
struct Kernel {
  func::FuncOp function;
  int64_t threads = kThreads, shared = 0; ///< of a thread block
  bool ofBlocks = false;
  int64_t mostBlocks = 0; ///< each of which has several iterations; 0: as many as iterations
  bool isLimited = false; ///< as many threads as scratch has slices
  bool waits = true;      ///< in front of everything; else its tiles wait
};

/// Lets the tiles of a task wait for the kernel before, where nothing else accesses memory; whether they do.
bool letTilesWait(func::FuncOp task) {
  SmallVector<attn_gpu::LinearTileOp> tiles;
  const WalkResult result = task.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto tile = dyn_cast<attn_gpu::LinearTileOp>(op)) {
      tiles.push_back(tile);
      return tile.mayWait() ? WalkResult::skip() : WalkResult::interrupt();
    }
    return op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op) ? WalkResult::advance()
                                                                                        : WalkResult::interrupt();
  });
  if (result.wasInterrupted() || tiles.empty())
    return false;
  for (attn_gpu::LinearTileOp tile : tiles)
    tile.setWaits(true);
  return true;
}

/// Whether an op that all threads of a block execute once each would do the work of one thread once more.
bool writesAlone(Operation *op) {
  if (isa<attn_gpu::BlockTask>(op) || op->getParentOfType<attn_gpu::BlockTask>() ||
      op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return false;
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return !effects || llvm::any_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Write>(effect.getEffect());
  });
}

/// The loop over the task's iterations that holds its only tile, whose blocks are limited; null where there is none.
scf::ForOp loopOfBlocks(func::FuncOp task, int64_t &mostBlocks) {
  SmallVector<attn_gpu::BlockTask> tiles;
  task.walk([&](attn_gpu::BlockTask tile) { tiles.push_back(tile); });
  auto loop = tiles.size() == 1 ? dyn_cast<scf::ForOp>(tiles[0]->getParentOp()) : scf::ForOp();
  const unsigned begin = task.getNumArguments() - 3;
  if (!loop || loop->getParentOp() != task || tiles[0].getMostBlocks() == 0 ||
      loop.getLowerBound() != task.getArgument(begin) || loop.getUpperBound() != task.getArgument(begin + 1) ||
      !isOneInteger(loop.getStep()))
    return {};
  mostBlocks = tiles[0].getMostBlocks();
  return loop;
}

/// A name that assemblers take: letters, digits and underscores.
std::string kernelName(StringRef task) {
  std::string name;
  for (char c : task)
    name += llvm::isAlnum(c) ? c : '_';
  return name;
}

/// How many of the first captures are tensor maps.
int64_t leadingMaps(attn_host::ParallelForOp dispatch) {
  auto isMap = [](Value capture) { return capture.getDefiningOp<attn_host::TensorMapOp>(); };
  return std::distance(dispatch.getCaptures().begin(), llvm::find_if_not(dispatch.getCaptures(), isMap));
}

class Outliner {
public:
  Outliner(ModuleOp module) : symbols(module), overlaps(TargetInfo::of(module).kernelsOverlap) {
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    kernels = gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
    symbols.insert(kernels);
  }

  LogicalResult outline(attn_host::ParallelForOp dispatch) {
    Kernel &kernel = made[dispatch.getTask()];
    if (!kernel.function) {
      auto task = symbols.lookup<func::FuncOp>(dispatch.getTask());
      if (!task || task.isExternal())
        return dispatch.emitOpError() << "has a task '" << dispatch.getTask() << "' without code";
      if (failed(makeKernel(task, kernel, leadingMaps(dispatch))))
        return failure();
    }
    ImplicitLocOpBuilder b(dispatch.getLoc(), dispatch);
    Value count = dispatch.getCount(), blocks = count;
    if (!kernel.ofBlocks)
      blocks = arith::CeilDivSIOp::create(b, count, arith::ConstantIndexOp::create(b, kernel.threads));
    // A negative count is that of no iteration.
    blocks = arith::MaxSIOp::create(b, blocks, arith::ConstantIndexOp::create(b, 0));
    if (kernel.mostBlocks)
      blocks = arith::MinSIOp::create(b, blocks, arith::ConstantIndexOp::create(b, kernel.mostBlocks));
    if (kernel.isLimited)
      blocks = arith::MinSIOp::create(b, blocks, arith::ConstantIndexOp::create(b, kSlices / kThreads));
    auto name = SymbolRefAttr::get(kernels.getNameAttr(), {FlatSymbolRefAttr::get(kernel.function)});
    SmallVector<Value> captures(dispatch.getCaptures());
    captures.push_back(count);
    auto launch = attn_host::LaunchOp::create(b, name, captures, blocks, dispatch.getEnv());
    if (Attribute number = dispatch->getAttr(attn::AttnDialect::dispatchAttr))
      launch->setAttr(attn::AttnDialect::dispatchAttr, number);
    dispatch.erase();
    return success();
  }

private:
  LogicalResult makeKernel(func::FuncOp task, Kernel &kernel, int64_t maps) {
    const bool usesWorker = !task.getArguments().back().use_empty();
    task.walk([&](attn_gpu::BlockTask tile) {
      kernel.threads = kernel.ofBlocks ? std::max(kernel.threads, tile.getThreads()) : tile.getThreads();
      kernel.shared = std::max(kernel.shared, tile.getSharedBytes());
      kernel.ofBlocks = true;
    });
    if (kernel.ofBlocks) {
      const WalkResult result = task.walk([&](Operation *op) {
        auto tile = dyn_cast<attn_gpu::BlockTask>(op);
        if (op != task && (writesAlone(op) || (tile && tile.getThreads() != kernel.threads)))
          return op->emitOpError("is in a task that a thread block executes, but not by all its threads"),
                 WalkResult::interrupt();
        return WalkResult::advance();
      });
      if (result.wasInterrupted() || usesWorker)
        return usesWorker ? task.emitOpError("has scratch, and is a task that a thread block executes") : failure();
    }
    kernel.isLimited = usesWorker;
    if (scf::ForOp loop = loopOfBlocks(task, kernel.mostBlocks)) {
      // A block has every nth iteration from its own on, where n is the number of blocks.
      ImplicitLocOpBuilder b(loop.getLoc(), loop);
      loop.setStep(gpu::GridDimOp::create(b, gpu::Dimension::x));
    }
    kernel.waits = overlaps && !letTilesWait(task);
    symbols.remove(task);
    task->moveBefore(kernels.getBody(), kernels.getBody()->end());
    task.walk([&](memref::GetGlobalOp use) { copyConstant(use.getName()); });
    ImplicitLocOpBuilder b = ImplicitLocOpBuilder::atBlockEnd(task.getLoc(), kernels.getBody());
    SmallVector<Type> types(task.getArgumentTypes().drop_back(3));
    types.push_back(b.getIndexType());
    kernel.function = func::FuncOp::create(b, kernelName(task.getSymName()), b.getFunctionType(types, {}));
    SymbolTable(kernels).insert(kernel.function);
    kernel.function->setAttr(attn_host::AttnHostDialect::kernelAttr,
                             attn_host::KernelAttr::get(b.getContext(), kernel.threads, kernel.shared, maps, overlaps));
    fillKernel(b, task, kernel);
    return success();
  }

  /// A loop over the iterations that a thread has, or the one of its block, or a task that has such a loop.
  void fillKernel(ImplicitLocOpBuilder &b, func::FuncOp task, const Kernel &kernel) {
    func::FuncOp function = kernel.function;
    Block *body = function.addEntryBlock();
    b.setInsertionPointToStart(body);
    if (kernel.waits)
      attn_gpu::WaitForKernelOp::create(b);
    Value first = gpu::BlockIdOp::create(b, gpu::Dimension::x), count = body->getArguments().back(), at = first;
    if (kernel.ofBlocks) { // at most as many as iterations
      auto branch = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, count),
                                      /*withElseRegion=*/false);
      func::ReturnOp::create(b);
      b.setInsertionPointToStart(branch.thenBlock());
    } else {
      Value size = gpu::BlockDimOp::create(b, gpu::Dimension::x);
      first = arith::AddIOp::create(b, arith::MulIOp::create(b, first, size),
                                    gpu::ThreadIdOp::create(b, gpu::Dimension::x));
      auto loop = scf::ForOp::create(b, first, count,
                                     arith::MulIOp::create(b, size, gpu::GridDimOp::create(b, gpu::Dimension::x)));
      func::ReturnOp::create(b);
      b.setInsertionPointToStart(loop.getBody());
      at = loop.getInductionVar();
    }
    Value one = arith::ConstantIndexOp::create(b, 1);
    SmallVector<Value> arguments(body->getArguments().drop_back());
    Value end = kernel.mostBlocks ? count : Value(arith::AddIOp::create(b, at, one));
    arguments.append({at, end, first});
    func::CallOp::create(b, task, arguments);
  }

  /// Tables that tasks read are in the memory of the device, too.
  void copyConstant(StringRef name) {
    auto global = symbols.lookup<memref::GlobalOp>(name);
    if (global && !kernels.lookupSymbol(name))
      OpBuilder::atBlockBegin(kernels.getBody()).clone(*global);
  }

  SymbolTable symbols;
  gpu::GPUModuleOp kernels;
  bool overlaps;                ///< whether a kernel may be started before the one in front of it ends
  llvm::StringMap<Kernel> made; ///< by the name of the task
};

struct OutlineKernels : rapt::impl::AttnGPUOutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkStage(*this, module, Stage::Tiled)))
      return signalPassFailure();
    SmallVector<attn_host::ParallelForOp> dispatches;
    module.walk([&](attn_host::ParallelForOp dispatch) { dispatches.push_back(dispatch); });
    if (dispatches.empty())
      return;
    Outliner outliner(module);
    for (attn_host::ParallelForOp dispatch : dispatches)
      if (failed(outliner.outline(dispatch)))
        return signalPassFailure();
    for (auto global : llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
      if (SymbolTable::symbolKnownUseEmpty(global, module) && global.isPrivate())
        global.erase();
  }
};

} // namespace
