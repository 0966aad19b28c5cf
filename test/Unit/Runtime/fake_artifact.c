/* A compiled model in C, for testing the runtime without the compiler. Its answers are simple to predict: the cache
 * holds token * 1000003 + position for each position, and the logits of a position are a hash of all that the cache
 * holds up to it, read through the block table, and of a salt in the weights.
 * The environment's FAKE_DELAY makes each step take 20 ms longer.
 * FAKE_WINDOW: the cache that has a window, which with FAKE_MIXED is a second one, of hashes of its own, is read in the
 * window alone. */
#define _POSIX_C_SOURCE 200809L
#include "fake_manifest.h"
#include "rapt/artifact.h"
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCK = 8, SLOT = 2, VOCABULARY = 257 }; /* SLOT: int32s of a token in the cache */

#define TEXT_OF(NUMBER) #NUMBER
#define NUMBER_TEXT(NUMBER) TEXT_OF(NUMBER)
#ifdef FAKE_WINDOW
#define FAKE_WINDOW_TEXT NUMBER_TEXT(FAKE_WINDOW)
#endif
#ifdef FAKE_MIXED
#define MANIFEST FAKE_MIXED_MANIFEST
#elif defined FAKE_WINDOW
#define MANIFEST FAKE_WINDOW_MANIFEST
#else
#define MANIFEST FAKE_MANIFEST
#define FAKE_WINDOW 0
#endif

__attribute__((section(".rapt.manifest"), used)) static const char manifest[] = MANIFEST;

typedef struct {
  int64_t region; /* a closure begins with its number: 0 for insert, 1 for project */
  const int32_t *weights, *tokens, *row_begin, *past, *table, *want, *window_table;
  int32_t *cache, *window_cache;
  float *logits;
  uint32_t *scratch; /* one word a worker: no two tasks may meet in it */
  int64_t rows, table_width;
  int64_t token;  /* handled by the region `insert` */
  uint32_t fault; /* the number of workers, where the answers shall depend on it */
} call;

static int64_t row_of(const call *c, int64_t token) {
  int64_t row = 0;
  while (c->row_begin[row + 1] <= token)
    ++row;
  return row;
}

static int32_t *slot(const call *c, int32_t *cache, const int32_t *table, int64_t row, int64_t position) {
  return cache + ((int64_t)table[row * c->table_width + position / BLOCK] * BLOCK + position % BLOCK) * SLOT;
}

static int64_t position_of(const call *c, int64_t row, int64_t token) {
  return c->past[row] + token - c->row_begin[row];
}

/* One index: writes c->token into the cache. */
static void insert(void *closure, int64_t begin, int64_t end, int64_t worker) {
  const call *c = closure;
  int64_t row = row_of(c, c->token), position = position_of(c, row, c->token);
  (void)begin, (void)end, (void)worker;
  const int32_t value = (int32_t)((uint32_t)c->tokens[c->token] * 1000003u + (uint32_t)position);
  slot(c, c->cache, c->table, row, position)[0] = value;
  if (c->window_cache)
    slot(c, c->window_cache, c->window_table, row, position)[0] = value;
}

/* The hash goes on over what a cache holds up to position `last`; `window`: of the last positions, 0: of all. */
static void add(const call *c, int32_t *cache, const int32_t *table, int64_t row, int64_t last, int64_t window,
                uint32_t *hash) {
  for (int64_t p = window && last >= window ? last - window + 1 : 0; p <= last; ++p)
    *hash = *hash * 31u + (uint32_t)slot(c, cache, table, row, p)[0];
}

static void project(void *closure, int64_t begin, int64_t end, int64_t worker) {
  const call *c = closure;
  for (int64_t w = begin; w < end; ++w) {
    int64_t row = row_of(c, c->want[w]), last = position_of(c, row, c->want[w]);
    uint32_t *hash = &c->scratch[worker * 16];
    *hash = (uint32_t)c->weights[0] + c->fault;
    add(c, c->cache, c->table, row, last, c->window_cache ? 0 : FAKE_WINDOW, hash);
    if (c->window_cache)
      add(c, c->window_cache, c->window_table, row, last, FAKE_WINDOW, hash);
    for (int64_t v = 0; v < VOCABULARY; ++v)
      c->logits[w * VOCABULARY + v] =
          (float)(((*hash ^ (uint32_t)v * 2654435761u) * 2246822519u) >> 8) / 1048576.0f; /* [0, 16) */
  }
}

static int32_t step(const rapt_env *env, void *const *b, const int64_t *dims) {
  call c;
  c.region = 0;
  if (getenv("FAKE_DELAY"))
    nanosleep(&(const struct timespec){0, 20000000}, NULL);
  c.fault = getenv("FAKE_FAULT") ? (uint32_t)env->workers : 0;
  c.weights = b[0], c.scratch = b[1], c.cache = b[2], c.tokens = b[3], c.row_begin = b[4], c.past = b[5];
  c.table = b[6], c.want = b[7], c.window_cache = NULL, c.window_table = NULL;
#ifdef FAKE_MIXED
  c.window_cache = b[8], c.window_table = b[9], c.logits = b[10];
#else
  c.logits = b[8];
#endif
  c.rows = dims[1], c.table_width = dims[3];
  for (c.token = 0; c.token < dims[0]; ++c.token) { /* a dispatch for each token: many chances to cancel */
    int32_t stop = env->parallel_for(env->user, insert, &c, 1);
    if (stop)
      return stop;
  }
  c.region = 1;
  return env->parallel_for(env->user, project, &c, dims[2]);
}

static int64_t workspace(const int64_t *dims, int64_t workers) { return 64 * workers + (dims[0] + 63) / 64 * 64; }

static const rapt_artifact_entry entries[] = {{"step", step, workspace}};

__attribute__((visibility("default"))) const rapt_artifact fake_module = {RAPT_ARTIFACT_MAGIC,
                                                                          RAPT_ABI_MAJOR,
                                                                          RAPT_ABI_MINOR,
                                                                          manifest,
                                                                          sizeof manifest - 1,
                                                                          entries,
                                                                          1,
                                                                          NULL,
                                                                          0,
                                                                          NULL,
                                                                          NULL};
