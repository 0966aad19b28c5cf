//===- AttnOps.td - All ops of the attention dialect (includes only) --*- tablegen -*-===//
#ifndef RAPT_ATTN_OPS_TD
#define RAPT_ATTN_OPS_TD

include "dialect/Attn/Ops/Attention.td"
include "dialect/Attn/Ops/AttentionState.td"
include "dialect/Attn/Ops/Embedding.td"
include "dialect/Attn/Ops/Experts.td"
include "dialect/Attn/Ops/FeedForward.td"
include "dialect/Attn/Ops/Image.td"
include "dialect/Attn/Ops/KVCache.td"
include "dialect/Attn/Ops/LinearAttention.td"
include "dialect/Attn/Ops/Norm.td"
include "dialect/Attn/Ops/Parameter.td"
include "dialect/Attn/Ops/Pooling.td"
include "dialect/Attn/Ops/Position.td"
include "dialect/Attn/Ops/Quantization.td"
include "dialect/Attn/Ops/Recurrence.td"
include "dialect/Attn/Ops/ShortConv.td"

#endif
