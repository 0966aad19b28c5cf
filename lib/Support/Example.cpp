//===- Example.cpp - A command that shows what a model does ----------------------===//
#include "lib/Support/Example.h"
#include <algorithm>
#include <iterator>

using namespace rapt;

/// Arguments with a file or numbers of the user's.
static std::string exampleInput(const ExampleModel &model) {
  if (model.task == "automatic-speech-recognition")
    return "--audio FILE, a WAV, FLAC, Ogg or MP3 file";
  if (model.task.starts_with("tabular-"))
    return "--vector X,Y,..., once for each vector";
  const std::string image = "--image FILE, a JPEG, PNG or WebP image";
  if (model.task == "zero-shot-image-classification")
    return (model.texts.hasTokenizer ? "-p \"a cat\" -p \"a dog\" " : "") + image;
  if (model.task == "image-feature-extraction")
    return "--output last_hidden_state=FILE.npy " + image;
  return model.task.starts_with("image-") && model.task != "image-text-to-text" ? image : "";
}

static std::string exampleText(const ExampleModel &model) {
  if (model.task == "fill-mask")
    return "-p " +
           shellWord("Paris is the " + (model.texts.mask.empty() ? "[MASK]" : model.texts.mask) + " of France.");
  if (model.task == "question-answering")
    return "--question \"Where is Paris?\" -p \"Paris is in France.\"";
  return "-p \"Once upon a time\"";
}

bool rapt::hasTokenizer(const std::function<bool(const char *)> &has, bool writesOther) {
  return (has("tokenizer.json") || has("vocab.json") || has("vocab.txt")) &&
         (!writesOther || has("target_tokenizer.json"));
}

std::string rapt::exampleArguments(const ExampleModel &model) {
  constexpr int64_t mostTokens = 64; // of the texts, where each byte is one
  auto fits = [&](int64_t tokens) { return model.positions == 0 || model.positions >= tokens; };
  if (const std::string input = exampleInput(model); !input.empty() || model.task.empty())
    return input;
  constexpr std::string_view generating[] = {"any-to-any", "audio-text-to-text", "decoder", "image-text-to-text",
                                             "text2text-generation"};
  const bool generates = std::find(std::begin(generating), std::end(generating), model.task) != std::end(generating);
  if (model.texts.hasTokenizer && model.texts.chatTokens > 0 && generates && fits(model.texts.chatTokens + 1))
    return "--chat -p \"" + std::string(exampleMessage) + "\"";
  if (model.texts.hasTokenizer && fits(mostTokens))
    return exampleText(model);
  // A tokenizer alone knows the mask, which the ids of a text must have then.
  const bool fillsAnywhere = model.task == "fill-mask" && !model.texts.hasTokenizer;
  if (!generates && model.task != "text-classification" && model.task != "feature-extraction" && !fillsAnywhere)
    return {};
  const bool several = model.vocabulary > 3 && fits(11);
  if (!several && !fits(2))
    return {};
  return std::string(several ? "--tokens 1,2,3" : "--tokens 0") + (!generates ? "" : several ? " -n 8" : " -n 1");
}

std::string rapt::shellWord(const std::string &word) {
  constexpr const char *plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+:@%,=-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos)
    return word;
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}
