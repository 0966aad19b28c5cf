// Picks what a model does with a text.
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/TextTask.h"

namespace rapt::run {

int runPrompt(const Options &options) {
  Model model;
  if (Outcome outcome = openModule(options, model); !outcome)
    return fail(outcome.message, Failure(outcome).code);
  return runPrompt(options, std::move(model));
}

int runPrompt(const Options &options, Model model) {
  if (options.converses)
    return converse(options, std::move(model));
  const std::string_view task = model.info.task;
  if (isTextTask(task))
    return runTextTask(options, std::move(model));
  if (isPairTask(task))
    return runPair(options, std::move(model));
  const std::string name = std::string(model.info.name) + ": " + model.info.task;
  if (isSpeechTask(task))
    return fail(name + " takes no text: give a sound file, --audio");
  if (isVectorTask(task))
    return fail(name + " takes no text: give a vector of numbers, --vector");
  if (model.hasImageSource() && options.images.empty())
    return fail(name + " takes no text: give an image, --image");
  if (model.hasImageSource() && (!options.prompts.empty() || options.promptFile))
    return fail(name + " takes no text beside an image");
  if (task != "decoder" && task != "text2text-generation" && !model.readsImages() && !model.hasImageSource())
    return fail(name + " takes no text");
  for (const auto &[isGiven, option] : {std::pair{!options.outputs.empty(), "--output"},
                                        {options.question.has_value(), "--question"},
                                        {options.pair.has_value(), "--pair"},
                                        {options.promptName.has_value(), "--prompt-name"},
                                        {options.similarity, "--similarity"},
                                        {model.hasImageSource() && options.sourceLanguage, "--source-language"},
                                        {model.hasImageSource() && options.targetLanguage, "--target-language"}})
    if (isGiven)
      return fail(name + " generates text: it takes no " + option);
  return generate(options, std::move(model));
}

} // namespace rapt::run
