//===- ForeignOptions.h - Options of llama.cpp for what is decided elsewhere --------===//
#pragma once
#include "lib/Support/CommandLine.h"

namespace rapt {

/// An option that a tool refuses; `instead` says where the choice is made.
constexpr OptionName foreignOption(std::string_view name, std::string_view aliases, const char *value,
                                   const char *instead) {
  return {name, aliases, value, instead, false, false, true};
}

/// Those that both rapt-run and rapt-bench are given.
inline constexpr OptionName foreignOptions[] = {
    foreignOption(
        "n-gpu-layers", "ngl gpu-layers", "N",
        "a library is for CPUs or, with raptc --target=cuda, for GPUs as a whole; there is nothing to choose here"),
    foreignOption("device", "dev main-gpu mg", "NAME",
                  "a library for GPUs runs on the first one that CUDA_VISIBLE_DEVICES leaves"),
    foreignOption("flash-attn", "fa", "[VALUE]",
                  "attention never keeps its scores in memory; there is nothing to choose"),
    foreignOption("cache-type-k", "cache-type-v ctk ctv", "TYPE", "raptc --cache-dtype chooses the type of the cache")};

} // namespace rapt
