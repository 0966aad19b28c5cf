//===- AttentionWeights.cpp - Attention's weights as outputs of the entries ----===//
#include "lib/Import/AttentionWeights.h"
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using attn::AttnDialect;

namespace {

constexpr int64_t mostPositions = 8192; // a row of weights is dense

/// Whether attention mixes values of the query's own text, or of its source.
enum class Kind { Self, Cross };

/// The keys of a source lie in the cache and their number is told; a text's own are packed as the queries are, or as
/// long as its past and the queries.
Kind kindOf(attn::AttentionOp op) { return op.getKvLength() && !op.getQOffset() ? Kind::Cross : Kind::Self; }

/// The tokens of an entry that takes images: each image has as many.
struct ImageRows {
  attn::EqualRowsOp rows;
  std::string extent; ///< of an image's tokens, as attn.dims says it
  int64_t most;       ///< tokens of the largest image
};

/// One output of one entry under construction.
class Export {
public:
  Export(func::FuncOp entry, Kind kind, const AttentionSelection &selection)
      : entry(entry), module(entry->getParentOfType<ModuleOp>()), kind(kind), selection(selection),
        rewriter(entry.getContext()) {}

  /// Whether the entry has attention of the kind.
  bool isNeeded() { return has(entry.getBody().front()); }
  Status run(StringRef name, int64_t positions);

private:
  bool has(Block &block);
  bool isOfKind(Operation &op) {
    auto attention = dyn_cast<attn::AttentionOp>(op);
    return attention && kindOf(attention) == kind;
  }
  func::FuncOp callee(func::CallOp call) { return module.lookupSymbol<func::FuncOp>(call.getCallee()); }
  void measure(Block &block, int64_t layersAround);
  Status choose(std::vector<int64_t> &chosen, const std::vector<int64_t> &asked, int64_t count, const char *what,
                StringRef name);
  std::optional<unsigned> findTokens();
  std::optional<ImageRows> findImages();
  Status checkPositions(int64_t positions, const char *advice);
  RankedTensorType packedType(int64_t positions);
  void addOutput(StringRef name, Value value, ArrayAttr dims);
  Status run(StringRef name, ImageRows images);
  Value thread(Block &block, Value weights, Value layer);
  Value record(attn::AttentionOp attention, Value weights, Value layer);
  Value throughCall(func::CallOp call, Value weights);
  Value throughLoop(scf::ForOp loop, Value weights, Value layer);

  func::FuncOp entry;
  ModuleOp module;
  Kind kind;
  const AttentionSelection &selection;
  IRRewriter rewriter;
  int64_t layerCount = 0, headCount = 0;
  std::vector<int64_t> layers, heads;
  llvm::SmallPtrSet<Operation *, 4> threaded; ///< functions that pass the weights on already
};

bool Export::has(Block &block) {
  return block
      .walk([&](Operation *op) {
        auto call = dyn_cast<func::CallOp>(op);
        bool found = isOfKind(*op) || (call && has(callee(call).getBody().front()));
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Counts layers and heads. `layersAround` is the end of the loop over layers around the block.
void Export::measure(Block &block, int64_t layersAround) {
  for (Operation &op : block) {
    if (isOfKind(op)) {
      auto attention = cast<attn::AttentionOp>(op);
      auto query = cast<RankedTensorType>(attention.getQuery().getType());
      int64_t count = 1;
      for (attn::AttentionOp::Dim dim : {attn::AttentionOp::HKV, attn::AttentionOp::G})
        if (std::optional<unsigned> place = attention.dimOf(0, dim))
          count *= query.getDimSize(*place);
      headCount = std::max(headCount, count);
      layerCount = std::max(layerCount, layersAround);
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      measure(callee(call).getBody().front(), layersAround);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      measure(*loop.getBody(), getConstantIntValue(loop.getUpperBound()).value_or(layersAround));
    }
  }
}

Status Export::choose(std::vector<int64_t> &chosen, const std::vector<int64_t> &asked, int64_t count, const char *what,
                      StringRef name) {
  chosen = asked;
  for (int64_t i = 0; asked.empty() && i < count; ++i)
    chosen.push_back(i);
  for (int64_t number : chosen)
    if (number >= count)
      return Error{std::string("--attention-weights: ") + what + " " + std::to_string(number) + " is asked for; " +
                   name.str() + " has " + what + "s 0 to " + std::to_string(count - 1)};
  return {};
}

/// The argument that has the ids of the tokens whose attention it is.
std::optional<unsigned> Export::findTokens() {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto name = entry.getArgAttrOfType<StringAttr>(i, AttnDialect::nameAttr);
    if (name && (name.getValue() == "tokens" || name.getValue() == "input_ids"))
      return i;
  }
  return std::nullopt;
}

/// Images become as many tokens as they have patches, and those that were learned.
std::optional<ImageRows> Export::findImages() {
  Block &body = entry.getBody().front();
  auto patches = body.getOps<attn::PatchesOp>();
  auto tokens = body.getOps<attn::ImageTokensOp>();
  auto rows = body.getOps<attn::EqualRowsOp>();
  if (patches.empty() || tokens.empty() || rows.empty())
    return std::nullopt;
  attn::PatchesOp cut = *patches.begin();
  auto pixels = dyn_cast<BlockArgument>(cut.getPixels());
  auto dims = pixels ? entry.getArgAttrOfType<ArrayAttr>(pixels.getArgNumber(), AttnDialect::dimsAttr) : ArrayAttr();
  if (!dims || dims.size() != 3)
    return std::nullopt;
  int64_t learned = cast<RankedTensorType>((*tokens.begin()).getLearned().getType()).getDimSize(0), most = 1;
  const std::string divisor = "/" + std::to_string(cut.getSize());
  std::string extent;
  for (Attribute side : dims.getValue().drop_front()) {
    StringRef dim = cast<StringAttr>(side).getValue();
    extent += (extent.empty() ? "" : "*") + dim.str() + divisor;
    most *= module.lookupSymbol<attn::DimOp>(dim).getMax() / cut.getSize();
  }
  return ImageRows{*rows.begin(), extent + "+" + std::to_string(learned), most + learned};
}

Status Export::checkPositions(int64_t positions, const char *advice) {
  if (positions >= 1 && positions <= mostPositions)
    return {};
  return Error{"--attention-weights: the model has " + std::to_string(positions) + " positions, at most " +
               std::to_string(mostPositions) + " can be looked at: " + advice};
}

RankedTensorType Export::packedType(int64_t positions) {
  int64_t shape[] = {ShapedType::kDynamic, int64_t(layers.size()), int64_t(heads.size()), positions};
  return RankedTensorType::get(shape, rewriter.getF32Type());
}

void Export::addOutput(StringRef name, Value value, ArrayAttr dims) {
  NamedAttrList attributes;
  attributes.set(AttnDialect::nameAttr, rewriter.getStringAttr(name));
  attributes.set(AttnDialect::dimsAttr, dims);
  (void)entry.insertResult(entry.getNumResults(), value.getType(), attributes.getDictionary(entry.getContext()));
  Operation *exit = entry.getBody().front().getTerminator();
  exit->insertOperands(exit->getNumOperands(), value);
}

/// `weights` with those of one attention.
Value Export::record(attn::AttentionOp attention, Value weights, Value layer) {
  rewriter.setInsertionPointAfter(attention);
  Location loc = attention.getLoc();
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(rewriter, loc, value); };
  Value slot = layer ? layer : constant(0);
  if (!selection.layers.empty()) {
    Value number = slot;
    slot = constant(-1);
    for (auto [place, chosen] : llvm::enumerate(layers)) {
      Value isHere = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, number, constant(chosen));
      slot = arith::SelectOp::create(rewriter, loc, isHere, constant(place), slot);
    }
  }
  SmallVector<AffineMap> maps = {attention.getMap(0), attention.getMap(1)};
  for (unsigned i = 0; i < attention.getExtras().size(); ++i)
    maps.push_back(attention.getMap(4 + i));
  auto op = attn::AttentionWeightsOp::create(
      rewriter, loc, weights.getType(), weights, slot, attention.getQuery(), attention.getKey(), attention.getScale(),
      attention.getQBegin(), attention.getQOffset(), attention.getKvBegin(), attention.getKvLength(),
      attention.getExtras(), attention.getAdditive(), heads, rewriter.getAffineMapArrayAttr(maps));
  IRMapping mapping;
  attention.getScore().cloneInto(&op.getScore(), mapping);
  attention.getMask().cloneInto(&op.getMask(), mapping);
  return op;
}

Value Export::throughCall(func::CallOp call, Value weights) {
  func::FuncOp function = callee(call);
  if (threaded.insert(function).second) {
    Block &body = function.getBody().front();
    Value layer;
    for (BlockArgument argument : body.getArguments())
      if (!layer && argument.getType().isIndex())
        layer = argument;
    unsigned last = function.getNumArguments();
    LogicalResult grown = function.insertArgument(last, weights.getType(), {}, call.getLoc());
    assert(succeeded(grown) && "a private function takes another argument");
    (void)grown;
    Value after = thread(body, function.getArgument(last), layer);
    Operation *exit = body.getTerminator();
    exit->insertOperands(exit->getNumOperands(), after);
    (void)function.insertResult(function.getNumResults(), weights.getType(), {});
  }
  SmallVector<Value> operands(call.getOperands());
  operands.push_back(weights);
  rewriter.setInsertionPoint(call);
  auto longer = func::CallOp::create(rewriter, call.getLoc(), function, operands);
  rewriter.replaceOp(call, longer.getResults().drop_back());
  return longer.getResults().back();
}

Value Export::throughLoop(scf::ForOp loop, Value weights, Value layer) {
  rewriter.setInsertionPoint(loop);
  auto longer =
      cast<scf::ForOp>(*loop.replaceWithAdditionalYields(rewriter, weights, /*replaceInitOperandUsesInLoop=*/false,
                                                         [](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
                                                           return SmallVector<Value>(carried.begin(), carried.end());
                                                         }));
  Value after = thread(*longer.getBody(), longer.getRegionIterArgs().back(), layer);
  Operation *yield = longer.getBody()->getTerminator();
  yield->setOperand(yield->getNumOperands() - 1, after);
  return longer.getResults().back();
}

/// Passes the weights through a block; gives them as they are at its end. `layer` is the number of the layer that the
/// block computes, null where there is but one.
Value Export::thread(Block &block, Value weights, Value layer) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto call = dyn_cast<func::CallOp>(op);
    auto loop = dyn_cast<scf::ForOp>(op);
    if (isOfKind(op))
      weights = record(cast<attn::AttentionOp>(op), weights, layer);
    else if (call && has(callee(call).getBody().front()))
      weights = throughCall(call, weights);
    else if (loop && has(*loop.getBody()))
      weights = throughLoop(loop, weights, layer);
  }
  return weights;
}

Status Export::run(StringRef name, int64_t positions) {
  measure(entry.getBody().front(), 1);
  if (Status status = choose(layers, selection.layers, layerCount, "layer", name); !status)
    return status;
  if (Status status = choose(heads, selection.heads, headCount, "head", name); !status)
    return status;
  if (std::optional<ImageRows> images = findImages())
    return run(name, *images);
  if (Status status = checkPositions(positions, "shorten them with --max-seq-len"); !status)
    return status;
  std::optional<unsigned> ids = findTokens();
  if (!ids)
    return Error{"--attention-weights: the entry " + entry.getSymName().str() + " takes no tokens"};
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  Value tokens = tensor::DimOp::create(builder, entry.getLoc(), entry.getArgument(*ids), 0);
  Value empty = tensor::EmptyOp::create(builder, entry.getLoc(), packedType(positions), ValueRange{tokens});
  // A step may take one token of each row: then the dim of its tokens is that of the rows.
  addOutput(name, thread(entry.getBody().front(), empty, Value()),
            cast<ArrayAttr>(entry.getArgAttr(*ids, AttnDialect::dimsAttr)));
  return {};
}

/// The exported weights have the images' tokens as a dim of their own.
Status Export::run(StringRef name, ImageRows images) {
  if (Status status = checkPositions(images.most, "images must be smaller"); !status)
    return status;
  OpBuilder builder(images.rows->getContext());
  builder.setInsertionPointAfter(images.rows);
  Location loc = images.rows.getLoc();
  Value tokens = arith::MulIOp::create(builder, loc, images.rows.getRows(), images.rows.getLength());
  RankedTensorType packed = packedType(images.most);
  Value after =
      thread(entry.getBody().front(), tensor::EmptyOp::create(builder, loc, packed, ValueRange{tokens}), Value());
  SmallVector<int64_t> shape(packed.getShape());
  shape.insert(shape.begin(), ShapedType::kDynamic);
  builder.setInsertionPoint(entry.getBody().front().getTerminator());
  Value unpacked = attn::UnpackRowsOp::create(builder, loc, RankedTensorType::get(shape, packed.getElementType()),
                                              after, images.rows.getLength());
  addOutput(name, unpacked, builder.getStrArrayAttr({"rows", images.extent}));
  return {};
}

} // namespace

Status importing::addAttentionOutputs(ModuleOp module, const AttentionSelection &selection) {
  auto facts = module->getAttrOfType<DictionaryAttr>(AttnDialect::modelAttr);
  auto positions = facts.getAs<IntegerAttr>("positions");
  const bool hasEncoder = module.lookupSymbol<func::FuncOp>("encode") != nullptr;
  module.getContext()->loadDialect<tensor::TensorDialect>();
  bool found = false;
  for (func::FuncOp entry : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (!entry->hasAttr(AttnDialect::entryAttr))
      continue;
    const char *own = !hasEncoder                      ? "attentions"
                      : entry.getSymName() == "encode" ? "encoder_attentions"
                                                       : "decoder_attentions";
    for (auto [kind, name] : {std::pair(Kind::Self, own), std::pair(Kind::Cross, "cross_attentions")}) {
      Export output(entry, kind, selection);
      if (!output.isNeeded())
        continue;
      found = true;
      if (Status status = output.run(name, positions ? positions.getInt() : 0); !status)
        return status;
    }
  }
  if (!found)
    return Error{"--attention-weights: the model has no attention"};
  Builder builder(module.getContext());
  NamedAttrList list(facts);
  if (!selection.layers.empty())
    list.set("attention_layers", builder.getI64ArrayAttr(selection.layers));
  if (!selection.heads.empty())
    list.set("attention_heads", builder.getI64ArrayAttr(selection.heads));
  module->setAttr(AttnDialect::modelAttr, list.getDictionary(module.getContext()));
  return {};
}
