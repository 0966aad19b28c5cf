//===- AttentionOutputs.h - One more output of an entry with attention ---------*- C++ -*-===//
//
// An output holds attention probabilities or log-sum-exp of all layers of an entry. The layers' loops
// carry it, and each attention writes its layer.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace rapt {

/// Whether attention mixes values of the query's own text, or of its source.
enum class AttentionKind { Self, Cross };

/// The result of attention that an output has, of each query and head.
enum class AttentionResult { Weights, LogSumExp };

/// A request for outputs. Empty lists: all.
struct AttentionRequest {
  llvm::ArrayRef<int64_t> layers, heads;
  int64_t positions; ///< keys of the longest sequence, for weights
};

/// One output of one entry under construction.
class AttentionOutput {
public:
  AttentionOutput(mlir::func::FuncOp entry, AttentionKind kind, AttentionResult what, std::string name,
                  const AttentionRequest &request);

  /// Whether the entry has attention of the kind.
  bool isNeeded() const { return hasLayers || hasPools; }
  /// Adds the output.
  llvm::LogicalResult run();

private:
  /// Whether the output has a layer for the attention. A pool's queries are no tokens: it has one in an entry without
  /// other attention of the kind.
  bool isLayer(attn::AttentionOp op) const;

  /// The tokens of an entry that takes images, or features of sound: each has as many.
  struct EqualRows {
    attn::EqualRowsOp rows;
    std::string first;  ///< the dim of the images, or sources
    std::string extent; ///< of an image's tokens, as attn.dims says it; empty: `most`
    int64_t most;       ///< tokens of the largest image, or of each source of features
  };
  /// An extent of an argument of an entry, or a number.
  struct Extent {
    mlir::BlockArgument argument; ///< null: `dim` is the number
    int64_t dim;
  };

  llvm::LogicalResult checkName();
  mlir::StringAttr nameOf(Extent extent);
  std::optional<Extent> traceExtent(mlir::Value tensor, unsigned dim);
  llvm::FailureOr<int64_t> countLayers(mlir::Block &block);
  llvm::LogicalResult measure(attn::AttentionOp op);
  llvm::LogicalResult choose(llvm::SmallVector<int64_t> &chosen, llvm::ArrayRef<int64_t> asked, int64_t count,
                             const char *which);
  std::optional<EqualRows> findEqualRows();
  std::optional<EqualRows> findSources(attn::EqualRowsOp rows);
  llvm::LogicalResult checkSize(int64_t positions, const char *advice);
  mlir::RankedTensorType packedType(int64_t tokens, int64_t positions);
  llvm::LogicalResult addOutput(mlir::Value value, mlir::ArrayAttr dims);
  attn::AttentionOp findSingle();
  llvm::LogicalResult runOnSingle(attn::AttentionOp attention);
  llvm::LogicalResult runOnTokens(Extent tokens);
  llvm::LogicalResult runOnEqualRows(EqualRows equal);
  std::optional<mlir::BlockArgument> findPooledTexts();
  llvm::LogicalResult runOnPools(mlir::BlockArgument offsets);
  mlir::Value thread(mlir::Block &block, mlir::Value output, mlir::Value before);
  mlir::Value throughLoop(mlir::scf::ForOp loop, mlir::Value output, mlir::Value before);
  mlir::Value record(attn::AttentionOp attention, mlir::Value output, mlir::Value layer);
  mlir::Value recordWeights(attn::AttentionOp attention, mlir::Value weights, mlir::Value layer);
  mlir::Value recordLogSumExp(attn::AttentionOp attention, mlir::Value output, mlir::Value layer);
  mlir::Value flattenHeads(attn::AttentionOp attention);
  mlir::Value find(mlir::Location loc, mlir::Value layer, int64_t missing);
  mlir::Value add(mlir::Location loc, mlir::Value number, int64_t more);
  mlir::Value constant(mlir::Location loc, int64_t value);

  mlir::func::FuncOp entry;
  AttentionKind kind;
  AttentionResult what;
  std::string name;
  const AttentionRequest &request;
  mlir::IRRewriter rewriter;
  attn::AttentionOp first; ///< of the kind
  bool hasLayers = false;  ///< attention of the kind whose queries are the tokens
  bool hasPools = false;   ///< attention of the kind whose queries are other rows
  int64_t headCount = 0;
  llvm::SmallVector<int64_t> layers, heads;
  llvm::DenseMap<mlir::Block *, int64_t> counts; ///< layers that a block computes
};

} // namespace rapt
