/* peers_llama MODEL.gguf THREADS BACKENDS FLASH: llama.cpp's side of test/Perf/compare. BACKENDS is the folder of its
 * libggml-cpu variants, of which it takes the best for the machine; FLASH its attention: 0, 1 or -1 for its own choice.
 */
#include "peers_worker.h"
#include <ggml-backend.h>
#include <llama.h>

static struct llama_context *context;

static void forget(int length) { llama_memory_seq_rm(llama_get_memory(context), 0, length, -1); }

static const float *feed(int position, int count) {
  static struct llama_batch batch;
  if (!batch.token)
    batch = llama_batch_init(PROMPT, 0, 1);
  batch.n_tokens = count;
  for (int i = 0; i < count; ++i) {
    batch.token[i] = token(position + i);
    batch.pos[i] = position + i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = i == count - 1;
  }
  if (llama_decode(context, batch))
    fputs("llama_decode failed\n", stderr), exit(1);
  return llama_get_logits_ith(context, -1);
}

/* Only warnings and errors; the package's own list of what the machine has goes to the table. */
static void quiet(enum ggml_log_level level, const char *text, void *user) {
  (void)user;
  if (level == GGML_LOG_LEVEL_ERROR)
    fputs(text, stderr);
}

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  llama_log_set(quiet, NULL);
  ggml_backend_load_all_from_path(argv[3]);
  llama_backend_init();
  struct llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (!model)
    return fprintf(stderr, "llama.cpp does not read %s\n", argv[1]), 1;
  struct llama_context_params options = llama_context_default_params();
  options.n_ctx = CAPACITY, options.n_batch = options.n_ubatch = PROMPT;
  options.n_threads = options.n_threads_batch = atoi(argv[2]);
  options.type_k = options.type_v = GGML_TYPE_F32;
  options.flash_attn_type = (enum llama_flash_attn_type)atoi(argv[4]);
  if (!(context = llama_init_from_model(model, options)))
    return fputs("llama.cpp makes no context\n", stderr), 1;
  char name[96];
  snprintf(name, sizeof name, "cache f32, capacity %u, flash attention %s", llama_n_ctx(context),
           llama_flash_attn_type_name(options.flash_attn_type));
  return serve(name);
}
