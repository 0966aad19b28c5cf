/* Memory of attention over long texts: `memory MODEL.so`, a model of one layer of width 64.
 *
 * The memory of a thread beside inputs, cache and outputs is at most 1 MiB and the same for 4k, 16k and 64k tokens of
 * cache, as told before anything is allocated. Then prompts of 4k and 16k tokens are run: the process may grow by cache
 * and position embeddings of the further tokens, where one row of scores a token would be a gigabyte. */
#include "rapt/rapt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST = 65536, SLACK = 2 << 20 };

static void expect(int good, const char *what) {
  if (!good) {
    fprintf(stderr, "memory: %s\n", what);
    exit(1);
  }
}

static int64_t peak(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (int64_t)usage.ru_maxrss * 1024;
}

/* Runs a prompt of `count` tokens; the peak memory of the process until then. */
static int64_t run(rapt_module *module, int64_t count) {
  static int32_t tokens[MOST];
  char message[512] = "";
  rapt_context *context;
  rapt_context_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.cache_tokens = count;
  expect(rapt_context_new(module, &options, &context, message, sizeof message) == RAPT_OK, message);
  rapt_chunk chunk;
  memset(&chunk, 0, sizeof chunk);
  chunk.size = sizeof chunk;
  chunk.tokens = tokens;
  chunk.count = count;
  chunk.want = RAPT_LOGITS_LAST;
  for (int64_t i = 0; i < count; ++i)
    tokens[i] = (int32_t)(i * 7 % 61);
  expect(rapt_sequence_new(context, &chunk.sequence, message, sizeof message) == RAPT_OK, message);
  expect(rapt_step(context, &chunk, 1, message, sizeof message) == RAPT_OK, message);
  rapt_context_free(context);
  return peak();
}

int main(int argc, char **argv) {
  static const int64_t lengths[] = {4096, 16384, MOST};
  char message[512] = "";
  rapt_module *module;
  expect(argc == 2, "usage: memory MODEL.so");
  expect(rapt_module_open(argv[1], NULL, &module, message, sizeof message) == RAPT_OK, message);
  rapt_memory memory[3];
  for (int i = 0; i < 3; ++i) {
    rapt_context_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.cache_tokens = lengths[i];
    memory[i].size = sizeof memory[i];
    expect(rapt_context_memory(module, &options, &memory[i], message, sizeof message) == RAPT_OK, message);
    printf("%d tokens: workspace %d bytes, %d for each further thread\n", (int)lengths[i], (int)memory[i].workspace,
           (int)memory[i].per_worker);
    expect(memory[i].per_worker <= 1 << 20, "a thread takes more than 1 MiB");
    expect(memory[i].per_worker == memory[0].per_worker && memory[i].workspace == memory[0].workspace,
           "the workspace grows with the text");
  }
  int64_t more = lengths[1] - lengths[0], before = run(module, lengths[0]), after = run(module, lengths[1]);
  int64_t allowed = (int64_t)(memory[1].cache - memory[0].cache) + more * 64 * (int64_t)sizeof(float) + SLACK;
  printf("from 4096 to 16384 tokens: %d bytes more, %d allowed\n", (int)(after - before), (int)allowed);
  expect(after - before <= allowed, "the peak grows faster than the text");
  rapt_module_release(module);
  printf("memory is bounded\n");
  return 0;
}
