//===- EncoderDecoderConfig.h - Keys that many encoder-decoders' configs have -*- C++ -*-===//
//
// Keys and names of parts that bart has, and models made after it. A family's file says how it
// differs, and changes the specification where that is not enough.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Specs/EncoderDecoderSpec.h"

namespace rapt::importing {

/// The part of learned positions.
inline constexpr const char *positionTable = "embed_positions";

/// Sizes of a stack that a configuration class takes where the file has no key.
struct SideSizes {
  int64_t layers = 12, heads = 16, inner = 4096;
};

/// How a family differs from bart, and the values that its configuration class takes where the file has no key.
struct EncoderDecoderDefaults {
  std::string architecture;                           ///< "Bart" of BartModel
  std::string headClass = "ForConditionalGeneration"; ///< behind `architecture`
  bool isNormFirst = false, hasEmbeddingNorm = true;
  bool isLearned = true;         ///< positions are a table, else halves of sinusoids
  int64_t firstPosition = 2;     ///< rows of a table ahead of position 0; -1: those up to pad_token_id
  bool mayHaveTwoTables = false; ///< source and target may have words of their own
  int64_t vocabulary = 50265, width = 1024;
  SideSizes sizes = {};
  int64_t padToken = 1, startToken = 2, endToken = 2;
  std::string_view activation = "gelu";
  bool isScaled = false; ///< words' rows are times the root of the width
};

/// Reads the sizes of one of the two stacks, whose keys begin with its name. Its norms are ahead of its parts.
SideSpec readSide(huggingface::ConfigReader &config, const std::string &prefix, const std::string &name, int64_t width,
                  const SideSizes &defaults);

/// Cross attention whose norm is ahead of it.
CrossAttentionSpec plainCrossAttention();

/// Reads everything. Records an error where `architectures` has no class that is supported.
EncoderDecoderSpec readEncoderDecoder(huggingface::ModelDescription &model, const EncoderDecoderDefaults &defaults);

} // namespace rapt::importing
