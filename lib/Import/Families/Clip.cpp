//===- Clip.cpp - The clip and siglip families ---------------------------===//
//
// Radford et al. 2021, "Learning Transferable Visual Models From Natural Language
// Supervision": a causal encoder of texts and a vision transformer, with pre-norm layers
// both.
//
// Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training": clip's towers, of which
// the texts' sees all tokens and padding, and the images' pools by attention; each text fits
// an image or not, whatever the others.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Clip.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Specs/PairSpec.h"
#include "lib/Support/Json.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

/// Keys of a tower that change nothing: those of training, and what the other tower or the pair reads.
const std::vector<std::string_view> importing::towerKeys = {
    "attention_dropout", "dropout",        "initializer_factor", "is_decoder",
    "model_type",        "projection_dim", "architectures",      "tie_word_embeddings", // no tower has a head
};

void importing::readTower(ConfigReader &config, const TowerDefaults &defaults, StackSpec &spec) {
  spec.width = config.getSize("hidden_size", 1, 1 << 16, defaults.width);
  spec.layers = config.getSize("num_hidden_layers", 1, 1 << 17, 12);
  readHeads(config, "hidden_size", "num_attention_heads", defaults.heads, spec);
  spec.attention.out = "self_attn.out_proj";
  spec.attention.hasBias = spec.attention.hasOutBias = true;
  spec.feedForward = {.inner = config.getSize("intermediate_size", 1, 1 << 20, defaults.inner),
                      .activation =
                          activationNamed(config.getEnum("hidden_act", activationNames(), defaults.activation)),
                      .isGated = false,
                      .up = "mlp.fc1",
                      .down = "mlp.fc2",
                      .hasBias = true,
                      .hasDownBias = true};
  spec.norm = {
      .kind = NormSpec::Layer, .epsilon = config.getPositive("layer_norm_eps", 1, defaults.epsilon), .hasBias = true};
  spec.residual = {.beforeAttention = "layer_norm1", .beforeFeedForward = "layer_norm2"};
  spec.layer = "encoder.layers.{layer}.";
}

void importing::readTowers(huggingface::ModelDescription &model, PairSpec &spec, ReadTower readText,
                           ReadTower readImages) {
  ConfigReader &config = model.config();
  for (auto [key, read] :
       {std::pair<const char *, ReadTower>("text_config", readText), {"vision_config", readImages}}) {
    std::optional<ConfigReader> tower = config.open(key);
    if (!tower) {
      config.fail(std::string(key) + " is missing, must be an object with the keys of a tower");
      continue;
    }
    read(*tower, spec);
    config.close(std::move(*tower), towerKeys);
  }
  spec.harmlessKeys = {"initializer_factor", "text_config_dict", "vision_config_dict"};
  spec.ignoredTensors = {"*embeddings.position_ids"};
}

namespace {

/// The tower of texts, whose configuration class takes so many words and positions.
void readTextTower(ConfigReader &config, const TowerDefaults &defaults, int64_t words, int64_t positions,
                   TextTowerSpec &spec) {
  readTower(config, defaults, spec);
  spec.vocabulary = config.getSize("vocab_size", 1, 1 << 24, words);
  spec.positions = config.getSize("max_position_embeddings", 1, 1 << 24, positions);
  spec.prefix = "text_model.";
  spec.stack = "text";
  spec.finalNorm = "final_layer_norm";
  spec.embedding = {.words = "embeddings.token_embedding",
                    .positions = {.table = "embeddings.position_embedding"},
                    .location = embeddingsLocation};
}

void readClipText(ConfigReader &config, PairSpec &pair) {
  TextTowerSpec &spec = pair.text;
  readTextTower(config, {.width = 512, .inner = 2048, .heads = 8}, 49408, 77, spec);
  spec.isCausal = true;
  spec.projection = "text_projection";
  config.getRaw("bos_token_id"); // the tokenizer puts them around a text
  // Configs of before transformers 4.31 have the id 2 whatever the tokenizer's is, which has the largest id of all.
  const int64_t end = config.getInt("eos_token_id", 0, INT32_MAX, 49407);
  spec.vector = end == 2 ? TokenChoice{TokenChoice::FirstLargest} : TokenChoice{TokenChoice::First, end};
  config.getRaw("pad_token_id");
}

void readClipTower(ConfigReader &config, PairSpec &pair) {
  readClipImages(config, pair.image);
  pair.imageProjection = "visual_projection";
}

} // namespace

void importing::readClipImages(ConfigReader &config, VisionSpec &spec) {
  readTower(config, {.width = 768, .inner = 3072, .heads = 12}, spec);
  readPatches(config, 224, 32, spec);
  spec.prefix = "vision_model.";
  spec.stack = "vision";
  spec.learned = {"embeddings.class_embedding"};
  spec.positions = "embeddings.position_embedding";
  spec.kernel = "embeddings.patch_embedding";
  spec.arePlain = true;
  spec.hasKernelBias = false;
  spec.embeddingNorm = "pre_layrnorm"; // as the checkpoints spell it
  spec.finalNorm = "post_layernorm";
}

ImportedModule importing::importClip(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options) {
  ConfigReader &config = model.config();
  const HeadName<bool> heads[] = {{"CLIPModel", true}};
  readHead<bool>(model, heads, true);
  PairSpec spec;
  spec.width = config.getSize("projection_dim", 1, 1 << 16, 512);
  spec.scale = "logit_scale";
  spec.defaultScale = config.getFloat("logit_scale_init_value", -100, 30, 2.6592);
  readTowers(model, spec, readClipText, readClipTower);
  return importPair(context, model, options, std::move(spec));
}

static constexpr TowerDefaults siglipTower = {
    .width = 768, .inner = 3072, .heads = 12, .activation = "gelu_pytorch_tanh", .epsilon = 1e-6};

static void readSiglipText(ConfigReader &config, PairSpec &pair) {
  TextTowerSpec &spec = pair.text;
  readTextTower(config, siglipTower, 32000, 64, spec);
  spec.projection = "text_model.head";
  spec.hasProjectionBias = true;
  spec.padding = config.getInt("pad_token_id", 0, 1 << 24, 1);
  pair.width = config.getInt("projection_size", 1, 1 << 16, spec.width);
  config.getRaw("bos_token_id"); // the tokenizer's, as the next
  config.getRaw("eos_token_id");
}

static void readSiglipImages(ConfigReader &config, PairSpec &pair) {
  VisionSpec &spec = pair.image;
  readTower(config, siglipTower, spec);
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

ImportedModule importing::importSiglip(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                       const ImportOptions &options) {
  const HeadName<bool> heads[] = {{"SiglipModel", true}};
  readHead<bool>(model, heads, true);
  PairSpec spec;
  readTowers(model, spec, readSiglipText, readSiglipImages);
  if (spec.width != spec.image.width)
    model.config().fail("the vectors of texts have " + std::to_string(spec.width) + " columns, those of images " +
                        std::to_string(spec.image.width));
  spec.scale = "logit_scale";
  spec.bias = "logit_bias";
  spec.areIndependent = true;
  return importPair(context, model, options, std::move(spec));
}
