//===- DecoderSpec.h - The specification of a decoder --------------------*- C++ -*-===//
//
// A family of decoders is data: a stack of layers, embedding, head, and the names of
// the tensors. A family's file reads it from config.json; importDecoder
// (DecoderBuilder.h) makes the module of any of them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Specs/EncoderSpec.h"

namespace rapt::importing {

/// A decoder. The defaults are those of most families.
struct DecoderSpec : TextSpec {
  DecoderSpec() { finalNorm = "norm"; }

  HeadSpec head;
  std::array<std::string, 2> prefixes = {"model.", ""}; ///< of all tensors but the head's, the most common one first
  std::string prefixOfTexts =
      "transformer.";              ///< a third one, of classes that read whole texts (LlamaForQuestionAnswering)
  std::optional<int64_t> endToken; ///< where no file names one
  std::vector<std::string> ignoredTensors; ///< patterns of tensors that nothing reads, besides the family's

  // Classes that read whole texts, and give no logits of words.
  std::optional<EncoderHead> wholeHead; ///< empty: a language model
  int64_t labels = 0;
  std::optional<int64_t> padding; ///< classes of a text are those of its last token of another id; empty: of any id
  bool isBidirectional = false;   ///< tokens see those behind them
  bool isWindowAround = false;    ///< a window's tokens are those on each side
  bool seesWholeImages = false;   ///< tokens of an image see those behind them in it, in layers with a window
  bool isBase = false;            ///< a class without a head, "LlamaModel"
};

/// Slopes of attention with linear biases for any number of heads (Press et al. 2022): 2^(-bias * i / n), where n is
/// the next power of two, even ones of i first.
std::vector<float> alibiSlopes(int64_t heads, double bias = 8);

} // namespace rapt::importing
