/* Continues a text by the most likely token, eight times. The application of README.md. */
#include <rapt/rapt.h>
#include <stdio.h>

#define TRY(call)                                                                                                      \
  if (call)                                                                                                            \
  return puts(message), 1

int main(void) {
  char message[256];
  rapt_module *module;
  rapt_context *context;
  rapt_sequence sequence;
  rapt_module_info info = {sizeof info};
  int32_t id = 11; /* a comma */
  TRY(rapt_module_open("tiny-gpt.so", NULL, &module, message, sizeof message));
  TRY(rapt_module_get_info(module, &info));
  TRY(rapt_context_new(module, NULL, &context, message, sizeof message));
  TRY(rapt_sequence_new(context, &sequence, message, sizeof message));
  for (int step = 0; step < 8; ++step) {
    rapt_chunk chunk = {sizeof chunk, sequence, &id, 1, RAPT_LOGITS_LAST};
    TRY(rapt_step(context, &chunk, 1, message, sizeof message));
    for (int32_t other = id = 0; other < info.vocabulary; ++other)
      id = chunk.logits[other] > chunk.logits[id] ? other : id;
    printf("%d ", id);
  }
  rapt_context_free(context);
  rapt_module_release(module);
  return 0;
}
