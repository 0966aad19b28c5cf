//===- Swin.cpp - The swin family -----------------------------------------------===//
//
// Liu et al. 2021, "Swin Transformer: Hierarchical Vision Transformer using Shifted
// Windows".
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Specs/WindowSpec.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;

/// Norms, attention and feed-forward of the layers of all stages.
static WindowStage readLayers(huggingface::ConfigReader &config) {
  WindowStage stage;
  stage.norm = {.kind = NormSpec::Layer, .epsilon = config.getPositive("layer_norm_eps", 1, 1e-5), .hasBias = true};
  AttentionSpec &attention = stage.attention;
  attention.parts = {"attention.self.query", "attention.self.key", "attention.self.value"};
  attention.out = "attention.output.dense";
  attention.location = "attention.self";
  attention.hasBias = config.getBool("qkv_bias", true);
  attention.hasOutBias = true;
  stage.feedForward = {.activation = activationNamed(config.getEnum("hidden_act", activationNames(), "gelu")),
                       .isGated = false,
                       .up = "intermediate.dense",
                       .down = "output.dense",
                       .hasBias = true,
                       .hasDownBias = true};
  stage.residual = {.beforeAttention = "layernorm_before", .beforeFeedForward = "layernorm_after"};
  stage.layer = "blocks.{layer}.";
  return stage;
}

/// Records why a stage's grid cannot be cut into windows, or into patches of the next stage.
static void checkGrid(huggingface::ConfigReader &config, size_t number, const WindowGrid &grid, bool isLast) {
  const std::string what = "stage " + std::to_string(number) + " has " + std::to_string(grid.rows) + " x " +
                           std::to_string(grid.columns) + " patches (image_size, patch_size)";
  if (grid.rows % grid.side != 0 || grid.columns % grid.side != 0)
    config.fail(what + ", which windows of window_size " + std::to_string(grid.side) + " do not divide");
  else if (!isLast && (grid.rows % 2 != 0 || grid.columns % 2 != 0))
    config.fail(what + ", which 2 x 2 patches of the next stage do not divide");
}

static void readStageSizes(huggingface::ConfigReader &config, WindowSpec &spec) {
  const size_t count = countStages(config, "depths", 4);
  const std::vector<int64_t> depths = readStages(config, "depths", count, 1, 1 << 12, {2, 2, 6, 2});
  const std::vector<int64_t> heads = readStages(config, "num_heads", count, 1, 1 << 12, {3, 6, 12, 24});
  const int64_t width = config.getSize("embed_dim", 1, 1 << 12, 96), side = config.getInt("window_size", 1, 1 << 10, 7);
  const double ratio = config.getPositive("mlp_ratio", 64, 4);
  const WindowStage layers = readLayers(config);
  for (size_t number = 0; number < count; ++number) {
    WindowStage stage = layers;
    stage.width = width << number;
    stage.layers = depths[number];
    stage.attention.heads = stage.attention.kvHeads = heads[number];
    stage.attention.headDim = std::max<int64_t>(1, stage.width / heads[number]);
    stage.attention.scale = 1 / std::sqrt(double(stage.attention.headDim));
    stage.feedForward.inner = std::max<int64_t>(1, int64_t(ratio * double(stage.width)));
    stage.grid = {spec.image.height / spec.patch >> number, spec.image.width / spec.patch >> number, side};
    // One window holds all of a side: there is nothing to shift.
    stage.shift = std::min(stage.grid.rows, stage.grid.columns) <= side ? 0 : side / 2;
    config.requireMultiple("embed_dim of stage " + std::to_string(number), stage.width, "num_heads", heads[number]);
    if (config.errors())
      checkGrid(config, number, stage.grid, number + 1 == count);
    spec.stages.push_back(std::move(stage));
  }
}

static void readImages(huggingface::ConfigReader &config, WindowSpec &spec) {
  readPatches(config, 224, 4, spec);
  if (config.errors() && (spec.image.height % spec.patch != 0 || spec.image.width % spec.patch != 0))
    config.fail("image_size " + std::to_string(spec.image.height) + " x " + std::to_string(spec.image.width) +
                " is not a multiple of patch_size " + std::to_string(spec.patch));
  if (config.getBool("use_absolute_embeddings", false))
    config.fail("use_absolute_embeddings is true: only models without them are supported");
}

ImportedModule importing::importSwin(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  WindowSpec spec;
  spec.prefix = "swin.";
  spec.kernel = "embeddings.patch_embeddings.projection";
  readImages(config, spec);
  readStageSizes(config, spec);
  spec.norm = spec.inputNorm = spec.last().norm;
  spec.inputNorm.epsilon = 1e-5; // whatever layer_norm_eps is
  readImageHead(model, "Swin", spec);
  spec.harmlessKeys =
      harmless::keys({harmless::encoder, harmless::backbone}, {
                                                                  "drop_path_rate",
                                                                  "encoder_stride", // of masked image modeling
                                                                  "hidden_size",    // follows from embed_dim and depths
                                                                  "num_layers",     // the stages
                                                                  "path_norm",
                                                              });
  spec.ignoredTensors = {"*embeddings.mask_token", "*relative_position_index"};
  return importWindows(context, model, options, spec);
}
