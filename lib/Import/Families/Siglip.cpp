//===- Siglip.cpp - The siglip family -----------------------------------------===//
//
// Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training": clip's towers, of which
// the texts' sees all tokens and padding, and the images' pools by attention; each text fits
// an image or not, whatever the others.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Clip.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/Heads.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Support/Json.h"

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

static constexpr TowerDefaults tower = {
    .width = 768, .inner = 3072, .heads = 12, .activation = "gelu_pytorch_tanh", .epsilon = 1e-6};

static void readText(ConfigReader &config, PairSpec &pair) {
  TextTowerSpec &spec = pair.text;
  readTower(config, tower, spec);
  spec.vocabulary = config.getSize("vocab_size", 1, 1 << 24, 32000);
  spec.positions = config.getSize("max_position_embeddings", 1, 1 << 24, 64);
  spec.projection = "text_model.head";
  spec.hasProjectionBias = true;
  spec.padding = config.getInt("pad_token_id", 0, 1 << 24, 1);
  pair.width = config.getInt("projection_size", 1, 1 << 16, spec.width);
  config.getRaw("bos_token_id"); // the tokenizer's, as the next
  config.getRaw("eos_token_id");
}

static void readImages(ConfigReader &config, PairSpec &pair) {
  VisionSpec &spec = pair.image;
  readTower(config, tower, spec);
  readPatches(config, 224, 16, spec);
  spec.prefix = "vision_model.";
  spec.stack = "vision";
  spec.learned = {};
  spec.positions = "embeddings.position_embedding";
  spec.kernel = "embeddings.patch_embedding";
  spec.arePlain = true;
  spec.finalNorm = "post_layernorm";
  if (!config.getBool("vision_use_head", true))
    config.fail(config.nameOf("vision_use_head") + " is false: images have no vector then");
  pair.pool = AttentionPoolSpec{.part = "head", .heads = spec.attention.heads, .feedForward = spec.feedForward};
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importSiglip(mlir::MLIRContext &context,
                                                                    huggingface::ModelDescription &model,
                                                                    const ImportOptions &options) {
  const HeadName<bool> heads[] = {{"SiglipModel", true}};
  readHead<bool>(model, heads, true);
  PairSpec spec;
  readTowers(model, spec, readText, readImages);
  if (spec.width != spec.image.width)
    model.config().fail("the vectors of texts have " + std::to_string(spec.width) + " columns, those of images " +
                        std::to_string(spec.image.width));
  spec.scale = "logit_scale";
  spec.bias = "logit_bias";
  spec.areIndependent = true;
  return importPair(context, model, options, std::move(spec));
}
