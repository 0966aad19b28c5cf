/* 8 greedy tokens after 1, 2, 3 from a model that is linked in, weights and all. */
#include "model.h"
#include <rapt/rapt.h>
#include <stdio.h>

static int32_t best(const float *logits, int64_t count) {
  int32_t at = 0;
  for (int32_t i = 1; i < count; ++i)
    if (logits[i] > logits[at])
      at = i;
  return at;
}

int main(void) {
  rapt_module *module;
  rapt_context *context;
  rapt_sequence sequence;
  char message[512];
  int32_t tokens[] = {1, 2, 3};
  rapt_chunk chunk = {sizeof chunk};
  if (rapt_module_from_artifact(&model_module, NULL, &module, message, sizeof message) ||
      rapt_context_new(module, NULL, &context, message, sizeof message) ||
      rapt_sequence_new(context, &sequence, message, sizeof message)) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  chunk.sequence = sequence;
  chunk.tokens = tokens;
  chunk.count = 3;
  chunk.want = RAPT_LOGITS_LAST;
  for (int i = 0; i < 8; ++i) {
    if (rapt_step(context, &chunk, 1, message, sizeof message)) {
      fprintf(stderr, "%s\n", message);
      return 1;
    }
    tokens[0] = best(chunk.logits, MODEL_VOCABULARY);
    chunk.count = 1;
    printf("%s%d", i ? "," : "", (int)tokens[0]);
  }
  printf("\n");
  rapt_context_free(context);
  rapt_module_release(module);
  return 0;
}
