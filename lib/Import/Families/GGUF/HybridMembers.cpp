//===- HybridMembers.cpp - config.json of families with layers of two kinds --===//
#include "lib/Import/Families/GGUF/Members.h"

using namespace rapt;
using namespace rapt::importing;

void importing::setAttendingLayers(Translation &t, const char *other) {
  json::Array types;
  for (int64_t layer = 0; layer < t.sizes().layers; ++layer)
    types.emplace_back(t.sizes().attends.empty() || t.sizes().attends[size_t(layer)] ? "full_attention" : other);
  t.set("layer_types", std::move(types));
}

/// What both architectures of LFM2 have. Feed-forwards are as wide as the file says.
static void describeLikeLFM2(Translation &t, const char *modelType) {
  t.setDecoder(modelType, {.headDim = "", .epsilon = "norm_eps", .hasRmsNorms = true, .hasOtherLayers = true});
  setRotary(t);
  setAttendingLayers(t, "conv");
  t.set("conv_L_cache", t.required("shortconv.l_cache", 2, 64));
  t.set("conv_bias", false);
}

void importing::describeLFM2(Translation &t) {
  describeLikeLFM2(t, "lfm2");
  t.set("block_auto_adjust_ff_dim", false);
}

void importing::describeLFM2Moe(Translation &t) {
  describeLikeLFM2(t, "lfm2_moe");
  setExperts(t, "num_experts", "moe_intermediate_size", t.required("expert_feed_forward_length", 1, mostInner));
  t.set("num_dense_layers", t.integer("leading_dense_block_count", 0, t.sizes().layers).value_or(0));
  t.set("use_expert_bias", true);
  t.set("norm_topk_prob", true);
  constexpr int64_t sigmoid = 2;
  if (t.integer("expert_gating_func", 0, 1 << 10).value_or(sigmoid) != sigmoid)
    t.fail("expert_gating_func", "must be 2, sigmoids, for this architecture");
  if (const double scale = t.number("expert_weights_scale").value_or(0); scale != 0)
    t.set("routed_scaling_factor", scale);
}
