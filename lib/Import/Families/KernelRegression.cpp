//===- KernelRegression.cpp - Nadaraya-Watson kernel regression as attention ------===//
//
// Nadaraya 1964 and Watson 1964: the mean of stored values, weighted by a Gaussian kernel of
// the distance to their keys, by the schema of docs/FeedForward.md. The weights are a softmax:
// attention, whose similarity is the negative squared distance.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Module/ModelModule.h"
#include "lib/Import/Parts/Walk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

enum class Head { TabularRegression };
constexpr HeadName<Head> heads[] = {{"KernelRegressionForTabularRegression", Head::TabularRegression}};

struct Config {
  int64_t features, examples, outputs;
  double bandwidth;
};

Config readConfig(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  readHead<Head>(model, heads, Head::TabularRegression);
  Config config;
  config.features = reader.getInt("num_features", 1, 1 << 12);
  config.examples = reader.getInt("num_examples", 1, 1 << 24);
  config.outputs = reader.getInt("num_outputs", 1, 1 << 12, 1);
  config.bandwidth = reader.getFloat("bandwidth", 1e-6, 1e6);
  return config;
}

/// Builds the entry of a module.
class Regression {
public:
  Regression(const Scope &top, const Config &config)
      : top(top), builder(top.builder), config(config), loc(top.at("keys")) {}

  /// y [rows, outputs] of x [rows, features].
  Value build(Value x) {
    using A = attn::AttentionOp;
    const int64_t any = ShapedType::kDynamic;
    // Distances do not change with the origin; their parts are smallest, and rounded least, about the keys' mean.
    Value keys = allRows("keys", config.features), values = allRows("values", config.outputs);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value whole = attn::EqualRowsOp::create(builder, loc, offsets(), one, extent(keys));
    Value mean = poolRows(top, loc, attn::PoolingKind::mean, keys, whole);
    keys = minus(keys, mean);
    x = minus(x, mean);
    const double square = config.bandwidth * config.bandwidth;
    Value squares = halfSquares(keys, square);
    auto map = [&](SmallVector<unsigned> dims) {
      return AffineMap::getMultiDimMapWithTargets(A::NumDims, dims, builder.getContext());
    };
    auto maps = builder.getAffineMapArrayAttr(
        {map({A::Q, A::DQK}), map({A::KV, A::DQK}), map({A::KV, A::DV}), map({A::Q, A::DV})});
    auto type = tensorOf({any, config.outputs}, builder.getF32Type());
    auto attention = A::create(builder, loc, type, x, keys, values, constant(top, loc, 1 / square),
                               /*q_begin=*/nullptr, /*q_offset=*/nullptr, /*kv_begin=*/nullptr, /*kv_length=*/nullptr,
                               /*extras=*/ValueRange(), maps);
    addExtra(attention, squares, map({A::KV}));
    mapScores(top, attention, [](const Scope &inner, Location at, ValueRange arguments) -> Value {
      return arith::SubFOp::create(inner.builder, at, arguments[0], arguments.back());
    });
    return attention.getResult();
  }

private:
  RankedTensorType offsets() { return tensorOf({ShapedType::kDynamic}, builder.getI32Type()); }
  Value extent(Value x) { return tensor::DimOp::create(builder, loc, x, 0); }

  /// The rows of a parameter as an activation.
  Value allRows(StringRef symbol, int64_t columns) {
    Value count = arith::ConstantIndexOp::create(builder, loc, config.examples - 1);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value ids = attn::EqualRowsOp::create(builder, loc, offsets(), count, one);
    return embed(top, ids, symbol);
  }

  /// x - mean [1, columns] in each row.
  Value minus(Value x, Value mean) {
    auto type = cast<RankedTensorType>(x.getType());
    Value empty = tensor::EmptyOp::create(builder, loc, type, extent(x));
    const AffineMap both = builder.getMultiDimIdentityMap(2);
    const AffineMap maps[] = {
        both,
        AffineMap::get(2, 0, {builder.getAffineConstantExpr(0), builder.getAffineDimExpr(1)}, builder.getContext()),
        both};
    const SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
    return linalg::GenericOp::create(builder, loc, type, ValueRange{x, mean}, empty, maps, loops,
                                     [](OpBuilder &inner, Location at, ValueRange numbers) {
                                       Value apart = arith::SubFOp::create(inner, at, numbers[0], numbers[1]);
                                       linalg::YieldOp::create(inner, at, apart);
                                     })
        .getResult(0);
  }

  /// |k|^2 / (2 square) of each row k.
  Value halfSquares(Value keys, double square) {
    auto type = tensorOf({ShapedType::kDynamic}, builder.getF32Type());
    Value empty = tensor::EmptyOp::create(builder, loc, type, extent(keys));
    Value zeros = linalg::FillOp::create(builder, loc, constant(top, loc, 0), empty).getResult(0);
    const AffineMap maps[] = {builder.getMultiDimIdentityMap(2), AffineMap::get(2, 0, builder.getAffineDimExpr(0))};
    const utils::IteratorType loops[] = {utils::IteratorType::parallel, utils::IteratorType::reduction};
    Value half = constant(top, loc, 0.5 / square);
    return linalg::GenericOp::create(builder, loc, type, keys, zeros, maps, loops,
                                     [&](OpBuilder &inner, Location at, ValueRange numbers) {
                                       Value k = numbers[0];
                                       Value part = arith::MulFOp::create(inner, at, k, k);
                                       part = arith::MulFOp::create(inner, at, part, half);
                                       Value sum = arith::AddFOp::create(inner, at, numbers[1], part);
                                       linalg::YieldOp::create(inner, at, sum);
                                     })
        .getResult(0);
  }

  const Scope &top;
  OpBuilder &builder;
  const Config &config;
  Location loc;
};

/// y [rows, outputs] of x [rows, features].
Value walkRegression(const Walk &walk, const Config &config, Value x) {
  walk.declare([&](const ParameterScope &weights) {
    weights.add("keys", {config.examples, config.features}, Init::embedding());
    weights.add("values", {config.examples, config.outputs}, Init::embedding());
  });
  return walk.emit([&](const Scope &top) { return Regression(top, config).build(x); });
}

} // namespace

ImportedModule importing::importKernelRegression(MLIRContext &context, huggingface::ModelDescription &model,
                                                 const ImportOptions &options) {
  Config config = readConfig(model);
  RAPT_RETURN_IF_ERROR(model.config().finish({}));
  if (options.maxSequenceLength)
    return Error{model.config().file() + ": a model of vectors has no longest sequence to bound"};
  auto declare = [&](const Walk &walk) { walkRegression(walk, config, /*x=*/{}); };
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, /*prefix=*/"", {}, declare, /*isFixed=*/true));
  ModelFacts facts{.family = "kernel-regression", .task = "tabular-regression", .keys = config.examples};
  Builder types(&context);
  auto rows = [&](int64_t columns) { return tensorOf({ShapedType::kDynamic, columns}, types.getF32Type()); };
  ModelModule module(context, facts, model, parameters);
  module.dim("rows", 1, options.maxBatch);
  module.declareParameters();
  const EntryBuffer inputs{"inputs", rows(config.features), {"rows"}},
      outputs{"outputs", rows(config.outputs), {"rows"}};
  func::FuncOp forward = module.beginEntry(forwardEntry, {inputs}, {outputs});
  module.endEntry(walkRegression(Walk(module.scope()), config, forward.getArgument(0)));
  return module.take();
}
