//===- NeuralProbabilistic.cpp - The neural probabilistic language model ----------===//
//
// Bengio et al. 2003, "A neural probabilistic language model", by the schema of
// docs/FeedForward.md: one hidden layer over the embeddings of the last tokens side by side.
// A sequence keeps these embeddings as its state, zeros before its first token.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Module/ParameterSet.h"
#include "lib/Import/Module/TextModule.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/PackedRows.h"
#include "lib/Import/Parts/Recurrent.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

enum class Head { CausalLM };
constexpr HeadName<Head> heads[] = {{"NeuralProbabilisticForCausalLM", Head::CausalLM}};

struct Config {
  int64_t vocabulary, context, embedding, hidden, positions;
  Activation activation;
  bool isDirect; ///< the output reads the embeddings, too
  bool isTied;

  /// Columns of the tokens that the model reads, side by side.
  int64_t columns() const { return context * embedding; }
};

Config readConfig(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  readHead<Head>(model, heads, Head::CausalLM);
  Config config;
  config.vocabulary = reader.getInt("vocab_size", 1, 1 << 24);
  config.context = reader.getInt("context_size", 1, 64);
  config.hidden = readHiddenSize(reader, "hidden_size");
  config.embedding = readHiddenSize(reader, "embedding_size", config.hidden);
  config.activation = readActivation(reader, "tanh");
  config.isDirect = reader.getBool("direct_connections", false);
  config.isTied = reader.getBool("tie_word_embeddings", false);
  // The state has no positions; this bounds what one sequence may have.
  config.positions = reader.getInt("max_length", 1, 1 << 24, 4096);
  if (config.isTied && config.embedding != config.hidden)
    reader.fail("tie_word_embeddings needs embedding_size " + std::to_string(config.embedding) + " and hidden_size " +
                std::to_string(config.hidden) + " to be equal");
  return config;
}

/// The embeddings x [tokens, columns] of a step, and ahead of each sequence's those of the tokens before, which are the
/// parts of `kept`, in the order of the text. `kept` becomes those of its last tokens.
Value joinContext(const Scope &top, const Config &config, const SpacedRows &rows, Value x, Value ids,
                  KeptStates &kept) {
  OpBuilder &builder = top.builder;
  Location loc = top.at("embedding");
  auto write = [&](Value to, Value values, Value at) -> Value {
    return attn::UpdateRowsOp::create(builder, loc, to, /*layer=*/Value(), values, at);
  };
  Value all = write(rows.zeros(x), x, rows.ofTokens(ids, config.context));
  for (int64_t i = 0; i < config.context; ++i)
    all = write(all, kept.read(top, loc, i), rows.ofSequences(i));
  for (int64_t i = 0; i < config.context; ++i) {
    Value last = rows.ofSequences(i - config.context);
    kept.write(top, loc, i, attn::SelectRowsOp::create(builder, loc, x.getType(), all, last));
  }
  return all;
}

/// The logits of step(state, tokens, row_begin, state_slot, state_target, want) -> (state, logits).
Value walkStep(const Walk &walk, const Config &config, StepOfStates &step) {
  Value x = walk.table(step.tokens, "embedding.weight", config.vocabulary, config.embedding);
  Value wanted = walk.emit([&](const Scope &top) {
    SpacedRows rows(top, top.at("embedding"), step.rowBegin, config.context);
    Value all = joinContext(top, config, rows, x, step.tokens, step.kept);
    // A token's window ends with its own row.
    Value windows = selectWindows(top, top.at("hidden"), all, rows.ofTokens(step.tokens, 1), config.context);
    return attn::SelectRowsOp::create(top.builder, top.at("hidden"), windows.getType(), windows, step.want);
  });
  Value hidden = walk.matmul(wanted, {.part = "hidden", .out = config.hidden, .in = config.columns(), .hasBias = true});
  hidden = walk.emit([&](const Scope &top) { return activate(top, top.at("hidden"), hidden, config.activation); });
  Value logits = walkLogits(walk, hidden, config.isTied ? "embedding.weight" : "", config.vocabulary, config.hidden);
  if (!config.isDirect)
    return logits;
  Value direct =
      walk.matmul(wanted, {.part = "direct", .out = config.vocabulary, .in = config.columns(), .hasBias = false});
  return walk.add(logits, direct, "direct");
}

} // namespace

ImportedModule importing::importNeuralProbabilistic(MLIRContext &context, huggingface::ModelDescription &model,
                                                    const ImportOptions &options) {
  Config config = readConfig(model);
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens,
                        readEndTokens(context, model, config.vocabulary, /*fallback=*/std::nullopt));
  RAPT_RETURN_IF_ERROR(model.config().finish({"dropout"}));
  RAPT_RETURN_IF_ERROR(checkSpacedRows(model, options, config.context));
  auto declare = [&](const Walk &walk) {
    StepOfStates none;
    walkStep(walk, config, none);
  };
  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, /*prefix=*/"", {}, declare, /*isFixed=*/true));
  ModelFacts facts{.family = "neural-probabilistic",
                   .task = "decoder",
                   .layers = 1,
                   .hidden = config.hidden,
                   .vocabulary = config.vocabulary,
                   .positions = options.maxSequenceLength ? options.maxSequenceLength : config.positions,
                   .endTokens = endTokens};
  ModelModule module(context, facts, model, parameters);
  StepOfStates step = beginStepOfStates(module, config.context, config.embedding, config.vocabulary, options);
  Value logits = walkStep(Walk(module.scope()), config, step);
  module.endEntry({step.kept.state, logits});
  return module.take();
}
