//===- DebertaV2.cpp - The deberta-v2 family ----------------------------------===//
//
// He et al. 2021, "DeBERTa: Decoding-enhanced BERT with Disentangled Attention", and
// "DeBERTaV3": bert's layers, whose scores have dot products of contents and relative positions
// in place of a table of positions.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Specs/EncoderSpec.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;

namespace {

/// Positions and distances of a model: a constant of the module has a number for each distance.
constexpr int64_t mostPositions = 1 << 16;

/// Terms of scores, of "c2p|p2c" or a list of such names.
struct Terms {
  bool hasKeys = false, hasQueries = false;
  int64_t count() const { return hasKeys + hasQueries; }
};

void readTerm(huggingface::ConfigReader &config, llvm::StringRef name, Terms &terms) {
  name = name.trim();
  if (name.equals_insensitive("c2p"))
    terms.hasKeys = true;
  else if (name.equals_insensitive("p2c"))
    terms.hasQueries = true;
  else
    config.fail("pos_att_type has \"" + name.str() + "\", which is not supported by the deberta-v2 family; supported " +
                "are c2p and p2c");
}

Terms readTerms(huggingface::ConfigReader &config) {
  Terms terms;
  const json::Value *value = config.getRaw("pos_att_type");
  if (!value)
    return terms;
  if (const std::string *text = value->asString()) {
    for (llvm::StringRef name : llvm::split(*text, '|'))
      if (!name.trim().empty())
        readTerm(config, name, terms);
    return terms;
  }
  const json::Array *names = value->asArray();
  if (!names) {
    config.fail("pos_att_type must be a list of names, or names with | between them");
    return terms;
  }
  for (const json::Value &name : *names)
    if (const std::string *text = name.asString())
      readTerm(config, *text, terms);
    else
      config.fail("pos_att_type must be a list of names, or names with | between them");
  return terms;
}

/// Embeddings of distances, which scores read where they have terms with them.
void readRelativePositions(huggingface::ConfigReader &config, const Terms &terms, EncoderSpec &spec) {
  DisentangledSpec d{.hasKeys = terms.hasKeys, .hasQueries = terms.hasQueries};
  d.buckets = std::max<int64_t>(0, config.getInt("position_buckets", -1, mostPositions, -1));
  const int64_t most = config.getInt("max_relative_positions", -1, mostPositions, -1);
  d.maxDistance = most < 1 ? spec.positions : most;
  const std::string norm = config.getEnum("norm_rel_ebd", {"none", "layer_norm"}, "none");
  if (norm == "layer_norm")
    d.norm = "encoder.LayerNorm";
  if (!config.getBool("share_att_key", false)) {
    d.queryPart = "attention.self.pos_query_proj";
    d.keyPart = "attention.self.pos_key_proj";
  }
  if (!config.getBool("relative_attention", false) || terms.count() == 0)
    return;
  if (spec.positions > mostPositions)
    config.fail("max_position_embeddings must be at most " + std::to_string(mostPositions) +
                " with relative_attention");
  // Half of the buckets have a distance each; those behind must reach further.
  if (d.buckets == 1 || (d.buckets > 1 && d.maxDistance - 1 <= d.buckets / 2))
    config.fail("position_buckets " + std::to_string(d.buckets) + " must be above 1, and half of them below the " +
                "largest distance " + std::to_string(d.maxDistance - 1) +
                " (max_relative_positions or max_position_embeddings)");
  spec.disentangled = d;
}

void setHeads(huggingface::ConfigReader &config, EncoderSpec &spec) {
  spec.masked.transform.activation = spec.feedForward.activation;
  if (!config.getBool("legacy", true)) {
    spec.masked = {.path = "lm_predictions.lm_head.",
                   .transform = {.dense = "dense", .activation = spec.feedForward.activation, .norm = "LayerNorm"}};
    spec.isTied = true; // it has no matrix of its own
    if (spec.head == EncoderHead::MaskedLM && spec.embeddingWidth() != spec.width)
      config.fail("legacy is false, but embedding_size " + std::to_string(spec.embeddingWidth()) +
                  " is not hidden_size " + std::to_string(spec.width) +
                  ": the head of masked language modeling multiplies by the embedding");
  }
  const std::string activation = config.getEnum("pooler_hidden_act", activationNames(), "gelu");
  const int64_t pooled = config.getInt("pooler_hidden_size", 1, 1 << 16, spec.width);
  if (spec.head == EncoderHead::SequenceClassification && pooled != spec.width)
    config.fail("pooler_hidden_size " + std::to_string(pooled) + " is not hidden_size " + std::to_string(spec.width));
  spec.classifier = {.transform = {.dense = "pooler.dense", .activation = activationNamed(activation)},
                     .isPooler = false};
}

void readConvolution(huggingface::ConfigReader &config, EncoderSpec &spec) {
  const int64_t kernel = config.getInt("conv_kernel_size", 0, 63, 0);
  if (kernel == 0)
    return;
  if (kernel % 2 == 0)
    config.fail("conv_kernel_size " + std::to_string(kernel) +
                " is even: a window has as many tokens behind its "
                "middle as ahead");
  if (const int64_t groups = config.getInt("conv_groups", 1, 1 << 16, 1); groups != 1)
    config.fail("conv_groups is " + std::to_string(groups) +
                ", which is not supported by the deberta-v2 family; "
                "supported is 1");
  spec.tokenConvolution = {.kernel = kernel,
                           .activation = activationNamed(config.getEnum("conv_act", activationNames(), "tanh")),
                           .part = "encoder.conv.conv",
                           .norm = "encoder.conv.LayerNorm"};
}

void refuseOthers(huggingface::ConfigReader &config, const EncoderSpec &spec) {
  const int64_t channels = spec.attention.headDim;
  if (config.getInt("attention_head_size", 1, 1 << 16, channels) != channels)
    config.fail("attention_head_size must be hidden_size / num_attention_heads, " + std::to_string(channels));
}

} // namespace

ImportedModule importing::importDebertaV2(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                          const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "DebertaV2",
                                         .defaultWidth = 1536,
                                         .defaultLayers = 24,
                                         .defaultHeads = 24,
                                         .defaultInner = 6144,
                                         .vocabulary = 128100});
  spec.prefix = "deberta.";
  spec.embedding.types = config.getInt("type_vocab_size", 0, 1 << 16, 0);
  spec.embedding.width = config.getInt("embedding_size", 1, 1 << 16, spec.width);
  spec.embedding.projection = "embeddings.embed_proj";
  spec.embedding.projected = EmbeddingSpec::Sum;
  if (!config.getBool("position_biased_input", true))
    spec.embedding.positions.table = "";
  spec.norm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-7);
  spec.attention.parts = {"attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"};
  const Terms terms = readTerms(config);
  // Without relative attention, too.
  spec.attention.scale = 1 / std::sqrt(double(spec.attention.headDim * (1 + terms.count())));
  readRelativePositions(config, terms, spec);
  readConvolution(config, spec);
  setHeads(config, spec);
  refuseOthers(config, spec);
  spec.harmlessKeys = harmless::keys({harmless::encoder}, {"pooler_dropout", "cls_dropout", "classifier_dropout",
                                                           "padding_idx", "conv_act", "conv_groups"});
  spec.ignoredTensors = {"*embeddings.position_ids",
                         "*embeddings.position_embeddings.weight",
                         "*encoder.rel_embeddings.weight",
                         "*encoder.LayerNorm.*",
                         "cls.predictions.*",
                         "lm_predictions.*",
                         "mask_predictions.*",
                         "pooler.dense.*"};
  return importEncoder(context, model, options, std::move(spec));
}
