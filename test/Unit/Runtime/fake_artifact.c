/* A compiled model in C, for testing the runtime without the compiler. Its answers are simple to predict: the cache
 * holds token * 1000003 + position for each position, and the logits of a position are a hash of all that the cache
 * holds up to it, read through the block table, and of a salt in the weights. */
#include "fake_manifest.h"
#include "rapt/artifact.h"
#include <stddef.h>

enum { BLOCK = 8, SLOT = 2, VOCABULARY = 257 }; /* SLOT: int32s of a token in the cache */

__attribute__((section(".rapt.manifest"), used)) static const char manifest[] = FAKE_MANIFEST;

typedef struct {
  int64_t region; /* a closure begins with its number: 0 for insert, 1 for project */
  const int32_t *weights, *tokens, *row_begin, *past, *table, *want;
  int32_t *cache;
  float *logits;
  uint32_t *scratch; /* one word a worker: no two tasks may meet in it */
  int64_t rows, table_width;
  int64_t token; /* handled by the region `insert` */
} call;

static int64_t row_of(const call *c, int64_t token) {
  int64_t row = 0;
  while (c->row_begin[row + 1] <= token)
    ++row;
  return row;
}

static int32_t *slot(const call *c, int64_t row, int64_t position) {
  return c->cache + ((int64_t)c->table[row * c->table_width + position / BLOCK] * BLOCK + position % BLOCK) * SLOT;
}

static int64_t position_of(const call *c, int64_t row, int64_t token) {
  return c->past[row] + token - c->row_begin[row];
}

/* One index: writes c->token into the cache. */
static void insert(void *closure, int64_t begin, int64_t end, int64_t worker) {
  const call *c = closure;
  int64_t row = row_of(c, c->token), position = position_of(c, row, c->token);
  (void)begin, (void)end, (void)worker;
  slot(c, row, position)[0] = (int32_t)((uint32_t)c->tokens[c->token] * 1000003u + (uint32_t)position);
}

static void project(void *closure, int64_t begin, int64_t end, int64_t worker) {
  const call *c = closure;
  for (int64_t w = begin; w < end; ++w) {
    int64_t row = row_of(c, c->want[w]), last = position_of(c, row, c->want[w]);
    uint32_t *hash = &c->scratch[worker * 16];
    *hash = (uint32_t)c->weights[0];
    for (int64_t p = 0; p <= last; ++p)
      *hash = *hash * 31u + (uint32_t)slot(c, row, p)[0];
    for (int64_t v = 0; v < VOCABULARY; ++v)
      c->logits[w * VOCABULARY + v] =
          (float)(((*hash ^ (uint32_t)v * 2654435761u) * 2246822519u) >> 8) / 1048576.0f; /* [0, 16) */
  }
}

static int32_t step(const rapt_env *env, void *const *b, const int64_t *dims) {
  call c;
  c.region = 0;
  c.weights = b[0], c.scratch = b[1], c.cache = b[2], c.tokens = b[3], c.row_begin = b[4], c.past = b[5];
  c.table = b[6], c.want = b[7], c.logits = b[8];
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
