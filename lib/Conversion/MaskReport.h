//===- MaskReport.h - A mask in words, and the blocks that it leaves ----------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"

namespace rapt {

/// The category of these remarks: `raptc --remarks=mask`, `rapt-opt --remarks-filter=mask`.
inline constexpr llvm::StringLiteral kMaskCategory = "mask";

/// A mask in words, and the share of blocks that it leaves of as many queries as keys: "causal + window of 128: 3 % of
/// blocks of 14 queries and 128 keys are visited at 8,192 keys". Blocks that elements of operands, or scalars from
/// outside, tell at run time count as visited.
std::string describeMask(mlir::Region &mask, int64_t queries, int64_t keys);

/// Tells it of an op, where remarks are heard, and which extra operands have summaries that heads share.
void remarkMask(attn::AttentionOp op, int64_t queries, int64_t keys, llvm::ArrayRef<unsigned> summarized = {});

} // namespace rapt
