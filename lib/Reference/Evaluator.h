//===- Evaluator.h - Runs the imported stage, naively ----------------------*- C++ -*-===//
//
// The executable semantics of the imported stage: every attn op by its function of
// Ops.h, func.call, scf.for, arith and math on scalars and tensors, and the ops of
// tensor and linalg that the stage allows. So that tiled attention can be compared
// with the whole, it also runs scf.forall, one task after another. Nothing is fast,
// nothing is reordered.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Reference/LinearAttention.h"
#include "lib/Reference/Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringMap.h"

namespace rapt::reference {

/// Evaluates functions of one module in the arithmetic of `Scalar`. Everything that cannot be evaluated (an op of
/// another stage, an index out of range) is one error emitted at its op; nothing crashes on IR that verifies.
template <typename Scalar> class Evaluator {
public:
  using V = Value<Scalar>;
  Evaluator(mlir::ModuleOp module, ParameterReader &parameters) : module(module), parameters(parameters) {}

  /// Runs an entry: takes the dims that its arguments name (attn.dims) and checks them against their declarations.
  mlir::FailureOr<llvm::SmallVector<V>> runEntry(mlir::func::FuncOp entry, llvm::ArrayRef<V> arguments);
  /// Runs a function. Arguments are of its types: extents may differ only where a type is dynamic.
  mlir::FailureOr<llvm::SmallVector<V>> run(mlir::func::FuncOp function, llvm::ArrayRef<V> arguments);

private:
  using Frame = llvm::DenseMap<mlir::Value, V>;

  mlir::LogicalResult bindDims(mlir::func::FuncOp entry, llvm::ArrayRef<V> arguments);
  mlir::FailureOr<llvm::SmallVector<V>> runBlock(mlir::Block &block, Frame &frame);
  mlir::LogicalResult runOp(mlir::Operation &op, Frame &frame);
  mlir::LogicalResult runUpstream(mlir::Operation &op, Frame &frame);
  mlir::LogicalResult runScalar(mlir::Operation &op, Frame &frame);
  mlir::LogicalResult runCall(mlir::func::CallOp op, Frame &frame);
  mlir::LogicalResult runFor(mlir::scf::ForOp op, Frame &frame);
  mlir::LogicalResult runForall(mlir::scf::ForallOp op, Frame &frame);
  mlir::LogicalResult runTensorOp(mlir::Operation &op, Frame &frame);
  mlir::LogicalResult runPad(mlir::tensor::PadOp op, Frame &frame);
  mlir::LogicalResult runConcat(mlir::tensor::ConcatOp op, Frame &frame);
  /// tensor.empty and tensor.splat.
  mlir::LogicalResult runFilled(mlir::Operation &op, Frame &frame);
  mlir::LogicalResult runLinalg(mlir::linalg::LinalgOp op, Frame &frame);
  /// An op of arith or math on tensors, element by element.
  mlir::LogicalResult runElementwise(mlir::Operation &op, Frame &frame);
  mlir::LogicalResult runAttention(attn::AttentionOp op, Frame &frame);
  mlir::LogicalResult runAttentionState(attn::AttentionStateOp op, Frame &frame);
  mlir::LogicalResult runAttentionMerge(attn::AttentionMergeOp op, Frame &frame);
  mlir::LogicalResult setState(mlir::Operation *op, Frame &frame, mlir::FailureOr<AttentionState<Scalar>> state);
  mlir::LogicalResult runLinear(attn::LinearOp op, Frame &frame);
  mlir::LogicalResult runRecurrence(attn::RecurrenceOp op, Frame &frame);
  mlir::LogicalResult runLinearAttention(attn::LinearAttentionOp op, Frame &frame);
  mlir::LogicalResult runShortConv(attn::ShortConvOp op, Frame &frame);
  template <typename Op> Slots<Scalar> slotsOf(Op op, Frame &frame);
  mlir::LogicalResult runCacheOp(mlir::Operation &op, Frame &frame);

  const Tensor<Scalar> &tensor(Frame &frame, mlir::Value value) { return *std::get<TensorRef<Scalar>>(frame[value]); }
  const Tensor<Scalar> *optionalTensor(Frame &frame, mlir::Value value) {
    return value ? &tensor(frame, value) : nullptr;
  }
  llvm::SmallVector<const Tensor<Scalar> *> tensors(Frame &frame, mlir::ValueRange values) {
    return llvm::map_to_vector(values, [&](mlir::Value value) { return &tensor(frame, value); });
  }
  int64_t integer(Frame &frame, mlir::Value value) { return std::get<int64_t>(frame[value]); }
  llvm::SmallVector<int64_t> integers(Frame &frame, llvm::ArrayRef<mlir::OpFoldResult> values);
  template <typename SliceOp> Slice sliceOf(Frame &frame, SliceOp op) {
    return {integers(frame, op.getMixedOffsets()), integers(frame, op.getMixedSizes()),
            integers(frame, op.getMixedStrides())};
  }
  /// The layer that an op names; 0 where it names none.
  int64_t layerOf(Frame &frame, mlir::Value layer) { return layer ? integer(frame, layer) : 0; }
  mlir::LogicalResult set(Frame &frame, mlir::Value result, mlir::FailureOr<Tensor<Scalar>> value);
  mlir::LogicalResult setAll(Frame &frame, mlir::Operation *op,
                             mlir::FailureOr<llvm::SmallVector<Tensor<Scalar>>> values);
  /// A region's program in `program`, and its address in `used`; null for an absent region.
  mlir::LogicalResult compile(mlir::Region &region, Frame &frame, std::optional<ScalarProgram<Scalar>> &program,
                              ScalarProgram<Scalar> *&used);

  mlir::ModuleOp module;
  ParameterReader &parameters;
  llvm::StringMap<int64_t> dims;
  unsigned depth = 0;  ///< of calls
  uint64_t blocks = 0; ///< run so far
};

/// Whether a value of `value`'s extents is one of `type`.
template <typename Scalar> bool hasType(const Value<Scalar> &value, mlir::Type type);

} // namespace rapt::reference
