/* Times a compiled model's forward beside the rate of the FMA instruction in the same run, medians of alternating
 * repetitions:
 *     forward MODEL.so THREADS GFLOP OUTPUT INPUT=SHAPE[:MOST] ...
 *     forward MODEL.so THREADS GFLOP encode input_ids=1xCOUNT:MOST     what an encoder-decoder does once per source
 * INPUT is random: tokens below MOST, or f32 pixels without it; "input_ids=1x128:30522". Use test/Perf/run. */
#include "limits.h"
#include <rapt/rapt.h>
#include <string.h>

enum { REPETITIONS = 15, INPUTS = 4 };

static char why[256];

static void check(rapt_status status) {
  if (status)
    fprintf(stderr, "forward: %s\n", why), exit(1);
}

static void fill(rapt_tensor *tensor, int64_t *shape, char *text) {
  char *most = strchr(text, ':');
  long long count = 1, limit = most ? atoll(most + 1) : 0;
  int rank = 0;
  for (char *p = text; p < (most ? most : text + strlen(text)) && rank < 4; ++p)
    count *= shape[rank++] = strtoll(p, &p, 10);
  float *pixels = malloc((size_t)count * 8);
  int64_t *tokens = (int64_t *)pixels;
  for (long i = 0; i < count; ++i)
    if (most)
      tokens[i] = rand() % limit;
    else
      pixels[i] = 2 * (float)rand() / (float)RAND_MAX - 1;
  *tensor = (rapt_tensor){sizeof *tensor};
  tensor->data = pixels, tensor->shape = shape, tensor->rank = rank, tensor->dtype_lanes = 1;
  tensor->device_type = RAPT_DEVICE_CPU;
  tensor->dtype_code = most ? RAPT_DTYPE_INT : RAPT_DTYPE_FLOAT, tensor->dtype_bits = most ? 64 : 32;
}

static rapt_context *context;
static const char *names[INPUTS + 1];
static rapt_tensor tensors[INPUTS + 1];
static int64_t shapes[INPUTS + 1][9];

/* The output `name` behind the inputs. */
static void add_output(size_t inputs, const char *name) {
  int32_t rank;
  check(rapt_run_shape(context, "forward", inputs, names, tensors, name, shapes[inputs], &rank, why, sizeof why));
  tensors[inputs] = tensors[0], names[inputs] = name;
  size_t bytes = sizeof(float);
  for (int i = 0; i < rank; ++i)
    bytes *= (size_t)shapes[inputs][i];
  tensors[inputs].data = malloc(bytes), tensors[inputs].shape = shapes[inputs], tensors[inputs].rank = rank;
  tensors[inputs].dtype_code = RAPT_DTYPE_FLOAT, tensors[inputs].dtype_bits = 32;
}

static void encode(const int32_t *tokens, int64_t count) {
  rapt_source source = {sizeof source};
  source.tokens = tokens, source.count = count;
  check(rapt_sequence_new(context, &source.sequence, why, sizeof why));
  check(rapt_encode(context, &source, 1, why, sizeof why));
  check(rapt_sequence_free(context, source.sequence, why, sizeof why));
}

int main(int argc, char **argv) {
  if (argc < 6 || argc > 5 + INPUTS)
    return 2;
  rapt_module *module;
  rapt_pool *pool;
  rapt_context_options options = {sizeof options};
  check(rapt_module_open(argv[1], NULL, &module, why, sizeof why));
  check(rapt_pool_new(atoi(argv[2]), &pool, why, sizeof why));
  options.pool = pool, options.cache_tokens = strcmp(argv[4], "encode") ? 0 : 4096;
  check(rapt_context_new(module, &options, &context, why, sizeof why));
  size_t count = (size_t)argc - 5;
  for (size_t i = 0; i < count; ++i) {
    char *text = strchr(argv[5 + i], '=');
    if (!text)
      return 2;
    *text = 0;
    names[i] = argv[5 + i];
    fill(&tensors[i], shapes[i], text + 1);
  }
  int32_t *source = NULL;
  if (!strcmp(argv[4], "encode")) {
    source = malloc((size_t)shapes[0][1] * sizeof *source);
    for (long i = 0; i < shapes[0][1]; ++i)
      source[i] = (int32_t)((const int64_t *)tensors[0].data)[i];
  } else {
    add_output(count, argv[4]);
  }
  const float seed[4] = {0.1f, 0.2f, 0.3f, 0.4f};
  double seconds[REPETITIONS], limits[REPETITIONS];
  for (int r = -1; r < REPETITIONS; ++r) {
    double limit = fma_limit(seed), begin = now();
    if (source)
      encode(source, shapes[0][1]);
    else
      check(rapt_run(context, "forward", count + 1, names, tensors, why, sizeof why));
    if (r >= 0) /* the first one reads the weights */
      seconds[r] = now() - begin, limits[r] = limit;
  }
  qsort(seconds, REPETITIONS, sizeof(double), ascending);
  qsort(limits, REPETITIONS, sizeof(double), ascending);
  double rate = atof(argv[3]) / seconds[REPETITIONS / 2], limit = limits[REPETITIONS / 2] * atoi(argv[2]);
  printf("%s, %s threads: %.1f ms (best %.1f), %.1f GFLOP/s of %.1f: %.0f %%\n", argv[1], argv[2],
         1e3 * seconds[REPETITIONS / 2], 1e3 * seconds[0], rate, limit, 100 * rate / limit);
  rapt_context_free(context);
  rapt_pool_free(pool);
  rapt_module_release(module);
  return 0;
}
