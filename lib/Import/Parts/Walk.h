//===- Walk.h - Weights and ops of a part in one walk ---------------------*- C++ -*-===//
//
// The code of a part says once which weights it has and what it computes of them. It is walked
// twice: first the walk declares the weights, and all values are null; then, when the checkpoint
// has been found to have them, it emits the ops that read them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Module/ParameterSet.h"
#include "lib/Import/Module/Scope.h"
#include "lib/Import/Parts/Blocks.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rapt::importing {

/// The rows that a matmul has of a tensor: those that `slice` takes where they have the dims `groups`.
struct RowsOf {
  std::vector<int64_t> groups;
  artifact::Slice slice;
};

/// x times PART.weight [out, in], plus PART.bias [out] where there is one.
struct MatmulSpec {
  std::string part;
  int64_t out, in;
  bool hasBias;
  std::string stem = {};           ///< the tensors' names without "weight" or "bias"; empty: `part` and a point
  std::optional<RowsOf> rows = {}; ///< nothing: all rows of the tensors
  bool isConv1D = false;           ///< the weight is [in, out]
  std::optional<huggingface::Init> init = {}; ///< the weight's; nothing: the default
};

/// The weights of a matmul.
void addMatmul(const ParameterScope &scope, const MatmulSpec &spec);

/// The weights of a normalization of `width` columns, those that it has; none where the part has no name.
void addNorm(const ParameterScope &scope, const std::string &part, const NormSpec &norm, int64_t width);

class Walk {
public:
  /// A walk that declares weights.
  explicit Walk(const ParameterScope &weights) : weights(&weights) {}
  /// A walk that emits ops.
  explicit Walk(const Scope &scope) : scope(&scope) {}

  bool declares() const { return weights; }

  /// Calls `f` in the one walk, or the other.
  void declare(llvm::function_ref<void(const ParameterScope &weights)> f) const {
    if (weights)
      f(*weights);
  }
  mlir::Value emit(llvm::function_ref<mlir::Value(const Scope &scope)> f) const {
    return scope ? f(*scope) : mlir::Value();
  }

  /// Runs `body`. The weights of `parts` are declared after all its others, in this order.
  void declareLast(llvm::ArrayRef<std::string> parts, llvm::function_ref<void()> body) const;

  mlir::Value matmul(mlir::Value x, const MatmulSpec &spec) const;
  /// The norm of x's last dim, which has `width` columns; x where the part has no name.
  mlir::Value norm(mlir::Value x, const std::string &part, const NormSpec &norm, int64_t width) const;
  /// Rows of PART.weight [rows, columns], of which those before `begin` are left out: [ids, columns].
  mlir::Value embed(mlir::Value ids, const std::string &part, int64_t rows, int64_t columns, int64_t begin = 0) const;
  mlir::Value splitHeads(mlir::Value x, llvm::StringRef part, int64_t heads) const;

private:
  const ParameterScope *weights = nullptr;
  const Scope *scope = nullptr;
};

} // namespace rapt::importing
