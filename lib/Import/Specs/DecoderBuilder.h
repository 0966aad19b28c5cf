//===- DecoderBuilder.h - The module of a decoder from its specification -*- C++ -*-===//
#pragma once
#include "lib/Import/Module/HarmlessKeys.h"
#include "lib/Import/Module/ImportOptions.h"
#include "lib/Import/Module/ModelModule.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/DecoderSpec.h"

namespace rapt::importing {

/// The source of a family's specification.
struct DecoderSource {
  huggingface::ModelDescription &model;
  huggingface::ConfigReader &config;
  const ImportOptions &options;
  bool isPart = false;      ///< of a model whose class is not the family's; `config` is a nested object then
  bool readsImages = false; ///< of such a model, which is compiled with its images

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

class DecoderModule;
struct StateLayers;
struct CachesOfLayers;

/// Replaces embeddings of tokens, [tokens, width].
using MapEmbeddings = llvm::function_ref<mlir::Value(const Scope &top, mlir::Value embeddings)>;

/// Tokens of the longest text that has the rotary embedding of short ones; 0 where all texts have the same.
int64_t longestShortText(const DecoderSpec &spec);

/// Vectors of images, and the tokens that stand for them.
struct ImageVectors {
  mlir::Value vectors = {}; ///< [vectors, 1 + imageLayers, width]; without such layers [vectors, width]
  mlir::Value tokens = {};  ///< tensor<?xi32>, the token of each vector
};

/// Arguments of the entry `step`; null where weights are declared.
struct DecoderInputs {
  mlir::Value tokens = {}, want = {};
  Rows rows = {};
  llvm::SmallVector<mlir::Value> caches = {mlir::Value()};
  mlir::Value windowTable = {};
  std::optional<AdapterRows> adapters = {};
  mlir::Value textLength = {};                ///< where rotary embedding depends on it
  mlir::Value rotaryPositions = {};           ///< where it has several axes
  ImageVectors images = {};                   ///< where tokens may stand for them
  mlir::Value seenEnd = {};                   ///< where tokens of an image see one another
  mlir::Value matrices = {}, lastInputs = {}; ///< `state` and `conv_state`, of layers that have them
  mlir::Value stateSlot = {}, stateTarget = {};
};

/// The logits of the wanted tokens, and the caches and states behind the step. Symbols of weights are the names of
/// their parts.
Expected<llvm::SmallVector<mlir::Value>> walkDecoder(const Walk &walk, const DecoderSpec &spec,
                                                     const DecoderInputs &inputs = {}, MapEmbeddings map = {});

/// The body of the entry `step`, from tokens to logits, and its end.
Status buildDecoderStep(DecoderModule &decoder, const DecoderSpec &spec, MapEmbeddings map = {});

/// Those of a decoder whose sequences have so many positions.
CachesOfLayers cachesOf(const DecoderSpec &spec, int64_t positions);

/// The layers whose sequences keep states, and what they keep.
StateLayers stateLayersOf(const DecoderSpec &spec);

/// The facts that a decoder's specification has.
ModelFacts decoderFacts(const DecoderSpec &spec, const huggingface::ModelDescription &model, int64_t positions,
                        std::vector<int64_t> endTokens);

} // namespace rapt::importing
