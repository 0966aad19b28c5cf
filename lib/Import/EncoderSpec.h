//===- EncoderSpec.h - The specification of an encoder of texts ----------*- C++ -*-===//
//
// A family of post-norm encoders is data: sizes, the names of its parts, and its heads. A
// family's file reads it from config.json; importEncoder makes the module of any of them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "lib/Import/Formats/HuggingFace/SentenceModules.h"
#include "lib/Import/Import.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <array>
#include <string>
#include <vector>

namespace rapt::importing {

enum class EncoderHead : uint8_t { None, MaskedLM, SequenceClassification, TokenClassification, QuestionAnswering };

/// Parts of a layer, which are names behind its path.
struct EncoderLayerSpec {
  std::string path = "encoder.layer.{layer}.";
  std::array<std::string, 3> attention = {"attention.self.query", "attention.self.key", "attention.self.value"};
  std::string location = "attention.self"; ///< names ops of no weight
  std::string out = "attention.output.dense", attentionNorm = "attention.output.LayerNorm";
  std::string up = "intermediate.dense", down = "output.dense", norm = "output.LayerNorm";
};

/// Words, positions and types, whose sum is normalized and made as wide as the layers.
struct EncoderEmbeddingSpec {
  int64_t width = 0;         ///< 0: that of the layers
  int64_t types = 0;         ///< 0: none
  int64_t firstPosition = 0; ///< rows of the table ahead of position 0
  std::string projection;    ///< where the width differs from that of the layers
};

/// Masked language modeling: norm(activation(dense(x))) times the words' table, which may have a projection's width.
struct MaskedLMSpec {
  std::string path = "cls.predictions."; ///< of all tensors
  std::string dense = "transform.dense", norm = "transform.LayerNorm";
  std::string bias = "bias", weight = "decoder.weight";
  attn::ActivationKind activation = attn::ActivationKind::gelu;
};

/// Classes of a text from its first token: classifier(activation(dense(x))).
struct ClassifierSpec {
  std::string dense = "pooler.dense", classifier = "classifier"; ///< `dense` has the transformer's prefix or none
  bool isPooler = true;                                          ///< `dense` is the transformer's pooler
  attn::ActivationKind activation = attn::ActivationKind::tanh;
};

struct EncoderSpec {
  int64_t width = 0, layers = 0, heads = 0, inner = 0, positions = 0, vocabulary = 0, labels = 0;
  double epsilon = 1e-12;
  attn::ActivationKind activation = attn::ActivationKind::gelu;
  bool isTied = true;
  bool mayPool = false; ///< the transformer alone may have a pooler
  std::string prefix = "bert.";
  EncoderHead head = EncoderHead::None;
  EncoderLayerSpec layer;
  EncoderEmbeddingSpec embedding;
  MaskedLMSpec masked;
  ClassifierSpec classifier;
  std::vector<std::string_view> harmlessKeys, ignoredTensors;

  // Facts that importEncoder finds in the model's files.
  bool hasPooler = false;
  std::array<std::string, 2> normNames = {"weight", "bias"};
  huggingface::SentenceModules sentence;

  int64_t embeddingWidth() const { return embedding.width ? embedding.width : width; }
};

/// A family's names of keys, and what its configuration class takes where the file has none.
struct EncoderDefaults {
  std::string architecture; ///< "Bert" of BertModel and BertForMaskedLM
  huggingface::Keys width = "hidden_size", layers = "num_hidden_layers", heads = "num_attention_heads",
                    inner = "intermediate_size", activation = "hidden_act";
  int64_t usualWidth = 768, usualLayers = 12, usualHeads = 12, usualInner = 3072, positions = 512, vocabulary = 30522;
  std::vector<std::string> pretraining; ///< further names of the class with the head of masked language modeling
};

/// Reads sizes, activation, head and labels.
EncoderSpec readEncoder(huggingface::ModelDescription &model, const EncoderDefaults &defaults);

/// The module of stage `imported` of an encoder; errors are those of the config, which `spec` was read from.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> importEncoder(mlir::MLIRContext &context,
                                                          huggingface::ModelDescription &model,
                                                          const ImportOptions &options, EncoderSpec spec);

} // namespace rapt::importing
