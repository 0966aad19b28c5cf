//===- Weights.h - Where the values of parameters come from ---------------------------*- C++ -*-===//
#pragma once
#include "lib/Artifact/Manifest.h"
#include "lib/Artifact/WeightPacker.h"
#include "lib/Driver/Input.h"
#include "lib/Driver/Phases.h"
#include "llvm/Support/MemoryBuffer.h"

namespace rapt::driver {

/// The weights of one compilation: packed from tensors, a packed file that exists, or none.
struct Weights {
  std::unique_ptr<artifact::TensorReader> reader; ///< null: not packed here
  std::vector<std::string> names;                 ///< of the reader's tensors, in the model's order
  std::optional<artifact::PackedWeights> packed;  ///< set by pack()
  std::optional<rapt_weights_header> existing;    ///< of a packed file on the command line
  std::string existingName;
  std::unique_ptr<llvm::MemoryBuffer> inside; ///< set by embed(): a whole weight file

  /// Opens what `options` name. A model directory's side files join the input's sections.
  static Expected<Weights> open(Input &input, const std::vector<artifact::Parameter> &parameters,
                                const Options &options);

  /// Packs into DIRECTORY/BASE-<id8>.weights, still under a temporary name. Without a reader does nothing.
  Status pack(const Input &input, const std::vector<artifact::Parameter> &parameters, const Options &options,
              const std::string &directory, const std::string &base, Phases &phases);

  /// The bytes of the reader's tensors.
  uint64_t tensorBytes() const;

  /// Maps the packed or existing file, to become part of the library instead of lying beside it. `path` is that of an
  /// existing one.
  Status embed(const std::string &path);

  /// Fills ids, name and sizes in.
  Status describe(artifact::Manifest &manifest, const std::string &base) const;
};

} // namespace rapt::driver
