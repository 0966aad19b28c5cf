//===- EncoderDecoderSpec.h - The specification of an encoder-decoder -----*- C++ -*-===//
//
// A family of encoder-decoders is data: two stacks of layers, the decoder's with cross
// attention, embeddings and head. A family's file reads it from config.json;
// importEncoderDecoder makes the module of any of them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Module/ImportOptions.h"
#include "lib/Import/Parts/Features.h"
#include "lib/Import/Parts/Text.h"
#include "lib/Import/Specs/EncoderDecoder.h"

namespace rapt::importing {

/// One of the two stacks, "encoder" or "decoder", which are symbols' first names. The table of words is none of its
/// parts: its names are whole.
struct SideSpec : TextSpec {
  std::string prefix; ///< of its tensors, "model.encoder."
  std::optional<RelativeBiasSpec> bias;
};

struct EncoderDecoderSpec {
  SideSpec encoder, decoder;
  std::optional<FeaturesSpec> features; ///< that the encoder reads, with learned positions; none: it reads words
  Vocabularies vocabularies;
  bool isBounded = true; ///< no text may be longer than the decoder's positions
  int64_t startToken = 0;
  std::optional<int64_t> endToken; ///< where no file names one
  HeadSpec head;
  std::vector<std::string_view> harmlessKeys, ignoredTensors;
};

/// Frequencies of sinusoids where neighboring columns have one frequency: 10000^(-2 floor(c / 2) / width) for each
/// column c.
std::vector<float> pairedFrequencies(int64_t width);

/// The module of stage `imported` of an encoder-decoder; errors are those of the config, which `spec` was read from.
ImportedModule importEncoderDecoder(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                    const ImportOptions &options, EncoderDecoderSpec spec);

} // namespace rapt::importing
