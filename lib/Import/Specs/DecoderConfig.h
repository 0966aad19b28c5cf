//===- DecoderConfig.h - Keys that many decoders' configs have --*- C++ -*-===//
//
// Keys that most families' config.json has with the same meaning: sizes, heads,
// rotary embedding, windows. A family's file reads the rest.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

/// Names of keys, with aliases; empty where the family has no such key.
struct DecoderKeys {
  huggingface::Keys width = "hidden_size", layers = "num_hidden_layers", inner = "intermediate_size",
                    heads = "num_attention_heads", positions = "max_position_embeddings", activation = "hidden_act",
                    epsilon = "rms_norm_eps";
  std::string kvHeads = "num_key_value_heads", headDim = "head_dim";
};

/// A family's names of keys, and what its configuration class takes where the file has none.
struct DecoderDefaults {
  std::string architecture; ///< "Llama" of LlamaForCausalLM and LlamaModel
  std::string headClass = "ForCausalLM";
  std::string wholeClass = {}; ///< that of classes that read whole texts, "Gemma3Text"; empty: `architecture`
  DecoderKeys keys = {};
  int64_t width = 4096, layers = 32, heads = 32, positions = 2048, vocabulary = 32000;
  int64_t inner = 0;                   ///< 0: four times the width
  std::optional<int64_t> kvHeads = {}; ///< as many as queries' where there is none
  std::optional<int64_t> headDim = {}; ///< width / heads where there is none
  std::string_view activation = "silu";
  double epsilon = 1e-6;
  bool isTied = false;
  bool hasAnyPositions = false;        ///< nothing in the model depends on their number: the key is optional
  std::optional<int64_t> padding = {}; ///< pad_token_id where there is none
};

/// Reads sizes, heads, activation, epsilon and whether the head is tied. The scale of scores is 1 / sqrt(head dim).
/// Records an error where `architectures` has no class that is supported.
DecoderSpec readDecoder(const DecoderSource &source, const DecoderDefaults &defaults);

/// Reads the head of a class that reads whole texts, its labels and pad_token_id, unless the spec has one: classes of a
/// text are those of its last token of another id. readDecoder calls it, but for the part of a model.
void readWholeHead(const DecoderSource &source, const DecoderDefaults &defaults, DecoderSpec &spec);

/// The names of gpt2's keys, which its relatives share.
DecoderKeys gpt2Keys();

/// The parts of gpt2's layers, their names, norms and biases.
void setGPT2Parts(DecoderSpec &spec);

/// A feed-forward without a gate, with biases.
void setPlainFeedForward(DecoderSpec &spec, const std::string &up, const std::string &down);

/// The bound of queries, keys and values; null is none.
double readClip(huggingface::ConfigReader &config, const char *key);

/// c of c * tanh(x / c); 0, and null, are none.
double readSoftCap(huggingface::ConfigReader &config, const char *key, double fallback);

/// A factor of embeddings, which has the type of the weights.
float roundedToWeights(const DecoderSource &source, double factor);

/// Adds the table of rotary embedding that the config describes.
void readRotary(const DecoderSource &source, DecoderSpec &spec, const RotaryKeys &keys = {});

/// Adds a table for layers without a window, and one for those with it.
void readRotaryByLayer(const DecoderSource &source, StackSpec &spec, int64_t positions,
                       const std::vector<bool> &windowed, const std::array<RotaryKeys, 2> &keys);

/// Whether layer_types gives each layer a window; nothing without the key.
std::optional<std::vector<bool>> readLayerTypes(huggingface::ConfigReader &config, int64_t layers);

/// sliding_window: `fallback` without the key, none where it is null.
std::optional<int64_t> readWindow(huggingface::ConfigReader &config, std::optional<int64_t> fallback);

/// Gives those layers a window, unless it holds all positions.
void setWindows(StackSpec &spec, int64_t positions, const std::vector<bool> &windowed, std::optional<int64_t> window);

/// Reads sliding_window of a family where it is of all layers; `fallback` without the key, none where it is null.
void readWindowOfAll(const DecoderSource &source, DecoderSpec &spec, std::optional<int64_t> fallback);

/// Reads use_sliding_window, sliding_window, and the layers of it: by layer_types, or from max_window_layers on.
void readWindowByLayer(const DecoderSource &source, DecoderSpec &spec);

/// Records an error where layer_types names windows, of a family that has none.
void refuseWindows(const DecoderSource &source, const DecoderSpec &spec);

/// A family's names of keys, and what its configuration class takes where the file has none.
struct ExpertsDefaults {
  huggingface::Keys number = "num_experts", inner = "moe_intermediate_size",
                    chosen = {"num_experts_per_tok", "experts_per_token"};
  int64_t ofAll, ofToken, width; ///< experts, those of a token, and the columns of one
};

/// Whether the checkpoint has a tensor whose name ends so.
bool hasTensor(const huggingface::ModelDescription &model, llvm::StringRef end);
/// Whether each expert has tensors of its own, as in a GGUF file, in a family whose directories stack them.
bool hasExpertsApart(const huggingface::ModelDescription &model);

/// Reads the number of experts, of a token's, and their size: experts by softmax, gated as the dense layers are, in
/// tensors "mlp.experts.{expert}.gate_proj", or stacked ones where the checkpoint has them.
ExpertsSpec readExperts(const DecoderSource &source, const DecoderSpec &spec, const ExpertsDefaults &defaults);

/// Names of two kinds of layers; each may have several.
using KindNames = std::array<std::vector<std::string_view>, 2>;

/// For each layer whether it is of the second kind, where there is one; empty without the key.
std::vector<bool> readKinds(huggingface::ConfigReader &config, const huggingface::Keys &keys, int64_t layers,
                            const KindNames &names);

/// For each layer whether the list has its number; false of all without the key. `first` is that of the first layer.
std::vector<bool> readLayerNumbers(huggingface::ConfigReader &config, const char *key, int64_t layers,
                                   int64_t first = 0);

/// Gives each layer attention, or the mixer.
void setMixers(StackSpec &spec, Mixer mixer, const std::vector<bool> &attends);

/// Reads norm_topk_prob, decoder_sparse_step and mlp_only_layers.
void readSparseLayers(const DecoderSource &source, DecoderSpec &spec);

} // namespace rapt::importing
