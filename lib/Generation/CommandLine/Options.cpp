#include "lib/Generation/CommandLine/Options.h"
#include "lib/Support/CommandLine.h"
#include "lib/Support/ForeignOptions.h"
#include "lib/Support/Json.h"
#include "lib/Support/NumberList.h"
#include "lib/Support/Spelling.h"
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <filesystem>
#include <functional>
#include <random>

namespace rapt::run {
namespace {

/// Takes an option's value; returns what was expected instead, empty where the value is right.
using Setter = std::function<std::string(Options &, const std::string &)>;

Setter real(std::optional<double> Options::*field, double least, double most, const char *range) {
  return [=](Options &options, const std::string &text) {
    const std::optional<double> number = parseRealNumber(text);
    options.*field = number;
    return number && *number >= least && *number <= most ? std::string() : std::string("a number ") + range;
  };
}

std::string setVariant(Options &options, const std::string &value) {
  options.variant = value;
  return value.empty() ? "the name of a CPU" : "";
}

template <std::vector<NamedFile> Options::*field> std::string addTensor(Options &options, const std::string &value) {
  return addNamedFile(options.*field, value);
}

std::string setTokens(Options &options, const std::string &value) {
  if (options.tokens)
    return "one list of token ids, and it has one already; several prompts run together by --prompt";
  options.tokens = parseWholeNumbers<int32_t>(value, INT32_MIN, INT32_MAX);
  return options.tokens ? "" : expectedIds;
}

std::string setThreads(Options &options, const std::string &value) {
  options.threads = parseWholeNumbers<int64_t>(value, 1, INT64_MAX).value_or(std::vector<int64_t>());
  return options.threads.empty() ? "a whole number from 1 on, or several, such as 1,2,7" : "";
}

std::string addVector(Options &options, const std::string &value) {
  std::vector<float> &numbers = options.vectors.emplace_back();
  for (size_t at = 0; at <= value.size();) {
    const size_t end = std::min(value.find(',', at), value.size());
    const std::optional<double> number = parseRealNumber(std::string_view(value).substr(at, end - at));
    if (!number || std::abs(*number) > FLT_MAX)
      return "a list of numbers, such as 0.5,-1,2";
    numbers.push_back(float(*number));
    at = end + 1;
  }
  return {};
}

Setter numberList(std::vector<int64_t> Options::*field) {
  return [=](Options &options, const std::string &text) -> std::string {
    std::optional<std::vector<int64_t>> list = parseNumberList(text);
    if (!list)
      return "a list of numbers, such as 0,2-5, or all";
    options.*field = std::move(*list);
    return {};
  };
}

/// One that differs from run to run, short enough to be typed.
uint64_t drawSeed() { return std::random_device()(); }

std::string setAnySeed(Options &options, const std::string &value) {
  if (value == "-1") { // as in llama.cpp
    options.seed = drawSeed();
    return {};
  }
  const std::string expected = setSeed<&Options::seed>(options, value);
  return expected.empty() ? "" : expected + ", or -1 for another one in each run";
}

std::string setEarlyStopping(Options &options, const std::string &value) {
  static constexpr std::string_view names[] = {"false", "true", "never"}; // as rapt_early_stopping counts
  const std::optional<size_t> found = parseChoice(value, names);
  options.earlyStopping = int32_t(found.value_or(0));
  return found ? "" : listChoices(names);
}

std::string addImage(Options &options, const std::string &value) {
  options.images.push_back(value);
  return value.empty() ? "a file" : "";
}

std::string addAudio(Options &options, const std::string &value) {
  options.audio.push_back(value);
  return value.empty() ? "a file" : "";
}

std::string setThink(Options &options, const std::string &value) {
  static constexpr std::string_view names[] = {"show", "hide"};
  options.foldsReasoning = value == "hide";
  return parseChoice(value, names) ? "" : listChoices(names);
}

std::string setSpeechTask(Options &options, const std::string &value) {
  static constexpr std::string_view names[] = {"transcribe", "translate"};
  options.speechTask = value;
  return parseChoice(value, names) ? "" : listChoices(names);
}

std::string addPrompt(Options &options, const std::string &value) {
  options.prompts.push_back(value);
  return {};
}

std::string setEntry(Options &options, const std::string &value) {
  options.entry = value;
  return value.empty() ? "the name of an entry" : "";
}

std::string addStop(Options &options, const std::string &value) {
  options.stops.push_back(value);
  return value.empty() ? "a text" : "";
}

std::string setPerplexity(Options &options, const std::string &value) {
  options.perplexity = true;
  if (!value.empty())
    options.perplexityFile = value;
  return {};
}

std::string setLogProbabilities(Options &options, const std::string &value) {
  constexpr int64_t most = 1000;
  options.logprobs = value.empty() ? 0 : parseWholeNumber(value, 0, most);
  return options.logprobs ? "" : expectedNumber(0, most);
}

std::string setProfile(Options &options, const std::string &value) {
  options.profile = std::make_shared<Profiling>(Profiling{value});
  return {};
}

struct Option {
  OptionName name;
  Setter set;
};

/// Those about sound.
std::vector<Option> soundOptions() {
  return {
      {{"audio", "", "FILE", "write what is said in a sound file, or read it in a prompt; may be repeated"}, addAudio},
      {{"language", "lang", "CODE", "the language that is spoken, such as en (detected)"}, setText<&Options::language>},
      {{"task", "", "TASK", "transcribe, or translate into English (transcribe)"}, setSpeechTask},
      {{"timestamps", "", nullptr, "print when each part is said"}, setFlag<&Options::timestamps>},
      {{"condition-on-previous-text", "", nullptr, "put the previous text in front of a window"},
       setFlag<&Options::knowsPrevious>},
      {{"temperature-increment-on-fallback", "", "X",
        "generate a window again at temperatures that grow by X up to 1, until no threshold rejects its text"},
       real(&Options::temperatureStep, 0.01, 1, "from 0.01 to 1")},
      {{"compression-ratio-threshold", "", "X", "reject a text that zlib compresses by more than X (2.4)"},
       real(&Options::compressionRatio, 0, 1e6, "from 0 on")},
      {{"logprob-threshold", "", "X", "reject a text whose tokens have a smaller mean log probability (-1)"},
       real(&Options::meanLogProbability, -1e6, 0, "up to 0")},
      {{"no-speech-threshold", "", "X", "skip windows that are silent with a probability above X (none)"},
       real(&Options::noSpeech, 0, 1, "from 0 to 1")}};
}

/// Names of llama.cpp for what is decided elsewhere here.
std::vector<Option> refusedOptions() {
  std::vector<Option> options = {
      {foreignOption("batch-size", "b ub ubatch-size", "N",
                     "a prompt is read in one step; raptc --max-batch bounds the sequences of a step"),
       {}},
      {foreignOption("no-mmap", "", nullptr, "--read-weights reads the weights instead of mapping the file"), {}}};
  for (const OptionName &shared : foreignOptions)
    options.push_back({shared, {}});
  return options;
}

/// Those about chats.
std::vector<Option> chatOptions() {
  return {{{"chat", "", nullptr, "use the model's chat template; without a prompt, converse"}, setFlag<&Options::chat>},
          {{"raw", "", nullptr, "the prompt is the text itself, template or not (default)"}, setFlag<&Options::raw>},
          {{"system", "sys system-prompt", "TEXT", "with --chat: the system message"}, setText<&Options::system>},
          {{"think", "", "HOW",
            "in a conversation, what the model writes from <think> to </think>: show, or hide, which leaves a line "
            "(show)"},
           setThink}};
}

/// Those about how texts and tokens are judged.
std::vector<Option> judgingOptions() {
  return {
      {{"tokenize", "", nullptr, "print the token ids of the prompt, each with its text, and run nothing"},
       setFlag<&Options::tokenize>},
      {{"logprobs", "", "[=K]", "print the log probability of each new token, and the K likeliest alternatives (0)"},
       setLogProbabilities},
      {{"similarity", "", nullptr, "print the similarities of the vectors of all texts"},
       setFlag<&Options::similarity>},
      {{"perplexity", "", "[FILE]", "measure how well the model predicts the text of a file, or the prompt"},
       setPerplexity},
      {{"stride", "", "N", "stride of the windows (window - 1: each token is predicted once)"},
       setNumber<&Options::stride, 1>}};
}

/// All options; each group stands before one of them, or last.
std::vector<Option> joined(std::vector<Option> all) {
  auto insert = [&](const std::vector<Option> &group, std::string_view before) {
    const auto place = std::ranges::find(all, before, [](const Option &one) { return one.name.name; });
    all.insert(place, group.begin(), group.end());
  };
  insert(chatOptions(), "tokens");
  insert(soundOptions(), "vector");
  insert(judgingOptions(), "stats");
  insert(refusedOptions(), {});
  return all;
}

const std::vector<Option> &table() {
  // The aliases are those of llama.cpp and of Hugging Face.
  static const std::vector<Option> options = joined(
      {{{"model", "m", "MODEL.so", "the model; -m may be left out"}, setFile<&Options::library>},
       {{"prompt", "p", "TEXT", "a text to continue or classify, by the task of the model; may be repeated"},
        addPrompt},
       {{"file", "f", "FILE",
         "a prompt from a file, without its last newline, or one text per line for models that do not generate; -: "
         "standard input, the default"},
        setText<&Options::promptFile>},
       {{"question", "", "TEXT", "find the answer in the prompt"}, setText<&Options::question>},
       {{"pair", "", "TEXT", "classify the prompt and this text together"}, setText<&Options::pair>},
       {{"prompt-name", "", "NAME",
         "put this prompt of the model in front of each text; '': none (the model's default)"},
        setText<&Options::promptName>},
       {{"tokens", "", "1,2,3", "the prompt as token ids; prints ids"}, setTokens},
       {{"image", "", "FILE", "read a JPEG, PNG or WebP image; may be repeated"}, addImage},
       {{"vector", "", "X,Y,...", "classify a vector of numbers, or compute its values; may be repeated"}, addVector},
       {{"max-new-tokens", "n n-predict predict", "N", "stop after N new tokens"},
        setNumber<&Options::maxNewTokens, 0>},
       {{"min-new-tokens", "", "N", "do not end before N new tokens"}, setNumber<&Options::minNewTokens, 0>},
       {{"source-language", "src-lang", "TOKEN", "translate from this language, as the vocabulary writes it"},
        setText<&Options::sourceLanguage>},
       {{"target-language", "tgt-lang", "TOKEN", "translate to it"}, setText<&Options::targetLanguage>},
       {{"context", "c ctx-size", "N", "capacity of the cache, in tokens"}, setNumber<&Options::context, 1>},
       {{"seed", "s", "N", "seed of the sampling (-1: a new one in each run)"}, setAnySeed},
       {{"temperature", "temp", "X", "of the sampling; 0 chooses the most likely token"},
        real(&Options::temperature, 0, 1e6, "from 0 on")},
       {{"top-k", "", "K", "sample from the K most likely tokens, or print the K best results (0: all)"},
        setNumber<&Options::topK, 0>},
       {{"top-p", "", "P", "sample from the likeliest tokens that make up P"},
        real(&Options::topP, 1e-9, 1, "above 0, at most 1")},
       {{"min-p", "", "P", "drop tokens less likely than P times the likeliest"},
        real(&Options::minP, 0, 1, "from 0 to 1")},
       {{"repetition-penalty", "repeat-penalty", "X", "above 1 discourages tokens that occurred"},
        real(&Options::repetitionPenalty, 1e-6, 1e6, "above 0")},
       {{"no-repeat-ngram", "no-repeat-ngram-size", "N",
         "never repeat N tokens, those of the prompt included (0: off)"},
        setNumber<&Options::noRepeatNgram, 0>},
       {{"beams", "num-beams", "N", "beam search with N beams"}, setNumber<&Options::beams, 1, 4096>},
       {{"returns", "num-return-sequences", "K", "print the K best texts of the beams"},
        setNumber<&Options::returns, 1>},
       {{"length-penalty", "", "X", "beams: above 0 favors long texts (1)"},
        real(&Options::lengthPenalty, -1e3, 1e3, "from -1000 to 1000")},
       {{"early-stopping", "", "WHEN", "beams: false, true or never, as in Hugging Face (false)"}, setEarlyStopping},
       {{"stop", "", "TEXT", "end before this text; may be repeated"}, addStop},
       {{"ignore-eos", "", nullptr, "continue after a token that ends a text"}, setFlag<&Options::ignoreEnd>},
       {{"threads", "t", "N", "threads (the processors this process may use), none on a GPU; --input compares N,N,..."},
        setThreads},
       {{"stats", "", nullptr, "print time to first token, tokens/s and memory"}, setFlag<&Options::stats>},
       {{"profile", "", "[=FILE.json]", "print the time of each op beside the limits; or write a row for each layer"},
        setProfile},
       {{"input", "", "NAME=F.npy", "run an entry on tensors; may be repeated"}, addTensor<&Options::inputs>},
       {{"output", "", "NAME=F.npy", "write a tensor of the entry; may be repeated"}, addTensor<&Options::outputs>},
       {{"entry", "", "NAME", "the entry that runs (forward)"}, setEntry},
       {{"attention-weights", "", "FOLDER",
         "write attention probabilities there: .npy, and .svg and .png with the tokens"},
        setFile<&Options::attention>},
       {{"attention-layers", "", "LIST", "layers of --attention-weights, such as 0,2-5 (all)"},
        numberList(&Options::attentionLayers)},
       {{"attention-heads", "", "LIST", "heads of --attention-weights (all)"}, numberList(&Options::attentionHeads)},
       {{"reference", "", "IR.mlir", "run the reference evaluator on --input and --output instead"},
        setFile<&Options::reference>},
       {{"weights", "", "FILE", "another weight file than the one beside the library"}, setFile<&Options::weights>},
       {{"adapter", "", "NAME", "use this one of the model's adapters (none)"}, setText<&Options::adapter>},
       {{"variant", "", "NAME", "run the code for this CPU or GPU, of several (the best that runs here)"}, setVariant},
       {{"any-weights", "", nullptr, "accept weights with other content (a fine-tune)"}, setFlag<&Options::anyWeights>},
       {{"verify", "", nullptr, "hash the weights before using them"}, setFlag<&Options::verify>},
       {{"read-weights", "", nullptr, "read the weights instead of mapping the file"}, setFlag<&Options::readWeights>},
       {{"verbose", "v", nullptr, "without a prompt: list the features of the CPUs that can run the model"},
        setFlag<&Options::verbose>},
       {{"json", "", nullptr, "print one JSON object"}, setFlag<&Options::json>},
       {{"info", "", nullptr, "describe the library, and do nothing else"}, setFlag<&Options::info>},
       {{"help", "h", nullptr, "print this"}, setFlag<&Options::help>},
       {{"version", "", nullptr, "print the version"}, setFlag<&Options::version>}});
  return options;
}

/// Options that a conversation may change between two answers.
constexpr std::string_view answerOptions[] = {"temperature",        "top-k",          "top-p", "min-p",
                                              "repetition-penalty", "seed",           "stop",  "no-repeat-ngram",
                                              "max-new-tokens",     "min-new-tokens", "think"};

/// Options that say something about the model or about what is printed, also where nothing runs.
bool isOfCard(std::string_view name) {
  for (const char *known : {"model", "json", "info", "weights", "verbose", "help", "version"})
    if (name == known)
      return true;
  return false;
}

} // namespace

Error usage(const std::string &message) { return Error{message + "; see rapt-run --help"}; }

/// Takes an argument without an option: the model first, then a text.
static Status takeOperand(Options &options, const std::string &text, bool isModelNamed) {
  if (options.library.empty() && !isModelNamed) {
    options.library = text;
    return {};
  }
  if (text == "-") {
    options.promptFile = text;
    return {};
  }
  std::error_code ignored;
  if (text.ends_with(".so") && std::filesystem::exists(text, ignored))
    return usage("a second model is named: " + json::printable(text));
  if (std::filesystem::is_regular_file(text, ignored))
    return usage(json::printable(text) + " is a file: say how it is read, such as by --file, --image or --audio; "
                                         "--prompt takes its name as a text");
  if (options.hasOperand)
    return usage("a second text without an option: " + json::printable(text) +
                 "; quote a text of several words, and name each of several by --prompt");
  options.hasOperand = true;
  options.prompts.push_back(text);
  return {};
}

Expected<Options> parseOptions(int argc, const char *const *argv) {
  Options options;
  options.program = argc > 0 ? argv[0] : "rapt-run";
  options.seed = drawSeed();
  const std::vector<OptionName> names = namesOfOptions();
  Expected<std::vector<Argument>> arguments = readArguments(argc, argv, names);
  if (!arguments)
    return usage(arguments.error().message);
  const bool isModelNamed =
      std::ranges::any_of(*arguments, [](const Argument &one) { return one.option && one.option->name == "model"; });
  for (const auto &[name, text, hasValue] : *arguments) {
    if (name && name->name == "model" && !options.library.empty())
      return usage("a second model is named: " + json::printable(text));
    if (!name) {
      RAPT_RETURN_IF_ERROR(takeOperand(options, text, isModelNamed));
      continue;
    }
    if (!isOfCard(name->name))
      options.runOptions.emplace_back(name->name);
    if (hasValue && text.empty() && name->mayLackValue())
      return usage(name->shown() + "= lacks its value");
    const std::string expected = table()[size_t(name - names.data())].set(options, text);
    if (!expected.empty())
      return usage(invalidValue(text, name->shown(), expected));
  }
  return options;
}

/// Whether `name` is the option's, or one of its aliases.
static bool isNamed(const OptionName &option, std::string_view name) {
  return option.name == name ||
         (" " + std::string(option.aliases) + " ").find(" " + std::string(name) + " ") != std::string::npos;
}

Expected<std::string> findAnswerOption(std::string_view name) {
  for (const Option &option : table())
    if (parseChoice(option.name.name, answerOptions) && isNamed(option.name, name))
      return std::string(option.name.name);
  return Error{"there is no setting " + json::printable(name) + "; expected " + listChoices(answerOptions)};
}

Status setAnswerOption(Options &options, std::string_view name, const std::string &value) {
  const auto option = std::ranges::find_if(table(), [&](const Option &one) { return one.name.name == name; });
  const std::string expected = option->set(options, value);
  return expected.empty() ? Status() : Error{invalidValue(value, std::string(name), expected)};
}

std::vector<OptionName> namesOfOptions() { return optionNames(table()); }

} // namespace rapt::run
