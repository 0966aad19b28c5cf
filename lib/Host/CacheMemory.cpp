//===- CacheMemory.cpp - Caches become memory ---------------------------------------------===//
//
// Where layers, or keys and values, differ, a block has all parts one behind another, each at a
// multiple of 64 bytes, so that one block table serves all layers. Loops carry the parts as
// tensors of their own.
//
//===----------------------------------------------------------------------===//
#include "lib/Host/CacheMemory.h"
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/CacheWindows.h"
#include "lib/Host/WeightOffsets.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace rapt;

namespace {

/// Replaces one cache in a function.
class Splitting {
public:
  Splitting(BlockArgument cache, attn::KVCacheType type, CacheParts layout)
      : cache(cache), type(type), layout(std::move(layout)) {}

  LogicalResult run() {
    Block &body = *cache.getOwner();
    auto b = ImplicitLocOpBuilder::atBlockBegin(cache.getLoc(), &body);
    const SmallVector<Type> pools(layout.pools.begin(), layout.pools.end());
    auto parts = attn::CachePartsOp::create(b, pools, cache, layout.at);
    known[cache] = llvm::to_vector(ValueRange(parts.getParts()));
    if (failed(split(body)))
      return failure();
    for (Operation *op : llvm::reverse(dead))
      op->erase();
    return success();
  }

private:
  using Parts = SmallVector<Value>;

  /// The parts of an op's operand; null for what is no such cache.
  const Parts *find(Value value) const {
    auto it = known.find(value);
    return it == known.end() ? nullptr : &it->second;
  }

  /// The memory of a segment's keys, and of its values where they are apart.
  std::pair<unsigned, std::optional<unsigned>> poolsOf(uint64_t segment) const {
    const auto first = unsigned(layout.first[segment]);
    const auto next =
        segment + 1 < layout.first.size() ? unsigned(layout.first[segment + 1]) : unsigned(layout.pools.size());
    return {first, next - first > 1 ? std::optional(first + 1) : std::nullopt};
  }

  void split(attn::KVAppendOp op, Parts parts) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    auto [keys, values] = poolsOf(op.getSegment());
    auto made = attn::KVAppendOp::create(b, parts[keys], op.getLayer(), op.getKey(), op.getValue(), op.getRowBegin(),
                                         op.getPast(), op.getTable(), values ? parts[*values] : Value(),
                                         layout.segments[op.getSegment()]);
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    parts[keys] = made.getResult();
    if (values)
      parts[*values] = made.getValueResult();
    known[op.getResult()] = std::move(parts);
    dead.push_back(op);
  }

  void split(attn::KVViewOp op, const Parts &parts) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    auto [keys, values] = poolsOf(op.getSegment());
    auto made =
        attn::KVViewOp::create(b, op.getKeys().getType(), op.getValues().getType(), parts[keys], op.getLayer(),
                               op.getTable(), values ? parts[*values] : Value(), layout.segments[op.getSegment()]);
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op.replaceAllUsesWith(made.getResults());
    dead.push_back(op);
  }

  /// `values` with parts in place of the cache.
  Parts expanded(ValueRange values) const {
    Parts all;
    for (Value value : values)
      if (const Parts *parts = find(value))
        all.append(*parts);
      else
        all.push_back(value);
    return all;
  }

  LogicalResult split(scf::ForOp loop) {
    ImplicitLocOpBuilder b(loop.getLoc(), loop);
    auto made =
        scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), expanded(loop.getInitArgs()));
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    loop.getInductionVar().replaceAllUsesWith(made.getInductionVar());
    unsigned next = 0;
    for (auto [init, argument, result] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
      if (const Parts *parts = find(init)) {
        const size_t count = parts->size();
        known[argument] = llvm::to_vector(ValueRange(made.getRegionIterArgs().slice(next, count)));
        known[result] = llvm::to_vector(ValueRange(made.getResults().slice(next, count)));
        next += unsigned(count);
        continue;
      }
      argument.replaceAllUsesWith(made.getRegionIterArg(next));
      result.replaceAllUsesWith(made.getResult(next++));
    }
    made.getBody()->getOperations().splice(made.getBody()->end(), loop.getBody()->getOperations());
    dead.push_back(loop);
    return split(*made.getBody());
  }

  LogicalResult split(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      const bool takes = llvm::any_of(op.getOperands(), [&](Value operand) { return find(operand); });
      if (auto loop = dyn_cast<scf::ForOp>(op); loop && takes) {
        if (failed(split(loop)))
          return failure();
        continue;
      }
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(split(inner)))
            return failure();
      if (!takes || isa<attn::CachePartsOp>(op))
        continue;
      if (auto append = dyn_cast<attn::KVAppendOp>(op))
        split(append, *find(append.getCache()));
      else if (auto view = dyn_cast<attn::KVViewOp>(op))
        split(view, *find(view.getCache()));
      else if (isa<scf::YieldOp>(op) && isa<scf::ForOp>(op.getParentOp()))
        op.setOperands(expanded(op.getOperands()));
      else if (isa<func::ReturnOp>(op))
        join(op);
      else
        return op.emitOpError() << "takes " << type << ", which only appends, views and loops do";
    }
    return success();
  }

  void join(Operation &end) {
    ImplicitLocOpBuilder b(end.getLoc(), &end);
    for (OpOperand &operand : end.getOpOperands())
      if (const Parts *parts = find(operand.get()))
        operand.set(attn::CacheJoinOp::create(b, cache, *parts, layout.at));
  }

  BlockArgument cache;
  attn::KVCacheType type;
  CacheParts layout;
  llvm::DenseMap<Value, Parts> known;
  SmallVector<Operation *> dead;
};

/// Uniform caches of a type become their pools.
void becomePools(func::FuncOp function, attn::KVCacheType type, const CacheParts &layout) {
  auto takeLayout = [&](auto op) {
    if (op.getCache().getType() == type)
      op.setLayoutAttr(layout.segments.front());
  };
  function.walk([&](attn::KVAppendOp op) { takeLayout(op); });
  function.walk([&](attn::KVViewOp op) { takeLayout(op); });
  auto become = [&](Value value) {
    if (value.getType() == type)
      value.setType(layout.pools.front());
  };
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), become);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), become);
  });
}

LogicalResult materialize(func::FuncOp function, CacheLayoutOf segmentLayout) {
  if (failed(verifyCacheWindows(function)))
    return failure();
  Block &body = function.getBody().front();
  SmallVector<std::pair<BlockArgument, attn::KVCacheType>> caches;
  for (BlockArgument argument : function.getArguments())
    if (auto cache = dyn_cast<attn::KVCacheType>(argument.getType()))
      caches.push_back({argument, cache});
  for (auto [argument, cache] : caches) {
    std::optional<CacheParts> layout = partsOfCache(cache, segmentLayout);
    if (!layout)
      return function.emitOpError() << "has a cache whose blocks are too large: " << cache;
    function.setArgAttr(argument.getArgNumber(), attn::AttnDialect::cacheAttr, TypeAttr::get(cache));
    if (cache.isUniform()) {
      becomePools(function, cache, *layout);
      continue;
    }
    argument.setType(
        RankedTensorType::get({ShapedType::kDynamic, layout->bytes}, IntegerType::get(function.getContext(), 8)));
    if (failed(Splitting(argument, cache, std::move(*layout)).run()))
      return failure();
  }
  function.setFunctionType(
      FunctionType::get(function.getContext(), body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  return success();
}

} // namespace

std::optional<CacheParts> rapt::partsOfCache(attn::KVCacheType cache, CacheLayoutOf layoutOf) {
  constexpr int64_t alignment = 64;
  CacheParts parts;
  for (const attn::KVSegment &segment : cache.getSegments()) {
    if (std::max({cache.getBlock(), segment.keys.channels, segment.values.channels}) > attn::kMostCacheExtent)
      return std::nullopt;
    parts.first.push_back(int64_t(parts.pools.size()));
    parts.segments.push_back(layoutOf(segment, cache.getBlock()));
    for (RankedTensorType pool : attn::poolsOf(parts.segments.back(), segment)) {
      const std::optional<int64_t> bytes = bytesOfCacheBlock(pool);
      if (!bytes || parts.bytes > std::numeric_limits<int64_t>::max() / 2)
        return std::nullopt;
      parts.pools.push_back(pool);
      parts.at.push_back(parts.bytes);
      parts.bytes = int64_t(llvm::alignTo(parts.bytes + *bytes, alignment));
    }
  }
  return parts;
}

LogicalResult rapt::materializeCaches(ModuleOp module, CacheLayoutOf layoutOf) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration() && failed(materialize(function, layoutOf)))
      return failure();
  return success();
}

std::optional<int64_t> rapt::bytesOfCacheBlock(ShapedType memory) {
  constexpr int64_t most = int64_t(1) << 56;
  if (!memory.hasRank() || memory.getRank() < 2 || !memory.getElementType().isIntOrFloat() ||
      memory.getElementTypeBitWidth() % 8 != 0)
    return std::nullopt;
  const ArrayRef<int64_t> shape = memory.getShape().drop_front();
  std::optional<int64_t> bytes = bytesOf(RankedTensorType::get(shape, memory.getElementType()));
  if (llvm::any_of(shape, [](int64_t extent) { return extent <= 0; })) // kDynamic is negative
    return std::nullopt;
  return bytes && *bytes <= most ? bytes : std::nullopt;
}

LogicalResult rapt::verifyCacheMemory(func::FuncOp function) {
  SmallVector<int64_t> blocks;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (isa<attn::KVCacheType>(type))
      return function.emitOpError() << "takes " << type
                                    << ", a cache without a layout: the laid-out stage promises the "
                                    << "tensor of its blocks";
    auto cache = function.getArgAttrOfType<TypeAttr>(unsigned(i), attn::AttnDialect::cacheAttr);
    if (!cache)
      continue;
    auto memory = dyn_cast<ShapedType>(type);
    if (!memory || !bytesOfCacheBlock(memory))
      return function.emitOpError() << "has '" << attn::AttnDialect::cacheAttr << "' of argument " << i << ", of type "
                                    << type << ", which is no memory of blocks: a tensor [blocks, extents of a block]";
    blocks.push_back(cast<attn::KVCacheType>(cache.getValue()).getBlock());
  }
  // A kernel may take memory as its caller laid it out.
  const bool isKernel = attn::isKernelModule(function->getParentOfType<ModuleOp>());
  auto verify = [&](auto op) -> WalkResult {
    if (isKernel || !op.getLayout() || llvm::is_contained(blocks, op.getLayout()->getPositions()))
      return WalkResult::advance();
    return op.emitOpError() << "works on blocks of " << op.getLayout()->getPositions() << " positions, but '"
                            << attn::AttnDialect::cacheAttr << "' of no argument of the function describes such";
  };
  return failure(function.walk([&](attn::KVAppendOp op) { return verify(op); }).wasInterrupted() ||
                 function.walk([&](attn::KVViewOp op) { return verify(op); }).wasInterrupted());
}
