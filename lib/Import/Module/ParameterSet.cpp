//===- ParameterSet.cpp - The weights of a family -------------------------===//
#include "lib/Import/Module/ParameterSet.h"
#include "dialect/Attn/AttnOps.h"
#include "lib/Formats/HuggingFace/MatmulTensors.h"
#include "lib/Import/Module/ModelConfig.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <map>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

bool Stack::contains(int64_t layer) const {
  return numbers.empty() ? layer >= first && layer < first + layers : llvm::is_contained(numbers, layer);
}

int64_t Stack::placeOf(int64_t layer) const {
  return numbers.empty() ? layer - first : llvm::find(numbers, layer) - numbers.begin();
}

Stack Stack::those(llvm::function_ref<bool(int64_t layer)> has) const {
  Stack some{0, name};
  for (int64_t place = 0; place < layers; ++place)
    if (has(number(place)))
      some.numbers.push_back(number(place));
  some.layers = int64_t(some.numbers.size());
  some.first = some.numbers.front();
  if (some.numbers.back() - some.first + 1 == some.layers)
    some.numbers.clear();
  else
    some.first = 0;
  return some;
}

bool importing::areFromZero(const LayerNumbers &layers) {
  return layers.front() == 0 && layers.back() + 1 == int64_t(layers.size());
}

Value LayerRef::placeAmong(const LayerNumbers &layers) const {
  const auto *found = llvm::find_if(places, [&](const LayerPlace &place) { return place.among == layers; });
  assert((found != places.end() || areFromZero(layers)) && "the stack's loop gives the layer no such place");
  return found == places.end() ? number : found->place;
}

void ParameterSet::push(Weight weight) {
  auto isSame = [&](const Weight &other) { return other.symbol == weight.symbol && other.stack == weight.stack; };
  if (llvm::none_of(weights, isSame))
    weights.push_back(std::move(weight));
}

ParameterSet::Weight ParameterSet::plain(std::string symbol, std::string tensor, std::vector<int64_t> shape, Init init,
                                         std::optional<Stack> stack) {
  return {.symbol = std::move(symbol),
          .sources = {{std::move(tensor), shape}},
          .shape = shape,
          .init = init,
          .stack = std::move(stack)};
}

void ParameterSet::add(std::string symbol, std::string tensor, std::vector<int64_t> shape, Init init,
                       std::optional<Stack> stack) {
  push(plain(std::move(symbol), std::move(tensor), std::move(shape), init, std::move(stack)));
}

void ParameterSet::addConv1D(std::string symbol, std::string tensor, std::vector<int64_t> shape, Init init,
                             std::optional<Stack> stack) {
  Weight weight = plain(std::move(symbol), std::move(tensor), std::move(shape), init, std::move(stack));
  weight.isConv1D = true;
  push(std::move(weight));
}

void ParameterSet::addTable(std::string symbol, std::string tensor, std::vector<int64_t> shape, Init init,
                            std::optional<Stack> stack) {
  Weight weight = plain(std::move(symbol), std::move(tensor), std::move(shape), init, std::move(stack));
  weight.isTable = true;
  push(std::move(weight));
}

/// Leaves out steps that change nothing: the shape of what is made.
static std::vector<int64_t> simplify(artifact::Source &source) {
  std::vector<artifact::Transform> steps = std::exchange(source.transforms, {});
  std::vector<int64_t> shape = source.shape;
  for (artifact::Transform &step : steps) {
    Expected<artifact::Shape> after = artifact::shapeAfter(step, shape);
    assert(after && "the family's transforms fit the shape that it gives");
    const bool isOfShape =
        std::holds_alternative<artifact::Slice>(step) || std::holds_alternative<artifact::Reshape>(step);
    if (*after != shape || !isOfShape)
      source.transforms.push_back(std::move(step));
    shape = std::move(*after);
  }
  return shape;
}

void ParameterSet::addTransformed(std::string symbol, artifact::Source source, huggingface::Init init,
                                  std::optional<Stack> stack) {
  std::vector<int64_t> shape = simplify(source);
  push({.symbol = std::move(symbol),
        .sources = {std::move(source)},
        .shape = std::move(shape),
        .init = init,
        .stack = std::move(stack)});
}

void ParameterSet::addRows(std::string symbol, std::vector<artifact::Source> sources, huggingface::Init init,
                           std::optional<Stack> stack, bool isTable) {
  addJoined(std::move(symbol), std::move(sources), /*dim=*/0, init, std::move(stack), isTable);
}

void ParameterSet::addJoined(std::string symbol, std::vector<artifact::Source> sources, int64_t dim,
                             huggingface::Init init, std::optional<Stack> stack, bool isTable) {
  assert(!sources.empty() && "a weight comes from somewhere");
  std::vector<int64_t> shape;
  for (artifact::Source &source : sources) {
    std::vector<int64_t> part = simplify(source);
    if (!shape.empty())
      part[size_t(dim)] += shape[size_t(dim)];
    shape = std::move(part);
  }
  push({.symbol = std::move(symbol),
        .sources = std::move(sources),
        .shape = std::move(shape),
        .init = init,
        .stack = std::move(stack),
        .dim = dim,
        .isTable = isTable});
}

void ParameterSet::addTransposedMatmul(std::string symbol, const artifact::Source &left, const artifact::Source &right,
                                       huggingface::Init init, std::optional<Stack> stack) {
  artifact::Source source{
      huggingface::matmulName(left.name, right.name), {left.shape[0], right.shape[1]}, {artifact::Transpose{{1, 0}}}};
  std::vector<int64_t> shape = simplify(source);
  push({.symbol = std::move(symbol),
        .sources = {std::move(source)},
        .shape = std::move(shape),
        .init = init,
        .stack = std::move(stack),
        .isTable = true,
        .left = left});
}

void ParameterSet::moveLast(size_t first, StringRef symbol) {
  auto isOfPart = [&](StringRef own) { return own.consume_front(symbol) && (own.empty() || own.starts_with(".")); };
  for (size_t i = first, end = weights.size(); i < end;)
    if (isOfPart(weights[i].symbol)) {
      std::rotate(weights.begin() + i, weights.begin() + i + 1, weights.end());
      --end;
    } else {
      ++i;
    }
}

void ParameterSet::addHead(std::string symbol, std::string tensor, std::vector<int64_t> shape, huggingface::Init init,
                           bool tied, std::string table) {
  headSymbol = symbol;
  tiedTable = tied ? std::move(table) : std::string();
  add(std::move(symbol), std::move(tensor), std::move(shape), init);
}

/// Drops the head's own matrix where the embedding is the head.
Status ParameterSet::resolveHead(huggingface::ModelDescription &model) {
  if (tiedTable.empty())
    return {};
  RAPT_ASSIGN_OR_RETURN(
      bool isTied, isHeadTied(model, find(headSymbol)->sources.front().name, find(tiedTable)->sources.front().name));
  if (isTied) {
    llvm::erase_if(weights, [&](const Weight &weight) { return weight.symbol == headSymbol; });
    headSymbol = tiedTable;
  }
  return {};
}

Status ParameterSet::resolve(huggingface::ModelDescription &model, const std::vector<std::string_view> &ignored) {
  RAPT_RETURN_IF_ERROR(resolveHead(model));
  std::vector<huggingface::TensorRequest> requests;
  for (const Weight &weight : weights) {
    for (int64_t place = 0; place < layersOf(weight); ++place)
      for (const artifact::Source &own : weight.sources) {
        const artifact::Source &source = weight.left ? *weight.left : own;
        requests.push_back({weight.stack ? artifact::sourceName(source, numberOf(weight, place)) : source.name,
                            source.shape, weight.init, weight.isConv1D});
      }
  }
  RAPT_ASSIGN_OR_RETURN(std::vector<huggingface::ResolvedTensor> resolved, model.resolve(std::move(requests), ignored));

  auto tensor = resolved.begin();
  for (Weight &weight : weights) {
    for (int64_t place = 0; place < layersOf(weight); ++place) {
      RAPT_ASSIGN_OR_RETURN(Storage storage, storageOf(weight, {tensor, weight.sources.size()}));
      tensor += int64_t(weight.sources.size());
      auto run = llvm::find_if(weight.runs, [&](const Run &other) { return other.storage == storage; });
      if (run == weight.runs.end())
        run = &weight.runs.emplace_back(Run{{}, storage, weight.symbol});
      run->places.push_back(place);
    }
    const bool isOne = llvm::count_if(weights, [&](const Weight &other) { return other.symbol == weight.symbol; }) == 1;
    if (weight.runs.size() > 1 || !isOne)
      for (Run &run : weight.runs)
        run.symbol += "." + std::to_string(numberOf(weight, run.places.front()));
  }
  return {};
}

/// The storage of a weight in one layer, of which `sources` are the tensors.
Expected<ParameterSet::Storage> ParameterSet::storageOf(const Weight &weight,
                                                        std::span<const huggingface::ResolvedTensor> sources) {
  const Storage first{sources.front().dtype, sources.front().blocks};
  const bool areBlocks = llvm::any_of(sources, [](const auto &source) { return source.blocks; });
  bool isOne = true;
  for (auto [i, source] : llvm::enumerate(sources)) {
    isOne &= source.blocks == first.blocks;
    if (source.dtype != first.dtype && !areBlocks)
      return Error{"tensors \"" + weight.sources.front().name + "\" and \"" + weight.sources[i].name +
                   "\" of the checkpoint have different types, but are parts of one weight; convert it to one type"};
  }
  // A table that is read element by element is of f32, and so are numbers of different blocks beside one another.
  if (weight.shape.size() == 1 || weight.isTable || !isOne)
    return Storage{artifact::DType::F32, nullptr};
  return first;
}

static Type elementType(MLIRContext *context, artifact::DType dtype) {
  switch (dtype) {
  case artifact::DType::F32:
    return Float32Type::get(context);
  case artifact::DType::BF16:
    return BFloat16Type::get(context);
  case artifact::DType::F16:
    return Float16Type::get(context);
  }
  llvm_unreachable("every storage type is handled");
}

RankedTensorType ParameterSet::sliceType(MLIRContext *context, const Weight &weight, const Run &run) const {
  return RankedTensorType::get(weight.shape, elementType(context, run.storage.dtype));
}

static attn::SourceTransformInterface toAttribute(MLIRContext *context, const artifact::Transform &transform) {
  if (const auto *slice = std::get_if<artifact::Slice>(&transform))
    return attn::SliceAttr::get(context, slice->dim, slice->begin, slice->end);
  if (const auto *transpose = std::get_if<artifact::Transpose>(&transform))
    return attn::TransposeAttr::get(context, transpose->order);
  if (const auto *reshape = std::get_if<artifact::Reshape>(&transform))
    return attn::ReshapeAttr::get(context, reshape->shape);
  if (const auto *cast = std::get_if<artifact::Cast>(&transform))
    return attn::CastAttr::get(context, mlir::cast<FloatType>(elementType(context, cast->type)));
  if (const auto *sum = std::get_if<artifact::Add>(&transform))
    return attn::AddAttr::get(context, APFloat(sum->summand));
  return attn::ScaleAttr::get(context, APFloat(std::get<artifact::Scale>(transform).factor));
}

/// The shape is left out where it follows from the parameter's type, which it does not where there are other sources.
static attn::SourceAttr toAttribute(MLIRContext *context, const artifact::Source &source, const BlockFormat *blocks,
                                    bool isAlone) {
  auto transforms = llvm::map_to_vector(
      source.transforms, [&](const artifact::Transform &transform) { return toAttribute(context, transform); });
  const std::optional<attn::QuantizedCode> code = blocks ? std::optional(attn::codeOf(*blocks)) : std::nullopt;
  auto result = attn::SourceAttr::get(context, source.name, code, /*shape=*/nullptr, transforms);
  const bool isKnown = isAlone && result.storedShape(*artifact::shapeOf(source));
  return isKnown ? result : result.withShape(source.shape);
}

void ParameterSet::declare(OpBuilder &builder) const {
  MLIRContext *context = builder.getContext();
  for (const Weight &weight : weights) {
    Location loc = NameLoc::get(builder.getStringAttr(weight.sources.front().name));
    attn::JoinAttr join;
    if (weight.sources.size() > 1)
      join = attn::JoinAttr::get(context, attn::JoinKind::concat, weight.dim);
    for (const Run &run : weight.runs) {
      SmallVector<Attribute> sources;
      for (const artifact::Source &source : weight.sources)
        sources.push_back(toAttribute(context, source, run.storage.blocks, weight.sources.size() == 1));
      RankedTensorType type = sliceType(context, weight, run);
      IntegerAttr layers;
      DenseI64ArrayAttr numbers;
      if (weight.stack) {
        const auto count = int64_t(run.places.size());
        SmallVector<int64_t> shape{count};
        llvm::append_range(shape, weight.shape);
        type = RankedTensorType::get(shape, type.getElementType());
        layers = builder.getI64IntegerAttr(count);
        if (!weight.stack->numbers.empty() || !run.isWhole())
          numbers = builder.getDenseI64ArrayAttr(numbersOf(weight, run));
      }
      attn::ParameterOp::create(builder, loc, builder.getStringAttr(run.symbol), TypeAttr::get(type), layers,
                                builder.getI64IntegerAttr(numbers ? 0 : numberOf(weight, run.places.front())), numbers,
                                join, builder.getArrayAttr(sources),
                                /*layout=*/nullptr, /*offset=*/nullptr, /*stride=*/nullptr);
    }
  }
}

size_t ParameterSet::runOf(const Weight &weight, int64_t layer) {
  const int64_t place = weight.stack->placeOf(layer);
  return llvm::find_if(weight.runs, [&](const Run &run) { return run.hasPlace(place); }) - weight.runs.begin();
}

LayerNumbers ParameterSet::numbersOf(const Weight &weight, const Run &run) {
  LayerNumbers numbers;
  for (int64_t place : run.places)
    numbers.push_back(numberOf(weight, place));
  return numbers;
}

std::vector<unsigned> ParameterSet::sections(const Stack &stack) const {
  std::map<std::vector<std::optional<size_t>>, unsigned> numbers; // by the run of each weight that the layer has
  std::vector<unsigned> section;
  for (int64_t place = 0; place < stack.layers; ++place) {
    std::vector<std::optional<size_t>> runs;
    for (const Weight &weight : weights)
      if (weight.stack && weight.stack->name == stack.name)
        runs.push_back(weight.stack->contains(stack.number(place)) ? std::optional(runOf(weight, stack.number(place)))
                                                                   : std::nullopt);
    section.push_back(numbers.try_emplace(std::move(runs), numbers.size()).first->second);
  }
  return section;
}

std::vector<LayerNumbers> ParameterSet::scattered(const Stack &stack) const {
  std::vector<LayerNumbers> lists;
  auto add = [&](const LayerNumbers &list) {
    if (!llvm::is_contained(lists, list))
      lists.push_back(list);
  };
  for (const Weight &weight : weights) {
    if (!weight.stack || weight.stack->name != stack.name)
      continue;
    if (!weight.stack->numbers.empty())
      add(weight.stack->numbers);
    for (const Run &run : weight.runs)
      if (!run.isWhole())
        add(numbersOf(weight, run));
  }
  return lists;
}

Value ParameterSet::read(OpBuilder &builder, Location loc, StringRef symbol, const LayerRef *layer) const {
  const Weight *weight = find(symbol, layer);
  assert(weight && !weight->runs.empty() && "no such weight, or resolve was not called");
  assert((layer || !weight->stack) && "stacked weights are read by layer");
  const Run *run = &weight->runs.front();
  Value index;
  if (weight->stack) {
    run = &weight->runs[runOf(*weight, layer->example)];
    const LayerNumbers &numbers = weight->stack->numbers;
    const bool isListed = !numbers.empty();
    const int64_t firstPlace = run->places.front();
    index = !run->isWhole() ? layer->placeAmong(numbersOf(*weight, *run))
            : isListed      ? layer->placeAmong(numbers)
                            : layer->number;
    if (const int64_t first = !run->isWhole() ? 0 : isListed ? firstPlace : numberOf(*weight, firstPlace)) {
      Value begin = arith::ConstantIndexOp::create(builder, loc, first);
      index = arith::SubIOp::create(builder, loc, index, begin);
    }
  }
  return attn::ParameterSliceOp::create(builder, loc, sliceType(builder.getContext(), *weight, *run), run->symbol,
                                        index);
}

const ParameterSet::Weight *ParameterSet::find(StringRef symbol, const LayerRef *layer) const {
  auto at = llvm::find_if(weights, [&](const Weight &weight) {
    return weight.symbol == symbol && (!layer || !weight.stack || weight.stack->contains(layer->example));
  });
  return at == weights.end() ? nullptr : &*at;
}

int64_t ParameterSet::elements() const {
  int64_t sum = 0;
  for (const Weight &weight : weights)
    if (!weight.isOfAdapters)
      sum += layersOf(weight) * ShapedType::getNumElements(weight.left ? weight.left->shape : weight.shape);
  return sum;
}

void ParameterScope::add(const std::string &symbol, const std::string &tensor, std::vector<int64_t> shape,
                         Init init) const {
  parameters.add(symbols + symbol, tensors + tensor, std::move(shape), init, stack);
}

void ParameterScope::add(const std::string &name, std::vector<int64_t> shape, Init init) const {
  add(name, name, std::move(shape), init);
}

void ParameterScope::dense(const std::string &part, int64_t out, int64_t in, bool hasBias) const {
  add(part + ".weight", {out, in}, Init::weight(in));
  if (hasBias)
    add(part + ".bias", {out}, Init::bias());
}

const BlockFormat *ParameterSet::mostBlocks() const {
  std::map<const BlockFormat *, int64_t> counts;
  for (const Weight &weight : weights)
    for (const Run &run : weight.runs)
      counts[run.storage.blocks] += int64_t(run.places.size()) * llvm::product_of(weight.shape);
  auto most = std::ranges::max_element(counts, {}, [](const auto &count) { return count.second; });
  return most == counts.end() ? nullptr : most->first;
}
