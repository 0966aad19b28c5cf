/*===- rapt_text.h - Text around compiled models ------------------------------===*\
|*
|* C99. Turns text into token ids, ids into text as they are generated, and
|* logits into the next id. Needs no model and no rapt.h; link librapt_text.
|*
|*   rapt_tokenizer *tokenizer;  rapt_sampler *sampler;  rapt_text_stream *stream;
|*   rapt_tokenizer_files files = {sizeof files};
|*   files.tokenizer_json.data = json, files.tokenizer_json.size = json_size;
|*   rapt_tokenizer_open(&files, &tokenizer, message, sizeof message);
|*   rapt_tokenizer_encode(tokenizer, "Hello", 5, NULL, ids, capacity, &count, message, sizeof message);
|*   ... run the model on ids, which gives logits[0 .. vocabulary) ...
|*   rapt_sampler_sample(sampler, logits, vocabulary, &id, message, sizeof message);
|*   rapt_text_stream_feed(stream, id, &piece, &stopped, message, sizeof message);
|*   fwrite(piece.data, 1, piece.size, stdout);
|*
|* Structs begin with their size, by rapt.h's rules: set it to sizeof and the rest to zero, which means the default.
|* rapt_status.h says how errors are reported. A tokenizer is immutable: any number of threads may use one at once.
|* Streams and samplers belong to one sequence and one thread at a time. Texts are UTF-8 with a length, never
|* NUL-terminated. Nothing here keeps thread-local state or ends the process.
|*
|* Where a function writes a result of unknown length it takes memory, its capacity and a pointer to the length: the
|* length needed is always written, and RAPT_FULL means that the capacity was too small (nothing is written then). A
|* NULL result with capacity 0 asks for the length only and returns RAPT_OK.
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_TEXT_H
#define RAPT_RAPT_TEXT_H
#include "rapt_status.h"
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RAPT_TEXT_API __attribute__((visibility("default")))
#else
#define RAPT_TEXT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the library ("0.1.0"). A static string. */
RAPT_TEXT_API const char *rapt_text_version(void);

/** Bytes that somebody else owns. {NULL, 0} is absent. */
typedef struct rapt_text_view {
  const char *data;
  size_t size;
} rapt_text_view;

/*===-- Tokenizers ------------------------------------------------------------===*/

typedef struct rapt_tokenizer rapt_tokenizer;

/** Contents of the files of a model directory, borrowed for the call. tokenizer_json, or vocab_json and merges_txt of a
 * GPT-2, or vocab_txt of a BERT, must be there; the others refine it. */
typedef struct rapt_tokenizer_files {
  size_t size;
  rapt_text_view tokenizer_json;     /**< tokenizer.json */
  rapt_text_view tokenizer_config;   /**< tokenizer_config.json */
  rapt_text_view special_tokens_map; /**< special_tokens_map.json */
  rapt_text_view added_tokens;       /**< added_tokens.json */
  rapt_text_view vocab_json;         /**< vocab.json, read only without tokenizer_json */
  rapt_text_view merges_txt;         /**< merges.txt, read only without tokenizer_json */
  rapt_text_view vocab_txt;          /**< vocab.txt, read only without tokenizer_json and vocab_json */
} rapt_tokenizer_files;

/** BAD_FILE: damaged, or of a kind that is not supported; the message names file, member and kind. */
RAPT_TEXT_API rapt_status rapt_tokenizer_open(const rapt_tokenizer_files *files, rapt_tokenizer **result, char *message,
                                              size_t message_size);
/** Streams made from it stay valid. NULL is allowed. */
RAPT_TEXT_API void rapt_tokenizer_free(rapt_tokenizer *tokenizer);

/** One more than the largest id. A model may have more rows than this: they are no tokens, so sample among the first
 * rapt_tokenizer_vocabulary logits only. */
RAPT_TEXT_API int32_t rapt_tokenizer_vocabulary(const rapt_tokenizer *tokenizer);

/** Roles of special tokens. */
typedef enum rapt_token_role {
  RAPT_TOKEN_BEGIN = 0, /**< bos_token: what an empty prompt starts with, where it is there; else RAPT_TOKEN_END. */
  RAPT_TOKEN_END = 1,   /**< eos_token. More ids may end a text: see rapt_generation_config_read. */
  RAPT_TOKEN_UNKNOWN = 2,
  RAPT_TOKEN_PADDING = 3,
  RAPT_TOKEN_MASK = 4 /**< mask_token: what a masked language model fills in. */
} rapt_token_role;

/** The id of the token with `role`, or -1. */
RAPT_TEXT_API int32_t rapt_tokenizer_role(const rapt_tokenizer *tokenizer, rapt_token_role role);
/** The id of a token as the files write it ("<|endoftext|>"), or -1. */
RAPT_TEXT_API int32_t rapt_tokenizer_find(const rapt_tokenizer *tokenizer, const char *token, size_t size);

enum {
  RAPT_ENCODE_BARE = 1, /**< Do not put the tokenizer's special tokens around the ids. */
  RAPT_ENCODE_PLAIN = 2 /**< The text of a special token is ordinary text: for what users of a chat write. */
};

typedef struct rapt_encode_options {
  size_t size;
  uint32_t flags;         /**< RAPT_ENCODE_... */
  int64_t embedding_rows; /**< An id at or above it is INVALID, and the message names its token. 0: not checked. */
  uint64_t most_ids;      /**< More ids are TOO_LONG, reported as soon as it is certain. 0: no limit. */
} rapt_encode_options;

/** Ids of `text`. INVALID: text that is not UTF-8 (the message has the byte's offset), or that the tokenizer cannot
 * express. `options` may be NULL. */
RAPT_TEXT_API rapt_status rapt_tokenizer_encode(const rapt_tokenizer *tokenizer, const char *text, size_t size,
                                                const rapt_encode_options *options, int32_t *ids, size_t capacity,
                                                size_t *count, char *message, size_t message_size);

/** As rapt_tokenizer_encode, for two texts put together as the tokenizer's post-processor says (a question and its
 * passage), with the type of each id (BERT's segment) in `types`, which has the same capacity as `ids` and may be NULL.
 * With `second` NULL it is one text and its types. INVALID also: a tokenizer that does not say how two texts are put
 * together. */
RAPT_TEXT_API rapt_status rapt_tokenizer_encode_pair(const rapt_tokenizer *tokenizer, const char *first,
                                                     size_t first_size, const char *second, size_t second_size,
                                                     const rapt_encode_options *options, int32_t *ids, int32_t *types,
                                                     size_t capacity, size_t *count, char *message,
                                                     size_t message_size);

/** The text that an id stands for: bytes [begin, end) of it, without white space around them. */
typedef struct rapt_token_span {
  int32_t source; /**< 1: the first text, 2: the second; 0: a token that the tokenizer put around them. */
  int32_t word;   /**< The number of its word in that text, as the tokenizer cuts text into words; -1: none. */
  size_t begin, end;
} rapt_token_span;

/** The spans of the ids that rapt_tokenizer_encode_pair gives for the same arguments. If a tokenizer rewrites text so
 * that the exact bytes are unknown, a span is larger than necessary. */
RAPT_TEXT_API rapt_status rapt_tokenizer_spans(const rapt_tokenizer *tokenizer, const char *first, size_t first_size,
                                               const char *second, size_t second_size,
                                               const rapt_encode_options *options, rapt_token_span *spans,
                                               size_t capacity, size_t *count, char *message, size_t message_size);

enum { RAPT_DECODE_KEEP_SPECIAL = 1 /**< Give the text of special tokens too; by default they are left out. */ };

/** Text of `ids`: valid UTF-8, with U+FFFD for bytes that form no character. */
RAPT_TEXT_API rapt_status rapt_tokenizer_decode(const rapt_tokenizer *tokenizer, const int32_t *ids, size_t count,
                                                uint32_t flags, char *text, size_t capacity, size_t *size,
                                                char *message, size_t message_size);

/** The bytes that one token stands for: possibly a part of a character. */
RAPT_TEXT_API rapt_status rapt_tokenizer_token(const rapt_tokenizer *tokenizer, int32_t id, char *bytes,
                                               size_t capacity, size_t *size, char *message, size_t message_size);

/*===-- Streams ---------------------------------------------------------------===*/

/** Text of one sequence as it is generated. Text that it gave never changes; it holds back at most the 3 bytes of an
 * unfinished character and the text that may become a stop string. */
typedef struct rapt_text_stream rapt_text_stream;

/** `stops`: texts at which the sequence ends, `stop_count` of them; they are copied. flags: RAPT_DECODE_... */
RAPT_TEXT_API rapt_status rapt_text_stream_open(const rapt_tokenizer *tokenizer, const rapt_text_view *stops,
                                                size_t stop_count, uint32_t flags, rapt_text_stream **result,
                                                char *message, size_t message_size);
RAPT_TEXT_API void rapt_text_stream_free(rapt_text_stream *stream);
/** `*piece` is the text that `id` makes certain (maybe none), valid until the next call on the stream. `*stopped` (may
 * be NULL) becomes 1 when a stop string is complete: the text before it has been given, and no more will come. */
RAPT_TEXT_API rapt_status rapt_text_stream_feed(rapt_text_stream *stream, int32_t id, rapt_text_view *piece,
                                                int *stopped, char *message, size_t message_size);
/** Gives what was held back. Nothing is fed afterwards. */
RAPT_TEXT_API rapt_status rapt_text_stream_finish(rapt_text_stream *stream, rapt_text_view *piece, char *message,
                                                  size_t message_size);

/*===-- Sampling --------------------------------------------------------------===*/

/** How the next token is chosen. Order: repetition penalty, temperature, top_k, top_p, min_p; then the draw-th number
 * of (seed, sequence), counted from 0, picks among what is left in the order of ids. That number is made by
 * Philox4x32-10 with the key (seed low, seed high) and the counter (draw low, draw high, sequence low, sequence high):
 * its first two words give ((w0 * 2^32 + w1) >> 11) * 2^-53. So what else is in a batch does not matter. */
typedef struct rapt_sampler_options {
  size_t size;
  double temperature;        /**< 0: the largest logit, the lowest id among equals. Finite, not negative. */
  int64_t top_k;             /**< Only the top_k largest logits; 0: all. */
  double top_p;              /**< The most likely tokens up to the one that reaches top_p, in (0, 1]; 0: all. */
  double min_p;              /**< Only tokens at least min_p times as likely as the most likely one; 0: all. */
  double repetition_penalty; /**< Divides logits of accepted ids, multiplies negative ones; above 0; 0: none. */
  uint64_t seed;
  uint64_t sequence; /**< Number of the sequence: sequences of one seed draw independently. */
} rapt_sampler_options;
typedef struct rapt_sampler rapt_sampler;

/** INVALID: an option that is NaN or out of its range. `options` may be NULL (greedy). */
RAPT_TEXT_API rapt_status rapt_sampler_open(const rapt_sampler_options *options, rapt_sampler **result, char *message,
                                            size_t message_size);
/** An independent sampler in the same state, for a forked sequence. */
RAPT_TEXT_API rapt_status rapt_sampler_copy(const rapt_sampler *sampler, rapt_sampler **result, char *message,
                                            size_t message_size);
RAPT_TEXT_API void rapt_sampler_free(rapt_sampler *sampler);
/** Adds ids of the sequence to those that the repetition penalty counts: the prompt's, then each chosen one. */
RAPT_TEXT_API rapt_status rapt_sampler_accept(rapt_sampler *sampler, const int32_t *ids, size_t count, char *message,
                                              size_t message_size);
/** The next id by logits[0 .. count). It is not accepted by itself. INVALID: NaN or +infinity among them, or all of
 * them -infinity; nothing is drawn then. */
RAPT_TEXT_API rapt_status rapt_sampler_sample(rapt_sampler *sampler, const float *logits, size_t count, int32_t *id,
                                              char *message, size_t message_size);

/*===-- Beam search -----------------------------------------------------------===*/

typedef enum rapt_early_stopping {
  RAPT_STOP_ESTIMATE = 0, /**< false: when no hypothesis at its present length could enter the finished ones. */
  RAPT_STOP_EARLY = 1,    /**< true: as soon as there are as many finished sequences as beams. */
  RAPT_STOP_NEVER = 2     /**< "never": when none could enter them at any length. */
} rapt_early_stopping;

typedef struct rapt_beam_options {
  size_t size;
  int64_t beams;                /**< Live hypotheses, up to 4096; 0: 1. */
  int64_t returns;              /**< Sequences in the result, up to `beams`; 0: 1. */
  int64_t max_new_tokens;       /**< At least 1. */
  const double *length_penalty; /**< Scores are log likelihood / (new tokens ^ penalty); NULL: 1. */
  int32_t early_stopping;       /**< rapt_early_stopping */
  const int32_t *ends;          /**< Ids that end a sequence, `end_count` of them; copied. */
  size_t end_count;
  double repetition_penalty; /**< Multiplies log likelihoods of ids seen before; above 0; 0: none. */
  int64_t no_repeat_ngram;   /**< No sequence repeats this many ids; 0: no rule. */
} rapt_beam_options;

/** One row of the model's next step: the past of row `parent` of the step before (a forked sequence), then `token`. */
typedef struct rapt_beam_step {
  int64_t parent;
  int32_t token;
} rapt_beam_step;

/** One search by the rules of Hugging Face's generate. It never runs the model: its owner does, with any model that
 * gives logits, and may run several searches in one batch without changing their results. */
typedef struct rapt_beams rapt_beams;

/** `prompt`: the decoder's ids so far, which the penalties count. INVALID: an option out of its range. */
RAPT_TEXT_API rapt_status rapt_beams_open(const rapt_beam_options *options, const int32_t *prompt, size_t count,
                                          rapt_beams **result, char *message, size_t message_size);
RAPT_TEXT_API void rapt_beams_free(rapt_beams *beams);
/** Takes logits f32 [rows, vocabulary], dense: one row after the prompt, then one after each of the steps. Then
 * `*steps` are the `*count` rows to run next, valid until the next call; none when the search is done. Among equal
 * scores the first row wins, then the lowest id. INVALID: another number of rows, NaN or +infinity, or a row that is
 * all -infinity; the search is then as before. */
RAPT_TEXT_API rapt_status rapt_beams_advance(rapt_beams *beams, const float *logits, size_t rows, size_t vocabulary,
                                             const rapt_beam_step **steps, size_t *count, char *message,
                                             size_t message_size);
/** Sequences found: at most `returns`. */
RAPT_TEXT_API size_t rapt_beams_found(const rapt_beams *beams);
/** The index-th best of them: its new ids, the one that ended it included. `score` and `ended` (1: by an end id) may be
 * NULL. INVALID: there is no such sequence. */
RAPT_TEXT_API rapt_status rapt_beams_result(const rapt_beams *beams, size_t index, int32_t *ids, size_t capacity,
                                            size_t *count, double *score, int *ended, char *message,
                                            size_t message_size);

/** The settings of generation_config.json. */
typedef struct rapt_generation_config {
  size_t size;
  rapt_sampler_options sampler; /**< Greedy unless do_sample; top_k is 50 where a sampling file leaves it out. */
  int64_t max_new_tokens;       /**< 0: not set. */
  int64_t beams, returns;       /**< num_beams and num_return_sequences; at least 1. */
  double length_penalty;
  int32_t early_stopping; /**< rapt_early_stopping */
  int64_t max_length;     /**< Tokens of the decoder's text, its prompt among them; 0: not set. */
} rapt_generation_config;

/** Reads the content of generation_config.json. `end_ids` receives its eos_token_id, one or several: the end of a text
 * is the union of these, the eos_token_id of config.json and RAPT_TOKEN_END. BAD_FILE: not JSON, or a member that would
 * change the output and is not supported (sampled beams, other penalties), named with its value. */
RAPT_TEXT_API rapt_status rapt_generation_config_read(const char *json, size_t json_size,
                                                      rapt_generation_config *config, int32_t *end_ids, size_t capacity,
                                                      size_t *count, char *message, size_t message_size);
/** The index-th of the file's stop_strings into `text`, `*bytes` long without a terminator. Where there are fewer,
 * `*bytes` is 0. FULL: `capacity` is less than `*bytes`. BAD_FILE: as above. */
RAPT_TEXT_API rapt_status rapt_generation_config_stop(const char *json, size_t json_size, size_t index, char *text,
                                                      size_t capacity, size_t *bytes, char *message,
                                                      size_t message_size);

/** Negative log likelihood of id `target` in nats, from logits[0 .. count), computed in double. */
RAPT_TEXT_API rapt_status rapt_negative_log_likelihood(const float *logits, size_t count, int32_t target, double *nats,
                                                       char *message, size_t message_size);

#ifdef __cplusplus
}
#endif

#include "rapt_chat.h"

#endif /* RAPT_RAPT_TEXT_H */
