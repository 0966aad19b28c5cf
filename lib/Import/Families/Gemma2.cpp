//===- Gemma2.cpp - The gemma2 family --------------------------------------===//
//
// Gemma Team 2024, "Gemma 2: Improving Open Language Models at a Practical Size": gemma
// with norms behind attention and feed-forward, soft caps of scores and logits, and a
// window of every second layer.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/Gemma.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static const DecoderFamily family = {
    .harmlessKeys =
        {
            "attention_dropout",
            "is_decoder", // as every model of the family is
            "cache_implementation",
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readGemma2(source, {.architecture = "Gemma2", .positions = 8192, .vocabulary = 256000});
  spec.attention.softCap = readSoftCap(config, "attn_logit_softcapping", 50);
  spec.head.softCap = readSoftCap(config, "final_logit_softcapping", 30);
  readRotary(source, spec);
  std::vector<bool> windowed(spec.layers);
  for (int64_t layer = 0; layer < spec.layers; layer += 2)
    windowed[layer] = true;
  windowed = readLayerTypes(config, spec.layers).value_or(windowed);
  setWindows(spec, spec.positions, windowed, readWindow(config, 4096));
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importGemma2(mlir::MLIRContext &context,
                                                                    huggingface::ModelDescription &model,
                                                                    const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
