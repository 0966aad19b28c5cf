/*===- rapt_rules.h - Rules about the next id -----------------------------------===*\
|*
|* C99. The rules of Hugging Face's generate that forbid ids by those before them: no
|* repeated n-grams, the least length, languages of a translation, suppressed ids. A
|* part of librapt_text.
|*
|*   rapt_rules_apply(&rules, ids, prompt_count, count, logits, vocabulary, message, sizeof message);
|*   rapt_sampler_sample(sampler, logits, vocabulary, &id, message, sizeof message);
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_RULES_H
#define RAPT_RAPT_RULES_H
#include "rapt_text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Ids that somebody else owns. {NULL, 0}: none. */
typedef struct rapt_ids {
  const int32_t *data;
  size_t count;
} rapt_ids;

/** A number for the logit of the last of some ids, where the others come directly before it in a text of at least as
 * many ids. */
typedef struct rapt_biased_sequence {
  rapt_ids ids; /**< At least one. */
  double bias;  /**< Added; -INFINITY: the ids never occur in this order. */
} rapt_biased_sequence;

/** All zero: every id is allowed. */
typedef struct rapt_token_rules {
  size_t size;
  int64_t no_repeat_ngram; /**< No text repeats this many ids, its prompt included; 0: no rule. */
  int64_t min_length;      /**< None of `ends` before the text, with its prompt, has this many ids. */
  int64_t min_new_tokens;  /**< None of `ends` before this many new ids. */
  int64_t max_new_tokens;  /**< The new id of this number, counted from 1, is one of `last`; 0: no rule. */
  rapt_ids ends;
  rapt_ids first;        /**< The first new id is one of these: the language of a translation; none: no rule. */
  rapt_ids last;         /**< The new id number max_new_tokens is one of these; none: no rule. */
  rapt_ids banned;       /**< These never occur. */
  int64_t renormalizes;  /**< Beams: likelihoods of the ids that are left sum to 1 again; 0: they do not. */
  rapt_ids banned_first; /**< These are not the first new id that the model chooses. */
  /** Speech with timestamps, as Whisper writes it: the new ids begin with a timestamp. Each part of the text has one
   * before and one behind it; they never decrease. Only timestamps are allowed if together they are more likely
   * than the most likely other id. */
  int64_t timestamp_begin;   /**< The first timestamp. All ids above are timestamps, and the one before, by which a
                                  prompt asks for none, never occurs. 0: no rule. */
  int64_t timestamp_text;    /**< Ids below are text; the one that ends a text is not. At most timestamp_begin. */
  int64_t timestamp_initial; /**< This many timestamps, from timestamp_begin on, may be the first new id; 0: all. */
  const rapt_biased_sequence *sequences; /**< Somebody else owns them. */
  size_t sequence_count;
} rapt_token_rules;

/** The rules of generation_config.json: no_repeat_ngram_size, min_length, min_new_tokens, forced_bos_token_id (`first`,
 * which generate honors only after a prompt of one id), forced_eos_token_id (`last`), suppress_tokens and bad_words_ids
 * (`banned`), begin_suppress_tokens (`banned_first`), renormalize_logits. Where return_timestamps is true, also
 * no_timestamps_token_id, the least eos_token_id and max_initial_timestamp_index (`timestamp_...`), else no timestamps'
 * rule. The lists are in `ids`, `*count` in all; ends, max_new_tokens and sequences are the caller's. BAD_FILE: as
 * rapt_generation_config_read. UNSUPPORTED: the file has sequences, and `rules->size` is that of a version without
 * them. FULL: `capacity` is less than `*count`. */
RAPT_TEXT_API rapt_status rapt_rules_read(const char *json, size_t json_size, rapt_token_rules *rules, int32_t *ids,
                                          size_t capacity, size_t *count, char *message, size_t message_size);
/** The sequences of generation_config.json for `rules->sequences`: bad_words_ids of several ids, and sequence_bias.
 * Their ids are in `ids`, `*id_count` in all. BAD_FILE: as rapt_generation_config_read. FULL: `capacity` is less than
 * `*count`, or `id_capacity` less than `*id_count`. */
RAPT_TEXT_API rapt_status rapt_rules_read_sequences(const char *json, size_t json_size, rapt_biased_sequence *sequences,
                                                    size_t capacity, size_t *count, int32_t *ids, size_t id_capacity,
                                                    size_t *id_count, char *message, size_t message_size);
/** Adds biases, and sets the logits of ids that are not allowed to -infinity. ids[0 .. count): the text so far, its
 * prompt of prompt_count ids among them. If only ids of `first` or `last` are allowed, their logits are 0. INVALID: a
 * negative number, a prompt longer than the text, or no id is left; the logits of the last are undefined. */
RAPT_TEXT_API rapt_status rapt_rules_apply(const rapt_token_rules *rules, const int32_t *ids, size_t prompt_count,
                                           size_t count, float *logits, size_t vocabulary, char *message,
                                           size_t message_size);
/** The rules of a search, instead of its option no_repeat_ngram; they are copied. INVALID: a negative number, or the
 * search has begun. */
RAPT_TEXT_API rapt_status rapt_beams_set_rules(rapt_beams *beams, const rapt_token_rules *rules, char *message,
                                               size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
