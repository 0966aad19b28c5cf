//===- TokenizerConfig.cpp - tokenizer_config.json of a GGUF file ----------------===//
#include "lib/Formats/GGUF/TokenizerConfig.h"
#include "lib/Support/Json.h"

namespace rapt::gguf {

static constexpr std::string_view templateKey = "tokenizer.chat_template", listKey = "tokenizer.chat_templates",
                                  namedPrefix = "tokenizer.chat_template.", defaultName = "default";
static constexpr size_t mostTemplates = 64;

using Templates = std::map<std::string, const std::string *, std::less<>>;

static Status addTemplate(const Metadata &metadata, std::string_view key, std::string_view name, Templates &templates) {
  RAPT_RETURN_IF_ERROR(metadata.text(key)); // is a text
  const std::string *text = metadata.find(key)->asText();
  if (!json::isUtf8(*text) || !json::isUtf8(name))
    return metadata.fail(key, "is not valid UTF-8");
  templates.emplace(name, text);
  if (templates.size() > mostTemplates)
    return metadata.fail(key, "is one template more than the " + std::to_string(mostTemplates) + " that can be");
  return {};
}

/// By name: the one without a name is the default.
static Expected<Templates> readTemplates(const Metadata &metadata) {
  Templates templates;
  if (metadata.find(templateKey))
    RAPT_RETURN_IF_ERROR(addTemplate(metadata, templateKey, defaultName, templates));
  for (auto at = metadata.values().lower_bound(namedPrefix);
       at != metadata.values().end() && at->first.starts_with(namedPrefix); ++at)
    RAPT_RETURN_IF_ERROR(addTemplate(metadata, at->first, at->first.substr(namedPrefix.size()), templates));
  RAPT_ASSIGN_OR_RETURN(const Value::Texts *names, metadata.texts(listKey));
  for (const std::string &name : names ? *names : Value::Texts())
    if (!templates.contains(name))
      return metadata.fail(listKey, "names \"" + json::printable(name, 60) + "\", but there is no key " +
                                        std::string(namedPrefix) + json::printable(name, 60));
  return templates;
}

static json::Value writeTemplates(const Templates &templates) {
  if (templates.size() == 1 && templates.begin()->first == defaultName)
    return json::Value(*templates.begin()->second);
  json::Array list;
  for (const auto &[name, text] : templates)
    list.push_back(json::Value(json::Object{{"name", json::Value(name)}, {"template", json::Value(*text)}}));
  return json::Value(std::move(list));
}

Expected<std::string> writeTokenizerConfig(const Metadata &metadata, const TokenTable *tokens) {
  RAPT_ASSIGN_OR_RETURN(const Templates templates, readTemplates(metadata));
  // A class whose rules are all in tokenizer.json.
  json::Object members{{"tokenizer_class", json::Value("PreTrainedTokenizerFast")}};
  if (tokens)
    for (const auto &[role, id] : tokens->roles())
      members.emplace_back(role, json::Value(tokens->text(id)));
  if (!templates.empty())
    members.emplace_back("chat_template", writeTemplates(templates));
  return json::write(json::Value(std::move(members)));
}

} // namespace rapt::gguf
