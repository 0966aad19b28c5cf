//===- ChatTemplate.cpp ----------------------------------------------------===//
#include "lib/Generation/ChatTemplate.h"
#include "lib/Generation/Chat/Evaluator.h"
#include "lib/Generation/Chat/Library.h"
#include "lib/Generation/Chat/Parser.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>

namespace rapt {

constexpr size_t mostSource = 1 << 20;

Expected<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  if (source.size() > mostSource)
    return Error{"the chat template has " + std::to_string(source.size()) + " bytes; at most " +
                 std::to_string(mostSource) + " are read"};
  if (std::optional<size_t> offset = unicode::findInvalid(source))
    return Error{"the chat template is not valid UTF-8 at byte " + std::to_string(*offset)};
  RAPT_ASSIGN_OR_RETURN(chat::Syntax syntax, chat::parseTemplate(source));
  return ChatTemplate(std::make_shared<const chat::Syntax>(std::move(syntax)));
}

Expected<std::vector<ChatPiece>> ChatTemplate::render(const json::Value &context, std::time_t now) const {
  static constexpr std::string_view ofUser[] = {"messages", "tools", "documents"};
  RAPT_ASSIGN_OR_RETURN(chat::Text text, chat::Evaluator(*syntax, now).render(context, ofUser));
  std::vector<ChatPiece> pieces;
  for (size_t at = 0, end; at < text.size(); at = end) {
    bool fromUser = text[at] & chat::userMark;
    for (end = at; end < text.size() && bool(text[end] & chat::userMark) == fromUser;)
      ++end;
    pieces.push_back({chat::bytesOf(text.substr(at, end - at)), fromUser});
  }
  return pieces;
}

static const std::string kConfig = "tokenizer_config.json";

/// The text of a template among several: a list of {"name", "template"}, or an object by name; null where there is
/// none.
static const std::string *findNamed(const json::Value &templates, std::string_view name) {
  const json::Value *text = templates.find(name);
  for (const json::Value &entry : templates.isArray() ? *templates.asArray() : json::Array()) {
    const json::Value *own = entry.find("name");
    if (own && own->isString() && *own->asString() == name)
      text = entry.find("template");
  }
  return text ? text->asString() : nullptr;
}

Expected<std::optional<std::string>> findChatTemplate(std::string_view jinja, std::string_view tokenizerConfig,
                                                      bool hasTools) {
  if (!jinja.empty())
    return std::optional<std::string>(jinja);
  if (tokenizerConfig.empty())
    return std::optional<std::string>();
  RAPT_ASSIGN_OR_RETURN(json::Value config, withContext(kConfig, json::parse(tokenizerConfig)));
  const json::Value *value = config.find("chat_template");
  if (!value || value->isNull())
    return std::optional<std::string>();
  if (const std::string *text = value->asString())
    return std::optional<std::string>(*text);
  const std::string *ofTools = hasTools ? findNamed(*value, "tool_use") : nullptr;
  if (const std::string *text = ofTools ? ofTools : findNamed(*value, "default"))
    return std::optional<std::string>(*text);
  if (value->isArray() || value->isObject())
    return Error{"none of the chat templates is named \"default\""};
  return Error{kConfig + ": chat_template is neither a string nor a list of named ones"};
}

Expected<std::vector<ChatPiece>> renderMessage(std::string_view message, std::string_view jinja,
                                               std::string_view tokenizerConfig) {
  RAPT_ASSIGN_OR_RETURN(const std::optional<std::string> source, findChatTemplate(jinja, tokenizerConfig));
  if (!source)
    return std::vector<ChatPiece>();
  RAPT_ASSIGN_OR_RETURN(const ChatTemplate body, ChatTemplate::parse(*source));
  auto render = [&](json::Value content) -> Expected<std::vector<ChatPiece>> {
    json::Object user = {{"role", json::Value("user")}, {"content", std::move(content)}};
    RAPT_ASSIGN_OR_RETURN(const json::Value context,
                          chatContext({json::Value(std::move(user))}, true, tokenizerConfig));
    return body.render(context, std::time(nullptr));
  };
  RAPT_ASSIGN_OR_RETURN(std::vector<ChatPiece> pieces, render(json::Value(std::string(message))));
  if (showsMessages(pieces))
    return pieces;
  // Some templates read lists of parts alone.
  const json::Value part(json::Object{{"type", json::Value("text")}, {"text", json::Value(std::string(message))}});
  Expected<std::vector<ChatPiece>> ofParts = render(json::Value(json::Array{part}));
  return ofParts && showsMessages(*ofParts) ? std::move(*ofParts) : std::vector<ChatPiece>();
}

bool showsMessages(const std::vector<ChatPiece> &pieces) { return std::ranges::any_of(pieces, &ChatPiece::fromUser); }

Expected<json::Value> chatContext(json::Array messages, bool addGenerationPrompt, std::string_view tokenizerConfig) {
  json::Object context;
  context.emplace_back("messages", json::Value(std::move(messages)));
  context.emplace_back("add_generation_prompt", json::Value(addGenerationPrompt));
  // Hugging Face passes what a chat does not have as None, which templates tell apart from what is not defined.
  for (const char *absent : {"tools", "documents"})
    context.emplace_back(absent, json::Value());
  if (tokenizerConfig.empty())
    return json::Value(std::move(context));
  RAPT_ASSIGN_OR_RETURN(json::Value config, withContext(kConfig, json::parse(tokenizerConfig)));
  for (const char *key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const json::Value *token = config.find(key);
    const json::Value *content = token && token->isObject() ? token->find("content") : token;
    if (content && content->isString())
      context.emplace_back(key, *content);
  }
  return json::Value(std::move(context));
}

static json::Value weatherTool() {
  Expected<json::Value> tool =
      json::parse(R"({"type": "function", "function": {"name": "weather", "description": "The weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Its name."}}, "required": ["city"]}}})");
  return *tool;
}

std::optional<std::string> findChatProblem(std::string_view jinja, std::string_view tokenizerConfig) {
  if (!tokenizerConfig.empty() && !json::parse(tokenizerConfig))
    return std::nullopt; // told by who reads the tokenizer
  Expected<std::optional<std::string>> source = findChatTemplate(jinja, tokenizerConfig);
  if (!source)
    return source.error().message;
  if (!*source)
    return std::nullopt;
  Expected<ChatTemplate> chat = ChatTemplate::parse(**source);
  if (!chat)
    return chat.error().message + "; rapt-run --chat will refuse it";
  source = findChatTemplate(jinja, tokenizerConfig, /*hasTools=*/true);
  Expected<ChatTemplate> ofTools = ChatTemplate::parse(**source);
  if (!ofTools)
    return ofTools.error().message + "; a chat with tools cannot be written";
  const json::Value message(json::Object{{"role", json::Value("user")}, {"content", json::Value("Hello")}});
  Expected<json::Value> context = chatContext({message}, /*addGenerationPrompt=*/true, tokenizerConfig);
  if (!context)
    return context.error().message;
  const Expected<std::vector<ChatPiece>> plain = chat->render(*context, 0);
  if (!plain)
    return plain.error().message + "; rapt-run --chat will fail";
  if (auto shown = showsMessages(*plain) ? plain : renderMessage("Hello", jinja, tokenizerConfig);
      shown && shown->empty())
    return "the chat template leaves out what the messages say; rapt-run --chat will refuse it";
  json::Object withTool;
  for (const auto &[key, value] : *context->asObject())
    withTool.emplace_back(key, key == "tools" ? json::Value(json::Array{weatherTool()}) : value);
  Expected<std::vector<ChatPiece>> tool = ofTools->render(json::Value(std::move(withTool)), 0);
  if (!tool && tool.error().message.find(chat::refusedByTemplate) == std::string::npos)
    return tool.error().message + "; a chat with tools cannot be written";
  return std::nullopt;
}

} // namespace rapt
