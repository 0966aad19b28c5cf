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

struct EmbeddingSpec {
  std::string table = "embed_tokens"; ///< without ".weight", as all parts
  double scale = 1;
  std::string positions;             ///< a learned table; empty: none
  int64_t firstPosition = 0;         ///< rows of the table ahead of position 0
  std::vector<float> sinusoids = {}; ///< frequencies of positions without a table, one for each column; empty: none
  std::string norm;                  ///< empty: none
  int64_t width = 0;                 ///< of the table where `projection` makes the model's width of it; 0: the model's
  std::string projection;
};

struct HeadSpec {
  std::string norm = "norm";      ///< behind the last layer; empty: none
  std::string projection;         ///< from the model's width to the embedding's; empty: none
  std::string weight = "lm_head"; ///< never has the prefix: it belongs to the class around the transformer
  bool isTied = false, hasBias = false;
  double scale = 1;   ///< times the logits
  double softCap = 0; ///< c of c * tanh(logit / c); 0: none
};

/// A decoder. The defaults are those of most families.
struct DecoderSpec : StackSpec {
  int64_t vocabulary = 0, positions = 0;
  std::string positionsKey = "max_position_embeddings"; ///< as messages name the bound of a learned table
  EmbeddingSpec embedding;
  HeadSpec head;
  std::array<std::string, 2> prefixes = {"model.", ""}; ///< of all tensors but the head's, the most common one first
  std::string headPrefix;                               ///< of the head's tensors
  std::optional<int64_t> endToken;                      ///< where no file names one
  std::vector<std::string> ignoredTensors; ///< patterns of tensors that nothing reads, besides the family's

  // Classes that read whole texts, and give no logits of words.
  std::optional<EncoderHead> wholeHead; ///< empty: a language model
  int64_t labels = 0;
  std::optional<int64_t> padding; ///< classes of a text are those of its last token of another id; empty: of any id
  bool isBidirectional = false;   ///< tokens see those behind them
  bool isWindowAround = false;    ///< a window's tokens are those on each side
  bool isBase = false;            ///< a class without a head, "LlamaModel"
};

/// Slopes of attention with linear biases for any number of heads (Press et al. 2022): 2^(-bias * i / n), where n is
/// the next power of two, even ones of i first.
std::vector<float> alibiSlopes(int64_t heads, double bias = 8);

} // namespace rapt::importing
