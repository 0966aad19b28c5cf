//===- HarmlessKeys.h - Keys of configs that no result depends on --------*- C++ -*-===//
//
// Keys that training, other heads and Hugging Face's own code read. A family names the groups
// that its config has, and keys of its own. ConfigReader has those that all configs may have.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace rapt::importing::harmless {

using Group = std::span<const std::string_view>;

/// Keys of decoders; is_decoder is true of every model.
inline constexpr std::string_view decoder[] = {"attention_dropout", "is_decoder"};
/// Rates of training by the names of gpt2.
inline constexpr std::string_view dropout[] = {"attn_pdrop", "embd_pdrop", "hidden_dropout", "resid_pdrop"};
/// Keys of gpt2's head that sums a text up.
inline constexpr std::string_view summary[] = {"summary_activation", "summary_first_dropout", "summary_proj_to_labels",
                                               "summary_type", "summary_use_proj"};
/// Keys of the training of experts' routers.
inline constexpr std::string_view router[] = {"output_router_logits", "router_aux_loss_coef"};
/// Rates of training by the names of bert.
inline constexpr std::string_view encoder[] = {"attention_probs_dropout_prob", "hidden_dropout_prob"};
/// Keys of encoder-decoders by the names of bart.
inline constexpr std::string_view sides[] = {
    "activation_dropout", "attention_dropout",  "decoder_layerdrop", "dropout",  "encoder_layerdrop",
    "init_std",           "is_encoder_decoder", "num_hidden_layers", "use_cache"};
/// Keys of the training of state-space layers' steps, and of Hugging Face's kernels.
inline constexpr std::string_view steps[] = {"time_step_floor", "time_step_max", "time_step_min"};
inline constexpr std::string_view mamba[] = {"mamba_chunk_size", "use_mamba_kernels"};
/// The same by the names of mamba2.
inline constexpr std::string_view mamba2[] = {"chunk_size", "expand", "rescale_prenorm_residual", "residual_in_fp32"};
/// Keys of bamba that its relatives keep.
inline constexpr std::string_view bamba[] = {"attn_rotary_emb", "num_logits_to_keep", "z_loss_coefficient"};
/// Keys of encoders of images that are a part of another model.
inline constexpr std::string_view backbone[] = {"out_features", "out_indices", "stage_names"};

/// The keys of groups, and those of a family alone.
inline std::vector<std::string_view> keys(std::initializer_list<Group> groups,
                                          std::initializer_list<std::string_view> own = {}) {
  std::vector<std::string_view> all(own);
  for (Group group : groups)
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

} // namespace rapt::importing::harmless
