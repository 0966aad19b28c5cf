//===- Decoder.h - The module and the entry of a decoder ----------------*- C++ -*-===//
#pragma once
#include "lib/Import/Blocks.h"
#include "lib/Import/ModelModule.h"

namespace rapt::importing {

/// The ids that end a text: of the config and of generation_config.json, ascending; `fallback` is the family's where
/// neither names one. Ids that the vocabulary lacks are left out with a warning, `fallback` without. A wrong value in
/// the config is recorded there, one in generation_config.json is returned.
Expected<std::vector<int64_t>> readEndTokens(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                             int64_t vocabulary, std::optional<int64_t> fallback);

/// A decoder's module under construction: attn.model, dims, parameters and the entry
/// `step(cache, tokens, row_begin, past, block_table, want) -> (cache, logits)`; see docs/Semantics.md.
class DecoderModule {
public:
  /// Declares everything up to the body of the entry; the task is "decoder". The parameters are resolved.
  DecoderModule(mlir::MLIRContext &context, const ModelFacts &facts, const huggingface::ModelDescription &model,
                const ParameterSet &parameters, const ImportOptions &options);

  mlir::OpBuilder &builder() { return module.builder(); }
  mlir::func::FuncOp entry() { return step; }
  mlir::Value cache() { return step.getArgument(0); }
  mlir::Value tokens() { return step.getArgument(1); }
  Rows rows() { return {step.getArgument(2), step.getArgument(3), step.getArgument(4)}; }
  /// Indices into the step's tokens whose logits are asked for.
  mlir::Value want() { return step.getArgument(5); }

  /// Ends the entry and hands the module over.
  mlir::OwningOpRef<mlir::ModuleOp> finish(mlir::Value cache, mlir::Value logits);

private:
  ModelModule module;
  mlir::func::FuncOp step;
};

} // namespace rapt::importing
