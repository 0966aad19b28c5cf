/*===- rapt_sample.h - Sampling by the most likely tokens ----------------------===*\
|*
|* C99. A sampler of rapt_text.h that is greedy or has top_k needs no other logits than
|* those of rapt_step_top (rapt_top.h). A part of librapt_text.
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_SAMPLE_H
#define RAPT_RAPT_SAMPLE_H
#include "rapt_text.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The most likely tokens that rapt_sampler_sample_top needs: 1, or top_k; 0 where it needs all logits. */
RAPT_TEXT_API int64_t rapt_sampler_top_needed(const rapt_sampler *sampler);
/** rapt_sampler_sample by a rapt_top (rapt_top.h), with its result and errors. INVALID: fewer tokens than needed. */
RAPT_TEXT_API rapt_status rapt_sampler_sample_top(rapt_sampler *sampler, const int32_t *ids, const float *logits,
                                                  size_t top_count, size_t count, int32_t *id, char *message,
                                                  size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
