//===- AdapterInputs.cpp ------------------------------------------------------===//
#include "lib/Import/Module/AdapterInputs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

int64_t importing::matricesOf(const ModelFacts &facts) { return 1 + int64_t(facts.adapters.size()); }

ExtraInputs importing::adapterInputs(MLIRContext &context, const ModelFacts &facts, const ImportOptions &options) {
  if (facts.adapters.empty())
    return {};
  return {.dims = {{nameOf(EntryDim::Adapted), 0, options.maxTokens}},
          .inputs = {bufferOf(context, EntryRole::AdapterRows),
                     bufferOf(context, EntryRole::AdapterGroups, {.numbers = {matricesOf(facts) + 1, 2}}),
                     bufferOf(context, EntryRole::AdapterOf)}};
}

void importing::addAdapters(SequenceFacts &entries, const ModelFacts &facts) {
  if (facts.adapters.empty())
    return;
  entries.parts |= part::Adapters;
  entries.buffers[EntryRole::AdapterGroups].numbers = {matricesOf(facts) + 1, 2};
}

std::optional<EntryBuffer> importing::imageAdapterInput(Builder builder, const ModelFacts &facts,
                                                        const std::string &images) {
  if (facts.adapters.empty())
    return std::nullopt;
  return EntryBuffer{.name = caller::adapter,
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
  auto list = tensorOf({any}, i32), column = tensorOf({any, 1}, i32), pairs = tensorOf({adapters.matrices + 1, 2}, i32);
  const ReassociationIndices both = {0, 1};
  Value images = tensor::DimOp::create(builder, loc, adapters.numbers, 0);
  Value numbers =
      tensor::ExpandShapeOp::create(builder, loc, column, adapters.numbers, ArrayRef<ReassociationIndices>{both},
                                    SmallVector<OpFoldResult>{images, builder.getIndexAttr(1)});
  auto order = attn::GroupRowsOp::create(builder, loc, list, column, pairs, numbers);
  // The images' order as that of their tokens, which stay together.
  Value tokens = arith::IndexCastOp::create(builder, loc, i32, length);
  const SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  auto spread = [&](Value ofImages) -> Value {
    auto type = tensorOf({any, any}, i32);
    Value empty = tensor::EmptyOp::create(builder, loc, type, ValueRange{images, length});
    AffineMap maps[] = {AffineMap::get(2, 0, builder.getAffineDimExpr(0), builder.getContext()),
                        builder.getMultiDimIdentityMap(2)};
    Value all = linalg::GenericOp::create(
                    builder, loc, type, ofImages, empty, maps, loops,
                    [&](OpBuilder &inner, Location at, ValueRange elements) {
                      Value first = arith::MulIOp::create(inner, at, elements[0], tokens);
                      Value token =
                          arith::IndexCastOp::create(inner, at, i32, linalg::IndexOp::create(inner, at, uint64_t(1)));
                      linalg::YieldOp::create(inner, at, arith::AddIOp::create(inner, at, first, token).getResult());
                    })
                    .getResult(0);
    return tensor::CollapseShapeOp::create(builder, loc, list, all, ArrayRef<ReassociationIndices>{both});
  };
  Value empty = tensor::EmptyOp::create(builder, loc, pairs, ValueRange());
  const SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(2));
  Value groups = linalg::GenericOp::create(
                     builder, loc, pairs, order.getGroups(), empty, maps, loops,
                     [&](OpBuilder &inner, Location at, ValueRange elements) {
                       Value begin = arith::MulIOp::create(inner, at, elements[0], tokens);
                       Value zero = arith::ConstantIndexOp::create(inner, at, 0);
                       Value isBegin = arith::CmpIOp::create(inner, at, arith::CmpIPredicate::eq,
                                                             linalg::IndexOp::create(inner, at, uint64_t(1)), zero);
                       linalg::YieldOp::create(
                           inner, at, arith::SelectOp::create(inner, at, isBegin, begin, elements[0]).getResult());
                     })
                     .getResult(0);
  Value indices =
      tensor::CollapseShapeOp::create(builder, loc, list, order.getIndices(), ArrayRef<ReassociationIndices>{both});
  return AdapterRows{spread(order.getRows()), groups, spread(indices)};
}

std::optional<AdapterRows> importing::takeAdapters(bool hasAdapters, ValueRange &shared) {
  if (!hasAdapters)
    return std::nullopt;
  AdapterRows adapters{shared[0], shared[1], shared[2]};
  shared = shared.drop_front(adapterValues);
  return adapters;
}
