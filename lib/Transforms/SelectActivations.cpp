//===- SelectActivations.cpp - The element type of activations ---------------------------===//
//
// Values that must have one type are one class: what a loop carries or a call passes, operands
// and result of an op that gives the type it takes. A class that is updated in place, that an op reads as
// a weight or as factors such as cosines, or whose elements a region or an op of another dialect
// reads, stays f32. Arguments and results of entries stay, too.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Facts.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringSwitch.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNSELECTACTIVATIONS
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

bool isF32(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isF32();
}

Type withElement(Type type, Type element) {
  return RankedTensorType::get(cast<RankedTensorType>(type).getShape(), element);
}

bool isEntry(Operation *function) { return function->hasAttr(attn::AttnDialect::entryAttr); }

/// Whether the element type of the first result tells those of operands.
bool tellsOperands(Operation *op) {
  return op->getNumResults() > 0 && llvm::any_of(attn::equalTypesOf(op), [&](const attn::EqualTypes &types) {
           return types[0] == op->getResult(0) && types.size() > 1;
         });
}

class Classes {
public:
  explicit Classes(ModuleOp module) : symbols(module) {
    module.walk([&](Operation *op) { relate(op); });
  }

  /// Whether `value` is an activation whose type may be chosen.
  bool isChosen(Value value) const {
    auto it = classes.findLeader(value.getAsOpaquePointer());
    return it != classes.member_end() && !kept.contains(*it);
  }

  /// Values whose types may be chosen.
  SmallVector<Value> chosen() const {
    SmallVector<Value> values;
    for (Value value : all)
      if (isChosen(value))
        values.push_back(value);
    return values;
  }

private:
  /// Whether a value has a type of its own: not one of a caller, a parameter, a constant or the cache.
  static bool isActivation(Value value) {
    if (!isF32(value.getType()))
      return false;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
      return function ? !isEntry(function) && !function.isExternal()
                      : isa<scf::ForOp>(argument.getOwner()->getParentOp());
    }
    Operation *op = value.getDefiningOp();
    if (isa<scf::ForOp, func::CallOp>(op))
      return true;
    if (!attn::isAttnOp(op) || isa<arith::ExtFOp>(op))
      return false;
    const attn::ElementSource source = attn::elementSourceOf(value);
    return source == attn::ElementSource::rounded || source == attn::ElementSource::updated;
  }

  void add(Value value) {
    if (isActivation(value) && !classes.contains(value.getAsOpaquePointer())) {
      classes.insert(value.getAsOpaquePointer());
      all.push_back(value);
    }
  }

  void merge(Value a, Value b) {
    add(a), add(b);
    if (!isActivation(a) || !isActivation(b))
      return;
    const bool isKept = keeps(a) || keeps(b);
    classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
    if (isKept)
      keep(a);
  }

  bool keeps(Value value) { return kept.contains(classes.getLeaderValue(value.getAsOpaquePointer())); }

  void keep(Value value) {
    add(value);
    if (isActivation(value))
      kept.insert(classes.getLeaderValue(value.getAsOpaquePointer()));
  }

  void relate(Operation *op) {
    for (Value result : op->getResults())
      add(result);
    if (!attn::isAttnOp(op) && !isa<scf::ForOp, scf::YieldOp, func::CallOp, func::ReturnOp, tensor::DimOp>(op))
      llvm::for_each(op->getOperands(), [&](Value operand) { keep(operand); }); // their types are their own
    if (attn::isAttnOp(op))
      relateTensors(op);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      relateLoop(loop);
    else if (auto call = dyn_cast<func::CallOp>(op))
      relateCall(call);
    else if (auto end = dyn_cast<func::ReturnOp>(op))
      relateReturn(end);
  }

  void relateTensors(Operation *op) {
    for (const attn::EqualTypes &types : attn::equalTypesOf(op))
      for (Value other : ArrayRef(types).drop_front())
        merge(other, types[0]);
    for (OpOperand &operand : op->getOpOperands())
      if (attn::ElementUse use = attn::elementUseOf(operand);
          use == attn::ElementUse::fixed || use == attn::ElementUse::factors)
        keep(operand.get());
    for (Value result : op->getResults())
      if (attn::elementSourceOf(result) == attn::ElementSource::updated)
        keep(result);
    // Rows of a caller's array are not rounded, as that would round the whole array.
    auto rows = dyn_cast<attn::ChannelsOpInterface>(op);
    if (rows && rows.getRowAccess() == attn::RowAccess::gather && attn::movesNumbers(op) &&
        !isActivation(op->getOperand(0)))
      keep(op->getResult(0));
  }

  void relateLoop(scf::ForOp loop) {
    for (auto [init, argument, yielded, result] :
         llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults())) {
      merge(argument, result);
      merge(init, result);
      merge(yielded, result);
    }
  }

  void relateCall(func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal())
      return;
    for (auto [operand, argument] : llvm::zip(call.getOperands(), callee.getArguments()))
      merge(operand, argument);
    for (auto [result, returned] : llvm::zip(call.getResults(), callee.front().getTerminator()->getOperands())) {
      merge(result, returned);
      if (!isActivation(returned)) // what an op of another dialect gives, and rotary tables
        keep(result);
    }
  }

  /// A result of an entry that its op can give in f32 is not rounded.
  void relateReturn(func::ReturnOp end) {
    if (!isEntry(end->getParentOp()))
      return;
    for (Value value : end.getOperands())
      if (Operation *op = value.getDefiningOp(); op && value.hasOneUse() && attn::isAttnOp(op) && !tellsOperands(op))
        keep(value);
  }

  SymbolTable symbols;
  llvm::EquivalenceClasses<const void *> classes;
  llvm::DenseSet<const void *> kept; ///< leaders of classes that stay f32
  SmallVector<Value> all;            ///< activations, in the order of the text
};

struct SelectActivations : rapt::impl::AttnSelectActivationsBase<SelectActivations> {
  using AttnSelectActivationsBase::AttnSelectActivationsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkStage(*this, module, Stage::Imported)))
      return signalPassFailure();
    Type element = llvm::StringSwitch<Type>(dtype)
                       .Case("f32", Float32Type::get(&getContext()))
                       .Case("bf16", BFloat16Type::get(&getContext()))
                       .Case("f16", Float16Type::get(&getContext()))
                       .Default({});
    if (!element) {
      module.emitError() << "activations must be f32, bf16 or f16, found '" << dtype << "'";
      return signalPassFailure();
    }
    if (element.isF32())
      return;
    if (module->hasAttr(attn::AttnDialect::modelAttr))
      attn::setFact(module, &ModelFacts::activations, dtype); // the runtime checks outputs by it
    for (Value value : Classes(module).chosen())
      value.setType(withElement(value.getType(), element));
    module.walk([](Operation *op) { castOperands(op); });
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        function.setFunctionType(FunctionType::get(&getContext(), function.front().getArgumentTypes(),
                                                   function.front().getTerminator()->getOperandTypes()));
  }

  static void castTo(OpOperand &operand, Type type) {
    auto own = dyn_cast<RankedTensorType>(operand.get().getType()), wanted = dyn_cast<RankedTensorType>(type);
    if (!own || !wanted || own.getElementType() == wanted.getElementType())
      return;
    OpBuilder b(operand.getOwner());
    operand.set(attn::emitCast(b, operand.getOwner()->getLoc(), operand.get(), wanted.getElementType()));
  }

  /// Makes operands fit whose own types were not chosen, as those that a caller gives.
  static void castOperands(Operation *op) {
    if (attn::isAttnOp(op))
      for (const attn::EqualTypes &types : attn::equalTypesOf(op))
        for (OpOperand &operand : op->getOpOperands())
          if (llvm::is_contained(types, operand.get()))
            castTo(operand, types[0].getType());
    if (isa<arith::TruncFOp>(op) && isa<RankedTensorType>(op->getResult(0).getType()))
      castTo(op->getOpOperand(0), withElement(op->getResult(0).getType(), Float32Type::get(op->getContext())));
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument] : llvm::zip(loop.getInitArgsMutable(), loop.getRegionIterArgs()))
        castTo(init, argument.getType());
      Operation *yield = loop.getBody()->getTerminator();
      for (auto [yielded, argument] : llvm::zip(yield->getOpOperands(), loop.getRegionIterArgs()))
        castTo(yielded, argument.getType());
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      for (auto [operand, argument] : llvm::zip(call->getOpOperands(), callee.getArguments()))
        castTo(operand, argument.getType());
    } else if (isa<func::ReturnOp>(op) && isEntry(op->getParentOp())) {
      auto function = cast<func::FuncOp>(op->getParentOp());
      for (auto [operand, type] : llvm::zip(op->getOpOperands(), function.getResultTypes()))
        castTo(operand, type);
    }
  }
};

} // namespace
