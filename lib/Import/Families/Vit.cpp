//===- Vit.cpp - The vit, deit and beit families -------------------------===//
//
// Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words": patches as tokens behind a
// class token, learned positions, pre-norm blocks. Touvron et al. 2021, "Training
// data-efficient image transformers & distillation through attention": a distillation
// token, too.
//
// Bao et al. 2021, "BEiT: BERT Pre-Training of Image Transformers": vit whose scores have
// biases by the distance of patches, and whose layers scale the columns of what attention and
// feed-forward give.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Specs/VisionSpec.h"
#include "llvm/ADT/STLExtras.h"

using namespace rapt;
using namespace rapt::importing;
static VisionSpec readSpec(huggingface::ModelDescription &model, const VisionDefaults &defaults) {
  huggingface::ConfigReader &config = model.config();
  VisionSpec spec = readVision(model, defaults);
  spec.poolerWidth = config.getInt("pooler_output_size", 1, 1 << 16, spec.width);
  spec.poolerActivation = activationNamed(config.getEnum("pooler_act", activationNames(), "tanh"));
  spec.harmlessKeys =
      harmless::keys({harmless::encoder}, {
                                              "encoder_stride", // of masked image modeling, as is the next
                                              "use_mask_token",
                                          });
  spec.ignoredTensors = {"*embeddings.mask_token"};
  return spec;
}

ImportedModule importing::importVit(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                    const ImportOptions &options) {
  VisionSpec spec = readSpec(model, {.architecture = "ViT"});
  if (model.config().getBool("use_mean_pooling", false))
    spec.pooling = VisionPooling::PatchMean;
  return importVision(context, model, options, std::move(spec));
}

ImportedModule importing::importDeit(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options) {
  const std::string teacher = "DeiTForImageClassificationWithTeacher";
  VisionSpec spec = readSpec(
      model, {.architecture = "DeiT", .classifiers = {"ForImageClassification", "ForImageClassificationWithTeacher"}});
  spec.prefix = "deit.";
  spec.learned = {"embeddings.cls_token", "embeddings.distillation_token"};
  if (llvm::is_contained(model.architectures(), teacher)) {
    spec.pooling = VisionPooling::Distilled;
    spec.classifier = "cls_classifier";
  }
  return importVision(context, model, options, std::move(spec));
}

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

ImportedModule importing::importBeit(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options) {
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
  spec.harmlessKeys =
      harmless::keys({harmless::encoder, harmless::backbone}, {
                                                                  "drop_path_rate",
                                                                  "use_mask_token",
                                                                  "vocab_size", // of masked image modeling
                                                                  // of segmentation and backbones, as are the next
                                                                  "add_fpn",
                                                                  "auxiliary_channels",
                                                                  "auxiliary_concat_input",
                                                                  "auxiliary_loss_weight",
                                                                  "auxiliary_num_convs",
                                                                  "pool_scales",
                                                                  "reshape_hidden_states",
                                                                  "semantic_loss_ignore_index",
                                                                  "use_auxiliary_head",
                                                              });
  spec.ignoredTensors = {"*embeddings.mask_token", "*relative_position_index"};
  return importVision(context, model, options, std::move(spec));
}
