//===- SentencePrompts.cpp -------------------------------------------------------===//
//
// sentence-transformers puts a text such as "query: " ahead of those that a model makes vectors
// of: config_sentence_transformers.json has them by name, and perhaps the name of the usual one.
//
//===----------------------------------------------------------------------===//
#include "lib/Generation/CommandLine/SentencePrompts.h"
#include "lib/Support/Json.h"

namespace rapt::run {

/// The names of all prompts, for a message.
static std::string listNames(const json::Object &prompts) {
  std::string names;
  for (const auto &[name, text] : prompts)
    names += (names.empty() ? "" : ", ") + json::printable(name, 80);
  return names;
}

Outcome chooseSentencePrompt(const Options &options, const Model &model, std::string &prompt) {
  size_t bytes = 0;
  const char *content = static_cast<const char *>(rapt_module_section(model.module.get(), "prompts.json", &bytes));
  const std::string title = std::string(model.info.name) + ": " + model.info.task;
  if (!content)
    return options.promptName.value_or("").empty()
               ? Outcome{}
               : Outcome{RAPT_INVALID, title + " has no prompts, so --prompt-name names none"};
  Expected<json::Value> section = json::parse({content, bytes});
  const json::Value *found = section ? section->find("prompts") : nullptr;
  const json::Object *prompts = found ? found->asObject() : nullptr;
  if (!prompts)
    return {RAPT_BAD_FILE, title + ": the section prompts.json has no prompts"};
  const json::Value *usual = section->find("default_prompt_name");
  const std::string name = options.promptName.value_or(usual && usual->asString() ? *usual->asString() : "");
  if (name.empty())
    return {};
  const json::Value *text = found->find(name);
  if (!text || !text->asString())
    return {RAPT_INVALID, title + " has no prompt " + json::printable(name, 80) + " for --prompt-name; it has " +
                              listNames(*prompts)};
  const json::Value *includes = section->find("include_prompt");
  if (!text->asString()->empty() && includes && includes->asBool() == false)
    return {RAPT_UNSUPPORTED, title +
                                  ": its pooling leaves out the tokens of prompts (include_prompt is false), which " +
                                  "is not supported; --prompt-name '' gives vectors without a prompt"};
  prompt = *text->asString();
  return {};
}

} // namespace rapt::run
