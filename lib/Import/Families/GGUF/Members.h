//===- Members.h - config.json of each architecture of GGUF files -----*- C++ -*-===//
//
// What a file's keys do not say is a fact of the architecture: activations, which layers have windows, the scale of
// scores. Sources: llama.cpp's converter and loader, and the families' own readers.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Families/GGUF/Translation.h"

namespace rapt::importing {

void describeBert(Translation &t);
void describeBloom(Translation &t);
void describeCohere2(Translation &t);
void describeCohere(Translation &t);
void describeDeepSeek2(Translation &t);
void describeDistilBert(Translation &t);
void describeFalcon(Translation &t);
void describeGemma(Translation &t);
void describeGemma2(Translation &t);
void describeGemma3(Translation &t);
void describeGemma4(Translation &t);
void describeGemmaEmbedding(Translation &t);
void describeGlm4(Translation &t);
void describeGPT2(Translation &t);
void describeGptOss(Translation &t);
void describeGPTNeoX(Translation &t);
void describeGranite(Translation &t);
void describeGraniteHybrid(Translation &t);
void describeGraniteMoe(Translation &t);
void describeLFM2(Translation &t);
void describeLFM2Moe(Translation &t);
void describeLlama(Translation &t);
void describeMistral3(Translation &t);
void describeModernBert(Translation &t);
void describeMPT(Translation &t);
void describeNemotron(Translation &t);
void describeNomicBert(Translation &t);
void describeOlmo(Translation &t);
void describeOlmo2(Translation &t);
void describeOlmoe(Translation &t);
void describePhi2(Translation &t);
void describePhi3(Translation &t);
void describeQwen2(Translation &t);
void describeQwen2Moe(Translation &t);
void describeQwen3(Translation &t);
void describeQwen3Moe(Translation &t);
void describeQwen35(Translation &t);
void describeQwen35Moe(Translation &t);
void describeQwen3Next(Translation &t);
void describeSmolLM3(Translation &t);
void describeStableLM(Translation &t);
void describeStarcoder(Translation &t);
void describeStarcoder2(Translation &t);
void describeT5(Translation &t);

// Members that several architectures have.

/// The factors of granite: of scores, embedding, residuals and logits.
void setGraniteFactors(Translation &t);

/// Queries have a bias, whether they are in a tensor of their own or with keys and values.
bool hasQueryBias(const Translation &t);
/// attention_bias, of all its matrices or none, and mlp_bias.
void setBiases(Translation &t, bool ofFeedForward);
/// `number`, such as num_experts, num_experts_per_tok, and `inner`, the columns of one.
void setExperts(Translation &t, const char *number, const char *inner, int64_t columns);
/// Experts of the qwen families, whose size older files have as that of all that a token chooses.
void setQwenExperts(Translation &t);
/// layer_types by the layers that attend; `other` is what the others are.
void setAttendingLayers(Translation &t, const char *other);
/// layer_types: all layers but every `period`'th have a window, or those that the file names.
void setWindowedLayers(Translation &t, int64_t period);

} // namespace rapt::importing
