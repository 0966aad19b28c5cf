//===- GPTJ.cpp - The gptj family ------------------------------------------===//
//
// Wang and Komatsuzaki 2021, "GPT-J-6B": attention and feed-forward of one layer norm
// side by side, and rotation of neighboring channels of a part of each head.
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
            "is_decoder",         // as every model of the family is
            "n_ctx",              // an old name of n_positions, never read
            "rotary",             // as every gptj is
            "scale_attn_weights", // never read
            "tokenizer_class",
            "gradient_checkpointing",
        },
    .ignoredTensors = {"*.attn.bias", "*.attn.masked_bias"},
};

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GPTJ",
                                          .keys = gpt2Keys(),
                                          .width = 4096,
                                          .layers = 28,
                                          .heads = 16,
                                          .vocabulary = 50400,
                                          .activation = "gelu_new",
                                          .epsilon = 1e-5});
  setGPT2Parts(spec);
  spec.prefixes = {"transformer.", ""};
  spec.embedding.positions = "";
  AttentionSpec &attention = spec.attention;
  attention.packing = Packing::None;
  attention.parts = {"attn.q_proj", "attn.k_proj", "attn.v_proj"};
  attention.out = "attn.out_proj";
  attention.hasBias = attention.hasOutBias = false;
  attention.isInterleaved = true;
  const int64_t most = std::max<int64_t>(2, attention.headDim);
  const int64_t rotated = config.getInt("rotary_dim", 2, most, std::min<int64_t>(64, most));
  if (rotated > attention.headDim || rotated % 2 != 0)
    config.fail("rotary_dim " + std::to_string(rotated) + " must be even, and at most the " +
                std::to_string(attention.headDim) + " channels of a head");
  attention.rotary.push_back(plainRotary(10000, rotated / 2 * 2));
  setPlainFeedForward(spec, "mlp.fc_in", "mlp.fc_out");
  spec.residual = {.scheme = ResidualSpec::Parallel, .beforeAttention = "ln_1", .beforeFeedForward = ""};
  spec.head.hasBias = true;
  spec.endToken = 50256;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importGPTJ(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
