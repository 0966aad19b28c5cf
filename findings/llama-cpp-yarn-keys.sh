#!/bin/sh
# llama.cpp: YaRN's keys, which its converter writes into the GGUF files of all families, change nothing in a llama; in a mistral3 some do.
#
# YaRN stretches the positions of a model by settings of the checkpoint's config: factor, beta_fast, beta_slow, attention_factor. The converter
# writes a key for each, in code that all families share. A good engineer would guess that the loader reads what the converter writes, and that a
# reader of the same keys gets the same logits: the type, the factor and the original length beside them do count. But the loader leaves the betas
# to each architecture, and of more than a hundred only grok and mistral3 look. A llama has the same logits to the last bit whatever they say, and no
# message tells of an unused key. What attention is multiplied by is computed from the factor, whatever yarn_attn_factor says; attn_factor, without
# yarn_, is another key and does multiply it. So where these settings are not the usual ones, whoever honors the file differs from llama.cpp, and
# llama.cpp differs from the checkpoint.
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
// logits BINARIES ARCHITECTURE KEY VALUE: the logits of 16 tokens by a small random model under YaRN with one more key, in f32.
#include "gguf.h"
#include "llama.h"
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 64, TOKENS = 16 };
static struct ggml_context *tensors;
static struct gguf_context *file;
static const char *architecture;

static void silent(enum ggml_log_level level, const char *text, void *data) { (void)level, (void)text, (void)data; }

static const char *full(const char *key) {
  static char name[128];
  snprintf(name, sizeof(name), "%s.%s", architecture, key);
  return name;
}

static void add(const char *name, int rows) {
  static unsigned state = 1;
  struct ggml_tensor *tensor = rows ? ggml_new_tensor_2d(tensors, GGML_TYPE_F32, WIDTH, rows) : ggml_new_tensor_1d(tensors, GGML_TYPE_F32, WIDTH);
  for (int i = 0; i < ggml_nelements(tensor); ++i)
    ((float *)tensor->data)[i] = rows ? (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 25) - 0.25f : 1;
  gguf_add_tensor(file, ggml_set_name(tensor, name));
}

static void write_model(const char *key, float value) {
  tensors = ggml_init((struct ggml_init_params){1 << 22, NULL, false});
  file = gguf_init_empty();
  gguf_set_val_str(file, "general.architecture", architecture);
  gguf_set_val_str(file, "tokenizer.ggml.model", "none");
  const struct { const char *key; unsigned value; } sizes[] = {{"vocab_size", WIDTH}, {"context_length", 2048}, {"embedding_length", WIDTH},
      {"block_count", 1}, {"feed_forward_length", WIDTH}, {"attention.head_count", 1}, {"rope.scaling.original_context_length", 512}};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); ++i)
    gguf_set_val_u32(file, full(sizes[i].key), sizes[i].value);
  gguf_set_val_f32(file, full("attention.layer_norm_rms_epsilon"), 1e-5f);
  gguf_set_val_str(file, full("rope.scaling.type"), "yarn");
  gguf_set_val_f32(file, full("rope.scaling.factor"), 4);
  gguf_set_val_f32(file, full(key), value);
  const char *matrices[] = {"token_embd.weight", "output.weight", "blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight",
      "blk.0.attn_output.weight", "blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight"};
  for (size_t i = 0; i < sizeof(matrices) / sizeof(*matrices); ++i)
    add(matrices[i], WIDTH);
  add("output_norm.weight", 0);
  add("blk.0.attn_norm.weight", 0);
  add("blk.0.ffn_norm.weight", 0);
  if (!gguf_write_to_file(file, "model.gguf", false))
    exit(1);
}

int main(int count, char **arguments) {
  (void)count;
  architecture = arguments[2];
  write_model(arguments[3], strtof(arguments[4], NULL));
  llama_log_set(silent, NULL);
  ggml_backend_load_all_from_path(arguments[1]);
  struct llama_model *model = llama_model_load_from_file("model.gguf", llama_model_default_params());
  struct llama_context *context = model ? llama_init_from_model(model, llama_context_default_params()) : NULL;
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
    fwrite(llama_get_logits_ith(context, i), sizeof(float), WIDTH, stdout);
  return 0;
}
END
cc -std=gnu11 -O1 -Isource/include -Isource/ggml/include logits.c -o logits "$binaries"/libllama.v*.so "$binaries"/libggml.v*.so \
  "$binaries/libggml-base.so" -Wl,-rpath,"$binaries"
echo "node-llama-cpp $(node -p "require('./node_modules/node-llama-cpp/package.json').version")," \
  "llama.cpp $(node -p "require('./node_modules/node-llama-cpp/llama/binariesGithubRelease.json').release")"

# effect ARCHITECTURE KEY USUAL OTHER: whether another value of a key changes the logits.
effect() {
  ./logits "$binaries" "$1" "rope.scaling.$2" "$3" >usual
  ./logits "$binaries" "$1" "rope.scaling.$2" "$4" >other
  if cmp -s usual other; then echo "$1, $2 $4 for $3: the same bits"; else echo "$1, $2 $4 for $3: other logits"; fi
}
for key in yarn_beta_fast yarn_beta_slow yarn_attn_factor; do grep -q "add_rope_scaling_$key(" source/conversion/base.py; done
echo "guess: other logits everywhere"
seen=$(
  effect llama factor 4 8
  effect llama yarn_beta_fast 32 8
  effect llama yarn_beta_slow 1 4
  effect llama yarn_attn_factor 1 2
  effect llama attn_factor 1 2
  effect mistral3 yarn_beta_fast 32 8
  effect mistral3 yarn_attn_factor 1 2
  echo "yarn_beta_fast is read by $(cd source/src/models && grep -l LLM_KV_ROPE_SCALING_YARN_BETA_FAST ./*.cpp | xargs -n 1 basename -s .cpp | xargs)")
echo "$seen"
[ "$seen" = 'llama, factor 8 for 4: other logits
llama, yarn_beta_fast 8 for 32: the same bits
llama, yarn_beta_slow 4 for 1: the same bits
llama, yarn_attn_factor 2 for 1: the same bits
llama, attn_factor 2 for 1: other logits
mistral3, yarn_beta_fast 8 for 32: other logits
mistral3, yarn_attn_factor 2 for 1: the same bits
yarn_beta_fast is read by grok mistral3' ]
