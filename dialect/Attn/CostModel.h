//===- CostModel.h - The cost that an op states ------------------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/Polynomial.h"
#include "mlir/IR/Region.h"
#include "mlir/IR/Value.h"

namespace rapt::attn {

/// The program around an op whose cost is told: it answers with polynomials over the entry's dims, and takes what the
/// op computes and moves. Sizes are logical: nothing is counted for padding.
class CostModel {
public:
  virtual ~CostModel() = default;

  virtual Polynomial dim(mlir::Value tensor, unsigned i) = 0;
  /// The product of all extents.
  virtual Polynomial elements(mlir::Value tensor) = 0;
  /// Bytes of one element in memory: for keys and values of a cache, of what the cache stores.
  virtual Polynomial elementBytes(mlir::Value value) = 0;
  /// Bytes of all elements, with the scales and zero points of quantized ones.
  virtual Polynomial bytes(mlir::Value tensor) = 0;

  /// The rows of attention, as its operands tell them; the last three are extents of the dims b, q and kv.
  struct AttentionRows {
    mlir::Value queryBegin, queryOffset, keyBegin, keyLength;
    mlir::Region &mask;
    Polynomial rows, queries, keys;
  };
  /// Twice the pairs of a query and a key that the mask keeps, and the keys that are read, of all rows.
  struct AttendedKeys {
    Polynomial twicePairs, keys;
  };
  virtual AttendedKeys attendedKeys(const AttentionRows &rows) = 0;
  /// The number of times that a recurrence over the rows between `offsets` reads its weight.
  virtual Polynomial timeSteps(mlir::Value offsets) = 0;

  /// Operations of matmuls on operands of type `dtype`.
  virtual void compute(const Polynomial &flops, mlir::Type dtype) = 0;
  /// Bytes that are read or written of a tensor or cache, which may be a weight.
  virtual void move(mlir::Value value, const Polynomial &bytes) = 0;
  void move(mlir::Value value) { move(value, bytes(value)); }
  /// All operands and results that are tensors, each once.
  void moveAll(mlir::Operation *op);
};

} // namespace rapt::attn
