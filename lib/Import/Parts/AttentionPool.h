//===- AttentionPool.h - One vector of many tokens by attention ------------*- C++ -*-===//
#pragma once
#include "lib/Import/Module/ParameterSet.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// The vector of an image by attention of one learned query to its tokens (Zhai et al. 2022). Parts are behind the
/// tower's prefix.
struct AttentionPoolSpec {
  std::string part; ///< of all tensors
  int64_t heads = 0;
  FeedForwardSpec feedForward;
};

/// The learned query `symbol` [1, width] for each of `rows` rows, [rows, width], and the offsets of these queries.
std::pair<mlir::Value, mlir::Value> queryOfRows(const Scope &top, mlir::Location loc, llvm::StringRef symbol,
                                                mlir::Value rows);

/// y + feedForward(norm(y)), where y is the attention of one learned query to the tokens of each of `rows` rows: [rows,
/// width] of x [tokens, width]. Width and norm are those of `stack`.
mlir::Value walkAttentionPool(const Walk &walk, const AttentionPoolSpec &pool, const StackSpec &stack,
                              mlir::Value x = {}, mlir::Value rowBegin = {}, mlir::Value rows = {});

} // namespace rapt::importing
