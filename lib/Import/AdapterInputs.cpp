//===- AdapterInputs.cpp ------------------------------------------------------===//
#include "lib/Import/AdapterInputs.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

int64_t importing::matricesOf(const ModelFacts &facts) { return 1 + int64_t(facts.adapters.size()); }

MoreOfEntry importing::adapterInputs(MLIRContext &context, const ModelFacts &facts, const ImportOptions &options) {
  if (facts.adapters.empty())
    return {};
  Type i32 = IntegerType::get(&context, 32), list = tensorOf({ShapedType::kDynamic}, i32);
  return {.dims = {{"adapted", 0, options.maxTokens}},
          .inputs = {{"adapter_rows", list, {"adapted"}},
                     {"adapter_groups", tensorOf({matricesOf(facts) + 1, 2}, i32), {}},
                     {"adapter_of", list, {"tokens"}}}};
}

std::optional<EntryBuffer> importing::imageAdapterInput(Builder builder, const ModelFacts &facts,
                                                        const std::string &images) {
  if (facts.adapters.empty())
    return std::nullopt;
  return EntryBuffer{.name = "adapter",
                     .type = tensorOf({ShapedType::kDynamic}, builder.getI32Type()),
                     .dims = {images},
                     .limit = matricesOf(facts),
                     .optional = true};
}

std::optional<AdapterRows> importing::orderImages(OpBuilder &builder, Location loc, const ImageAdapters &adapters,
                                                  Value length) {
  if (!adapters.numbers)
    return std::nullopt;
  const int64_t any = ShapedType::kDynamic;
  Type i32 = builder.getI32Type();
  // The number of each token, [images, length, 1].
  auto spread = tensorOf({any, any, 1}, i32);
  Value images = tensor::DimOp::create(builder, loc, adapters.numbers, 0);
  Value empty = tensor::EmptyOp::create(builder, loc, spread, ValueRange{images, length});
  AffineMap maps[] = {AffineMap::get(3, 0, builder.getAffineDimExpr(0), builder.getContext()),
                      builder.getMultiDimIdentityMap(3)};
  const SmallVector<utils::IteratorType> loops(3, utils::IteratorType::parallel);
  Value numbers = linalg::GenericOp::create(builder, loc, spread, adapters.numbers, empty, maps, loops,
                                            [](OpBuilder &inner, Location at, ValueRange elements) {
                                              linalg::YieldOp::create(inner, at, elements[0]);
                                            })
                      .getResult(0);
  auto list = tensorOf({any}, i32), column = tensorOf({any, 1}, i32);
  const ReassociationIndices both = {0, 1}, last = {2};
  numbers = tensor::CollapseShapeOp::create(builder, loc, column, numbers, ArrayRef<ReassociationIndices>{both, last});
  auto order =
      attn::GroupRowsOp::create(builder, loc, list, column, tensorOf({adapters.matrices + 1, 2}, i32), numbers);
  Value indices =
      tensor::CollapseShapeOp::create(builder, loc, list, order.getIndices(), ArrayRef<ReassociationIndices>{both});
  return AdapterRows{order.getRows(), order.getGroups(), indices};
}

void importing::addAdapters(const std::optional<AdapterRows> &adapters, SmallVectorImpl<Value> &shared) {
  if (adapters)
    shared.append({adapters->tokens, adapters->groups, adapters->order});
}

std::optional<AdapterRows> importing::takeAdapters(bool hasAdapters, ValueRange &shared) {
  if (!hasAdapters)
    return std::nullopt;
  AdapterRows adapters{shared[0], shared[1], shared[2]};
  shared = shared.drop_front(adapterValues);
  return adapters;
}

std::vector<std::string> importing::adapterNames(const huggingface::ModelDescription &model) {
  std::vector<std::string> names;
  for (const huggingface::NamedAdapter &adapter : model.namedAdapters())
    names.push_back(adapter.name);
  return names;
}
