//===- Gemma4.cpp - The gemma4_text and gemma4_unified_text families ------===//
//
// Gemma Team 2026, "Gemma 4": gemma3's norms and windows, with plain gains, scores without a
// scale, values with a norm, and layers without a window whose heads are larger and rotate in
// part. The last layers of small models read the keys and values of others and may have a wider
// feed-forward; each layer may have inputs of its own. Directories of gemma4 have an encoder of
// images beside the text part, which keeps their proportions; tokens of an image see one another
// in layers with a window, of models that say so. Directories of small models have an encoder of
// sound, too. Images and sounds of gemma4_unified have no encoder. Models of vectors may have tokens
// that see both sides, in layers with a window half of it and one more on each.
//
// No paper says all of this. Defaults are those of configuration_gemma4.py and
// configuration_gemma4_unified.py of transformers at 008e5743, where is_causal becomes false if all
// tokens see both sides; masking_utils.py at 00c4411c then counts the window as here. The order of
// the text's parts is that of mlx_lm/models/gemma4_text.py at d78bf58e. Of images, the encoder, the token whose own
// inputs a vector has (padding), the mask and the vectors' factor (none) are those of
// modular_gemma4.py of transformers at 033b1a82, sizes those of image_processing_gemma4.py at
// 8af4d22a, the tokens around vectors those of processing_gemma4.py at 03b33cc8; images without
// an encoder those of modular_gemma4_unified.py at 078ae019. The encoder of sound is that of
// modular_gemma4.py as well, with the window of sliding_window_mask_function: a token attends to
// attention_context_left - 1 tokens, and chunks decide nothing but the positions of distances.
//
//===----------------------------------------------------------------------===//
#include "lib/Formats/HuggingFace/SentenceModules.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "lib/Import/Specs/TextPart.h"
#include "lib/Import/Specs/VisionLanguage.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

/// The layers that have a window: by layer_types, or all but every sixth one. The last one never has.
static std::vector<bool> readWindowed(ConfigReader &config, int64_t layers) {
  std::vector<bool> windowed(layers);
  for (int64_t layer = 0; layer < layers; ++layer)
    windowed[layer] = (layer + 1) % 6 != 0;
  windowed = readLayerTypes(config, layers).value_or(windowed);
  windowed.back() = false;
  return windowed;
}

/// The last num_kv_shared_layers layers read the keys of the last layer of their type that has its own.
static void readSharedKeys(ConfigReader &config, const std::vector<bool> &windowed, DecoderSpec &spec) {
  constexpr const char *key = "num_kv_shared_layers";
  const int64_t shared = config.getInt(key, 0, spec.layers - 1, 0), own = spec.layers - shared;
  const bool isDouble = config.getBool("use_double_wide_mlp", false);
  if (shared == 0)
    return;
  for (int64_t layer = 0; layer < spec.layers; ++layer) {
    int64_t source = layer;
    if (layer >= own)
      for (source = own - 1; source >= 0 && windowed[source] != windowed[layer];)
        --source;
    if (source < 0) {
      config.fail(std::string(key) + " is " + std::to_string(shared) + ", but none of the first " +
                  std::to_string(own) + " layers is of the type of layer " + std::to_string(layer) + ", " +
                  (windowed[layer] ? "sliding_attention" : "full_attention"));
      return;
    }
    spec.keysOf.push_back(source);
    spec.innerOfLayer.push_back(spec.feedForward.inner * (isDouble && layer >= own ? 2 : 1));
    // Files may have what the layer does not read.
    for (const char *part : {"k_proj", "v_proj", "k_norm", "v_norm"})
      if (layer >= own)
        spec.ignoredTensors.push_back("*layers." + std::to_string(layer) + ".self_attn." + part + ".*");
  }
}

/// The attention of layers without a window.
static AttentionSpec readWholeAttention(ConfigReader &config, AttentionSpec attention) {
  attention.headDim = config.getInt("global_head_dim", 1, 1 << 12, 512);
  attention.hasValuesOfKeys = config.getBool("attention_k_eq_v", false);
  constexpr const char *key = "num_global_key_value_heads";
  const std::optional<int64_t> groups = config.getOptionalInt(key, 1, 1 << 12);
  if (attention.hasValuesOfKeys && groups) {
    attention.kvHeads = *groups;
    config.requireMultiple("num_attention_heads", attention.heads, key, *groups);
  }
  return attention;
}

/// The rotation of layers of one type; without rope_parameters it is all pairs, or a quarter of them.
static RotaryFrequencies readRotation(ConfigReader &config, ConfigReader *parameters, const char *type,
                                      int64_t channels) {
  const bool isWhole = std::string_view(type) == "full_attention";
  double theta = isWhole ? 1e6 : 1e4, share = isWhole ? 0.25 : 1, factor = 1;
  std::optional<ConfigReader> own = parameters ? parameters->open(type) : std::nullopt;
  if (own) {
    theta = own->getPositive("rope_theta", 1e12, theta);
    const bool isProportional = own->getEnum("rope_type", {"default", "proportional"}, "default") == "proportional";
    share = isProportional ? own->getPositive("partial_rotary_factor", 1, 1)
                           : own->getFloat("partial_rotary_factor", 1, 1, 1);
    factor = isProportional ? own->getPositive("factor", 1e6, 1) : 1;
    parameters->close(std::move(*own));
  }
  if (channels % 2 != 0)
    config.fail(std::string(isWhole ? "global_head_dim " : "head_dim ") + std::to_string(channels) +
                " is odd: rotary embedding rotates two channels by one angle");
  RotaryFrequencies rotary = proportionalRotary(theta, channels, share, factor);
  requireFinite(config, rotary.values, std::string("rope_theta of ") + type);
  return rotary;
}

static void readRotations(ConfigReader &config, const std::vector<bool> &windowed, DecoderSpec &spec) {
  std::optional<ConfigReader> parameters = config.open("rope_parameters");
  ConfigReader *given = parameters ? &*parameters : nullptr;
  AttentionSpec &attention = spec.attention;
  attention.rotary = {readRotation(config, given, "full_attention", spec.wholeAttention->headDim),
                      readRotation(config, given, "sliding_attention", attention.headDim)};
  for (bool isWindowed : windowed)
    attention.rotaryOfLayer.push_back(isWindowed ? 1 : 0);
  spec.wholeAttention->rotary = attention.rotary;
  spec.wholeAttention->rotaryOfLayer = attention.rotaryOfLayer;
  if (parameters)
    config.close(std::move(*parameters));
}

/// Inputs of layers, where the config gives them columns.
static void readOwnInputs(const DecoderSource &source, int64_t fallback, DecoderSpec &spec) {
  ConfigReader &config = source.config;
  constexpr const char *key = "hidden_size_per_layer_input", *words = "vocab_size_per_layer_input";
  OwnInputsSpec own;
  own.columns = config.getOptionalInt(key, 0, 1 << 16).value_or(config.names(key) ? 0 : fallback);
  own.words = config.getInt(words, 0, 1 << 24, 262144);
  if (own.columns == 0)
    return;
  if (own.words < spec.vocabulary)
    config.fail(std::string(words) + " " + std::to_string(own.words) + " is less than vocab_size " +
                std::to_string(spec.vocabulary) + ": a token has no row of inputs");
  own.tableScale = roundedToWeights(source, std::sqrt(double(own.columns)));
  if (source.isPart)
    own.placeholderRow = config.getOptionalInt("pad_token_id", 0, own.words - 1).value_or(0);
  spec.ownInputs = own;
}

/// Experts beside each layer's feed-forward.
static ExpertsSpec readExperts(const DecoderSource &source, const DecoderSpec &spec) {
  ConfigReader &config = source.config;
  constexpr const char *number = "num_experts", *ofToken = "top_k_experts";
  ExpertsSpec experts;
  experts.number = config.getInt(number, 1, 4096);
  experts.ofToken = config.getInt(ofToken, 1, 4096);
  if (experts.ofToken > experts.number)
    config.fail(std::string(ofToken) + " " + std::to_string(experts.ofToken) + " is more than " + number + " " +
                std::to_string(experts.number));
  experts.each = spec.feedForward;
  experts.each.inner = config.getInt("moe_intermediate_size", 1, 1 << 20);
  const bool areApart = hasExpertsApart(source.model);
  const std::string part = areApart ? "experts.{expert}." : "experts.";
  experts.stacking = areApart ? Stacking::None : Stacking::Rows;
  experts.each.gate = part + "gate_proj";
  experts.each.up = part + "up_proj";
  experts.each.packed = areApart ? "" : "experts.gate_up_proj";
  experts.each.down = part + "down_proj";
  experts.router = "router.proj";
  experts.routerScale = 1 / std::sqrt(double(spec.width));
  experts.isNormalized = true;
  experts.scaleOfEach = "router.per_expert_scale";
  NormSpec ofRouter = spec.norm;
  ofRouter.names[0] = "scale";
  experts.beside = ExpertsSpec::Beside{.routerNorm = "router",
                                       .ofRouter = ofRouter,
                                       .beforeExperts = "pre_feedforward_layernorm_2",
                                       .afterExperts = "post_feedforward_layernorm_2",
                                       .afterFeedForward = "post_feedforward_layernorm_1"};
  return experts;
}

/// What unified models have by default; keys that they lack count as the class's others do.
struct Defaults {
  const char *architecture;
  int64_t positions, window, ownInputs;
  bool seesWholeImages;
};

static DecoderSpec readText(const DecoderSource &source, const Defaults &defaults) {
  ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = defaults.architecture,
                                          .wholeClass = std::string(defaults.architecture) + "Text",
                                          .keys = {.activation = "hidden_activation"},
                                          .width = 2304,
                                          .layers = 30,
                                          .heads = 8,
                                          .positions = defaults.positions,
                                          .vocabulary = 262144,
                                          .inner = 9216,
                                          .kvHeads = 4,
                                          .headDim = 256,
                                          .activation = "gelu_pytorch_tanh",
                                          .isTied = true,
                                          .padding = 0});
  spec.endToken = 1;
  spec.embedding.scale = roundedToWeights(source, std::sqrt(double(spec.width)));
  spec.head.softCap = readSoftCap(config, "final_logit_softcapping", 0);
  spec.residual = {.beforeFeedForward = "pre_feedforward_layernorm",
                   .afterAttention = "post_attention_layernorm",
                   .afterFeedForward = "post_feedforward_layernorm",
                   .scaleOfLayer = "layer_scalar"};
  AttentionSpec &attention = spec.attention;
  attention.scale = 1;
  attention.hasBias = attention.hasOutBias = config.getBool("attention_bias", false);
  attention.norm = QueryKeyNormSpec{.norm = spec.norm};
  attention.valueNorm = spec.norm;
  attention.valueNorm->hasWeight = false;
  constexpr const char *around = "use_bidirectional_attention";
  if (config.getRaw(around) || (defaults.seesWholeImages && !config.names(around))) {
    spec.seesWholeImages = config.getEnum(around, {"vision", "all"}, "vision") == "vision";
    spec.isWindowAround = !spec.seesWholeImages;
    if (spec.isWindowAround && !spec.isBidirectional && config.names("is_causal"))
      config.fail(std::string(around) + " is \"all\", but is_causal is true");
    spec.isBidirectional |= spec.isWindowAround;
  }
  if (config.getBool("enable_moe_block", false))
    spec.experts = readExperts(source, spec);
  else
    for (const char *key : {"num_experts", "top_k_experts", "moe_intermediate_size"})
      config.getRaw(key);
  spec.wholeAttention = readWholeAttention(config, attention);
  const std::vector<bool> windowed = readWindowed(config, spec.layers);
  readSharedKeys(config, windowed, spec);
  readRotations(config, windowed, spec);
  int64_t window = config.getInt("sliding_window", 1, int64_t(1) << 30, defaults.window);
  if (spec.isWindowAround)
    window = window / 2 + 1;
  for (bool isWindowed : windowed)
    attention.windows.push_back(isWindowed ? std::optional(window) : std::nullopt);
  readOwnInputs(source, defaults.ownInputs, spec);
  return spec;
}

static DecoderSpec readGemma4(const DecoderSource &source) {
  return readText(
      source,
      {.architecture = "Gemma4", .positions = 131072, .window = 512, .ownInputs = 256, .seesWholeImages = false});
}

static DecoderSpec readUnified(const DecoderSource &source) {
  return readText(
      source,
      {.architecture = "Gemma4Unified", .positions = 262144, .window = 1024, .ownInputs = 0, .seesWholeImages = true});
}

const DecoderFamily importing::gemma4 = {.read = readGemma4, .ignoredTensors = {"*rotary_emb.*"}};
static const DecoderFamily unified = {.read = readUnified, .ignoredTensors = {"*rotary_emb.*"}};

static const TextFamily textOfWhole[] = {{"gemma4_text", gemma4}}, textOfUnified[] = {{"gemma4_unified_text", unified}};

/// Keys of the whole that nothing reads, those of images and those of sounds.
static const std::vector<std::string_view> keysOfWhole = {"eoa_token_id", "video_token_id",
                                                          "vision_soft_tokens_per_image"};
static constexpr const char *keysOfImages[] = {"boi_token_id", "eoi_token_id", imageIdKeys[1], "vision_config"};
static constexpr const char *keysOfSounds[] = {"boa_token_id", "eoa_token_index", "audio_token_id", "audio_config"};

/// Those that nothing reads of a model without images, or without sounds.
static std::vector<std::string_view> keysWithout(bool images, bool sounds) {
  std::vector<std::string_view> keys = keysOfWhole;
  if (images)
    keys.insert(keys.end(), std::begin(keysOfImages), std::end(keysOfImages));
  if (sounds)
    keys.insert(keys.end(), std::begin(keysOfSounds), std::end(keysOfSounds));
  return keys;
}

/// Tensors beside the text part.
static const std::vector<std::string_view> besideText = {"*vision_tower.*", "*vision_embedder.*", "*audio_tower.*",
                                                         "*embed_vision.*", "*embed_audio.*",     "*rotary_emb.*"};

namespace {

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

/// Layers of the encoder of images: the text's, with bounds of what matmuls read and give where the config says so.
void readImageLayers(const huggingface::ModelDescription &model, ConfigReader &config, VisionSpec &image) {
  image.width = config.getSize("hidden_size", 1, 1 << 16, 768);
  image.layers = config.getSize("num_hidden_layers", 1, 1 << 17, 16);
  image.norm = {.epsilon = config.getPositive("rms_norm_eps", 1, 1e-6)};
  image.layer = "encoder.layers.{layer}.";
  image.residual = {.beforeFeedForward = "pre_feedforward_layernorm",
                    .afterAttention = "post_attention_layernorm",
                    .afterFeedForward = "post_feedforward_layernorm"};
  image.feedForward = {.inner = config.getSize("intermediate_size", 1, 1 << 20, 3072),
                       .activation =
                           activationNamed(config.getEnum("hidden_activation", activationNames(), "gelu_pytorch_tanh")),
                       .gate = "mlp.gate_proj.linear",
                       .up = "mlp.up_proj.linear",
                       .down = "mlp.down_proj.linear"};
  AttentionSpec &attention = image.attention;
  attention.heads = config.getSize("num_attention_heads", 1, 1 << 12, 12);
  attention.kvHeads = config.getInt("num_key_value_heads", 1, 1 << 12, 12);
  attention.headDim = config.getInt("head_dim", 4, 1 << 12, 64);
  config.requireMultiple("num_attention_heads", attention.heads, "num_key_value_heads", attention.kvHeads);
  attention.parts = {"self_attn.q_proj.linear", "self_attn.k_proj.linear", "self_attn.v_proj.linear"};
  attention.out = "self_attn.o_proj.linear";
  attention.scale = 1;
  attention.norm = QueryKeyNormSpec{.norm = image.norm};
  attention.valueNorm = image.norm;
  attention.valueNorm->hasWeight = false;
  attention.rotatesHalves = true;
  double theta = 100;
  if (std::optional<ConfigReader> rotary = config.open("rope_parameters")) {
    rotary->getEnum("rope_type", {"default", "axial"}, "default");
    theta = rotary->getPositive("rope_theta", 1e12, theta);
    config.close(std::move(*rotary));
  }
  if (attention.headDim % 4 != 0)
    config.fail(config.nameOf("head_dim") + " is " + std::to_string(attention.headDim) +
                ": a multiple of 4 can rotate by column and row");
  attention.rotary = {plainRotary(theta, attention.headDim / 2)};
  requireFinite(config, attention.rotary[0].values, config.nameOf("rope_theta"));
  // Numbers that no checkpoint gives are infinite.
  image.haveBounds = config.getBool("use_clipped_linears", false) && !model.tensors().tensors().empty();
}

void readGrid(ConfigReader &config, VisionSpec &image) {
  image.channels = 3;
  image.patch = config.getInt("patch_size", 1, 1 << 8, 16);
  image.kernel = "patch_embedder.input_proj";
  image.learned.clear();
  image.positions.clear();
  image.finalNorm.clear();
  image.hasKernelBias = false;
  PooledGridSpec grid{.side = config.getInt("pooling_kernel_size", 1, 1 << 4, 3),
                      .positions = config.getInt("position_embedding_size", 1, 1 << 20, 10240),
                      .table = "patch_embedder.position_embedding_table",
                      .scale = std::sqrt(double(image.width))};
  if (grid.positions < grid.side)
    config.fail(config.nameOf("position_embedding_size") + " " + std::to_string(grid.positions) + " is less than " +
                "pooling_kernel_size " + std::to_string(grid.side) + ": no image has so few patches");
  if (config.getBool("standardize", false)) {
    grid.shift = "std_bias";
    grid.spread = "std_scale";
  }
  image.pooled = grid;
}

/// Images of unified models have no encoder: a vector is linear in the pixels of a square, but for norms.
void readSquares(ConfigReader &config, VisionSpec &image) {
  const int64_t patch = config.getInt("patch_size", 1, 1 << 8, 16),
                side = config.getInt("pooling_kernel_size", 1, 1 << 4, 3);
  image.channels = 3;
  image.patch = config.getInt("model_patch_size", 1, 1 << 12, patch * side);
  if (image.patch != patch * side)
    config.fail(config.nameOf("model_patch_size") + " is " + std::to_string(image.patch) + ", must be patch_size " +
                std::to_string(patch) + " times pooling_kernel_size " + std::to_string(side));
  image.width = config.getSize("mm_embed_dim", 1, 1 << 16, 3840);
  image.norm = {.kind = NormSpec::Layer, .epsilon = 1e-5, .hasBias = true}; // PyTorch's own
  image.kernel = "patch_dense";
  image.learned.clear();
  image.pooled = PooledGridSpec{.side = 1,
                                .positions = config.getInt("mm_posemb_size", 1, 1 << 20, 1120),
                                .table = "pos_embedding",
                                .isByPosition = true,
                                .isCentered = false,
                                .pixelNorm = "patch_ln1",
                                .patchNorm = "patch_ln2",
                                .positionNorm = "pos_norm"};
  if (const int64_t given = config.getInt("output_proj_dims", 1, 1 << 16, image.width); given != image.width)
    config.fail(config.nameOf("output_proj_dims") + " is " + std::to_string(given) + ", but mm_embed_dim is " +
                std::to_string(image.width));
}

/// The norm and the matmul from an encoder, or a part without one, to the text's width.
ProjectorSpec projectorOf(huggingface::ModelDescription &model, const std::string &name, const NormSpec &norm) {
  ProjectorSpec projector{
      .first = "embedding_projection", .second = "", .before = "embedding_pre_projection_norm", .norm = norm};
  projector.hasBias = false;
  projector.prefix = model.choosePrefix({"model." + name, name, "model." + name + "multimodal_embedder."},
                                        projector.first + ".weight");
  return projector;
}

void readImages(huggingface::ModelDescription &model, VisionLanguageSpec &spec) {
  ConfigReader &whole = model.config();
  std::optional<ConfigReader> config = whole.open("vision_config");
  const bool isUnified = model.modelType() == "gemma4_unified";
  const char *type = isUnified ? "gemma4_unified_vision" : "gemma4_vision";
  config->getEnum("model_type", {type}, type);
  VisionSpec &image = spec.image;
  NormSpec norm{.epsilon = config->getPositive("rms_norm_eps", 1, 1e-6), .hasWeight = false};
  if (isUnified) {
    readSquares(*config, image);
  } else {
    readImageLayers(model, *config, image);
    readGrid(*config, image);
  }
  whole.close(std::move(*config),
              harmless::keys({harmless::backbone},
                             {"architectures", "attention_bias", "attention_dropout", "default_output_length", "dtype",
                              "global_head_dim", "initializer_range", "max_position_embeddings", "torch_dtype"}));
  const std::string kernel = image.kernel + ".weight";
  image.prefix = isUnified
                     ? model.choosePrefix({"model.vision_embedder.", "vision_embedder.", "model.embed_vision."}, kernel)
                     : model.choosePrefix({"model.vision_tower.", "vision_tower."}, kernel);
  image.stack = "vision";
  spec.projector = projectorOf(model, "embed_vision.", norm);
  spec.imageId = readMediaId(whole, imageIdKeys[1], 258880, spec.text);
  spec.beginId = readMediaId(whole, "boi_token_id", 255999, spec.text);
  spec.endId = readMediaId(whole, "eoi_token_id", 258882, spec.text);
  spec.videoId = readVideoId(model, 258884, spec.text.vocabulary);
  spec.skipped = 0;
  spec.squares = {.sideKey = "pooling_kernel_size", .side = 3, .patch = 16};
  if (spec.text.ownInputs)
    spec.text.ownInputs->placeholders.push_back(spec.imageId);
}

//===----------------------------------------------------------------------===//
// Sounds
//===----------------------------------------------------------------------===//

/// The window of tokens that a token attends to, and the positions of its distances.
void readChunks(ConfigReader &config, SoundSpec &sound) {
  constexpr const char *leftKey = "attention_context_left", *rightKey = "attention_context_right",
                       *chunkKey = "attention_chunk_size";
  const int64_t chunk = config.getInt(chunkKey, 1, 1 << 16, 12), left = config.getInt(leftKey, 2, 1 << 16, 13),
                right = config.getInt(rightKey, 0, 1 << 16, 0);
  sound.window = left - 1;
  if (right > 1) // the mask counts a token itself to both sides
    config.fail(config.nameOf(rightKey) + " is " + std::to_string(right) +
                ": tokens of a sound that attend to later ones are not supported");
  // A chunk's queries have the positions of half of its keys, of which the last one is its own.
  sound.firstDistance = (chunk + left - 1 + right) / 2 - (left - 1);
  if (sound.firstDistance < 0)
    config.fail(config.nameOf(chunkKey) + " " + std::to_string(chunk) + " is too small for " + config.nameOf(leftKey) +
                " " + std::to_string(left) + ": some distances have no position");
}

/// Fails where masked scores count.
void checkMasked(ConfigReader &config, double cap) {
  constexpr const char *key = "attention_invalid_logits_value";
  const double least = -cap - 200, value = config.getFloat(key, -3e38, 3e38, -1e9);
  if (value > least)
    config.fail(config.nameOf(key) + " is " + json::write(json::Value(value)) +
                ": scores that are not hidden by it are not supported");
}

void readConformer(const huggingface::ModelDescription &model, ConfigReader &config, SoundSpec &sound) {
  sound.width = config.getSize("hidden_size", 2, 1 << 16, 1024);
  sound.layers = config.getSize("num_hidden_layers", 1, 1 << 17, 12);
  sound.norm = {.epsilon = config.getPositive("rms_norm_eps", 1, 1e-6)};
  readHeads(config, "hidden_size", "num_attention_heads", 8, sound);
  if (config.errors() && sound.width % 2 != 0)
    config.fail(config.nameOf("hidden_size") + " is " + std::to_string(sound.width) +
                ": an even number has sines and cosines");
  AttentionSpec &attention = sound.attention;
  attention.parts = {"self_attn.q_proj.linear", "self_attn.k_proj.linear", "self_attn.v_proj.linear"};
  attention.out = "self_attn.post.linear";
  attention.scale = std::log1p(std::exp(1.0)) / std::log(2.0); // of keys
  attention.softCap = config.getPositive("attention_logit_cap", 1e6, 50);
  checkMasked(config, attention.softCap);
  readChunks(config, sound);
  sound.feedForward = {.inner = 4 * sound.width,
                       .activation = activationNamed(config.getEnum("hidden_act", activationNames(), "silu"))};
  const std::vector<int64_t> channels = readStages(config, "subsampling_conv_channels", 2, 1, 1 << 12, {128, 32});
  sound.channels = {channels[0], channels[1]};
  sound.numbers = channels[0]; // the class takes one for the other
  if (config.errors() && channels[0] % 4 != 0)
    config.fail(config.nameOf("subsampling_conv_channels") + "[0] is " + std::to_string(channels[0]) +
                ": only multiples of 4 are supported, of which a frame has as many numbers");
  sound.taps = config.getInt("conv_kernel_size", 1, 1 << 8, 5);
  sound.residualShare = config.getFloat("residual_weight", 0, 1e6, 0.5);
  sound.bound = config.getPositive("gradient_clipping", 3e38, 1e10);
  sound.outWidth = config.getSize("output_proj_dims", 1, 1 << 16, 1536);
  // Numbers that no checkpoint gives are infinite.
  sound.haveBounds = config.getBool("use_clipped_linears", true) && !model.tensors().tensors().empty();
  sound.prefix = model.choosePrefix({"model.audio_tower.", "audio_tower."}, "output_proj.weight");
}

void readSounds(huggingface::ModelDescription &model, VisionLanguageSpec &spec) {
  ConfigReader &whole = model.config();
  std::optional<ConfigReader> config = whole.open("audio_config");
  const bool isUnified = model.modelType() == "gemma4_unified";
  const char *type = isUnified ? "gemma4_unified_audio" : "gemma4_audio";
  config->getEnum("model_type", {type}, type);
  SoundPartSpec &part = spec.sounds.emplace();
  const NormSpec norm{.epsilon = config->getPositive("rms_norm_eps", 1, 1e-6), .hasWeight = false};
  if (isUnified) {
    part.sound.isEncoded = false;
    part.sound.numbers = config->getSize(
        {"audio_embed_dim", "audio_samples_per_token", "hidden_size", "output_proj_dims"}, 1, 1 << 16, 640);
  } else {
    readConformer(model, *config, part.sound);
  }
  whole.close(std::move(*config),
              harmless::keys({}, {"architectures", "audio_samples_per_token", "dtype", "hidden_size",
                                  "initializer_range", "output_proj_dims", "torch_dtype"}));
  part.projector = projectorOf(model, "embed_audio.", norm);
  part.id = readMediaId(whole, "audio_token_id", 258881, spec.text);
  part.beginId = readMediaId(whole, "boa_token_id", 256000, spec.text);
  part.endId = readMediaId(whole, "eoa_token_index", 258883, spec.text);
  if (spec.text.ownInputs)
    spec.text.ownInputs->placeholders.push_back(part.id);
}

/// The text part of a whole without images, or with them.
DecoderSpec readTextOfWhole(const DecoderSource &source, bool isAlone) {
  return source.model.modelType() == "gemma4" ? readTextPart(source, textOfWhole, isAlone)
                                              : readTextPart(source, textOfUnified, isAlone);
}

DecoderSpec readPlainText(const DecoderSource &source) { return readTextOfWhole(source, /*isAlone=*/true); }

} // namespace

ImportedModule importing::importGemma4(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                       const ImportOptions &options) {
  ConfigReader &config = model.config();
  auto has = [&](const char *key) {
    const json::Value *part = config.peek(key);
    return part && !part->isNull();
  };
  const bool hasImages = has("vision_config"), hasSounds = has("audio_config");
  RAPT_ASSIGN_OR_RETURN(bool pools, huggingface::poolsTexts(model.moduleFiles()));
  if (pools || (!hasImages && !hasSounds))
    return importDecoder(
        context, model, options,
        {.read = readPlainText, .harmlessKeys = keysWithout(true, true), .ignoredTensors = besideText});
  const HeadName<bool> heads[] = {
      {model.modelType() == "gemma4" ? "Gemma4ForConditionalGeneration" : "Gemma4UnifiedForConditionalGeneration",
       true}};
  readHead<bool>(model, heads, true);
  VisionLanguageSpec spec;
  spec.text = readTextOfWhole({model, config, options}, /*isAlone=*/false);
  spec.readsImages = hasImages;
  if (hasImages)
    readImages(model, spec);
  if (hasSounds)
    readSounds(model, spec);
  spec.harmlessKeys = keysWithout(!hasImages, !hasSounds);
  spec.ignoredTensors = spec.text.ignoredTensors;
  auto ignore = [&](std::initializer_list<const char *> patterns) {
    spec.ignoredTensors.insert(spec.ignoredTensors.end(), patterns.begin(), patterns.end());
  };
  ignore({"*rotary_emb.*", "*put_min", "*put_max"});
  if (!hasImages)
    ignore({"*vision_tower.*", "*vision_embedder.*", "*embed_vision.*"});
  if (!hasSounds)
    ignore({"*audio_tower.*", "*embed_audio.*"});
  return importVisionLanguage(context, model, options, spec);
}
