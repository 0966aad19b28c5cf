//===- EncoderDecoder.h - The module and the entries of an encoder-decoder -*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ModelModule.h"
#include "lib/Import/Module/TextModule.h"
#include "lib/Import/Parts/CrossAttention.h"

namespace rapt::importing {

/// The ids of source and target, by the keys `vocab_size` and `decoder_vocab_size`.
struct Vocabularies {
  int64_t target;
  int64_t source = 0; ///< where it has a vocabulary of its own, else 0

  bool areSeparate() const { return source != 0; }
  /// Ids that the encoder reads.
  int64_t read() const { return areSeparate() ? source : target; }
  /// Records what the first token of targets and a table that source and target share do not fit.
  void check(huggingface::ConfigReader &config, int64_t startToken, bool sharesTable) const;
};
/// Without `decoder_vocab_size` one vocabulary serves both. Records errors.
Vocabularies readVocabularies(huggingface::ConfigReader &config);

/// The module of an encoder-decoder under construction: attn.model, dims, parameters and the entries
///
///   encode(cache, input_ids, row_begin, past, source_table, ...) -> (cache, encoder_last_hidden_state)
///   encode(cache, input_features, past, source_table, ...) -> (cache, encoder_last_hidden_state) of features
///   step(cache, tokens, row_begin, past, block_table, want, source_length, source_table, ...) -> (cache, logits)
///
/// which are built in this order; see docs/Semantics.md. Those of a model with adapters have their arguments, too.
class EncoderDecoderModule {
public:
  /// Declares dims and parameters. The parameters are resolved; `facts` have the decoder's layers and heads, and the
  /// positions of a target, which a source of words has, too.
  EncoderDecoderModule(mlir::MLIRContext &context, const ModelFacts &facts, const huggingface::ModelDescription &model,
                       const ParameterSet &parameters, const ImportOptions &options);

  Scope scope() { return module.scope(); }

  /// Opens `encode`.
  void beginEncode();
  /// The source: its words' ids, [tokens], or its features, [rows, channels, frames].
  mlir::Value input() const { return argument(readsFeatures() ? EntryRole::InputFeatures : EntryRole::InputIds); }
  /// Rows of the source's tokens; the table is the sources'.
  const Rows &sourceRows() const { return ofSource; }
  /// Ends it with the cache and the encoder's output, [tokens, width].
  void endEncode(mlir::Value cache, mlir::Value hidden);

  /// Opens `step`.
  void beginStep() { entries.beginStep(); }
  Rows rows() const { return entries.rows(); }
  Sources sources() const { return {argument(EntryRole::SourceLength), argument(EntryRole::SourceTable)}; }
  void endStep(mlir::Value cache, mlir::Value logits);
  mlir::OwningOpRef<mlir::ModuleOp> take() { return module.take(); }

  /// Of the entry that is open.
  mlir::Value argument(EntryRole role) const { return entries.argument(role); }
  std::optional<AdapterRows> adapters() const { return entries.adapters(); }

private:
  mlir::OpBuilder &builder() { return module.builder(); }
  bool readsFeatures() const { return facts.featureFrames != 0; }

  ModelModule module;
  ModelFacts facts;
  SequenceEntries entries;
  Rows ofSource;
};

} // namespace rapt::importing
