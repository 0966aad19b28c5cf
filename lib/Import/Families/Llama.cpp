//===- Llama.cpp - The llama family -------------------------------------------===//
//
// Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models", as
// Hugging Face's LlamaForCausalLM computes it: pre-norm layers with RMS norm, rotary
// embedding by halves of a head, grouped queries, a gated feed-forward.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Llama.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

const std::vector<std::string_view> importing::llamaKeys = {
    "attention_dropout",
    "dual_chunk_attention_config", // of another engine
    "is_decoder",                  // as every model of these families is
    "is_llama_config",             // of checkpoints that nanotron trained
    "max_sequence_length",         // of the first conversions, never read
    "pretraining_tp",              // how the original's matmuls were split; the sums are the same
};

DecoderSpec importing::readLlama(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Llama", .inner = 11008});
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = source.config.getBool("mlp_bias", false);
  readRotary(source, spec);
  refuseWindows(source, spec);
  spec.endToken = 2;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importLlama(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  const DecoderFamily family = {.harmlessKeys = llamaKeys, .ignoredTensors = {"*rotary_emb.inv_freq"}};
  return importDecoder(context, model, options, family, readLlama);
}
