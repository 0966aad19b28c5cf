//===- ModelModule.h - The module of a model under construction ---------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ImportOptions.h"
#include "lib/Import/Module/Scope.h"
#include "lib/Support/EntryRoles.h"
#include "lib/Support/ModelFacts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace rapt::importing {

/// A dim of a module, with its bounds.
struct DimBounds {
  std::string name;
  int64_t least, most;
};

/// An argument or a result of an entry; lib/Support/EntryRoles.def lists those that the runtime knows.
struct EntryBuffer {
  std::string name;
  mlir::Type type;
  std::vector<std::string> dims;     ///< the declared dim of each dynamic extent, "rows+1" among them
  std::optional<int64_t> limit = {}; ///< integers must be at least 0 and less than this
  bool optional = false;             ///< a caller may leave it out: zeros
};

/// What a model says of a buffer whose role lib/Support/EntryRoles.def lists.
struct BufferFacts {
  llvm::SmallVector<int64_t> numbers = {}; ///< extents behind the dims of a buffer with "..."
  mlir::Type layout = {};                  ///< of a cache
  std::optional<int64_t> limit = {};       ///< integers must be at least 0 and less than this
};

/// The buffer of a role with the extents behind its dims.
EntryBuffer bufferOf(mlir::MLIRContext &context, EntryRole role, const BufferFacts &facts = {});

/// Dims and arguments of an entry that not every model of its kind has.
struct ExtraInputs {
  std::vector<DimBounds> dims;
  std::vector<EntryBuffer> inputs;
};

/// The positions that one sequence may have: the model's, or fewer when the options ask for fewer. More than a learned
/// table holds is an error that names `table`.
Expected<int64_t> boundPositions(const ImportOptions &options, int64_t positions, const std::string &table);

/// attn.model, dims, parameters, then entries one after another.
class ModelModule {
public:
  /// The parameters are resolved.
  ModelModule(mlir::MLIRContext &context, const ModelFacts &facts, const huggingface::ModelDescription &model,
              const ParameterSet &parameters);

  /// Declares a dim with inclusive bounds. All dims come before `declareParameters`.
  void dim(llvm::StringRef name, int64_t least, int64_t most);
  void declareParameters();

  /// Opens an entry and moves the builder into it. A result with an argument's name is that argument, updated in place.
  mlir::func::FuncOp beginEntry(llvm::StringRef name, llvm::ArrayRef<EntryBuffer> inputs,
                                llvm::ArrayRef<EntryBuffer> outputs);
  /// Ends it with the values of its outputs.
  void endEntry(mlir::ValueRange results);

  mlir::OpBuilder &builder() { return body; }
  /// That of the ops of the entry.
  Scope scope() { return {body, parameters}; }
  mlir::func::FuncOp entry() { return current; }
  mlir::OwningOpRef<mlir::ModuleOp> take() { return std::move(module); }

private:
  const ParameterSet &parameters;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder body;
  mlir::func::FuncOp current;
};

/// tensor<?x...xTYPE> helpers for entries: `any` extents are dynamic.
mlir::RankedTensorType tensorOf(llvm::ArrayRef<int64_t> shape, mlir::Type element);

} // namespace rapt::importing
