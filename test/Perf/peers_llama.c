/* peers_llama MODEL.gguf THREADS BACKENDS FLASH CACHE: llama.cpp's side of test/Perf/compare. BACKENDS is the folder of
 * its libggml-cpu variants, of which it takes the best for the machine; FLASH its attention: 0, 1 or -1 for its own
 * choice; CACHE the type of keys and values, f32 or f16.
 * peers_llama MODEL.gguf quantize OUT.gguf TYPE: the same model in llama.cpp's file type of that number. */
#include "peers_worker.h"
#include <ggml-backend.h>
#include <llama.h>

static struct llama_context *context;
/* A model with states goes back to the prompt's end by a copy of the sequence, as its states know no earlier length. */
static int has_states;

static void forget(int length) {
  llama_memory_t memory = llama_get_memory(context);
  llama_memory_seq_rm(memory, 0, has_states ? 0 : length, -1);
  if (has_states && length)
    llama_memory_seq_cp(memory, 1, 0, -1, -1);
  else if (has_states)
    llama_memory_seq_rm(memory, 1, -1, -1);
}

static void keep(void) {
  llama_memory_t memory = llama_get_memory(context);
  llama_memory_seq_rm(memory, 1, -1, -1);
  llama_memory_seq_cp(memory, 0, 1, -1, -1);
}

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
  if (has_states && position + count == PROMPT)
    keep();
  return llama_get_logits_ith(context, -1);
}

/* Only warnings and errors; the package's own list of what the machine has goes to the table. */
static void quiet(enum ggml_log_level level, const char *text, void *user) {
  (void)user;
  if (level == GGML_LOG_LEVEL_ERROR)
    fputs(text, stderr);
}

int main(int argc, char **argv) {
  llama_log_set(quiet, NULL);
  if (argc == 5 && !strcmp(argv[2], "quantize")) {
    struct llama_model_quantize_params how = llama_model_quantize_default_params();
    how.ftype = (enum llama_ftype)atoi(argv[4]);
    return (int)llama_model_quantize(argv[1], argv[3], &how);
  }
  if (argc != 6)
    return 2;
  ggml_backend_load_all_from_path(argv[3]);
  llama_backend_init();
  struct llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (!model)
    return fprintf(stderr, "llama.cpp does not read %s\n", argv[1]), 1;
  struct llama_context_params options = llama_context_default_params();
  options.n_ctx = CAPACITY, options.n_batch = options.n_ubatch = PROMPT;
  if ((has_states = llama_model_is_hybrid(model) || llama_model_is_recurrent(model)))
    options.n_seq_max = 2, options.kv_unified = true;
  options.n_threads = options.n_threads_batch = atoi(argv[2]);
  options.type_k = options.type_v = strcmp(argv[5], "f16") ? GGML_TYPE_F32 : GGML_TYPE_F16;
  options.flash_attn_type = (enum llama_flash_attn_type)atoi(argv[4]);
  if (!(context = llama_init_from_model(model, options)))
    return fputs("llama.cpp makes no context\n", stderr), 1;
  vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  char name[96];
  snprintf(name, sizeof name, "cache %s, capacity %u, flash attention %s", argv[5], llama_n_ctx(context),
           llama_flash_attn_type_name(options.flash_attn_type));
  return serve(name);
}
