//===- DeclareKernels.cpp - Names and dims of bare kernels ---------------------------------===//
//
// The extents of a kernel's arguments are dims of its C function. Those that the ops
// force to be equal, or one more, are one dim, so that a caller cannot give keys and
// values of different lengths. The extents of results follow from those of arguments.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Entries.h"
#include "lib/Transforms/Extents.h"
#include "lib/Transforms/KernelArguments.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallSet.h"
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
    if (tensor && isKernelElement(tensor.getElementType()))
      return success();
    return entry.emitOpError() << "has " << array.value.getType() << " as "
                               << (array.isResult ? "result " : "argument ") << array.index
                               << ": a kernel works on scalars and tensors of f32, bf16, f16, i1, i8, i32 or i64";
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

  /// The dim of a group of extents, whose least is the dim's size plus `more`.
  struct Dim {
    StringAttr name;
    int64_t more = 0;
    std::string from;      ///< the array that the text names it at
    int64_t fromPlace = 0; ///< what that array has more than the least
  };

  static std::string describe(func::FuncOp entry, const Array &array, unsigned i) {
    return ("extent " + Twine(i) + " of '" +
            cast<StringAttr>(get(entry, array, attn::AttnDialect::nameAttr)).getValue() + "'")
        .str();
  }

  /// Reads the name that the text gives to an extent, which has `place` more than the least of its group.
  static LogicalResult readDim(func::FuncOp entry, StringAttr text, const std::string &extent, int64_t place,
                               Dim &dim) {
    StringRef name = text.getValue();
    int64_t more = (name.consume_back("+1") ? 1 : 0) - place;
    std::string from = "'" + text.str() + "' is " + extent;
    if (more < 0)
      return entry.emitOpError() << "names " << extent << " '" << name << "': offsets of packed rows are one more than "
                                 << "the rows, '" << name << "+1'";
    if (!dim.name)
      dim = {StringAttr::get(entry.getContext(), name), more, from, place};
    if (dim.name == name && dim.more == more)
      return success();
    return entry.emitOpError() << "has two names for one dim: " << dim.from << " and " << from
                               << ", which the ops force "
                               << (dim.fromPlace == place ? "to be equal" : "to be the rows and one more");
  }

  /// Reads the names that the text gives, and sees that every extent of a result follows from the arguments.
  static LogicalResult readDims(func::FuncOp entry, ArrayRef<Array> arrays, Extents &extents,
                                llvm::MapVector<unsigned, Dim> &dims) {
    llvm::SmallSet<unsigned, 8> given;
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
        auto [group, place] = extents.placeOf(array.value, i);
        if (!array.isResult)
          given.insert(group);
        if (!type.isDynamicDim(i))
          continue;
        if (!given.contains(group) && !extents.leastOf(group))
          return entry.emitOpError() << "has " << describe(entry, array, i)
                                     << ", which follows from no argument's: a caller cannot know how much memory to "
                                        "give";
        if (names &&
            failed(readDim(entry, cast<StringAttr>(names[next++]), describe(entry, array, i), place, dims[group])))
          return failure();
      }
    }
    return success();
  }

  /// The groups of extents of tables, which attn.lookup reads at some element whatever its indices are.
  static llvm::SmallSet<unsigned, 8> groupsOfTables(ModuleOp module, Extents &extents) {
    llvm::SmallSet<unsigned, 8> groups;
    module.walk([&](attn::ScoreAndMaskOpInterface op) {
      for (auto [i, extra] : llvm::enumerate(op.getExtras()))
        for (int64_t dim = 0; op.isTable(i) && dim < cast<RankedTensorType>(extra.getType()).getRank(); ++dim)
          groups.insert(extents.placeOf(extra, dim).group);
    });
    return groups;
  }

  /// Sees that there is a declaration of the dim, which is at least `least`, and whose size may be known.
  LogicalResult declare(func::FuncOp entry, StringRef name, std::optional<int64_t> size, int64_t least = 0) {
    ModuleOp module = getOperation();
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    auto declared = dyn_cast_or_null<attn::DimOp>(SymbolTable::lookupSymbolIn(module, name));
    if (SymbolTable::lookupSymbolIn(module, name) && !declared)
      return entry.emitOpError() << "has a dim '" << name << "', which is the name of something else";
    auto isSize = [&](uint64_t bound) { return static_cast<int64_t>(bound) == *size; };
    if (declared && size && !(isSize(declared.getMin()) && isSize(declared.getMax())))
      return declared.emitOpError() << "is always " << *size << " in '" << entry.getSymName()
                                    << "', which its bounds must say";
    if (declared && int64_t(declared.getMin()) < least)
      return declared.emitOpError() << "is an extent of a table in '" << entry.getSymName()
                                    << "', so its least must be " << least << ", found " << declared.getMin();
    if (!declared) {
      // Behind the dims before it: their order is that of the C function's array.
      for (auto other : module.getOps<attn::DimOp>())
        b.setInsertionPointAfter(other);
      attn::DimOp::create(b, entry.getLoc(), name, size.value_or(least), size.value_or(kMostDefault));
    }
    return success();
  }

  static llvm::StringSet<> namesOfDims(ModuleOp module) {
    llvm::StringSet<> names;
    for (auto function : module.getOps<func::FuncOp>())
      for (ArrayAttr arrays : {function.getArgAttrsAttr(), function.getResAttrsAttr()})
        for (Attribute array : arrays ? arrays.getValue() : ArrayRef<Attribute>())
          if (auto dims = cast<DictionaryAttr>(array).getAs<ArrayAttr>(attn::AttnDialect::dimsAttr))
            for (auto name : dims.getAsRange<StringAttr>())
              names.insert(name.getValue());
    return names;
  }

  StringAttr freshName() {
    std::string name;
    do
      name = "dim" + std::to_string(nextDim++);
    while (SymbolTable::lookupSymbolIn(getOperation(), name) || named.contains(name));
    return StringAttr::get(&getContext(), name);
  }

  /// The argument in whose memory a cache is; null where it may be in that of several.
  static BlockArgument memoryOf(Value cache) {
    if (auto argument = dyn_cast<BlockArgument>(cache)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      return loop ? memoryOf(loop.getTiedLoopInit(argument)->get()) : argument;
    }
    if (auto append = cache.getDefiningOp<attn::KVAppendOp>())
      return memoryOf(append.getCache());
    auto loop = cache.getDefiningOp<scf::ForOp>();
    if (!loop)
      return {};
    const unsigned i = cast<OpResult>(cache).getResultNumber();
    BlockArgument before = memoryOf(loop.getInitArgs()[i]);
    return before == memoryOf(loop.getYieldedValues()[i]) ? before : BlockArgument();
  }

  /// The extent of a cache is its number of blocks, which no other extent tells. A cache that a kernel gives back is in
  /// the memory of an argument.
  LogicalResult declareCache(func::FuncOp entry, const Array &array) {
    auto dims = dyn_cast_or_null<ArrayAttr>(get(entry, array, attn::AttnDialect::dimsAttr));
    if (dims && (dims.size() != 1 || cast<StringAttr>(dims[0]).getValue().ends_with("+1")))
      return entry.emitOpError() << "names the dims of " << array.value.getType() << " " << dims
                                 << ": it has one, its blocks";
    if (array.isResult) {
      BlockArgument memory = memoryOf(array.value);
      if (!memory || entry.getArgAttr(memory.getArgNumber(), attn::AttnDialect::nameAttr) !=
                         get(entry, array, attn::AttnDialect::nameAttr))
        return entry.emitOpError() << "gives back a cache under another name than that of the argument that it was: "
                                   << attn::AttnDialect::nameAttr << " of both must be the same";
      Attribute own = entry.getArgAttr(memory.getArgNumber(), attn::AttnDialect::dimsAttr);
      if (dims && dims != own)
        return entry.emitOpError() << "names the dims of " << array.value.getType() << " " << own << " and " << dims;
      dims = cast<ArrayAttr>(own);
    } else if (!dims) {
      dims = ArrayAttr::get(&getContext(), {freshName()});
    }
    set(entry, array, attn::AttnDialect::dimsAttr, dims);
    return declare(entry, cast<StringAttr>(dims[0]).getValue(), std::nullopt);
  }

  /// The names of an array's extents that vary, declared.
  FailureOr<SmallVector<Attribute>> namesOf(func::FuncOp entry, const Array &array, Extents &extents,
                                            llvm::MapVector<unsigned, Dim> &dims) {
    Builder b(&getContext());
    SmallVector<Attribute> names;
    auto type = cast<RankedTensorType>(array.value.getType());
    for (unsigned i = 0; i < type.getRank(); ++i) {
      if (!type.isDynamicDim(i))
        continue;
      auto [group, place] = extents.placeOf(array.value, i);
      Dim &dim = dims[group];
      if (!dim.name)
        dim.name = freshName();
      std::optional<int64_t> size = extents.leastOf(group);
      const int64_t least = ofTables.contains(group) ? 1 - std::min<int64_t>(1, dim.more) : 0;
      if (failed(declare(entry, dim.name, size ? std::optional(*size - dim.more) : size, least)))
        return failure();
      if (dim.more + place > 1)
        return entry.emitOpError() << "has " << describe(entry, array, i) << ", which is '" << dim.name.getValue()
                                   << "' and " << dim.more + place << ": an extent is a dim, or one more";
      names.push_back(dim.more + place == 0 ? dim.name : b.getStringAttr(dim.name.getValue() + "+1"));
    }
    return names;
  }

  /// A kernel's memory is told by the extents of its arguments. The numbers of patches and image tokens are no such
  /// extent, nor one more: an op that gives so many rows belongs in a model.
  static LogicalResult checkOps(ModuleOp module, Extents &extents) {
    llvm::SmallSet<unsigned, 8> given;
    for (auto function : module.getOps<func::FuncOp>())
      for (BlockArgument argument : function.getArguments())
        if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
          for (unsigned i = 0; i < type.getRank(); ++i)
            given.insert(extents.placeOf(argument, i).group);
    WalkResult result = module.walk([&](attn::DimRelationsOpInterface op) {
      if (isa<attn::KVViewOp>(op)) // takes no memory of its own
        return WalkResult::advance();
      for (Value value : op->getResults())
        if (auto type = dyn_cast<RankedTensorType>(value.getType()))
          for (unsigned i = 0; i < type.getRank(); ++i)
            if (unsigned group = extents.placeOf(value, i).group; !given.contains(group) && !extents.leastOf(group)) {
              op->emitOpError("makes as many rows as no argument of a kernel has: it belongs in a model");
              return WalkResult::interrupt();
            }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  LogicalResult declareKernel(func::FuncOp entry, Extents &extents) {
    SmallVector<Array> arrays;
    for (BlockArgument argument : entry.getArguments())
      arrays.push_back({argument, argument.getArgNumber(), false});
    for (auto [i, value] : llvm::enumerate(entry.getBody().front().getTerminator()->getOperands()))
      arrays.push_back({value, static_cast<unsigned>(i), true});
    for (const Array &array : arrays)
      if (failed(check(entry, array)))
        return failure();
    if (failed(nameArrays(entry, arrays)))
      return failure();
    // A result in an argument's memory is as large as it.
    for (const Array &result : arrays)
      for (const Array &argument : ArrayRef(arrays).take_front(entry.getNumArguments()))
        if (result.isResult &&
            get(entry, result, attn::AttnDialect::nameAttr) == get(entry, argument, attn::AttnDialect::nameAttr))
          extents.equalAll(result.value, argument.value);
    if (extents.getContradiction())
      return entry.emitOpError("returns an array in the memory of an argument that never has its size");
    llvm::MapVector<unsigned, Dim> dims;
    if (failed(readDims(entry, arrays, extents, dims)))
      return failure();
    for (const Array &array : arrays) {
      if (isa<attn::KVCacheType>(array.value.getType())) {
        if (failed(declareCache(entry, array)))
          return failure();
        continue;
      }
      auto type = dyn_cast<RankedTensorType>(array.value.getType());
      if (!type || type.hasStaticShape())
        continue;
      FailureOr<SmallVector<Attribute>> names = namesOf(entry, array, extents, dims);
      if (failed(names))
        return failure();
      set(entry, array, attn::AttnDialect::dimsAttr, ArrayAttr::get(&getContext(), *names));
    }
    return success();
  }

  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Imported)))
      return signalPassFailure();
    ModuleOp module = getOperation();
    if (!attn::isKernelModule(module))
      return;
    nextDim = 0;
    named = namesOfDims(module);
    auto isEntry = [](func::FuncOp function) { return function->hasAttr(attn::AttnDialect::entryAttr); };
    for (FunctionOpInterface entry : attn::entriesOf(module))
      entry->setAttr(attn::AttnDialect::entryAttr, UnitAttr::get(&getContext()));
    for (auto function : module.getOps<func::FuncOp>())
      if (isEntry(function) && !function.isDeclaration() && failed(passArgumentsInMemory(function)))
        return signalPassFailure();
    Extents extents(module);
    if (Operation *op = extents.getContradiction()) {
      op->emitOpError("needs arrays that no caller has: it would give one extent two sizes, or one below 0");
      return signalPassFailure();
    }
    ofTables = groupsOfTables(module, extents);
    if (failed(checkOps(module, extents)))
      return signalPassFailure();
    for (auto function : module.getOps<func::FuncOp>())
      if (isEntry(function) && !function.isDeclaration() && failed(declareKernel(function, extents)))
        return signalPassFailure();
  }

  unsigned nextDim = 0;
  llvm::SmallSet<unsigned, 8> ofTables; ///< groups of extents
  llvm::StringSet<> named;              ///< dims that the text names
};

} // namespace
