//===- MixerSpec.h - What mixes the tokens of a layer besides attention --*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/Blocks.h"
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rapt::importing {

/// What mixes the tokens of a layer.
enum class Mixer : uint8_t {
  Attention,
  StateSpace,             ///< StateSpaceSpec
  AttentionAndStateSpace, ///< side by side, with one input
  DeltaRule,              ///< DeltaRuleSpec
  GatedConvolution,       ///< GatedConvolutionSpec
  None                    ///< the layer has a feed-forward alone
};

/// Whether a layer of the mixer keeps keys and values of all positions.
inline bool attends(Mixer mixer) { return mixer == Mixer::Attention || mixer == Mixer::AttentionAndStateSpace; }
/// Whether it keeps a matrix for each head.
inline bool recurs(Mixer mixer) {
  return mixer == Mixer::StateSpace || mixer == Mixer::AttentionAndStateSpace || mixer == Mixer::DeltaRule;
}

/// A convolution of each channel over a token and those ahead of it: PART.weight [channels, 1, taps] and, where there
/// is one, PART.bias.
struct ShortConvSpec {
  std::string part;
  /// Parts whose weights lie side by side in place of the part's, and their channels; they have no biases.
  std::vector<std::pair<std::string, int64_t>> joined;
  int64_t taps = 4;
  bool hasBias = false;
  std::optional<attn::ActivationKind> activation = attn::ActivationKind::silu;
  bool isCentered = false; ///< half of the other taps are of tokens behind it, rounded down; of whole texts alone

  /// Tokens behind its own that a token's result depends on.
  int64_t ahead() const { return isCentered ? (taps - 1) / 2 : 0; }
};

/// The norm of what a recurrence gives, and its gate.
struct GatedNormSpec {
  enum Order : uint8_t {
    GateFirst, ///< norm(y * activation(gate))
    NormFirst, ///< norm(y) * activation(gate)
    GateAlone  ///< y * activation(gate)
  };
  Order order = GateFirst;
  std::string part;
  NormSpec norm;
  int64_t groups = 1; ///< of columns, each normalized alone
  attn::ActivationKind activation = attn::ActivationKind::silu;
};

/// State-space duality (Dao, Gu 2024, "Transformers are SSMs", Mamba-2). Rows of the tensor `in` are those of the gate,
/// of what the convolution reads (x, B, C) and of the step of each head.
struct StateSpaceSpec {
  int64_t heads = 0, headDim = 0;
  int64_t groups = 1, stateSize = 0; ///< heads of B and C, which neighbors of x share, and their channels
  std::string in, out;
  bool hasBias = false, hasOutBias = false;
  double inScale = 1, outScale = 1;               ///< times the input; times what `out` gives
  std::array<double, 5> scales = {1, 1, 1, 1, 1}; ///< times what `in` gives: the gate, x, B, C, the steps
  ShortConvSpec convolution;
  std::string step, decay, skip; ///< tensors [heads]: dt_bias, A_log, D
  std::array<double, 2> stepLimits = {0, std::numeric_limits<double>::infinity()};
  GatedNormSpec norm;

  int64_t inner() const { return heads * headDim; }
  int64_t convolved() const { return inner() + 2 * groups * stateSize; }
};

/// The gated delta rule (Yang et al. 2025, "Gated Delta Networks"): keys and queries have length 1. A decay is one of a
/// head of values, or of each channel of a key (Kimi Team 2025, "Kimi Linear").
struct DeltaRuleSpec {
  int64_t keyHeads = 0, valueHeads = 0, keyDim = 0, valueDim = 0;
  attn::HeadPairing pairing = attn::HeadPairing::neighbors; ///< which heads of values share a key
  /// The parts of queries, keys and values, whose rows follow one another; of the output's gate; of beta and of the
  /// decay. Rows lie by heads of keys in two tensors, each head's queries, keys, values and gates, and its betas and
  /// decays, where `packed` names these or one of them.
  std::string mixed, gate, beta, decay;
  std::array<std::string, 2> packed;
  std::array<std::string, 3> separate; ///< the tensors of queries, keys and values, whose rows `mixed` has; empty: one
  /// Parts ahead of those of the gate and of the decay, which read their `rank` columns; empty: none.
  std::string gateDown, decayDown;
  int64_t rank = 0;
  double betaScale = 1;
  ShortConvSpec convolution;
  /// Tensors [heads of values]: dt_bias, A_log. Of channels: [heads * channels of keys], [1, 1, heads, 1].
  std::string decayBias, decayScale;
  bool isDecayOfChannel = false;
  GatedNormSpec norm = {.order = GatedNormSpec::NormFirst};
  std::string out;

  int64_t keyColumns() const { return keyHeads * keyDim; }
  int64_t valueColumns() const { return valueHeads * valueDim; }
  int64_t convolved() const { return 2 * keyColumns() + valueColumns(); }
  int64_t decays() const { return isDecayOfChannel ? keyColumns() : valueHeads; }
};

/// Short convolutions between two gates (Liquid AI 2025, LFM2): out(C * conv(B * x)); rows of `in` are B, C, x.
struct GatedConvolutionSpec {
  std::string in, out;
  bool hasBias = false; ///< of both
  ShortConvSpec convolution = {.activation = std::nullopt};
};

} // namespace rapt::importing
