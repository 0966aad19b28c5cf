//===- GptOss.cpp - The gpt_oss family --------------------------------------===//
//
// OpenAI 2025, "gpt-oss-120b & gpt-oss-20b Model Card": alternating layers with and without
// a window, sinks of attention, and experts with biases whose gates are limited.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "llvm/ADT/STLExtras.h"

using namespace rapt;
using namespace rapt::importing;

static ExpertsSpec readExperts(const DecoderSource &source, const DecoderSpec &spec) {
  ExpertsSpec experts = readExperts(
      source, spec,
      {.number = "num_local_experts", .inner = "intermediate_size", .ofAll = 128, .ofToken = 4, .width = 2880});
  experts.isNormalized = true; // the same as the softmax of the chosen experts' logits
  experts.router = "mlp.router";
  experts.hasRouterBias = true;
  FeedForwardSpec &each = experts.each;
  each.hasBias = each.hasDownBias = true;
  each.activation = attn::ActivationKind::quick_gelu; // the config says silu, the class computes x * sigmoid(1.702 x)
  each.limit = source.config.getPositive("swiglu_limit", 1e6, 7);
  if (hasExpertsApart(source.model))
    return experts;
  // Tensors of MXFP4 have a matrix's rows, as blocks are along them.
  const bool areScaled =
      llvm::any_of(source.model.tensors().tensors(), [](const auto &tensor) { return tensor.second.dtype == "MXFP4"; });
  experts.stacking = areScaled ? Stacking::InterleavedRows : Stacking::Interleaved;
  each.gate = "mlp.experts.gate_proj";
  each.up = "mlp.experts.up_proj";
  each.packed = "mlp.experts.gate_up_proj";
  each.down = "mlp.experts.down_proj";
  return experts;
}

static DecoderSpec readGptOss(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GptOss",
                                          .width = 2880,
                                          .layers = 36,
                                          .heads = 64,
                                          .positions = 131072,
                                          .vocabulary = 201088,
                                          .inner = 2880,
                                          .kvHeads = 8,
                                          .headDim = 64,
                                          .epsilon = 1e-5});
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", true);
  spec.attention.sinks = "self_attn.sinks";
  readRotary(source, spec, {.defaultTheta = 150000});
  std::vector<bool> windowed(spec.layers);
  for (int64_t layer = 0; layer < spec.layers; ++layer)
    windowed[layer] = layer % 2 == 0;
  setWindows(spec, spec.positions, readLayerTypes(config, spec.layers).value_or(windowed), readWindow(config, 128));
  spec.experts = readExperts(source, spec);
  return spec;
}

const DecoderFamily importing::gptOss = {
    .read = readGptOss,
    .harmlessKeys =
        harmless::keys({harmless::decoder, harmless::router}, {
                                                                  "initial_context_length", // rope_scaling has it, too
                                                              })};
