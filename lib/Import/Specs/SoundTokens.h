//===- SoundTokens.h - The encoder of sounds in a text --------------------*- C++ -*-===//
//
// Gulati et al. 2020, "Conformer", as Gemma 4 has it (Zhang et al. 2023, "Google USM"): two
// convolutions make a token of four frames, and a layer is a half of a feed-forward, attention
// to the last tokens with keys of their distances, a causal convolution, and the other half.
//
// No token depends on what is behind its own frames. So nothing has to be hidden of a sound that
// is padded, and sounds are not padded here.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Module/AdapterInputs.h"
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// Attention, its scale and norms are of the layers: matmuls and norms have the names of Hugging Face's gemma4_audio.
struct SoundSpec : StackSpec {
  int64_t numbers = 0;                  ///< of a frame; of a vector where there is no encoder
  bool isEncoded = true;                ///< else a frame's numbers are its vector
  std::array<int64_t, 2> channels = {}; ///< of the convolutions
  std::string prefix;
  int64_t window = 0;        ///< tokens that a token attends to, the last of which it is
  int64_t firstDistance = 0; ///< the position that a token's own key has
  double residualShare = 1;  ///< times what a half of a feed-forward gives
  double bound = 0;          ///< of inputs and results of a layer's parts, in either direction
  int64_t taps = 0;          ///< of the convolution
  int64_t outWidth = 0;

  /// Numbers of a vector.
  int64_t vectorWidth() const { return isEncoded ? outWidth : numbers; }
};

/// The sounds' values while an entry is built, all of which have as many frames.
struct Sounds {
  mlir::Value features;   ///< [sounds, frames, numbers]
  ImageAdapters adapters; ///< which they have
  mlir::Value length;     ///< vectors of one sound, where they have been made
};

/// The vectors of all sounds, [vectors, width]; sets the length of `sounds`.
Expected<mlir::Value> walkSoundTokens(const Walk &walk, const SoundSpec &spec, Sounds &sounds);

} // namespace rapt::importing
