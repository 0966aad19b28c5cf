//===- TextModule.h - The modules of encoders and decoders of texts -*- C++ -*-===//
#pragma once
#include "lib/Import/Module/AdapterInputs.h"

namespace rapt::importing {

/// The module of an encoder of texts under construction: attn.model, dims, parameters and the entry
/// `forward(input_ids, ..., row_begin) -> outputs`, whose rows are packed; see docs/Semantics.md.
class EncoderModule {
public:
  /// Declares everything up to the body of the entry. The parameters are resolved. The inputs of `extra` come between
  /// input_ids and row_begin.
  EncoderModule(mlir::MLIRContext &context, const ModelFacts &facts, const huggingface::ModelDescription &model,
                const ParameterSet &parameters, const ImportOptions &options, const ExtraInputs &extra,
                llvm::ArrayRef<EntryBuffer> outputs);

  Scope scope() { return module.scope(); }
  mlir::Value ids() { return forward.getArgument(0); }
  /// The first of the inputs of `extra`.
  mlir::Value firstInput() { return forward.getArgument(1); }
  /// The adapters of its tokens, whose inputs are the last ones of `extra`; none of a model without adapters.
  std::optional<AdapterRows> adapters();
  mlir::Value rowBegin() { return forward.getArguments().back(); }

  /// Ends the entry and hands the module over.
  mlir::OwningOpRef<mlir::ModuleOp> finish(mlir::ValueRange outputs);

private:
  mlir::OpBuilder &builder() { return module.builder(); }

  ModelModule module;
  bool hasAdapters;
  mlir::func::FuncOp forward;
};

/// The ids that end a text: of the config and of generation_config.json, ascending; `fallback` is the family's where
/// neither names one. Ids that the vocabulary lacks are left out with a warning, `fallback` without. A wrong value in
/// the config is recorded there, one in generation_config.json is returned.
Expected<std::vector<int64_t>> readEndTokens(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                             int64_t vocabulary, std::optional<int64_t> fallback);

/// Layers whose queries see the last keys alone, at most `window` of them.
struct WindowedLayers {
  int64_t count = 0, window = 0;
};

/// Heads of a layer's keys and values, and the channels of a key and of a value.
struct CachedHeads {
  int64_t heads = 0;
  std::array<int64_t, 2> channels = {};
};

/// What layers without a window have in their cache, and those with one, which may have a cache of their own.
struct CachesOfLayers {
  CachedHeads whole, windowed;
  WindowedLayers windows;
};

/// Layers that keep states of a sequence in place of keys and values.
struct StateLayers {
  int64_t count = 0; ///< of the model's layers, the others have keys and values
  /// Extents of a sequence's `state`: [layers, heads, key channels, value channels] of linear attention. Empty: the
  /// step has none.
  llvm::SmallVector<int64_t> matrices;
  /// Those of its `conv_state`, [layers, reach, channels]: the last inputs of short convolutions. Empty: none.
  llvm::SmallVector<int64_t> inputs;
};

/// What not every decoder's step has.
struct DecoderExtras {
  /// Tokens of the longest text that has the rotary embedding of short ones; 0 where all texts have the same.
  int64_t longestShortText = 0;
  bool readsImages = false;     ///< tokens may stand for vectors of images
  bool seesWholeImages = false; ///< which see one another in layers with a window
  int64_t imageLayers = 0;      ///< first layers, for each of which a vector of an image has a part of its own
  int64_t rotaryAxes = 0;       ///< axes of the positions of rotary embedding that the runtime gives; 0: it gives none
  std::vector<DimBounds> dims;  ///< of further entries
  StateLayers states = {};
};

/// A decoder's module under construction: attn.model, dims, parameters and the entry
/// `step(cache, tokens, row_begin, past, block_table, want, ...) -> (cache, logits)`; see docs/Semantics.md. Where
/// only some layers have a window, these have a cache and a table of their own, `window_cache` and `window_table`.
/// Where layers keep states, `state`, `conv_state` or both are there, with `state_slot` and `state_target`; a model of
/// such layers alone has no cache, past and block_table.
class DecoderModule {
public:
  /// Declares everything up to the body of the entry. The parameters are resolved.
  DecoderModule(mlir::MLIRContext &context, const ModelFacts &facts, const CachesOfLayers &ofLayers,
                const huggingface::ModelDescription &model, const ParameterSet &parameters,
                const ImportOptions &options, const DecoderExtras &extra = {});

  Scope scope() { return module.scope(); }
  /// For further entries, once the step has ended.
  ModelModule &getModule() { return module; }
  /// The cache, and that of layers with a window where they have their own; none where no layer has keys and values.
  llvm::SmallVector<mlir::Value> caches() const { return present({EntryRole::Cache, EntryRole::WindowCache}); }
  Rows rows() const { return entries.rows(); }
  mlir::Value argument(EntryRole role) const { return entries.argument(role); }
  std::optional<AdapterRows> adapters() const { return entries.adapters(); }

  /// Ends it with the new values of `caches()`, and of `state` and `conv_state`, those that it has.
  void endStep(mlir::ValueRange caches, mlir::Value logits, mlir::ValueRange states = {});
  mlir::OwningOpRef<mlir::ModuleOp> take() { return module.take(); }

private:
  /// The arguments of these roles that the step has.
  llvm::SmallVector<mlir::Value> present(std::initializer_list<EntryRole> roles) const;

  ModelModule module;
  SequenceEntries entries;
};

} // namespace rapt::importing
