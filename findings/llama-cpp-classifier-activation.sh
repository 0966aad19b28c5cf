#!/bin/sh
# llama.cpp: what stands between the two matrices of a classifier is tanh in every file of the architecture bert, also in those of DistilBERT, whose own code
# has ReLU there.
#
# A GGUF file of a classifier has two matrices, cls and cls.output, and no key for what lies between them. A good engineer would guess that a file of DistilBERT
# gives the classes that the model gives in its own library, where negative numbers behind the first matrix count for nothing. The loader knows BERT,
# RoBERTa and DistilBERT as one architecture, whose files differ in whether they have a table of token types, and its graph has RoBERTa's tanh. Here
# both matrices are the identity and the layer adds nothing, so that the "classes" are what the activation makes of the state of the first token: negative
# states come out as negative numbers, and large ones are cut at one.
#
# Linux on amd64; needs cc, git, node, npm and network. Prints the version, the guess and what happens; fails where that is no longer so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1
git -c advice.detachedHead=false clone -q node_modules/node-llama-cpp/llama/gitRelease.bundle source
binaries=$work/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64
cat >classes.c <<'END'
// classes BINARIES: of each column of a text's first state, what the classifier makes of it, and tanh and ReLU of the state.
#include "gguf.h"
#include "llama.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, TOKENS = 4 };
enum Fill { RANDOM, ONES, ZEROS, IDENTITY };
static struct ggml_context *tensors;
static struct gguf_context *file;

static void silent(enum ggml_log_level level, const char *text, void *data) { (void)level, (void)text, (void)data; }

static void add(const char *name, int rows, enum Fill fill) {
  static unsigned state = 1;
  struct ggml_tensor *tensor = rows ? ggml_new_tensor_2d(tensors, GGML_TYPE_F32, WIDTH, rows) : ggml_new_tensor_1d(tensors, GGML_TYPE_F32, WIDTH);
  for (int i = 0; i < ggml_nelements(tensor); ++i) {
    float drawn = (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5f;
    ((float *)tensor->data)[i] = fill == RANDOM ? drawn : fill == ONES ? 1 : fill == ZEROS ? 0 : i % WIDTH == i / WIDTH;
  }
  gguf_add_tensor(file, ggml_set_name(tensor, name));
}

static void add_norm(const char *name) {
  char whole[64];
  snprintf(whole, sizeof(whole), "%s.weight", name);
  add(whole, 0, ONES);
  snprintf(whole, sizeof(whole), "%s.bias", name);
  add(whole, 0, ZEROS);
}

static void write_model(void) {
  tensors = ggml_init((struct ggml_init_params){1 << 22, NULL, false});
  file = gguf_init_empty();
  gguf_set_val_str(file, "general.architecture", "bert");
  gguf_set_val_str(file, "tokenizer.ggml.model", "no_vocab");
  const struct { const char *key; unsigned value; } sizes[] = {{"bert.vocab_size", 8}, {"bert.context_length", 16}, {"bert.embedding_length", WIDTH}, {"bert.block_count", 1},
      {"bert.feed_forward_length", WIDTH}, {"bert.attention.head_count", 1}, {"tokenizer.ggml.token_type_count", 1}};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i)
    gguf_set_val_u32(file, sizes[i].key, sizes[i].value);
  gguf_set_val_f32(file, "bert.attention.layer_norm_epsilon", 1e-12f);
  gguf_set_val_bool(file, "bert.attention.causal", false);
  const char *names[WIDTH];
  for (int i = 0; i < WIDTH; ++i)
    names[i] = "class";
  gguf_set_arr_str(file, "bert.classifier.output_labels", names, WIDTH);
  add("token_embd.weight", 8, RANDOM);
  add("position_embd.weight", 16, ZEROS);
  add_norm("token_embd_norm");
  for (const char **part = (const char *[]){"attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down", NULL}; *part; ++part) {
    char name[64];
    snprintf(name, sizeof(name), "blk.0.%s.weight", *part);
    add(name, WIDTH, ZEROS);
    snprintf(name, sizeof(name), "blk.0.%s.bias", *part);
    add(name, 0, ZEROS);
  }
  add_norm("blk.0.attn_output_norm");
  add_norm("blk.0.layer_output_norm");
  add("cls.weight", WIDTH, IDENTITY);
  add("cls.bias", 0, ZEROS);
  add("cls.output.weight", WIDTH, IDENTITY);
  add("cls.output.bias", 0, ZEROS);
  if (!gguf_write_to_file(file, "model.gguf", false))
    exit(1);
}

static void read_text(struct llama_model *model, enum llama_pooling_type pooling, float *out) {
  struct llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = 16;
  params.embeddings = true;
  params.pooling_type = pooling;
  struct llama_context *context = llama_init_from_model(model, params);
  struct llama_batch batch = llama_batch_init(TOKENS, 0, 1);
  batch.n_tokens = TOKENS;
  for (int i = 0; i < TOKENS; ++i)
    batch.token[i] = i + 1, batch.pos[i] = i, batch.n_seq_id[i] = 1, batch.seq_id[i][0] = 0, batch.logits[i] = 1;
  if (!context || llama_encode(context, batch))
    exit(1);
  memcpy(out, pooling == LLAMA_POOLING_TYPE_NONE ? llama_get_embeddings_ith(context, 0) : llama_get_embeddings_seq(context, 0), WIDTH * sizeof(float));
}

int main(int count, char **arguments) {
  (void)count;
  write_model();
  llama_log_set(silent, NULL);
  ggml_backend_load_all_from_path(arguments[1]);
  struct llama_model *model = llama_model_load_from_file("model.gguf", llama_model_default_params());
  if (!model)
    return 1;
  float state[WIDTH], classes[WIDTH], of_tanh = 0, of_relu = 0;
  read_text(model, LLAMA_POOLING_TYPE_NONE, state);
  read_text(model, LLAMA_POOLING_TYPE_RANK, classes);
  for (int i = 0; i < WIDTH; ++i) {
    of_tanh = fmaxf(of_tanh, fabsf(classes[i] - tanhf(state[i])));
    of_relu = fmaxf(of_relu, fabsf(classes[i] - fmaxf(state[i], 0)));
  }
  printf("from tanh of the state: %.0e; from ReLU of it: %.1f\n", of_tanh, of_relu);
  return !(of_tanh < 1e-5f && of_relu > 0.5f);
}
END
cc -std=gnu11 -O1 -Isource/include -Isource/ggml/include classes.c -o classes "$binaries"/libllama.v*.so "$binaries"/libggml.v*.so \
  "$binaries/libggml-base.so" -Wl,-rpath,"$binaries" -lm
echo "node-llama-cpp $(node -p "require('./node_modules/node-llama-cpp/package.json').version")," \
  "llama.cpp $(node -p "require('./node_modules/node-llama-cpp/llama/binariesGithubRelease.json').release")"
echo "guess: the classifier of a file without token types, which is DistilBERT's, has ReLU between its two matrices, as the model's own code"
echo "seen, the greatest distance of the classes:"
./classes "$binaries"
