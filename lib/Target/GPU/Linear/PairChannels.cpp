//===- PairChannels.cpp - Channels that are rotated together, beside each other -----------===//
//
// A rotary embedding rotates channels half a head apart. A thread has sums of columns beside
// each other, so the weights of queries and keys get another order of columns, and the tiles
// of their matmul can rotate them. Scores are sums over channels in any order: heads and
// caches keep it.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/Linear/Linear.h"
#include "lib/Target/GPU/Passes.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNGPUPAIRCHANNELS
#include "lib/Target/GPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Columns [0, count) of a parameter that are those of heads with so many channels, along dim `dim` of a layer.
struct Columns {
  int64_t dim, count, channels;
  bool operator==(const Columns &) const = default;
};

/// Source `source`, of shape `shape`, with the columns of each head in turn from its first half and its second.
attn::SourceAttr interleaved(attn::SourceAttr source, ArrayRef<int64_t> shape, int64_t dim, int64_t channels) {
  MLIRContext *context = source.getContext();
  SmallVector<int64_t> split, order;
  for (auto [i, extent] : llvm::enumerate(shape)) {
    order.push_back(int64_t(split.size()));
    if (int64_t(i) != dim) {
      split.push_back(extent);
      continue;
    }
    order.append({order.back() + 2, order.back() + 1});
    split.append({extent / channels, 2, channels / 2});
  }
  SmallVector<attn::SourceTransformInterface> transforms(source.getTransforms());
  transforms.push_back(attn::ReshapeAttr::get(context, split));
  transforms.push_back(attn::TransposeAttr::get(context, order));
  transforms.push_back(attn::ReshapeAttr::get(context, shape));
  return source.withTransforms(transforms);
}

attn::SourceAttr sliced(attn::SourceAttr source, int64_t dim, int64_t begin, int64_t end) {
  SmallVector<attn::SourceTransformInterface> transforms(source.getTransforms());
  transforms.push_back(attn::SliceAttr::get(source.getContext(), dim, begin, end));
  return source.withTransforms(transforms);
}

/// A parameter's sources with the columns in their order; none where they do not begin and end with heads.
std::optional<SmallVector<Attribute>> reordered(attn::ParameterOp parameter, const Columns &columns) {
  SmallVector<Attribute> sources;
  int64_t first = 0;
  for (auto source : parameter.getSources().getAsRange<attn::SourceAttr>()) {
    const SmallVector<int64_t> stored = parameter.getStoredShape(source);
    source = source.withShape(stored);
    FailureOr<SmallVector<int64_t>> shape = source.shapeOfPart(stored, [&] { return parameter.emitOpError(); });
    if (failed(shape))
      return std::nullopt;
    const int64_t extent = (*shape)[columns.dim], rotated = std::clamp<int64_t>(columns.count - first, 0, extent);
    if (first % columns.channels != 0 || rotated % columns.channels != 0)
      return std::nullopt;
    first += extent;
    if (rotated == 0) {
      sources.push_back(source);
      continue;
    }
    (*shape)[columns.dim] = rotated;
    auto heads = rotated == extent ? source : sliced(source, columns.dim, 0, rotated);
    sources.push_back(interleaved(heads, *shape, columns.dim, columns.channels));
    if (rotated < extent)
      sources.push_back(sliced(source, columns.dim, rotated, extent));
  }
  return sources;
}

class Pairing {
  /// Columns of a parameter that get another order, and the sources that have it.
  struct Claim {
    Columns columns;
    SmallVector<Attribute> sources;
  };

public:
  explicit Pairing(ModuleOp module) : module(module), symbols(module) {}

  /// Changes all rotations of the module, or none.
  void run() {
    module.walk([&](attn::RopeOp rope) {
      if (!rope.getInterleaved())
        ropes.push_back(rope);
    });
    if (ropes.empty())
      return;
    for (attn::RopeOp rope : ropes)
      if (StringRef why = notLegalBecause(rope); !why.empty())
        return remarkNotFused(rope.getLoc(), "pair-channels", why);
    if (StringRef why = notLegalForAll(); !why.empty())
      return remarkNotFused(ropes[0].getLoc(), "pair-channels", why);
    MLIRContext *context = module.getContext();
    for (auto &[parameter, claim] : parameters) {
      attn::ParameterOp changed = parameter;
      if (claim.sources.size() > 1 && !changed.getJoin())
        changed.setJoinAttr(attn::JoinAttr::get(context, attn::JoinKind::concat, claim.columns.dim));
      changed.setSourcesAttr(ArrayAttr::get(context, claim.sources));
    }
    for (attn::RopeOp rope : ropes) {
      rope.setInterleaved(true);
      remarkFused(rope.getLoc(), "pair-channels", "channels that are rotated together are beside each other");
    }
    module->setAttr(attn::AttnDialect::cacheOrderAttr, StringAttr::get(context, "interleaved"));
  }

private:
  StringRef notLegalBecause(attn::RopeOp rope) {
    auto split = rope.getInput().getDefiningOp<attn::SplitHeadsOp>();
    auto matmul = split ? split.getInput().getDefiningOp<attn::LinearOp>() : attn::LinearOp();
    if (!matmul)
      return "no matmul makes its heads";
    StringRef why;
    if (!any_gpu::rotationOf(matmul, why, /*isAnyPair=*/true))
      return why;
    RankedTensorType heads = rope.getInput().getType();
    const int64_t channels = heads.getDimSize(2), rotated = rope.getHeads().value_or(heads.getDimSize(1));
    if (2 * cast<RankedTensorType>(rope.getCosines().getType()).getDimSize(1) != channels)
      return "it rotates a part of each head";
    if (matmul.getGroups())
      return "its rows have a matrix of several each";
    const int64_t count = rotated * channels;
    if (!claim(matmul.getWeight(), {matmul.getTransposed() ? 0 : 1, count, channels}))
      return "its weight is no parameter of whole heads";
    for (Value extra : matmul.getExtras())
      if (cast<RankedTensorType>(extra.getType()).getRank() != 1 || !claim(extra, {0, count, channels}))
        return "its epilogue reads more than a bias";
    return follow(rope.getResult(), rotated);
  }

  /// Whether a value is a slice of a parameter whose columns can be reordered.
  bool claim(Value value, const Columns &columns) {
    auto slice = value.getDefiningOp<attn::ParameterSliceOp>();
    auto parameter = slice ? symbols.lookup<attn::ParameterOp>(slice.getParameter()) : attn::ParameterOp();
    if (!parameter || !value.hasOneUse() || parameter.getLayout())
      return false;
    std::optional<attn::JoinAttr> join = parameter.getJoin();
    if (join && (join->getKind() != attn::JoinKind::concat || join->getDim() != columns.dim))
      return false;
    claimed.insert(slice);
    if (auto known = parameters.find(parameter); known != parameters.end())
      return known->second.columns == columns;
    std::optional<SmallVector<Attribute>> sources = reordered(parameter, columns);
    if (sources)
      parameters.insert({parameter, {columns, std::move(*sources)}});
    return sources.has_value();
  }

  /// Follows heads of which the first ones have another order of channels to the ops that read them.
  StringRef follow(Value value, int64_t rotated) {
    auto type = cast<RankedTensorType>(value.getType());
    const int64_t channels = type.getShape().back(), all = llvm::product_of(type.getShape().drop_front().drop_back());
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto merge = dyn_cast<attn::MergeHeadsOp>(user)) {
        for (OpOperand &columns : merge.getResult().getUses()) {
          auto split = dyn_cast<attn::SplitHeadsOp>(columns.getOwner());
          if (!split)
            return "another op than attention reads its columns";
          int64_t first = 0;
          for (Value part : split.getHeads()) {
            ArrayRef<int64_t> shape = cast<RankedTensorType>(part.getType()).getShape();
            const int64_t count = llvm::product_of(shape.drop_front().drop_back()),
                          own = std::clamp<int64_t>(rotated - first, 0, count);
            if (shape.back() != channels)
              return "its columns become other heads";
            if (StringRef why = own ? follow(part, own) : StringRef(); !why.empty())
              return why;
            first += count;
          }
        }
        continue;
      }
      if (rotated != all)
        return "heads that are not rotated are read with those that are";
      auto attention = dyn_cast<attn::AttentionOp>(user);
      auto append = dyn_cast<attn::KVAppendOp>(user);
      if (attention && &use == &attention.getQueryMutable())
        queries.insert(attention);
      else if (attention && &use == &attention.getKeyMutable())
        keys.insert(attention);
      else if (append && &use == &append.getKeyMutable())
        appends.insert(append);
      else
        return "another op than attention reads its heads";
    }
    return "";
  }

  /// The op that has appended what a view reads last; null where another function may have.
  static attn::KVAppendOp appendOf(attn::KVViewOp view) {
    auto append = view.getCache().getDefiningOp<attn::KVAppendOp>();
    return append && append.getLayer() == view.getLayer() && append.getSegment() == view.getSegment()
               ? append
               : attn::KVAppendOp();
  }

  /// Whether only attention reads what the cache has of keys in the other order, and all its keys have it.
  StringRef notLegalForCache(Operation *op) {
    if (auto append = dyn_cast<attn::KVAppendOp>(op); append && !appends.contains(append))
      return "other keys of the cache are not rotated alike";
    auto view = dyn_cast<attn::KVViewOp>(op);
    if (!view)
      return "";
    if (!appendOf(view))
      return "keys of the cache are read apart from those that are appended";
    return llvm::all_of(view.getKeys().getUses(),
                        [](OpOperand &use) {
                          auto attention = dyn_cast<attn::AttentionOp>(use.getOwner());
                          return attention && &use == &attention.getKeyMutable();
                        })
               ? ""
               : "another op than attention reads keys of the cache";
  }

  /// Whether the keys of an attention have the other order.
  bool hasPairedKeys(attn::AttentionOp attention) const {
    if (keys.contains(attention))
      return true;
    auto view = attention.getKey().getDefiningOp<attn::KVViewOp>();
    return view && appends.contains(appendOf(view));
  }

  StringRef notLegalForAll() {
    StringRef why;
    module.walk([&](Operation *op) {
      if (auto slice = dyn_cast<attn::ParameterSliceOp>(op);
          slice && parameters.contains(symbols.lookup<attn::ParameterOp>(slice.getParameter())) &&
          !claimed.contains(slice))
        why = "another op reads its weight";
      if (StringRef ofCache = appends.empty() ? StringRef() : notLegalForCache(op); !ofCache.empty())
        why = ofCache;
      if (auto attention = dyn_cast<attn::AttentionOp>(op))
        if (queries.contains(attention) != hasPairedKeys(attention) || attention.getSecondQuery())
          why = "queries and keys of an attention are not rotated alike";
    });
    return why;
  }

  ModuleOp module;
  SymbolTable symbols;
  SmallVector<attn::RopeOp> ropes;
  llvm::MapVector<attn::ParameterOp, Claim> parameters;
  llvm::SetVector<Operation *> claimed, queries, keys, appends;
};

struct PairChannels : rapt::impl::AttnGPUPairChannelsBase<PairChannels> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    Pairing(getOperation()).run();
  }
};

} // namespace
