//===- ParameterReader.h - Where the evaluator gets weights ----------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "lib/Artifact/TensorReader.h"
#include "lib/Support/Npy.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace rapt::reference {

/// Name in the checkpoint of what `source` is in slice `layer` of its parameter.
std::string tensorName(attn::ParameterOp parameter, attn::SourceAttr source, int64_t layer);

/// Values of attn.parameter symbols.
class ParameterReader {
public:
  virtual ~ParameterReader() = default;

  /// The logical values of slice `layer` (0 when not stacked) in row-major order, rounded to the parameter's type.
  /// Errors name the parameter, the source, and what differs.
  virtual Expected<std::vector<double>> read(attn::ParameterOp parameter, int64_t layer) = 0;
};

/// Reads the sources that each attn.parameter names, applies their transforms one after the other, and joins them.
class SourceParameters : public ParameterReader {
public:
  explicit SourceParameters(const artifact::TensorReader &tensors) : tensors(tensors) {}
  Expected<std::vector<double>> read(attn::ParameterOp parameter, int64_t layer) override;

private:
  Expected<std::vector<double>> readTensor(llvm::StringRef name, const artifact::TensorInfo &info);
  const artifact::TensorReader &tensors;
};

/// Whole parameters by symbol name, each of the parameter's shape.
class NpyParameters : public ParameterReader {
public:
  llvm::StringMap<NpyTensor> tensors;
  Expected<std::vector<double>> read(attn::ParameterOp parameter, int64_t layer) override;
};

/// The tensors of a model directory: model.safetensors or the shards of its index. Errors name the file.
Expected<std::unique_ptr<artifact::TensorReader>> openTensors(const std::string &directory);

/// Weights of docs/RandomWeights.md for every source in `module`. The ops that use a tensor tell its purpose:
/// a table of attn.embedding is an embedding (also where it is a head too), the weight of attn.linear a weight
/// (of queries that are not scaled, where they are all it makes, for an attention of scale 1), that of a norm a gain,
/// all others biases. Errors name a parameter of several sources, whose shapes the IR does not have.
Expected<std::unique_ptr<artifact::TensorReader>> makeRandomTensors(mlir::ModuleOp module, uint64_t seed);

} // namespace rapt::reference
