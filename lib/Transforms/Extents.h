//===- Extents.h - Extents of tensors that follow from others -------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace rapt {

/// The extents of a module's tensors in groups. Within a group the ops force each extent to be another plus a number,
/// whatever a caller gives: the offsets of packed rows are one more than the rows.
class Extents {
public:
  explicit Extents(mlir::ModuleOp module);

  /// An extent is the least of its group plus `more`.
  struct Place {
    unsigned group;
    int64_t more;
  };
  Place placeOf(mlir::Value tensor, unsigned i);

  /// The least extent of a group, where the type of a tensor tells it.
  std::optional<int64_t> leastOf(unsigned group) const;

  /// Makes two tensors' extents equal one by one; nothing unless both are tensors of one rank.
  void equalAll(mlir::Value a, mlir::Value b);

  /// An op with which an extent would have two sizes, or one below 0; null without one.
  mlir::Operation *getContradiction() const { return contradiction; }

private:
  /// A member of a union-find forest: its extent is its parent's plus `more`.
  struct Set {
    unsigned parent;
    int64_t more = 0;
    int64_t lowest = 0;            ///< of a root: the least of the group's extents, less the root's
    std::optional<int64_t> number; ///< of a root: its extent, where a type tells it
  };

  unsigned idOf(mlir::Value tensor, unsigned i);
  Place find(unsigned id);
  void equal(mlir::Value a, unsigned i, mlir::Value b, unsigned j, int64_t more);
  void fix(mlir::Value tensor, unsigned i, int64_t number);
  void bound(mlir::Value tensor, unsigned i, int64_t least);
  void demand(bool isPossible);
  void take(const attn::DimRelations &dims);

  llvm::DenseMap<std::pair<mlir::Value, unsigned>, unsigned> ids;
  std::vector<Set> sets;
  mlir::Operation *current = nullptr, *contradiction = nullptr;
};

} // namespace rapt
