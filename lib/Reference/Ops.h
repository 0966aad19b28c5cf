//===- Ops.h - One plain function for each op of the attn dialect ----------*- C++ -*-===//
//
// The executable form of docs/Semantics.md. Each function computes its op by the
// formula, in the order of the formula: sums run over increasing indices, one
// rounding an operation. Errors (an id outside of its table) are emitted at the op.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "lib/Reference/Scalar.h"
#include "llvm/ADT/SmallBitVector.h"

namespace rapt::reference {

class ParameterReader;

template <typename S> using Result = mlir::FailureOr<Tensor<S>>;
template <typename S> using Tensors = llvm::ArrayRef<const Tensor<S> *>;

// Embedding.cpp
template <typename S> Result<S> evaluate(attn::EmbeddingOp op, const Tensor<S> &ids, const Tensor<S> &table);
template <typename S>
Result<S> evaluate(attn::SelectRowsOp op, const Tensor<S> &input, int64_t layer, const Tensor<S> &rows);
template <typename S>
Result<S> evaluate(attn::WriteRowsOp op, const Tensor<S> &input, const Tensor<S> &values, int64_t layer,
                   const Tensor<S> &rows);
template <typename S> Result<S> evaluate(attn::ColumnOp op, const Tensor<S> &input);

// Norm.cpp
template <typename S>
Result<S> evaluate(attn::LayerNormOp op, const Tensor<S> &input, const Tensor<S> &weight, const Tensor<S> &bias);
template <typename S> Result<S> evaluate(attn::RMSNormOp op, const Tensor<S> &input, const Tensor<S> &weight);

// Position.cpp
template <typename S>
Result<S> evaluate(attn::PositionsOp op, const Tensor<S> &tokens, const Tensor<S> &rowBegin, const Tensor<S> *past);
template <typename S> Result<S> evaluate(attn::SinusoidsOp op, const Tensor<S> &positions);
template <typename S>
mlir::FailureOr<std::pair<Tensor<S>, Tensor<S>>> evaluate(attn::RotaryTableOp op, const Tensor<S> &positions,
                                                          const Tensor<S> *lengths);
template <typename S>
Result<S> evaluate(attn::RopeOp op, const Tensor<S> &input, const Tensor<S> &cosines, const Tensor<S> &sines);

// Image.cpp
template <typename S> Result<S> evaluate(attn::PatchesOp op, const Tensor<S> &pixels);
template <typename S>
Result<S> evaluate(attn::ResizePositionsOp op, const Tensor<S> &table, int64_t height, int64_t width);
template <typename S>
Result<S> evaluate(attn::ImageTokensOp op, const Tensor<S> &patches, const Tensor<S> &learned,
                   const Tensor<S> &positions);
template <typename S> Result<S> evaluate(attn::EqualRowsOp op, int64_t rows, int64_t length);
template <typename S> Result<S> evaluate(attn::UnpackRowsOp op, const Tensor<S> &input, int64_t length);

// Pooling.cpp
template <typename S> Result<S> evaluate(attn::PoolRowsOp op, const Tensor<S> &input, const Tensor<S> &rowBegin);

// Quantization.cpp
/// A weight of the type's codes from its values.
template <typename S>
Result<S> quantizeWeight(attn::ParameterSliceOp op, attn::QuantizedType type, std::vector<double> values);
template <typename S> Result<S> evaluate(attn::QuantizeRowsOp op, const Tensor<S> &input);
/// sums[m][n] of a matmul whose operands are both quantized; row m is multiplied by n columns from `first[m]` on.
template <typename S>
std::vector<S> quantizedSums(attn::LinearOp op, const Tensor<S> &rows, const Tensor<S> &weight, int64_t n,
                             llvm::ArrayRef<int64_t> first);

// Experts.cpp; weights and experts, and rows, indices and groups. `bias` is null without one.
template <typename S>
mlir::FailureOr<llvm::SmallVector<Tensor<S>>> evaluate(attn::RouteOp op, const Tensor<S> &logits,
                                                       const Tensor<S> *bias);
template <typename S>
mlir::FailureOr<llvm::SmallVector<Tensor<S>>> evaluate(attn::GroupRowsOp op, const Tensor<S> &experts);
template <typename S>
Result<S> evaluate(attn::CombineRowsOp op, const Tensor<S> &input, const Tensor<S> &weights, const Tensor<S> *indices);

// FeedForward.cpp; `groups` and `epilogue` are null without them.
template <typename S>
Result<S> evaluate(attn::LinearOp op, const Tensor<S> &input, const Tensor<S> &weight, Tensors<S> extras,
                   const Tensor<S> *groups, ScalarProgram<S> *epilogue);
template <typename S> S activate(attn::ActivationKind kind, S x);
template <typename S> Result<S> evaluate(attn::ActivationOp op, const Tensor<S> &input);
template <typename S> Result<S> evaluate(attn::ClipOp op, const Tensor<S> &input);
template <typename S> Result<S> evaluate(attn::GLUOp op, const Tensor<S> &gate, const Tensor<S> &up);

// Attention.cpp
template <typename S> struct AttentionOperands {
  const Tensor<S> *query, *key, *value;
  S scale;
  const Tensor<S> *qBegin = nullptr, *qOffset = nullptr, *kvBegin = nullptr, *kvLength = nullptr; ///< null: absent
  llvm::SmallVector<const Tensor<S> *> extras;
  const Tensor<S> *additive = nullptr;                          ///< null: the similarity is the dot product
  const Tensor<S> *sink = nullptr;                              ///< null: the denominator has the keys alone
  const Tensor<S> *secondQuery = nullptr, *secondKey = nullptr; ///< null without a second pair
  ScalarProgram<S> *score = nullptr, *mask = nullptr;           ///< null without a region
  const Tensor<S> *weights = nullptr;                           ///< null without weights, of which `layer` is updated
  int64_t layer = 0;
};
/// The results that the op has.
template <typename S> struct AttentionResults {
  Tensor<S> result;
  std::optional<Tensor<S>> lse = {}, weights = {};
};
template <typename S>
mlir::FailureOr<AttentionResults<S>> evaluate(attn::AttentionOp op, const AttentionOperands<S> &operands);

template <typename S> struct AttentionState {
  Tensor<S> acc, max, sum;
};
template <typename S> struct AttentionStateOperands {
  const Tensor<S> *query, *key, *value;
  S scale;
  int64_t b, h, q, kv;
  llvm::SmallVector<const Tensor<S> *> extras = {};
  const Tensor<S> *additive = nullptr;
  ScalarProgram<S> *score = nullptr, *mask = nullptr;
};
/// Takes `state` over the op's block of keys.
template <typename S>
mlir::FailureOr<AttentionState<S>> evaluate(attn::AttentionStateOp op, const AttentionStateOperands<S> &operands,
                                            AttentionState<S> state);
/// Takes `parts`, whose tensors have the dim of parts before the others, into `state`.
template <typename S>
mlir::FailureOr<AttentionState<S>> evaluate(attn::AttentionMergeOp op, const AttentionState<S> &parts,
                                            AttentionState<S> state);

// Heads.cpp
template <typename S> llvm::SmallVector<Tensor<S>> evaluate(attn::SplitHeadsOp op, const Tensor<S> &input);
template <typename S> Result<S> evaluate(attn::MergeHeadsOp op, const Tensor<S> &input);

/// A slice of a tensor, one number for each of its dims.
struct Slice {
  llvm::SmallVector<int64_t> offsets, sizes, strides;
};
// Slices.cpp; the tile has the slice's elements in their order, whatever unit dims it lacks.
template <typename S>
Result<S> extractSlice(mlir::Operation *op, const Tensor<S> &source, const Slice &slice,
                       const llvm::SmallBitVector &dropped);
template <typename S>
Result<S> insertSlice(mlir::Operation *op, const Tensor<S> &tile, Tensor<S> dest, const Slice &slice);

// KVCache.cpp
template <typename S>
mlir::FailureOr<Cache<S>> evaluate(attn::KVAppendOp op, const Cache<S> &cache, int64_t layer, const Tensor<S> &key,
                                   const Tensor<S> &value, const Tensor<S> &rowBegin, const Tensor<S> &past,
                                   const Tensor<S> &table);
template <typename S>
mlir::FailureOr<std::pair<Tensor<S>, Tensor<S>>> evaluate(attn::KVViewOp op, const Cache<S> &cache, int64_t layer,
                                                          const Tensor<S> &table);

// Recurrence.cpp; the output, then the states; `bias` is null without one.
template <typename S>
mlir::FailureOr<llvm::SmallVector<Tensor<S>>> evaluate(attn::RecurrenceOp op, const Tensor<S> &gates,
                                                       const Tensor<S> &weight, const Tensor<S> *bias,
                                                       const Tensor<S> &rowBegin, Tensors<S> initial);
template <typename S>
Result<S> evaluate(attn::UpdateRowsOp op, const Tensor<S> &state, int64_t layer, const Tensor<S> &values,
                   const Tensor<S> &rows);
template <typename S> Result<S> evaluate(attn::ConcatOp op, Tensors<S> inputs);

// Parameter.cpp; `dims` holds the extents of the declared dims that the entry's arguments have.
template <typename S> Result<S> evaluate(attn::ParameterSliceOp op, ParameterReader &parameters, int64_t layer);
mlir::FailureOr<int64_t> evaluate(attn::DimSizeOp op, const llvm::StringMap<int64_t> &dims);

/// Checks offsets of packed rows: at least one, not decreasing, from 0 to at most `extent`. `name` is the operand's.
template <typename S>
mlir::LogicalResult checkOffsets(mlir::Operation *op, llvm::StringRef name, const Tensor<S> &offsets, int64_t extent);

/// Instantiates what F(Scalar) expands to for both arithmetics.
#define RAPT_FOR_EACH_SCALAR(F) F(float) F(double)

} // namespace rapt::reference
