//===- Beit.cpp - The beit family ---------------------------------------------===//
//
// Bao et al. 2021, "BEiT: BERT Pre-Training of Image Transformers": vit whose scores have
// biases by the distance of patches, and whose layers scale the columns of what attention and
// feed-forward give.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/VisionSpec.h"

using namespace rapt;
using namespace rapt::importing;

/// Biases of each layer, or of all; a config may have none.
static void readBias(huggingface::ConfigReader &config, VisionSpec &spec) {
  const std::string table = "relative_position_bias.relative_position_bias_table";
  const bool isOfLayer = config.getBool("use_relative_position_bias", false),
             isShared = config.getBool("use_shared_relative_position_bias", false);
  if (isOfLayer && isShared)
    config.fail("use_relative_position_bias and use_shared_relative_position_bias are both true: one of them is "
                "supported");
  if (isOfLayer)
    spec.gridBias = GridBiasSpec{"attention.attention." + table, /*isOfLayer=*/true};
  else if (isShared)
    spec.gridBias = GridBiasSpec{"encoder." + table, /*isOfLayer=*/false};
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importBeit(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  VisionSpec spec = readVision(model, {.architecture = "Beit"});
  spec.prefix = "beit.";
  spec.attention.hasKeyBias = false;
  readBias(config, spec);
  if (!config.getBool("use_absolute_position_embeddings", false))
    spec.positions.clear();
  if (config.getFloat("layer_scale_init_value", 0, 1e6, 0.1) > 0) // which the layers begin training with
    spec.residual.scaleOfAttention = "lambda_1", spec.residual.scaleOfFeedForward = "lambda_2";
  spec.pooler = VisionPooler::ClassToken;
  if (config.getBool("use_mean_pooling", true)) {
    spec.finalNorm.clear();
    spec.pooledNorm = "pooler.layernorm";
    spec.pooling = VisionPooling::MeanNorm;
    spec.pooler = VisionPooler::MeanNorm;
  }
  spec.harmlessKeys = {
      "attention_probs_dropout_prob",
      "drop_path_rate",
      "hidden_dropout_prob",
      "use_mask_token",
      "vocab_size", // of masked image modeling
      // of segmentation and backbones, as are the next
      "add_fpn",
      "auxiliary_channels",
      "auxiliary_concat_input",
      "auxiliary_loss_weight",
      "auxiliary_num_convs",
      "out_features",
      "out_indices",
      "pool_scales",
      "reshape_hidden_states",
      "semantic_loss_ignore_index",
      "stage_names",
      "use_auxiliary_head",
  };
  spec.ignoredTensors = {"*embeddings.mask_token", "*relative_position_index"};
  return importVision(context, model, options, std::move(spec));
}
