//===- Dinov2.cpp - The dinov2 family -------------------------------------------===//
//
// Oquab et al. 2023, "DINOv2: Learning Robust Visual Features without Supervision": vit
// whose layers scale the columns of what attention and feed-forward give.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/VisionSpec.h"

using namespace rapt;
using namespace rapt::importing;

/// mlp_ratio times the width; of a gated feed-forward two thirds of it, rounded up to a multiple of 8.
static void readFeedForward(huggingface::ConfigReader &config, VisionSpec &spec) {
  const int64_t inner = spec.width * config.getInt("mlp_ratio", 1, 1 << 10, 4);
  FeedForwardSpec &feedForward = spec.feedForward;
  feedForward.inner = inner;
  feedForward.up = "mlp.fc1";
  feedForward.down = "mlp.fc2";
  if (!config.getBool("use_swiglu_ffn", false))
    return;
  feedForward = {.inner = (inner * 2 / 3 + 7) / 8 * 8,
                 .gate = "mlp.gate",
                 .up = "mlp.up",
                 .down = "mlp.weights_out",
                 .packed = "mlp.weights_in",
                 .hasBias = true,
                 .hasDownBias = true};
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importDinov2(mlir::MLIRContext &context,
                                                                    huggingface::ModelDescription &model,
                                                                    const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  VisionSpec spec = readVision(model, {.architecture = "Dinov2", .inner = 0, .epsilon = 1e-6});
  readFeedForward(config, spec);
  spec.prefix = "dinov2.";
  spec.residual = {.beforeAttention = "norm1",
                   .beforeFeedForward = "norm2",
                   .scaleOfAttention = "layer_scale1.lambda1",
                   .scaleOfFeedForward = "layer_scale2.lambda1"};
  spec.pooling = VisionPooling::ClassAndMean;
  spec.pooler = VisionPooler::ClassToken;
  spec.harmlessKeys = {
      "attention_probs_dropout_prob",
      "hidden_dropout_prob",
      "drop_path_rate",
      "layerscale_value",  // which the layers begin training with
      "intermediate_size", // never read: mlp_ratio says it
      "use_mask_token",
      // of a backbone, as are the next
      "apply_layernorm",
      "out_features",
      "out_indices",
      "reshape_hidden_states",
      "stage_names",
  };
  spec.ignoredTensors = {"*embeddings.mask_token"};
  return importVision(context, model, options, std::move(spec));
}
