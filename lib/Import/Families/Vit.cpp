//===- Vit.cpp - The vit and deit families --------------------------------------===//
//
// Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words": patches as tokens behind a
// class token, learned positions, pre-norm blocks. Touvron et al. 2021, "Training
// data-efficient image transformers & distillation through attention": a distillation
// token, too.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Specs/VisionSpec.h"
#include "llvm/ADT/STLExtras.h"

using namespace rapt;
using namespace rapt::importing;

using Imported = Expected<mlir::OwningOpRef<mlir::ModuleOp>>;

static VisionSpec readSpec(huggingface::ModelDescription &model, const VisionDefaults &defaults) {
  huggingface::ConfigReader &config = model.config();
  VisionSpec spec = readVision(model, defaults);
  spec.poolerWidth = config.getInt("pooler_output_size", 1, 1 << 16, spec.width);
  spec.poolerActivation = activationNamed(config.getEnum("pooler_act", activationNames(), "tanh"));
  spec.harmlessKeys = {
      "attention_probs_dropout_prob",
      "hidden_dropout_prob",
      "encoder_stride", // of masked image modeling, as is the next
      "use_mask_token",
  };
  spec.ignoredTensors = {"*embeddings.mask_token"};
  return spec;
}

Imported importing::importVit(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                              const ImportOptions &options) {
  VisionSpec spec = readSpec(model, {.architecture = "ViT"});
  if (model.config().getBool("use_mean_pooling", false))
    spec.pooling = VisionPooling::PatchMean;
  return importVision(context, model, options, std::move(spec));
}

Imported importing::importDeit(mlir::MLIRContext &context, huggingface::ModelDescription &model,
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
