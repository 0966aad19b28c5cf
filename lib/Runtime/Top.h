//===- Top.h - The most likely tokens by logits -----------------------------------===//
#pragma once
#include "rapt/rapt_top.h"

namespace rapt::runtime {

inline constexpr int64_t mostTop = 1024; ///< tokens of one rapt_top

/// Fills a rapt_top by logits[0 .. among), by the order of the entries that attn-add-token-entries makes.
void findTop(const float *logits, int64_t among, const rapt_top &top);

} // namespace rapt::runtime
