//===- Encoder.h - The module and the entry of an encoder of texts ------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/AdapterInputs.h"

namespace rapt::importing {

/// The module of an encoder of texts under construction: attn.model, dims, parameters and the entry
/// `forward(input_ids, ..., row_begin) -> outputs`, whose rows are packed; see docs/Semantics.md.
class EncoderModule {
public:
  /// Declares everything up to the body of the entry. The parameters are resolved. The inputs of `more` come between
  /// input_ids and row_begin.
  EncoderModule(mlir::MLIRContext &context, const ModelFacts &facts, const huggingface::ModelDescription &model,
                const ParameterSet &parameters, const ImportOptions &options, const MoreOfEntry &more,
                llvm::ArrayRef<EntryBuffer> outputs);

  mlir::OpBuilder &builder() { return module.builder(); }
  mlir::func::FuncOp entry() { return forward; }
  mlir::Value ids() { return forward.getArgument(0); }
  /// The i-th of the inputs of `more`.
  mlir::Value input(unsigned i) { return forward.getArgument(1 + i); }
  mlir::Value rowBegin() { return forward.getArguments().back(); }

  /// Ends the entry and hands the module over.
  mlir::OwningOpRef<mlir::ModuleOp> finish(mlir::ValueRange outputs);

private:
  ModelModule module;
  mlir::func::FuncOp forward;
};

} // namespace rapt::importing
