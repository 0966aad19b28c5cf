//===- InlineCalls.cpp - Calls become the body of the function they call ---------------------===//
//
// Upstream's inliner behind a bound: a chain of functions that each call the next one twice
// doubles with every function.
//
//===----------------------------------------------------------------------===//
#include "lib/Support/CheckedMath.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNINLINECALLS
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// The most operations that the functions of a module may have together once calls are inlined, unless it has more.
constexpr uint64_t maxOperations = 100000;

/// The sizes that the functions of a module grow to.
class Growth {
public:
  explicit Growth(ModuleOp module) : module(module) {}

  /// Fails with a message where functions call each other in a cycle, or become too large.
  LogicalResult check() {
    uint64_t before = 0, after = 0, most = 0;
    func::FuncOp largest;
    WalkResult result = module.walk<WalkOrder::PreOrder>([&](func::FuncOp function) {
      if (failed(visit(function)))
        return WalkResult::interrupt();
      const Function &known = functions[function];
      before += known.own;
      after = checkedAdd<uint64_t>(after, known.inlined).value_or(UINT64_MAX);
      if (known.inlined > most) {
        most = known.inlined;
        largest = function;
      }
      return WalkResult::skip();
    });
    if (result.wasInterrupted())
      return failure();
    if (after <= maxOperations || after <= before)
      return success();
    return largest.emitOpError("calls functions that call others: inlined, the module's ")
           << before << " operations become " << (after == UINT64_MAX ? "more than 2^64" : std::to_string(after))
           << ", at most " << maxOperations << " are accepted";
  }

private:
  struct Function {
    uint64_t own = 0;     ///< operations before
    uint64_t inlined = 0; ///< and after calls are replaced
    bool isDone = false;  ///< false while its callees are visited
    SmallVector<func::FuncOp> callees;
  };

  void read(func::FuncOp function) {
    Function &known = functions[function];
    function.walk([&](Operation *op) {
      ++known.own;
      if (auto call = dyn_cast<func::CallOp>(op))
        if (auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(op, call.getCalleeAttr()))
          known.callees.push_back(callee);
    });
    known.inlined = known.own;
  }

  /// Depth first with a stack of our own, as chains of calls may be long.
  LogicalResult visit(func::FuncOp root) {
    if (functions.contains(root))
      return success();
    SmallVector<std::pair<func::FuncOp, unsigned>> path = {{root, 0}};
    read(root);
    while (!path.empty()) {
      auto &[function, next] = path.back();
      Function &known = functions[function];
      if (next == known.callees.size()) {
        for (func::FuncOp callee : known.callees)
          known.inlined = checkedAdd<uint64_t>(known.inlined, functions[callee].inlined).value_or(UINT64_MAX);
        known.isDone = true;
        path.pop_back();
        continue;
      }
      func::FuncOp callee = known.callees[next++];
      if (auto found = functions.find(callee); found == functions.end()) {
        read(callee);
        path.push_back({callee, 0});
      } else if (!found->second.isDone) {
        return callee.emitOpError("calls itself, directly or through others; functions are inlined and cannot");
      }
    }
    return success();
  }

  ModuleOp module;
  SymbolTableCollection symbols;
  DenseMap<func::FuncOp, Function> functions;
};

struct InlineCalls : rapt::impl::AttnInlineCallsBase<InlineCalls> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Imported)))
      return signalPassFailure();
    OpPassManager passes(ModuleOp::getOperationName());
    passes.addPass(createInlinerPass());
    if (failed(Growth(getOperation()).check()) || failed(runPipeline(passes, getOperation())))
      signalPassFailure();
  }
};

} // namespace
