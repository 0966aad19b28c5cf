//===- Architectures.h - Architectures of GGUF files as families -----*- C++ -*-===//
#pragma once
#include "lib/Import/Families/GGUF/Translation.h"
#include <array>

namespace rapt::importing {

/// How a tensor of a GGUF file becomes those of a directory.
enum class Arrangement : uint8_t {
  Same,
  QueryPairs,   ///< rows of queries whose channels that rotate together are neighbors
  KeyPairs,     ///< the same of keys
  Packed,       ///< queries, keys and values behind one another, which are tensors of their own in a directory
  PackedPairs,  ///< the same where queries and keys have pairs
  Groups,       ///< the same, of which a directory has those of each key head together, in one tensor
  Experts,      ///< of all experts, which are tensors of their own
  ExpertHalves, ///< the same, each with two matrices behind one another
  Row,          ///< a matrix of one row, which may be a vector
  Decays,       ///< -e^w, of which a directory has w
  Flat,         ///< a vector that has several dims
  Taps,         ///< a matrix [channels, taps] that is [channels, 1, taps]
  Bare,         ///< named without ".weight" in a directory; `file` may include the tensor's end, such as ".scale"
};

/// A tensor's name without ".weight" or ".bias", of a layer without "blk.N.", and that of a directory: of a layer
/// without its prefix, or whole with its number as "{layer}"; several of them behind spaces; "{}" is an expert's
/// number.
struct Rename {
  std::string_view file, own;
  Arrangement arrangement = Arrangement::Same;
};

struct Architecture {
  std::string_view name;                          ///< general.architecture
  void (*describe)(Translation &t);               ///< sets config.json's members
  std::array<std::span<const Rename>, 4> tensors; ///< an earlier list comes before later ones
  std::string_view layer = "model.layers.";       ///< before a layer's number; empty: names are whole
  std::string_view onlyWith = "";                 ///< a tensor that such files have; empty: all
  bool normsHoldOne = false;                      ///< weights of norms are w + 1, of which a directory has w
  bool hasConv1D = true;                          ///< see ModelParts
};

/// Those that become families, sorted by name.
std::span<const Architecture> architectures();

} // namespace rapt::importing
