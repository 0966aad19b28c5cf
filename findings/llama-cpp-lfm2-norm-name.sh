#!/bin/sh
# llama.cpp: in a GGUF file of LFM2 the tensor token_embd_norm is the norm behind the last layer, not one of embeddings.
#
# The names of tensors in a GGUF file say where they belong: output_norm stands ahead of the head in nearly every architecture, and token_embd_norm
# (of bloom and bert, say) behind the look-up of tokens. A good engineer would guess that a file of LFM2 that has token_embd_norm and no output_norm
# norms its embeddings and has no norm at the end. The tensor was called embedding_norm in the checkpoint, a name as misleading, was put under the
# nearest name of the list, and the name stayed as files had it by then. Its weights times two give logits times two, to the last bit: a norm of
# embeddings would have given logits that the next norm makes nearly the same. A file with the name output_norm instead is not loaded.
#
# Linux on amd64; needs cc, git, node, npm and network. Prints the version, the guess and what happens; fails where that is no longer so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1
git -c advice.detachedHead=false clone -q node_modules/node-llama-cpp/llama/gitRelease.bundle source
binaries=$work/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64
cat >logits.c <<'END'
// logits BINARIES NAME WEIGHT: the logits of 8 tokens by a small random model, whose norm NAME has that weight in all columns.
#include "gguf.h"
#include "llama.h"
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 64, TAPS = 3, TOKENS = 8 };
static struct ggml_context *tensors;
static struct gguf_context *file;

static void silent(enum ggml_log_level level, const char *text, void *data) { (void)level, (void)text, (void)data; }

static void add(const char *name, int columns, int rows, float weight) {
  static unsigned state = 1;
  struct ggml_tensor *tensor = rows ? ggml_new_tensor_2d(tensors, GGML_TYPE_F32, columns, rows) : ggml_new_tensor_1d(tensors, GGML_TYPE_F32, columns);
  for (int i = 0; i < ggml_nelements(tensor); ++i)
    ((float *)tensor->data)[i] = rows ? (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 25) - 0.25f : weight;
  gguf_add_tensor(file, ggml_set_name(tensor, name));
}

static void add_of_layer(int layer, const char *part, int columns, int rows) {
  char name[64];
  snprintf(name, sizeof(name), "blk.%d.%s.weight", layer, part);
  add(name, columns, rows, 1);
}

static void write_model(const char *norm, float weight) {
  tensors = ggml_init((struct ggml_init_params){1 << 22, NULL, false});
  file = gguf_init_empty();
  gguf_set_val_str(file, "general.architecture", "lfm2");
  gguf_set_val_str(file, "tokenizer.ggml.model", "none");
  const struct { const char *key; unsigned value; } sizes[] = {{"lfm2.vocab_size", WIDTH}, {"lfm2.context_length", 64}, {"lfm2.embedding_length", WIDTH},
      {"lfm2.block_count", 2}, {"lfm2.feed_forward_length", WIDTH}, {"lfm2.attention.head_count", 1}, {"lfm2.shortconv.l_cache", TAPS}};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i)
    gguf_set_val_u32(file, sizes[i].key, sizes[i].value);
  gguf_set_arr_data(file, "lfm2.attention.head_count_kv", GGUF_TYPE_INT32, (const int[]){0, 1}, 2);
  gguf_set_val_f32(file, "lfm2.attention.layer_norm_rms_epsilon", 1e-5f);
  add("token_embd.weight", WIDTH, WIDTH, 1);
  char name[64];
  snprintf(name, sizeof(name), "%s.weight", norm);
  add(name, WIDTH, 0, weight);
  for (int layer = 0; layer < 2; ++layer) {
    for (const char **part = (const char *[]){"attn_norm", "ffn_norm", NULL}; *part; ++part)
      add_of_layer(layer, *part, WIDTH, 0);
    for (const char **part = (const char *[]){"ffn_gate", "ffn_up", "ffn_down", NULL}; *part; ++part)
      add_of_layer(layer, *part, WIDTH, WIDTH);
  }
  add_of_layer(0, "shortconv.in_proj", WIDTH, 3 * WIDTH);
  add_of_layer(0, "shortconv.conv", TAPS, WIDTH);
  add_of_layer(0, "shortconv.out_proj", WIDTH, WIDTH);
  for (const char **part = (const char *[]){"attn_q", "attn_k", "attn_v", "attn_output", NULL}; *part; ++part)
    add_of_layer(1, *part, WIDTH, WIDTH);
  add_of_layer(1, "attn_q_norm", WIDTH, 0);
  add_of_layer(1, "attn_k_norm", WIDTH, 0);
  if (!gguf_write_to_file(file, "model.gguf", false))
    exit(1);
}

int main(int count, char **arguments) {
  (void)count;
  write_model(arguments[2], strtof(arguments[3], NULL));
  llama_log_set(silent, NULL);
  ggml_backend_load_all_from_path(arguments[1]);
  struct llama_model *model = llama_model_load_from_file("model.gguf", llama_model_default_params());
  if (!model)
    return 2;
  struct llama_context *context = llama_init_from_model(model, llama_context_default_params());
  struct llama_batch batch = llama_batch_init(TOKENS, 0, 1);
  batch.n_tokens = TOKENS;
  for (int i = 0; i < TOKENS; ++i) {
    batch.token[i] = batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  if (!context || llama_decode(context, batch))
    return 1;
  for (int i = 0; i < TOKENS; ++i)
    for (int j = 0; j < WIDTH; ++j)
      printf("%a\n", llama_get_logits_ith(context, i)[j] / strtof(arguments[3], NULL));
  return 0;
}
END
cc -std=gnu11 -O1 -Isource/include -Isource/ggml/include logits.c -o logits "$binaries"/libllama.v*.so "$binaries"/libggml.v*.so \
  "$binaries/libggml-base.so" -Wl,-rpath,"$binaries"
echo "node-llama-cpp $(node -p "require('./node_modules/node-llama-cpp/package.json').version")," \
  "llama.cpp $(node -p "require('./node_modules/node-llama-cpp/llama/binariesGithubRelease.json').release")"
echo "guess: token_embd_norm is a norm of embeddings: its weights times two do not double the logits, and output_norm may stand beside the head"
seen=$(
  ./logits "$binaries" token_embd_norm 1 >once
  ./logits "$binaries" token_embd_norm 2 >twice
  if cmp -s once twice; then echo "token_embd_norm times two: logits times two, bit for bit"; else echo "token_embd_norm times two: other logits"; fi
  if ./logits "$binaries" output_norm 1 >other; then echo "output_norm in its place: loaded"; else echo "output_norm in its place: not loaded"; fi)
echo "$seen"
[ "$seen" = 'token_embd_norm times two: logits times two, bit for bit
output_norm in its place: not loaded' ]
