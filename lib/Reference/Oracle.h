//===- Oracle.h - The evaluator as a module of the runtime -----------------------*- C++ -*-===//
//
// A rapt_artifact in memory whose entries evaluate the functions of an MLIR module, so that the runtime's sequences
// drive the executable semantics as they drive compiled code. An entry is a C function without a closure: the oracle
// that it belongs to is where its weights are, of which it needs no others, as parameters come from their reader.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/WeightPacker.h"
#include "lib/Reference/ParameterReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <memory>
#include <rapt/artifact.h>

namespace rapt::reference {

class Oracle {
public:
  /// The artifact of a model's module, whose entries compute in f32 or f64, as `inF64` says. Its buffers are f32 in any
  /// case, but for caches and states. `files` of the model's directory are what the runtime finds in its weights. The
  /// module and the parameters must outlive it.
  static Expected<std::unique_ptr<Oracle>> make(mlir::ModuleOp module, ParameterReader &parameters, bool inF64,
                                                const std::vector<artifact::Section> &files = {});
  Oracle(const Oracle &) = delete;
  Oracle &operator=(const Oracle &) = delete;
  virtual ~Oracle() = default;

  /// Lives as long as the oracle, which all modules that are opened from it must not outlive.
  const rapt_artifact &artifact() const { return table; }
  /// Whether an entry has stopped at an error, which was emitted to the module's context. The runtime calls what comes
  /// of it a bug of compiled code.
  bool hasFailed() const { return failed; }
  /// Runs entry `number`. False after an error.
  virtual bool run(size_t number, void *const *buffers, const int64_t *dims) = 0;

protected:
  Oracle() = default;
  bool failed = false;

private:
  Status describe(mlir::ModuleOp module, llvm::ArrayRef<mlir::func::FuncOp> entries, int64_t scalarBytes);
  Status placeFiles(const std::vector<artifact::Section> &files);

  std::string manifest;
  std::vector<std::string> names;
  std::vector<rapt_artifact_entry> entries;
  std::unique_ptr<std::byte, void (*)(std::byte *)> weights{nullptr, nullptr};
  uint64_t weightsBytes = 0;
  rapt_artifact table{};
};

} // namespace rapt::reference
