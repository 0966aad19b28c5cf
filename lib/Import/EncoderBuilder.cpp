//===- EncoderBuilder.cpp - The module of an encoder from its specification ---===//
#include "lib/Import/Encoder.h"
#include "lib/Import/EncoderHeads.h"
#include "lib/Import/Heads.h"
#include "lib/Import/LayerStack.h"
#include "lib/Import/ParameterScope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

EncoderSpec importing::readEncoder(huggingface::ModelDescription &model, const EncoderDefaults &defaults) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec;
  spec.width = config.getSize(defaults.width, 1, 1 << 16, defaults.usualWidth);
  spec.layers = config.getSize(defaults.layers, 1, 1 << 17, defaults.usualLayers);
  spec.heads = config.getSize(defaults.heads, 1, 1 << 12, defaults.usualHeads);
  spec.inner = config.getSize(defaults.inner, 1, 1 << 20, defaults.usualInner);
  spec.positions = config.getSize("max_position_embeddings", 1, 1 << 24, defaults.positions);
  spec.vocabulary = config.getSize("vocab_size", 1, 1 << 24, defaults.vocabulary);
  spec.activation = activationNamed(config.getEnum(defaults.activation, activationNames(), "gelu"));
  spec.isTied = config.getBool("tie_word_embeddings", true);

  using Head = EncoderHead;
  const std::pair<const char *, Head> kinds[] = {{"Model", Head::None},
                                                 {"ForMaskedLM", Head::MaskedLM},
                                                 {"ForSequenceClassification", Head::SequenceClassification},
                                                 {"ForTokenClassification", Head::TokenClassification},
                                                 {"ForQuestionAnswering", Head::QuestionAnswering}};
  std::vector<std::string> names;
  std::vector<HeadName<Head>> heads;
  for (auto [name, head] : kinds)
    names.push_back(defaults.architecture + name);
  for (auto [name, kind] : llvm::zip_equal(names, kinds)) {
    heads.push_back({name, kind.second});
    if (kind.second == Head::MaskedLM)
      for (const std::string &further : defaults.pretraining)
        heads.push_back({further, Head::MaskedLM});
  }
  spec.head = readHead<Head>(model, heads, Head::None);
  const bool hasLabels = spec.head == Head::SequenceClassification || spec.head == Head::TokenClassification;
  spec.labels = hasLabels ? readLabelCount(config) : 0;
  config.requireMultiple(defaults.width.names.front(), spec.width, defaults.heads.names.front(), spec.heads);
  for (const char *key : {"is_decoder", "add_cross_attention"})
    if (config.getBool(key, false))
      config.fail(std::string(key) + " is true: " + model.modelType() + " is supported as an encoder only");
  return spec;
}

namespace {

ParameterSet listParameters(const EncoderSpec &spec, const std::string &prefix) {
  ParameterSet parameters;
  const int64_t narrow = spec.embeddingWidth(), first = spec.embedding.firstPosition;
  auto table = [&](const std::string &part, int64_t rows) {
    parameters.add("embeddings." + part, prefix + "embeddings." + part + ".weight", {rows, narrow}, Init::embedding());
  };
  table("word_embeddings", spec.vocabulary);
  // Rows ahead of the first position are those of padding, which no text has.
  const std::string positions = "embeddings.position_embeddings";
  parameters.addTransformed(positions,
                            {prefix + positions + ".weight",
                             {spec.positions + first, narrow},
                             {artifact::Slice{0, first, spec.positions + first}}},
                            Init::embedding());
  if (spec.embedding.types)
    table("token_type_embeddings", spec.embedding.types);
  ParameterScope top{parameters, prefix, {}, {}, spec.normNames};
  top.layerNorm("embeddings.LayerNorm", narrow);
  if (narrow != spec.width)
    top.dense(spec.embedding.projection, spec.width, narrow);
  const EncoderLayerSpec &parts = spec.layer;
  ParameterScope layer{parameters, prefix + parts.path, {}, Stack{spec.layers}, spec.normNames};
  for (const std::string &part : parts.attention)
    layer.dense(part, spec.width, spec.width);
  layer.dense(parts.out, spec.width, spec.width);
  layer.layerNorm(parts.attentionNorm, spec.width);
  layer.dense(parts.up, spec.inner, spec.width);
  layer.dense(parts.down, spec.width, spec.inner);
  layer.layerNorm(parts.norm, spec.width);
  addEncoderHead(parameters, spec, prefix);
  return parameters;
}

/// One block: x [tokens, width] to that after it.
Value buildBlock(const Scope &scope, const EncoderSpec &spec, Value x, Value rowBegin) {
  OpBuilder &builder = scope.builder;
  const EncoderLayerSpec &parts = spec.layer;
  Value attended = selfAttention(scope, x, parts.attention, parts.location, spec.heads, parts.out, rowBegin);
  x = arith::AddFOp::create(builder, scope.at(parts.out), x, attended);
  x = layerNorm(scope, x, parts.attentionNorm, spec.epsilon);
  Value narrow = feedForward(scope, x, parts.up, spec.activation, parts.down);
  x = arith::AddFOp::create(builder, scope.at(parts.down), x, narrow);
  return layerNorm(scope, x, parts.norm, spec.epsilon);
}

/// The embeddings' sum, normalized; `types` null: there are none.
Value buildEmbeddings(const Scope &top, const EncoderSpec &spec, Value ids, Value types, Value rowBegin) {
  OpBuilder &builder = top.builder;
  Location loc = top.at("embeddings");
  Value positions = attn::PositionsOp::create(builder, loc, ids.getType(), ids, rowBegin, /*past=*/Value());
  Value x = embed(top, ids, "embeddings.word_embeddings");
  if (types)
    x = arith::AddFOp::create(builder, loc, x, embed(top, types, "embeddings.token_type_embeddings"));
  x = arith::AddFOp::create(builder, loc, x, embed(top, positions, "embeddings.position_embeddings"));
  x = layerNorm(top, x, "embeddings.LayerNorm", spec.epsilon);
  return spec.embeddingWidth() == spec.width ? x : dense(top, x, spec.embedding.projection);
}

Expected<OwningOpRef<ModuleOp>> buildModel(EncoderModule &encoder, const EncoderSpec &spec,
                                           const ParameterSet &parameters) {
  OpBuilder &builder = encoder.builder();
  Scope top{builder, parameters};
  Value types = spec.embedding.types ? encoder.input(0) : Value();
  Value state[] = {buildEmbeddings(top, spec, encoder.ids(), types, encoder.rowBegin())};
  Value shared[] = {encoder.rowBegin()};
  LayerStack stack{.stack = {spec.layers}, .state = state, .shared = shared};
  Expected<SmallVector<Value>> last = buildLayerStack(
      builder, encoder.entry(), parameters, stack,
      [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) -> SmallVector<Value> {
        return {buildBlock(Scope{inner, parameters, spec.layer.path, &layer}, spec, carried[0], others[0])};
      });
  if (!last)
    return last.error();
  return encoder.finish(buildEncoderHead(top, spec, (*last)[0], encoder.rowBegin()));
}

} // namespace

Expected<OwningOpRef<ModuleOp>> importing::importEncoder(MLIRContext &context, huggingface::ModelDescription &model,
                                                         const ImportOptions &options, EncoderSpec spec) {
  if (Status status = model.config().finish(spec.harmlessKeys); !status)
    return status.error();
  Expected<int64_t> positions =
      boundPositions(options, spec.positions, "position_embeddings (max_position_embeddings)");
  if (!positions)
    return positions.error();

  if (spec.head == EncoderHead::None) {
    Expected<huggingface::SentenceModules> modules = huggingface::readSentenceModules(model.path());
    if (!modules)
      return modules.error();
    spec.sentence = *modules;
  }
  const std::string prefix = model.choosePrefix({spec.prefix, ""}, "embeddings.word_embeddings.weight");
  if (model.tensors().find(prefix + "embeddings.LayerNorm.gamma"))
    spec.normNames = {"gamma", "beta"};
  // A base model may have been saved without its pooler; one without weights has it.
  const bool hasTable = model.tensors().find(prefix + "embeddings.word_embeddings.weight"),
             hasPooler = !hasTable || model.tensors().find(prefix + spec.classifier.dense + ".weight");
  const bool classifies = spec.head == EncoderHead::SequenceClassification && spec.classifier.isPooler;
  spec.hasPooler = classifies || (spec.head == EncoderHead::None && spec.mayPool && hasPooler);
  ParameterSet parameters = listParameters(spec, prefix);
  if (Status status = parameters.resolve(model, spec.ignoredTensors); !status)
    return status.error();

  ModelFacts facts{.family = model.modelType(),
                   .task = taskOf(spec.head),
                   .layers = spec.layers,
                   .hidden = spec.width,
                   .heads = spec.heads,
                   .kvHeads = spec.heads,
                   .headDim = spec.width / spec.heads,
                   .vocabulary = spec.vocabulary,
                   .labels = spec.labels,
                   .positions = *positions};
  Builder builder(&context);
  SmallVector<EntryBuffer> inputs;
  if (spec.embedding.types)
    inputs.push_back({.name = "token_type_ids",
                      .type = tensorOf({ShapedType::kDynamic}, builder.getI32Type()),
                      .dims = {"tokens"},
                      .limit = spec.embedding.types,
                      .optional = true});
  EncoderModule encoder(context, facts, model, parameters, options, inputs, listEncoderOutputs(builder, spec));
  return buildModel(encoder, spec, parameters);
}
