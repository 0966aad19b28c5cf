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
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Specs/EncoderDecoder.h"

namespace rapt::importing {

/// Positions that are added to embeddings.
struct PositionSpec {
  enum Kind : uint8_t {
    None,
    Learned,          ///< a table of the side's
    Sinusoids,        ///< sines in even columns, cosines in odd ones
    HalvesOfSinusoids ///< sines in the first half of the columns, cosines in the second one
  };
  Kind kind = None;
  std::string table = "embed_positions"; ///< of learned positions, behind the side's prefix
  int64_t first = 0;                     ///< rows of the table ahead of position 0, or the number of position 0
  std::vector<float> frequencies = {};   ///< of sinusoids, one for each column
  /// Tokens of this id have no sinusoids, and a source's are not counted either.
  std::optional<int64_t> padding = {};
};

/// One of the two stacks.
struct SideSpec : StackSpec {
  std::string name;   ///< "encoder": the stack's, and that of its weights' symbols
  std::string prefix; ///< of its tensors, "model.encoder."
  std::string table;  ///< symbol of the words' table; empty of an encoder that reads features
  PositionSpec positions;
  std::string embeddingNorm; ///< behind the embedding; empty: none
  std::string finalNorm;     ///< behind the last layer; empty: none
  std::optional<RelativeBiasSpec> bias;
};

/// A table of words: symbol, tensor, rows.
struct TableSpec {
  std::string symbol, tensor;
  int64_t rows;
};

struct EncoderDecoderSpec {
  SideSpec encoder, decoder;
  std::optional<FeaturesSpec> features; ///< that the encoder reads, with learned positions; none: it reads words
  std::vector<TableSpec> tables;        ///< what the sides look words up in
  double embeddingScale = 1;
  Vocabularies vocabularies;
  int64_t positions = 0; ///< of a target, and of a source of words
  bool isBounded = true; ///< no text may be longer than that
  std::string positionsKey = "max_position_embeddings";
  int64_t startToken = 0;
  std::optional<int64_t> endToken; ///< where no file names one

  // The head.
  std::string head = "lm_head", headTensor = "lm_head.weight";
  bool isTied = true;        ///< to the decoder's table
  std::string headBias = {}; ///< a tensor of [words], or of [1, words]; empty: none
  bool isBiasMatrix = false;
  double headScale = 1;
  std::vector<std::string_view> harmlessKeys, ignoredTensors;
};

/// Frequencies of sinusoids where neighboring columns have one frequency: 10000^(-2 floor(c / 2) / width) for each
/// column c.
std::vector<float> pairedFrequencies(int64_t width);

/// The module of stage `imported` of an encoder-decoder; errors are those of the config, which `spec` was read from.
ImportedModule importEncoderDecoder(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                    const ImportOptions &options, const EncoderDecoderSpec &spec);

} // namespace rapt::importing
