// compare_rapt KERNELS.so FOLDER THREADS [FEATURE,...]: Rapt's matmuls and attention, the models in FOLDER, and the
// limits of the machine, or of code that has these features.
#include "compare_worker.h"
#include "lib/Bench/Limits.h"
#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <rapt/artifact.h>
#include <rapt/rapt.h>
#include <sys/syscall.h>
#include <unistd.h>

static char why[256];
static rapt_pool *pool;
static rapt_executor executor;
static void *kernels;
static std::string folder;

static void check(rapt_status status) {
  if (status)
    fprintf(stderr, "rapt: %s\n", why), exit(1);
}

static int32_t parallelFor(void *, rapt_task_fn body, void *closure, int64_t count) {
  executor.parallel_for(executor.user, body, closure, count);
  return 0;
}
static rapt_env environment{.parallel_for = parallelFor, .workers = 1};

template <typename F> static F find(const std::string &name) {
  void *function = dlsym(kernels, name.c_str());
  if (!function)
    fprintf(stderr, "rapt: no kernel %s\n", name.c_str()), exit(1);
  return reinterpret_cast<F>(function);
}

static void *scratchOf(const std::string &name, const int64_t *dims) {
  int64_t bytes = find<int64_t (*)(const int64_t *, int64_t)>(name + "_scratch")(dims, environment.workers);
  return aligned_alloc(64, size_t(bytes + 127) / 64 * 64);
}

/// [k, n] of array `salt`, times `scale`, in panels of 32 columns.
static Floats panels(int64_t k, int64_t n, uint64_t salt, float scale) {
  Floats w(size_t(n * k));
  for (int64_t row = 0; row < k; ++row)
    for (int64_t column = 0; column < n; ++column)
      w.data[(column / 32 * k + row) * 32 + column % 32] = scale * number(uint64_t(row * n + column), salt);
  return w;
}

static uint16_t bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16); // ties to even
}

/// Rows of array `salt` in bf16.
static uint16_t *roundedRows(size_t count, uint64_t salt) {
  auto *rows = static_cast<uint16_t *>(aligned_alloc(64, (count * 2 + 127) / 64 * 64));
  for (size_t i = 0; i < count; ++i)
    rows[i] = bf16(number(i, salt));
  return rows;
}

/// [k, n] of array `salt` in bf16, in panels of 32 columns, interleaved by 2 rows.
static uint16_t *pairs(int64_t k, int64_t n, uint64_t salt) {
  auto *w = static_cast<uint16_t *>(aligned_alloc(64, size_t(n * k * 2 + 127) / 64 * 64));
  for (int64_t row = 0; row < k; ++row)
    for (int64_t column = 0; column < n; ++column)
      w[(column / 32 * k + row / 2 * 2) * 32 + column % 32 * 2 + row % 2] =
          bf16(number(uint64_t(row * n + column), salt));
  return w;
}

// matmul N K M, bf16_matmul N K M
static Case matmul(const Words &words) {
  const std::string name = words[0] + "_" + words[1] + "_" + words[2];
  const int64_t n = atol(words[1].c_str()), k = atol(words[2].c_str());
  static std::vector<int64_t> kept(4096);
  static size_t used = 0;
  int64_t *dims = &kept[used++];
  *dims = atol(words[3].c_str());
  const size_t count = size_t(*dims * k);
  const void *x, *w;
  if (words[0] == "matmul") {
    Floats rows(count);
    rows.fill(1);
    x = rows.data, w = panels(k, n, 2, 1).data;
  } else {
    x = roundedRows(count, 1), w = pairs(k, n, 2);
  }
  Floats y(size_t(*dims * n));
  auto *run = find<int32_t (*)(const rapt_env *, const void *, const void *, float *, const int64_t *, void *)>(name);
  void *scratch = scratchOf(name, dims);
  return {[=] { run(&environment, x, w, y.data, dims, scratch); }, y.data, y.count};
}

/// The entries and the weights of the matmuls of a library in 8 or 4 bits, called as the runtime calls them: rapt_run
/// would hand them over a few rows at a time.
static const rapt_artifact &quantizedMatmuls(const std::string &name) {
  static std::map<std::string, const rapt_artifact *> opened;
  const rapt_artifact *&found = opened[name];
  if (found)
    return *found;
  void *library = dlopen((folder + "/" + name + ".so").c_str(), RTLD_NOW);
  found = library ? static_cast<const rapt_artifact *>(dlsym(library, (name + "_module").c_str())) : nullptr;
  if (!found)
    fprintf(stderr, "rapt: %s\n", dlerror()), exit(1);
  return *found;
}

// quantized_matmul N K M, w4_matmul N K M: rows in f32 from 0 to 1, which the entry rounds, weights in 8 or 4 bits
static Case quantizedMatmul(const Words &words) {
  const rapt_artifact &module = quantizedMatmuls(words[0] == "w4_matmul" ? "matmuls4" : "matmuls");
  const std::string name = "matmul_" + words[1] + "_" + words[2];
  const int64_t n = atol(words[1].c_str()), k = atol(words[2].c_str());
  const rapt_artifact_entry *end = module.entries + module.entry_count;
  auto *entry = std::find_if(module.entries, end, [&](const rapt_artifact_entry &e) { return e.name == name; });
  if (entry == end)
    fprintf(stderr, "rapt: no entry %s\n", name.c_str()), exit(1);
  auto *dims = new int64_t[1]{atol(words[3].c_str())};
  Floats x(size_t(*dims * k)), y(size_t(*dims * n));
  x.fillShares(1);
  const char *file = static_cast<const char *>(module.weights);
  const uint64_t offset = reinterpret_cast<const rapt_weights_header *>(file)->sections[0].offset;
  auto *buffers =
      new void *[4]{const_cast<char *>(file + offset),
                    aligned_alloc(64, size_t(entry->workspace(dims, environment.workers) + 64)), x.data, y.data};
  return {[=] { entry->run(&environment, buffers, dims); }, y.data, y.count};
}

// attention dense|causal LENGTH SIZE, bf16_attention ...: 12 heads, queries, keys and values as [length, heads,
// channels]
static Case attention(const Words &words) {
  const std::string name = words[0] + "_" + words[1] + "_" + words[3];
  const int64_t length = atol(words[2].c_str());
  auto *dims = new int64_t[2]{length, 1};
  auto *rows = new int32_t[2]{0, int32_t(length)};
  Floats q(size_t(length * 12 * atol(words[3].c_str()))), k(q.count), v(q.count), y(q.count);
  q.fill(1), k.fill(2), v.fill(3);
  auto *run = find<int32_t (*)(const rapt_env *, const float *, const float *, const float *, const int32_t *, float *,
                               const int64_t *, void *)>(name);
  void *scratch = scratchOf(name, dims);
  return {[=] { run(&environment, q.data, k.data, v.data, rows, y.data, dims, scratch); }, y.data, y.count};
}

// lstm SEQUENCES LENGTH: 512 channels, 512 units
static Case lstm(const Words &words) {
  const int64_t sequences = atol(words[1].c_str()), length = atol(words[2].c_str());
  auto *dims = new int64_t[2]{sequences * length, sequences};
  auto *begin = new int32_t[size_t(sequences + 1)];
  for (int64_t row = 0; row <= sequences; ++row)
    begin[row] = int32_t(row * length);
  Floats x(size_t(*dims * 512)), y(x.count), v = panels(512, 2048, 2, 1.0f / 16), w = panels(512, 2048, 3, 1.0f / 16);
  x.fill(1);
  auto *run = find<int32_t (*)(const rapt_env *, const float *, const float *, const float *, const int32_t *, float *,
                               const int64_t *, void *)>("lstm");
  void *scratch = scratchOf("lstm", dims);
  return {[=] { run(&environment, x.data, v.data, w.data, begin, y.data, dims, scratch); }, y.data, y.count};
}

static rapt_context *open(const std::string &model, int64_t cacheTokens) {
  rapt_module *module;
  rapt_context *context;
  rapt_context_options options = {sizeof options};
  options.pool = pool, options.cache_tokens = cacheTokens;
  check(rapt_module_open((folder + "/" + model + ".so").c_str(), nullptr, &module, why, sizeof why));
  check(rapt_context_new(module, &options, &context, why, sizeof why));
  return context;
}

static void describe(rapt_tensor &t, void *data, std::vector<int64_t> &shape, int code, int bits) {
  t = {sizeof t};
  t.data = data, t.device_type = RAPT_DEVICE_CPU, t.dtype_code = uint8_t(code), t.dtype_bits = uint8_t(bits),
  t.dtype_lanes = 1;
  t.rank = int32_t(shape.size()), t.shape = shape.data();
}

// texts MODEL VOCABULARY LEAST MOST COUNT: sentence embeddings of texts of mixed lengths, all at once
static Case texts(const Words &words) {
  rapt_context *context = open(words[1], 0);
  const int64_t vocabulary = atol(words[2].c_str()), least = atol(words[3].c_str()), most = atol(words[4].c_str()),
                count = atol(words[5].c_str());
  auto *ids = new std::vector<int64_t>(size_t(count * most)), *mask = new std::vector<int64_t>(ids->size());
  for (int64_t text = 0; text < count; ++text)
    for (int64_t i = 0; i < textLength(text, least, most, count); ++i) {
      (*ids)[size_t(text * most + i)] = token(uint64_t(text * 512 + i), vocabulary);
      (*mask)[size_t(text * most + i)] = 1;
    }
  static const char *const names[] = {"input_ids", "attention_mask", "sentence_embedding"};
  auto *shapes = new std::vector<int64_t>[2]{{count, most}, std::vector<int64_t>(9)};
  auto *tensors = new rapt_tensor[3];
  describe(tensors[0], ids->data(), shapes[0], RAPT_DTYPE_INT, 64);
  describe(tensors[1], mask->data(), shapes[0], RAPT_DTYPE_INT, 64);
  int32_t rank;
  check(rapt_run_shape(context, "forward", 2, names, tensors, names[2], shapes[1].data(), &rank, why, sizeof why));
  shapes[1].resize(size_t(rank));
  Floats output(size_t(count * shapes[1].back()));
  describe(tensors[2], output.data, shapes[1], RAPT_DTYPE_FLOAT, 32);
  return {[=] { check(rapt_run(context, "forward", 3, names, tensors, why, sizeof why)); }, output.data, output.count};
}

// sound MODEL CHANNELS FRAMES POSITIONS HIDDEN: encode log-mel features; the output is the encoder's
static Case sound(const Words &words) {
  const size_t count = size_t(atol(words[2].c_str()) * atol(words[3].c_str()));
  rapt_context *context = open(words[1], 2 * atol(words[4].c_str()));
  Floats features(count), hidden(size_t(atol(words[4].c_str()) * atol(words[5].c_str())));
  features.fill(1);
  return {[=] {
            rapt_source source = {sizeof source};
            source.features = features.data, source.feature_bytes = count * sizeof(float);
            source.hidden = hidden.data, source.hidden_bytes = hidden.count * sizeof(float);
            check(rapt_sequence_new(context, &source.sequence, why, sizeof why));
            check(rapt_encode(context, &source, 1, why, sizeof why));
            check(rapt_sequence_free(context, source.sequence, why, sizeof why));
          },
          hidden.data, hidden.count};
}

// forward MODEL INPUT OUTPUT VOCABULARY EXTENT...: an entry with one input; vocabulary 0: numbers
static Case forward(const Words &words) {
  rapt_context *context = open(words[1], 0);
  auto *shapes = new std::vector<int64_t>[2];
  size_t count = 1;
  for (size_t i = 5; i < words.size(); ++i)
    shapes[0].push_back(atol(words[i].c_str())), count *= size_t(shapes[0].back());
  const int64_t vocabulary = atol(words[4].c_str());
  auto *tokens = new std::vector<int64_t>(vocabulary ? count : 0);
  Floats pixels(vocabulary ? 1 : count);
  pixels.fill(1);
  for (size_t i = 0; i < tokens->size(); ++i)
    (*tokens)[i] = token(i, vocabulary);
  auto *names = new std::string[2]{words[2], words[3]};
  auto *pointers = new const char *[2]{names[0].c_str(), names[1].c_str()};
  auto *tensors = new rapt_tensor[2];
  if (vocabulary)
    describe(tensors[0], tokens->data(), shapes[0], RAPT_DTYPE_INT, 64);
  else
    describe(tensors[0], pixels.data, shapes[0], RAPT_DTYPE_FLOAT, 32);
  int64_t shape[9];
  int32_t rank;
  check(rapt_run_shape(context, "forward", 1, pointers, tensors, pointers[1], shape, &rank, why, sizeof why));
  shapes[1].assign(shape, shape + rank);
  size_t outputs = 1;
  for (int64_t extent : shapes[1])
    outputs *= size_t(extent);
  Floats output(outputs);
  describe(tensors[1], output.data, shapes[1], RAPT_DTYPE_FLOAT, 32);
  return {[=] { check(rapt_run(context, "forward", 2, pointers, tensors, why, sizeof why)); }, output.data, outputs};
}

// translate MODEL VOCABULARY COUNT: encode a source and run one step of the decoder
static Case translate(const Words &words) {
  const int64_t vocabulary = atol(words[2].c_str()), count = atol(words[3].c_str());
  rapt_context *context = open(words[1], 2 * (count + 64));
  auto *tokens = new std::vector<int32_t>;
  for (int64_t i = 0; i < count; ++i)
    tokens->push_back(int32_t(token(uint64_t(i), vocabulary)));
  Floats logits{size_t(vocabulary)};
  return {[=] {
            static const int32_t start = 0;
            rapt_source source = {sizeof source};
            source.tokens = tokens->data(), source.count = count;
            check(rapt_sequence_new(context, &source.sequence, why, sizeof why));
            check(rapt_encode(context, &source, 1, why, sizeof why));
            rapt_chunk chunk = {sizeof chunk};
            chunk.sequence = source.sequence, chunk.tokens = &start, chunk.count = 1, chunk.want = RAPT_LOGITS_LAST;
            chunk.output = logits.data, chunk.output_bytes = logits.count * sizeof(float);
            check(rapt_step(context, &chunk, 1, why, sizeof why));
            check(rapt_sequence_free(context, source.sequence, why, sizeof why));
          },
          logits.data, logits.count};
}

/// The rate of reading memory that was just read, as far as caches hold it: the median of several measurements, of
/// which the first is cold.
static float readRate(rapt::bench::Limits &limits, size_t bytes) {
  double rates[5];
  for (double &rate : rates)
    rate = limits.measureRead(bytes);
  std::sort(rates, rates + 5);
  return float(rates[2]);
}

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5)
    return 2;
  folder = argv[2];
#if defined(__x86_64__)
  syscall(SYS_arch_prctl, 0x1023, 18); // of instructions on tiles, ARCH_REQ_XCOMP_PERM; refused where there are none
#endif
  check(rapt_pool_new(atoi(argv[3]), &pool, why, sizeof why));
  executor = rapt_pool_executor(pool);
  environment.workers = atoi(argv[3]);
  kernels = dlopen(argv[1], RTLD_NOW);
  if (!kernels)
    return fprintf(stderr, "rapt: %s\n", dlerror()), 1;
  std::vector<std::string> features;
  std::istringstream given(argc == 5 ? argv[4] : "");
  for (std::string feature; std::getline(given, feature, ',');)
    features.push_back(feature);
  static rapt::bench::Limits limits(pool, std::move(features));
  return serve(std::string("weights in panels, ") + argv[3] + " threads", [](const Words &words) -> Case {
    if (words[0] == "matmul" || words[0] == "bf16_matmul")
      return matmul(words);
    if (words[0] == "quantized_matmul" || words[0] == "w4_matmul")
      return quantizedMatmul(words);
    if (words[0] == "attention" || words[0] == "bf16_attention")
      return attention(words);
    if (words[0] == "lstm")
      return lstm(words);
    if (words[0] == "forward")
      return forward(words);
    if (words[0] == "texts")
      return texts(words);
    if (words[0] == "sound")
      return sound(words);
    if (words[0] == "translate")
      return translate(words);
    auto *rate = new float; // operations or bytes of a second, as the output of "rate DTYPE" and "read BYTES"
    if (words[0] == "read")
      return {[=] { *rate = readRate(limits, size_t(atoll(words[1].c_str()))); }, rate, 1};
    return {[=] {
              limits.measureRate(words[1]); // until all threads are awake
              *rate = float(limits.measureRate(words[1]));
            },
            rate, 1};
  });
}
