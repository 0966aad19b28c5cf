//===- ExpertsConfig.h - Keys of mixtures of experts ---------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/DecoderConfig.h"

namespace rapt::importing {

/// A family's names of keys, and what its configuration class takes where the file has none.
struct ExpertsDefaults {
  huggingface::Keys number = "num_experts", inner = "moe_intermediate_size";
  int64_t ofAll, ofToken, width; ///< experts, those of a token, and the columns of one
};

/// Reads the number of experts, of a token's, and their size: experts by softmax, gated as the dense layers are, in
/// tensors "mlp.experts.{expert}.gate_proj", or stacked ones where the checkpoint has them.
ExpertsSpec readExperts(const DecoderSource &source, const DecoderSpec &spec, const ExpertsDefaults &defaults);

/// Reads norm_topk_prob, decoder_sparse_step and mlp_only_layers.
void readSparseLayers(const DecoderSource &source, DecoderSpec &spec);

} // namespace rapt::importing
