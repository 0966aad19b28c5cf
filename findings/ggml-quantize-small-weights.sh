#!/bin/sh
# ggml: small weights become zeros in Q6_K and IQ4_XS and worse than zeros in Q4_K and Q5_K, while the plainer Q4_0 keeps them.
#
# A block of a quantized tensor in a GGUF file holds small integers and a scale, so that its error is a fraction of its largest weight. A good
# engineer would guess that the size of the weights does not matter: a matrix times 2^-16 behind a norm times 2^16 is the same model and should lose
# as much, and in Q6_K less than in Q4_0. But in these types the f16 of a block of 256 is multiplied by another integer for each group, so it is a
# smaller part of the largest weight (about 1/4096 in Q6_K) and soon lies below 6e-8, the least positive number of f16. In IQ4_XS weights of
# deviation 6e-5 lose two fifths and those of 1.5e-5 everything, although f16 itself holds such numbers to a percent. Q4_0's f16 is an eighth of the
# largest weight and lasts longer; MXFP4 scales by powers of two and is the same at every size. No function complains: ggml's own check, which
# llama.cpp's quantizer makes of every row that it writes, finds the data valid.
#
# Linux on amd64; needs cc, git, node, npm and network. Prints the version, the guess and what happens; fails where that is no longer so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1
git -c advice.detachedHead=false clone -q node_modules/node-llama-cpp/llama/gitRelease.bundle source
binaries=$work/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64
cat >errors.c <<'END'
#include "ggml.h"
#include <math.h>
#include <stdio.h>

enum { ROWS = 64, WIDTH = 1024, COUNT = ROWS * WIDTH };
static float normal[COUNT], weights[COUNT], back[COUNT];
static char blocks[2 * COUNT];

// The error of quantized weights in percent: the root of the mean square of what is lost, of what there was.
static double error(enum ggml_type type, int exponent) {
  for (int i = 0; i < COUNT; ++i)
    weights[i] = ldexpf(normal[i], exponent);
  const size_t size = ggml_quantize_chunk(type, weights, blocks, 0, ROWS, WIDTH, NULL);
  if (size != ROWS * ggml_row_size(type, WIDTH) || !ggml_validate_row_data(type, blocks, size))
    return NAN;
  ggml_get_type_traits(type)->to_float(blocks, back, COUNT);
  double lost = 0, all = 0;
  for (int i = 0; i < COUNT; ++i) {
    lost += pow((double)back[i] - weights[i], 2);
    all += pow(weights[i], 2);
  }
  return 100 * sqrt(lost / all);
}

int main(void) {
  const enum ggml_type types[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_XS, GGML_TYPE_MXFP4};
  unsigned state = 1;
  for (int i = 0; i < COUNT; ++i) { // about normal, of deviation 1
    normal[i] = -6;
    for (int j = 0; j < 12; ++j)
      normal[i] += (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 24);
  }
  for (unsigned i = 0; i < sizeof(types) / sizeof(*types); ++i)
    printf("%s %.0f %.0f %.0f %.0f\n", ggml_type_name(types[i]), error(types[i], -6), error(types[i], -14), error(types[i], -16),
           error(types[i], -18));
  return 0;
}
END
cc -std=gnu11 -O1 -Isource/ggml/include errors.c -o errors "$binaries/libggml-base.so" -lm -Wl,-rpath,"$binaries"
echo "node-llama-cpp $(node -p "require('./node_modules/node-llama-cpp/package.json').version")," \
  "llama.cpp $(node -p "require('./node_modules/node-llama-cpp/llama/binariesGithubRelease.json').release")"
echo "guess: each line says the same percent of error four times, for weights of deviation 2^-6, 2^-14, 2^-16 and 2^-18"
seen=$(./errors)
echo "$seen"
[ "$seen" = 'q4_0 8 8 8 9
q4_K 7 8 24 232
q5_K 4 9 6 233
q6_K 2 3 100 100
iq4_xs 8 39 100 100
mxfp4 11 11 11 11' ]
