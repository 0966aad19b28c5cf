//===- Phi3.cpp - The phi3 family ------------------------------------------===//
//
// Abdin et al. 2024, "Phi-3 Technical Report": the llama family's layers, with queries,
// keys and values in one tensor, and gate and up in one.
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
            "is_decoder", // as every model of the family is
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Phi3",
                                          .width = 3072,
                                          .positions = 4096,
                                          .vocabulary = 32064,
                                          .inner = 8192,
                                          .epsilon = 1e-5,
                                          .padding = 32000});
  spec.attention.packing = Packing::Rows;
  spec.attention.packed = "self_attn.qkv_proj";
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.feedForward.packed = "mlp.gate_up_proj";
  source.config.getRaw("original_max_position_embeddings"); // is read where the context is stretched
  readRotary(source, spec, {.isPartial = true});
  readWindowOfAll(source, spec, std::nullopt);
  spec.endToken = 32000;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importPhi3(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
