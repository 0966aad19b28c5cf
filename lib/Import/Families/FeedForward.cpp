//===- FeedForward.cpp - Feed-forward classifiers -----------------------------===//
//
// Layers of a multilayer perceptron over a vector of numbers, by the schema of
// docs/FeedForward.md: logistic regression where there are none. A text becomes a vector by
// the mean of its embeddings (Iyyer et al. 2015), by attention of a learned query, or by
// convolutions and the largest of their outputs over time (Kim 2014).
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Module/ParameterSet.h"
#include "lib/Import/Module/TextModule.h"
#include "lib/Import/Parts/AttentionPool.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/PackedRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

enum class Head { Tabular, SequenceClassification };
constexpr HeadName<Head> heads[] = {{"FeedForwardForTabularClassification", Head::Tabular},
                                    {"FeedForwardForSequenceClassification", Head::SequenceClassification}};
constexpr int64_t mostColumns = 1 << 16;
const std::string query = "attention.query", key = "attention.key";

enum class Pooling { Mean, Attention, Convolution };

struct Config {
  Head head;
  int64_t inputs;              ///< numbers of a vector, or columns of an embedding
  std::vector<int64_t> hidden; ///< columns of each layer
  Activation activation;
  int64_t labels;
  // For texts.
  int64_t vocabulary = 0, positions = 0;
  Pooling pooling = Pooling::Mean;
  int64_t attentionSize = 0; ///< 0: keys are the embeddings
  std::vector<int64_t> kernels;
  int64_t filters = 0;

  /// Rows of zeros behind each text.
  int64_t margin() const { return kernels.empty() ? 0 : *llvm::max_element(kernels) - 1; }
  /// Columns of what the first layer reads.
  int64_t pooled() const { return pooling == Pooling::Convolution ? int64_t(kernels.size()) * filters : inputs; }
};

std::string layerName(size_t layer) { return "layers." + std::to_string(layer); }
std::string convolutionName(size_t convolution) { return "convolutions." + std::to_string(convolution); }

/// A list of integers in [1, most], at most 64 of them; `usual` where the config has none. Records an error.
std::vector<int64_t> readSizes(huggingface::ConfigReader &config, const char *name, int64_t most,
                               std::vector<int64_t> usual) {
  constexpr size_t mostSizes = 64;
  const json::Value *value = config.getRaw(name);
  if (!value)
    return usual;
  std::vector<int64_t> sizes;
  const json::Array *list = value->asArray();
  for (size_t i = 0; list && i < std::min(list->size(), mostSizes + 1); ++i)
    sizes.push_back((*list)[i].asInteger().value_or(0));
  const bool isFine = llvm::all_of(sizes, [&](int64_t size) { return size >= 1 && size <= most; });
  if (list && isFine && sizes.size() <= mostSizes)
    return sizes;
  config.fail(config.nameOf(name) + " is " + json::printable(json::write(*value), 80) + ", must be a list of at most " +
              std::to_string(mostSizes) + " integers from 1 to " + std::to_string(most));
  return usual;
}

void readText(huggingface::ConfigReader &reader, Config &config) {
  config.vocabulary = reader.getInt("vocab_size", 1, 1 << 24);
  config.inputs = reader.getInt("embedding_size", 1, mostColumns);
  config.positions = reader.getInt("max_length", 1, 1 << 24, 4096);
  const std::string pooling = reader.getEnum("pooling", {"mean", "attention", "convolution"}, "mean");
  if (pooling == "attention") {
    config.pooling = Pooling::Attention;
    config.attentionSize = reader.getOptionalInt("attention_size", 1, mostColumns).value_or(0);
  }
  if (pooling == "convolution") {
    config.pooling = Pooling::Convolution;
    config.kernels = readSizes(reader, "kernel_sizes", 64, {3, 4, 5});
    config.filters = reader.getSize("num_filters", 1, 1 << 12, 100);
    if (config.kernels.empty())
      reader.fail("kernel_sizes is empty, but pooling is convolution");
  }
}

Config readConfig(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  Config config;
  config.head = readHead<Head>(model, heads, reader.names("vocab_size") ? Head::SequenceClassification : Head::Tabular);
  if (config.head == Head::SequenceClassification)
    readText(reader, config);
  else
    config.inputs = reader.getInt("num_features", 1, mostColumns);
  config.hidden = readSizes(reader, "hidden_sizes", mostColumns, {});
  config.activation = readActivation(reader, "relu");
  config.labels = readLabelCount(reader);
  return config;
}

ParameterSet listParameters(const Config &config) {
  ParameterSet parameters;
  ParameterScope scope{parameters, ""};
  if (config.vocabulary)
    scope.add("embedding.weight", {config.vocabulary, config.inputs}, Init::embedding());
  if (config.pooling == Pooling::Attention) {
    const int64_t channels = config.attentionSize ? config.attentionSize : config.inputs;
    // In f32, as activations are, of which it is one.
    parameters.addTable(query, query + ".weight", {1, channels}, Init::embedding());
    if (config.attentionSize)
      scope.dense(key, channels, config.inputs);
  }
  for (auto [i, width] : llvm::enumerate(config.kernels)) {
    const std::string name = convolutionName(i), weight = name + ".weight";
    const int64_t columns = width * config.inputs;
    parameters.addTransformed(weight,
                              {weight,
                               {config.filters, config.inputs, width},
                               {artifact::Transpose{{0, 2, 1}}, artifact::Reshape{{config.filters, columns}}}},
                              Init::weight(columns));
    scope.add(name + ".bias", {config.filters}, Init::bias());
  }
  int64_t columns = config.pooled();
  for (auto [i, size] : llvm::enumerate(config.hidden)) {
    scope.dense(layerName(i), size, columns);
    columns = size;
  }
  scope.dense("classifier", config.labels, columns);
  return parameters;
}

Value activate(const Scope &top, const Config &config, Value x, const std::string &part) {
  return activate(top, top.at(part), dense(top, x, part), config.activation);
}

/// The sum of the embeddings of a text, weighted by the softmax of the dot products of their keys with the query.
Value attend(const Scope &top, const Config &config, Value x, Value rowBegin) {
  OpBuilder &builder = top.builder;
  Location loc = top.at(query);
  Value keys = x;
  if (config.attentionSize)
    keys = attn::ActivationOp::create(builder, top.at(key), attn::ActivationKind::tanh, dense(top, x, key));
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value texts = arith::SubIOp::create(builder, loc, tensor::DimOp::create(builder, loc, rowBegin, 0), one);
  const auto [queries, queryBegin] = queryOfRows(top, loc, query, texts);
  auto head = [&](Value of) { return splitHeads(top, loc, of, 1); };
  Value pooled =
      rowAttention(top, loc, {head(queries), head(keys), head(x)}, constant(top, loc, 1), rowBegin, queryBegin)
          .getResult();
  return mergeHeads(top, loc, pooled);
}

/// The largest output of each filter over the windows of a text, of all widths side by side.
Value convolve(const Scope &top, const Config &config, Value x, Value ids, Value rowBegin) {
  OpBuilder &builder = top.builder;
  Location loc = top.at("convolutions");
  // Zeros behind each text fill up the one window of a text that is shorter.
  SpacedRows rows(top, loc, rowBegin, config.margin());
  Value spaced = attn::UpdateRowsOp::create(builder, loc, rows.zeros(x), /*layer=*/Value(), x, rows.ofTokens(ids, 0));
  SmallVector<Value> largest;
  for (auto [i, width] : llvm::enumerate(config.kernels)) {
    const std::string name = convolutionName(i);
    Value windows = selectWindows(top, top.at(name), spaced, rows.ofWindows(ids, width), width);
    Value y = activate(top, config, windows, name);
    largest.push_back(poolRows(top, top.at(name), attn::PoolingKind::max, y, rowBegin));
  }
  return largest.size() == 1 ? largest[0] : Value(attn::ConcatOp::create(builder, loc, largest));
}

Value classify(const Scope &top, const Config &config, Value x) {
  for (size_t i = 0; i < config.hidden.size(); ++i)
    x = activate(top, config, x, layerName(i));
  return dense(top, x, "classifier");
}

Value poolText(const Scope &top, const Config &config, Value x, Value ids, Value rowBegin) {
  switch (config.pooling) {
  case Pooling::Mean:
    return poolRows(top, top.at("pooling"), attn::PoolingKind::mean, x, rowBegin);
  case Pooling::Attention:
    return attend(top, config, x, rowBegin);
  case Pooling::Convolution:
    return convolve(top, config, x, ids, rowBegin);
  }
  llvm_unreachable("every pooling is handled");
}

} // namespace

ImportedModule importing::importFeedForward(MLIRContext &context, huggingface::ModelDescription &model,
                                            const ImportOptions &options) {
  Config config = readConfig(model);
  const bool readsText = config.head == Head::SequenceClassification;
  RAPT_RETURN_IF_ERROR(model.config().finish({"dropout"}));
  if (!readsText && options.maxSequenceLength)
    return Error{model.config().file() + ": a model of vectors has no longest sequence to bound"};
  RAPT_RETURN_IF_ERROR(checkSpacedRows(model, options, config.margin()));
  ParameterSet parameters = listParameters(config);
  RAPT_RETURN_IF_ERROR(parameters.resolve(model, {}));
  ModelFacts facts{.family = "feed-forward",
                   .task = readsText ? "text-classification" : "tabular-classification",
                   .layers = int64_t(config.hidden.size()),
                   .hidden = config.hidden.empty() ? config.pooled() : config.hidden.back(),
                   .vocabulary = config.vocabulary,
                   .labels = config.labels,
                   .positions = options.maxSequenceLength ? options.maxSequenceLength : config.positions};
  Builder types(&context);
  auto rows = [&](int64_t columns) { return tensorOf({ShapedType::kDynamic, columns}, types.getF32Type()); };
  const EntryBuffer inputs{"inputs", rows(config.inputs), {"rows"}}, logits{"logits", rows(config.labels), {"rows"}};
  if (readsText) {
    EncoderModule module(context, facts, model, parameters, options, {}, {logits});
    Scope top{module.builder(), parameters};
    Value x = embed(top, module.ids(), "embedding.weight");
    return module.finish(classify(top, config, poolText(top, config, x, module.ids(), module.rowBegin())));
  }
  ModelModule module(context, facts, model, parameters);
  module.dim("rows", 1, options.maxBatch);
  module.declareParameters();
  func::FuncOp forward = module.beginEntry("forward", {inputs}, {logits});
  Scope top{module.builder(), parameters};
  module.endEntry(classify(top, config, forward.getArgument(0)));
  return module.take();
}
