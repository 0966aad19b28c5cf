//===- Example.cpp - A command that shows what a model does ----------------------===//
#include "lib/Support/Example.h"

using namespace rapt;

static std::string exampleText(std::string_view task) {
  if (task == "fill-mask")
    return "-p \"Paris is the [MASK] of France.\"";
  if (task == "question-answering")
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
  const bool readsImages = model.task == "image-text-to-text"; // in a text, or none
  if (model.task.empty() || (model.task.starts_with("image-") && !readsImages) ||
      model.task == "zero-shot-image-classification" || model.task == "automatic-speech-recognition") // needs a file
    return {};
  if (model.hasTokenizer && fits(mostTokens))
    return exampleText(model.task);
  const bool generates = readsImages || model.task == "decoder" || model.task == "text2text-generation";
  if (!generates && model.task != "text-classification" && model.task != "feature-extraction")
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
