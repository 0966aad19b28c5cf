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

/// What is read of a parameter's elements: those of blocks have a number of a code, scale and offset of their group.
enum class PartOfElement : uint8_t { Value, Number, Scale, Offset };

/// Values of attn.parameter symbols.
class ParameterReader {
public:
  virtual ~ParameterReader() = default;

  /// The logical values of slice `layer` (0 when not stacked) in row-major order, rounded to the parameter's type.
  /// Errors name the parameter, the source, and what differs.
  virtual Expected<std::vector<double>> read(attn::ParameterOp parameter, int64_t layer) = 0;

  /// The same of a part of each element of a parameter that the checkpoint has in blocks.
  virtual Expected<std::vector<double>> readPart(attn::ParameterOp parameter, int64_t layer, PartOfElement part);
};

/// Reads the sources that each attn.parameter names, applies their transforms one after the other, and joins them.
class SourceParameters : public ParameterReader {
public:
  explicit SourceParameters(const artifact::TensorReader &tensors) : tensors(tensors) {}
  Expected<std::vector<double>> read(attn::ParameterOp parameter, int64_t layer) override {
    return readPart(parameter, layer, PartOfElement::Value);
  }
  Expected<std::vector<double>> readPart(attn::ParameterOp parameter, int64_t layer, PartOfElement part) override;

private:
  Expected<std::vector<double>> readTensor(llvm::StringRef name, const artifact::TensorInfo &info);
  Expected<std::vector<double>> readBlocks(llvm::StringRef name, const artifact::TensorInfo &info, PartOfElement part);
  const artifact::TensorReader &tensors;
};

/// Whole parameters by symbol name, each of the parameter's shape.
class NpyParameters : public ParameterReader {
public:
  llvm::StringMap<NpyTensor> tensors;
  Expected<std::vector<double>> read(attn::ParameterOp parameter, int64_t layer) override;
};

/// Weights of docs/RandomWeights.md for every source in `module`. The ops that use a tensor tell its purpose:
/// a table of attn.embedding is an embedding (also where it is a head too), the weight of attn.linear a weight
/// (of queries that are not scaled, where they are all it makes, for an attention of scale 1), that of a norm a gain,
/// all others biases. Errors name a parameter of several sources, whose shapes the IR does not have.
Expected<std::unique_ptr<artifact::TensorReader>> makeRandomTensors(mlir::ModuleOp module, uint64_t seed);

} // namespace rapt::reference
