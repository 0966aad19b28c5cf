/* peers_rapt MODEL.so THREADS VOCABULARY: Rapt's side of test/Perf/compare. */
#include "peers_worker.h"
#include <rapt/rapt.h>

static rapt_context *context;
static rapt_sequence sequence;
static char why[256];

static void check(rapt_status status) {
  if (status)
    fprintf(stderr, "rapt: %s\n", why), exit(1);
}

static void forget(int length) { check(rapt_sequence_truncate(context, sequence, length, why, sizeof why)); }

static const float *feed(int position, int count) {
  int32_t tokens[CAPACITY];
  for (int i = 0; i < count; ++i)
    tokens[i] = token(position + i);
  rapt_chunk chunk = {sizeof chunk};
  chunk.sequence = sequence, chunk.tokens = tokens, chunk.count = count, chunk.want = RAPT_LOGITS_LAST;
  check(rapt_step(context, &chunk, 1, why, sizeof why));
  return chunk.logits;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  rapt_module *module;
  rapt_pool *pool;
  rapt_context_options options = {sizeof options};
  check(rapt_module_open(argv[1], NULL, &module, why, sizeof why));
  check(rapt_pool_new(atoi(argv[2]), &pool, why, sizeof why));
  options.pool = pool, options.cache_tokens = options.window_slack = CAPACITY;
  options.keep_states_every = PROMPT;
  check(rapt_context_new(module, &options, &context, why, sizeof why));
  check(rapt_sequence_new(context, &sequence, why, sizeof why));
  vocabulary = atoi(argv[3]);
  char name[64];
  snprintf(name, sizeof name, "capacity %lld", (long long)rapt_context_capacity(context));
  return serve(name);
}
