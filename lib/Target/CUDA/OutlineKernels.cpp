//===- OutlineKernels.cpp - Tasks become kernels ----------------------------------------===//
#include "dialect/Attn/AttnDialect.h"
#include "dialect/AttnHost/AttnHost.h"
#include "lib/Target/CUDA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <rapt/artifact.h>

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDAOUTLINEKERNELS
#include "lib/Target/CUDA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

constexpr int64_t kThreads = 128;                ///< of a thread block
constexpr int64_t kSlices = RAPT_DEVICE_WORKERS; ///< of scratch memory

/// A name that PTX takes: letters, digits and underscores.
std::string kernelName(StringRef task) {
  std::string name;
  for (char c : task)
    name += llvm::isAlnum(c) ? c : '_';
  return name;
}

/// A register of the thread's position, as an index.
Value readRegister(ImplicitLocOpBuilder &b, StringRef name) {
  auto intrinsic = ("llvm.nvvm.read.ptx.sreg." + name).str();
  Value value = LLVM::CallIntrinsicOp::create(b, b.getI32Type(), b.getStringAttr(intrinsic), ValueRange()).getResult(0);
  return arith::IndexCastUIOp::create(b, b.getIndexType(), value);
}

class Outliner {
public:
  Outliner(ModuleOp module) : symbols(module) {
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    kernels = gpu::GPUModuleOp::create(b, module.getLoc(), "kernels");
    symbols.insert(kernels);
  }

  LogicalResult outline(attn_host::ParallelForOp dispatch) {
    func::FuncOp &kernel = made[dispatch.getTask()];
    if (!kernel) {
      auto task = symbols.lookup<func::FuncOp>(dispatch.getTask());
      if (!task || task.isExternal())
        return dispatch.emitOpError() << "has a task '" << dispatch.getTask() << "' without code";
      kernel = makeKernel(task);
    }
    ImplicitLocOpBuilder b(dispatch.getLoc(), dispatch);
    Value count = dispatch.getCount();
    // A negative count is that of no iteration.
    Value blocks = arith::CeilDivSIOp::create(b, count, arith::ConstantIndexOp::create(b, kThreads));
    blocks = arith::MaxSIOp::create(b, blocks, arith::ConstantIndexOp::create(b, 0));
    if (limited.contains(kernel))
      blocks = arith::MinSIOp::create(b, blocks, arith::ConstantIndexOp::create(b, kSlices / kThreads));
    auto name = SymbolRefAttr::get(kernels.getNameAttr(), {FlatSymbolRefAttr::get(kernel)});
    SmallVector<Value> captures(dispatch.getCaptures());
    captures.push_back(count);
    auto launch = attn_host::LaunchOp::create(b, name, captures, blocks, dispatch.getEnv());
    if (Attribute number = dispatch->getAttr(attn::AttnDialect::dispatchAttr))
      launch->setAttr(attn::AttnDialect::dispatchAttr, number);
    dispatch.erase();
    return success();
  }

private:
  func::FuncOp makeKernel(func::FuncOp task) {
    symbols.remove(task);
    task->moveBefore(kernels.getBody(), kernels.getBody()->end());
    task.walk([&](memref::GetGlobalOp use) { copyConstant(use.getName()); });
    ImplicitLocOpBuilder b = ImplicitLocOpBuilder::atBlockEnd(task.getLoc(), kernels.getBody());
    const bool usesWorker = !task.getArguments().back().use_empty();
    SmallVector<Type> types(task.getArgumentTypes().drop_back(3));
    types.push_back(b.getIndexType());
    auto kernel = func::FuncOp::create(b, kernelName(task.getSymName()), b.getFunctionType(types, {}));
    SymbolTable(kernels).insert(kernel);
    kernel->setAttr(attn_host::AttnHostDialect::kernelAttr,
                    b.getDictionaryAttr({b.getNamedAttr("shared", b.getI64IntegerAttr(0)),
                                         b.getNamedAttr("threads", b.getI64IntegerAttr(kThreads))}));
    Block *body = kernel.addEntryBlock();
    b.setInsertionPointToStart(body);
    Value size = readRegister(b, "ntid.x"), block = readRegister(b, "ctaid.x");
    Value thread = arith::AddIOp::create(b, arith::MulIOp::create(b, block, size), readRegister(b, "tid.x"));
    Value threads = arith::MulIOp::create(b, size, readRegister(b, "nctaid.x"));
    Value one = arith::ConstantIndexOp::create(b, 1);
    auto loop = scf::ForOp::create(b, thread, body->getArguments().back(), threads);
    func::ReturnOp::create(b);
    b.setInsertionPointToStart(loop.getBody());
    Value at = loop.getInductionVar();
    SmallVector<Value> arguments(body->getArguments().drop_back());
    arguments.append({at, arith::AddIOp::create(b, at, one), thread});
    func::CallOp::create(b, task, arguments);
    if (usesWorker)
      limited.insert(kernel);
    return kernel;
  }

  /// Tables that tasks read are in the memory of the device, too.
  void copyConstant(StringRef name) {
    auto global = symbols.lookup<memref::GlobalOp>(name);
    if (global && !kernels.lookupSymbol(name))
      OpBuilder::atBlockBegin(kernels.getBody()).clone(*global);
  }

  SymbolTable symbols;
  gpu::GPUModuleOp kernels;
  llvm::StringMap<func::FuncOp> made;  ///< by the name of the task
  llvm::DenseSet<Operation *> limited; ///< kernels with as many threads as scratch has slices
};

struct OutlineKernels : rapt::impl::AttnCUDAOutlineKernelsBase<OutlineKernels> {
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
