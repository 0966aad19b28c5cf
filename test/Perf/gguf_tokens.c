// Gives llama.cpp's ids of texts: gguf_tokens FILE TEXTS, where lines "__ggml_vocab_test__" separate the texts. For
// each text a line of ids without special tokens, and one with.
#include "llama.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20, MOST_IDS = 1 << 17 };
static const char *separator = "\n__ggml_vocab_test__\n";
static char texts[MOST_BYTES];
static llama_token ids[MOST_IDS];

static void saysNothing(enum ggml_log_level level, const char *text, void *data) {
  (void)level, (void)text, (void)data;
}

int main(int argc, char **argv) {
  FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
  if (!file || fread(texts, 1, MOST_BYTES - 1, file) == 0)
    return 1;
  llama_log_set(saysNothing, NULL);
  llama_backend_init();
  struct llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  struct llama_model *model = llama_model_load_from_file(argv[1], params);
  if (!model)
    return 1;
  const struct llama_vocab *vocabulary = llama_model_get_vocab(model);
  for (char *text = texts; text;) {
    char *end = strstr(text, separator);
    const size_t length = end ? (size_t)(end - text) : strlen(text);
    for (int special = 0; special < 2; ++special) {
      const int count = llama_tokenize(vocabulary, text, (int)length, ids, MOST_IDS, special, false);
      for (int i = 0; i < count; ++i)
        printf("%d ", ids[i]);
      printf("\n");
    }
    text = end ? end + strlen(separator) : NULL;
  }
  return 0;
}
