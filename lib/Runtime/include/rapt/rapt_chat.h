/*===- rapt_chat.h - Conversations to prompts --------------------------------------===*\
|*
|* C99. The chat template of a model's directory, which is Jinja. A part of librapt_text,
|* whose rapt_text.h includes it.
|*
|*   rapt_chat_open(template_jinja, tokenizer_config, &chat, message, sizeof message);
|*   rapt_chat_encode(chat, tokenizer, messages, message_count, now, NULL, ids, capacity, &count, message,
|*                    sizeof message);
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_CHAT_H
#define RAPT_RAPT_CHAT_H
#include "rapt_text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The template that turns a conversation into a model's prompt. Immutable: any number of threads may use it. */
typedef struct rapt_chat rapt_chat;

typedef struct rapt_chat_message {
  rapt_text_view role;    /**< "system", "user", "assistant" */
  rapt_text_view content; /**< The text of a special token in it is ordinary text. */
} rapt_chat_message;

/** The content of chat_template.jinja, or else tokenizer_config.json with a chat_template; *result is NULL where there
 * is none. BAD_FILE: a construct of Jinja that is not supported, named. */
RAPT_TEXT_API rapt_status rapt_chat_open(rapt_text_view template_jinja, rapt_text_view tokenizer_config,
                                         rapt_chat **result, char *message, size_t message_size);
RAPT_TEXT_API void rapt_chat_free(rapt_chat *chat); /**< NULL is allowed. */
/** Ids of the prompt for the next answer. Special tokens are only those that the template wrote. `now`: seconds since
 * 1970, for templates that ask. A template that leaves out contents that are texts gets lists of parts, as
 * rapt_chat_encode_images gives them. INVALID: as rapt_tokenizer_encode, and what the template refuses. UNSUPPORTED: it
 * leaves out what the messages say in either form. */
RAPT_TEXT_API rapt_status rapt_chat_encode(const rapt_chat *chat, const rapt_tokenizer *tokenizer,
                                           const rapt_chat_message *messages, size_t message_count, int64_t now,
                                           const rapt_encode_options *options, int32_t *ids, size_t capacity,
                                           size_t *count, char *message, size_t message_size);

/** The same for messages with images ahead of their texts, `image_counts[i]` images of message i; NULL: none has any.
 * Contents are lists, of {"type": "image"} for each image and {"type": "text", "text": ...} where there is a text. The
 * template writes an image's token. */
RAPT_TEXT_API rapt_status rapt_chat_encode_images(const rapt_chat *chat, const rapt_tokenizer *tokenizer,
                                                  const rapt_chat_message *messages, const size_t *image_counts,
                                                  size_t message_count, int64_t now, const rapt_encode_options *options,
                                                  int32_t *ids, size_t capacity, size_t *count, char *message,
                                                  size_t message_size);

/** The same for messages with sounds behind their images, `audio_counts[i]` sounds of message i, each of which is
 * {"type": "audio"}; either list of numbers may be NULL. */
RAPT_TEXT_API rapt_status rapt_chat_encode_media(const rapt_chat *chat, const rapt_tokenizer *tokenizer,
                                                 const rapt_chat_message *messages, const size_t *image_counts,
                                                 const size_t *audio_counts, size_t message_count, int64_t now,
                                                 const rapt_encode_options *options, int32_t *ids, size_t capacity,
                                                 size_t *count, char *message, size_t message_size);

#ifdef __cplusplus
}
#endif

#endif
