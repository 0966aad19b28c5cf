//===- SentencePrompts.cpp -------------------------------------------------------===//
//
// sentence-transformers puts a text such as "query: " ahead of those that a model makes vectors
// of: config_sentence_transformers.json has them by name, and perhaps the name of the usual one. It
// cuts texts at a number of tokens; they are read whole here, and told of.
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

Outcome readSentenceTexts(const Options &options, const Model &model, SentenceTexts &usual) {
  size_t bytes = 0;
  const char *content = static_cast<const char *>(rapt_module_section(model.module.get(), "sentences.json", &bytes));
  const std::string title = std::string(model.info.name) + ": " + model.info.task;
  Expected<json::Value> section = content ? json::parse({content, bytes}) : json::Value(json::Object());
  if (!section || !section->isObject())
    return {RAPT_BAD_FILE, title + ": the section sentences.json is no JSON object"};
  const json::Value *length = section->find("max_seq_length"), *found = section->find("prompts");
  usual.mostTokens = size_t(length ? length->asInteger().value_or(0) : 0);
  const json::Object *prompts = found ? found->asObject() : nullptr;
  if (!prompts)
    return options.promptName.value_or("").empty()
               ? Outcome{}
               : Outcome{RAPT_INVALID, title + " has no prompts, so --prompt-name names none"};
  const json::Value *named = section->find("default_prompt_name");
  const std::string name = options.promptName.value_or(named && named->asString() ? *named->asString() : "");
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
  usual.prompt = *text->asString();
  return {};
}

} // namespace rapt::run
