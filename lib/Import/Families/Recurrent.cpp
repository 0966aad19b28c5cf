//===- Recurrent.cpp - Recurrent language models and classifiers ---------------===//
//
// Layers of torch.nn.RNN, GRU or LSTM over an embedding, by the schema of
// docs/Recurrent.md: a language model, whose sequences keep the layers' states, a
// classifier of whole rows (an acceptor) or of each token (a transducer), or the
// layers alone.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Parts/Recurrent.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Module/ParameterSet.h"
#include "lib/Import/Module/TextModule.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

enum class Head { None, CausalLM, SequenceClassification, TokenClassification };
constexpr HeadName<Head> heads[] = {{"RecurrentModel", Head::None},
                                    {"RecurrentForCausalLM", Head::CausalLM},
                                    {"RecurrentForSequenceClassification", Head::SequenceClassification},
                                    {"RecurrentForTokenClassification", Head::TokenClassification}};

struct Config {
  RecurrentStack stack;
  int64_t vocabulary, positions, labels = 0;
  Head head;
  bool tied;
  std::string pooling; ///< "last": the states after a row's last step

  bool classifies() const { return head == Head::SequenceClassification || head == Head::TokenClassification; }
};

Config readConfig(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  Config config;
  config.head = readHead<Head>(model, heads, Head::CausalLM);
  config.vocabulary = reader.getInt("vocab_size", 1, 1 << 24);
  RecurrentStack &stack = config.stack;
  stack = {readCell(reader),
           "rnn",
           0,
           readHiddenSize(reader, "hidden_size"),
           readLayerCount(reader, "num_layers", 1),
           reader.getBool("bidirectional", false),
           reader.getBool("bias", true)};
  stack.inputs = readHiddenSize(reader, "embedding_size", stack.hidden);
  stack.projected = reader.getInt("proj_size", 0, 1 << 16, 0);
  if (stack.projected && stack.cell != attn::RecurrenceKind::lstm)
    reader.fail("proj_size is " + std::to_string(stack.projected) + ", but only an lstm has projections");
  else if (stack.projected && stack.projected >= stack.hidden)
    reader.fail("proj_size is " + std::to_string(stack.projected) + ", must be less than hidden_size " +
                std::to_string(stack.hidden));
  // A state has no positions; this bounds what one sequence may have.
  config.positions = reader.getInt("max_length", 1, 1 << 24, 4096);
  config.tied = reader.getBool("tie_word_embeddings", false);
  if (config.classifies())
    config.labels = readLabelCount(reader);
  if (config.head == Head::SequenceClassification)
    config.pooling = reader.getEnum("pooling", {"last", "mean", "max"}, "last");
  if (config.tied && config.head != Head::CausalLM)
    reader.fail("tie_word_embeddings is true, but only a language model has an output embedding");
  if (stack.bidirectional && config.head == Head::CausalLM)
    reader.fail("bidirectional is true, but a language model cannot see the tokens behind");
  if (const int64_t read = stack.projected ? stack.projected : stack.hidden; config.tied && stack.inputs != read)
    reader.fail("tie_word_embeddings needs embedding_size " + std::to_string(stack.inputs) + " and " +
                (stack.projected ? "proj_size " : "hidden_size ") + std::to_string(read) + " to be equal");
  return config;
}

SmallVector<EntryBuffer> listOutputs(Builder builder, const Config &config) {
  auto wide = [&](int64_t columns) { return tensorOf({ShapedType::kDynamic, columns}, builder.getF32Type()); };
  if (config.head == Head::SequenceClassification)
    return {{"logits", wide(config.labels), {"rows"}}};
  if (config.head == Head::TokenClassification)
    return {{"logits", wide(config.labels), {"tokens"}}};
  return {{"last_hidden_state", wide(config.stack.outputs()), {"tokens"}},
          {"sentence_embedding", wide(config.stack.outputs()), {"rows"}}};
}

Value walkEmbedding(const Walk &walk, const Config &config, Value ids) {
  return walk.table(ids, "embedding.weight", config.vocabulary, config.stack.inputs);
}

/// The outputs of the entry forward(input_ids, ..., row_begin), see listOutputs.
Expected<SmallVector<Value>> walkForward(const Walk &walk, const Config &config, Value ids, Value rowBegin) {
  Value x = walkEmbedding(walk, config, ids);
  RAPT_ASSIGN_OR_RETURN(RecurrentEncoding encoding, encodeLayers(walk, config.stack, x, rowBegin));
  auto pool = [&](attn::PoolingKind kind) {
    return walk.emit(
        [&](const Scope &top) { return poolRows(top, top.at("pooling"), kind, encoding.output, rowBegin); });
  };
  auto classify = [&](Value of) {
    return walk.matmul(of, {.part = "classifier", .out = config.labels, .in = config.stack.outputs(), .hasBias = true});
  };
  if (config.head == Head::None)
    return SmallVector<Value>{encoding.output, pool(attn::PoolingKind::mean)};
  if (config.head == Head::TokenClassification)
    return SmallVector<Value>{classify(encoding.output)};
  if (config.pooling == "last")
    return SmallVector<Value>{classify(walk.declares() ? Value() : encoding.states.front())};
  return SmallVector<Value>{
      classify(pool(config.pooling == "mean" ? attn::PoolingKind::mean : attn::PoolingKind::max))};
}

/// The logits of step(state, tokens, row_begin, state_slot, state_target, want) -> (state, logits).
Expected<Value> walkLanguageModel(const Walk &walk, const Config &config, StepOfStates &step) {
  Value x = walkEmbedding(walk, config, step.tokens);
  RAPT_ASSIGN_OR_RETURN(Value last, stepLayers(walk, config.stack, x, step.rowBegin, step.kept));
  Value wanted = walk.emit([&](const Scope &top) {
    return attn::SelectRowsOp::create(top.builder, top.at("lm_head"), last.getType(), last, step.want);
  });
  return walkLogits(walk, wanted, config.tied ? "embedding.weight" : "", config.vocabulary, config.stack.outputs());
}

void declareAll(const Walk &walk, const Config &config) {
  StepOfStates none;
  if (config.head == Head::CausalLM)
    (void)walkLanguageModel(walk, config, none);
  else
    (void)walkForward(walk, config, /*ids=*/{}, /*rowBegin=*/{});
}

const char *taskOf(Head head) {
  switch (head) {
  case Head::None:
    return "feature-extraction";
  case Head::CausalLM:
    return "decoder";
  case Head::SequenceClassification:
    return "text-classification";
  case Head::TokenClassification:
    return "token-classification";
  }
  llvm_unreachable("every head is handled");
}

} // namespace

ImportedModule importing::importRecurrent(MLIRContext &context, huggingface::ModelDescription &model,
                                          const ImportOptions &options) {
  Config config = readConfig(model);
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens,
                        readEndTokens(context, model, config.vocabulary, /*fallback=*/std::nullopt));
  RAPT_RETURN_IF_ERROR(model.config().finish({"dropout"}));
  auto declare = [&](const Walk &walk) { declareAll(walk, config); };
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, /*prefix=*/"", {}, declare, /*isFixed=*/true));
  ModelFacts facts{.family = "recurrent",
                   .task = taskOf(config.head),
                   .layers = config.stack.layers,
                   .hidden = config.stack.outputs(),
                   .vocabulary = config.vocabulary,
                   .labels = config.labels,
                   .positions = options.maxSequenceLength ? options.maxSequenceLength : config.positions,
                   .endTokens = endTokens};
  if (config.head == Head::CausalLM) {
    const RecurrentStack &stack = config.stack;
    ModelModule module(context, facts, model, parameters);
    StepOfStates step =
        beginStepOfStates(module, stack.layers * stack.states(), stack.hidden, config.vocabulary, options);
    RAPT_ASSIGN_OR_RETURN(Value logits, walkLanguageModel(Walk(module.scope()), config, step));
    module.endEntry({step.kept.state, logits});
    return module.take();
  }
  EncoderModule module(context, facts, model, parameters, options, {}, listOutputs(Builder(&context), config));
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> outputs,
                        walkForward(Walk(module.scope()), config, module.ids(), module.rowBegin()));
  return module.finish(outputs);
}
