/*===- rapt_top.h - The most likely tokens of a step ---------------------------===*\
|*
|* C99. Greedy and top-k sampling need few logits. A step returns them, so that a GPU does
|* not copy those of a whole vocabulary to the host. The choice is the same as from all logits.
|*
|*   rapt_top top = {sizeof top, 1, vocabulary, &id, &logit};   // chunk.want = RAPT_LOGITS_LAST
|*   rapt_step_top(context, &chunk, &top, 1, message, sizeof message);
|*   rapt_sampler_sample_top(sampler, &id, &logit, 1, vocabulary, &chosen, message, sizeof message);  // rapt_sample.h
|*
|* A part of librapt_runtime; the sampler is of librapt_text. rapt.h has the rules of structs and messages.
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_TOP_H
#define RAPT_RAPT_TOP_H
#include "rapt.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The most likely tokens by the logits of a chunk's last token. */
typedef struct rapt_top {
  size_t size;
  int64_t count; /**< How many, 0 to 1,024; 0: the chunk is as in rapt_step. */
  int64_t among; /**< Only ids below it: a model may have more logits than tokens. 0: all of the vocabulary. */
  int32_t *ids;  /**< [count], the most likely first, the lowest first among equals; -1 where there are no more. NaN and
                    +infinity are before all other logits. */
  float *logits; /**< [count], theirs; -infinity where there are no more. */
} rapt_top;

/** rapt_step that returns the `tops[i].count` most likely tokens of chunk i instead of its logits: the chunk wants
 * RAPT_LOGITS_LAST, and its `logits` are NULL afterwards. One for each chunk; the caller's memory may not overlap. On a
 * GPU no logits are copied to the host if that holds for all chunks that want logits, with at most 64 tokens each. */
RAPT_API rapt_status rapt_step_top(rapt_context *context, rapt_chunk *chunks, const rapt_top *tops, size_t count,
                                   char *message, size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
