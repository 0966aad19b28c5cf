//===- RequestAttentionOutputs.cpp - Results of attention as outputs of the entries -------===//
//
// Attention never holds its weights: memory is linear in the length. A user who wants them
// asks for layers and heads, and the entries of an imported module get one more output. Layers
// are numbered in the order in which the entry computes them, whatever loops they are in.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/DimRelations.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNREQUESTATTENTIONOUTPUTS
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using attn::AttentionOp;
using attn::AttnDialect;

namespace {

constexpr int64_t mostPositions = 8192; // a row of weights is dense
constexpr int64_t mostLayers = 65536;

/// Whether attention mixes values of the query's own text, or of its source.
enum class Kind { Self, Cross };

/// The keys of a source lie in the cache and their number is told; a text's own are packed as the queries are, or as
/// long as its past and the queries.
Kind kindOf(AttentionOp op) { return op.getKvLength() && !op.getQOffset() ? Kind::Cross : Kind::Self; }

/// A request for outputs. Empty lists: all.
struct Request {
  ArrayRef<int64_t> layers, heads;
  int64_t positions;
};

/// The tokens of an entry that takes images: each image has as many.
struct ImageRows {
  attn::EqualRowsOp rows;
  std::string extent; ///< of an image's tokens, as attn.dims says it
  int64_t most;       ///< tokens of the largest image
};

/// An extent of an argument of an entry, or a number.
struct Extent {
  BlockArgument argument; ///< null: `dim` is the number
  int64_t dim;
};

/// One output of one entry under construction.
class Export {
public:
  Export(func::FuncOp entry, Kind kind, StringRef name, const Request &request)
      : entry(entry), kind(kind), name(name), request(request), rewriter(entry.getContext()) {}

  /// Whether the entry has attention of the kind.
  bool isNeeded() {
    return entry
        .walk([&](AttentionOp op) { return kindOf(op) == kind ? WalkResult::interrupt() : WalkResult::advance(); })
        .wasInterrupted();
  }
  /// The weights of all layers.
  LogicalResult run();
  /// Log-sum-exp of the one attention of the kind that the entry itself has.
  LogicalResult runLogSumExp();

private:
  LogicalResult checkName();
  StringAttr nameOf(Extent extent);
  FailureOr<int64_t> countLayers(Block &block);
  LogicalResult measure(AttentionOp op);
  LogicalResult choose(SmallVector<int64_t> &chosen, ArrayRef<int64_t> asked, int64_t count, const char *what);
  std::optional<ImageRows> findImages();
  LogicalResult checkSize(int64_t positions, const char *advice);
  RankedTensorType packedType(int64_t tokens, int64_t positions);
  LogicalResult addOutput(Value value, ArrayAttr dims);
  LogicalResult runOnTokens(Extent tokens);
  LogicalResult runOnImages(ImageRows images);
  Value thread(Block &block, Value weights, Value before);
  Value throughLoop(scf::ForOp loop, Value weights, Value before);
  Value record(AttentionOp attention, Value weights, Value layer);
  Value add(Location loc, Value number, int64_t more);

  func::FuncOp entry;
  Kind kind;
  StringRef name;
  const Request &request;
  IRRewriter rewriter;
  AttentionOp first; ///< of the kind
  int64_t headCount = 0;
  SmallVector<int64_t> layers, heads;
  llvm::DenseMap<Block *, int64_t> counts; ///< layers that a block computes
};

/// The argument's dim that an extent is, behind ops that keep it.
std::optional<Extent> traceExtent(func::FuncOp entry, Value tensor, unsigned dim) {
  for (int64_t left = 1 << 20; left > 0; --left) {
    if (auto type = cast<RankedTensorType>(tensor.getType()); !type.isDynamicDim(dim))
      return Extent{{}, type.getDimSize(dim)};
    auto argument = dyn_cast<BlockArgument>(tensor);
    if (argument && argument.getOwner() == &entry.getBody().front())
      return Extent{argument, dim};
    Operation *op = argument ? argument.getOwner()->getParentOp() : tensor.getDefiningOp();
    attn::DimRelations dims(entry.getContext());
    relateDims(op, dims);
    auto symbol = dyn_cast_or_null<AffineSymbolExpr>(dims.find(tensor, dim));
    if (!symbol)
      return std::nullopt;
    attn::DimRelations::Symbol same = dims.getSymbol(symbol);
    if (auto size = same.dim ? tensor::DimOp() : same.value.getDefiningOp<tensor::DimOp>()) {
      if (!size.getConstantIndex())
        return std::nullopt;
      same = {size.getSource(), unsigned(*size.getConstantIndex())};
    }
    if (!same.dim)
      return std::nullopt;
    tensor = same.value, dim = *same.dim;
  }
  return std::nullopt;
}

/// Takes the number of heads, which all attention of the kind has.
LogicalResult Export::measure(AttentionOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  int64_t count = 1;
  for (AttentionOp::Dim dim : {AttentionOp::HKV, AttentionOp::G})
    if (std::optional<unsigned> place = op.dimOf(0, dim)) {
      if (query.isDynamicDim(*place))
        return emitError(op.getLoc()) << "queries " << query << " have a number of heads that is not static";
      count = checkedMul(count, query.getDimSize(*place)).value_or(INT64_MAX);
    }
  if (op.dimOf(0, AttentionOp::B) || op.dimOf(3, AttentionOp::B))
    return emitError(op.getLoc()) << name << " needs packed queries, and those of this attention have the dim b";
  if (op.getWeights())
    return emitError(op.getLoc()) << name << " is asked for, and this attention gives its weights already";
  if (first && count != headCount)
    return emitError(op.getLoc()) << name << " needs one number of heads in all layers, found " << headCount << " and "
                                  << count;
  if (!first)
    first = op;
  headCount = count;
  return success();
}

FailureOr<int64_t> Export::countLayers(Block &block) {
  int64_t count = 0;
  for (Operation &op : block) {
    if (auto attention = dyn_cast<AttentionOp>(op); attention && kindOf(attention) == kind) {
      if (failed(measure(attention)))
        return failure();
      ++count;
    }
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      continue;
    FailureOr<int64_t> each = countLayers(*loop.getBody());
    if (failed(each))
      return failure();
    std::optional<APInt> times = loop.getStaticTripCount();
    if (*each > 0 && !times)
      return emitError(loop.getLoc()) << name << " needs loops over layers whose bounds and step are constants";
    if (*each > 0)
      count += *each * int64_t(times->getLimitedValue(mostLayers + 1));
    if (count > mostLayers)
      return emitError(loop.getLoc()) << name << " has more than " << mostLayers << " layers";
  }
  return counts[&block] = count;
}

LogicalResult Export::choose(SmallVector<int64_t> &chosen, ArrayRef<int64_t> asked, int64_t count, const char *what) {
  chosen.assign(asked.begin(), asked.end());
  for (int64_t i = 0; asked.empty() && i < count; ++i)
    chosen.push_back(i);
  for (int64_t number : chosen)
    if (number < 0 || number >= count)
      return emitError(entry.getLoc()) << what << " " << number << " is asked for; " << name << " has " << what
                                       << "s 0 to " << count - 1;
  return success();
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
    auto declared = SymbolTable::lookupNearestSymbolFrom<attn::DimOp>(entry, cast<StringAttr>(side));
    if (!declared)
      return std::nullopt;
    extent += (extent.empty() ? "" : "*") + dim.str() + divisor;
    most = checkedMul<int64_t>(most, declared.getMax() / cut.getSize()).value_or(mostPositions);
  }
  return ImageRows{*rows.begin(), extent + "+" + std::to_string(learned), most + learned};
}

LogicalResult Export::checkSize(int64_t positions, const char *advice) {
  if (positions < 1 || positions > mostPositions)
    return emitError(entry.getLoc()) << "the model has " << positions << " positions, at most " << mostPositions
                                     << " can be looked at: " << advice;
  const int64_t extents[] = {int64_t(layers.size()), int64_t(heads.size()), positions};
  if (std::optional<int64_t> all = checkedProduct<int64_t>(extents); !all || *all > INT32_MAX)
    return emitError(entry.getLoc()) << name << " has " << extents[0] << " layers of " << extents[1] << " heads of "
                                     << positions << " keys, more numbers for a token than " << INT32_MAX
                                     << ": ask for fewer layers or heads";
  return success();
}

RankedTensorType Export::packedType(int64_t tokens, int64_t positions) {
  int64_t shape[] = {tokens, int64_t(layers.size()), int64_t(heads.size()), positions};
  return RankedTensorType::get(shape, rewriter.getF32Type());
}

LogicalResult Export::addOutput(Value value, ArrayAttr dims) {
  NamedAttrList attributes;
  attributes.set(AttnDialect::nameAttr, rewriter.getStringAttr(name));
  if (dims)
    attributes.set(AttnDialect::dimsAttr, dims);
  if (failed(entry.insertResult(entry.getNumResults(), value.getType(), attributes.getDictionary(entry.getContext()))))
    return failure();
  Operation *exit = entry.getBody().front().getTerminator();
  exit->insertOperands(exit->getNumOperands(), value);
  return success();
}

Value Export::add(Location loc, Value number, int64_t more) {
  if (number && more == 0)
    return number;
  Value constant = arith::ConstantIndexOp::create(rewriter, loc, more);
  return number ? Value(arith::AddIOp::create(rewriter, loc, number, constant)) : constant;
}

/// `weights` with those of one attention, which is layer `layer` of all.
Value Export::record(AttentionOp attention, Value weights, Value layer) {
  Location loc = attention.getLoc();
  auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(rewriter, loc, value); };
  Value slot = layer;
  if (!request.layers.empty()) {
    slot = constant(-1);
    for (auto [place, chosen] : llvm::enumerate(layers)) {
      Value isHere = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, layer, constant(chosen));
      slot = arith::SelectOp::create(rewriter, loc, isHere, constant(place), slot);
    }
  }
  return attention
      .replaceOutputs(rewriter, attention.getLogSumExp(), weights, slot, rewriter.getDenseI64ArrayAttr(heads))
      .getNewWeights();
}

Value Export::throughLoop(scf::ForOp loop, Value weights, Value before) {
  const int64_t each = counts.lookup(loop.getBody());
  rewriter.setInsertionPoint(loop);
  auto longer =
      cast<scf::ForOp>(*loop.replaceWithAdditionalYields(rewriter, weights, /*replaceInitOperandUsesInLoop=*/false,
                                                         [](OpBuilder &, Location, ArrayRef<BlockArgument> carried) {
                                                           return SmallVector<Value>(carried.begin(), carried.end());
                                                         }));
  counts[longer.getBody()] = each;
  // The number of the iteration, and of the first layer in it.
  Location loc = longer.getLoc();
  rewriter.setInsertionPointToStart(longer.getBody());
  Value layer = longer.getInductionVar();
  if (!isConstantIntValue(longer.getLowerBound(), 0))
    layer = arith::SubIOp::create(rewriter, loc, layer, longer.getLowerBound());
  if (!isConstantIntValue(longer.getStep(), 1))
    layer = arith::DivUIOp::create(rewriter, loc, layer, longer.getStep());
  if (!layer.getType().isIndex())
    layer = arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(), layer);
  if (each != 1)
    layer = arith::MulIOp::create(rewriter, loc, layer, arith::ConstantIndexOp::create(rewriter, loc, each));
  if (before)
    layer = arith::AddIOp::create(rewriter, loc, layer, before);
  Value after = thread(*longer.getBody(), longer.getRegionIterArgs().back(), layer);
  Operation *yield = longer.getBody()->getTerminator();
  yield->setOperand(yield->getNumOperands() - 1, after);
  return longer.getResults().back();
}

/// Passes the weights through a block; gives them as they are at its end. `before` is the number of layers before it,
/// null where there are none.
Value Export::thread(Block &block, Value weights, Value before) {
  int64_t done = 0;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    rewriter.setInsertionPoint(&op);
    if (auto attention = dyn_cast<AttentionOp>(op); attention && kindOf(attention) == kind) {
      weights = record(attention, weights, add(op.getLoc(), before, done));
      ++done;
    } else if (auto loop = dyn_cast<scf::ForOp>(op); loop && counts.lookup(loop.getBody()) > 0) {
      const int64_t all = counts.lookup(loop.getBody()) * int64_t(loop.getStaticTripCount()->getLimitedValue());
      weights = throughLoop(loop, weights, before || done > 0 ? add(op.getLoc(), before, done) : Value());
      done += all;
    }
  }
  return weights;
}

/// The name that the entry gives an extent; null where it has none.
StringAttr Export::nameOf(Extent extent) {
  if (!extent.argument)
    return {};
  auto names = entry.getArgAttrOfType<ArrayAttr>(extent.argument.getArgNumber(), AttnDialect::dimsAttr);
  auto type = cast<RankedTensorType>(extent.argument.getType());
  const size_t place = llvm::count_if(type.getShape().take_front(extent.dim), ShapedType::isDynamic);
  return names && place < names.size() ? cast<StringAttr>(names[place]) : StringAttr();
}

LogicalResult Export::checkName() {
  for (unsigned i = 0; i < entry.getNumArguments() + entry.getNumResults(); ++i) {
    Attribute taken = i < entry.getNumArguments()
                          ? entry.getArgAttr(i, AttnDialect::nameAttr)
                          : entry.getResultAttr(i - entry.getNumArguments(), AttnDialect::nameAttr);
    if (taken == rewriter.getStringAttr(name))
      return emitError(entry.getLoc()) << "the entry " << entry.getSymName() << " has a buffer named " << name
                                       << " already";
  }
  return success();
}

LogicalResult Export::runLogSumExp() {
  AttentionOp only;
  for (AttentionOp op : llvm::to_vector(entry.getOps<AttentionOp>()))
    if (kindOf(op) == kind) {
      if (only)
        return emitError(op.getLoc()) << name << " is asked for of one attention, found two";
      only = op;
    }
  if (failed(checkName()))
    return failure();
  if (!only)
    return emitError(entry.getLoc()) << name << " is asked for, and all attention of " << entry.getSymName()
                                     << " is in loops, of which each iteration has its own";
  if (!only.getLse())
    only = only.replaceOutputs(rewriter, /*logSumExp=*/true, only.getWeights(), only.getLayer(), only.getHeadsAttr());
  SmallVector<Attribute> dims;
  RankedTensorType type = only.getLse().getType();
  for (int64_t i = 0; i < type.getRank(); ++i) {
    std::optional<Extent> extent =
        type.isDynamicDim(i) ? traceExtent(entry, only.getLse(), i) : std::optional<Extent>();
    if (StringAttr dim = extent ? nameOf(*extent) : StringAttr())
      dims.push_back(dim);
  }
  const bool isNamed = dims.size() == type.getNumDynamicDims();
  if (!isNamed && !attn::isKernelModule(entry->getParentOp()))
    return emitError(only.getLoc()) << name << " needs extents that arguments of " << entry.getSymName() << " have";
  return addOutput(only.getLse(), isNamed && !dims.empty() ? rewriter.getArrayAttr(dims) : ArrayAttr());
}

LogicalResult Export::run() {
  FailureOr<int64_t> layerCount = countLayers(entry.getBody().front());
  if (failed(layerCount) || failed(choose(layers, request.layers, *layerCount, "layer")) ||
      failed(choose(heads, request.heads, headCount, "head")) || failed(checkName()))
    return failure();
  if (std::optional<Extent> tokens = traceExtent(entry, first.getQuery(), *first.dimOf(0, AttentionOp::Q)))
    return runOnTokens(*tokens);
  if (std::optional<ImageRows> images = findImages())
    return runOnImages(*images);
  return emitError(first.getLoc()) << name << " needs queries as many as an argument of " << entry.getSymName()
                                   << " has tokens, which those of this attention are not known to be";
}

LogicalResult Export::runOnTokens(Extent tokens) {
  auto module = entry->getParentOfType<ModuleOp>();
  if (request.positions == 0 && attn::isKernelModule(module))
    return emitError(entry.getLoc()) << "a kernel has no positions of its own: run attn-request-attention-outputs with "
                                        "positions=N, the most keys of a sequence";
  if (failed(checkSize(request.positions, "shorten them with --max-seq-len, or with the option positions")))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  SmallVector<Value> sizes;
  ArrayAttr dims;
  if (tokens.argument) {
    sizes.push_back(tensor::DimOp::create(builder, entry.getLoc(), tokens.argument, tokens.dim));
    // A step may take one token of each row: then the dim of its tokens is that of the rows.
    if (StringAttr dim = nameOf(tokens))
      dims = builder.getArrayAttr(dim);
  }
  RankedTensorType type = packedType(tokens.argument ? ShapedType::kDynamic : tokens.dim, request.positions);
  Value empty = tensor::EmptyOp::create(builder, entry.getLoc(), type, sizes);
  return addOutput(thread(entry.getBody().front(), empty, Value()), dims);
}

/// The exported weights have the images' tokens as a dim of their own.
LogicalResult Export::runOnImages(ImageRows images) {
  if (failed(checkSize(images.most, "images must be smaller")))
    return failure();
  OpBuilder builder(images.rows->getContext());
  builder.setInsertionPointAfter(images.rows);
  Location loc = images.rows.getLoc();
  Value tokens = arith::MulIOp::create(builder, loc, images.rows.getRows(), images.rows.getLength());
  RankedTensorType packed = packedType(ShapedType::kDynamic, images.most);
  Value after =
      thread(entry.getBody().front(), tensor::EmptyOp::create(builder, loc, packed, ValueRange{tokens}), Value());
  SmallVector<int64_t> shape(packed.getShape());
  shape.insert(shape.begin(), ShapedType::kDynamic);
  builder.setInsertionPoint(entry.getBody().front().getTerminator());
  Value unpacked = attn::UnpackRowsOp::create(builder, loc, RankedTensorType::get(shape, packed.getElementType()),
                                              after, images.rows.getLength());
  return addOutput(unpacked, builder.getStrArrayAttr({"rows", images.extent}));
}

/// The functions that become entries: those that say so, or in a kernel without any those that nothing calls.
SmallVector<func::FuncOp> entriesOf(ModuleOp module) {
  SmallVector<func::FuncOp> entries, uncalled;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr(AttnDialect::entryAttr))
      entries.push_back(function);
    if (function.isPublic() && !function.isDeclaration() && SymbolTable::symbolKnownUseEmpty(function, module))
      uncalled.push_back(function);
  }
  return entries.empty() && attn::isKernelModule(module) ? uncalled : entries;
}

struct RequestAttentionOutputs : rapt::impl::AttnRequestAttentionOutputsBase<RequestAttentionOutputs> {
  using AttnRequestAttentionOutputsBase::AttnRequestAttentionOutputsBase;

  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Imported)))
      return signalPassFailure();
    ModuleOp module = getOperation();
    // Blocks of layers are functions: in the entry itself each call is a layer of its own.
    OpPassManager inlining(ModuleOp::getOperationName());
    inlining.addPass(createAttnInlineCalls());
    if (failed(runPipeline(inlining, module)) || failed(addOutputs(module)))
      return signalPassFailure();
    Builder builder(&getContext());
    NamedAttrList list(module->getAttrOfType<DictionaryAttr>(AttnDialect::modelAttr));
    if (attn::isKernelModule(module))
      return;
    if (!layers.empty())
      list.set("attention_layers", builder.getI64ArrayAttr(layers));
    if (!heads.empty())
      list.set("attention_heads", builder.getI64ArrayAttr(heads));
    module->setAttr(AttnDialect::modelAttr, list.getDictionary(&getContext()));
  }

  LogicalResult addOutputs(ModuleOp module) {
    auto facts = module->getAttrOfType<DictionaryAttr>(AttnDialect::modelAttr);
    auto ofModel = facts ? facts.getAs<IntegerAttr>("positions") : IntegerAttr();
    const Request request{layers, heads, positions == 0 && ofModel ? ofModel.getInt() : positions.getValue()};
    const bool hasEncoder = module.lookupSymbol<func::FuncOp>("encode") != nullptr;
    bool found = false;
    for (func::FuncOp entry : entriesOf(module)) {
      const char *own = !hasEncoder                      ? "attentions"
                        : entry.getSymName() == "encode" ? "encoder_attentions"
                                                         : "decoder_attentions";
      for (auto [kind, name] : {std::pair(Kind::Self, own), std::pair(Kind::Cross, "cross_attentions")}) {
        Export output(entry, kind, name, request);
        if (!output.isNeeded())
          continue;
        found = true;
        if (weights && failed(output.run()))
          return failure();
        Export lse(entry, kind, kind == Kind::Self ? "log_sum_exp" : "cross_log_sum_exp", request);
        if (logSumExp && failed(lse.runLogSumExp()))
          return failure();
      }
    }
    return found ? success() : emitError(module.getLoc()) << "the model has no attention";
  }
};

} // namespace
