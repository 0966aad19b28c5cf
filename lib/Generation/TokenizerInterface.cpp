//===- TokenizerInterface.cpp - rapt_tokenizer_... -------------------------===//
#include "lib/Generation/TextInterface.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>
#include <cstring>

using namespace rapt;
using namespace rapt::text;

void rapt::text::writeMessage(std::string_view text, char *message, size_t messageSize) {
  if (!message || messageSize == 0)
    return;
  size_t length = std::min(text.size(), messageSize - 1);
  while (length > 0 && length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
    --length;
  std::memcpy(message, text.data(), length);
  message[length] = '\0';
}

const char *rapt_text_version(void) { return RAPT_VERSION; }

static std::string_view viewOf(const rapt_text_view &view) {
  return view.data ? std::string_view(view.data, view.size) : std::string_view();
}

rapt_status rapt_tokenizer_open(const rapt_tokenizer_files *files, rapt_tokenizer **result, char *message,
                                size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!files || !result)
      return invalid("rapt_tokenizer_open: files or result is NULL");
    *result = nullptr;
    rapt_tokenizer_files given;
    RAPT_RETURN_IF_ERROR(
        readStruct(files, offsetof(rapt_tokenizer_files, added_tokens), "rapt_tokenizer_files", given));
    TokenizerFiles contents;
    contents.tokenizerJson = viewOf(given.tokenizer_json);
    contents.tokenizerConfig = viewOf(given.tokenizer_config);
    contents.specialTokensMap = viewOf(given.special_tokens_map);
    contents.addedTokens = viewOf(given.added_tokens);
    contents.vocabulary = viewOf(given.vocab_json);
    contents.merges = viewOf(given.merges_txt);
    contents.wordPieces = viewOf(given.vocab_txt);
    Expected<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::create(contents);
    if (!tokenizer)
      return {RAPT_BAD_FILE, tokenizer.error().message};
    *result = new rapt_tokenizer{std::move(*tokenizer)};
    return {};
  });
}

void rapt_tokenizer_free(rapt_tokenizer *tokenizer) { delete tokenizer; }

int32_t rapt_tokenizer_vocabulary(const rapt_tokenizer *tokenizer) {
  return tokenizer ? tokenizer->tokenizer->vocabularySize() : 0;
}

int32_t rapt_tokenizer_role(const rapt_tokenizer *tokenizer, rapt_token_role role) {
  if (!tokenizer)
    return -1;
  const SpecialTokenIds &ids = tokenizer->tokenizer->specialIds();
  int number; // a caller's number need not be one of the enumeration's: reading it as the type would be undefined
  static_assert(sizeof number == sizeof role);
  memcpy(&number, &role, sizeof number);
  switch (number) {
  case RAPT_TOKEN_BEGIN:
    return ids.begin ? *ids.begin : ids.end.value_or(-1);
  case RAPT_TOKEN_END:
    return ids.end.value_or(-1);
  case RAPT_TOKEN_UNKNOWN:
    return ids.unknown.value_or(-1);
  case RAPT_TOKEN_PADDING:
    return ids.padding.value_or(-1);
  case RAPT_TOKEN_MASK:
    return ids.mask.value_or(-1);
  }
  return -1;
}

int32_t rapt_tokenizer_find(const rapt_tokenizer *tokenizer, const char *token, size_t size) {
  return tokenizer && token ? tokenizer->tokenizer->tokenId({token, size}).value_or(-1) : -1;
}

Outcome rapt::text::readOptions(const rapt_encode_options *options, EncodeOptions &settings) {
  rapt_encode_options given;
  RAPT_RETURN_IF_ERROR(readStruct(options, sizeof(rapt_encode_options), "rapt_encode_options", given));
  if (given.flags & ~uint32_t(RAPT_ENCODE_BARE | RAPT_ENCODE_PLAIN))
    return invalid("rapt_encode_options.flags has bits that this version of the library does not know");
  settings.addSpecialTokens = !(given.flags & RAPT_ENCODE_BARE);
  settings.parseSpecialTokens = !(given.flags & RAPT_ENCODE_PLAIN);
  if (given.embedding_rows != 0)
    settings.embeddingRows = given.embedding_rows;
  if (given.most_ids != 0)
    settings.stopAbove = size_t(given.most_ids);
  return {};
}

static Outcome tooLong(size_t textSize, size_t mostIds) {
  return {RAPT_TOO_LONG,
          "the text of " + std::to_string(textSize) + " bytes has more than " + std::to_string(mostIds) + " tokens"};
}

rapt_status rapt_tokenizer_encode(const rapt_tokenizer *tokenizer, const char *text, size_t size,
                                  const rapt_encode_options *options, int32_t *ids, size_t capacity, size_t *count,
                                  char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!tokenizer || (!text && size > 0) || !count)
      return invalid("rapt_tokenizer_encode: tokenizer, text or count is NULL");
    *count = 0;
    EncodeOptions settings;
    RAPT_RETURN_IF_ERROR(readOptions(options, settings));
    Expected<std::vector<int32_t>> list = tokenizer->tokenizer->encode({text, size}, settings);
    if (!list)
      return invalid(list.error().message);
    if (list->size() > settings.stopAbove)
      return tooLong(size, settings.stopAbove);
    return give(list->data(), list->size(), ids, capacity, count, "ids");
  });
}

static Expected<Encoding> encodeTexts(const rapt_tokenizer *tokenizer, std::string_view first, const char *second,
                                      size_t secondSize, const EncodeOptions &settings) {
  return second ? tokenizer->tokenizer->encodePair(first, {second, secondSize}, settings)
                : tokenizer->tokenizer->encodeTyped(first, settings);
}

rapt_status rapt_tokenizer_encode_pair(const rapt_tokenizer *tokenizer, const char *first, size_t first_size,
                                       const char *second, size_t second_size, const rapt_encode_options *options,
                                       int32_t *ids, int32_t *types, size_t capacity, size_t *count, char *message,
                                       size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!tokenizer || (!first && first_size > 0) || (!second && second_size > 0) || !count)
      return invalid("rapt_tokenizer_encode_pair: tokenizer, first, second or count is NULL");
    *count = 0;
    EncodeOptions settings;
    RAPT_RETURN_IF_ERROR(readOptions(options, settings));
    Expected<Encoding> encoding = encodeTexts(tokenizer, {first, first_size}, second, second_size, settings);
    if (!encoding)
      return invalid(encoding.error().message);
    if (encoding->ids.size() > settings.stopAbove)
      return tooLong(first_size + second_size, settings.stopAbove);
    const std::vector<int32_t> &given = encoding->types;
    if (types && capacity >= given.size())
      std::copy(given.begin(), given.end(), types);
    return give(encoding->ids.data(), encoding->ids.size(), ids, capacity, count, "ids");
  });
}

rapt_status rapt_tokenizer_spans(const rapt_tokenizer *tokenizer, const char *first, size_t first_size,
                                 const char *second, size_t second_size, const rapt_encode_options *options,
                                 rapt_token_span *spans, size_t capacity, size_t *count, char *message,
                                 size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!tokenizer || (!first && first_size > 0) || (!second && second_size > 0) || !count)
      return invalid("rapt_tokenizer_spans: tokenizer, first, second or count is NULL");
    *count = 0;
    EncodeOptions settings;
    RAPT_RETURN_IF_ERROR(readOptions(options, settings));
    settings.wantSpans = true;
    Expected<Encoding> encoding = encodeTexts(tokenizer, {first, first_size}, second, second_size, settings);
    if (!encoding)
      return invalid(encoding.error().message);
    std::vector<rapt_token_span> result;
    for (const TokenSpan &span : encoding->spans)
      result.push_back({span.source, span.word, span.bytes.begin, span.bytes.end});
    return give(result.data(), result.size(), spans, capacity, count, "spans");
  });
}

rapt_status rapt_tokenizer_decode(const rapt_tokenizer *tokenizer, const int32_t *ids, size_t count, uint32_t flags,
                                  char *text, size_t capacity, size_t *size, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!tokenizer || (!ids && count > 0) || !size)
      return invalid("rapt_tokenizer_decode: tokenizer, ids or size is NULL");
    *size = 0;
    Expected<std::string> decoded =
        tokenizer->tokenizer->decode(std::vector<int32_t>(ids, ids + count), !(flags & RAPT_DECODE_KEEP_SPECIAL));
    if (!decoded)
      return invalid(decoded.error().message);
    return give(decoded->data(), decoded->size(), text, capacity, size, "bytes");
  });
}

rapt_status rapt_tokenizer_token(const rapt_tokenizer *tokenizer, int32_t id, char *bytes, size_t capacity,
                                 size_t *size, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!tokenizer || !size)
      return invalid("rapt_tokenizer_token: tokenizer or size is NULL");
    *size = 0;
    std::optional<std::string> token = tokenizer->tokenizer->tokenBytes(id);
    if (!token)
      return invalid("id " + std::to_string(id) + " has no token; the vocabulary ends at " +
                     std::to_string(tokenizer->tokenizer->vocabularySize() - 1));
    return give(token->data(), token->size(), bytes, capacity, size, "bytes");
  });
}
