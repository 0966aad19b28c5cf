//===- DecoderBuilder.h - The module of a decoder from its specification -*- C++ -*-===//
#pragma once
#include "lib/Import/Module/HarmlessKeys.h"
#include "lib/Import/Module/ImportOptions.h"
#include "lib/Import/Specs/DecoderSpec.h"

namespace rapt::importing {

/// The source of a family's specification.
struct DecoderSource {
  huggingface::ModelDescription &model;
  huggingface::ConfigReader &config;
  const ImportOptions &options;
  bool isPart = false; ///< of a model whose class is not the family's; `config` is a nested object then

  /// Positions of the longest sequence of the program, of a model with `positions`.
  int64_t longest(int64_t positions) const { return options.maxSequenceLength ? options.maxSequenceLength : positions; }
};

/// Reads a specification; errors are recorded in the config.
using ReadDecoder = DecoderSpec(const DecoderSource &);

/// A family of decoders.
struct DecoderFamily {
  ReadDecoder *read;
  /// Keys that training or Hugging Face's own code read; no logit depends on them.
  std::vector<std::string_view> harmlessKeys = harmless::keys({harmless::decoder});
  /// Tensors that checkpoints have and nothing reads, besides a head that is also the embedding.
  std::vector<std::string_view> ignoredTensors = {"*rotary_emb.inv_freq"};
};

/// The module of stage `imported` of a decoder.
ImportedModule importDecoder(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                             const ImportOptions &options, const DecoderFamily &family);

} // namespace rapt::importing
