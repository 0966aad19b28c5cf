//===- ChatInterface.cpp - rapt_chat of rapt_text.h -------------------------===//
#include "lib/Generation/ChatTemplate.h"
#include "lib/Generation/TextInterface.h"

using namespace rapt;
using namespace rapt::text;

struct rapt_chat {
  ChatTemplate body;
  std::string tokenizerConfig;
};

static std::string_view viewOf(rapt_text_view view) { return {view.data, view.data ? view.size : 0}; }

rapt_status rapt_chat_open(rapt_text_view template_jinja, rapt_text_view tokenizer_config, rapt_chat **result,
                           char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!result)
      return invalid("rapt_chat_open: result is NULL");
    *result = nullptr;
    Expected<std::optional<std::string>> source = findChatTemplate(viewOf(template_jinja), viewOf(tokenizer_config));
    if (!source)
      return {RAPT_BAD_FILE, source.error().message};
    if (!*source)
      return {};
    Expected<ChatTemplate> body = ChatTemplate::parse(**source);
    if (!body)
      return {RAPT_BAD_FILE, body.error().message};
    *result = new rapt_chat{std::move(*body), std::string(viewOf(tokenizer_config))};
    return {};
  });
}

void rapt_chat_free(rapt_chat *chat) { delete chat; }

rapt_status rapt_chat_encode(const rapt_chat *chat, const rapt_tokenizer *tokenizer, const rapt_chat_message *messages,
                             size_t message_count, int64_t now, const rapt_encode_options *options, int32_t *ids,
                             size_t capacity, size_t *count, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!chat || !tokenizer || (!messages && message_count) || !count)
      return invalid("rapt_chat_encode: chat, tokenizer, messages or count is NULL");
    *count = 0;
    EncodeOptions settings;
    if (Outcome read = readOptions(options, settings); read.status)
      return read;
    settings.addSpecialTokens = false; // the template has them
    json::Array list;
    for (size_t i = 0; i < message_count; ++i)
      list.emplace_back(json::Object{{"role", json::Value(std::string(viewOf(messages[i].role)))},
                                     {"content", json::Value(std::string(viewOf(messages[i].content)))}});
    Expected<json::Value> context = chatContext(std::move(list), /*addGenerationPrompt=*/true, chat->tokenizerConfig);
    if (!context)
      return invalid(context.error().message);
    Expected<std::vector<ChatPiece>> pieces = chat->body.render(*context, std::time_t(now));
    if (!pieces)
      return invalid(pieces.error().message);
    std::vector<TextPart> parts;
    bool hasContent = false, isShown = false;
    for (size_t i = 0; i < message_count; ++i)
      hasContent =
          hasContent ||
          std::string_view(messages[i].content.data, messages[i].content.size).find_first_not_of(" \t\r\n\v\f") !=
              std::string_view::npos;
    for (const ChatPiece &piece : *pieces) {
      parts.push_back({piece.text, piece.fromUser});
      isShown = isShown || piece.fromUser;
    }
    if (hasContent && !isShown) // as one that reads lists of texts and images, not texts
      return {RAPT_UNSUPPORTED, "the chat template leaves out what the messages say: write the prompt without it"};
    Expected<std::vector<int32_t>> encoded = tokenizer->tokenizer->encodeParts(parts, settings);
    if (!encoded)
      return invalid(encoded.error().message);
    if (encoded->size() > settings.stopAbove)
      return {RAPT_TOO_LONG, "the chat has more than " + std::to_string(settings.stopAbove) + " tokens"};
    return give(encoded->data(), encoded->size(), ids, capacity, count, "ids");
  });
}
