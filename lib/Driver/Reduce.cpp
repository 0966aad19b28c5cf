//===- Reduce.cpp - A smaller module that shows the same fault --------------------------------===//
#include "lib/Driver/Reduce.h"
#include "lib/Support/Json.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace rapt;
using driver::Reduction;

namespace {

/// The value to take the place of a result; null: there is none.
using Replacement = llvm::function_ref<Value(OpResult)>;

/// Replaces all results that are used, and erases the operation.
bool replaceAndErase(Operation *op, Replacement find) {
  SmallVector<Value> values;
  for (OpResult result : op->getResults()) {
    values.push_back(result.use_empty() ? Value(result) : find(result));
    if (!values.back())
      return false;
  }
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values))
    if (value != result)
      result.replaceAllUsesWith(value);
  op->erase();
  return true;
}

Value operandFor(OpResult result) {
  for (Value operand : result.getOwner()->getOperands())
    if (operand.getType() == result.getType())
      return operand;
  return {};
}

Value argumentFor(OpResult result) {
  for (Operation *at = result.getOwner(); at && !at->hasTrait<OpTrait::IsIsolatedFromAbove>(); at = at->getParentOp())
    for (BlockArgument argument : at->getBlock()->getArguments())
      if (argument.getType() == result.getType())
        return argument;
  return {};
}

Value zeroFor(OpResult result) {
  Operation *op = result.getOwner();
  OpBuilder builder(op);
  TypedAttr zero = op->hasTrait<OpTrait::ConstantLike>() ? TypedAttr() : builder.getZeroAttr(result.getType());
  return zero ? arith::ConstantOp::create(builder, op->getLoc(), zero) : Value();
}

bool leaveOut(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() || !op->use_empty())
    return false;
  op->erase();
  return true;
}

/// Arguments of a function that nothing uses.
bool dropArguments(Operation *op) {
  auto function = dyn_cast<func::FuncOp>(op);
  if (!function || function.isDeclaration())
    return false;
  BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  return unused.any() && succeeded(function.eraseArguments(unused));
}

constexpr bool (*changes[])(Operation *) = {
    leaveOut, [](Operation *op) { return op->getNumResults() && replaceAndErase(op, operandFor); },
    [](Operation *op) { return op->getNumResults() && replaceAndErase(op, argumentFor); },
    [](Operation *op) { return op->getNumResults() && replaceAndErase(op, zeroFor); }, dropArguments};

/// The operations in a module, those of regions behind the one that has them.
SmallVector<Operation *> operationsOf(ModuleOp module) {
  SmallVector<Operation *> operations;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != module)
      operations.push_back(op);
  });
  return operations;
}

class Reducer {
public:
  Reducer(OwningOpRef<ModuleOp> &module, const std::string &test) : module(module), test(test) {}

  Expected<Reduction> run() {
    ScopedDiagnosticHandler silent(module->getContext(), [](Diagnostic &) { return success(); }); // of the verifier
    reduction.before = unsigned(operationsOf(*module).size());
    RAPT_ASSIGN_OR_RETURN(bool shows, showsFault(*module));
    if (!shows)
      return Error{"the test " + json::printable(test) +
                   " ends with status 0 on the whole input: there is no fault to "
                   "keep; it is to end with another one where the fault shows"};
    for (bool isSmaller = true; isSmaller;) {
      RAPT_ASSIGN_OR_RETURN(isSmaller, reduceOnce());
    }
    reduction.after = unsigned(operationsOf(*module).size());
    return reduction;
  }

private:
  /// Tries to change each operation. Whether any change was kept.
  Expected<bool> reduceOnce() {
    bool isSmaller = false;
    for (size_t i = 0; i < operationsOf(*module).size();) {
      RAPT_ASSIGN_OR_RETURN(bool changed, changeOperation(i));
      isSmaller |= changed;
      i += !changed;
    }
    return isSmaller;
  }

  Expected<bool> changeOperation(size_t index) {
    for (auto change : changes) {
      OwningOpRef<ModuleOp> smaller = cast<ModuleOp>(module.get()->clone());
      if (!change(operationsOf(*smaller)[index]) || failed(verify(*smaller)))
        continue;
      RAPT_ASSIGN_OR_RETURN(bool shows, showsFault(*smaller));
      if (shows) {
        module = std::move(smaller);
        return true;
      }
    }
    return false;
  }

  Expected<bool> showsFault(ModuleOp tested) {
    SmallString<128> path;
    int descriptor = -1;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("rapt-reduce", "mlir", descriptor, path))
      return Error{"cannot make a temporary file: " + error.message()};
    llvm::scope_exit remove([&] { llvm::sys::fs::remove(path); });
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    tested.print(stream);
    stream.close();
    if (const std::error_code error = stream.error()) {
      stream.clear_error();
      return Error{path.str().str() + ": " + error.message()};
    }
    ++reduction.tests;
    std::string why;
    static const std::optional<StringRef> nowhere[] = {"", "", ""}; // what it prints is about attempts
    const int status = llvm::sys::ExecuteAndWait(test, {test, path.str()}, std::nullopt, nowhere, 0, 0, &why);
    if (status < 0)
      return Error{"the test " + json::printable(test) + " cannot be run to its end: " + why};
    return status != 0;
  }

  OwningOpRef<ModuleOp> &module;
  const std::string &test;
  Reduction reduction;
};

} // namespace

Expected<Reduction> driver::reduceModule(OwningOpRef<ModuleOp> &module, const std::string &test) {
  return Reducer(module, test).run();
}
