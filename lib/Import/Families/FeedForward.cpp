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
#include "lib/Import/Module/TextModule.h"
#include "lib/Import/Parts/AttentionPool.h"
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

/// A list of integers in [1, most], at most 64 of them; `fallback` where the config has none. Records an error.
std::vector<int64_t> readSizes(huggingface::ConfigReader &config, const char *name, int64_t most,
                               std::vector<int64_t> fallback) {
  constexpr size_t mostSizes = 64;
  const json::Value *value = config.getRaw(name);
  if (!value)
    return fallback;
  std::vector<int64_t> sizes;
  const json::Array *list = value->asArray();
  for (size_t i = 0; list && i < std::min(list->size(), mostSizes + 1); ++i)
    sizes.push_back((*list)[i].asInteger().value_or(0));
  const bool isFine = llvm::all_of(sizes, [&](int64_t size) { return size >= 1 && size <= most; });
  if (list && isFine && sizes.size() <= mostSizes)
    return sizes;
  config.fail(config.nameOf(name) + " is " + json::printable(json::write(*value), 80) + ", must be a list of at most " +
              std::to_string(mostSizes) + " integers from 1 to " + std::to_string(most));
  return fallback;
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

/// activation(x times PART.weight, plus PART.bias).
Value walkLayer(const Walk &walk, const Config &config, Value x, const MatmulSpec &spec) {
  Value y = walk.matmul(x, spec);
  return walk.emit([&](const Scope &top) { return activate(top, top.at(spec.part), y, config.activation); });
}

/// The sum of the embeddings of a text, weighted by the softmax of the dot products of their keys with the query.
Value walkAttention(const Walk &walk, const Config &config, Value x, Value rowBegin) {
  const int64_t channels = config.attentionSize ? config.attentionSize : config.inputs;
  walk.declare([&](const ParameterScope &weights) { // in f32, as activations are, of which it is one
    weights.parameters.addTable(query, query + ".weight", {1, channels}, Init::embedding());
  });
  Value keys = x;
  if (config.attentionSize) {
    keys = walk.matmul(x, {.part = key, .out = channels, .in = config.inputs, .hasBias = true});
    keys = walk.activate(keys, key, attn::ActivationKind::tanh);
  }
  return walk.emit([&](const Scope &top) {
    OpBuilder &builder = top.builder;
    Location loc = top.at(query);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value texts = arith::SubIOp::create(builder, loc, tensor::DimOp::create(builder, loc, rowBegin, 0), one);
    const auto [queries, queryBegin] = queryOfRows(top, loc, query, texts);
    auto head = [&](Value of) { return splitHeads(top, loc, of, 1); };
    Value pooled =
        rowAttention(top, loc, {head(queries), head(keys), head(x)}, constant(top, loc, 1), rowBegin, queryBegin)
            .getResult();
    return mergeHeads(top, loc, pooled);
  });
}

/// The weights of a convolution, whose kernel is the matrix that windows are multiplied by.
void addConvolution(const ParameterScope &weights, const Config &config, const std::string &name, int64_t width) {
  const std::string weight = name + ".weight";
  const int64_t columns = width * config.inputs;
  weights.parameters.addTransformed(weight,
                                    {weight,
                                     {config.filters, config.inputs, width},
                                     {artifact::Transpose{{0, 2, 1}}, artifact::Reshape{{config.filters, columns}}}},
                                    Init::weight(columns));
  weights.add(name + ".bias", {config.filters}, Init::bias());
}

/// The largest output of each filter over the windows of a text, of all widths side by side.
Value walkConvolutions(const Walk &walk, const Config &config, Value x, Value ids, Value rowBegin) {
  for (auto [i, width] : llvm::enumerate(config.kernels))
    walk.declare([&, i = i, width = width](const ParameterScope &weights) {
      addConvolution(weights, config, convolutionName(i), width);
    });
  return walk.emit([&](const Scope &top) -> Value {
    OpBuilder &builder = top.builder;
    Location loc = top.at("convolutions");
    // Zeros behind each text fill up the one window of a text that is shorter.
    SpacedRows rows(top, loc, rowBegin, config.margin());
    Value spaced = attn::UpdateRowsOp::create(builder, loc, rows.zeros(x), /*layer=*/Value(), x, rows.ofTokens(ids, 0));
    SmallVector<Value> largest;
    for (auto [i, width] : llvm::enumerate(config.kernels)) {
      const std::string name = convolutionName(i);
      Value windows = selectWindows(top, top.at(name), spaced, rows.ofWindows(ids, width), width);
      Value y = activate(top, top.at(name), dense(top, windows, name), config.activation);
      largest.push_back(poolRows(top, top.at(name), attn::PoolingKind::max, y, rowBegin));
    }
    return largest.size() == 1 ? largest[0] : Value(attn::ConcatOp::create(builder, loc, largest));
  });
}

/// Logits of vectors x.
Value walkClassifier(const Walk &walk, const Config &config, Value x) {
  int64_t columns = config.pooled();
  for (auto [i, size] : llvm::enumerate(config.hidden)) {
    x = walkLayer(walk, config, x, {.part = layerName(i), .out = size, .in = columns, .hasBias = true});
    columns = size;
  }
  return walk.matmul(x, {.part = "classifier", .out = config.labels, .in = columns, .hasBias = true});
}

/// Vectors of texts.
Value walkTexts(const Walk &walk, const Config &config, Value ids, Value rowBegin) {
  Value x = walk.table(ids, "embedding.weight", config.vocabulary, config.inputs);
  switch (config.pooling) {
  case Pooling::Mean:
    return walk.emit(
        [&](const Scope &top) { return poolRows(top, top.at("pooling"), attn::PoolingKind::mean, x, rowBegin); });
  case Pooling::Attention:
    return walkAttention(walk, config, x, rowBegin);
  case Pooling::Convolution:
    return walkConvolutions(walk, config, x, ids, rowBegin);
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
  auto declare = [&](const Walk &walk) {
    walkClassifier(walk, config, readsText ? walkTexts(walk, config, /*ids=*/{}, /*rowBegin=*/{}) : Value());
  };
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, /*prefix=*/"", {}, declare, /*isFixed=*/true));
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
    const Walk walk(module.scope());
    return module.finish(walkClassifier(walk, config, walkTexts(walk, config, module.ids(), module.rowBegin())));
  }
  ModelModule module(context, facts, model, parameters);
  module.dim("rows", 1, options.maxBatch);
  module.declareParameters();
  func::FuncOp forward = module.beginEntry(forwardEntry, {inputs}, {logits});
  module.endEntry(walkClassifier(Walk(module.scope()), config, forward.getArgument(0)));
  return module.take();
}
