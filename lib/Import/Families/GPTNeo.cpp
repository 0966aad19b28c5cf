//===- GPTNeo.cpp - The gpt_neo family -------------------------------------===//
//
// Black et al. 2021, "GPT-Neo": gpt2 with weights as torch.nn.Linear has them, scores
// that are not scaled, and a window of every second layer.
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
            "is_decoder", // as every model of the family is
            "embed_dropout",
            "resid_dropout",
            "classifier_dropout",
            "gradient_checkpointing",
            "tokenizer_class",
        },
    .ignoredTensors = {"*.attn.attention.bias", "*.attn.attention.masked_bias"},
};

/// The layers that attention_types gives a window: [[["global", "local"], 12]] are 24 in turn.
static std::vector<bool> readLocalLayers(huggingface::ConfigReader &config, int64_t layers) {
  std::vector<bool> local;
  auto take = [&](const json::Value &type) {
    const std::string *name = type.asString();
    if (!name || (*name != "global" && *name != "local"))
      config.fail("attention_types names " + json::printable(json::write(type), 60) + ", must be global or local");
    local.push_back(name && *name == "local");
  };
  config.getRaw("attention_layers"); // the same, written out
  const json::Value *types = config.getRaw("attention_types");
  if (!types) {
    for (int64_t layer = 0; layer < layers; ++layer)
      local.push_back(layer % 2 == 1);
    return local;
  }
  for (const json::Value &group : types->asArray() ? *types->asArray() : json::Array{}) {
    const json::Array *pair = group.asArray(), *names = pair && pair->size() == 2 ? (*pair)[0].asArray() : nullptr;
    const std::optional<int64_t> times = names ? (*pair)[1].asInteger() : std::nullopt;
    for (int64_t i = 0; times && i < std::min(*times, layers); ++i)
      for (size_t j = 0; j < names->size() && int64_t(local.size()) <= layers; ++j)
        take((*names)[j]);
  }
  if (int64_t(local.size()) != layers)
    config.fail("attention_types must be a list of [names, times] for " + std::to_string(layers) + " layers");
  local.resize(layers);
  return local;
}

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GPTNeo",
                                          .keys = {.layers = {"num_layers", "num_hidden_layers"},
                                                   .heads = {"num_heads", "num_attention_heads"},
                                                   .activation = "activation_function",
                                                   .epsilon = "layer_norm_epsilon",
                                                   .kvHeads = "",
                                                   .headDim = ""},
                                          .width = 2048,
                                          .layers = 24,
                                          .heads = 16,
                                          .vocabulary = 50257,
                                          .activation = "gelu_new",
                                          .epsilon = 1e-5,
                                          .isTied = true});
  setGPT2Parts(spec);
  spec.prefixes = {"transformer.", ""};
  AttentionSpec &attention = spec.attention;
  attention.packing = Packing::None;
  attention.parts = {"attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj"};
  attention.out = "attn.attention.out_proj";
  attention.hasBias = false;
  attention.scale = 1;
  const int64_t window = config.getInt("window_size", 1, 1 << 30, 256);
  setWindows(spec, spec.positions, readLocalLayers(config, spec.layers), window);
  spec.endToken = 50256;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importGPTNeo(mlir::MLIRContext &context,
                                                                    huggingface::ModelDescription &model,
                                                                    const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
