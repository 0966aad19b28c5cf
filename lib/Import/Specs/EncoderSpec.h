//===- EncoderSpec.h - The specification of an encoder of texts ----------*- C++ -*-===//
//
// A family of encoders is data: a stack of layers, embedding, and heads. A family's file
// reads it from config.json; importEncoder makes the module of any of them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/HuggingFace/SentenceModules.h"
#include "lib/Import/Module/ImportOptions.h"
#include "lib/Import/Module/ModelModule.h"
#include "lib/Import/Parts/Text.h"
#include "lib/Import/Parts/TokenConvolution.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <array>
#include <string>
#include <vector>

namespace rapt::importing {

enum class EncoderHead : uint8_t {
  None,
  MaskedLM,
  SequenceClassification,
  TokenClassification,
  QuestionAnswering,
  Discriminator ///< one logit for each token: whether another model wrote it
};

/// norm(activation(dense(x))), ahead of a head's projection; without `dense` it is x.
struct TransformSpec {
  std::string dense;
  attn::ActivationKind activation = attn::ActivationKind::gelu;
  std::string norm = {}; ///< empty: none
  bool hasBias = true;   ///< of `dense`
};

/// Masked language modeling: transform(x) times the words' table, which may have a projection's width.
struct MaskedLMSpec {
  std::string path = "cls.predictions."; ///< of all tensors
  TransformSpec transform = {.dense = "transform.dense", .norm = "transform.LayerNorm"};
  std::string bias = "bias", weight = "decoder.weight"; ///< no bias: empty
};

/// Two numbers of a pair of texts, by the pooler: whether one follows the other. Beside masked language modeling.
struct TextPairSpec {
  std::string projection, output; ///< names of the part and of the entry's output
};

/// Numbers of each token: projection(transform(x)).
struct TokenHeadSpec {
  TransformSpec transform;
  std::string projection;
};

/// Classes of a text: projection(transform(x)) of one of its tokens, or of the mean.
struct ClassifierSpec {
  TransformSpec transform = {.dense = "pooler.dense", .activation = attn::ActivationKind::tanh};
  std::string projection = "classifier";
  bool isPooler = true; ///< the transform is the transformer's pooler
  attn::PoolingKind pooling = attn::PoolingKind::first;
  bool hasBias = true;            ///< of the projection
  std::optional<int64_t> padding; ///< the last token is the last of another id; empty: of any id
};

/// An encoder. readEncoder sets the names that bert has.
struct EncoderSpec : TextSpec {
  int64_t labels = 0;
  bool isTied = true;
  bool mayPool = false;      ///< the transformer alone may have a pooler
  bool sharesLayers = false; ///< all layers have the same weights
  bool isCausal = false;     ///< a token sees none behind it, and a window counts the token itself
  std::string prefix = "bert.";
  std::array<std::string, 2> furtherPrefixes = {"", ""}; ///< of checkpoints without the first one
  std::optional<RelativeBiasSpec> relativeBias;
  std::optional<DisentangledSpec> disentangled;
  std::optional<TokenConvolutionSpec> tokenConvolution;
  EncoderHead head = EncoderHead::None;
  MaskedLMSpec masked;
  std::optional<TextPairSpec> textPair;
  ClassifierSpec classifier;
  TokenHeadSpec tokens = {.projection = "classifier"}, spans = {.projection = "qa_outputs"}, discriminator;
  std::vector<std::string_view> harmlessKeys, ignoredTensors;

  /// Tokens behind its own that a token's short convolutions read.
  int64_t ahead() const { return convolution ? convolution->convolution.ahead() : 0; }
  /// Rows that convolutions need of a text besides those of its tokens.
  int64_t margin() const { return tokenConvolution ? tokenConvolution->margin() : ahead(); }

  // Facts that importEncoder finds in the model's files.
  bool hasPooler = false;
  huggingface::SentenceModules sentence;
};

/// The location of the ops of an encoder's embedding.
inline constexpr const char *embeddingsLocation = "embeddings";

/// A family's names of keys, and what its configuration class takes where the file has none. An empty name is that of
/// a key that the family reads itself.
struct EncoderDefaults {
  std::string architecture; ///< "Bert" of BertModel and BertForMaskedLM
  huggingface::Keys width = "hidden_size", layers = "num_hidden_layers", heads = "num_attention_heads",
                    inner = "intermediate_size", activation = "hidden_act", positionsKey = "max_position_embeddings";
  int64_t defaultWidth = 768, defaultLayers = 12, defaultHeads = 12, defaultInner = 3072, positions = 512,
          vocabulary = 30522;
  std::vector<std::string> pretraining; ///< further names of the class with the head of masked language modeling
  /// The second head of such a class; nothing: it has none.
  std::optional<TextPairSpec> textPair = {};
  bool hasDiscriminator = false; ///< ForPreTraining is that head
};

/// Reads sizes, activation, head and labels; layers, embedding and heads are those of bert.
EncoderSpec readEncoder(huggingface::ModelDescription &model, const EncoderDefaults &defaults);

/// What the last layer gives, of texts of `longest` tokens at most.
Expected<llvm::SmallVector<mlir::Value>> walkEncoderLayers(const Walk &walk, const EncoderSpec &spec,
                                                           const TextTokens &tokens, int64_t longest);

/// The outputs of the head, from what the last layer gives of the tokens `ids`, [tokens, width].
llvm::SmallVector<mlir::Value> walkEncoderHead(const Walk &walk, const EncoderSpec &spec, mlir::Value x,
                                               mlir::Value ids, mlir::Value rowBegin);

/// Their names and types.
llvm::SmallVector<EntryBuffer> listEncoderOutputs(mlir::Builder builder, const EncoderSpec &spec);

/// The task of rapt-run.
std::string taskOf(EncoderHead head);

/// The module of stage `imported` of an encoder; errors are those of the config, which `spec` was read from.
ImportedModule importEncoder(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                             const ImportOptions &options, EncoderSpec spec);

} // namespace rapt::importing
