/* An application that writes text with a compiled model linked into it, and uses every part of rapt.h on the way:
 *
 *   generate WEIGHTS ID,ID,...        32 greedy tokens after these, printed as ids
 *   generate WEIGHTS ID,ID,... check  then the same with contexts in two threads, a pool and an allocator of its own,
 *                                     canceling, saving and forking; prints "all equal"
 *
 * Compile with -DMODEL_HEADER='"gpt2.h"' -DMODEL=gpt2_module; link gpt2.o (or .a), librapt_runtime, -lm and -lpthread.
 */
#include "rapt/rapt.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef MODEL_HEADER
#include MODEL_HEADER
#else
extern const rapt_artifact MODEL;
#endif

enum { NEW_TOKENS = 32, MAX_PROMPT = 4096 };

static void check(rapt_status status, const char *message) {
  if (status != RAPT_OK) {
    fprintf(stderr, "generate: %s: %s\n", rapt_status_name(status), message);
    exit(1);
  }
}

static void expect(int good, const char *what) {
  if (!good) {
    fprintf(stderr, "generate: not as expected: %s\n", what);
    exit(1);
  }
}

typedef struct {
  rapt_module *module;
  int64_t vocabulary;
  int32_t prompt[MAX_PROMPT];
  int64_t prompt_length;
} application;

static int32_t largest(const float *logits, int64_t count) {
  int32_t best = 0;
  for (int32_t i = 1; i < count; ++i)
    if (logits[i] > logits[best])
      best = i;
  return best;
}

/* Appends tokens; the logits of the last one, which hold until the next step. */
static rapt_status append(rapt_context *context, rapt_sequence sequence, const int32_t *tokens, int64_t count,
                          const float **logits, char *message, size_t size) {
  rapt_chunk chunk;
  memset(&chunk, 0, sizeof chunk);
  chunk.size = sizeof chunk;
  chunk.sequence = sequence;
  chunk.tokens = tokens;
  chunk.count = count;
  chunk.want = RAPT_LOGITS_LAST;
  rapt_status status = rapt_step(context, &chunk, 1, message, size);
  *logits = chunk.logits;
  return status;
}

static rapt_context *make_context(const application *app, rapt_context_options options) {
  char message[512];
  rapt_context *context;
  options.size = sizeof options;
  options.cache_tokens = 2 * (app->prompt_length + NEW_TOKENS) + 128; /* room for a fork */
  check(rapt_context_new(app->module, &options, &context, message, sizeof message), message);
  return context;
}

/* Greedy tokens after the prompt. */
static void generate(const application *app, rapt_context *context, rapt_sequence sequence, int32_t *made) {
  char message[512];
  const float *logits;
  check(append(context, sequence, app->prompt, app->prompt_length, &logits, message, sizeof message), message);
  for (int i = 0; i < NEW_TOKENS; ++i) {
    made[i] = largest(logits, app->vocabulary);
    if (i + 1 < NEW_TOKENS)
      check(append(context, sequence, &made[i], 1, &logits, message, sizeof message), message);
  }
}

static rapt_sequence new_sequence(rapt_context *context) {
  char message[512];
  rapt_sequence sequence;
  check(rapt_sequence_new(context, &sequence, message, sizeof message), message);
  return sequence;
}

/*===-- Two contexts in two threads -------------------------------------------===*/

typedef struct {
  const application *app;
  int32_t made[NEW_TOKENS];
} job;

static void *run_job(void *argument) {
  job *j = argument;
  rapt_context_options options;
  memset(&options, 0, sizeof options);
  rapt_context *context = make_context(j->app, options);
  generate(j->app, context, new_sequence(context), j->made);
  rapt_context_free(context);
  return NULL;
}

static void two_threads(const application *app, const int32_t *expected) {
  job jobs[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    jobs[i].app = app;
    expect(pthread_create(&threads[i], NULL, run_job, &jobs[i]) == 0, "a thread starts");
  }
  for (int i = 0; i < 2; ++i) {
    pthread_join(threads[i], NULL);
    expect(memcmp(jobs[i].made, expected, sizeof jobs[i].made) == 0, "tokens of a thread");
  }
}

/*===-- A pool of its own, and an allocator that counts -----------------------===*/

typedef struct {
  int64_t allocations, regions, cancel_at;
  uint64_t random;
  rapt_context *context;
} host;

static uint64_t next_random(host *h) {
  return (h->random = h->random * 6364136223846793005u + 1442695040888963407u) >> 33;
}

static void *host_alloc(void *user, size_t bytes, size_t alignment, int32_t device) {
  void *memory = NULL;
  (void)device;
  ((host *)user)->allocations++;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
}

static void host_free(void *user, void *memory, size_t bytes, int32_t device) {
  (void)user, (void)bytes, (void)device;
  free(memory);
}

static int64_t host_workers(void *user) {
  (void)user;
  return 5;
}

/* One index at a time, in an order and under worker ids that nobody could guess. */
static void host_parallel_for(void *user, rapt_task_fn body, void *closure, int64_t count) {
  host *h = user;
  if (h->regions++ == h->cancel_at)
    rapt_cancel(h->context);
  int64_t step = 1 + (int64_t)(next_random(h) % (uint64_t)count), at = (int64_t)(next_random(h) % (uint64_t)count);
  for (int64_t a = step, b = count; b;) { /* a step that shares no factor with the count reaches every index */
    int64_t rest = a % b;
    a = b, b = rest;
    if (!b && a != 1)
      step = 1;
  }
  for (int64_t i = 0; i < count; ++i, at = (at + step) % count)
    body(closure, at, at + 1, (int64_t)(next_random(h) % 5));
}

static void own_pool_and_allocator(const application *app, const int32_t *expected) {
  char message[512];
  const float *logits;
  int32_t made[NEW_TOKENS];
  host h = {0, 0, -1, 1, NULL};
  rapt_executor executor = {sizeof executor, &h, host_workers, host_parallel_for};
  rapt_allocator allocator = {sizeof allocator, &h, host_alloc, host_free};
  rapt_context_options options;
  memset(&options, 0, sizeof options);
  options.executor = &executor;
  options.allocator = &allocator;
  h.context = make_context(app, options);

  rapt_sequence sequence = new_sequence(h.context);
  check(append(h.context, sequence, app->prompt, app->prompt_length, &logits, message, sizeof message), message);
  int64_t before = h.allocations;
  for (int i = 0; i < NEW_TOKENS; ++i) {
    made[i] = largest(logits, app->vocabulary);
    check(append(h.context, sequence, &made[i], 1, &logits, message, sizeof message), message);
  }
  expect(h.allocations == before, "no allocation in decode");
  expect(memcmp(made, expected, sizeof made) == 0, "tokens with a pool of its own");

  /* Cancel in the middle of the prompt, then the same again. */
  rapt_sequence again = new_sequence(h.context);
  h.regions = 0;
  h.cancel_at = 2;
  expect(append(h.context, again, app->prompt, app->prompt_length, &logits, message, sizeof message) == RAPT_CANCELLED,
         "a canceled prompt");
  expect(rapt_sequence_length(h.context, again) == 0, "a canceled sequence is as before");
  h.cancel_at = -1;
  generate(app, h.context, again, made);
  expect(memcmp(made, expected, sizeof made) == 0, "tokens after canceling");
  rapt_context_free(h.context);
}

/*===-- Save, fork, reload ----------------------------------------------------===*/

static void save_fork_reload(const application *app) {
  char message[512];
  const float *logits;
  int32_t token;
  size_t bytes, logit_bytes = (size_t)app->vocabulary * sizeof(float);
  rapt_context_options options;
  memset(&options, 0, sizeof options);
  rapt_context *context = make_context(app, options), *other = make_context(app, options);
  rapt_sequence sequence = new_sequence(context), fork, loaded;
  check(append(context, sequence, app->prompt, app->prompt_length, &logits, message, sizeof message), message);
  token = largest(logits, app->vocabulary);

  check(rapt_sequence_save(context, sequence, NULL, 0, &bytes, message, sizeof message), message);
  void *state = malloc(bytes);
  expect(state != NULL, "memory for a state");
  check(rapt_sequence_save(context, sequence, state, bytes, &bytes, message, sizeof message), message);
  check(rapt_sequence_fork(context, sequence, &fork, message, sizeof message), message);
  check(rapt_sequence_load(other, state, bytes, &loaded, message, sizeof message), message);

  float *first = malloc(logit_bytes);
  expect(first != NULL, "memory for logits");
  check(append(context, sequence, &token, 1, &logits, message, sizeof message), message);
  memcpy(first, logits, logit_bytes);
  check(append(context, fork, &token, 1, &logits, message, sizeof message), message);
  expect(memcmp(first, logits, logit_bytes) == 0, "logits of a fork");
  check(append(other, loaded, &token, 1, &logits, message, sizeof message), message);
  expect(memcmp(first, logits, logit_bytes) == 0, "logits of a loaded state");
  free(first);
  free(state);
  rapt_context_free(other);
  rapt_context_free(context);
}

/*===----------------------------------------------------------------------===*/

static void read_prompt(application *app, const char *text) {
  while (app->prompt_length < MAX_PROMPT) {
    char *end;
    app->prompt[app->prompt_length++] = (int32_t)strtol(text, &end, 10);
    expect(end != text, "ids are given as 1,2,3");
    if (*end != ',')
      return;
    text = end + 1;
  }
}

int main(int argc, char **argv) {
  static application app;
  char message[512];
  int32_t made[NEW_TOKENS];
  if (argc < 3) {
    fprintf(stderr, "usage: generate WEIGHTS ID,ID,... [check]\n");
    return 2;
  }
  rapt_module_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.weights_path = argv[1];
  check(rapt_module_from_artifact(&MODEL, &options, &app.module, message, sizeof message), message);
  rapt_module_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  rapt_module_get_info(app.module, &info);
  app.vocabulary = info.vocabulary;
  read_prompt(&app, argv[2]);

  rapt_pool *pool;
  check(rapt_pool_new(0, &pool, message, sizeof message), message);
  rapt_context_options context_options;
  memset(&context_options, 0, sizeof context_options);
  context_options.pool = pool;
  rapt_context *context = make_context(&app, context_options);
  generate(&app, context, new_sequence(context), made);
  for (int i = 0; i < NEW_TOKENS; ++i)
    printf(i ? ",%d" : "%d", made[i]);
  printf("\n");
  if (argc > 3 && strcmp(argv[3], "check") == 0) {
    two_threads(&app, made);
    own_pool_and_allocator(&app, made);
    save_fork_reload(&app);
    printf("all equal\n");
  }
  rapt_context_free(context);
  rapt_pool_free(pool);
  rapt_module_release(app.module);
  return 0;
}
