/* Runs compiled models under many schedules and compares every bit of every logit: `schedules MODEL.so...`
 *
 * A script appends tokens to sequences of unequal lengths: a prompt each, then chunks onto a cache that is not empty
 * beside single tokens, then single tokens. Its logits must have the same bits with pools of 1, 2 and 7 threads and
 * with an executor that runs groups of tasks of random sizes in random order on several threads under random worker
 * ids. They must equal those of the whole sequences in one step, and of steps that work in small parts, to relative L2
 * 1e-5 in each row, 1e-3 with a cache of fewer bits than f32, 1e-2 with one of bf16. */
#include "rapt/rapt.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, WORKERS = 7, THREADS = 3, SEEDS = 4, PHASES = 9, SMALL_PART = 19 };
static double tolerance; /* of the model that is run */

static void expect(int good, const char *what) {
  if (!good) {
    fprintf(stderr, "schedules: %s\n", what);
    exit(1);
  }
}

static void check(rapt_status status, const char *message) { expect(status == RAPT_OK, message); }

static void *allocate(size_t bytes) {
  void *memory = calloc(bytes ? bytes : 1, 1);
  expect(memory != NULL, "no memory");
  return memory;
}

/*===-- An executor without any order -----------------------------------------===*/

typedef struct {
  int64_t begin, end;
} group;

typedef struct {
  pthread_mutex_t lock;
  uint64_t random;
  int64_t backwards, together, mostTogether; /* pairs out of order; calls that run now, and most of them ever */
  int64_t used[WORKERS];                     /* calls of each worker id */
  int busy[WORKERS];
} disorder;

typedef struct {
  disorder *host;
  rapt_task_fn body;
  void *closure;
  const group *groups;
  int64_t next, count;
  pthread_barrier_t start; /* passed when each thread has its first group and worker id */
} region;

static int64_t below(disorder *host, int64_t bound) {
  host->random = host->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int64_t)((host->random >> 33) % (uint64_t)bound);
}

static void *serve(void *argument) {
  region *r = argument;
  disorder *host = r->host;
  for (int first = 1;; first = 0) {
    pthread_mutex_lock(&host->lock);
    if (r->next == r->count) {
      pthread_mutex_unlock(&host->lock);
      return NULL;
    }
    group g = r->groups[r->next++];
    int64_t worker = below(host, WORKERS);
    while (host->busy[worker])
      worker = below(host, WORKERS);
    host->busy[worker] = 1;
    host->used[worker]++;
    if (++host->together > host->mostTogether)
      host->mostTogether = host->together;
    pthread_mutex_unlock(&host->lock);
    if (first)
      pthread_barrier_wait(&r->start);
    r->body(r->closure, g.begin, g.end, worker);
    pthread_mutex_lock(&host->lock);
    host->busy[worker] = 0;
    host->together--;
    pthread_mutex_unlock(&host->lock);
  }
}

static int64_t workers(void *user) {
  (void)user;
  return WORKERS;
}

static void parallel_for(void *user, rapt_task_fn body, void *closure, int64_t count) {
  disorder *host = user;
  group *groups = allocate((size_t)count * sizeof *groups);
  int64_t made = 0, widest = 1 + below(host, 4);
  for (int64_t begin = 0; begin < count; ++made) {
    int64_t end = begin + 1 + below(host, widest);
    groups[made].begin = begin;
    groups[made].end = begin = end < count ? end : count;
  }
  for (int64_t i = made - 1; i > 0; --i) {
    int64_t other = below(host, i + 1);
    group g = groups[i];
    groups[i] = groups[other];
    groups[other] = g;
  }
  for (int64_t i = 1; i < made; ++i)
    host->backwards += groups[i].begin < groups[i - 1].begin;
  region r = {host, body, closure, groups, 0, made, {{0}}};
  unsigned threads = made < THREADS ? (unsigned)made : THREADS;
  pthread_t others[THREADS];
  pthread_barrier_init(&r.start, NULL, threads);
  for (unsigned i = 1; i < threads; ++i)
    expect(pthread_create(&others[i], NULL, serve, &r) == 0, "no thread");
  serve(&r);
  for (unsigned i = 1; i < threads; ++i)
    pthread_join(others[i], NULL);
  pthread_barrier_destroy(&r.start);
  free(groups);
}

/*===-- The script ------------------------------------------------------------===*/

typedef struct {
  rapt_module *module;
  int64_t vocabulary, lengths[ROWS], tokens; /* tokens: of all rows */
  int32_t *ids;                              /* rows one after another */
  size_t floats;                             /* logits: [tokens, vocabulary] */
} script;

/* How many tokens row `row` appends in a phase of the script; without `parts` all in the first. */
static int64_t appended(const script *s, int parts, int phase, int row, int64_t done) {
  int64_t left = s->lengths[row] - done, half = s->lengths[row] / 2 - row, want = left;
  if (parts && phase == 0)
    want = half > 1 ? half : 1;
  else if (parts && phase == 1 && row < 2)
    want = s->lengths[row] / 4 + row;
  else if (parts && phase + 1 < PHASES)
    want = 1;
  return want < left ? want : left;
}

/* The logits, at `shift` floats behind a multiple of 64 bytes: bits must not depend on where memory lies. */
static float *run(const script *s, int parts, rapt_context_options options, float *memory, int64_t shift) {
  char message[512] = "";
  rapt_context *context;
  rapt_sequence sequences[ROWS];
  int64_t done[ROWS] = {0};
  float *logits = memory + (64 - (uintptr_t)memory % 64) / sizeof *memory + shift;
  options.size = sizeof options;
  options.cache_tokens = s->tokens + ROWS * 64;
  check(rapt_context_new(s->module, &options, &context, message, sizeof message), message);
  for (int row = 0; row < ROWS; ++row)
    check(rapt_sequence_new(context, &sequences[row], message, sizeof message), message);
  for (int phase = 0; phase < PHASES; ++phase) {
    rapt_chunk chunks[ROWS];
    size_t count = 0;
    int64_t begin = 0;
    memset(chunks, 0, sizeof chunks);
    for (int row = 0; row < ROWS; begin += s->lengths[row++]) {
      int64_t more = appended(s, parts, phase, row, done[row]), at = begin + done[row];
      if (more == 0)
        continue;
      rapt_chunk *chunk = &chunks[count++];
      chunk->size = sizeof *chunk;
      chunk->sequence = sequences[row];
      chunk->tokens = s->ids + at;
      chunk->count = more;
      chunk->want = RAPT_LOGITS_ALL;
      chunk->output = logits + at * s->vocabulary;
      chunk->output_bytes = (size_t)(more * s->vocabulary) * sizeof(float);
      done[row] += more;
    }
    if (count)
      check(rapt_step(context, chunks, count, message, sizeof message), message);
  }
  rapt_context_free(context);
  return logits;
}

/* The largest relative L2 distance of any row's logits. */
static double distance(const script *s, const float *logits, const float *expected) {
  double worst = 0;
  for (int row = 0; row < ROWS; ++row) {
    double wrong = 0, whole = 0;
    for (int64_t i = 0; i < s->lengths[row] * s->vocabulary; ++i, ++logits, ++expected) {
      wrong += ((double)*logits - *expected) * ((double)*logits - *expected);
      whole += (double)*expected * *expected;
    }
    expect(whole > 0 && isfinite(whole), "a row's logits are all zero or not finite");
    worst = fmax(worst, sqrt(wrong / whole));
  }
  return worst;
}

static int failures;

static void same_bits(const script *s, const char *what, int64_t number, int parts, rapt_context_options options,
                      const float *expected) {
  float *memory = allocate((s->floats + 32) * sizeof *memory), *logits = run(s, parts, options, memory, number);
  size_t wrong = 0;
  for (size_t i = 0; i < s->floats; ++i)
    wrong += memcmp(&logits[i], &expected[i], sizeof(float)) != 0;
  if (wrong)
    printf("FAIL %s %d, %s: %zu of %zu logits differ\n", what, (int)number, parts ? "parts" : "whole", wrong,
           s->floats);
  failures += wrong != 0;
  free(memory);
}

static void close_values(const script *s, const char *what, const float *logits, const float *expected) {
  double error = distance(s, logits, expected);
  printf("%s %s: relative L2 %.1e\n", error <= tolerance ? "PASS" : "FAIL", what, error);
  failures += !(error <= tolerance);
}

/*===-- Schedules ---------------------------------------------------------------===*/

static void pools(const script *s, float *const *expected) {
  static const int64_t sizes[] = {1, 2, 7};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    char message[512];
    rapt_context_options options;
    memset(&options, 0, sizeof options);
    check(rapt_pool_new(sizes[i], &options.pool, message, sizeof message), message);
    expect(rapt_pool_threads(options.pool) == sizes[i], "the pool has another number of threads");
    for (int parts = 0; parts < 2; ++parts)
      same_bits(s, "threads", sizes[i], parts, options, expected[parts]);
    rapt_pool_free(options.pool);
  }
}

static void disorders(const script *s, float *const *expected) {
  for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
    disorder host;
    memset(&host, 0, sizeof host);
    pthread_mutex_init(&host.lock, NULL);
    host.random = seed * UINT64_C(0x9e3779b97f4a7c15);
    rapt_executor executor = {sizeof executor, &host, workers, parallel_for};
    rapt_context_options options;
    memset(&options, 0, sizeof options);
    options.executor = &executor;
    for (int parts = 0; parts < 2; ++parts)
      same_bits(s, "random order", (int64_t)seed, parts, options, expected[parts]);
    expect(host.mostTogether == THREADS, "tasks never ran at the same time");
    expect(host.backwards > 0, "tasks always ran in order");
    for (int worker = 0; worker < WORKERS; ++worker)
      expect(host.used[worker] > 0, "a worker id was never used");
    pthread_mutex_destroy(&host.lock);
  }
}

static void test(const char *path) {
  char message[512] = "";
  script s;
  memset(&s, 0, sizeof s);
  check(rapt_module_open(path, NULL, &s.module, message, sizeof message), message);
  rapt_module_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  rapt_module_get_info(s.module, &info);
  s.vocabulary = info.vocabulary;
  /* A value from other tiles can be rounded to another number of a cache of fewer bits. With bf16, matrix instructions
   * round queries and probabilities as well, which the code for single tokens does not. */
  tolerance = !strcmp(info.cache_dtype, "bf16") ? 1e-2 : strcmp(info.cache_dtype, "f32") ? 1e-3 : 1e-5;
  int64_t most = info.max_positions, lengths[ROWS] = {most, most * 2 / 3, 7, 2};
  memcpy(s.lengths, lengths, sizeof lengths);
  for (int row = 0; row < ROWS; ++row)
    s.tokens += s.lengths[row];
  s.floats = (size_t)(s.tokens * s.vocabulary);
  s.ids = allocate((size_t)s.tokens * sizeof *s.ids);
  for (int64_t i = 0; i < s.tokens; ++i)
    s.ids[i] = (int32_t)((i * i * 7 + i * 31 + 5) % s.vocabulary);

  rapt_context_options options;
  memset(&options, 0, sizeof options);
  float *memory[3], *expected[2];
  for (int i = 0; i < 3; ++i)
    memory[i] = allocate((s.floats + 32) * sizeof *memory[i]);
  for (int parts = 0; parts < 2; ++parts)
    expected[parts] = run(&s, parts, options, memory[parts], 0);
  int before = failures;
  pools(&s, expected);
  disorders(&s, expected);
  printf("%s %s: %d tokens, the same bits\n", failures == before ? "PASS" : "FAIL", info.name, (int)s.tokens);
  close_values(&s, "prompt, chunks and single tokens beside the whole", expected[1], expected[0]);
  options.max_step_tokens = SMALL_PART;
  close_values(&s, "small parts beside the whole", run(&s, 0, options, memory[2], 0), expected[0]);
  for (int i = 0; i < 3; ++i)
    free(memory[i]);
  free(s.ids);
  rapt_module_release(s.module);
}

int main(int argc, char **argv) {
  expect(argc > 1, "usage: schedules MODEL.so...");
  for (int i = 1; i < argc; ++i)
    test(argv[i]);
  return failures != 0;
}
