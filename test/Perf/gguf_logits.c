// What llama.cpp makes of a text, in f32: gguf_logits FOLDER-OF-BACKENDS FILE logits|states|text COLUMNS ID... prints
// [ids, columns] floats, logits or states of every token, or [1, columns], the text's vector or classes. A model with
// an encoder and a decoder reads the text with both.
#include "llama.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void report(enum ggml_log_level level, const char *text, void *unused) {
  (void)unused;
  if (level == GGML_LOG_LEVEL_ERROR)
    fputs(text, stderr);
}

int main(int argc, char **argv) {
  llama_log_set(report, NULL);
  ggml_backend_load_all_from_path(argv[1]);
  struct llama_model *model = llama_model_load_from_file(argv[2], llama_model_default_params());
  if (!model)
    return 1;
  const int columns = atoi(argv[4]), count = argc - 5;
  const int givesLogits = !strcmp(argv[3], "logits"), givesText = !strcmp(argv[3], "text");
  struct llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = 64;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.embeddings = !givesLogits;
  if (!givesText)
    params.pooling_type = LLAMA_POOLING_TYPE_NONE;
  struct llama_context *context = llama_init_from_model(model, params);
  if (!context)
    return 1;
  struct llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (int i = 0; i < count; ++i) {
    batch.token[i] = atoi(argv[5 + i]);
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  if (llama_model_has_encoder(model) && llama_model_has_decoder(model) && llama_encode(context, batch))
    return 1;
  if (llama_decode(context, batch))
    return 1;
  if (givesText)
    fwrite(llama_get_embeddings_seq(context, 0), sizeof(float), columns, stdout);
  for (int i = 0; i < count && !givesText; ++i)
    fwrite(givesLogits ? llama_get_logits_ith(context, i) : llama_get_embeddings_ith(context, i), sizeof(float),
           columns, stdout);
  return 0;
}
