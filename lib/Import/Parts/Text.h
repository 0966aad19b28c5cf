//===- Text.h - Words ahead of a stack of layers, logits behind it --------*- C++ -*-===//
//
// What decoders, encoders, both sides of encoder-decoders and towers of texts have besides
// their layers: the embedding of words, types and positions, and the head that gives logits.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// Positions that are added to embeddings: a learned table, or sinusoids; without both there are none.
struct PositionSpec {
  std::string table = {}; ///< without ".weight", as all parts
  int64_t first = 0;      ///< rows of the table ahead of position 0, or of sinusoids the number of position 0
  std::vector<float> frequencies = {}; ///< of sinusoids, one for each column
  bool areHalves = false;              ///< sines are the first half of the columns, instead of even ones
  /// The id of tokens that positions of a text that begins here do not count. They have no sinusoids, and the last row
  /// ahead of position 0.
  std::optional<int64_t> padding = {};
  std::string location = {}; ///< of ops that count and of sinusoids; empty: the table, or "positions"

  bool exist() const { return !table.empty() || !frequencies.empty(); }
};

/// Rows of words plus those of types and positions, normalized and made as wide as the layers.
struct EmbeddingSpec {
  /// What a projection makes as wide as the layers. It has a bias where that is the norm.
  enum Projected : uint8_t { Words, Sum, Norm };

  std::string words = "embed_tokens"; ///< the table's symbol, and the part of its tensor
  std::string tensor = {};            ///< the table's tensor; empty: that of the part
  double scale = 1;                   ///< times the words' rows
  int64_t types = 0;                  ///< 0: none
  PositionSpec positions = {};
  std::string norm = {}; ///< empty: none
  int64_t width = 0;     ///< of the words' table; 0: that of the layers
  Projected projected = Norm;
  std::string projection = {};
  std::string location = {}; ///< of sums; empty: that of positions
};

/// A stack of layers that reads words.
struct TextSpec : StackSpec {
  int64_t vocabulary = 0, positions = 0;
  std::string positionsKey = "max_position_embeddings"; ///< as messages name the bound of a learned table
  std::string stack;                                    ///< name of the layers; empty where the model has one stack
  EmbeddingSpec embedding;
  std::string finalNorm; ///< behind the last layer; empty: none

  int64_t embeddingWidth() const { return embedding.width ? embedding.width : width; }
};

/// Logits of words: a matrix, which may be the words' table, times what the layers give.
struct HeadSpec {
  std::string projection = {};    ///< from the layers' width to the table's; empty: none
  std::string weight = "lm_head"; ///< the matrix's symbol, and the part of its tensor
  std::string prefix = {};        ///< of its tensors, which are not the transformer's
  std::string bias = {};          ///< the tensor of the bias; empty: that of the part
  bool isTied = false, hasBias = false;
  bool isBiasMatrix = false; ///< the bias is [1, words]
  double scale = 1;          ///< times the logits
  double softCap = 0;        ///< c of c * tanh(logit / c); 0: none
};

/// Tokens of packed rows; null where weights are declared.
struct TextTokens {
  mlir::Value ids = {}, rowBegin = {};
  mlir::Value past = {};  ///< positions ahead of each row's first token; null: none
  mlir::Value types = {}; ///< where the model has some
  std::optional<AdapterRows> adapters = {};
};

/// The words' rows, scaled, [tokens, embeddingWidth].
mlir::Value walkWords(const Walk &walk, const TextSpec &text, mlir::Value ids);

/// The number of each token's position; null where embeddings have none.
mlir::Value walkPositions(const Walk &walk, const TextSpec &text, const TextTokens &tokens);

/// What the first layer reads, [tokens, width], of the words' rows x and their positions.
mlir::Value walkEmbedding(const Walk &walk, const TextSpec &text, mlir::Value x, mlir::Value positions,
                          const TextTokens &tokens);

/// Logits of the wanted tokens, from what the last layer gives of all. `outside` is the walk of parts without the
/// stack's names.
mlir::Value walkHead(const Walk &walk, const Walk &outside, const TextSpec &text, const HeadSpec &head, mlir::Value x,
                     mlir::Value want);

} // namespace rapt::importing
