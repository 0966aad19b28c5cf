//===- ParameterSet.cpp - The weights of a family -----------------------------===//
#include "lib/Import/ParameterSet.h"
#include "dialect/Attn/AttnOps.h"
#include "lib/Import/Heads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

void ParameterSet::add(std::string symbol, std::string tensor, std::vector<int64_t> shape, huggingface::Init init) {
  weights.push_back({std::move(symbol), std::move(tensor), shape, shape, init, std::nullopt, false, {}});
}

void ParameterSet::addView(std::string symbol, std::string tensor, std::vector<int64_t> shape,
                           std::vector<int64_t> stored, huggingface::Init init) {
  weights.push_back(
      {std::move(symbol), std::move(tensor), std::move(shape), std::move(stored), init, std::nullopt, false, {}});
}

void ParameterSet::addTransposed(std::string symbol, std::string tensor, std::vector<int64_t> stored,
                                 huggingface::Init init) {
  addView(std::move(symbol), std::move(tensor), {stored[1], stored[0]}, stored, init);
  weights.back().transposed = true;
}

void ParameterSet::addTable(std::string symbol, std::string tensor, std::vector<int64_t> shape,
                            huggingface::Init init) {
  weights.push_back({std::move(symbol), std::move(tensor), shape, shape, init, std::nullopt, true, {}});
}

void ParameterSet::addStacked(const Stack &stack, std::string symbol, std::string tensor, std::vector<int64_t> shape,
                              huggingface::Init init) {
  weights.push_back({std::move(symbol), std::move(tensor), shape, shape, init, stack, false, {}});
}

void ParameterSet::addStackedTransposed(const Stack &stack, std::string symbol, std::string tensor,
                                        std::vector<int64_t> stored, huggingface::Init init) {
  addTransposed(std::move(symbol), std::move(tensor), std::move(stored), init);
  weights.back().stack = stack;
}

void ParameterSet::addStackedRows(const Stack &stack, std::string symbol, std::string tensor,
                                  std::vector<int64_t> shape, int64_t first, int64_t rows, huggingface::Init init) {
  std::vector<int64_t> stored = shape;
  stored[0] = rows;
  weights.push_back(
      {std::move(symbol), std::move(tensor), std::move(shape), std::move(stored), init, stack, false, {}, first});
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
  Expected<bool> isTied = isHeadTied(model, find(headSymbol)->tensor, find(tiedTable)->tensor);
  if (!isTied)
    return isTied.error();
  if (*isTied) {
    llvm::erase_if(weights, [&](const Weight &weight) { return weight.symbol == headSymbol; });
    headSymbol = tiedTable;
  }
  return {};
}

Status ParameterSet::resolve(huggingface::ModelDescription &model, std::initializer_list<std::string_view> ignored) {
  if (Status status = resolveHead(model); !status)
    return status;
  std::vector<huggingface::TensorRequest> requests;
  for (const Weight &weight : weights) {
    if (!weight.stack) {
      requests.push_back({weight.tensor, weight.stored, weight.init});
      continue;
    }
    size_t at = StringRef(weight.tensor).find(layerPlaceholder);
    assert(at != StringRef::npos && "a stacked weight's name must hold {layer}");
    for (int64_t layer = 0; layer < weight.stack->layers; ++layer) {
      std::string name = weight.tensor;
      name.replace(at, layerPlaceholder.size(), std::to_string(weight.stack->first + layer));
      requests.push_back({std::move(name), weight.stored, weight.init});
    }
  }
  Expected<std::vector<huggingface::ResolvedTensor>> resolved = model.resolve(std::move(requests), ignored);
  if (!resolved)
    return resolved.error();

  auto tensor = resolved->begin();
  for (Weight &weight : weights) {
    int64_t first = weight.stack ? weight.stack->first : 0;
    for (int64_t layer = first, end = first + layersOf(weight); layer < end; ++layer, ++tensor) {
      artifact::DType dtype = weight.shape.size() == 1 || weight.isTable ? artifact::DType::F32 : tensor->dtype;
      if (weight.runs.empty() || weight.runs.back().dtype != dtype)
        weight.runs.push_back({layer, 0, dtype, weight.symbol});
      ++weight.runs.back().count;
    }
    if (weight.runs.size() > 1)
      for (Run &run : weight.runs)
        run.symbol += "." + std::to_string(run.first);
  }
  return {};
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
  return RankedTensorType::get(weight.shape, elementType(context, run.dtype));
}

void ParameterSet::declare(OpBuilder &builder) const {
  MLIRContext *context = builder.getContext();
  for (const Weight &weight : weights) {
    Location loc = NameLoc::get(builder.getStringAttr(weight.tensor));
    SmallVector<int64_t, 2> rows;
    if (weight.isPart())
      rows = {weight.firstRow, weight.firstRow + weight.shape[0]};
    auto source = attn::SourceAttr::get(context, weight.tensor, weight.transposed, rows);
    for (const Run &run : weight.runs) {
      RankedTensorType type = sliceType(context, weight, run);
      IntegerAttr layers;
      if (weight.stack) {
        SmallVector<int64_t> shape{run.count};
        llvm::append_range(shape, weight.shape);
        type = RankedTensorType::get(shape, type.getElementType());
        layers = builder.getI64IntegerAttr(run.count);
      }
      attn::ParameterOp::create(builder, loc, builder.getStringAttr(run.symbol), TypeAttr::get(type), layers,
                                builder.getI64IntegerAttr(run.first), builder.getArrayAttr({source}),
                                /*layout=*/nullptr, /*offset=*/nullptr, /*stride=*/nullptr);
    }
  }
}

std::vector<unsigned> ParameterSet::sections(const Stack &stack) const {
  std::vector<unsigned> section(stack.layers, 0);
  for (const Weight &weight : weights)
    if (weight.stack && weight.stack->name == stack.name)
      for (const Run &run : weight.runs)
        section[run.first - stack.first] = run.first != stack.first;
  // Runs are contiguous, so a layer reads other parameters than the one before exactly where some run begins.
  for (int64_t layer = 1; layer < stack.layers; ++layer)
    section[layer] += section[layer - 1];
  return section;
}

Value ParameterSet::read(OpBuilder &builder, Location loc, StringRef symbol, const LayerRef *layer) const {
  const Weight *weight = find(symbol);
  assert(weight && !weight->runs.empty() && "no such weight, or resolve was not called");
  assert(weight->stack.has_value() == (layer != nullptr) && "stacked weights are read by layer, others without");
  const Run *run = &weight->runs.front();
  Value index;
  if (layer) {
    while (layer->example >= run->first + run->count)
      ++run;
    index = layer->number;
    if (run->first != 0) {
      Value first = arith::ConstantIndexOp::create(builder, loc, run->first);
      index = arith::SubIOp::create(builder, loc, index, first);
    }
  }
  return attn::ParameterSliceOp::create(builder, loc, sliceType(builder.getContext(), *weight, *run), run->symbol,
                                        index);
}

const ParameterSet::Weight *ParameterSet::find(StringRef symbol) const {
  auto at = llvm::find_if(weights, [&](const Weight &weight) { return weight.symbol == symbol; });
  return at == weights.end() ? nullptr : &*at;
}

int64_t ParameterSet::elements() const {
  int64_t sum = 0;
  for (const Weight &weight : weights)
    sum += layersOf(weight) * ShapedType::getNumElements(weight.shape);
  return sum;
}
