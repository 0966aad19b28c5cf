//===- PlanMemory.cpp - Every allocation becomes an offset in the workspace -------------------===//
//
// An entry's buffers lie in the workspace that the caller gives. Sizes are known
// only at run time, but buffers with the same dynamic extents are proportional to
// each other: such a group is an arena in which a static best fit by size and live
// range assigns offsets, counted in units of one size. Arenas are adjacent. A
// task's scratch is on its stack up to a limit, else in a slice of the workspace of
// its worker. `ENTRY.workspace` tells the size from the dims.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnHost/AttnHost.h"
#include "lib/Analysis/ElementSize.h"
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNPLANMEMORY
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

constexpr int64_t kAlignment = 64;

/// Bytes of a type with every dynamic extent 1; none where the type has no size or its static extents overflow.
std::optional<int64_t> staticFactor(MemRefType type) {
  std::optional<int64_t> bytes = elementBytes(type.getElementType());
  for (int64_t extent : type.getShape())
    if (bytes && !ShapedType::isDynamic(extent) && llvm::MulOverflow(*bytes, extent, *bytes))
      return std::nullopt;
  return bytes && *bytes <= INT64_MAX - kAlignment ? bytes : std::nullopt;
}

/// Reports a buffer whose size in bytes is not known.
LogicalResult verifySize(memref::AllocOp alloc) {
  if (staticFactor(alloc.getType()))
    return success();
  return alloc.emitOpError() << "is a buffer of " << alloc.getType() << ", which no workspace holds; expected elements "
                             << "of integers, floats or index, and a number of bytes that 64 bits hold";
}

/// The most bytes that a task's buffer takes, rounded up to the alignment: a tile's extent has a constant bound. None
/// where an extent has no bound.
std::optional<int64_t> boundedBytes(memref::AllocOp alloc) {
  MemRefType type = alloc.getType();
  int64_t bytes = *elementBytes(type.getElementType());
  unsigned next = 0;
  for (int64_t extent : type.getShape()) {
    if (ShapedType::isDynamic(extent)) {
      FailureOr<int64_t> most = ValueBoundsConstraintSet::computeConstantBound(
          presburger::BoundType::UB, ValueBoundsConstraintSet::Variable(alloc.getDynamicSizes()[next++]),
          /*stopCondition=*/nullptr, /*closedUB=*/true);
      if (failed(most) || *most < 0)
        return std::nullopt;
      extent = *most;
    }
    if (llvm::MulOverflow(bytes, extent, bytes) || bytes > (int64_t(1) << 40))
      return std::nullopt;
  }
  return llvm::alignTo(bytes, kAlignment);
}

/// The ops outside of loops and free of data that the extents of an entry's allocation are computed by; none where they
/// depend on a loop or data.
std::optional<SetVector<Operation *>> extentsFromDims(memref::AllocOp alloc) {
  SetVector<Operation *> slice;
  for (Value size : alloc.getDynamicSizes()) {
    BackwardSliceOptions options;
    options.inclusive = true;
    if (failed(getBackwardSlice(size, &slice, options)))
      return std::nullopt;
  }
  auto isOfLoop = [](Value size) {
    return isa<BlockArgument>(size) && !isa<FunctionOpInterface>(size.getParentBlock()->getParentOp());
  };
  for (Operation *op : slice)
    if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) || llvm::any_of(op->getOperands(), isOfLoop))
      return std::nullopt;
  if (llvm::any_of(alloc.getDynamicSizes(), isOfLoop))
    return std::nullopt;
  return slice;
}

/// Moves an entry's allocation, and the arithmetic on dims that its extents come from, to `point` at the entry's start,
/// where the whole workspace is laid out. An allocation whose extents depend on a loop or data, but have bounds,
/// becomes one of the most bytes it takes, of which the loop has a view.
FailureOr<memref::AllocOp> hoistToStart(memref::AllocOp alloc, Operation *point) {
  std::optional<SetVector<Operation *>> slice = extentsFromDims(alloc);
  if (!slice) {
    std::optional<int64_t> bytes = boundedBytes(alloc);
    if (!bytes)
      return alloc.emitOpError("depends on a loop or on data: the size of a workspace comes from dims alone"),
             failure();
    ImplicitLocOpBuilder b(alloc.getLoc(), point);
    auto buffer = memref::AllocOp::create(b, MemRefType::get({*bytes}, b.getI8Type()), b.getI64IntegerAttr(kAlignment));
    b.setInsertionPoint(alloc);
    alloc.replaceAllUsesWith(memref::ViewOp::create(b, alloc.getType(), buffer, arith::ConstantIndexOp::create(b, 0),
                                                    alloc.getDynamicSizes())
                                 .getResult());
    alloc.erase();
    return buffer;
  }
  for (Operation *op : *slice)
    if (op->getBlock() != point->getBlock() || point->isBeforeInBlock(op))
      op->moveBefore(point);
  alloc->moveBefore(point);
  return alloc;
}

/// A task's scratch: on the stack, or at `base` + worker * bytes of the workspace, which it then takes as two more
/// captures. Returns the bytes of workspace one worker needs.
FailureOr<int64_t> planTask(func::FuncOp task, int64_t stack) {
  struct Scratch {
    memref::AllocOp alloc;
    int64_t bytes;
  };
  SmallVector<Scratch> buffers;
  task.walk([&](memref::AllocOp alloc) { buffers.push_back({alloc, 0}); });
  int64_t total = 0;
  for (Scratch &buffer : buffers) {
    std::optional<int64_t> bytes = boundedBytes(buffer.alloc);
    if (!bytes)
      return buffer.alloc.emitOpError("in a task needs extents with constant bounds"), failure();
    buffer.bytes = *bytes;
    total += *bytes;
    // A buffer that is made in a loop starts every iteration undefined, so all iterations share its bytes.
    if (buffer.alloc.getType().hasStaticShape())
      while (!isa<FunctionOpInterface>(buffer.alloc->getParentOp()))
        buffer.alloc->moveBefore(buffer.alloc->getParentOp());
  }
  if (buffers.empty())
    return 0;
  Block &block = task.getBody().front();
  ImplicitLocOpBuilder b = ImplicitLocOpBuilder::atBlockBegin(task.getLoc(), &block);
  if (total <= stack) {
    for (auto [alloc, bytes] : buffers) {
      MemRefType type = alloc.getType();
      const bool isStatic = type.hasStaticShape();
      // The bytes of a view are allocated at the task's begin, since its extents may be known only in a loop.
      OpBuilder start(isStatic ? alloc.getOperation() : &block.front());
      Value buffer =
          memref::AllocaOp::create(start, alloc.getLoc(), isStatic ? type : MemRefType::get({bytes}, b.getI8Type()),
                                   ValueRange(), ValueRange(), b.getI64IntegerAttr(kAlignment));
      if (!isStatic) {
        b.setInsertionPoint(alloc);
        buffer = memref::ViewOp::create(b, type, buffer, arith::ConstantIndexOp::create(b, 0), alloc.getDynamicSizes());
      }
      alloc.replaceAllUsesWith(buffer);
      alloc.erase();
    }
    return 0;
  }
  if (block.getNumArguments() < 3)
    return task.emitOpError(
               "has buffers, but is no task: the last three arguments of a task are begin, end and worker"),
           failure();
  unsigned first = block.getNumArguments() - 3;
  auto bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  Value workspace = block.insertArgument(first, bytes, task.getLoc());
  Value base = block.insertArgument(first + 1, b.getIndexType(), task.getLoc());
  task.setFunctionType(b.getFunctionType(block.getArgumentTypes(), {}));
  Value worker = block.getArguments().back();
  base = arith::AddIOp::create(b, base, arith::MulIOp::create(b, worker, arith::ConstantIndexOp::create(b, total)));
  int64_t offset = 0;
  for (auto [alloc, bytes] : buffers) {
    b.setInsertionPoint(alloc);
    Value at = arith::AddIOp::create(b, base, arith::ConstantIndexOp::create(b, offset));
    alloc.replaceAllUsesWith(
        memref::ViewOp::create(b, alloc.getType(), workspace, at, alloc.getDynamicSizes()).getResult());
    offset += bytes;
    alloc.erase();
  }
  return total;
}

/// A buffer of an arena, in units of it. It is in use from `begin` to `end`, positions of operations in the entry's
/// pre-order walk.
struct Buffer {
  memref::AllocOp alloc;
  unsigned begin, end;
  int64_t units, offset = 0;
};

/// Buffers whose sizes are `units` times `unitFactor` bytes times the dynamic extents, rounded up to the
/// alignment.
struct Arena {
  SmallVector<Value> extents;
  int64_t unitFactor, units = 0;
  SmallVector<Buffer> buffers;

  Value unitBytes(ImplicitLocOpBuilder &b) const {
    Value bytes = arith::ConstantIndexOp::create(b, unitFactor);
    for (Value extent : extents)
      bytes = arith::MulIOp::create(b, bytes, extent);
    if (unitFactor % kAlignment == 0)
      return bytes;
    bytes = arith::AddIOp::create(b, bytes, arith::ConstantIndexOp::create(b, kAlignment - 1));
    return arith::AndIOp::create(b, bytes, arith::ConstantIndexOp::create(b, -kAlignment));
  }
};

/// The arena that `alloc` belongs to. Multiples of the alignment with the same dynamic extents share one; any other
/// size has one of its own.
Arena &arenaOf(memref::AllocOp alloc, SmallVectorImpl<Arena> &arenas, int64_t &units) {
  int64_t bytes = *staticFactor(alloc.getType());
  if (alloc.getDynamicSizes().empty())
    bytes = llvm::alignTo(bytes, kAlignment);
  bool aligned = bytes % kAlignment == 0;
  units = aligned ? bytes / kAlignment : 1;
  int64_t unitFactor = aligned ? kAlignment : bytes;
  for (Arena &arena : arenas)
    if (arena.unitFactor == unitFactor && ValueRange(arena.extents) == alloc.getDynamicSizes())
      return arena;
  return arenas.emplace_back(Arena{llvm::to_vector(alloc.getDynamicSizes()), unitFactor});
}

/// Places the buffers of an arena, the largest first: each in the smallest hole that the buffers in use with it leave.
void assignOffsets(Arena &arena) {
  SmallVector<Buffer *> order = llvm::to_vector(llvm::make_pointer_range(arena.buffers)), placed;
  llvm::stable_sort(order, [](Buffer *a, Buffer *b) { return a->units > b->units; });
  for (Buffer *buffer : order) {
    int64_t top = 0, best = -1, bestHole = 0;
    for (Buffer *other : placed) { // by offset
      if (other->end <= buffer->begin || buffer->end <= other->begin)
        continue;
      int64_t hole = other->offset - top;
      if (hole >= buffer->units && (best < 0 || hole < bestHole))
        best = top, bestHole = hole;
      top = std::max(top, other->offset + other->units);
    }
    buffer->offset = best < 0 ? top : best;
    arena.units = std::max(arena.units, buffer->offset + buffer->units);
    placed.insert(llvm::upper_bound(placed, buffer, [](Buffer *a, Buffer *b) { return a->offset < b->offset; }),
                  buffer);
  }
}

void collectUses(Value value, SmallVectorImpl<Operation *> &uses) {
  for (Operation *user : value.getUsers()) {
    uses.push_back(user);
    if (isa<ViewLikeOpInterface>(user) || user->getNumRegions() > 0)
      for (Value result : user->getResults())
        collectUses(result, uses);
  }
}

/// The op, or the outermost of the branches that it is in, one after the other: they are part of the block around them.
Operation *outOfBranches(Operation *op) {
  while (isa<scf::IfOp>(op->getParentOp()))
    op = op->getParentOp();
  return op;
}

/// Sets when the buffer is in use. One that is used inside and outside of a loop lives through the whole loop.
void findLiveRange(Buffer &buffer, const DenseMap<Operation *, std::pair<unsigned, unsigned>> &spans) {
  SmallVector<Operation *> uses;
  memref::AllocOp alloc = buffer.alloc;
  collectUses(alloc.getResult(), uses);
  for (Operation *&use : uses)
    use = outOfBranches(use);
  // Uses in one block of a loop body see the buffer anew in every iteration; else the outermost loop counts whole.
  Block *common = nullptr;
  bool oneBlock = true;
  for (Operation *use : uses) {
    oneBlock &= !common || common == use->getBlock();
    common = use->getBlock();
  }
  buffer.begin = ~0u, buffer.end = 0;
  for (Operation *use : uses) {
    Operation *op = use;
    if (!oneBlock)
      while (op->getBlock() != alloc->getBlock())
        op = op->getParentOp();
    buffer.begin = std::min(buffer.begin, spans.lookup(op).first);
    buffer.end = std::max(buffer.end, spans.lookup(op).second);
  }
}

struct PlanMemory : rapt::impl::AttnPlanMemoryBase<PlanMemory> {
  using AttnPlanMemoryBase::AttnPlanMemoryBase;
  LogicalResult planEntry(func::FuncOp entry, const llvm::StringMap<int64_t> &scratch) {
    auto bytes = MemRefType::get({ShapedType::kDynamic}, IntegerType::get(&getContext(), 8));
    if (entry.isExternal() || entry.getNumArguments() < 3 || entry.getArgument(2).getType() != bytes)
      return entry.emitOpError() << "is an entry, whose argument 2 must be the workspace, a " << bytes;
    SmallVector<memref::AllocOp> allocs;
    entry.walk([&](memref::AllocOp alloc) { allocs.push_back(alloc); });
    // Everything up to `point` is the layout of the workspace.
    OpBuilder start = OpBuilder::atBlockBegin(&entry.getBody().front());
    Operation *point = arith::ConstantIndexOp::create(start, entry.getLoc(), 0);
    for (memref::AllocOp &alloc : allocs) {
      FailureOr<memref::AllocOp> hoisted = hoistToStart(alloc, point);
      if (failed(hoisted))
        return failure();
      alloc = *hoisted;
    }
    DenseMap<Operation *, std::pair<unsigned, unsigned>> spans;
    unsigned next = 0;
    number(entry.getBody().front(), next, spans);
    SmallVector<Arena> arenas;
    for (memref::AllocOp alloc : allocs) {
      Buffer buffer{alloc};
      Arena &arena = arenaOf(alloc, arenas, buffer.units);
      findLiveRange(buffer, spans);
      arena.buffers.push_back(buffer);
    }

    ImplicitLocOpBuilder b(entry.getLoc(), point);
    Value workspace = entry.getArgument(2), offset = point->getResult(0);
    b.setInsertionPointAfter(point);
    for (Arena &arena : arenas) {
      assignOffsets(arena);
      Value unit = arena.unitBytes(b);
      auto bytesOf = [&](int64_t units) -> Value {
        return arith::MulIOp::create(b, unit, arith::ConstantIndexOp::create(b, units));
      };
      for (Buffer &buffer : arena.buffers) {
        memref::AllocOp alloc = buffer.alloc;
        Value begin = buffer.offset ? arith::AddIOp::create(b, offset, bytesOf(buffer.offset)).getResult() : offset;
        auto view = memref::ViewOp::create(b, alloc.getType(), workspace, begin, alloc.getDynamicSizes());
        alloc.replaceAllUsesWith(view.getResult());
      }
      offset = arith::AddIOp::create(b, offset, bytesOf(arena.units));
      for (Buffer &buffer : arena.buffers)
        buffer.alloc.erase();
    }
    int64_t perWorker = 0;
    entry.walk([&](attn_host::ParallelForOp call) {
      int64_t bytes = scratch.lookup(call.getTask());
      if (bytes == 0)
        return;
      perWorker = std::max(perWorker, bytes);
      call.getCapturesMutable().append(ValueRange{workspace, offset});
    });
    return emitSize(entry, offset, perWorker);
  }

  static void number(Block &block, unsigned &next, DenseMap<Operation *, std::pair<unsigned, unsigned>> &spans) {
    for (Operation &op : block) {
      unsigned begin = next++;
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          number(inner, next, spans);
      spans[&op] = {begin, next};
    }
  }

  /// ENTRY.workspace(dims..., workers) -> bytes: the computation of `end`, with extents of arguments replaced by dims.
  LogicalResult emitSize(func::FuncOp entry, Value end, int64_t perWorker) {
    SmallVector<StringRef> dims;
    for (auto dim : getOperation().getOps<attn::DimOp>())
      dims.push_back(dim.getSymName());
    const std::string name = (entry.getSymName() + ".workspace").str();
    if (getOperation().lookupSymbol(name))
      return entry.emitOpError() << "needs the name '" << name << "', which is taken";
    OpBuilder module = OpBuilder::atBlockEnd(entry->getBlock());
    Type index = module.getIndexType();
    SmallVector<Type> types(dims.size() + 1, index);
    auto function = func::FuncOp::create(module, entry.getLoc(), name, module.getFunctionType(types, {index}));
    Block *block = function.addEntryBlock();
    ImplicitLocOpBuilder b = ImplicitLocOpBuilder::atBlockBegin(entry.getLoc(), block);
    IRMapping mapping;
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [](Operation *op) { return !isa<func::FuncOp>(op); };
    if (failed(getBackwardSlice(end, &slice, options)))
      return failure();
    for (Operation *op : slice) {
      auto dim = dyn_cast<memref::DimOp>(op);
      if (!dim) {
        b.clone(*op, mapping);
        continue;
      }
      auto argument = dyn_cast<BlockArgument>(dim.getSource());
      std::optional<int64_t> position = dim.getConstantIndex();
      if (argument && argument.getOwner() != &entry.getBody().front())
        argument = nullptr;
      auto names = argument ? entry.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), attn::AttnDialect::dimsAttr)
                            : ArrayAttr();
      if (!position || !names)
        return op->emitOpError("decides a workspace size, but is no declared dim");
      auto type = dyn_cast<MemRefType>(argument.getType());
      if (!type || size_t(type.getNumDynamicDims()) != names.size() || *position < 0 || *position >= type.getRank() ||
          !type.isDynamicDim(*position))
        return op->emitOpError() << "decides a workspace size, but asks for dim " << *position << " of "
                                 << argument.getType() << ", which has names for " << names.size();
      StringRef name = cast<StringAttr>(names[type.getDynamicDimIndex(*position)]).getValue();
      int64_t plus = name.consume_back("+1") ? 1 : 0;
      auto *it = llvm::find(dims, name);
      if (it == dims.end())
        return op->emitOpError() << "names the dim '" << name << "', which is not declared";
      Value value = block->getArgument(it - dims.begin());
      if (plus)
        value = arith::AddIOp::create(b, value, arith::ConstantIndexOp::create(b, plus));
      mapping.map(dim.getResult(), value);
    }
    Value workers = block->getArguments().back();
    Value own = arith::MulIOp::create(b, workers, arith::ConstantIndexOp::create(b, perWorker));
    func::ReturnOp::create(b, Value(arith::AddIOp::create(b, mapping.lookupOrDefault(end), own)));
    return success();
  }

  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    WalkResult sizes = getOperation().walk([](memref::AllocOp alloc) {
      return failed(verifySize(alloc)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (sizes.wasInterrupted())
      return signalPassFailure();
    llvm::StringMap<int64_t> scratch;
    SmallVector<func::FuncOp> entries;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function->hasAttr(attn::AttnDialect::entryAttr)) {
        entries.push_back(function);
        continue;
      }
      FailureOr<int64_t> bytes = planTask(function, stack);
      if (failed(bytes))
        return signalPassFailure();
      scratch[function.getSymName()] = *bytes;
    }
    for (func::FuncOp entry : entries)
      if (failed(planEntry(entry, scratch)))
        return signalPassFailure();
  }
};

} // namespace
