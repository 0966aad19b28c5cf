//===- Options.h - rapt-run's command line --------------------------------------===//
#pragma once
#include "lib/Bench/ProfileReport.h"
#include "lib/Support/CommandLine.h"
#include "lib/Support/Expected.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rapt::run {

using NamedFile = std::pair<std::string, std::string>;

/// The request of --profile, and the measurement.
struct Profiling {
  std::string file; ///< for JSON; empty: a table goes to the standard error
  std::vector<bench::OpTime> rows = {};
  int64_t threads = 1;
  double weights = 0;                     ///< bytes, of the model
  std::vector<std::string> features = {}; ///< of the code that ran, by LLVM's names
  bool isOnGpu = false;
};

struct Options {
  std::string program; ///< as it was called
  std::string library;
  std::shared_ptr<Profiling> profile; ///< null: nothing is measured
  bool help = false, version = false;

  std::vector<std::string> prompts;
  bool hasOperand = false; ///< one of the prompts stands on the command line without an option
  std::optional<std::string> promptFile;
  std::optional<std::string> standardInput;   ///< what it holds, where it was read already
  std::optional<std::vector<int32_t>> tokens; ///< the prompt as ids
  bool perplexity = false;                    ///< of the file, or else of the prompt
  std::optional<std::string> perplexityFile;
  bool tokenize = false;                     ///< print ids and run nothing
  bool similarity = false;                   ///< compare the vectors of the texts
  std::optional<int64_t> logprobs;           ///< print how likely new tokens are, and so many of the likeliest
  std::optional<std::string> pair, question; ///< texts beside the prompt
  std::optional<std::string> promptName;     ///< of the text ahead of those that vectors are made of; empty: none
  std::vector<std::string> images, audio;    ///< files
  std::optional<std::string> language;       ///< of the sound, as the user names it
  std::optional<std::string> speechTask;     ///< "transcribe" or "translate"
  bool timestamps = false;                   ///< print when each part is said
  bool knowsPrevious = false;                ///< a window of sound knows the text before it
  std::optional<double> temperatureStep, compressionRatio, meanLogProbability, noSpeech; ///< of SpeechFallback.h
  std::vector<std::vector<float>> vectors;
  bool chat = false, raw = false;
  bool converses = false;             ///< --chat without a message, on a terminal
  std::optional<bool> foldsReasoning; ///< a conversation shows it as a line
  std::optional<std::string> system;
  std::vector<NamedFile> inputs, outputs;
  std::string entry = "forward"; ///< of the inputs
  std::string reference;         ///< IR for rapt-reference

  std::optional<int64_t> maxNewTokens, minNewTokens, noRepeatNgram, context, stride, topK;
  std::vector<int64_t> threads;                              ///< several: the inputs run with each number
  std::optional<std::string> sourceLanguage, targetLanguage; ///< tokens of a translation
  std::optional<double> temperature, topP, minP, repetitionPenalty;
  std::optional<int64_t> beams, returns;
  std::optional<double> lengthPenalty;
  std::optional<int32_t> earlyStopping; ///< rapt_early_stopping
  uint64_t seed = 0;
  std::vector<std::string> stops;

  std::string attention;                                ///< folder for the weights of attention
  std::vector<int64_t> attentionLayers, attentionHeads; ///< empty: all
  std::string weights, variant;
  std::optional<std::string> adapter; ///< of all sequences, by its name
  bool anyWeights = false, verify = false, readWeights = false;
  bool ignoreEnd = false; ///< go on after a token that ends a text
  bool stats = false, json = false, info = false, verbose = false;
  std::vector<std::string> runOptions; ///< names of the given options that mean something only to a run

  /// Whether there is something to run.
  bool hasWork() const {
    return !prompts.empty() || promptFile || tokens || perplexityFile || !images.empty() || !audio.empty() ||
           !vectors.empty() || !inputs.empty() || converses;
  }
  /// Whether tokens are to be drawn, or chosen by the rules for that.
  bool samples() const { return temperature || topK || topP || minP; }
};

/// Parses argv[1..]. An error is a wrong use of the tool (exit 2).
Expected<Options> parseOptions(int argc, const char *const *argv);
/// Whether the options go together and have something to act on; an error as above.
Status checkOptions(const Options &options);

/// The full name of an option that says how answers of a conversation are chosen, by one of its names; an error lists
/// those that there are.
Expected<std::string> findAnswerOption(std::string_view name);
/// Sets it to what would stand on the command line.
Status setAnswerOption(Options &options, std::string_view name, const std::string &value);

/// A wrong use of the tool.
Error usage(const std::string &message);

/// The options of the command line, in their order.
std::vector<OptionName> namesOfOptions();
/// The text of --help.
std::string helpText();

} // namespace rapt::run
