/* Runs tensors as rapt-run does, for systems that have the runtime alone:
 *     run_tensors MODEL.so [--threads N,...] --input NAME=F.npy ... --output NAME=F.npy ...
 * Runs the entry "forward" and tells whose code that was. */
#include <rapt/rapt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, RANK = 9, HEADER = 4096 };

static char why[512];
static const char *names[MOST], *files[MOST];
static rapt_tensor tensors[MOST];
static int64_t shapes[MOST][RANK];

static void fail(const char *what, const char *which) {
  fprintf(stderr, "run_tensors: %s: %s\n", which, what);
  exit(1);
}

static void check(rapt_status status) {
  if (status)
    fail(why, rapt_status_name(status));
}

static size_t bytes_of(const rapt_tensor *tensor) {
  size_t bytes = tensor->dtype_bits / 8;
  for (int i = 0; i < tensor->rank; ++i)
    bytes *= (size_t)tensor->shape[i];
  return bytes;
}

static void prepare(rapt_tensor *tensor, int64_t *shape, int code, int bits) {
  memset(tensor, 0, sizeof *tensor);
  tensor->size = sizeof *tensor;
  tensor->shape = shape;
  tensor->device_type = RAPT_DEVICE_CPU;
  tensor->dtype_code = (uint8_t)code, tensor->dtype_bits = (uint8_t)bits, tensor->dtype_lanes = 1;
}

static void read_npy(const char *path, rapt_tensor *tensor, int64_t *shape) {
  FILE *file = fopen(path, "rb");
  unsigned char start[10];
  char header[HEADER] = "";
  if (!file || fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY\1", 7))
    fail("no npy file of version 1", path);
  const size_t length = start[8] + 256u * start[9];
  if (length >= HEADER || fread(header, 1, length, file) != length)
    fail("a header that is too long", path);
  const int whole = strstr(header, "<i8") != NULL;
  if ((!whole && !strstr(header, "<f4")) || strstr(header, "True"))
    fail("neither i64 nor f32 in C order", path);
  prepare(tensor, shape, whole ? RAPT_DTYPE_INT : RAPT_DTYPE_FLOAT, whole ? 64 : 32);
  char *at = strchr(strstr(header, "shape"), '(') + 1, *end;
  for (; tensor->rank < RANK && (shape[tensor->rank] = strtoll(at, &end, 10), end != at); at = end + (*end == ','))
    ++tensor->rank;
  tensor->data = malloc(bytes_of(tensor) + 1);
  if (fread(tensor->data, 1, bytes_of(tensor), file) != bytes_of(tensor))
    fail("is too short", path);
  fclose(file);
}

static void write_npy(const char *path, const rapt_tensor *tensor) {
  char header[HEADER];
  int length = sprintf(header, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
  for (int i = 0; i < tensor->rank; ++i)
    length += sprintf(header + length, "%lld,", (long long)tensor->shape[i]);
  length += sprintf(header + length, "), }");
  while ((10 + length + 1) % 64)
    header[length++] = ' ';
  header[length++] = '\n';
  const unsigned char start[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(length % 256), (unsigned char)(length / 256)};
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(start, 1, 10, file) != 10 || fwrite(header, 1, (size_t)length, file) != (size_t)length ||
      fwrite(tensor->data, 1, bytes_of(tensor), file) != bytes_of(tensor) || fclose(file))
    fail("cannot be written", path);
}

int main(int argc, char **argv) {
  size_t inputs = 0, all = 0;
  const char *threads = "0";
  for (int pass = 0; pass < 2; ++pass) /* inputs stand before outputs */
    for (int i = 2; i + 1 < argc; i += 2) {
      if (!strcmp(argv[i], "--threads"))
        threads = argv[i + 1];
      if (strcmp(argv[i], pass ? "--output" : "--input"))
        continue;
      char *equals = strchr(argv[i + 1], '=');
      if (!equals || all == MOST)
        fail("no NAME=FILE, or too many", argv[i + 1]);
      *equals = 0, names[all] = argv[i + 1], files[all] = equals + 1;
      if (!pass)
        read_npy(files[all], &tensors[all], shapes[all]), ++inputs;
      ++all;
    }
  rapt_module *module;
  rapt_pool *pool;
  rapt_context *context;
  rapt_context_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  check(rapt_module_open(argc > 1 ? argv[1] : "", NULL, &module, why, sizeof why));
  rapt_module_info info;
  info.size = sizeof info;
  check(rapt_module_get_info(module, &info));
  fprintf(stderr, "code for %s\n", info.target_cpu);
  void *first[MOST] = {NULL};
  for (char *at = (char *)threads; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    check(rapt_pool_new(atoll(at), &pool, why, sizeof why));
    options.pool = pool;
    check(rapt_context_new(module, &options, &context, why, sizeof why));
    for (size_t i = inputs; i < all; ++i) {
      prepare(&tensors[i], shapes[i], RAPT_DTYPE_FLOAT, 32);
      check(rapt_run_shape(context, "forward", inputs, names, tensors, names[i], shapes[i], &tensors[i].rank, why,
                           sizeof why));
      tensors[i].data = malloc(bytes_of(&tensors[i]) + 1);
    }
    check(rapt_run(context, "forward", all, names, tensors, why, sizeof why));
    for (size_t i = inputs; i < all; ++i) {
      if (first[i] && memcmp(first[i], tensors[i].data, bytes_of(&tensors[i])))
        fail("other bits with another number of threads", names[i]);
      first[i] = tensors[i].data;
    }
    rapt_context_free(context);
    rapt_pool_free(pool);
  }
  for (size_t i = inputs; i < all; ++i)
    write_npy(files[i], &tensors[i]);
  rapt_module_release(module);
  return 0;
}
