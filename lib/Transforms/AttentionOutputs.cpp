//===- AttentionOutputs.cpp - One more output of an entry with attention ------------------===//
#include "lib/Transforms/AttentionOutputs.h"
#include "lib/Analysis/DimRelations.h"
#include "lib/Support/CheckedMath.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace rapt;
using attn::AttentionOp;
using attn::AttnDialect;

namespace {

constexpr int64_t mostPositions = 8192; // a row of weights is dense
constexpr int64_t mostLayers = 65536;

/// The keys of a source lie in the cache and their number is told; a text's own are packed as the queries are, or as
/// long as its past and the queries.
AttentionKind kindOf(AttentionOp op) {
  return op.getKvLength() && !op.getQOffset() ? AttentionKind::Cross : AttentionKind::Self;
}

/// Whether queries are other rows than the tokens, such as a learned one for each image.
bool isPool(AttentionOp op) {
  return op.getQBegin() && op.getKvBegin() && !op.getKvLength() && op.getQBegin() != op.getKvBegin();
}

} // namespace

AttentionOutput::AttentionOutput(func::FuncOp entry, AttentionKind kind, AttentionResult what, std::string name,
                                 const AttentionRequest &request)
    : entry(entry), kind(kind), what(what), name(std::move(name)), request(request), rewriter(entry.getContext()) {
  entry.walk([&](AttentionOp op) {
    if (kindOf(op) == kind && !op->hasAttr(AttnDialect::repeatedAttr))
      (isPool(op) ? hasPools : hasLayers) = true;
  });
}

bool AttentionOutput::isLayer(AttentionOp op) const {
  return kindOf(op) == kind && !(hasLayers && isPool(op)) && !op->hasAttr(AttnDialect::repeatedAttr);
}

/// The argument's dim that an extent is, behind ops that keep it.
std::optional<AttentionOutput::Extent> AttentionOutput::traceExtent(Value tensor, unsigned dim) {
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
LogicalResult AttentionOutput::measure(AttentionOp op) {
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
  if (what == AttentionResult::Weights && op.getWeights())
    return emitError(op.getLoc()) << name << " is asked for, and this attention gives its weights already";
  if (first && count != headCount)
    return emitError(op.getLoc()) << name << " needs one number of heads in all layers, found " << headCount << " and "
                                  << count;
  if (!first)
    first = op;
  headCount = count;
  return success();
}

FailureOr<int64_t> AttentionOutput::countLayers(Block &block) {
  int64_t count = 0;
  for (Operation &op : block) {
    if (auto attention = dyn_cast<AttentionOp>(op); attention && isLayer(attention)) {
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

LogicalResult AttentionOutput::choose(SmallVector<int64_t> &chosen, ArrayRef<int64_t> asked, int64_t count,
                                      const char *which) {
  chosen.assign(asked.begin(), asked.end());
  for (int64_t i = 0; asked.empty() && i < count; ++i)
    chosen.push_back(i);
  for (int64_t number : chosen)
    if (number < 0 || number >= count)
      return emitError(entry.getLoc()) << which << " " << number << " is asked for; " << name << " has " << which
                                       << "s 0 to " << count - 1;
  return success();
}

/// Sources of features: each row of an argument becomes a number of tokens.
std::optional<AttentionOutput::EqualRows> AttentionOutput::findSources(attn::EqualRowsOp rows) {
  std::optional<int64_t> length = getConstantIntValue(rows.getLength());
  auto size = rows.getRows().getDefiningOp<tensor::DimOp>();
  auto source = size ? dyn_cast<BlockArgument>(size.getSource()) : BlockArgument();
  if (!length || !source || source.getOwner() != &entry.getBody().front() || size.getConstantIndex() != 0)
    return std::nullopt;
  StringAttr dim = nameOf({source, 0});
  return dim ? std::optional(EqualRows{rows, dim.getValue().str(), "", *length}) : std::nullopt;
}

/// Images become as many tokens as they have patches, and those that were learned; features become a number.
std::optional<AttentionOutput::EqualRows> AttentionOutput::findEqualRows() {
  Block &body = entry.getBody().front();
  auto patches = body.getOps<attn::PatchesOp>();
  auto tokens = body.getOps<attn::ImageTokensOp>();
  auto rows = body.getOps<attn::EqualRowsOp>();
  if (std::optional<EqualRows> sources = rows.empty() ? std::nullopt : findSources(*rows.begin()))
    return sources;
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
  return EqualRows{*rows.begin(), cast<StringAttr>(dims[0]).getValue().str(), extent + "+" + std::to_string(learned),
                   most + learned};
}

/// The offsets of packed texts, each of which a query of its own pools.
std::optional<BlockArgument> AttentionOutput::findPooledTexts() {
  if (!isPool(first))
    return std::nullopt;
  auto queries = first.getQBegin().getDefiningOp<attn::EqualRowsOp>();
  auto offsets = dyn_cast<BlockArgument>(first.getKvBegin());
  if (!queries || getConstantIntValue(queries.getLength()) != 1 || !offsets ||
      offsets.getOwner() != &entry.getBody().front())
    return std::nullopt;
  StringAttr name = nameOf({offsets, 0});
  return name && name.getValue().ends_with("+1") ? std::optional(offsets) : std::nullopt;
}

/// Log-sum-exp has one number for all keys of a query, however many there are.
LogicalResult AttentionOutput::checkSize(int64_t positions, const char *advice) {
  const bool hasKeys = what == AttentionResult::Weights;
  if (hasKeys && (positions < 1 || positions > mostPositions))
    return emitError(entry.getLoc()) << "the model has " << positions << " positions, at most " << mostPositions
                                     << " can be looked at: " << advice;
  const int64_t extents[] = {int64_t(layers.size()), int64_t(heads.size()), hasKeys ? positions : 1};
  if (std::optional<int64_t> all = checkedProduct<int64_t>(extents); !all || *all > INT32_MAX)
    return emitError(entry.getLoc()) << name << " has " << extents[0] << " layers of " << extents[1] << " heads of "
                                     << extents[2] << " keys, more numbers for a token than " << INT32_MAX
                                     << ": ask for fewer layers or heads";
  return success();
}

RankedTensorType AttentionOutput::packedType(int64_t tokens, int64_t positions) {
  SmallVector<int64_t> shape = {tokens, int64_t(layers.size()), int64_t(heads.size())};
  if (what == AttentionResult::Weights)
    shape.push_back(positions);
  return RankedTensorType::get(shape, rewriter.getF32Type());
}

LogicalResult AttentionOutput::addOutput(Value value, ArrayAttr dims) {
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

Value AttentionOutput::constant(Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(rewriter, loc, value);
}

Value AttentionOutput::add(Location loc, Value number, int64_t more) {
  if (number && more == 0)
    return number;
  return number ? Value(arith::AddIOp::create(rewriter, loc, number, constant(loc, more))) : constant(loc, more);
}

/// The index that a layer has in the output; `missing` where it is not asked for.
Value AttentionOutput::find(Location loc, Value layer, int64_t missing) {
  if (request.layers.empty())
    return layer;
  Value slot = constant(loc, missing);
  for (auto [place, chosen] : llvm::enumerate(layers)) {
    Value isHere = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, layer, constant(loc, chosen));
    slot = arith::SelectOp::create(rewriter, loc, isHere, constant(loc, place), slot);
  }
  return slot;
}

/// `output` with what one attention gives, which is layer `layer` of all.
Value AttentionOutput::record(AttentionOp attention, Value output, Value layer) {
  return what == AttentionResult::Weights ? recordWeights(attention, output, layer)
                                          : recordLogSumExp(attention, output, layer);
}

/// The op itself leaves out a layer that it does not have.
Value AttentionOutput::recordWeights(AttentionOp attention, Value weights, Value layer) {
  Value slot = find(attention.getLoc(), layer, /*missing=*/-1);
  return attention
      .replaceOutputs(rewriter, attention.getLseMapAttr(), weights, slot, rewriter.getDenseI64ArrayAttr(heads))
      .getNewWeights();
}

/// Log-sum-exp of an attention as [tokens, heads].
Value AttentionOutput::flattenHeads(AttentionOp attention) {
  Value lse = attention.getLse();
  Location loc = attention.getLoc();
  SmallVector<int64_t> permutation;
  for (AttentionOp::Dim dim : {AttentionOp::Q, AttentionOp::HKV, AttentionOp::G})
    if (std::optional<unsigned> own = attention.dimOfLse(dim))
      permutation.push_back(*own);
  if (!llvm::is_sorted(permutation)) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, lse), permuted;
    for (int64_t dim : permutation)
      permuted.push_back(sizes[dim]);
    Value empty = tensor::EmptyOp::create(rewriter, loc, permuted, rewriter.getF32Type());
    lse = linalg::TransposeOp::create(rewriter, loc, lse, empty, permutation)->getResult(0);
  }
  if (permutation.size() < 3)
    return lse;
  return tensor::CollapseShapeOp::create(rewriter, loc, lse, ArrayRef<ReassociationIndices>{{0}, {1, 2}});
}

/// A layer that is not asked for writes no rows.
Value AttentionOutput::recordLogSumExp(AttentionOp attention, Value output, Value layer) {
  if (!attention.getLse())
    attention = attention.replaceOutputs(rewriter, AttentionOp::getDefaultLseMap(attention.getMaps()),
                                         attention.getWeights(), attention.getLayer(), attention.getHeadsAttr());
  Location loc = attention.getLoc();
  rewriter.setInsertionPointAfter(attention);
  Value slot = find(loc, layer, /*missing=*/layers.size());
  Value lse = flattenHeads(attention);
  OpFoldResult rows = tensor::getMixedSize(rewriter, loc, lse, 0);
  if (!request.layers.empty()) {
    Value missing = constant(loc, layers.size()), none = constant(loc, 0);
    Value isHere = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne, slot, missing);
    Value all = getValueOrCreateConstantIndexOp(rewriter, loc, rows);
    rows = Value(arith::SelectOp::create(rewriter, loc, isHere, all, none));
    slot = arith::SelectOp::create(rewriter, loc, isHere, slot, none);
  }
  const OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  const bool hasHeads = cast<RankedTensorType>(lse.getType()).getRank() == 2;
  for (size_t place = 0, count = 0; place < heads.size(); place += count) {
    for (count = 1; place + count < heads.size() && heads[place + count] == heads[place] + int64_t(count);)
      ++count;
    const OpFoldResult width = rewriter.getIndexAttr(int64_t(count));
    Value part = lse;
    if (hasHeads && (!request.layers.empty() || int64_t(count) != headCount))
      part = tensor::ExtractSliceOp::create(rewriter, loc, lse, {zero, rewriter.getIndexAttr(heads[place])},
                                            {rows, width}, {one, one});
    else if (!request.layers.empty())
      part = tensor::ExtractSliceOp::create(rewriter, loc, lse, {zero}, {rows}, {one});
    output =
        tensor::InsertSliceOp::create(rewriter, loc, part, output, {zero, slot, rewriter.getIndexAttr(int64_t(place))},
                                      {rows, one, width}, {one, one, one});
  }
  return output;
}

Value AttentionOutput::throughLoop(scf::ForOp loop, Value output, Value before) {
  const int64_t each = counts.lookup(loop.getBody());
  rewriter.setInsertionPoint(loop);
  auto longer =
      cast<scf::ForOp>(*loop.replaceWithAdditionalYields(rewriter, output, /*replaceInitOperandUsesInLoop=*/false,
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

/// Passes the output through a block; gives it as it is at the end. `before` is the number of layers before it,
/// null where there are none.
Value AttentionOutput::thread(Block &block, Value output, Value before) {
  int64_t done = 0;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    rewriter.setInsertionPoint(&op);
    if (auto attention = dyn_cast<AttentionOp>(op); attention && isLayer(attention)) {
      output = record(attention, output, add(op.getLoc(), before, done));
      ++done;
    } else if (auto loop = dyn_cast<scf::ForOp>(op); loop && counts.lookup(loop.getBody()) > 0) {
      const int64_t all = counts.lookup(loop.getBody()) * int64_t(loop.getStaticTripCount()->getLimitedValue());
      output = throughLoop(loop, output, before || done > 0 ? add(op.getLoc(), before, done) : Value());
      done += all;
    }
  }
  return output;
}

/// The name that the entry gives an extent; null where it has none.
StringAttr AttentionOutput::nameOf(Extent extent) {
  if (!extent.argument)
    return {};
  auto names = entry.getArgAttrOfType<ArrayAttr>(extent.argument.getArgNumber(), AttnDialect::dimsAttr);
  auto type = cast<RankedTensorType>(extent.argument.getType());
  const size_t place = llvm::count_if(type.getShape().take_front(extent.dim), ShapedType::isDynamic);
  return names && place < names.size() ? cast<StringAttr>(names[place]) : StringAttr();
}

LogicalResult AttentionOutput::checkName() {
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

/// The attention whose own log-sum-exp is the output, in whatever order of dims: a kernel's only one, or one with a dim
/// b, which no packed output has. Null where layers are stacked.
AttentionOp AttentionOutput::findSingle() {
  if (what != AttentionResult::LogSumExp || !request.layers.empty() || !request.heads.empty())
    return {};
  AttentionOp single;
  bool isAlone = true;
  entry.walk([&](AttentionOp op) {
    isAlone = isAlone && (!isLayer(op) || (!single && op->getParentOp() == entry));
    single = isLayer(op) ? op : single;
  });
  const bool hasRows = single.dimOf(3, AttentionOp::B).has_value();
  return isAlone && (hasRows || attn::isKernelModule(entry->getParentOp())) ? single : AttentionOp();
}

LogicalResult AttentionOutput::runOnSingle(AttentionOp attention) {
  if (!attention.getLse())
    attention = attention.replaceOutputs(rewriter, AttentionOp::getDefaultLseMap(attention.getMaps()),
                                         attention.getWeights(), attention.getLayer(), attention.getHeadsAttr());
  SmallVector<Attribute> dims;
  RankedTensorType type = attention.getLse().getType();
  for (int64_t i = 0; i < type.getRank(); ++i) {
    std::optional<Extent> extent = type.isDynamicDim(i) ? traceExtent(attention.getLse(), i) : std::optional<Extent>();
    if (StringAttr dim = extent ? nameOf(*extent) : StringAttr())
      dims.push_back(dim);
  }
  const bool isNamed = dims.size() == size_t(type.getNumDynamicDims());
  if (!isNamed && !attn::isKernelModule(entry->getParentOp()))
    return emitError(attention.getLoc()) << name << " needs extents that arguments of " << entry.getSymName()
                                         << " have";
  return addOutput(attention.getLse(), isNamed && !dims.empty() ? rewriter.getArrayAttr(dims) : ArrayAttr());
}

LogicalResult AttentionOutput::run() {
  if (AttentionOp single = findSingle())
    return failed(checkName()) ? failure() : runOnSingle(single);
  FailureOr<int64_t> layerCount = countLayers(entry.getBody().front());
  if (failed(layerCount) || failed(choose(layers, request.layers, *layerCount, "layer")) ||
      failed(choose(heads, request.heads, headCount, "head")) || failed(checkName()))
    return failure();
  if (std::optional<Extent> tokens = traceExtent(first.getQuery(), *first.dimOf(0, AttentionOp::Q)))
    return runOnTokens(*tokens);
  if (std::optional<EqualRows> rows = findEqualRows())
    return runOnEqualRows(*rows);
  if (std::optional<BlockArgument> offsets = *layerCount == 1 ? findPooledTexts() : std::nullopt)
    return runOnPools(*offsets);
  return emitError(first.getLoc()) << name << " needs queries as many as an argument of " << entry.getSymName()
                                   << " has tokens, which those of this attention are not known to be";
}

LogicalResult AttentionOutput::runOnTokens(Extent tokens) {
  auto module = entry->getParentOfType<ModuleOp>();
  if (what == AttentionResult::Weights && request.positions == 0 && attn::isKernelModule(module))
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

/// The output has a row for each text.
LogicalResult AttentionOutput::runOnPools(BlockArgument offsets) {
  if (failed(checkSize(request.positions, "shorten them with --max-seq-len, or with the option positions")))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  const Location loc = entry.getLoc();
  Value size = tensor::DimOp::create(builder, loc, offsets, 0);
  Value rows = arith::SubIOp::create(builder, loc, size, arith::ConstantIndexOp::create(builder, loc, 1));
  Value empty = tensor::EmptyOp::create(builder, loc, packedType(ShapedType::kDynamic, request.positions), rows);
  StringRef dim = nameOf({offsets, 0}).getValue();
  return addOutput(thread(entry.getBody().front(), empty, Value()),
                   builder.getStrArrayAttr({dim.drop_back(StringRef("+1").size())}));
}

/// The output has the tokens of images, or of features, as a dim of its own.
LogicalResult AttentionOutput::runOnEqualRows(EqualRows equal) {
  const bool isStatic = equal.extent.empty();
  if (failed(checkSize(equal.most, isStatic ? "ask for fewer layers or heads" : "images must be smaller")))
    return failure();
  OpBuilder builder(equal.rows->getContext());
  builder.setInsertionPointAfter(equal.rows);
  Location loc = equal.rows.getLoc();
  Value rows = equal.rows.getRows(), length = equal.rows.getLength();
  Value tokens = arith::MulIOp::create(builder, loc, rows, length);
  RankedTensorType packed = packedType(ShapedType::kDynamic, equal.most);
  Value after =
      thread(entry.getBody().front(), tensor::EmptyOp::create(builder, loc, packed, ValueRange{tokens}), Value());
  SmallVector<int64_t> shape(packed.getShape());
  shape[0] = isStatic ? equal.most : ShapedType::kDynamic;
  shape.insert(shape.begin(), ShapedType::kDynamic);
  auto type = RankedTensorType::get(shape, packed.getElementType());
  builder.setInsertionPoint(entry.getBody().front().getTerminator());
  if (!isStatic)
    return addOutput(attn::UnpackRowsOp::create(builder, loc, type, after, length),
                     builder.getStrArrayAttr({equal.first, equal.extent}));
  SmallVector<OpFoldResult> sizes{OpFoldResult(rows)};
  SmallVector<ReassociationIndices> dims{{0, 1}};
  for (int64_t i = 1; i < type.getRank(); ++i) {
    sizes.push_back(builder.getIndexAttr(shape[i]));
    if (i > 1)
      dims.push_back({i});
  }
  return addOutput(tensor::ExpandShapeOp::create(builder, loc, type, after, dims, sizes),
                   builder.getStrArrayAttr({equal.first}));
}
