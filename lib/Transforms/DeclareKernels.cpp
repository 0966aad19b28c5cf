//===- DeclareKernels.cpp - Names and dims of bare kernels ---------------------------------===//
//
// The extents of a kernel's arguments are dims of its C function. Those that the ops
// force to be equal are one dim, so that a caller cannot give keys and values of
// different lengths: extents form classes, and a class has one name.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/StringSet.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNDECLAREKERNELS
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Bounds of a dim that the text does not declare: positions are counted in 32 bits.
constexpr int64_t kMostDefault = std::numeric_limits<int32_t>::max();

/// Extents of tensors, joined where they are equal whatever the caller gives.
class Extents {
public:
  explicit Extents(ModuleOp module) {
    module.walk([&](Operation *op) { joinOf(op); });
  }

  /// A number for the class of extent `i` of `value`.
  unsigned classOf(Value value, unsigned i) { return classes.findLeader(idOf(value, i)); }

private:
  unsigned idOf(Value value, unsigned i) {
    auto [it, isNew] = ids.insert({{value, i}, static_cast<unsigned>(ids.size())});
    if (isNew)
      classes.grow(ids.size());
    return it->second;
  }

  void join(Value a, unsigned i, Value b, unsigned j) {
    unsigned first = idOf(a, i), second = idOf(b, j);
    classes.join(first, second);
  }

  void joinAll(Value a, Value b) {
    auto x = dyn_cast<RankedTensorType>(a.getType()), y = dyn_cast<RankedTensorType>(b.getType());
    if (x && y && x.getRank() == y.getRank())
      for (unsigned i = 0; i < x.getRank(); ++i)
        join(a, i, b, i);
  }

  void joinAttention(attn::AttentionOp op) {
    SmallVector<Value> operands{op.getQuery(), op.getKey(), op.getValue(), op.getResult()};
    llvm::append_range(operands, op.getExtras());
    std::optional<std::pair<Value, unsigned>> first[attn::AttentionOp::NumDims];
    auto see = [&](unsigned dim, Value value, unsigned i) {
      if (first[dim])
        join(first[dim]->first, first[dim]->second, value, i);
      else
        first[dim] = {value, i};
    };
    for (auto [i, operand] : llvm::enumerate(operands)) {
      bool hasRows = op.dimOf(i, attn::AttentionOp::B).has_value();
      for (auto [position, expr] : llvm::enumerate(op.getMap(i).getResults())) {
        unsigned dim = cast<AffineDimExpr>(expr).getPosition();
        // Beside its row, a query or key is counted within the row, not in the packed dim.
        bool isWithinRow = hasRows && ((dim == attn::AttentionOp::Q && op.getQBegin()) ||
                                       (dim == attn::AttentionOp::KV && op.getKvBegin()));
        if (!isWithinRow)
          see(dim, operand, position);
      }
    }
    for (Value perRow : {op.getQOffset(), op.getKvLength()})
      if (perRow)
        see(attn::AttentionOp::B, perRow, 0);
    if (op.getQBegin() && op.getKvBegin())
      join(op.getQBegin(), 0, op.getKvBegin(), 0);
  }

  void joinOf(Operation *op) {
    if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
      joinAttention(attention);
    } else if (isa<attn::ActivationOp, attn::GLUOp, attn::AddOp>(op)) {
      for (Value operand : op->getOperands())
        joinAll(operand, op->getResult(0));
    } else if (isa<attn::LayerNormOp, attn::RMSNormOp, attn::RopeOp, attn::PositionsOp>(op)) {
      joinAll(op->getOperand(0), op->getResult(0));
      if (isa<attn::RopeOp>(op))
        join(op->getOperand(1), 0, op->getResult(0), 0);
    } else if (auto linear = dyn_cast<attn::LinearOp>(op)) {
      join(linear.getInput(), 0, linear.getResult(), 0);
      for (Value extra : linear.getExtras())
        joinAll(extra, linear.getResult());
    } else if (isa<attn::SplitHeadsOp, attn::MergeHeadsOp, attn::EmbeddingOp, attn::SinusoidsOp>(op)) {
      for (Value result : op->getResults())
        join(op->getOperand(0), 0, result, 0);
    } else if (auto select = dyn_cast<attn::SelectRowsOp>(op)) {
      join(select.getRows(), 0, select.getResult(), 0);
    } else if (auto recurrence = dyn_cast<attn::RecurrenceOp>(op)) {
      join(recurrence.getGates(), 0, recurrence.getOutput(), 0);
      for (ValueRange states : {ValueRange(recurrence.getInitial()), ValueRange(recurrence.getStates())})
        for (Value state : states)
          joinAll(state, recurrence.getStates()[0]);
    } else if (auto update = dyn_cast<attn::UpdateRowsOp>(op)) {
      joinAll(update.getState(), update.getResult());
      join(update.getRows(), 0, update.getValues(), 0);
    } else if (auto concat = dyn_cast<attn::ConcatOp>(op)) {
      for (Value input : concat.getInputs())
        join(input, 0, concat.getResult(), 0);
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
      if (!callee || callee.isDeclaration())
        return;
      for (auto [operand, argument] : llvm::zip(call.getOperands(), callee.getArguments()))
        joinAll(operand, argument);
      for (auto [result, value] : llvm::zip(call.getResults(), callee.getBody().front().getTerminator()->getOperands()))
        joinAll(result, value);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, result, yielded] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults(), loop.getYieldedValues())) {
        joinAll(init, argument);
        joinAll(init, result);
        joinAll(init, yielded);
      }
    }
  }

  llvm::DenseMap<std::pair<Value, unsigned>, unsigned> ids;
  llvm::IntEqClasses classes;
};

/// An array of a kernel: an argument, or a result and the value that is returned for it.
struct Array {
  Value value;
  unsigned index;
  bool isResult;
};

struct DeclareKernels : rapt::impl::AttnDeclareKernelsBase<DeclareKernels> {
  static Attribute get(func::FuncOp entry, const Array &array, StringRef name) {
    return array.isResult ? entry.getResultAttr(array.index, name) : entry.getArgAttr(array.index, name);
  }
  static void set(func::FuncOp entry, const Array &array, StringRef name, Attribute value) {
    array.isResult ? entry.setResultAttr(array.index, name, value) : entry.setArgAttr(array.index, name, value);
  }

  static LogicalResult check(func::FuncOp entry, const Array &array) {
    if (isa<attn::KVCacheType>(array.value.getType()))
      return success();
    auto tensor = dyn_cast<RankedTensorType>(array.value.getType());
    Type element = tensor ? tensor.getElementType() : Type();
    if (element &&
        (element.isF32() || element.isBF16() || element.isF16() || element.isInteger(32) || element.isInteger(64)))
      return success();
    return entry.emitOpError() << "has " << array.value.getType() << " as "
                               << (array.isResult ? "result " : "argument ") << array.index
                               << ": a kernel works on tensors of f32, bf16, f16, i32 or i64";
  }

  /// A name for each array that has none.
  static LogicalResult nameArrays(func::FuncOp entry, ArrayRef<Array> arrays) {
    Builder b(entry.getContext());
    llvm::StringSet<> taken{"env", "dims", "scratch", "weights", "workspace"}, arguments;
    for (const Array &array : arrays) {
      auto name = dyn_cast_or_null<StringAttr>(get(entry, array, attn::AttnDialect::nameAttr));
      if (!name)
        continue;
      if (!taken.insert(name).second && (!array.isResult || !arguments.contains(name)))
        return entry.emitOpError() << "has two arrays named '" << name.getValue()
                                   << "', or one with a name that every kernel's function has itself";
      if (!array.isResult)
        arguments.insert(name);
    }
    unsigned results = entry.getNumResults();
    for (const Array &array : arrays) {
      if (get(entry, array, attn::AttnDialect::nameAttr))
        continue;
      std::string base = array.isResult ? "out" : "arg", name = base;
      if (!array.isResult || results > 1)
        name += std::to_string(array.index);
      while (!taken.insert(name).second)
        name += "_";
      set(entry, array, attn::AttnDialect::nameAttr, b.getStringAttr(name));
    }
    return success();
  }

  /// What is known about a class of extents: its name, who gave it, and a number that one of its tensors states.
  struct Dim {
    StringAttr name;
    std::string from;
    std::optional<int64_t> number;
  };

  static std::string describe(func::FuncOp entry, const Array &array, unsigned i) {
    return ("extent " + Twine(i) + " of '" +
            cast<StringAttr>(get(entry, array, attn::AttnDialect::nameAttr)).getValue() + "'")
        .str();
  }

  /// Reads the names that the text gives.
  static LogicalResult readDims(func::FuncOp entry, ArrayRef<Array> arrays, Extents &extents,
                                llvm::MapVector<unsigned, Dim> &dims) {
    for (const Array &array : arrays) {
      auto type = dyn_cast<RankedTensorType>(array.value.getType());
      if (!type)
        continue;
      auto names = dyn_cast_or_null<ArrayAttr>(get(entry, array, attn::AttnDialect::dimsAttr));
      if (names && names.size() != static_cast<size_t>(type.getNumDynamicDims()))
        return entry.emitOpError() << "names " << names.size() << " dims of " << type << ", which has "
                                   << type.getNumDynamicDims();
      unsigned next = 0;
      for (unsigned i = 0; i < type.getRank(); ++i) {
        Dim &dim = dims[extents.classOf(array.value, i)];
        if (!type.isDynamicDim(i)) {
          dim.number = type.getDimSize(i);
          continue;
        }
        if (!names)
          continue;
        auto name = cast<StringAttr>(names[next++]);
        if (dim.name && dim.name != name)
          return entry.emitOpError() << "has two names for one dim: '" << dim.name.getValue() << "' is " << dim.from
                                     << " and '" << name.getValue() << "' is " << describe(entry, array, i)
                                     << ", which the ops force to be equal";
        dim = {name, describe(entry, array, i), dim.number};
      }
    }
    return success();
  }

  LogicalResult declare(func::FuncOp entry, Dim &dim) {
    ModuleOp module = getOperation();
    StringRef name = dim.name.getValue();
    name.consume_back("+1");
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    auto declared = dyn_cast_or_null<attn::DimOp>(SymbolTable::lookupSymbolIn(module, name));
    if (SymbolTable::lookupSymbolIn(module, name) && !declared)
      return entry.emitOpError() << "has a dim '" << name << "', which is the name of something else";
    auto isNumber = [&](uint64_t bound) { return static_cast<int64_t>(bound) == *dim.number; };
    if (declared && dim.number && !(isNumber(declared.getMin()) && isNumber(declared.getMax())))
      return declared.emitOpError() << "is always " << *dim.number << " in '" << entry.getSymName()
                                    << "', which its bounds must say";
    if (!declared) {
      // Behind the dims before it: their order is that of the C function's array.
      for (auto other : module.getOps<attn::DimOp>())
        b.setInsertionPointAfter(other);
      attn::DimOp::create(b, entry.getLoc(), name, dim.number.value_or(0), dim.number.value_or(kMostDefault));
    }
    return success();
  }

  /// A caller gives a result's memory by extents of arguments, of which the numbers of patches and tokens are none.
  static LogicalResult checkOps(func::FuncOp entry) {
    WalkResult result = entry.walk([](Operation *op) {
      if (!isa<attn::EqualRowsOp, attn::ImageTokensOp, attn::PatchesOp, attn::ResizePositionsOp, attn::UnpackRowsOp>(
              op))
        return WalkResult::advance();
      op->emitOpError("makes as many rows as no argument of a kernel has: it belongs in a model");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult declareKernel(func::FuncOp entry, Extents &extents) {
    Builder b(&getContext());
    SmallVector<Array> arrays;
    for (BlockArgument argument : entry.getArguments())
      arrays.push_back({argument, argument.getArgNumber(), false});
    for (auto [i, value] : llvm::enumerate(entry.getBody().front().getTerminator()->getOperands()))
      arrays.push_back({value, static_cast<unsigned>(i), true});
    for (const Array &array : arrays)
      if (failed(check(entry, array)))
        return failure();
    llvm::MapVector<unsigned, Dim> dims;
    if (failed(checkOps(entry)) || failed(nameArrays(entry, arrays)) || failed(readDims(entry, arrays, extents, dims)))
      return failure();
    for (const Array &array : arrays) {
      auto type = dyn_cast<RankedTensorType>(array.value.getType());
      if (!type || type.hasStaticShape())
        continue;
      SmallVector<Attribute> names;
      for (unsigned i = 0; i < type.getRank(); ++i) {
        if (!type.isDynamicDim(i))
          continue;
        Dim &dim = dims[extents.classOf(array.value, i)];
        while (!dim.name) {
          std::string name = "dim" + std::to_string(nextDim++);
          if (!SymbolTable::lookupSymbolIn(getOperation(), name))
            dim.name = b.getStringAttr(name);
        }
        if (failed(declare(entry, dim)))
          return failure();
        names.push_back(dim.name);
      }
      set(entry, array, attn::AttnDialect::dimsAttr, b.getArrayAttr(names));
    }
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!attn::isKernelModule(module))
      return;
    nextDim = 0;
    auto isEntry = [](func::FuncOp function) { return function->hasAttr(attn::AttnDialect::entryAttr); };
    if (llvm::none_of(module.getOps<func::FuncOp>(), isEntry))
      for (auto function : module.getOps<func::FuncOp>())
        if (function.isPublic() && !function.isDeclaration() && SymbolTable::symbolKnownUseEmpty(function, module))
          function->setAttr(attn::AttnDialect::entryAttr, UnitAttr::get(&getContext()));
    Extents extents(module);
    for (auto function : module.getOps<func::FuncOp>())
      if (isEntry(function) && !function.isDeclaration() && failed(declareKernel(function, extents)))
        return signalPassFailure();
  }

  unsigned nextDim = 0;
};

} // namespace
