//===- ChatInterface.cpp - rapt_chat of rapt_text.h -------------------------===//
#include "lib/Generation/ChatTemplate.h"
#include "lib/Generation/TextInterface.h"
#include <algorithm>

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

namespace {

/// Messages as the caller gave them.
struct Messages {
  const rapt_chat_message *first;
  const size_t *imageCounts, *audioCounts; ///< null: there are no images, or sounds
  size_t count;

  bool haveMedia() const {
    auto has = [this](const size_t *counts) {
      return counts && std::any_of(counts, counts + count, [](size_t number) { return number > 0; });
    };
    return has(imageCounts) || has(audioCounts);
  }
  bool sayAnything() const {
    return std::any_of(first, first + count, [](const rapt_chat_message &one) {
      return viewOf(one.content).find_first_not_of(" \t\r\n\v\f") != std::string_view::npos;
    });
  }
};

constexpr size_t mostMedia = 1 << 12; // images, or sounds, of a message

json::Value partOf(const char *type) { return json::Value(json::Object{{"type", json::Value(std::string(type))}}); }

/// A content as a list of its images, its sounds and its text.
json::Value listOf(std::string_view content, size_t images, size_t sounds) {
  json::Array parts(images, partOf("image"));
  parts.insert(parts.end(), sounds, partOf("audio"));
  if (!content.empty())
    parts.emplace_back(
        json::Object{{"type", json::Value(std::string("text"))}, {"text", json::Value(std::string(content))}});
  return json::Value(std::move(parts));
}

Expected<std::vector<ChatPiece>> render(const rapt_chat &chat, const Messages &messages, bool asLists, int64_t now) {
  json::Array list;
  for (size_t i = 0; i < messages.count; ++i) {
    const std::string_view content = viewOf(messages.first[i].content);
    auto countOf = [i](const size_t *counts) { return counts ? counts[i] : 0; };
    const size_t images = countOf(messages.imageCounts), sounds = countOf(messages.audioCounts);
    list.emplace_back(
        json::Object{{"role", json::Value(std::string(viewOf(messages.first[i].role)))},
                     {"content", asLists ? listOf(content, images, sounds) : json::Value(std::string(content))}});
  }
  RAPT_ASSIGN_OR_RETURN(json::Value context,
                        chatContext(std::move(list), /*addGenerationPrompt=*/true, chat.tokenizerConfig));
  return chat.body.render(context, std::time_t(now));
}

Outcome renderShown(const rapt_chat &chat, const Messages &messages, int64_t now, std::vector<ChatPiece> &pieces) {
  const bool mustShow = messages.sayAnything();
  for (bool asLists : {false, true}) {
    if (!asLists && messages.haveMedia())
      continue;
    Expected<std::vector<ChatPiece>> rendered = render(chat, messages, asLists, now);
    if (!rendered && (!asLists || messages.haveMedia()))
      return invalid(rendered.error().message);
    if (!rendered)
      break; // a template of texts alone
    pieces = std::move(*rendered);
    if (!mustShow || showsMessages(pieces))
      return {};
  }
  return {RAPT_UNSUPPORTED, "the chat template leaves out what the messages say: write the prompt without it"};
}

} // namespace

rapt_status rapt_chat_encode(const rapt_chat *chat, const rapt_tokenizer *tokenizer, const rapt_chat_message *messages,
                             size_t message_count, int64_t now, const rapt_encode_options *options, int32_t *ids,
                             size_t capacity, size_t *count, char *message, size_t message_size) {
  return rapt_chat_encode_images(chat, tokenizer, messages, nullptr, message_count, now, options, ids, capacity, count,
                                 message, message_size);
}

rapt_status rapt_chat_encode_images(const rapt_chat *chat, const rapt_tokenizer *tokenizer,
                                    const rapt_chat_message *messages, const size_t *image_counts, size_t message_count,
                                    int64_t now, const rapt_encode_options *options, int32_t *ids, size_t capacity,
                                    size_t *count, char *message, size_t message_size) {
  return rapt_chat_encode_media(chat, tokenizer, messages, image_counts, nullptr, message_count, now, options, ids,
                                capacity, count, message, message_size);
}

/// Refuses numbers of images or sounds that no text has.
static Outcome checkCounts(const size_t *counts, size_t messages, const char *what) {
  for (size_t i = 0; counts && i < messages; ++i)
    if (counts[i] > mostMedia)
      return invalid("rapt_chat_encode: message " + std::to_string(i) + " has " + std::to_string(counts[i]) + " " +
                     what + ", at most " + std::to_string(mostMedia) + " are supported");
  return {};
}

rapt_status rapt_chat_encode_media(const rapt_chat *chat, const rapt_tokenizer *tokenizer,
                                   const rapt_chat_message *messages, const size_t *image_counts,
                                   const size_t *audio_counts, size_t message_count, int64_t now,
                                   const rapt_encode_options *options, int32_t *ids, size_t capacity, size_t *count,
                                   char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!chat || !tokenizer || (!messages && message_count) || !count)
      return invalid("rapt_chat_encode: chat, tokenizer, messages or count is NULL");
    *count = 0;
    RAPT_RETURN_IF_ERROR(checkCounts(image_counts, message_count, "images"));
    RAPT_RETURN_IF_ERROR(checkCounts(audio_counts, message_count, "sounds"));
    EncodeOptions settings;
    RAPT_RETURN_IF_ERROR(readOptions(options, settings));
    settings.addSpecialTokens = false; // the template has them
    std::vector<ChatPiece> pieces;
    RAPT_RETURN_IF_ERROR(renderShown(*chat, {messages, image_counts, audio_counts, message_count}, now, pieces));
    std::vector<TextPart> parts;
    for (const ChatPiece &piece : pieces)
      parts.push_back({piece.text, piece.fromUser});
    Expected<std::vector<int32_t>> encoded = tokenizer->tokenizer->encodeParts(parts, settings);
    if (!encoded)
      return invalid(encoded.error().message);
    if (encoded->size() > settings.stopAbove)
      return {RAPT_TOO_LONG, "the chat has more than " + std::to_string(settings.stopAbove) + " tokens"};
    return give(encoded->data(), encoded->size(), ids, capacity, count, "ids");
  });
}
