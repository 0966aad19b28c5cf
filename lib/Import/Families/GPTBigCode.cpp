//===- GPTBigCode.cpp - The gpt_bigcode family -----------------------------===//
//
// Ben Allal et al. 2023, "SantaCoder: don't reach for the stars!": gpt2 with weights as
// torch.nn.Linear has them, where all queries share one key, or none do.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static const DecoderFamily family = {
    .harmlessKeys =
        {
            "attention_dropout",
            "hidden_dropout",
            "resid_pdrop",
            "embd_pdrop",
            "attn_pdrop",
            "summary_type",
            "summary_use_proj",
            "summary_activation",
            "summary_proj_to_labels",
            "summary_first_dropout",
            "is_decoder",          // as every model of the family is
            "num_key_value_heads", // never read
            "attention_softmax_in_fp32",
            "scale_attention_softmax_in_fp32",
            "inference_runner",
            "max_batch_size",
            "max_sequence_length",
            "pad_key_length",
            "pre_allocate_kv_cache",
            "validate_runner_input",
            "tokenizer_class",
            "n_ctx",
            "use_cache",
        },
    .ignoredTensors = {"*.attn.bias", "*.attn.masked_bias"},
};

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GPTBigCode",
                                          .keys = gpt2Keys(),
                                          .width = 768,
                                          .layers = 12,
                                          .heads = 12,
                                          .positions = 1024,
                                          .vocabulary = 50257,
                                          .activation = "gelu_pytorch_tanh",
                                          .epsilon = 1e-5,
                                          .isTied = true});
  setGPT2Parts(spec);
  spec.prefixes = {"transformer.", ""};
  if (!config.getBool("scale_attn_weights", true))
    spec.attention.scale = 1;
  if (config.getBool("multi_query", true)) {
    spec.attention.kvHeads = 1;
  } else {
    spec.attention.packing = Packing::Groups;
    spec.attention.parts = {"attn.query", "attn.key", "attn.value"};
  }
  if (config.getBool("add_cross_attention", false))
    config.fail(
        "add_cross_attention is true: cross-attention to an encoder is not supported by the gpt_bigcode family");
  spec.endToken = 50256;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importGPTBigCode(mlir::MLIRContext &context,
                                                                        huggingface::ModelDescription &model,
                                                                        const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
