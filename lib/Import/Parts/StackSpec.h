//===- StackSpec.h - The specification of a stack of layers --------------*- C++ -*-===//
//
// Layers of attention and feed-forward are data, in decoders and encoders alike: sizes,
// norms, projections, positions and residuals, and the names of the tensors.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/MixerSpec.h"
#include "lib/Import/Parts/RotaryFrequencies.h"
#include <array>
#include <string>
#include <vector>

namespace rapt::importing {

/// Stands for a head's number in names of tensors.
inline constexpr std::string_view headPlaceholder = "{head}";
/// Stands for an expert's number.
inline constexpr std::string_view expertPlaceholder = "{expert}";

/// Norms of queries and keys, before rotation.
struct QueryKeyNormSpec {
  enum Extent : uint8_t {
    Head,    ///< each head alone, with one weight [channels] for all
    OwnHead, ///< each head alone, with its own weight
    All      ///< all heads together, with a weight [heads * channels]
  };
  NormSpec norm;
  Extent extent = Head;
  /// Parts of a layer. Where each head has its own weight, a name with "{head}" is that of one head's tensor; without
  /// it the tensor is [heads, channels].
  std::string query = "self_attn.q_norm", key = "self_attn.k_norm";
};

/// Rows of a weight that has queries, keys and values in one tensor.
enum class Packing : uint8_t {
  None,  ///< three tensors
  Rows,  ///< all queries, then all keys, then all values
  Groups ///< for each key/value head: its query heads, its key, its value
};

/// Latent attention (DeepSeek-AI 2024): keys and values of all heads are linear in one latent of a token, beside which
/// they have one key of rotated channels. The cache holds both, and queries are multiplied into the latents' space. A
/// head's queries have the channels without a position first.
struct LatentSpec {
  int64_t rank = 0, rotated = 0, valueDim = 0; ///< channels of a latent; of a head with a position; of a head's values
  int64_t queryRank = 0;                       ///< channels of the queries' own latent; 0: none
  std::string queryDown, queryNorm, queryUp;   ///< where they have one; `queryUp` alone where they have none
  std::string down, norm, up;                  ///< rows of latent and rotated key; rows of key and value of each head
  std::string keysApart,
      valuesApart;          ///< [heads, rank, channels] and [heads, channels, rank] in place of `up`, or empty
  NormSpec normOf;          ///< of both latents; most configs have no epsilon of it
  bool hasDownBias = false; ///< of `queryDown` and `down`

  /// The parts that a module has of a tensor: of a head's query without a position and with one, of the latent and the
  /// rotated key, of a head's key and value.
  std::string plainQuery() const { return queryUp + ".plain"; }
  std::string rotatedQuery() const { return queryUp + ".rotated"; }
  std::string latent() const { return down + ".latent"; }
  std::string rotatedKey() const { return down + ".rotated"; }
  std::string keyUp() const { return up + ".key"; }
  std::string valueUp() const { return up + ".value"; }
};

/// Attention of a layer. Parts are names behind the layer's path, without ".weight".
struct AttentionSpec {
  int64_t heads = 0, kvHeads = 0, headDim = 0;
  Packing packing = Packing::None;
  std::array<std::string, 3> parts = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"};
  std::string packed;     ///< the part where they are packed
  std::string packedStem; ///< of the tensors, "in_proj_" of in_proj_weight; empty: `packed` and a point
  std::string out = "self_attn.o_proj";
  std::string location = "self_attn";                               ///< location of ops without a weight
  bool hasBias = false;                                             ///< of queries, keys and values
  bool hasQueryBias = true, hasKeyBias = true, hasValueBias = true; ///< where `hasBias` says so
  bool hasOutBias = false;
  bool hasOutGate =
      false; ///< results are times sigmoid(gate), whose rows follow those of each head's query in its tensor
  double inScale = 1, outScale = 1; ///< times the input, beside another mixer; times what `out` gives
  double scale = 1;                 ///< of scores
  bool isScaledByLayer = false;     ///< the scale of layer i is scale / (i + 1)
  std::string sinks;                ///< logits of sinks [heads]; empty: none
  double softCap = 0;               ///< c of c * tanh(score / c); 0: none
  std::optional<QueryGrowth> growth;
  double clip = 0; ///< queries, keys and values are within [-clip, clip], behind norms; 0: any
  std::optional<QueryKeyNormSpec> norm;
  std::optional<NormSpec> valueNorm; ///< of each head, without a weight
  bool hasValuesOfKeys = false;      ///< values are what the keys' matmul gives, without its norm and rotation
  std::vector<float> slopes;         ///< of ALiBi, one for each query head; empty: none
  std::optional<LatentSpec> latent;  ///< in place of parts and norm; `headDim` is the queries', kvHeads 1

  /// Tables of rotary embedding, and which of them each layer uses, the first one where that list is empty. A layer of
  /// none does not rotate.
  std::vector<RotaryFrequencies> rotary;
  std::vector<std::optional<unsigned>> rotaryOfLayer;
  bool isInterleaved = false; ///< channels 2i and 2i + 1 are a pair, instead of i and i + half
  bool rotatesHalves = false; ///< a half of a head rotates by the first half of the table, the other one by the rest

  std::vector<std::optional<int64_t>> windows; ///< keys that a query of each layer sees; empty: all of them

  /// Whether frequencies depend on a text's length.
  bool hasLongerTexts() const {
    for (const RotaryFrequencies &table : rotary)
      if (table.longer)
        return true;
    return false;
  }

  std::optional<unsigned> rotaryOf(int64_t layer) const {
    if (rotary.empty())
      return std::nullopt;
    return rotaryOfLayer.empty() ? 0 : rotaryOfLayer[layer];
  }
  std::optional<int64_t> windowOf(int64_t layer) const { return windows.empty() ? std::nullopt : windows[layer]; }
  /// The name of a packed tensor, without "weight" or "bias".
  std::string stem() const { return packedStem.empty() ? packed + "." : packedStem; }
  /// Whether queries (0), keys (1) or values (2) of their own tensor have a bias.
  bool hasBiasOf(int64_t which) const {
    return hasBias && (which == 0 ? hasQueryBias : which == 1 ? hasKeyBias : hasValueBias);
  }
  int64_t queryColumns() const { return heads * headDim; }
  int64_t keyColumns() const { return kvHeads * headDim; }
  int64_t outColumns() const { return heads * (latent ? latent->valueDim : headDim); }
  /// Channels of a key and a value in the cache.
  std::array<int64_t, 2> cacheChannels() const {
    return latent ? std::array{latent->rotated, latent->rank} : std::array{headDim, headDim};
  }
};

struct FeedForwardSpec {
  int64_t inner = 0;
  attn::ActivationKind activation = attn::ActivationKind::silu;
  bool isSquared = false; ///< the activation's square, where there is no gate
  bool isGated = true;
  std::string gate = "mlp.gate_proj", up = "mlp.up_proj", down = "mlp.down_proj";
  std::string packed; ///< the part that has the gate's rows, then those of up; empty: two tensors
  bool hasBias = false, hasDownBias = false;
  double gateScale = 1, downScale = 1; ///< times the gate ahead of its activation; times what `down` gives
  double limit = 0; ///< gates are at most so large, what they gate is in [-limit, limit], plus 1; 0: any
};

/// Tensors of experts. Stacked ones are called as FeedForwardSpec's `packed` and `down` are, without ".weight".
enum class Stacking : uint8_t {
  None,            ///< each expert has its own, whose names hold "{expert}"
  Rows,            ///< [experts, 2 * inner, width], all rows of a gate, then those of up; [experts, width, inner]
  Columns,         ///< [experts, width, 2 * inner], all columns of a gate, then those of up; [experts, inner, width]
  InterleavedRows, ///< the same with rows of gate and up in turn
  Interleaved      ///< [experts, width, 2 * inner], columns of gate and up in turn; [experts, inner, width]
};

/// Experts in place of a layer's feed-forward (Shazeer et al. 2017): a router chooses some for each token, and their
/// results are added up, weighted.
struct ExpertsSpec {
  int64_t number = 0, ofToken = 0;
  FeedForwardSpec each;
  Stacking stacking = Stacking::None;
  std::string router = "mlp.gate";
  bool hasRouterBias = false;
  double routerScale = 1; ///< times the logits
  attn::RoutingKind scores = attn::RoutingKind::softmax;
  bool isNormalized = false; ///< the weights of a token add up to 1
  double floor = 0;          ///< is added to their sum then; 0: what the dialect adds
  double scale = 1;          ///< times the weights
  /// Groups of experts, of which the router keeps those with the largest scores, the sums of `by` experts' each.
  struct Groups {
    int64_t number, kept, by;
  };
  std::optional<Groups> groups;
  std::string scaleOfEach;               ///< the tensor [experts] times what an expert gives; empty: none
  std::string choiceBias;                ///< the tensor [experts] that decides together with the scores; empty: none
  std::optional<FeedForwardSpec> shared; ///< shared experts, applied to every token
  std::string sharedGate;                ///< the part whose sigmoid, one number, is times what it gives; empty: none
  std::vector<bool> ofLayer;             ///< the layers that have experts; empty: all
  /// The layer's feed-forward, beside experts that read the residual by norms of their own (Gemma 4). What each gives
  /// has a norm, too.
  struct Beside {
    std::string routerNorm;
    NormSpec ofRouter;
    std::string beforeExperts, afterExperts, afterFeedForward;
  };
  std::optional<Beside> beside;
  /// Columns that experts read and give, between a projection to them and one back; 0: those of the layers.
  int64_t latent = 0;
  std::string latentDown, latentUp;
  bool hasLatentBias = false;
};

/// Inputs that each layer has of its own: the token's row of a table, plus what a projection makes of the first layer's
/// input. A gated one is added behind the feed-forward (Gemma 3n).
struct OwnInputsSpec {
  int64_t columns = 0, words = 0; ///< of a layer's input; rows of the table, which has the columns of all layers
  double tableScale = 1;
  std::vector<int64_t> placeholders; ///< ids of tokens that stand for vectors of images and sounds
  int64_t placeholderRow = 0;        ///< of those tokens
  std::string table = "embed_tokens_per_layer", projection = "per_layer_model_projection",
              projectionNorm = "per_layer_projection_norm";
  /// Parts of a layer.
  std::string gate = "per_layer_input_gate", up = "per_layer_projection", norm = "post_per_layer_input_norm";
};

/// How a layer adds attention and feed-forward to its input. A norm without a name is none.
struct ResidualSpec {
  enum Scheme : uint8_t {
    Sequential, ///< y = x + attention(x); y + feedForward(y)
    Parallel    ///< x + attention(x) + feedForward(x)
  };
  Scheme scheme = Sequential;
  /// Before each part. A parallel feed-forward without one reads attention's.
  std::string beforeAttention = "input_layernorm", beforeFeedForward = "post_attention_layernorm";
  std::string afterAttention, afterFeedForward;     ///< of what a part gives, before it is added
  std::string ofAttentionSum, ofFeedForwardSum;     ///< of x plus what a part gives
  double scale = 1;                                 ///< times what a part gives, which then has no norm
  std::string scaleOfAttention, scaleOfFeedForward; ///< weights [width] times what a part gives; empty: none
  bool isFirstWithout = false;                      ///< the first layer has no norm before its attention
  bool isOfNorm = false;                            ///< post-norm residual: the branch is added to the normalized input
  std::string scaleOfLayer;                         ///< a number [1] times what the layer gives; empty: none
};

/// Attention to another sequence, between a layer's own attention and its feed-forward. Heads, channels and scale are
/// those of its own. A norm without a name is none.
struct CrossAttentionSpec {
  std::array<std::string, 3> parts; ///< queries, keys, values
  std::string packedStem; ///< of tensors with the rows of all three, "in_proj_" of in_proj_weight; empty: three tensors
  std::string out, location;
  bool hasBias = false;   ///< of all four
  bool hasKeyBias = true; ///< where the others have one
  std::string before;     ///< the norm of its input
  std::string ofSum;      ///< the norm of x plus what it gives
};

/// Biases of scores by distance, which all layers share, or each has.
struct RelativeBiasSpec {
  std::string table; ///< [buckets, heads]; behind the stack's prefix, or the layer's path
  int64_t buckets = 32, maxDistance = 128;
  bool isOfLayer = false;
};

/// Scores of contents with relative positions (He et al. 2021), whose embeddings all layers share. Distances up to half
/// of the buckets have one each; a distance from `maxDistance` on, or of a bucket beyond the table, has the last one.
struct DisentangledSpec {
  int64_t buckets = 0, maxDistance = 512; ///< buckets of a direction; 0: every distance below `maxDistance` has its own
  bool hasKeys = false;                   ///< queries are multiplied by keys of positions
  bool hasQueries = false;                ///< keys are multiplied by queries of positions
  std::string table = "encoder.rel_embeddings"; ///< [2 * span, width]; behind the stack's prefix
  std::string norm;                             ///< of the table's rows; empty: none
  std::string queryPart, keyPart;               ///< parts of a layer that project positions; empty: those of contents

  int64_t span() const { return buckets ? buckets : maxDistance; }
};

/// Layers of one kind, or of a few: they may differ in windows, rotation, heads, experts and in what mixes tokens. The
/// defaults are those of most decoders.
struct StackSpec {
  int64_t width = 0, layers = 0;
  NormSpec norm;
  AttentionSpec attention;
  std::optional<AttentionSpec> wholeAttention; ///< of layers without a window, where these have other heads
  /// For each layer the one whose keys and values it reads, itself or one ahead of it; empty: each its own.
  std::vector<int64_t> keysOf;
  std::optional<StateSpaceSpec> stateSpace;
  std::optional<DeltaRuleSpec> delta;
  std::optional<GatedConvolutionSpec> convolution;
  std::vector<Mixer> mixers; ///< of each layer; empty: all have attention
  std::optional<CrossAttentionSpec> cross;
  FeedForwardSpec feedForward;
  std::vector<bool> hasNoFeedForward; ///< of each layer; empty: all have one, or experts
  std::vector<int64_t> innerOfLayer;  ///< in place of the feed-forward's; empty: all have the same
  std::optional<ExpertsSpec> experts;
  std::optional<OwnInputsSpec> ownInputs;
  int64_t imageLayers = 0; ///< the first layers, behind each of which further vectors of images are added (DeepStack)
  ResidualSpec residual;
  std::optional<ResidualSpec> otherResidual; ///< of layers without attention; empty: that of all
  bool isConv1D = false;                     ///< weights of layers are [in, out]
  bool haveBounds = false; ///< matmuls, whose parts end with ".linear", bound what they read and give (MatmulSpec)
  std::string layer = "layers.{layer}.";
  int64_t firstLayer = 0; ///< the number in the name of the first one; unless it is 0, all layers are of one kind

  /// The names of a matmul's bounds (MatmulSpec::bounds).
  std::string boundsOf(const std::string &part) const {
    return haveBounds ? part.substr(0, part.rfind('.') + 1) : std::string();
  }
  bool hasWholeAttention(int64_t layer) const { return wholeAttention && !attention.windowOf(layer); }
  int64_t keysOfLayer(int64_t layer) const { return keysOf.empty() ? layer : keysOf[layer]; }
  bool hasOwnKeys(int64_t layer) const { return keysOfLayer(layer) == layer; }
  int64_t innerOf(int64_t layer) const { return innerOfLayer.empty() ? feedForward.inner : innerOfLayer[layer]; }
  Mixer mixerOf(int64_t layer) const { return mixers.empty() ? Mixer::Attention : mixers[layer]; }
  bool hasOtherResidual(int64_t layer) const { return otherResidual && !attends(mixerOf(layer)); }
  bool hasFeedForward(int64_t layer) const { return hasNoFeedForward.empty() || !hasNoFeedForward[layer]; }
  bool hasExperts(int64_t layer) const { return experts && (experts->ofLayer.empty() || experts->ofLayer[layer]); }
};

} // namespace rapt::importing
