//===- Bert.cpp - The bert family ---------------------------------------------===//
//
// Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers", as
// Hugging Face's BertModel and its heads compute it: post-norm blocks, learned
// absolute positions, token types, nn.Linear weights [out, in].
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Encoder.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Formats/HuggingFace/SentenceModules.h"
#include "lib/Import/Heads.h"
#include "lib/Import/LayerStack.h"
#include "lib/Import/ParameterScope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

enum class Head { None, MaskedLM, SequenceClassification, TokenClassification, QuestionAnswering };

constexpr HeadName<Head> heads[] = {{"BertModel", Head::None},
                                    {"BertForMaskedLM", Head::MaskedLM},
                                    {"BertForPreTraining", Head::MaskedLM},
                                    {"BertForSequenceClassification", Head::SequenceClassification},
                                    {"BertForTokenClassification", Head::TokenClassification},
                                    {"BertForQuestionAnswering", Head::QuestionAnswering}};

struct Config {
  int64_t width, layers, heads, inner, positions, types, vocabulary, labels;
  double epsilon;
  attn::ActivationKind activation;
  bool tied, hasPooler;
  Head head;
  huggingface::SentenceModules sentence;

  int64_t headDim() const { return width / heads; }
  bool classifiesRows() const { return head == Head::SequenceClassification; }
};

/// Keys that training or Hugging Face's own code read; no output depends on them.
constexpr std::initializer_list<std::string_view> harmlessKeys = {
    "attention_probs_dropout_prob",
    "hidden_dropout_prob",
    "classifier_dropout",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
    "emb_size",       // of distilled checkpoints, never read
    "directionality", // of the first conversion script, as are those of the pooler
    "model_name",
};

Config readConfig(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  Config config;
  config.width = reader.getSize("hidden_size", 1, 1 << 16, 768);
  config.layers = reader.getSize("num_hidden_layers", 1, 1 << 17, 12);
  config.heads = reader.getSize("num_attention_heads", 1, 1 << 12, 12);
  config.inner = reader.getSize("intermediate_size", 1, 1 << 20, 3072);
  config.positions = reader.getSize("max_position_embeddings", 1, 1 << 24, 512);
  config.types = reader.getInt("type_vocab_size", 1, 1 << 16, 2);
  config.vocabulary = reader.getSize("vocab_size", 1, 1 << 24, 30522);
  config.epsilon = reader.getPositive("layer_norm_eps", 1, 1e-12);
  config.activation = activationNamed(reader.getEnum("hidden_act", activationNames(), "gelu"));
  config.tied = reader.getBool("tie_word_embeddings", true);
  reader.getEnum("position_embedding_type", {"absolute"}, "absolute");
  config.head = readHead<Head>(model, heads, Head::None);
  bool hasLabels = config.classifiesRows() || config.head == Head::TokenClassification;
  config.labels = hasLabels ? readLabelCount(reader) : 0;
  reader.requireMultiple("hidden_size", config.width, "num_attention_heads", config.heads);
  for (const char *key : {"is_decoder", "add_cross_attention"})
    if (reader.getBool(key, false))
      reader.fail(std::string(key) + " is true: bert is supported as an encoder only");
  return config;
}

/// Names as in the checkpoint, without prefix. `norm` are the suffixes of gain and bias there.
struct Names {
  std::string prefix;
  std::array<std::string, 2> norm;
};

void addHead(ParameterSet &parameters, const Config &config, const Names &names) {
  int64_t width = config.width;
  ParameterScope top{parameters, ""}, transform{parameters, "cls.predictions.", {}, {}, names.norm};
  if (config.hasPooler)
    ParameterScope{parameters, names.prefix}.dense("pooler.dense", width, width);
  switch (config.head) {
  case Head::None:
    break;
  case Head::MaskedLM:
    transform.dense("transform.dense", width, width);
    transform.layerNorm("transform.LayerNorm", width);
    parameters.add("predictions.bias", "cls.predictions.bias", {config.vocabulary}, Init::bias());
    parameters.addHead("predictions.weight", "cls.predictions.decoder.weight", {config.vocabulary, width},
                       Init::weight(width), config.tied, "embeddings.word_embeddings");
    break;
  case Head::SequenceClassification:
  case Head::TokenClassification:
    top.dense("classifier", config.labels, width);
    break;
  case Head::QuestionAnswering:
    top.dense("qa_outputs", 2, width);
    break;
  }
}

ParameterSet listParameters(const Config &config, const Names &names) {
  ParameterSet parameters;
  int64_t width = config.width;
  auto table = [&](const std::string &part, int64_t rows) {
    parameters.add("embeddings." + part, names.prefix + "embeddings." + part + ".weight", {rows, width},
                   Init::embedding());
  };
  table("word_embeddings", config.vocabulary);
  table("position_embeddings", config.positions);
  table("token_type_embeddings", config.types);
  ParameterScope{parameters, names.prefix, {}, {}, names.norm}.layerNorm("embeddings.LayerNorm", width);
  ParameterScope layer{parameters, names.prefix + "encoder.layer.{layer}.", {}, Stack{config.layers}, names.norm};
  for (const char *part : {"query", "key", "value"})
    layer.dense(std::string("attention.self.") + part, width, width);
  layer.dense("attention.output.dense", width, width);
  layer.layerNorm("attention.output.LayerNorm", width);
  layer.dense("intermediate.dense", config.inner, width);
  layer.dense("output.dense", width, config.inner);
  layer.layerNorm("output.LayerNorm", width);
  addHead(parameters, config, names);
  return parameters;
}

/// One block: x [tokens, width] to that after it.
Value buildBlock(const Scope &scope, const Config &config, Value x, Value rowBegin) {
  OpBuilder &builder = scope.builder;
  Value attended = selfAttention(scope, x, "attention.self", config.heads, "attention.output.dense", rowBegin);
  x = arith::AddFOp::create(builder, scope.at("attention.output.dense"), x, attended);
  x = layerNorm(scope, x, "attention.output.LayerNorm", config.epsilon);
  Value narrow = feedForward(scope, x, "intermediate.dense", config.activation, "output.dense");
  x = arith::AddFOp::create(builder, scope.at("output.dense"), x, narrow);
  return layerNorm(scope, x, "output.LayerNorm", config.epsilon);
}

/// The embeddings' sum, normalized.
Value buildEmbeddings(const Scope &top, const Config &config, Value ids, Value types, Value rowBegin) {
  OpBuilder &builder = top.builder;
  Location loc = top.at("embeddings");
  Value positions = attn::PositionsOp::create(builder, loc, ids.getType(), ids, rowBegin, /*past=*/Value());
  Value x = embed(top, ids, "embeddings.word_embeddings");
  x = arith::AddFOp::create(builder, loc, x, embed(top, types, "embeddings.token_type_embeddings"));
  x = arith::AddFOp::create(builder, loc, x, embed(top, positions, "embeddings.position_embeddings"));
  return layerNorm(top, x, "embeddings.LayerNorm", config.epsilon);
}

/// Pools the last layer's states as sentence-transformers does: a vector for each text, [rows, width].
Value buildSentenceEmbedding(const Scope &top, const Config &config, Value x, Value rowBegin) {
  using Pooling = huggingface::SentenceModules::Pooling;
  OpBuilder &builder = top.builder;
  Location loc = top.at("sentence_embedding");
  auto kind = config.sentence.pooling == Pooling::Mean    ? attn::PoolingKind::mean
              : config.sentence.pooling == Pooling::First ? attn::PoolingKind::first
              : config.sentence.pooling == Pooling::Last  ? attn::PoolingKind::last
                                                          : attn::PoolingKind::max;
  auto type = tensorOf({ShapedType::kDynamic, config.width}, builder.getF32Type());
  Value pooled = attn::PoolRowsOp::create(builder, loc, type, kind, x, rowBegin);
  if (!config.sentence.normalizes)
    return pooled;
  // x / |x| is an RMS norm whose gains undo the mean; PyTorch divides by 1e-12 at least.
  const float gain = static_cast<float>(1 / std::sqrt(double(config.width)));
  Value gains = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(tensorOf({config.width}, builder.getF32Type()), gain));
  return attn::RMSNormOp::create(builder, loc, pooled, gains, builder.getF64FloatAttr(1e-24 / double(config.width)),
                                 /*columns=*/nullptr);
}

/// The outputs of the head, from the last layer's.
SmallVector<Value> buildHead(const Scope &top, const Config &config, Value x, Value rowBegin) {
  OpBuilder &builder = top.builder;
  auto pooled = [&]() -> Value {
    auto type = tensorOf({ShapedType::kDynamic, config.width}, builder.getF32Type());
    Value first = attn::PoolRowsOp::create(builder, top.at("pooler"), type, attn::PoolingKind::first, x, rowBegin);
    first = dense(top, first, "pooler.dense");
    return attn::ActivationOp::create(builder, top.at("pooler"), attn::ActivationKind::tanh, first);
  };
  switch (config.head) {
  case Head::None: {
    SmallVector<Value> outputs{x, buildSentenceEmbedding(top, config, x, rowBegin)};
    if (config.hasPooler)
      outputs.push_back(pooled());
    return outputs;
  }
  case Head::MaskedLM: {
    Value transformed = dense(top, x, "transform.dense");
    transformed = attn::ActivationOp::create(builder, top.at("transform.dense"), config.activation, transformed);
    transformed = layerNorm(top, transformed, "transform.LayerNorm", config.epsilon);
    Value table = top.weight(top.parameters.head());
    return {project(top, transformed, table, "cls.predictions", top.weight("predictions.bias"))};
  }
  case Head::SequenceClassification:
    return {dense(top, pooled(), "classifier")};
  case Head::TokenClassification:
    return {dense(top, x, "classifier")};
  case Head::QuestionAnswering: {
    Value both = dense(top, x, "qa_outputs");
    auto column = [&](int64_t i) -> Value { return attn::ColumnOp::create(builder, top.at("qa_outputs"), both, i); };
    return {column(0), column(1)};
  }
  }
  llvm_unreachable("every head is handled");
}

SmallVector<EntryBuffer> listOutputs(Builder builder, const Config &config) {
  int64_t any = ShapedType::kDynamic;
  Type f32 = builder.getF32Type();
  auto wide = [&](int64_t columns) { return tensorOf({any, columns}, f32); };
  switch (config.head) {
  case Head::None: {
    SmallVector<EntryBuffer> outputs{{"last_hidden_state", wide(config.width), {"tokens"}},
                                     {"sentence_embedding", wide(config.width), {"rows"}}};
    if (config.hasPooler)
      outputs.push_back({"pooler_output", wide(config.width), {"rows"}});
    return outputs;
  }
  case Head::MaskedLM:
    return {{"logits", wide(config.vocabulary), {"tokens"}}};
  case Head::SequenceClassification:
    return {{"logits", wide(config.labels), {"rows"}}};
  case Head::TokenClassification:
    return {{"logits", wide(config.labels), {"tokens"}}};
  case Head::QuestionAnswering:
    return {{"start_logits", tensorOf({any}, f32), {"tokens"}}, {"end_logits", tensorOf({any}, f32), {"tokens"}}};
  }
  llvm_unreachable("every head is handled");
}

std::string taskOf(Head head) {
  switch (head) {
  case Head::None:
    return "feature-extraction";
  case Head::MaskedLM:
    return "fill-mask";
  case Head::SequenceClassification:
    return "text-classification";
  case Head::TokenClassification:
    return "token-classification";
  case Head::QuestionAnswering:
    return "question-answering";
  }
  llvm_unreachable("every head is handled");
}

Expected<OwningOpRef<ModuleOp>> buildModel(EncoderModule &encoder, const Config &config,
                                           const ParameterSet &parameters) {
  OpBuilder &builder = encoder.builder();
  Scope top{builder, parameters};
  Value state[] = {buildEmbeddings(top, config, encoder.ids(), encoder.input(0), encoder.rowBegin())};
  Value shared[] = {encoder.rowBegin()};
  LayerStack stack{.stack = {config.layers}, .state = state, .shared = shared};
  Expected<SmallVector<Value>> last = buildLayerStack(
      builder, encoder.entry(), parameters, stack,
      [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) -> SmallVector<Value> {
        return {buildBlock(Scope{inner, parameters, "encoder.layer.{layer}.", &layer}, config, carried[0], others[0])};
      });
  if (!last)
    return last.error();
  return encoder.finish(buildHead(top, config, (*last)[0], encoder.rowBegin()));
}

} // namespace

Expected<OwningOpRef<ModuleOp>> importing::importBert(MLIRContext &context, huggingface::ModelDescription &model,
                                                      const ImportOptions &options) {
  Config config = readConfig(model);
  if (Status status = model.config().finish(harmlessKeys); !status)
    return status.error();
  Expected<int64_t> positions =
      boundPositions(options, config.positions, "position_embeddings (max_position_embeddings)");
  if (!positions)
    return positions.error();

  if (config.head == Head::None) {
    Expected<huggingface::SentenceModules> modules = huggingface::readSentenceModules(model.path());
    if (!modules)
      return modules.error();
    config.sentence = *modules;
  }
  Names names;
  names.prefix = model.choosePrefix({"bert.", ""}, "embeddings.word_embeddings.weight");
  bool isOld = model.tensors().find(names.prefix + "embeddings.LayerNorm.gamma");
  names.norm = isOld ? std::array<std::string, 2>{"gamma", "beta"} : std::array<std::string, 2>{"weight", "bias"};
  // A base model may have been saved without its pooler; one without weights has it.
  bool hasTable = model.tensors().find(names.prefix + "embeddings.word_embeddings.weight");
  bool mayPool = !hasTable || model.tensors().find(names.prefix + "pooler.dense.weight");
  config.hasPooler = config.classifiesRows() || (config.head == Head::None && mayPool);
  ParameterSet parameters = listParameters(config, names);
  if (Status status = parameters.resolve(
          model, {"*embeddings.position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"});
      !status)
    return status.error();

  ModelFacts facts{.family = "bert",
                   .task = taskOf(config.head),
                   .layers = config.layers,
                   .hidden = config.width,
                   .heads = config.heads,
                   .kvHeads = config.heads,
                   .headDim = config.headDim(),
                   .vocabulary = config.vocabulary,
                   .labels = config.labels,
                   .positions = *positions};
  Builder builder(&context);
  EntryBuffer types{.name = "token_type_ids",
                    .type = tensorOf({ShapedType::kDynamic}, builder.getI32Type()),
                    .dims = {"tokens"},
                    .limit = config.types,
                    .optional = true};
  EncoderModule encoder(context, facts, model, parameters, options, {types}, listOutputs(builder, config));
  return buildModel(encoder, config, parameters);
}
