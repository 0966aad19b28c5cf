//===- EncoderBuilder.cpp - The module of an encoder from its specification ---===//
#include "lib/Formats/HuggingFace/Precedence.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Module/TextModule.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Parts/PackedRows.h"
#include "lib/Import/Specs/EncoderSpec.h"
#include "lib/Support/File.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

/// The names of bert's parts: post-norm layers whose matmuls have biases.
static void setBertParts(EncoderSpec &spec) {
  spec.layer = "encoder.layer.{layer}.";
  spec.positionsKey = "position_embeddings (max_position_embeddings)";
  spec.embedding = {.words = "embeddings.word_embeddings",
                    .positions = {.table = "embeddings.position_embeddings", .location = embeddingsLocation},
                    .norm = "embeddings.LayerNorm",
                    .location = embeddingsLocation};
  spec.norm = {.kind = NormSpec::Layer, .epsilon = 1e-12, .hasBias = true};
  spec.attention.parts = {"attention.self.query", "attention.self.key", "attention.self.value"};
  spec.attention.out = "attention.output.dense";
  spec.attention.location = "attention.self";
  spec.attention.hasBias = spec.attention.hasOutBias = true;
  spec.feedForward = {.activation = attn::ActivationKind::gelu,
                      .isGated = false,
                      .up = "intermediate.dense",
                      .down = "output.dense",
                      .hasBias = true,
                      .hasDownBias = true};
  spec.residual = {.beforeAttention = "",
                   .beforeFeedForward = "",
                   .ofAttentionSum = "attention.output.LayerNorm",
                   .ofFeedForwardSum = "output.LayerNorm"};
}

EncoderSpec importing::readEncoder(huggingface::ModelDescription &model, const EncoderDefaults &defaults) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec;
  spec.width = config.getSize(defaults.width, 1, 1 << 16, defaults.defaultWidth);
  spec.layers = config.getSize(defaults.layers, 1, 1 << 17, defaults.defaultLayers);
  setBertParts(spec);
  readHeads(config, defaults.width, defaults.heads, defaults.defaultHeads, spec);
  spec.feedForward.inner = config.getSize(defaults.inner, 1, 1 << 20, defaults.defaultInner);
  spec.positions = config.getSize(defaults.positionsKey, 1, 1 << 24, defaults.positions);
  spec.vocabulary = config.getSize("vocab_size", 1, 1 << 24, defaults.vocabulary);
  if (!defaults.activation.names.front().empty())
    spec.feedForward.activation = activationNamed(config.getEnum(defaults.activation, activationNames(), "gelu"));
  spec.isTied = config.getBool("tie_word_embeddings", true);

  using Head = EncoderHead;
  const std::pair<const char *, Head> kinds[] = {{"Model", Head::None},
                                                 {"ForMaskedLM", Head::MaskedLM},
                                                 {"ForSequenceClassification", Head::SequenceClassification},
                                                 {"ForTokenClassification", Head::TokenClassification},
                                                 {"ForQuestionAnswering", Head::QuestionAnswering},
                                                 {"ForPreTraining", Head::Discriminator}};
  std::vector<std::string> names;
  std::vector<HeadName<Head>> heads;
  for (auto [name, head] : kinds)
    names.push_back(defaults.architecture + name);
  for (auto [name, kind] : llvm::zip_equal(names, kinds)) {
    if (kind.second != Head::Discriminator || defaults.hasDiscriminator)
      heads.push_back({name, kind.second});
    if (kind.second == Head::MaskedLM)
      for (const std::string &further : defaults.pretraining)
        heads.push_back({further, Head::MaskedLM});
  }
  spec.head = readHead<Head>(model, heads, Head::None);
  for (const std::string &architecture : model.architectures())
    if (spec.head == Head::MaskedLM && llvm::is_contained(defaults.pretraining, architecture))
      spec.textPair = defaults.textPair;
  const bool hasLabels = spec.head == Head::SequenceClassification || spec.head == Head::TokenClassification;
  spec.labels = hasLabels ? readLabelCount(config) : 0;
  for (const char *key : {"is_decoder", "add_cross_attention"})
    if (config.getBool(key, false))
      config.fail(std::string(key) + " is true: " + model.modelType() + " is supported as an encoder only");
  return spec;
}

namespace {

Expected<SmallVector<Value>> walkModel(const Walk &walk, const EncoderSpec &spec, const TextTokens &tokens,
                                       int64_t longest) {
  std::vector<std::string> last;
  if (const std::optional<DisentangledSpec> &d = spec.disentangled)
    last = {d->table, d->norm, d->keyPart, d->queryPart};
  if (const std::optional<TokenConvolutionSpec> &convolution = spec.tokenConvolution)
    last.insert(last.end(), {convolution->part, convolution->norm});
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> states,
                        walk.declareLast(last, [&] { return walkEncoderLayers(walk, spec, tokens, longest); }));
  Value x = walk.norm(states[0], spec.finalNorm, spec.norm, spec.width);
  return walkEncoderHead(walk, spec, x, tokens.ids, tokens.rowBegin);
}

/// Keeps what sentence-transformers does with texts beside the weights: what it puts ahead of them, the length at which
/// it cuts them where the model could read more, and lower case in the tokenizer.
Status keepTexts(huggingface::ModelDescription &model, const huggingface::SentenceModules &sentence,
                 int64_t positions) {
  Expected<json::Value> prompts = json::parse(sentence.prompts.empty() ? "{}" : sentence.prompts);
  json::Object section = *prompts->asObject();
  std::optional<int64_t> most = sentence.mostTokens;
  if (auto file = model.files().find("tokenizer_config.json"); sentence.isGiven && !most && file != model.files().end())
    if (Expected<json::Value> tokenizer = json::parse(file->second))
      if (const json::Value *length = tokenizer->find("model_max_length"))
        most = length->asInteger();
  if (most && *most < positions)
    section.emplace_back("max_seq_length", json::Value(*most));
  if (!section.empty())
    model.addFile("sentences.json", json::write(json::Value(std::move(section))));
  if (!sentence.prompts.empty() && !sentence.includesPrompt)
    model.warn(shownPath(model.path()) + ": include_prompt of its Pooling is false, which is not supported: rapt-run " +
               "gives vectors without a prompt only (--prompt-name '')");
  if (!sentence.lowersCase)
    return {};
  RAPT_ASSIGN_OR_RETURN(std::string tokenizer, withContext(shownPath(model.path() + "/sentence_bert_config.json"),
                                                           huggingface::withLowerCase(model.files())));
  model.addFile("tokenizer.json", std::move(tokenizer));
  return {};
}

/// Where modules.json pools a text, sentence-transformers loads the model without a head, whatever class config.json
/// names.
Status dropHead(huggingface::ModelDescription &model, EncoderSpec &spec) {
  RAPT_ASSIGN_OR_RETURN(bool pools, huggingface::poolsTexts(model.moduleFiles()));
  if (!pools || spec.head == EncoderHead::None)
    return {};
  spec.head = EncoderHead::None;
  model.warn(shownPath(model.path() + "/modules.json") +
             ": texts become vectors, as in sentence-transformers; without this file the class of config.json counts, "
             "and its head");
  return {};
}

} // namespace

ImportedModule importing::importEncoder(MLIRContext &context, huggingface::ModelDescription &model,
                                        const ImportOptions &options, EncoderSpec spec) {
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  RAPT_ASSIGN_OR_RETURN(int64_t positions, boundPositions(options, spec.positions, spec.positionsKey));
  if (const int64_t margin = spec.margin())
    RAPT_RETURN_IF_ERROR(checkSpacedRows(model, options, margin));

  RAPT_RETURN_IF_ERROR(dropHead(model, spec));
  if (spec.head == EncoderHead::None) {
    RAPT_ASSIGN_OR_RETURN(spec.sentence,
                          huggingface::readSentenceModules(model.config(), model.moduleFiles(), spec.width));
    for (const std::string &note : spec.sentence.notes)
      model.warn(note);
    RAPT_RETURN_IF_ERROR(keepTexts(model, spec.sentence, positions));
  }
  const std::string prefix = model.choosePrefix({spec.prefix, spec.furtherPrefixes[0], spec.furtherPrefixes[1]},
                                                spec.embedding.words + ".weight");
  if (model.tensors().find(prefix + spec.embedding.norm + ".gamma"))
    spec.norm.names = {"gamma", "beta"};
  // A base model may have been saved without its pooler; one without weights has it.
  const bool hasTable = model.tensors().find(prefix + spec.embedding.words + ".weight"),
             hasPooler = !hasTable || model.tensors().find(prefix + spec.classifier.transform.dense + ".weight");
  const bool classifies = spec.head == EncoderHead::SequenceClassification && spec.classifier.isPooler;
  if (spec.textPair && hasTable && !model.tensors().find(spec.textPair->projection + ".weight")) {
    model.warn(shownPath(model.tensors().path()) + ": without \"" + spec.textPair->projection +
               ".weight\" there is no " + spec.textPair->output);
    spec.textPair.reset();
  }
  spec.hasPooler = classifies || spec.textPair || (spec.head == EncoderHead::None && spec.mayPool && hasPooler);
  // Embeddings of distances go through the matrices of queries and keys as well, and have no adapter of their own.
  const bool isFixed = spec.disentangled.has_value();
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters,
                        findWeights(
                            model, prefix, spec.ignoredTensors,
                            [&](const Walk &walk) { (void)walkModel(walk, spec, {}, positions); }, isFixed));
  ModelFacts facts = factsOf(model, spec);
  facts.task = taskOf(spec.head);
  facts.vocabulary = spec.vocabulary;
  facts.labels = spec.labels;
  facts.positions = positions;
  if (isFixed)
    facts.adapters.clear();
  Builder builder(&context);
  ExtraInputs extra = adapterInputs(context, facts, options);
  if (spec.embedding.types)
    extra.inputs.insert(extra.inputs.begin(), {.name = "token_type_ids",
                                               .type = tensorOf({ShapedType::kDynamic}, builder.getI32Type()),
                                               .dims = {"tokens"},
                                               .limit = spec.embedding.types,
                                               .optional = true});
  EncoderModule encoder(context, facts, model, parameters, options, extra, listEncoderOutputs(builder, spec));
  const Value types = spec.embedding.types ? encoder.firstInput() : Value();
  const TextTokens tokens{encoder.ids(), encoder.rowBegin(), /*past=*/{}, types, encoder.adapters()};
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> outputs, walkModel(Walk(encoder.scope()), spec, tokens, positions));
  return encoder.finish(outputs);
}
